from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import integrate, optimize

from moestat.losses.divergences import MOST, expected_hellinger, squared_hellinger
from moestat.losses.measures import competition_losses, softmax_losses
from moestat.models.competition import Competition
from moestat.models.gaussian import log_density
from moestat.models.softmax_gaussian import SoftmaxGaussian

LINE = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
THREE = np.array([[0.5, 2, 1, 3, 0, 1, 0.3], [-0.5, -1, 2, 0, 3, -1, 0.2], [0, 0, 0, -3, -3, 0, 0.5]], dtype=float)
PLANES = np.array([[1.2, 0.3, 2, 0.15], [-0.9, 0.9, 2, 0.3], [-0.3, -1.2, 2, 0.2], [0.8, -0.7, 1.9, 0.4]])


def near(truth, atoms, size, rng):
    """Atoms near true ones, every true one at least once."""
    index = np.concatenate([np.arange(len(truth)), rng.integers(len(truth), size=atoms - len(truth))])
    out = truth[index] + size * rng.normal(size=(atoms, truth.shape[1]))
    out[:, -1] = truth[index, -1] * np.exp(size * rng.normal(size=atoms))
    return out


def norm(values):
    return float(np.linalg.norm(values))


# --- competition gating ----------------------------------------------------------------------------------------------


def competition_by_loops(fitted, truth, active):
    cell = [int(np.argmin([norm(atom - t) for t in truth])) for atom in fitted]

    def cost(atom, t):
        return np.array([norm(atom[:-1] - t[:-1]), abs(atom[-1] - t[-1])])

    sums = np.zeros((len(truth), 2))
    for atom, j in zip(fitted, cell, strict=True):
        sums[j] += cost(atom, truth[j])
    subsets = [list(s) for s in combinations(range(len(truth)), active)]
    pairings = [
        sum(cost(fitted[i], t) for i, t in zip(p, truth, strict=True))
        for p in permutations(range(len(fitted)), len(truth))
    ]
    return {
        "D": max(sums[s].sum() for s in subsets),
        "D_weights": max(sums[s, 0].sum() for s in subsets),
        "D_variances": max(sums[s, 1].sum() for s in subsets),
        "matched": min(p.sum() for p in pairings),
        "matched_weights": min(p[0] for p in pairings),
        "matched_variances": min(p[1] for p in pairings),
        "empty_cells": len(truth) - len(set(cell)),
    }


@pytest.mark.parametrize("atoms", [4, 5])
@pytest.mark.parametrize("active", [1, 2, 4])
def test_competition_losses_are_the_maximum_over_all_subsets_and_the_minimum_over_all_pairings(atoms, active):
    rng = np.random.default_rng(atoms)
    fitted = np.stack([[near(PLANES, atoms, size, rng) for size in (0.01, 0.3, 2.0)] for _ in range(4)])
    model = Competition(2, "affine", active)
    losses = competition_losses(fitted, PLANES, model)
    for where in np.ndindex(4, 3):
        for name, value in competition_by_loops(fitted[where], PLANES, active).items():
            np.testing.assert_allclose(losses[name][where], value, rtol=1e-12, err_msg=name)


# --- softmax gating --------------------------------------------------------------------------------------------------


