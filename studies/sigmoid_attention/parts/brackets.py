r"""The brackets behind Proposition 1 of "sigmoid-attention": App. B.1, inequality (14) and steps 1 to 6.

For a tau-cover zeta_1, ..., zeta_V of the regression functions in the sup norm, with abs(f) <= M, the appendix prints

.. math:: L = \max\{\zeta - \tau, 0\}, \quad U = \max\{\zeta + \tau, M\},

and says that every f within tau of zeta has L <= f <= U, and U - L <= min{2 tau, M}. Neither holds: functions are
negative somewhere, and U is M at least. *Mended*: L = max{zeta - tau, -M}, U = min{zeta + tau, M}, with
U - L <= min{2 tau, 2 M}.

The cover is that of steps 4 to 6: a grid over the parameters of all atoms in [-B, B], whose spacing follows from the
Lipschitz constants of gate and expert, so that its size V and the bound log V on the bracketing entropy are known.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from moestat.experiment import SettingsModel
from moestat.models.regression import Model
from moestat.replicates import Row, Streams, each

VERSION = 1

EPSILON = 2.0 ** -np.arange(1, 31)  # sizes of brackets, from 1/2 down


class Settings(SettingsModel):
    """Settings of a cell."""

    bracket: Literal["printed", "mended"] = "printed"
    """The bracket of the proof as it is printed, or mended."""
    expert: Literal["relu", "linear"] = "relu"
    """Activation of the expert."""
    d: int = Field(2, ge=1, le=8, description="input dimension")
    atoms: int = Field(3, ge=1, description="atoms of a function")
    box: float = Field(5.0, gt=0, description="every parameter is kept in [-box, box]; B")
    tau: float = Field(0.1, gt=0, description="distance of the cover in the supremum norm")
    points_log2: int = Field(10, ge=6, description="log2 of the number of points, uniform on the cube")
    functions: int = Field(50, ge=1, description="pairs of a centre and a function within tau of it, per replicate")


def lipschitz(model: Model, box: float) -> np.ndarray:
    """Return the Lipschitz constant of f, in the sup norm on the cube, in each coordinate of an atom, (P,)."""
    output = (model.d + 1) * box
    out = np.ones(model.atom_size)  # experts: sigma <= 1, abs(phi') <= 1, abs(x) <= 1
    out[: model.gate_size] = 0.25 * output  # gates: sigma' <= 1/4, monomials of the score are at most 1 on the cube
    out[model.a_matrix.start + model.d : model.a_matrix.stop] *= np.sqrt(2.0)  # off the diagonal: sqrt(2) x_i x_j
    return out


def spacing(model: Model, atoms: int, box: float, tau: float) -> np.ndarray:
    """Return the spacing (P,) of a grid of parameters whose functions are a tau-cover."""
    return np.asarray(2.0 * tau / (lipschitz(model, box) * model.atom_size * atoms))


def entropy(model: Model, atoms: int, box: float, epsilon: np.ndarray) -> np.ndarray:
    """Return log V at tau = epsilon / 2: a bound on the entropy with brackets of size epsilon, step 6."""
    steps = np.stack([np.ceil(2.0 * box / spacing(model, atoms, box, e / 2.0)) for e in epsilon])
    return np.asarray(atoms * np.sum(np.log(steps), axis=1))


@each(
    dims={"entropy": ("epsilon",)},
    coords={"epsilon": EPSILON},
    finished="The brackets were tried.",
    iterations=lambda s: s.functions,
)
def run(s: Settings, streams: Streams) -> Row:
    """Try the brackets on drawn functions, and count the cover.

    Per replicate ``outside``, how far a function within tau of a centre leaves its bracket, in units of tau (0 if it
    does not); ``excess``, the largest width over what is claimed, 2 tau or M (printed) or 2 M (mended), whichever is
    smaller; ``cover``, the largest distance of a drawn function to the nearest grid point, over tau. Per ``epsilon``:
    ``entropy``.
    """
    model = Model("sigmoid", "full", s.expert, s.d)
    grid = spacing(model, s.atoms, s.box, s.tau)
    rng = streams("functions", d=s.d, atoms=s.atoms)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    theta = rng.uniform(-s.box, s.box, (s.functions, s.atoms, model.atom_size))
    near = np.clip((np.floor(theta / grid) + 0.5) * grid, -s.box, s.box)
    f, centre = model.predict(theta, x), model.predict(near, x)
    largest = s.atoms * (s.d + 1) * s.box  # M: gates are below 1, and abs(a'x + beta) is at most (d + 1) B on the cube
    if s.bracket == "printed":
        lower, upper = np.maximum(centre - s.tau, 0.0), np.maximum(centre + s.tau, largest)
        width = min(2.0 * s.tau, largest)
    else:
        lower, upper = np.maximum(centre - s.tau, -largest), np.minimum(centre + s.tau, largest)
        width = min(2.0 * s.tau, 2.0 * largest)
    outside = np.maximum(np.maximum(lower - f, f - upper), 0.0)
    return {
        "outside": np.max(outside) / s.tau,
        "excess": np.max(upper - lower) / width,
        "cover": np.max(np.abs(f - centre)) / s.tau,
        "entropy": entropy(model, s.atoms, s.box, EPSILON),
    }
