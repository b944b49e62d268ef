"""Where the fits of competition-gated Gaussian mixtures of experts start: near the truth, or knowing nothing of it."""

from __future__ import annotations

import numpy as np

from moestat.models.competition import Competition

_FLAT = 0.95  # responses beyond this have no inverse hyperbolic tangent worth using


def near_starts(truth: np.ndarray, atoms: int, starts: int, radius: float, rng: np.random.Generator) -> np.ndarray:
    """Return starts near the truth, (S, k, P), never the truth itself.

    The first k* atoms are the true ones, further ones copies of randomly drawn true ones; all get noise
    N(0, radius^2) in every weight, and variances are multiplied by exp(N(0, radius^2)).
    """
    true_atoms = len(truth)
    if atoms < true_atoms:
        raise ValueError(f"atoms is {atoms}; starts near {true_atoms} true atoms need at least as many")
    if not radius > 0:
        raise ValueError(f"radius is {radius}; it must be positive, so that no fit starts at the truth")
    copies = rng.integers(true_atoms, size=(starts, atoms - true_atoms))
    index = np.concatenate([np.broadcast_to(np.arange(true_atoms), (starts, true_atoms)), copies], axis=1)
    noise = radius * rng.standard_normal((starts, atoms, truth.shape[1]))
    start = truth[index]
    return np.concatenate([start[..., :-1] + noise[..., :-1], start[..., -1:] * np.exp(noise[..., -1:])], axis=-1)


def random_starts(
    model: Competition, x: np.ndarray, y: np.ndarray, atoms: int, starts: int, rng: np.random.Generator
) -> np.ndarray:
    """Return starts that know nothing of the truth, (S, k, P).

    Each expert is a least-squares plane through d + 4 random samples; all variances are var(y) / k.

    ``x`` (n, d); ``y`` (n,); ``atoms``, ``starts``: k and S.
    """
    design = np.ascontiguousarray(model.features(x).T)
    target = np.arctanh(np.clip(y, -_FLAT, _FLAT)) if model.expert == "tanh" else y
    rows = rng.integers(len(y), size=(starts * atoms, model.d + 4))
    planes = np.zeros((len(rows), model.weight_size))
    for k, row in enumerate(rows):
        planes[k] = np.linalg.lstsq(design[row], target[row], rcond=None)[0]
    # a nearly singular sample of x makes a huge plane
    weights = np.clip(planes.reshape(starts, atoms, model.weight_size), -5.0, 5.0)
    return np.concatenate([weights, np.full((starts, atoms, 1), np.var(y) / atoms)], axis=-1)