def softmax_by_search(fitted, truth, d):
    """D1, D2 and the matched distance from their definitions; the infimum over shifts by a numerical search."""
    gate = slice(0, 1 + d)
    blocks = {"b": slice(1, 1 + d), "a": slice(1 + d, 1 + 2 * d), "beta": slice(-2, -1), "v": slice(-1, None)}
    matched, shift = np.inf, None
    for p in permutations(range(len(fitted)), len(truth)):
        chosen = fitted[list(p)].copy()
        move = (truth[:, gate] - chosen[:, gate]).mean(axis=0)
        chosen[:, gate] += move
        parts = (gate, blocks["a"], blocks["beta"], blocks["v"])
        cost = sum(norm(a[part] - t[part]) for a, t in zip(chosen, truth, strict=True) for part in parts)
        if cost < matched:
            matched, shift = cost, move
    fitted = fitted.copy()
    fitted[:, gate] += shift
    cell = np.array([int(np.argmin([norm((a - t)[1:]) for t in truth])) for a in fitted])
    size = np.bincount(cell, minlength=len(truth))
    masses = np.array([np.exp(fitted[cell == j, 0]).sum() for j in range(len(truth))])
    kinks = [np.log(np.exp(truth[j, 0]) / masses[j]) for j in range(len(truth)) if size[j]]

    def without_b(atom, t, rbar):
        half = rbar / 2 if rbar > 1 else 1
        errors = {name: norm(atom[part] - t[part]) for name, part in blocks.items()}
        return errors["beta"] ** rbar + errors["a"] ** half + errors["v"] ** half

    weights, b = np.exp(fitted[:, 0]), fitted[:, blocks["b"]] - truth[cell][:, blocks["b"]]
    orders = {over: np.array([{1: 1, 2: 4, 3: 6}.get(size[j], 7) if over else 1 for j in cell]) for over in (0, 1)}
    others = {over: np.array(list(map(without_b, fitted, truth[cell], orders[over]))) for over in (0, 1)}

    def loss(t0, t1, over):
        scale = np.exp(t0)
        experts = weights @ (np.sqrt(np.sum((b + t1) ** 2, axis=1)) ** orders[over] + others[over])
        return np.abs(scale * masses - np.exp(truth[:, 0])).sum() + scale * experts

    out = {"matched": matched}
    for name, over in (("D1", 0), ("D2", 1)):
        best = np.inf
        for t0 in np.concatenate([kinks, np.linspace(min(kinks), max(kinks), 5)]):
            starts = [truth[cell[i], 1 : 1 + d] - fitted[i, 1 : 1 + d] for i in range(len(fitted))]
            for start in starts:
                options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
                end = optimize.minimize(
                    lambda t1, t0=t0, over=over: loss(t0, t1, over), start, method="Nelder-Mead", options=options
                )
                best = min(best, end.fun, loss(t0, start, over))
        out[name] = best
    return out


@pytest.mark.parametrize(
    ("truth", "atoms", "size"),
    [(LINE, 2, 0.05), (LINE, 3, 0.3), (LINE, 4, 0.3), (LINE, 3, 1.5), (THREE, 3, 0.3), (THREE, 4, 0.3)],
)
def test_softmax_losses_are_the_infimum_over_shifts(truth, atoms, size):
    rng = np.random.default_rng(atoms)
    d = (truth.shape[1] - 3) // 2
    fitted = np.stack([near(truth, atoms, size, rng) for _ in range(2)])
    losses = softmax_losses(fitted, truth, SoftmaxGaussian(d))
    for k in range(len(fitted)):
        for name, value in softmax_by_search(fitted[k], truth, d).items():
            np.testing.assert_allclose(losses[name][k], value, rtol=1e-6, err_msg=f"{name} of fit {k}")


def test_blocks_of_over_specified_and_exactly_specified_atoms():
    fitted = LINE[[0, 0, 1]].copy()
    fitted[:2, 0] -= np.log(2.0)  # two halves of the first expert, moved apart
    fitted[:2, 2] += [0.3, -0.2]
    fitted[:2, 4] += [0.01, -0.02]
    fitted[2, 3] += 0.05
    losses = softmax_losses(fitted, LINE, SoftmaxGaussian(1))
    expected = {"a_over": 0.5, "v_over": 0.03, "beta_over": 0, "beta_exact": 0.05, "a_exact": 0, "v_exact": 0}
    for name, value in expected.items():
        np.testing.assert_allclose(losses[name], value, atol=1e-14, err_msg=name)
    assert [losses[f"cells_{kind}"] for kind in ("over", "exact", "empty")] == [1, 1, 0]
    # halves of a true weight sum to it, so that D1 and D2 hold the errors of the experts alone
    w = np.exp(-8.0) / 2
    np.testing.assert_allclose(losses["D1"], w * 0.53 + 0.05, rtol=1e-10)
    np.testing.assert_allclose(losses["D2"], w * (0.3**2 + 0.2**2 + 0.01**2 + 0.02**2) + 0.05, rtol=1e-10)
    np.testing.assert_allclose([losses["mass_over"], losses["mass_exact"]], 0, atol=1e-15)


