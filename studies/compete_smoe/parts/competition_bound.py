"""Inequality (10) for competition gating: how small E h / D is near a truth, which is given or drawn.

Nothing is fitted. A replicate moves the truth along directions that could break the inequality: one expert towards
zero, one expert in a random direction, all experts along the direction in which the information matrix is smallest. An
expert that wins nowhere is not in the density; moved towards zero it still wins nowhere. With ``design = "drawn"``
every replicate has a truth of its own.

Inputs with the same winners, true and fitted, form a stratum. Means are taken stratum by stratum, so that an expert
that wins on a small share of the inputs is seen, and a density that is not changed gives an exact 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses.divergences import squared_hellinger
from moestat.losses.measures import competition_losses
from moestat.models import gaussian
from moestat.models.competition import Competition, Expert
from moestat.replicates import Row, Streams, each
from studies.compete_smoe.parts.competition_designs import Design, sobol_inputs, true_mixture

VERSION = 1

DEVICES = ("cpu",)

LENGTH = 10.0 ** (-np.arange(2, 6) / 2)
"""Norms of the moves, 0.1 to 0.003: smaller ones misroute too few of the inputs that are looked at."""

POSITIVE = 1e-9  # a ratio below this one is 0 up to rounding


class Settings(SettingsModel):
    """Settings of a cell."""

    design: Design | Literal["drawn"] = Field(
        description="the truth, see studies.compete_smoe.parts.competition_designs"
    )
    expert: Expert = Field("affine", description="experts of a truth that is drawn")
    active: int = Field(2, ge=1, description="K of a truth that is drawn")
    experts: int = Field(4, ge=2, le=16, description="k* of a truth that is drawn")
    d: int = Field(2, ge=1, le=8, description="dimension of the input of a truth that is drawn")
    tied: bool = Field(False, description="whether W_2 = -W_1 in a truth that is drawn")
    pool_log2: int = Field(15, ge=10, le=20, description="winners are determined at 2**this Sobol points")
    evaluation_points: int = Field(64, ge=16, description="points per stratum on which Hellinger distances are taken")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.active > self.experts:
            raise ValueError(f"active is {self.active}; there are only {self.experts} experts")
        return self


@each(
    dims={"ratio": ("length",), "largest": ("length",)},
    coords={"length": LENGTH},
    finished="The distances were computed.",
    iterations=len(LENGTH),
)
def run(s: Settings, streams: Streams) -> Row:
    """Move the truth of each replicate.

    ``least_ratio``, the least E h / D over all moves and lengths; ``holds``, whether it is positive; ``asleep``, how
    many true experts win at no input of the sample; ``counterexample``, 1 if one of them certainly wins nowhere (NaN in
    more than three dimensions); ``least_wins``, the smallest share of inputs that an expert wins; ``deficit``, how many
    directions do not change the density; ``agrees``, whether the ratio is positive exactly if no expert is asleep, and
    the deficit is the number of coordinates of those that are. Over ``length``:
    ``ratio``, the least E h / D; ``largest``, the largest E h.
    """
    rng = streams("moves", **s.model_dump(exclude={"pool_log2", "evaluation_points"}))
    model, truth = _drawn(s, rng) if s.design == "drawn" else true_mixture(s.design)
    pool = sobol_inputs(model.d, s.pool_log2)
    wins = model.winners(truth, pool).mean(axis=-1)
    state = information(model, truth, pool, s.evaluation_points, rng)
    at = ratios(model, truth, moves(model, truth, state.weakest, rng), LENGTH, pool, s.evaluation_points)
    asleep = int(np.sum(wins == 0))
    holds = bool(at.ratio.min() > POSITIVE)
    return {
        "ratio": at.ratio.min(axis=0),
        "largest": at.hellinger.max(axis=0),
        "least_ratio": at.ratio.min(),
        "holds": holds,
        "asleep": float(asleep),
        "counterexample": float(certainly_asleep(model, truth).any()) if model.d <= 3 else np.nan,
        "least_wins": wins.min(),
        "deficit": float(state.deficit),
        "agrees": holds == (asleep == 0) and state.deficit == asleep * model.atom_size,
    }


def _drawn(s: Settings, rng: np.random.Generator) -> tuple[Competition, np.ndarray]:
    """Draw weights from N(0, 1) and variances from U[0.2, 0.5]."""
    model = Competition(s.d, s.expert, s.active)
    truth = np.empty((s.experts, model.atom_size))
    truth[:, model.w] = rng.standard_normal((s.experts, model.weight_size))
    truth[:, model.variance] = rng.uniform(0.2, 0.5, (s.experts, 1))
    if s.tied:
        truth[1, model.w] = -truth[0, model.w]
    return model, truth


DEPENDENT = 1e-9  # eigenvalues of the scores' correlation matrix below this one count as zero


def winner_code(model: Competition, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the set of winners at inputs x (N, d) as whole numbers (N,), one bit per expert."""
    bits = 1 << np.arange(len(theta), dtype=np.int64)
    code: np.ndarray = bits @ model.winners(theta, x).astype(np.int64)
    return code


