"""Voronoi losses against a literal transcription of their formulas, and the laws they obey."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from moestat.losses import gauge, voronoi
from moestat.models import truths
from moestat.models.gates import unpack_symmetric
from moestat.models.regression import Model

MODELS = [
    Model("sigmoid", "full", "relu", 3),
    Model("softmax", "full", "linear", 2),
    Model("sigmoid", "partial", "gelu", 3),
    Model("softmax", "partial", "relu", 2),
    Model("sigmoid", "linear", "polynomial", 2, power=2),
]


def problem(model, seed=0, n_true=3, n=4, batch=(5,), radius=0.5):
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, n_true, "dense", rng)
    fitted = truths.split(model, truth, n) + radius * rng.standard_normal((*batch, n, model.atom_size))
    return fitted, truth


def parameters(atom, model):
    """(A, b, c, a, beta) of one atom, absent parts zero."""
    d = model.d
    b = atom[1 : 1 + d] if model.score != "partial" else np.zeros(d)
    stored = atom[model.gate_size - d * (d + 1) // 2 : model.gate_size] if model.score != "linear" else None
    a_matrix = unpack_symmetric(stored, d) if stored is not None else np.zeros((d, d))
    return a_matrix, b, atom[0], atom[-d - 1 : -1], atom[-1]


def literal(fitted, truth, model, name, r=None):
    """One fitted measure, formula by formula, loops and all; a softmax in the best of the gauges in question."""
    if model.gate != "softmax":
        return literal_as_it_stands(fitted, truth, model, name, r)
    return min(literal_as_it_stands(one, truth, model, name, r) for one in gauge.candidates(fitted, truth, model))


def literal_as_it_stands(fitted, truth, model, name, r=None):
    g = [parameters(atom, model) for atom in fitted]
    t = [parameters(atom, model) for atom in truth]
    members = {j: [] for j in range(len(t))}
    for i, (a, b, _, al, be) in enumerate(g):
        distances = [
            np.sqrt(
                np.linalg.norm(a - A) ** 2
                + np.linalg.norm(b - B) ** 2
                + np.linalg.norm(np.append(al, be) - np.append(AL, BE)) ** 2
            )
            for A, B, _, AL, BE in t
        ]
        members[int(np.argmin(distances))].append(i)
    total = 0.0
    for j, (A, B, C, AL, BE) in enumerate(t):
        weight = sigmoid_or_exp(model, C)
        cell_weight = sum(sigmoid_or_exp(model, g[i][2]) for i in members[j])
        over = len(members[j]) > 1
        if name == "Lsm" or (name in ("L1", "L2r") and over):
            total += abs(cell_weight - weight)
        for i in members[j]:
            a, b, c, al, be = g[i]
            da, db, dc = np.linalg.norm(a - A), np.linalg.norm(b - B), abs(c - C)
            deta = np.linalg.norm(np.append(al - AL, be - BE))
            if name == "L1":
                total += da**2 + db**2 + deta**2 if over else da + db + dc + deta
            elif name == "L2r":
                total += da**r + db**r + np.linalg.norm(al - AL) ** r + abs(be - BE) ** r
                total += 0.0 if over else dc**r
            elif name == "L3":
                total += da + db + dc + deta
            else:
                total += np.exp(c) * (da**2 + db**2 + deta**2 if over else da + db + deta)
    return total


def sigmoid_or_exp(model, c):
    return np.exp(c) if model.gate == "softmax" else 1 / (1 + np.exp(-c))


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("radius", [0.05, 0.5, 3.0])
def test_literal_transcription(model, radius):
    fitted, truth = problem(model, seed=1, radius=radius, batch=(3, 2))
    losses = {"L1": voronoi.L1(fitted, truth, model), "L3": voronoi.L3(fitted, truth, model)}
    losses |= {("L2r", r): voronoi.L2r(fitted, truth, model, r) for r in (1.0, 2.0, 3.5)}
    if model.gate == "softmax":
        losses["Lsm"] = voronoi.Lsm(fitted, truth, model)
    for name, values in losses.items():
        name, r = name if isinstance(name, tuple) else (name, None)
        expected = [[literal(one, truth, model, name, r) for one in row] for row in fitted]
        np.testing.assert_allclose(values, expected, rtol=1e-11)


@pytest.mark.parametrize(("seed", "name"), [(5, "L1"), (22, "L1"), (38, "Lsm"), (1, "Lsm"), (2, "Lsm"), (8, "L1")])
def test_each_loss_has_the_gauge_that_is_best_for_it(seed, name):
    """It is not that of L3: the best shift of b is another one (seeds 5, 22, 38), or that of c suits the atoms alone.

    Two numbers to shift, (c, b) at d = 1: the simplex method finds nothing 2 % lower from the best pairings of atoms.
    """
    model = Model("softmax", "linear", "linear", 1)
    fitted, truth = problem(model, seed=seed, n_true=2, n=3, radius=0.5, batch=())

    def loss(shift):
        moved = fitted.copy()
        moved[:, :2] += shift
        return literal_as_it_stands(moved, truth, model, name)

    apart = (truth[:, None, :2] - fitted[:, :2]).reshape(-1, 2)
    starts = sorted(itertools.product(*apart.T), key=loss)[:6]
    best = min(minimize(loss, start, method="Nelder-Mead").fun for start in starts)
    ours = float({"L1": voronoi.L1, "Lsm": voronoi.Lsm}[name](fitted, truth, model))
    assert best * (1 - 1e-6) <= ours <= best * 1.02


def test_a_loss_refuses_a_model_that_it_is_not_of():
    full = MODELS[0]
    fitted, truth = problem(full)
    with pytest.raises(ValueError, match="partially quadratic"):
        voronoi.L4(fitted, truth, full)
    with pytest.raises(ValueError, match="softmax"):
        voronoi.Lsm(fitted, truth, full)
    with pytest.raises(ValueError, match="at least 1"):
        voronoi.L2r(fitted, truth, full, 0.5)
    with pytest.raises(ValueError, match="must be"):
        voronoi.L1(fitted[..., :-1], truth, full)


@pytest.mark.parametrize("expert", ["relu", "gelu"])
def test_softmax_split_by_weight_is_the_truth(expert):
    """c - log 2 twice: the same mixing measure, so the losses with weights vanish."""
    model = Model("softmax", "full", expert, 2)
    truth = truths.ground_truth(model, 3, "dense", np.random.default_rng(2))
    split = truths.split(model, truth, 4)
    for loss in (voronoi.L1, voronoi.L2r, voronoi.Lsm):
        assert loss(split, truth, model) == pytest.approx(0, abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), which=st.sampled_from(range(len(MODELS))))
def test_permutations_and_the_gauge_do_not_matter(seed, which):
    model = MODELS[which]
    fitted, truth = problem(model, seed=seed, radius=0.3, batch=(2,))
    rng = np.random.default_rng(seed)
    other = fitted[:, rng.permutation(4)]
    if model.gate == "softmax":
        other = other.copy()
        other[..., : model.gate_size] += rng.standard_normal(model.gate_size)
    true_other = truth[rng.permutation(3)]
    losses = [voronoi.L1, voronoi.L2r, voronoi.L3] + [voronoi.Lsm] * (model.gate == "softmax")
    for loss in losses:
        np.testing.assert_allclose(loss(other, true_other, model), loss(fitted, truth, model), rtol=1e-8)


def test_ties_go_to_the_lowest_index_and_empty_cells_cost_nothing():
    model = Model("sigmoid", "linear", "linear", 1)
    truth = np.array([[0.0, 0, 1, 0], [0.0, 0, -1, 0]])
    fitted = np.array([[0.3, 0, 0, 0], [0.3, 0, 0, 0]])
    assert list(voronoi.compare(fitted, truth, model).cell) == [0, 0]
    assert voronoi.blocks(fitted, truth, model)["cells_empty"] == 1
    weight = 1 / (1 + np.exp(-0.3))
    assert voronoi.L1(fitted, truth, model) == pytest.approx(abs(2 * weight - 0.5) + 2)


def test_list_of_pseudo_truths_is_an_infimum():
    model = MODELS[0]
    fitted, truth = problem(model, radius=0.1)
    others = np.stack([truth + 1.0, truth, truth - 0.5])
    for loss in (voronoi.L1, voronoi.L3):
        each = np.stack([loss(fitted, other, model) for other in others])
        assert np.array_equal(loss(fitted, others, model), each.min(axis=0))
    with pytest.raises(ValueError, match="truth has shape"):
        voronoi.L3(fitted, others[:0], model)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_blocks_add_up_to_the_losses(model):
    fitted, truth = problem(model, batch=(20,), radius=0.4)
    parts = voronoi.blocks(fitted, truth, model)
    norms = sum(v for k, v in parts.items() if k.split("_")[0] in ("A", "b", "c", "eta"))
    np.testing.assert_allclose(norms, voronoi.L3(fitted, truth, model), rtol=1e-12)
    assert np.all(parts["cells_over"] + parts["cells_exact"] + parts["cells_empty"] == 3)
    assert ("b_over" in parts) == (model.score != "partial") and ("A_over" in parts) == (model.score != "linear")
