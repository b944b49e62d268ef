r"""Where a global search starts: beside known minimisers, at random, and with one atom taken out or put in.

Every start has a kind and an index, and its random numbers come from a stream of that name: a larger budget begins
with the same starts, and no number depends on which of them are computed together.

The atom that is put in is the one of thousands of candidates for which a score statistic says that it pays most, at the
cost of one fit (:func:`screen`). Let f be a fit with atoms :math:`\theta`, r = y - f its residuals and T the matrix of
its tangents (the derivatives of f in the free coordinates of :math:`\theta`). A new atom with gate g and expert
:math:`\phi(h)`, h = e(x)'eta, changes f to first order by a combination of the columns C

* g phi'(h) e_l(x), one for each expert coordinate (for linear experts exact, for ReLU on the active side), and
* g (phi(h) - f) for the softmax gate, where the new atom takes its mass from the others, and g phi(h) otherwise.

If all else is re-fitted to first order too, the residual sum of squares falls by

.. math::
    s' S^{-1} s, \qquad s = C'r - (C'T) G^{-1} T'r, \quad S = C'C - (C'T) G^{-1} (T'C), \quad G = T'T,

beyond what the old atoms gain by themselves: the score (Rao) statistic for the presence of the atom, times the residual
variance. G is factored once; a candidate then costs one product with T.
"""

from __future__ import annotations

from collections.abc import Callable

import array_api_compat
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit.cuda_problem import problem_on_device
from moestat.fit.gradient import perturb
from moestat.fit.moments import CUDA_ROWS
from moestat.fit.second_order import free_coordinates
from moestat.models import experts, gates, truths
from moestat.models.blocks import row_blocks, summed
from moestat.models.regression import Model

Stream = Callable[[str], np.random.Generator]
"""Returns the random generator of a purpose; different purposes are independent."""

RADII = (0.05, 0.3, 1.0)
"""Standard deviations per coordinate of the starts near a known minimiser, in turn: a basin is about 0.5 wide."""
KINDS = ("local", "near", "random", "insert", "replace")
"""Kinds of starts: the local estimator's own, beside a known minimiser, drawn from the law of truths, a smaller fit
with one atom more, and the best fit with one atom replaced."""

ROWS = 2048  #: Samples per chunk. Fixed, so that no result depends on how many candidates are screened together.
GROUP = 64  #: Candidates per product.
FLAT = 1e-8
"""Ridge on the tangents' Gram matrix, relative to its largest diagonal entry: redundant atoms make it singular."""
RIDGE = 1e-4
"""Ridge on the candidate's own matrix S, relative to the diagonal of C'C: its products are made in float32."""
SCALES = (0.3, 3.0)
"""A new atom's mass (the factor of its last column) is kept in this range; the linear model holds near 1."""