def stratified_hellinger(
    model: Competition, fitted: np.ndarray, truth: np.ndarray, x: np.ndarray, few: int
) -> tuple[float, float]:
    """Return E h of atoms (k, P) in the same order, and the share of the inputs x (N, d) at which the winners differ.

    ``few``: most points of a stratum at which densities are compared.
    """
    true, own = winner_code(model, truth, x), winner_code(model, fitted, x)
    _, stratum, size = np.unique(true * (1 << len(fitted)) + own, return_inverse=True, return_counts=True)
    chosen, weight = [], []
    for index, count in enumerate(size):
        rows = _spread(np.nonzero(stratum == index)[0], few)
        chosen.append(rows)
        weight.append(np.full(len(rows), count / len(x) / len(rows)))
    h2 = squared_hellinger(model, fitted, truth, x[np.concatenate(chosen)])
    return float(np.concatenate(weight) @ np.sqrt(h2)), float(np.mean(true != own))


def _spread(rows: np.ndarray, few: int) -> np.ndarray:
    """Return at most ``few`` of the rows of a sample, evenly spaced by an odd step.

    Every 2^m-th point of a Sobol sequence lies in one strip of its first coordinate, 2^(-m) wide; an odd step goes
    through all of them.
    """
    return rows[:: max(1, -(-len(rows) // few)) | 1]


class Information(NamedTuple):
    """Which directions of the parameters change the density, between its jumps."""

    deficit: int  # how many linearly independent directions do not
    weakest: np.ndarray  # (k, P), a direction of norm 1 that changes it least, among the experts that win


def information(
    model: Competition, truth: np.ndarray, x: np.ndarray, few: int, rng: np.random.Generator
) -> Information:
    """Return the null space of the information matrix, from scores at inputs that each expert wins.

    The scores at drawn (x, y) span the same space as the information matrix; each coordinate is scaled to mean square
    1 before its dimension is counted, so that experts that win rarely count like others.
    """
    wins = model.winners(truth, x)
    chosen = np.concatenate([_spread(np.nonzero(mine)[0], few) for mine in wins])
    points = np.repeat(x[chosen], 4, axis=0)
    scores = model.score(truth, points, gaussian.sample(model, truth, points, rng))
    columns = scores.reshape(truth.size, -1)
    length = np.sqrt(np.mean(columns**2, axis=1))
    used = length > 0
    scaled = columns[used] / length[used, None]
    values, vectors = np.linalg.eigh(scaled @ scaled.T / scaled.shape[1])
    weakest = np.zeros(truth.size)
    weakest[used] = vectors[:, 0] / length[used]
    weakest /= np.linalg.norm(weakest)
    return Information(int(np.sum(~used) + np.sum(values < DEPENDENT)), weakest.reshape(truth.shape))


def moves(model: Competition, truth: np.ndarray, weakest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return directions of norm 1 (M, k, P): each expert towards zero, and anywhere; all experts by ``weakest``."""
    out = []
    for i in range(len(truth)):
        inward, anywhere = np.zeros_like(truth), np.zeros_like(truth)
        inward[i, model.w] = -truth[i, model.w]
        anywhere[i] = rng.standard_normal(truth.shape[1])
        out += [inward, anywhere]
    out += [weakest, -weakest]
    directions = np.stack(out)
    scaled: np.ndarray = directions / np.linalg.norm(directions, axis=(1, 2), keepdims=True)
    return scaled


class Ratios(NamedTuple):
    """E h and E h / D over moves and lengths, arrays (M, L)."""

    hellinger: np.ndarray
    ratio: np.ndarray


def ratios(
    model: Competition, truth: np.ndarray, directions: np.ndarray, lengths: np.ndarray, x: np.ndarray, few: int
) -> Ratios:
    """Return E h and E h / D of the truth moved by each length along each direction (M, k, P)."""
    moved = truth + lengths[:, None, None] * directions[:, None, :, :]
    h = np.array([[stratified_hellinger(model, atoms, truth, x, few)[0] for atoms in line] for line in moved])
    return Ratios(h, h / competition_losses(moved, truth, model)["D"])


def certainly_asleep(model: Competition, truth: np.ndarray, steps: int = 128) -> np.ndarray:
    """Return which experts win at no input of the cube [-1, 1]^d but for a null set, a bool array (k,).

    True is certain: in every cell of a grid, K other experts are larger by more than sizes can change within the cell
    (or as large everywhere, with a lower index). False is not: an expert that wins nowhere by a hair is not recognised.
    Linear experts are compared on the surface of the cube, which decides for the rays through it.
    """
    if model.d > 3:
        raise ValueError(f"d is {model.d}; at most 3 dimensions can be gridded")
    ticks = (np.arange(steps) + 0.5) / steps * 2.0 - 1.0
    free = model.d - (model.expert == "linear")
    grid = np.stack(np.meshgrid(*[ticks] * free, indexing="ij"), axis=-1).reshape(-1, free)
    if model.expert == "linear":
        # |g| is the same at x and -x: one of each two opposite faces
        grid = np.concatenate([np.insert(grid, axis, 1.0, axis=1) for axis in range(model.d)])
    # tanh is monotone: it does not change the order of sizes
    w = truth[:, model.w]
    size = np.abs(w @ model.features(grid))
    reach = np.abs(w[:, : model.d]).sum(axis=1) / steps
    slack = reach[:, None] + reach[None, :]
    out = np.zeros(len(w), dtype=bool)
    for i in range(len(w)):
        equal = (np.all(w == w[i], axis=1) | np.all(w == -w[i], axis=1)) & (np.arange(len(w)) < i)
        ahead = equal[:, None] | (size - size[i] > slack[:, i, None])
        out[i] = bool(np.all(ahead.sum(axis=0) >= model.active))
    return out