def test_an_empty_cell_costs_the_weight_of_its_true_atom():
    truth = LINE.copy()
    truth[0, 0] = -1.0
    fitted = truth[[1, 1]]
    fitted[:, 0] -= np.log(2.0)
    losses = softmax_losses(fitted, truth, SoftmaxGaussian(1))
    assert losses["cells_empty"] == 1 and losses["cells_over"] == 1
    np.testing.assert_allclose(losses["D1"], np.exp(-1.0), rtol=1e-10)


# --- both ------------------------------------------------------------------------------------------------------------


def moved(truth, size, rng):
    out = truth + size * rng.normal(size=truth.shape)
    out[:, -1] = truth[:, -1] * np.exp(size * rng.normal(size=len(truth)))
    return out


def adaptive(model, fitted, truth, point):
    """The integral by adaptive quadrature, split at the means."""
    parts = [model.components(t, point[None]) for t in (fitted, truth)]
    means = np.concatenate([p.mean[:, 0][np.isfinite(p.log_weight[:, 0])] for p in parts])
    wide = 10 * np.sqrt(max(p.variance.max() for p in parts))

    def integrand(v):
        half = [0.5 * log_density(model, t, point[None], np.array([v]))[0] for t in (fitted, truth)]
        return 0.5 * (np.exp(half[0]) - np.exp(half[1])) ** 2

    ends = np.unique(np.concatenate([[means.min() - wide], means, [means.max() + wide]]))
    return sum(
        integrate.quad(integrand, a, b, limit=500, epsabs=0, epsrel=1e-10)[0]
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    )


@pytest.mark.parametrize("size", [0.3, 0.03, 0.001])
@pytest.mark.parametrize(
    ("model", "truth"),
    [(Competition(2, "affine", 2), PLANES), (SoftmaxGaussian(1), LINE)],
    ids=["competition", "softmax"],
)
def test_relative_error_is_below_1e_6(model, truth, size):
    rng = np.random.default_rng(7)
    fitted = moved(truth, size, rng)
    x = rng.uniform(0, 1, (4, model.d))
    ours = squared_hellinger(model, fitted, truth, x)
    reference = [adaptive(model, fitted, truth, point) for point in x]
    np.testing.assert_allclose(ours, reference, rtol=1e-6)
    h, h2 = expected_hellinger(model, fitted, truth, x)
    assert h == pytest.approx(np.mean(np.sqrt(reference)), rel=1e-6) and h2 == pytest.approx(
        np.mean(reference), rel=1e-6
    )


def test_narrow_experts_get_a_finer_grid_or_a_nan():
    model, rng = SoftmaxGaussian(1), np.random.default_rng(3)
    fitted = np.stack([moved(LINE, 0.05, rng)] * 3)
    fitted[1, 0, -1], fitted[2, 0, -1] = 1e-4, 1e-12
    x = np.array([[0.35], [0.7]])
    ours = squared_hellinger(model, fitted, LINE, x)
    for k in range(2):
        reference = [adaptive(model, fitted[k], LINE, point) for point in x]
        np.testing.assert_allclose(ours[k], reference, rtol=1e-6)
    assert np.all(np.isnan(ours[2]))
    assert np.all(np.isfinite(squared_hellinger(model, fitted[2], LINE, x, points=MOST)))


def test_two_normals_in_closed_form():
    model = Competition(1, "affine", 1)
    a, b = np.array([[0.0, 1.0, 0.5]]), np.array([[0.0, 1.4, 0.8]])
    v = 0.5 * (0.5 + 0.8)
    exact = 1 - np.sqrt(np.sqrt(0.5 * 0.8) / v) * np.exp(-(0.4**2) / (8 * v))
    np.testing.assert_allclose(squared_hellinger(model, a, b, np.zeros((3, 1))), exact, rtol=1e-9)
