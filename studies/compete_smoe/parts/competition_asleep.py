"""Whether the maximum-likelihood estimate can be near a truth of which one expert wins nowhere, whatever maximum it is.

The truth is the design ``asleep``: three experts that win, and a fourth one that does not. Near the truth the fourth
one wins nowhere either, and the likelihood is that of the other three, whose maximum a search finds and comes back to.
A point with an awake fourth expert and more likelihood than that, from whatever search, shows that the maximum is not
near the truth. A better search only finds more such points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from pydantic import Field

from moestat import arrays
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.fit.competition_mle import AGAIN, ENOUGH, HOPS, maximum_likelihood
from moestat.losses.measures import competition_losses
from moestat.models import gaussian
from studies.compete_smoe.parts.competition_designs import near_starts, random_starts, true_mixture

VERSION = 1

DEVICES = ("cpu", "cuda")

NEAR = 0.3
"""Distance, summed over experts that are matched one to one, up to which the fourth expert certainly wins nowhere."""


NEAR_STARTS, RANDOM_STARTS, THREE_STARTS = 2, 4, 4
"""Starts of four experts near the truth, of four that know nothing of it, of three near the three that win."""

RADIUS = 0.1  # standard deviation per coordinate of starts near the truth

SPACE: dict[str, Any] = {"box": 10.0, "variances": (0.05, 10.0), "kept": 4}
"""The parameter space, and how many distinct points at most go on to all samples and to local search."""


class Settings(SettingsModel):
    """Settings of a cell."""

    n: int = Field(ge=50, description="sample size")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Fit three and four experts to the data of each replicate.

    ``lead``, the log-likelihood of the best point of four experts less the maximum with three; ``near``, whether the
    maximum with four may be within 0.3 of the truth: there is no lead of more than 0.1, or the search for the maximum
    with three has not settled; ``ruled_out``, whether it is not; ``three_again``, how many points thrown out from the
    maximum with three came back to it, and ``three_settled``, whether these were enough; ``gain`` and ``three_gain``,
    log-likelihoods less that of the truth; ``matched`` and ``D`` of the best point of four; ``least_wins``, the
    smallest share of inputs that one of its experts wins; the status of that fit.
    """
    s = Settings.model_validate(dict(cell.settings))
    xp = arrays.backend(arrays.resolve_device(device))
    model, truth = true_mixture("asleep")
    three = truth[:3]
    xs, ys, fours, threes = [], [], [], []
    for r in replicates:
        rng = cell.generator(r, "data", n=s.n)
        xs.append(rng.uniform(-1.0, 1.0, (s.n, model.d)))
        ys.append(gaussian.sample(model, truth, xs[-1], rng))
        near = near_starts(truth, 4, NEAR_STARTS, RADIUS, cell.generator(r, "near", n=s.n))
        far = random_starts(model, xs[-1], ys[-1], 4, RANDOM_STARTS, cell.generator(r, "random", n=s.n))
        fours.append(np.concatenate([near, far]))
        threes.append(near_starts(three, 3, THREE_STARTS, RADIUS, cell.generator(r, "three", n=s.n)))
    x, y = xp.asarray(np.stack(xs)), xp.asarray(np.stack(ys))
    # of four experts any better point will do; of three it must be the best
    four, third = (
        maximum_likelihood(model, x, y, xp.asarray(np.stack(starts)), truth=xp.asarray(true), hops=hops, **SPACE)
        for starts, true, hops in ((fours, truth, 0), (threes, three, HOPS))
    )
    best = arrays.to_numpy(third.log_likelihood)
    assert third.hops_back is not None
    again = arrays.to_numpy(third.hops_back).astype(float)
    lead = arrays.to_numpy(four.log_likelihood) - best
    near = (lead <= AGAIN) | (again < ENOUGH)
    theta = arrays.to_numpy(four.theta)
    losses = competition_losses(theta, truth, model)
    pool = np.random.default_rng(20240204).uniform(-1.0, 1.0, (8192, model.d))
    out = {
        "lead": lead,
        "near": near,
        "ruled_out": 1.0 - near,
        "three_again": again,
        "three_settled": (again >= ENOUGH).astype(float),
        "gain": arrays.to_numpy(four.gain),
        "three_gain": arrays.to_numpy(third.gain),
        "matched": losses["matched"],
        "D": losses["D"],
        "least_wins": np.array([model.winners(atoms, pool).mean(axis=-1).min() for atoms in theta]),
        "status": arrays.to_numpy(four.status),
        "iterations": arrays.to_numpy(four.iterations),
        "message": np.asarray(four.message()),
    }
    return assemble(replicates, out)
