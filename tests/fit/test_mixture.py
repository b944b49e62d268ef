import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from sklearn.mixture import GaussianMixture

from moestat.errors import InputError
from moestat.fit import maximum_likelihood
from moestat.fit.gaussian_gate import GaussianGateLikelihood
from moestat.models import gaussian
from moestat.status import Status

# NOx in an engine's exhaust and its equivalence ratio, measured by N. D. Brinkman, "Ethanol fuel: a single-cylinder
# engine study of efficiency and exhaust emissions" (1981). Netlib's loess has them, and the R package mixtools (NOdata)
NOX = np.fromstring(
    """3.741 2.295 1.498 2.881 .76 3.12 .638 1.17 2.358 .606 3.669 1 .981 1.192 .926 1.59 1.806 1.962 4.028 3.148 1.836
    2.845 1.013 .414 .812 .374 3.623 1.869 2.836 3.567 .866 1.369 .542 2.739 1.2 1.719 3.423 1.634 1.021 2.157 3.361
    1.39 1.947 .962 .571 2.219 1.419 3.519 1.732 3.206 2.471 1.777 2.571 3.952 3.931 1.587 1.397 3.536 2.202 .756 1.62
    3.656 2.964 3.76 .672 3.677 3.517 3.29 1.139 .727 2.581 .923 1.527 3.388 2.085 .966 3.488 .754 .797 2.064 3.732
    .586 .561 .563 .678 .37 .53 1.9""",
    sep=" ",
)
RATIO = np.fromstring(
    """.907 .761 1.108 1.016 1.189 1.001 1.231 1.123 1.042 1.215 .93 1.152 1.138 .601 .696 .686 1.072 1.074 .934 .808
    1.071 1.009 1.142 1.229 1.175 .568 .977 .767 1.006 .893 1.152 .693 1.232 1.036 1.125 1.081 .868 .762 1.144 1.045
    .797 1.115 1.07 1.219 .637 .733 .715 .872 .765 .878 .811 .676 1.045 .968 .846 .684 .729 .911 .808 1.168 .749 .892
    1.002 .812 1.23 .804 .813 1.002 .696 1.199 1.03 .602 .694 .816 1.037 1.181 .899 1.227 1.18 .795 .99 1.201 .629 .608
    .584 .562 .535 .655""",
    sep=" ",
)


def two_planes(n=300, d=1, seed=1):
    """Inputs in two clusters, and a line for each."""
    rng = np.random.default_rng(seed)
    side = rng.random(n) < 0.4
    x = rng.normal(size=(n, d)) + np.where(side, 1.5, -1.0)[:, None]
    return x, np.where(side, 2 + x[:, 0], 0.5 - x @ np.ones(d)) + np.where(side, 0.5, 0.3) * rng.normal(size=n)


def bent():
    """A line and a parabola, as of the generator ExNPreg of the R package flexmix, with seed 2004."""
    rng = np.random.default_rng(2004)
    x = rng.uniform(0, 10, 200)
    y = np.where(np.arange(200) < 100, 5 * x, 40 - (x - 5) ** 2) + 3 * rng.standard_normal(200)
    return pd.DataFrame({"x": x, "x2": x**2}), y


@pytest.mark.parametrize(("gate", "height"), [("softmax", 123.6205907), ("constant", 122.0383558)])
def test_public_data_have_the_maximum_that_mixtools_finds(gate, height):
    # hmeEM and regmixEM of mixtools 2.0.0, epsilon 1e-11, the best of a few runs
    fit = maximum_likelihood(pd.Series(NOX, name="NO"), RATIO, experts=2, gate=gate)
    assert fit.log_likelihood == pytest.approx(height, abs=2e-6) and fit.status is Status.CONVERGED
    assert fit.maxima["starts"][0] > 50 and fit.gradient < 1e-8
    if gate == "softmax":
        np.testing.assert_allclose(fit.parameters.loc["gate"], [0, 0.7643606], atol=1e-5)
        np.testing.assert_allclose(fit.parameters.loc["mean NO"], [0.0878637, -0.0840954], atol=1e-6)
        np.testing.assert_allclose(fit.parameters.loc["variance"] ** 0.5, [0.0445665, 0.0229812], atol=1e-6)
        assert fit.count == 8 and fit.bic == pytest.approx(8 * np.log(88) - 2 * height, abs=1e-4)
        assert str(fit).splitlines()[0].startswith("softmax gate, 2 experts, 88 samples: log-likelihood 123.621, 8 par")


