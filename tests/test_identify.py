"""The identifiability check: known equations, known verdicts, the user's own expert, and what the relations mean."""

import numpy as np
import pytest
from scipy import special

from moestat.identify import identify
from moestat.identify.derivatives import numerical, two_layer
from moestat.identify.evaluate import distance_to_harm
from moestat.identify.families import Label
from moestat.losses import voronoi
from moestat.models.regression import Model


@pytest.fixture(scope="module")
def identified():
    """Verdicts are computed once; d = 1 with one atom is the cheapest."""
    cases = {}

    def get(expert, **keywords):
        key = (expert, *sorted(keywords.items()))
        if key not in cases:
            cases[key] = identify(expert, **{"d": 1, "atoms": 1} | keywords)
        return cases[key]

    return get


def texts(relations, holds_for=None):
    return {r.text for r in relations if holds_for in (None, r.holds_for)}


def test_the_equations_of_a_linear_expert_are_those_of_the_paper(identified):
    """Equation (8), and which of the three belong to the gate and to every two-layer expert."""
    equations = identified("linear").equations
    assert texts(equations) >= {"F_{A c} = F_{b b}", "F_{A beta} = F_{b a}", "F_{b beta} = F_{c a}"}
    assert texts(equations, "every expert") == {"F_{A c} = F_{b b}"}
    assert texts(equations, "every phi(a'x + beta)") == {"F_{A beta} = F_{b a}", "F_{b beta} = F_{c a}"}
    assert "F_c = a F_{b beta} + beta F_{c beta}" in texts(equations, "this expert")  # Euler's identity
    assert all(r.residual < 1e-12 for r in equations)


def test_the_equations_in_two_dimensions():
    equations = texts(identify("tanh", d=2, atoms=1).equations)
    assert {"F_{A12 c} = F_{b1 b2}", "F_{A11 c} = F_{b1 b1}", "F_{b1 beta} = F_{c a1}"} <= equations
    assert {"F_{A11 A22} = F_{A12 A12}", "F_{A11 beta} = F_{b1 a1}"} <= equations


@pytest.mark.parametrize(
    ("expert", "score", "options", "verdict", "but_for_gate"),
    [
        ("gelu", "full", {}, "weak", True),
        ("tanh", "full", {}, "weak", True),
        ("relu", "full", {}, "weak", False),
        ("linear", "full", {}, "weak", False),
        ("polynomial", "full", {"power": 2}, "weak", False),
        ("polynomial", "full", {"power": 3}, "weak", False),
        ("gelu", "partial", {}, "strong", True),
        ("tanh", "partial", {}, "strong", True),
        ("relu", "partial", {}, "weak", False),
        ("linear", "partial", {}, "weak", False),
        ("polynomial", "partial", {"power": 2}, "weak", False),
        ("tanh", "linear", {}, "strong", True),
        ("gelu", "full", {"outer_scale": True}, "weak", False),
        ("relu", "full", {"outer_scale": True}, "neither", False),
        ("linear", "full", {"outer_scale": True}, "neither", False),
    ],
)
def test_verdicts(identified, expert, score, options, verdict, but_for_gate):
    result = identified(expert, score=score, **options)
    assert (result.verdict, result.strong_but_for_gate) == (verdict, but_for_gate)
    assert (result.exponents["dense"] is None) == (verdict == "neither")
    assert (result.exponents["sparse over"] == -0.25) == (verdict == "strong")


def test_special_configurations(identified):
    """Exact identities: sigmoid(s) + sigmoid(-s) = 1 for all; splitting and c against |eta| for the homogeneous."""
    opposite, colinear = "opposite gates, one expert", "one gate, experts eta and 2 eta"
    constant, two = "a constant gate, (A, b) = 0", "one gate, two experts"
    for expert in ("gelu", "tanh", "relu", "linear"):
        assert opposite in identified(expert).fails_at
        assert "two gates, experts eta and 2 eta" not in identified(expert).fails_at
    for expert in ("relu", "linear"):
        assert {colinear, constant} <= set(identified(expert).fails_at)
    for expert in ("gelu", "tanh"):
        assert not {colinear, constant, two} & set(identified(expert).fails_at)
    assert two in identified("linear").fails_at and two not in identified("relu").fails_at
    assert constant in identified("gelu", outer_scale=True).fails_at