def near(known: np.ndarray, count: int, stream: Stream, *, box: float) -> np.ndarray:
    """Return ``count`` starts around the known minimisers (K, N, P): all of them at the first radius, then the next."""
    out = []
    for k in range(count):
        radius = RADII[k // len(known) % len(RADII)]
        out.append(perturb(known[k % len(known)], radius, stream(f"search near {k}")))
    return _stack(out, known.shape[1:], box)


def random(model: Model, n_atoms: int, count: int, stream: Stream, *, box: float) -> np.ndarray:
    """Return ``count`` draws from the law of truths."""
    drawn = [truths.ground_truth(model, n_atoms, "dense", stream(f"search random {k}")) for k in range(count)]
    return _stack(drawn, (n_atoms, model.atom_size), box)


def without_one(theta: np.ndarray) -> np.ndarray:
    """Return the measures (..., N, N - 1, P) that lack one atom of ``theta`` (..., N, P), in the order of atoms."""
    return np.stack([np.delete(theta, k, axis=-2) for k in range(theta.shape[-2])], axis=-3)


def inserted(
    model: Model,
    x: Array,
    y: Array,
    bases: np.ndarray,
    count: int,
    screened: int,
    purpose: str,
    stream: Stream,
    *,
    box: float,
) -> np.ndarray:
    """Return ``count`` starts that put one atom into smaller fits: the candidates with the largest first-order gains.

    The fits (B, N - 1, P) get equal shares of the starts, and of the ``screened`` candidates that they are chosen from.
    """
    law = np.full(model.atom_size, model.d**-0.5)
    best = []
    for b, base in enumerate(bases):
        share = len(range(b, count, len(bases)))
        number = max(screened // len(bases), share)
        drawn = candidates(model, x, base, number, law, stream(f"{purpose} {b}"), box=box)
        moved, gain = screen(model, x, y, base, drawn, box=box)
        chosen = np.argsort(-gain, kind="stable")[:share]
        best.append([np.concatenate([base, moved[k][None]]) for k in chosen])
    # in turn, so that a smaller number of starts still sees every base
    ordered = [group[k] for k in range(max(map(len, best), default=0)) for group in best if k < len(group)]
    return _stack(ordered, (bases.shape[1] + 1, model.atom_size), box)


def _stack(measures: list[np.ndarray], shape: tuple[int, ...], box: float) -> np.ndarray:
    inside: np.ndarray = np.clip(np.stack(measures) if measures else np.empty((0, *shape)), -box, box)
    return inside


def screen(
    model: Model, x: Array, y: Array, theta: np.ndarray, atoms: np.ndarray, *, box: float
) -> tuple[np.ndarray, np.ndarray]:
    """Say what candidate atoms (K, P) promise beside the atoms of a fit (M, P) to x (n, d), y (n,).

    Returns the candidates (K, P), moved to where the linear model puts them, inside the box; and by how much the
    residual sum of squares falls (K,), to first order, all else being re-fitted but for coordinates that the box holds.
    The fit is best at a minimum.
    """
    xp = namespace(x, y)
    smooth = 0.001 if model.expert == "relu" else 0.0
    problem = problem_on_device(model, len(theta), x[None, ...], y[None, ...], "double")
    point = xp.asarray(theta)[None, ...]
    _, gradient, gram = problem.hessian(point, smooth, 0.0)
    free = to_numpy(free_coordinates(xp.reshape(point, gradient.shape), gradient, -box, box))[0]
    gram, slope = problem.n * to_numpy(gram)[0], -problem.n * to_numpy(gradient)[0]
    gram = np.where(free[:, None] & free[None, :], gram, 0.0)
    top = float(np.diag(gram).max())
    gram[np.diag_indices(len(gram))] += np.where(free, FLAT * top if top > 0 else 1.0, 1.0)
    factor = cho_factor(gram, lower=True, check_finite=False)
    slope = np.where(free, slope, 0.0)
    own_step = cho_solve(factor, slope, check_finite=False)
    parts = [_group(model, x, y, point, xp.asarray(atoms[k : k + GROUP]), smooth) for k in range(0, len(atoms), GROUP)]
    score, square, cross = (np.concatenate([part[i] for part in parts]) for i in range(3))
    cross = np.where(free, cross, 0.0)
    swept = cho_solve(factor, cross.reshape(-1, len(gram)).T, check_finite=False).T.reshape(cross.shape)
    s = score - cross @ own_step
    scale = np.einsum("kii->ki", square) + np.finfo(np.float32).tiny
    matrix = square - np.matmul(cross, np.swapaxes(swept, 1, 2))
    matrix = 0.5 * (matrix + np.swapaxes(matrix, 1, 2))
    matrix[:, np.arange(matrix.shape[1]), np.arange(matrix.shape[1])] += RIDGE * scale
    ok = np.isfinite(matrix).all(axis=(1, 2)) & np.isfinite(s).all(axis=1)
    matrix = np.where(ok[:, None, None], matrix, np.eye(matrix.shape[1]))
    s = np.where(ok[:, None], s, 0.0)
    step = np.linalg.solve(matrix, s[..., None])[..., 0]
    mass = np.clip(step[:, -1], *SCALES)
    # the other coefficients given that one
    rest = s[:, :-1] - matrix[:, :-1, -1] * mass[:, None]
    move = np.linalg.solve(matrix[:, :-1, :-1], rest[..., None])[..., 0]
    whole = np.concatenate([move, mass[:, None]], axis=1)
    gain = 2.0 * np.sum(whole * s, axis=1) - np.einsum("ki,kij,kj->k", whole, matrix, whole)
    placed = atoms.copy()
    if model.expert in experts.HOMOGENEOUS and model.gate != "softmax" and model.power == 1:
        placed[:, model.eta] = mass[:, None] * atoms[:, model.eta] + move
    else:
        placed[:, 0] += np.log(mass)
        placed[:, model.eta] += move / mass[:, None]
    return np.clip(placed, -box, box), np.where(ok, gain, -np.inf)


def _group(model: Model, x: Array, y: Array, theta: Array, atoms: Array, smooth: float) -> tuple[np.ndarray, ...]:
    """Return C'r (K, E + 1), C'C (K, E + 1, E + 1) and C'T (K, E + 1, p) of some candidates."""
    xp = namespace(x)
    count, base = atoms.shape[0], theta[0, ...]

    def of_rows(rows: slice) -> tuple[Array, ...]:
        f, tangents, q, e = model.tangents(base, x[rows, :], tau=smooth)
        # the gate of every candidate in the presence of the atoms of the fit
        scores, softmax = atoms[:, : model.gate_size] @ q, model.gate == "softmax"
        if softmax:
            scores = scores - log_mass(base[:, : model.gate_size] @ q)
        weight = gates.gate_values("sigmoid" if softmax else model.gate, scores)
        h = atoms[:, model.eta] @ e
        phi, slope = experts.activation(model.expert, h, tau=smooth, power=model.power, order=1)
        last = weight * (phi - f if softmax else phi)
        columns = xp.concat([(weight * slope)[:, None, :] * e, last[:, None, :]], axis=1)
        columns, tangents, residual = (xp.astype(a, xp.float32) for a in (columns, tangents, y[rows] - f))
        flat = xp.reshape(columns, (count * columns.shape[1], -1))
        products = (
            xp.reshape(flat @ residual, (count, -1)),
            columns @ xp.matrix_transpose(columns),
            xp.reshape(flat @ xp.matrix_transpose(tangents), (count, columns.shape[1], -1)),
        )
        return tuple(to_numpy(a).astype(np.float64) for a in products)

    block = CUDA_ROWS if array_api_compat.is_cupy_array(x) else ROWS
    return summed(of_rows(rows) for rows in row_blocks(x.shape[0], block))


def log_mass(scores: Array) -> Array:
    """Return log sum_i exp(s_i), (rows,), of the scores (N, rows)."""
    xp = namespace(scores)
    top = xp.max(scores, axis=0)
    return top + xp.log(xp.sum(xp.exp(scores - top), axis=0))


def candidates(
    model: Model, x: Array, theta: np.ndarray, count: int, law: np.ndarray, rng: np.random.Generator, *, box: float
) -> np.ndarray:
    """Draw candidate atoms: gates of several widths, at random or beside those of the fit, and of several masses.

    The first ``k`` candidates are the same for every ``count >= k``. Every other one lies beside the gates of the fit
    ``theta`` (M, P); ``law`` (P,) are the standard deviations of an atom's coordinates, and the first 1024 samples set
    the masses.
    """
    size = model.gate_size
    # one row of draws per candidate, so that more candidates begin with the same ones
    normal = rng.standard_normal((count, model.atom_size + 3))
    choice = np.argsort(np.argsort(normal[:, -3:], axis=1), axis=1)  # uniform on the orders of three
    atoms = law * normal[:, : model.atom_size]
    atoms[:, :size] *= np.array([0.7, 1.5, 3.0])[choice[:, 0]][:, None]
    near = np.arange(count) % 2 == 0
    atoms[near, :size] += theta[np.arange(count)[near] // 2 % len(theta), :size]
    atoms = np.clip(atoms, -box, box)
    if model.gate not in gates.GATES:
        return atoms
    shares = (0.01, 0.05, 0.15) if model.gate == "softmax" else (0.1, 0.3, 0.6)
    atoms[:, 0] = np.clip(_intercepts(model, x, theta, atoms, np.array(shares)[choice[:, 1]]), -box, box)
    return atoms


def _intercepts(model: Model, x: Array, theta: np.ndarray, atoms: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the c at which the mean of a candidate's gate over the first samples is ``share``, by bisection."""
    q = to_numpy(gates.score_features(x[:1024, :], model.score))
    scores = atoms[:, 1 : model.gate_size] @ q[1:]
    if model.gate == "softmax":
        scores = scores - log_mass(theta[:, : model.gate_size] @ q)
    low, high = np.full(len(atoms), -40.0), np.full(len(atoms), 40.0)
    for _ in range(20):
        middle = 0.5 * (low + high)
        above = np.mean(gates.gate_values("sigmoid", scores + middle[:, None]), axis=1) > share
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    intercepts: np.ndarray = 0.5 * (low + high)
    return intercepts