def test_a_line_and_a_parabola_have_the_errors_that_flexmix_finds():
    x, y = bent()
    fit = maximum_likelihood(x, y, experts=2, gate="constant")
    # flexmix 2.3-18 has another divisor in its variances, so that its maximum is a little lower
    assert -622.5576 < fit.log_likelihood < -622.5576 + 0.03
    errors = fit.standard_errors[fit.parameters.loc["mean x"].sort_values().index]
    np.testing.assert_allclose(errors.loc["mean"], [0.905056, 0.816517], rtol=2e-3)
    np.testing.assert_allclose(errors.loc["mean x"], [0.446644, 0.378661], rtol=2e-3)
    np.testing.assert_allclose(errors.loc["mean x2"], [0.0444991, 0.0376058], rtol=2e-3)


def densities(gate, names, table, x, y):
    """Log-density of each sample, written down from the table that a user sees: rows of numbers, and their names."""

    def rows(start):
        return np.array([values for name, values in zip(names, table, strict=True) if name.startswith(start)])

    joint = norm.logpdf(y[:, None], x @ rows("mean ") + rows("mean")[0], rows("variance")[0] ** 0.5)
    if gate == "softmax":
        score = x @ rows("gate ") + rows("gate")[0]
        weight = score - np.log(np.exp(score).sum(axis=1, keepdims=True))
    else:
        weight = np.log(rows("weight"))
    if gate == "gaussian":
        off, spread = np.array([[0, 1], [1, 0]]), [np.diag(v) for v in rows("gate variance").T]
        if x.shape[1] == 2:
            spread = [c + off * cross for c, cross in zip(spread, rows("gate covariance")[0], strict=True)]
        inputs = [multivariate_normal.logpdf(x, *at) for at in zip(rows("gate centre").T, spread, strict=True)]
        weight = weight + np.stack(inputs, axis=1)
    return np.log(np.exp(joint + weight).sum(axis=1))


def of_table(gate, fit, x, y):
    return densities(gate, fit.parameters.index, fit.parameters.to_numpy(), x, y)


@pytest.mark.parametrize(
    ("gate", "d"), [("softmax", 1), ("softmax", 2), ("constant", 1), ("gaussian", 1), ("gaussian", 2)]
)
def test_likelihood_maximum_and_errors_are_those_of_a_plain_computation(gate, d):
    x, y = two_planes(200, d)
    fit = maximum_likelihood(x, y, experts=2, gate=gate, starts=30)
    names, table = fit.parameters.index, fit.parameters.to_numpy()
    assert fit.log_likelihood == pytest.approx(of_table(gate, fit, x, y).sum(), rel=1e-10)
    # without what is redundant: the gate of expert 1, or its weight
    free = np.ones(table.shape, dtype=bool)
    free[[gate == "softmax" and name.startswith("gate") or name == "weight" for name in names], 0] = False

    def each(values):
        cells = table.copy()
        cells[free] = values
        if "weight" in names:
            cells[0, 0] = 1 - cells[0, 1]
        return densities(gate, names, cells, x, y)

    best, scale = table[free], fit.standard_errors.to_numpy()[free]
    assert len(best) == fit.count
    steps, hessian = np.diag(1e-3 * scale), np.zeros((fit.count, fit.count))
    for i, j in zip(*np.tril_indices(fit.count), strict=True):
        ends = [a * b * each(best + a * steps[i] + b * steps[j]).sum() for a in (1, -1) for b in (1, -1)]
        hessian[i, j] = hessian[j, i] = sum(ends) / (4e-6 * scale[i] * scale[j])
    inverse = np.linalg.inv(-hessian)
    scores = np.stack([(each(best + h) - each(best - h)) / (2 * h.max()) for h in steps])
    np.testing.assert_allclose(scale, np.sqrt(np.diag(inverse)), rtol=1e-4)
    sandwich = np.sqrt(np.diag(inverse @ scores @ scores.T @ inverse))
    np.testing.assert_allclose(fit.sandwich.to_numpy()[free], sandwich, rtol=1e-4)
    away = 0.3 * np.random.default_rng(0).normal(size=len(best))
    again = scipy.optimize.minimize(
        lambda t: -each(best + scale * t).sum(), away, method="BFGS", options={"gtol": 1e-3}
    )
    assert -again.fun == pytest.approx(fit.log_likelihood, abs=1e-5) and np.abs(again.x).max() < 0.01


