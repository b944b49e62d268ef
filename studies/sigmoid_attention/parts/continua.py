r"""Families of mixing measures G(t) along which the regression function stands still.

Each function takes a truth (N*, P) and t (T,), and returns an array (T, N, P): one measure per t. It trusts the caller
that gate, expert and truth are such as it needs. A loss between parameters that is positive along an exact
family measures where in the family a fit happens to lie, not how well it fits. Along :func:`moved_shares`,
:func:`vanishing_atom` and the pairs of :mod:`studies.sigmoid_attention.parts.constant_gate` the function moves, but by
a higher power of t than the losses of "sigmoid-attention" allow for; :func:`opposite_matrices` is a control.

With E(x, eta) positively homogeneous of degree p (ReLU, linear, polynomial experts):

* :func:`split`: sigma(s) E(eta) = sigma(s) E(t^(1/p) eta) + sigma(s) E((1 - t)^(1/p) eta);
* :func:`null_atom`: an atom with eta = 0, whatever its gate (every expert with E(x, 0) = 0);
* :func:`trade`: where the gate is constant, sigma(c) E(eta) depends on sigma(c)^(1/p) eta alone;
* :func:`mirror`: where it is constant, sigma(c) E(eta) = (sigma(s) + sigma(-s)) E(sigma(c)^(1/p) eta) for every s.

For any expert: :func:`shift` (softmax) and :func:`antisymmetric`. For linear experts: :func:`softmax_pair`.
"""

from __future__ import annotations

import numpy as np

from moestat.models import experts, gates
from moestat.models.regression import Model

CHUNK = 2048  # points per product of :func:`jacobian`


