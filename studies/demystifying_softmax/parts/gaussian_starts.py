"""Where the fits of softmax-gated Gaussian mixtures of experts start: three declared policies.

Atoms are ``[c, b, a, beta, v]``, see :class:`moestat.models.softmax_gaussian.SoftmaxGaussian`.
"""

from __future__ import annotations

import numpy as np

from moestat.models.softmax_gaussian import SoftmaxGaussian


def _cover(atoms: int, true_atoms: int, rng: np.random.Generator) -> np.ndarray:
    """Assign fitted to true atoms at random, every true atom at least once and the last atom to the last."""
    if atoms < true_atoms:
        raise ValueError(f"{atoms} fitted atoms cannot cover {true_atoms} true atoms")
    free = rng.integers(true_atoms, size=atoms - true_atoms)
    return np.append(rng.permutation(np.concatenate([np.arange(true_atoms - 1), free])), true_atoms - 1)


def near_starts(truth: np.ndarray, atoms: int, starts: int, radius: float, rng: np.random.Generator) -> np.ndarray:
    """Return starts near the truth, (S, N, P).

    Each fitted atom is a true one, drawn at random so that none is left out, plus noise N(0, radius^2) in every
    coordinate; variances are multiplied by exp(N(0, radius^2)).
    """
    model = SoftmaxGaussian((truth.shape[-1] - 3) // 2)
    index = np.stack([_cover(atoms, len(truth), rng) for _ in range(starts)])
    noise = radius * rng.standard_normal((starts, atoms, model.atom_size))
    start = truth[index]
    variance = start[..., -1:] * np.exp(noise[..., -1:])
    return np.concatenate([start[..., :-1] + noise[..., :-1], variance], axis=-1)


def published_starts(truth: np.ndarray, atoms: int, starts: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return starts by the rule of the published scripts (arXiv 2305.03288), (S, N, P).

    As :func:`near_starts`, with one normal variable per gate (standard deviation 0.005 n^-0.083) and one per mean
    (0.05 n^-0.083) that is added to all of its coordinates, and the variance at the *standard deviation* of the true
    atom plus a |N(0, (0.005 n^-1/4)^2)|. The radius shrinks with n. The gate of the last atom stays at zero.
    """
    model = SoftmaxGaussian((truth.shape[-1] - 3) // 2)
    index = np.stack([_cover(atoms, len(truth), rng) for _ in range(starts)])
    scale = n**-0.083
    gate = 0.005 * scale * rng.standard_normal((starts, atoms, 1))
    gate[:, -1] = 0.0
    mean = 0.05 * scale * rng.standard_normal((starts, atoms, 1))
    variance = 0.005 * n**-0.25 * np.abs(rng.standard_normal((starts, atoms, 1)))
    start = truth[index]
    return np.concatenate(
        [start[..., model.gate] + gate, start[..., model.eta] + mean, np.sqrt(start[..., -1:]) + variance], axis=-1
    )


def random_starts(x: np.ndarray, y: np.ndarray, atoms: int, starts: int, rng: np.random.Generator) -> np.ndarray:
    """Return starts that know nothing of the truth, (S, N, P).

    Each expert is a least-squares plane through d + 4 random samples; all gates are equal, all variances var(y) / N^2.

    ``x`` (n, d); ``y`` (n,); ``atoms``, ``starts``: N and S.
    """
    n, d = x.shape
    out = np.zeros((starts, atoms, 2 * d + 3))
    out[..., -1] = np.var(y) / atoms**2
    for s in range(starts):
        for k in range(atoms):
            rows = rng.integers(n, size=d + 4)
            design = np.column_stack([x[rows], np.ones(d + 4)])
            out[s, k, 1 + d : 2 + 2 * d] = np.linalg.lstsq(design, y[rows], rcond=None)[0]
    return out