@pytest.mark.parametrize("expert", ["gelu", "relu"])
def test_the_gates_relation_is_real(expert):
    """Two atoms with b = t and -t and A of order t^2 over a sparse atom: f moves by t^3, L1 by t^2, any expert.

    So L1 is not bounded by the distance of the functions under the fully quadratic score.
    """
    model = Model("sigmoid", "full", expert, 1)
    truth = np.array([[-0.4, 0.0, 0.0, 1.0, 0.3]])
    weight = 1 / (1 + np.exp(0.4))
    shares = np.array([0.3, 0.7]) * weight
    c, slope, bend = np.log(shares / (1 - shares)), shares * (1 - shares), shares * (1 - shares) * (1 - 2 * shares)
    x = np.linspace(-1, 1, 2001)[:, None]
    losses, distances, sizes = [], [], np.array([0.2, 0.1, 0.05, 0.025])
    for t in sizes:
        b = np.array([t, -t * slope[0] / slope[1]])
        a_matrix = -bend * b**2 / (2 * slope)
        fitted = np.stack([np.r_[c[i], b[i], a_matrix[i], truth[0, 3:]] for i in range(2)])
        losses.append(voronoi.L1(fitted, truth, model))
        distances.append(np.sqrt(np.mean((model.predict(fitted, x) - model.predict(truth, x)) ** 2)))
    assert np.polyfit(np.log(sizes), np.log(losses), 1)[0] == pytest.approx(2, abs=0.1)
    assert np.polyfit(np.log(sizes), np.log(distances), 1)[0] == pytest.approx(3, abs=0.1)


def tanh_expert(x, eta):
    return np.tanh(x @ eta[:-1] + eta[-1])


def relu_expert(x, eta):
    return np.maximum(x @ eta[:-1] + eta[-1], 0.0)


def real_gelu(x, eta):
    h = x @ np.asarray(eta, dtype=float)[:-1] + eta[-1]
    return h * special.ndtr(h)


def soft_linear(x, eta):
    """Not a two-layer expert: a product of two parameters, so it has a scale of its own."""
    return eta[0] * eta[1] * np.tanh(x[:, 0])


def crossing(rng):
    """Parameters whose kink crosses the cube."""
    return np.array([rng.choice([-1.0, 1.0]) * rng.uniform(0.8, 1.5), rng.uniform(-0.5, 0.5)])


@pytest.mark.parametrize(
    ("function", "named", "score"),
    [(tanh_expert, "tanh", "partial"), (relu_expert, "relu", "full")],
)
def test_a_users_expert_gets_the_verdict_of_the_named_one(identified, function, named, score):
    mine = identify(function, d=1, atoms=1, score=score, parameters=("a", "beta"), draw=crossing)
    theirs = identified(named, score=score)
    assert (mine.verdict, mine.strong_but_for_gate) == (theirs.verdict, theirs.strong_but_for_gate)
    assert mine.first.structure.rank == theirs.first.structure.rank
    assert mine.strong.structure.rank == theirs.strong.structure.rank


def test_a_users_expert_that_is_not_weakly_identifiable():
    result = identify(soft_linear, d=1, atoms=1, parameters=("u", "v"), draw=lambda rng: rng.uniform(0.5, 1.5, 2))
    assert result.verdict == "neither"
    assert any("F_u" in r.text and "F_v" in r.text for r in result.first.relations)


