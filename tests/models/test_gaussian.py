import array_api_strict as strict
import numpy as np
import pytest
from scipy import integrate, stats

from moestat.models.competition import EXPERTS, Competition
from moestat.models.gaussian import log_density, log_likelihood, sample
from moestat.models.softmax_gaussian import SoftmaxGaussian

MODELS = [Competition(2, e, k) for e in EXPERTS for k in (1, 2, 4)] + [SoftmaxGaussian(1), SoftmaxGaussian(3)]
IDS = [f"{m.expert}-{m.active}" if isinstance(m, Competition) else f"softmax-{m.d}" for m in MODELS]


def draw(model, *batch, n=40, atoms=4, seed=3):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(*batch, atoms, model.atom_size))
    theta[..., -1] = rng.uniform(0.2, 1.5, (*batch, atoms))
    return theta, rng.uniform(-1, 1, (*batch, n, model.d)), rng.normal(size=(*batch, n))


def direct(model, theta, x, y):
    """The formulas of the papers, sample by sample."""
    out = []
    for point, response in zip(x, y, strict=True):
        if isinstance(model, Competition):
            z = point if model.expert == "linear" else np.append(point, 1.0)
            mean = theta[:, :-1] @ z
            mean = np.tanh(mean) if model.expert == "tanh" else mean
            winners = np.argsort(-np.abs(mean))[: model.active]
            gate = np.zeros(len(theta))
            gate[winners] = np.exp(np.abs(mean[winners])) / np.exp(np.abs(mean[winners])).sum()
        else:
            gate = np.exp(theta[:, 0] + theta[:, model.b] @ point)
            gate /= gate.sum()
            mean = theta[:, model.a] @ point + theta[:, model.beta][:, 0]
        out.append(np.log(gate @ stats.norm.pdf(response, mean, np.sqrt(theta[:, -1]))))
    return np.array(out)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_density_is_the_papers_formula(model):
    theta, x, y = draw(model)
    np.testing.assert_allclose(log_density(model, theta, x, y), direct(model, theta, x, y), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_score_matches_finite_differences(model):
    theta, x, y = draw(model, 2)
    score = model.score(theta, x, y)
    step = 1e-6
    for i in range(theta.shape[-2]):
        for p in range(model.atom_size):
            shift = np.zeros_like(theta)
            shift[..., i, p] = step
            numeric = log_density(model, theta + shift, x, y) - log_density(model, theta - shift, x, y)
            np.testing.assert_allclose(score[..., i, p, :], numeric / (2 * step), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_batches_and_strict_arrays_agree_with_single_members(model):
    theta, x, y = draw(model, 3)
    both = log_density(model, theta, x, y), model.score(theta, x, y)
    for k in range(3):
        np.testing.assert_array_equal(log_density(model, theta[k], x[k], y[k]), both[0][k])
    inputs = [strict.asarray(a) for a in (theta, x, y)]
    np.testing.assert_allclose(np.asarray(log_density(model, *inputs)), both[0], rtol=1e-13)
    np.testing.assert_allclose(np.asarray(model.score(*inputs)), both[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("model", [Competition(2, "affine", 2), SoftmaxGaussian(2)], ids=["competition", "softmax"])
def test_samples_follow_the_density(model):
    theta, _, _ = draw(model)
    x = np.tile([[0.3, -0.4]], (4000, 1))
    y = sample(model, theta, x, np.random.default_rng(8))
    grid = np.linspace(-12, 12, 4001)
    density = np.exp(log_density(model, theta, np.tile(x[:1], (len(grid), 1)), grid))
    cdf = np.interp(y, grid, integrate.cumulative_trapezoid(density, grid, initial=0))
    # Kolmogorov-Smirnov against our own distribution function: false alarm 1e-4
    assert stats.kstest(cdf, "uniform").pvalue > 1e-4


def test_ties_leave_exactly_the_asked_for_number_of_winners():
    model = Competition(1, "linear", 2)
    theta = np.array([[1.0, 0.5], [1.0, 0.5], [-1.0, 0.5], [0.3, 0.5]])
    winners = model.winners(theta, np.array([[0.7], [-0.2]]))
    np.testing.assert_array_equal(winners, [[True, True]] * 2 + [[False, False]] * 2)


@pytest.mark.parametrize("active", [1, 2, 3])
def test_smooth_choice_tends_to_the_hard_one(active):
    model = Competition(2, "affine", active)
    theta, x, _ = draw(model)
    g, _ = model.outputs(theta[:, model.w], model.features(x))
    hard, slope = model.logits(g, 0.0)
    smooth, _ = model.logits(g, 1e-9)
    assert slope is None
    np.testing.assert_allclose(np.exp(smooth), np.exp(hard), atol=1e-12)
    step, at = 1e-7, 0.3
    values, slope = model.logits(g, at)
    for j in range(4):
        moved = g.copy()
        moved[j] += step
        numeric = (model.logits(moved, at)[0] - values) / step
        through = -slope * model.between(g)[j]
        through[j] += 1 + slope[j]
        np.testing.assert_allclose(numeric, through * np.sign(g[j]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("call", [log_density, log_likelihood, SoftmaxGaussian.score])
def test_bad_input_gets_one_clear_sentence(call):
    model = SoftmaxGaussian(1)
    theta, x, y = draw(model)
    negative, holed = theta.copy(), x.copy()
    negative[1, -1], holed[:3] = -1.0, np.nan
    for arguments, words in (
        ((negative, x, y), "theta holds the variance -1; variances must be positive"),
        ((theta * np.nan, x, y), "theta holds numbers that are not finite"),
        ((theta, holed, y), r"x holds 3 number\(s\) that are not finite"),
        ((theta, x[:0], y[:0]), r"x has shape \(0, 1\); its last two axes must not have length 0"),
    ):
        with pytest.raises(ValueError, match=words):
            call(model, *arguments)
