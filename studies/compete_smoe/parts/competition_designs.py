"""True competition-gated mixtures, x uniform on [-1, 1]^d, with k* = 4 experts and K = 2 winners.

Four of them differ in what happens at a routing boundary, where the K-th and the (K+1)-th expert change places. The
gate is continuous there; the density is, too, if the two experts have the same mean and the same variance.

- ``continuous``: all means are positive, all variances equal: no jump.
- ``variance``: the same means, different variances: a jump of the variance.
- ``sign``: equal variances, means of both signs; at few boundaries g changes to -g.
- ``mean``: linear experts without intercept: at half of the boundaries g changes to -g.

Every expert wins at about half of the inputs. The last two were chosen for that and for their boundaries; no fit was
looked at. Weights are ``[w, b]``, variances come last.

Three more, in two dimensions, stand for the families of experts, ``linear``, ``affine`` and ``tanh``, with any K from 1
to 4: each expert wins at a quarter of the inputs for K = 1, at half of them for K = 2. The means have both signs.

The paper's assumptions (a compact parameter space, atoms pairwise different, g non-zero and differentiable with
linearly independent derivatives) admit two that are not regular:

- ``asleep``: three affine experts with |g| >= 1.3 and one with |g| <= 0.7, which wins nowhere (k* = 4, K = 2).
- ``tied``: linear experts w and -w, K = 1: equal in size at every input. Ties go to the lowest index, so that the
  second one wins nowhere, and at every input as soon as it is a little larger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from scipy.stats import qmc

from moestat.models.competition import Competition

Regular = Literal["continuous", "variance", "sign", "mean"]
DESIGNS: tuple[Regular, ...] = get_args(Regular)
Family = Literal["linear", "affine", "tanh"]
Degenerate = Literal["asleep", "tied"]
Design = Literal[Regular, Family, Degenerate]

_AFFINE = Competition(2, "affine", 2)
_POSITIVE = [[1.2, 0.3, 2.0], [-0.9, 0.9, 2.0], [-0.3, -1.2, 2.0], [0.8, -0.7, 1.9]]
_MEAN = [[0.2, 2.0, 1.2, 1.0], [0.6, -1.5, 0.6, 1.6], [-0.2, 0.8, 2.1, 0.9], [-0.3, -2.3, -0.8, 0.2]]
_CONES = [[1.77, 0.31], [0.9, 1.56], [-0.47, 1.74], [-1.56, 0.9]]
_TRUTHS: dict[str, tuple[Competition, list[list[float]], list[float]]] = {
    "continuous": (_AFFINE, _POSITIVE, [0.25] * 4),
    "variance": (_AFFINE, _POSITIVE, [0.15, 0.3, 0.2, 0.4]),
    "sign": (_AFFINE, [[0.8, -3.0, 0.9], [-0.3, 1.4, 1.4], [-1.2, 0.1, -1.2], [1.5, -1.2, -1.5]], [0.25] * 4),
    "mean": (Competition(4, "linear", 2), _MEAN, [0.5, 0.8, 0.6, 1.0]),
    "linear": (Competition(2, "linear", 2), _CONES, [0.1] * 4),
    "affine": (_AFFINE, [[1.0, 0.5, 1.5], [-1.0, 1.0, -1.6], [0.5, -1.2, -1.4], [-0.9, -0.7, 1.5]], [0.1] * 4),
    "tanh": (
        Competition(2, "tanh", 2),
        [[1.0, 0.5, 0.3], [-1.0, 1.0, -0.3], [0.5, -1.2, -0.3], [-0.9, -0.7, 0.3]],
        [0.02] * 4,
    ),
    "asleep": (_AFFINE, [[0.7, 0.2, 2.5], [-0.5, 0.6, 2.4], [-0.2, -0.8, 2.6], [0.1, 0.1, 0.5]], [0.25] * 4),
    "tied": (Competition(2, "linear", 1), [[0.8, -0.6], [-0.8, 0.6]], [0.25] * 2),
}
"""Family, weights and variances of every design."""


def true_mixture(design: Design, active: int | None = None) -> tuple[Competition, np.ndarray]:
    """Return the family and the true atoms (k*, P) of a design, with another K when ``active`` is given."""
    if design not in _TRUTHS:
        raise ValueError(f"design is {design!r}; allowed are {', '.join(_TRUTHS)}")
    model, weights, variances = _TRUTHS[design]
    if active is not None:
        if active > len(weights):
            raise ValueError(f"active is {active}; design {design!r} has {len(weights)} experts")
        model = replace(model, active=active)
    return model, np.column_stack([weights, variances])


def sobol_inputs(d: int, log2: int) -> np.ndarray:
    """Return 2**log2 scrambled Sobol points of [-1, 1]^d, always the same."""
    return 2.0 * qmc.Sobol(d, scramble=True, rng=np.random.default_rng(20240204)).random_base2(log2) - 1.0


_FLAT = 0.95  # responses beyond this have no inverse hyperbolic tangent worth using


def near_starts(truth: np.ndarray, atoms: int, starts: int, radius: float, rng: np.random.Generator) -> np.ndarray:
    """Return starts near the truth, (S, k, P), never the truth itself; atoms beyond k* are copies of random true ones.

    All get noise N(0, radius^2) in every weight, and variances are multiplied by exp(N(0, radius^2)).
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
    """Return starts that know nothing of the truth, (S, k, P), of samples x (n, d) and y (n,).

    Each expert is a least-squares plane through d + 4 random samples; all variances are var(y) / k.
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
