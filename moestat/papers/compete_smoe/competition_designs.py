"""Four true competition-gated mixtures: k* = 4 experts, K = 2 winners, x uniform on [-1, 1]^d.

They differ in what happens at a routing boundary, where the K-th and the (K+1)-th expert change places. The gate is
continuous there; the density is, too, if the two experts have the same mean and the same variance.

- ``continuous``: all means are positive, all variances equal: no jump.
- ``variance``: the same means, different variances: a jump of the variance.
- ``sign``: equal variances, means of both signs; at few boundaries g changes to -g.
- ``mean``: linear experts without intercept: at half of the boundaries g changes to -g.

Every expert wins at about half of the inputs. The last two were chosen for that and for their boundaries; no fit was
looked at. Weights are ``[w, b]``, variances come last.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from moestat.models.competition import Competition

Design = Literal["continuous", "variance", "sign", "mean"]
DESIGNS: tuple[Design, ...] = get_args(Design)

_POSITIVE = [[1.2, 0.3, 2.0], [-0.9, 0.9, 2.0], [-0.3, -1.2, 2.0], [0.8, -0.7, 1.9]]
_SIGNED = [[0.8, -3.0, 0.9], [-0.3, 1.4, 1.4], [-1.2, 0.1, -1.2], [1.5, -1.2, -1.5]]
_LINEAR = [[0.2, 2.0, 1.2, 1.0], [0.6, -1.5, 0.6, 1.6], [-0.2, 0.8, 2.1, 0.9], [-0.3, -2.3, -0.8, 0.2]]

_WEIGHTS = {"continuous": _POSITIVE, "variance": _POSITIVE, "sign": _SIGNED, "mean": _LINEAR}
_VARIANCES = {
    "continuous": [0.25] * 4,
    "variance": [0.15, 0.3, 0.2, 0.4],
    "sign": [0.25] * 4,
    "mean": [0.5, 0.8, 0.6, 1.0],
}


def true_mixture(design: Design) -> tuple[Competition, np.ndarray]:
    """Return the family and the true atoms (4, P) of a design.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if design not in DESIGNS:
        raise ValueError(f"design is {design!r}; allowed are {', '.join(DESIGNS)}")
    model = Competition(4, "linear", 2) if design == "mean" else Competition(2, "affine", 2)
    return model, np.column_stack([_WEIGHTS[design], _VARIANCES[design]])