@pytest.mark.parametrize(
    ("function", "named", "tolerance"),
    [(tanh_expert, "tanh", 1e-11), (real_gelu, "gelu", 1e-8), (relu_expert, "relu", 1e-10)],
)
def test_numerical_derivatives(function, named, tolerance):
    x = np.random.default_rng(0).uniform(-4, 4, (300, 2))
    eta = np.array([0.9, -0.6, 0.2])
    mine, usable, error = numerical(function, ("a1", "a2", "beta")).jet(x, eta)
    exact, _, _ = two_layer(named, 2, 1, False).jet(x, eta)
    assert usable.mean() > 0.7
    assert error < 10 * tolerance
    for name in ("value", "first", "second"):
        difference = getattr(mine, name)[usable] - getattr(exact, name)[usable]
        assert np.max(np.abs(difference)) < tolerance * (1 + np.max(np.abs(exact.second)))


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "linear", "polynomial"])
@pytest.mark.parametrize("outer_scale", [False, True])
def test_closed_derivatives_by_differences(name, outer_scale):
    expert = two_layer(name, 2, 3 if name == "polynomial" else 1, outer_scale)
    x = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    eta = np.array([0.9, -0.6, 0.2, 1.7])[: len(expert.names)]
    step = 1e-5
    x = x[np.abs(x @ eta[:2] + eta[2]) > 0.01]
    exact = expert.jet(x, eta)[0]
    for k, direction in enumerate(np.eye(eta.size)):
        ahead, behind = (expert.jet(x, eta + s * step * direction)[0] for s in (1, -1))
        np.testing.assert_allclose((ahead.value - behind.value) / (2 * step), exact.first[:, k], atol=1e-8)
        np.testing.assert_allclose((ahead.first - behind.first) / (2 * step), exact.second[:, k], atol=1e-8)


def test_harm_of_relations():
    """The criterion on made-up relations: definite, indefinite, first order only, and a definite combination."""
    labels = [Label(t, 0, True) for t in (("u",), ("u", "u"), ("u", "v"), ("v", "v"))]
    one = np.ones(4)

    def harm(*rows):
        return distance_to_harm(np.array(rows, dtype=float), labels, ("u", "v"), one)

    assert harm([1, -2, 0, 0]) == pytest.approx(0, abs=1e-6)  # F_u = 2 F_uu
    assert harm([1, 0, 1, 0]) == np.inf  # F_uv = -F_u
    assert harm([0, 1, 0, -1]) == np.inf  # F_uu = F_vv: trace 0
    assert harm([0, 1, 0, -0.5]) > 0.1
    assert harm([1, 0, 0, 0]) == 0  # F_u = 0
    assert harm([0, 1, 3, 0], [0, 0, 1, 0.5]) > 0.01
    assert harm([0, 1, 3, 0], [0, 0, 3, -1]) == pytest.approx(0, abs=1e-6)  # their difference is F_uu + F_vv
    assert distance_to_harm(np.zeros((0, 4)), labels, ("u", "v"), one) == np.inf


def test_near_dependence_is_not_taken_for_dependence():
    """In d = 1 two smooth atoms are numerically dependent: the check says undecided rather than guess."""
    assert identify("tanh", d=1, atoms=2).verdict == "undecided"


def test_an_expert_without_derivatives_is_refused():
    def steps(x, eta):
        return np.round(8 * x[:, 0] * eta[0]) * eta[1] + np.abs(np.round(1e4 * eta[0]))

    with pytest.raises(ValueError, match="no second derivatives"):
        identify(steps, d=1, atoms=1, parameters=("u", "v"))


def test_the_table_tells_experts_apart_by_score_regime_and_what_breaks_them():
    from moestat.identify import table

    shown = table(["gelu", "linear"], scores=["full", "partial"]).set_index(["expert", "score", "regime"])
    exact, over = "sparse, exactly fitted", "sparse, over-specified"
    assert list(shown.loc[("gelu", "full")]["holds"]) == ["yes", "no", "no"]
    assert list(shown.loc[("gelu", "partial")]["eta"]) == ["-0.5", "-0.5", "-0.25"]
    assert shown.loc[("gelu", "full", exact), "broken by"].startswith("F_{b1 b1}(0) = 0.373164 F_{A11}(0) [every")
    assert shown.loc[("linear", "partial", over), "broken by"] == "F_{a1 a1}(0) = 0"
    assert list(shown.loc[("linear", "full")]["definition"]) == ["2", "1", "1"]
    assert shown.loc[("linear", "full", exact), "b"] == "none"


def test_without_order_zero_the_family_is_the_printed_one_and_euler_s_identity_is_not_its_only_harm():
    relu, printed = (identify("relu", d=1, atoms=1, order_zero=zero) for zero in (True, False))
    assert relu.strong.structure.functions == printed.strong.structure.functions + 1
    assert relu.verdict == printed.verdict == "weak"