def split(model: Model, truth: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Split the last atom's expert in the shares t, in [0, 1], and 1 - t; the gate is kept."""
    shares = np.stack([t, 1.0 - t], axis=1) ** (1.0 / model.power)
    pair = np.repeat(truth[None, -1:, :], 2, axis=1) * np.ones((len(t), 1, 1))
    pair[..., model.eta] *= shares[..., None]
    return np.concatenate([_repeat(truth[:-1], t), pair], axis=1)


def moved_shares(model: Model, truth: np.ndarray, gate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Split the last atom's expert in equal shares, and move their gates apart by +-t times ``gate`` (Q,).

    The first order in t cancels, as it does for shares p and 1 - p with gates at (1 - p) t and -p t: the function moves
    by t^2, and the distance to every representation of the truth by t.
    """
    out = split(model, truth, np.full(len(t), 0.5))
    out[:, -2:, : model.gate_size] += (t[:, None] * gate)[:, None, :] * np.array([1.0, -1.0])[:, None]
    return out


def null_atom(model: Model, truth: np.ndarray, gate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Add an atom with eta = 0 and the gate coordinates t times ``gate`` (Q,)."""
    atom = np.zeros((len(t), 1, model.atom_size))
    atom[:, 0, : model.gate_size] = t[:, None] * gate
    return np.concatenate([_repeat(truth, t), atom], axis=1)


def vanishing_atom(model: Model, truth: np.ndarray, gate: np.ndarray, eta: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Add an atom with the gate coordinates ``gate`` (Q,) and eta(t) = t ``eta``, a null atom at t = 0.

    The function moves by t^p for an expert that is homogeneous of degree p, and by t for one whose derivative in eta
    is not 0 at eta = 0 (GELU).
    """
    atom = np.empty((len(t), 1, model.atom_size))
    atom[:, 0, : model.gate_size] = gate
    atom[:, 0, model.eta] = t[:, None] * eta
    return np.concatenate([_repeat(truth, t), atom], axis=1)


def trade(model: Model, truth: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Trade the intercept of every atom of constant gate for the length of its eta.

    sigma(c(t)) = sigma(c*) exp(-t) and eta(t) = exp(t / p) eta*, so that t must be at least log sigma(c*).
    """
    out = _repeat(truth, t)
    constant = _constant(model, truth)
    weight = model.weights(truth)[constant] * np.exp(-t)[:, None]
    out[:, constant, 0] = np.log(weight) - np.log1p(-weight)
    out[:, constant, model.eta] *= np.exp(t / model.power)[:, None, None]
    return out


def mirror(model: Model, truth: np.ndarray, gate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Replace the last atom, of constant gate, by two of opposite gates +-t times ``gate`` (Q,)."""
    pair = np.repeat(_repeat(truth[-1:], t), 2, axis=1)
    pair[..., model.eta] *= float(model.weights(truth)[-1]) ** (1.0 / model.power)
    pair[..., : model.gate_size] = (t[:, None] * gate)[:, None, :] * np.array([1.0, -1.0])[:, None]
    return np.concatenate([_repeat(truth[:-1], t), pair], axis=1)


def shift(model: Model, truth: np.ndarray, gate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Add t times ``gate`` (Q,) to the gate coordinates of every atom of a softmax gate."""
    out = _repeat(truth, t)
    out[..., : model.gate_size] += (t[:, None] * gate)[:, None, :]
    return out


def softmax_pair(model: Model, pair: np.ndarray, t: np.ndarray) -> np.ndarray:
    r"""Write a softmax mixture of two atoms as sigmoid mixtures of three, for linear experts.

    With s = s_1 - s_2,
    sigma(s) h_1 + sigma(-s) h_2 = sigma(s) (h_1 - t h_2) + sigma(-s) (1 - t) h_2 + sigma(0) 2 t h_2.
    At t = 0 the third atom is null: for every expert, two softmax atoms are two sigmoid atoms.
    """
    q = model.gate_size
    difference, h1, h2 = pair[0, :q] - pair[1, :q], pair[0, q:], pair[1, q:]
    out = np.zeros((len(t), 3, model.atom_size))
    out[:, 0, :q], out[:, 1, :q] = difference, -difference
    out[:, 0, q:] = h1 - t[:, None] * h2
    out[:, 1, q:] = (1.0 - t)[:, None] * h2
    out[:, 2, q:] = 2.0 * t[:, None] * h2
    return out


def opposite_matrices(model: Model, truth: np.ndarray, matrix: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Fit the last atom, of constant gate, by two with A = +-t S: the control, in which f moves by t^2.

    Nothing in the score is of the order of (x'Sx)^2, so the term of order t^2 stays. ``matrix`` is S (d, d).
    """
    half = 0.5 * float(model.weights(truth)[-1])
    pair = np.repeat(_repeat(truth[-1:], t), 2, axis=1)
    pair[..., 0] = np.log(half) - np.log1p(-half)
    stored = gates.pack_symmetric(matrix)
    pair[..., model.a_matrix] = t[:, None, None] * np.array([1.0, -1.0])[:, None] * stored
    return np.concatenate([_repeat(truth[:-1], t), pair], axis=1)


def antisymmetric(model: Model, truth: np.ndarray, matrices: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return full matrices A_i + t (K_i - K_i') / 2 that all have the same x'Ax; ``matrices`` is K, (N*, d, d).

    To be used with :func:`predict_full`; the storage of :class:`Model` has no place for them.
    """
    skew = 0.5 * (matrices - np.swapaxes(matrices, 1, 2))
    moved: np.ndarray = gates.unpack_symmetric(truth[:, model.a_matrix], model.d) + t[:, None, None, None] * skew
    return moved


def predict_full(model: Model, truth: np.ndarray, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return f with the full matrices (T, N*, d, d) in place of the stored A; x is (n, d), the result (T, n)."""
    quadratic = np.einsum("na,tiab,nb->tin", x, matrices, x, optimize=True)
    score = quadratic + (truth[:, model.b] @ x.T if model.score != "partial" else 0.0) + truth[:, :1]
    h = truth[:, model.eta] @ experts.expert_features(x)
    phi = experts.activation(model.expert, h, power=model.power)[0]
    values: np.ndarray = np.sum(gates.gate_values(model.gate, score) * phi, axis=-2)
    return values


def jacobian(model: Model, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the derivatives of f in all coordinates, (n, N P); for small problems, it is held whole.

    ``theta`` (N, P); ``x`` (n, d).
    """
    parts = []
    for start in range(0, len(x), CHUNK):
        part = x[start : start + CHUNK]
        q, e = gates.score_features(part, model.score), experts.expert_features(part)
        g = gates.gate_values(model.gate, theta[:, : model.gate_size] @ q)
        phi, slope = experts.activation(model.expert, theta[:, model.gate_size :] @ e, power=model.power, order=1)
        u = gates.output_slopes(model.gate, g, phi, np.sum(g * phi, axis=0))
        both = np.concatenate([u[:, None, :] * q, (g * slope)[:, None, :] * e], axis=1)
        parts.append(both.reshape(-1, len(part)).T)
    return np.concatenate(parts)


def antisymmetric_jacobian(model: Model, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the derivatives of f when every A is stored in full: the columns of A_ab and A_ba are equal.

    Returns (n, N (P + d (d - 1) / 2)).
    """
    narrow = jacobian(model, theta, x).reshape(len(x), len(theta), model.atom_size)
    off = narrow[:, :, model.a_matrix][:, :, model.d :] / np.sqrt(2.0)
    kept = narrow.copy()
    kept[:, :, model.a_matrix.start + model.d : model.a_matrix.stop] = off
    return np.concatenate([kept, off], axis=2).reshape(len(x), -1)


def null_directions(columns: np.ndarray, tolerance: float = 1e-10) -> tuple[int, float]:
    """Count the null directions of the information matrix J'J / n, and say how clearly.

    ``columns`` (n, p): the Jacobian; columns are scaled to unit length, so that the count does not depend on units.
    ``tolerance``: singular values of the scaled Jacobian below this multiple of the largest count as zero.

    ``gap`` is the smallest kept over largest dropped singular value (over the tolerance where none is dropped).
    """
    length = np.sqrt(np.sum(columns**2, axis=0))
    values = np.linalg.svd(columns[:, length > 0] / length[length > 0], compute_uv=False)
    rank = int(np.sum(values > tolerance * values[0]))
    dropped = values[rank] if rank < len(values) else tolerance * values[0]
    return columns.shape[1] - rank, float(values[rank - 1] / max(dropped, np.finfo(float).tiny))


def _repeat(atoms: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.repeat(atoms[None], len(t), axis=0)


def _constant(model: Model, truth: np.ndarray) -> np.ndarray:
    return np.asarray(np.all(truth[:, 1 : model.gate_size] == 0.0, axis=1))