@pytest.mark.parametrize("d", [1, 3])
def test_the_gaussian_gate_is_a_gaussian_mixture_of_inputs_and_response(d):
    x, y = two_planes(400, d)
    fit = maximum_likelihood(x, y, experts=2, gate="gaussian", starts=20)
    joint = np.column_stack([x, y])
    other = GaussianMixture(2, n_init=5, tol=1e-10, max_iter=5000, reg_covar=0, random_state=0).fit(joint)
    assert fit.log_likelihood == pytest.approx(400 * other.score(joint), abs=1e-4)
    first = np.argsort(-other.weights_)
    np.testing.assert_allclose(fit.parameters.loc["weight"], other.weights_[first], atol=1e-4)
    np.testing.assert_allclose(fit.parameters.loc["gate centre x" + "1" * (d > 1)], other.means_[first, 0], atol=1e-3)
    at = fit.model.components(fit.theta, x)
    assert fit.conditional == pytest.approx(gaussian.log_likelihood(fit.model, fit.theta, x, y))
    np.testing.assert_allclose(fit.weights(x).sum(axis=1), 1)
    np.testing.assert_allclose(fit.predict(x), (np.exp(at.log_weight) * at.mean).sum(axis=0))


def test_the_gaussian_gate_has_the_gradient_and_hessian_of_its_loss():
    x, y = two_planes(90, 3)
    like = GaussianGateLikelihood(x, y, 3, 100.0, (1e-4, 10.0))
    rng = np.random.default_rng(0)
    free = like.begin(rng.normal(size=(2, 3, 4)), np.array([0.5, 1.0]), 3)
    at, members, h = like.problem(free, np.arange(2)), np.arange(2), 1e-5
    ends = [[like.problem(free + sign * h * e, members) for sign in (1, -1)] for e in np.eye(free.shape[1])]
    np.testing.assert_allclose(np.stack([(a.loss - b.loss) / (2 * h) for a, b in ends], 1), at.gradient, atol=1e-7)
    np.testing.assert_allclose(np.stack([(a.gradient - b.gradient) / (2 * h) for a, b in ends], 1), at.gram, atol=1e-5)
    np.testing.assert_allclose(-like.scores(free[1]).mean(axis=0), at.gradient[1], atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(["softmax", "constant", "gaussian"]),
    st.floats(1e-4, 1e4),
    st.floats(-1e3, 1e3),
    st.floats(1e-4, 1e4),
)
def test_units_change_nothing_but_units(gate, inputs, level, response):
    x, y = two_planes(120)
    one = maximum_likelihood(x, y, experts=2, gate=gate, starts=8)
    two = maximum_likelihood(inputs * (x + level), response * y, experts=2, gate=gate, starts=8)
    jump = 120 * (np.log(response) + (gate == "gaussian") * np.log(inputs))
    assert two.log_likelihood == pytest.approx(one.log_likelihood - jump, abs=1e-4)
    np.testing.assert_allclose(
        two.predict(inputs * (x + level)), response * one.predict(x), rtol=1e-4, atol=1e-4 * response
    )
    np.testing.assert_allclose(
        two.standard_errors.loc["variance"], response**2 * one.standard_errors.loc["variance"], rtol=1e-3
    )


def test_what_a_reader_must_know_stands_in_sentences():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=30)
    y = np.where(x < 0.5, x, 2 - x) + 0.2 * rng.normal(size=30)
    fit = maximum_likelihood(x, y, experts=4, starts=40)
    told = " ".join(fit.notes)
    assert fit.maxima["on_bound"][0] > 0 and "on their lower bound" in told and fit.rounds is not None
    narrow = fit.parameters.columns[fit.parameters.loc["variance"] < 1.01e-4 * y.var()]
    assert len(narrow) == fit.maxima["on_bound"][0]
    assert fit.standard_errors.loc["variance", narrow].isna().all()
    regular = fit.maxima[fit.maxima["on_bound"] == 0].iloc[0]
    assert f"has {regular['log_likelihood']:.3f}; {int(regular['starts'])} of 40 starts came there" in told
    assert "0 of 40 starts and" in told and "the starts say nothing of what else was missed" in told
    assert "% of starts" not in told and "BIC and AIC cannot choose" in told and "samples, fewer than" in told
    assert "On a bound" in told
    # a bound that is met as it stands, in the units of y
    wide = maximum_likelihood(x, y, experts=2, variances=(0.2, 1.0), starts=10)
    np.testing.assert_allclose(wide.parameters.loc["variance"], 0.2)
    html = fit._repr_html_()
    assert html.count("<li>") == len(fit.notes) and "expert 4" in html


def test_an_expert_without_samples_is_named_and_the_other_keeps_its_errors():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=60)
    y = x + 0.3 * rng.normal(size=60)
    fit = maximum_likelihood(x, y, experts=2, gate="constant", starts=1, seed=5)
    assert fit.maxima["fewest"][0] < 1e-6 and "Expert 2 has no samples; take fewer experts." in fit.notes
    one = maximum_likelihood(x, y, experts=1)
    assert fit.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)
    rows = ["mean", "mean x", "variance"]
    assert fit.standard_errors.loc[rows, 2].isna().all()
    np.testing.assert_allclose(fit.standard_errors.loc[rows, 1], one.standard_errors.loc[rows, 1], rtol=1e-6)
    # experts that are held wide are one and the same, so that nothing tells their weights
    wide = maximum_likelihood(x, y, experts=2, gate="constant", starts=1, seed=4, variances=(0.5, 1.0))
    assert wide.standard_errors.loc["weight"].isna().all()
    assert any(note.startswith("Not determined by these data") and "weight of expert 1" in note for note in wide.notes)


def test_many_samples_begin_on_a_part_of_them_and_end_on_all():
    x, y = two_planes(5000)
    fit = maximum_likelihood(x, y, experts=2, starts=10)
    assert fit.log_likelihood == pytest.approx(of_table("softmax", fit, x, y).sum(), rel=1e-10)
    assert fit.gradient < 1e-8 and fit.maxima["starts"].sum() <= 10
    np.testing.assert_allclose(fit.parameters.loc["variance"], [0.09, 0.25], atol=0.02)


def test_data_come_as_users_have_them_and_columns_keep_their_names():
    x, y = two_planes(80, 2)
    fit = maximum_likelihood(pd.DataFrame(x, columns=["b", "a"]), pd.Series(y), experts=1)
    slope = np.linalg.lstsq(np.column_stack([np.ones(80), x]), y, rcond=None)[0]
    np.testing.assert_allclose(fit.parameters.loc[["mean", "mean b", "mean a"], 1], slope)
    turned = pd.DataFrame(x[:, ::-1], columns=["a", "b"])
    np.testing.assert_array_equal(fit.predict(turned), fit.predict(x.tolist()))
    again = maximum_likelihood(x.tolist(), y.tolist(), experts=1)
    assert again.log_likelihood == fit.log_likelihood and again.inputs == ("x1", "x2")
    with pytest.raises(InputError, match="x has the columns a, c; the fit has b, a"):
        fit.predict(turned.rename(columns={"b": "c"}))


X, Y = two_planes(40, 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x": X + 0j}, "x holds complex numbers; allowed are real numbers"),
        ({"x": np.ma.masked_less(X, -2.5)}, r"x holds \d+ number\(s\) that are missing or not finite"),
        ({"y": np.where(Y > 2, np.inf, Y)}, r"y holds \d+ number\(s\) that are missing or not finite"),
        ({"y": Y[:9]}, r"y has shape \(9,\); allowed is \(40,\), a number for each row of x"),
        ({"x": []}, r"x has shape \(0,\); allowed are"),
        ({"x": X * [1, 0]}, "column 'x2' of x is constant"),
        ({"x": X @ [[1, 2], [1, 2]]}, "the columns x1, x2 of x are linearly dependent; leave one out"),
        ({"x": X * 1e200}, "column 'x1' of x has numbers whose powers are beyond the range"),
        ({"y": 0 * Y}, "y is constant"),
        ({"experts": 0}, "experts is 0; allowed are whole numbers from 1"),
        ({"experts": 1.5}, "experts is 1.5; allowed are whole numbers from 1"),
        ({"x": np.arange(40) % 2, "y": np.arange(40) % 2, "experts": 3}, "but only 2 of the samples are distinct"),
        ({"experts": 7}, "40 samples cannot determine 46 parameters; take fewer experts or columns"),
        ({"gate": "softmx"}, "gate is 'softmx'; did you mean 'softmax'"),
        ({"gate": "top-k"}, "gate is 'top-k', whose likelihood jumps"),
        ({"variances": (1, 1)}, r"variances is \(1, 1\); allowed are two numbers, 0 < lower < upper"),
        ({"seed": -1}, "seed is -1; allowed are whole numbers from 0"),
    ],
)
def test_what_has_no_fit_is_refused_in_a_sentence(change, told):
    with pytest.raises((InputError, TypeError), match=told):
        maximum_likelihood(**{"x": X, "y": Y, "experts": 2, "starts": 2} | change)


def test_the_page_prints_what_it_says(capsys):
    page = (Path(__file__).parents[2] / "docs" / "howto-likelihood.md").read_text(encoding="utf-8")
    exec(page.split("```python\n")[1].split("```")[0], {})
    wanted, found = (
        re.sub(r"Largest gradient .*|\d+ of 100 starts", "", text) for text in (page, capsys.readouterr().out)
    )
    assert found.strip() in wanted
