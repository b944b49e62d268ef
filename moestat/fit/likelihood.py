"""The result of a maximum-likelihood fit, and what such a fit must satisfy.

A maximum-likelihood estimate has at least the likelihood of the truth. A fit whose *gain* over the truth,
``n (ll - ll_truth)``, is negative is therefore a failed optimisation, and is reported as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.models.gaussian import GaussianMixture, check_atoms, check_data, log_likelihood
from moestat.status import Status


@dataclass(frozen=True)
class LikelihoodFit:
    """Maximum-likelihood fits of B replicates, the best of S starts each."""

    theta: Array  #: (B, N, P)
    log_likelihood: Array  #: (B,), sum of log p(y | x) over the samples.
    gain: Array  #: (B,), log-likelihood minus that of the truth; NaN when no truth was given.
    #: (B,), largest absolute coordinate of the gradient of the mean log-likelihood (0 where the box holds it back).
    gradient: Array
    #: (B,), what the quadratic model says is still to be gained, in units of the log-likelihood; infinite where the
    #: curvature has the wrong sign.
    decrement: Array
    iterations: Array  #: (B,) int, steps of the winner, all stages together.
    box_hits: Array  #: (B,) int, coordinates of the winner on the edge of the parameter space.
    start: Array  #: (B,) int, which start won.
    #: (B, S), what each start reached; NaN for a start that had fallen behind and was not continued. A start that had
    #: come to the same point as another was not continued either: with competition gates it has the other's number,
    #: with softmax gates NaN.
    start_log_likelihood: Array
    status: Array  #: (B,) int, a :class:`moestat.status.Status`.
    #: (B,) int, how many of the points that were thrown out from the best one came back to it, or to one as good.
    hops_back: Array | None = None
    #: (B,) int, how many rounds of a search ended at the best point; with fewer than two it was not found again.
    rounds_there: Array | None = None

    @classmethod
    def of(
        cls,
        model: GaussianMixture,
        truth: Array | None,
        x: Array,
        y: Array,
        reached: Array,
        status: Array,
        **found: Any,
    ) -> LikelihoodFit:
        """Return the result with its gain over the truth, if one is given; what is worse than it has failed."""
        xp = namespace(x, y)
        gain = xp.full_like(reached, xp.nan)
        if truth is not None:
            gain = reached - log_likelihood(model, xp.broadcast_to(truth, (x.shape[0], *truth.shape)), x, y)
        failed = (gain < 0) & (status != int(Status.NOT_FINITE))
        status = xp.where(failed, xp.full_like(status, int(Status.WORSE_THAN_TRUTH)), status)
        return cls(log_likelihood=reached, gain=gain, status=status, **found)

    def message(self) -> list[str]:
        """Return one full sentence per replicate."""
        return [Status(int(code)).sentence for code in to_numpy(self.status)]


def check_problem(
    model: GaussianMixture, x: Array, y: Array, starts: Array, truth: Array | None, variances: tuple[float, float]
) -> tuple[int, int, int, int]:
    """Refuse what cannot be fitted; return B, n, S and N."""
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be (replicates, samples, {model.d})")
    check_data(x, y, model.d)
    if starts.ndim != 4 or starts.shape[0] != x.shape[0] or starts.shape[1] < 1:
        raise ValueError(
            f"starts has shape {tuple(starts.shape)}; it must be ({x.shape[0]}, starts, atoms, {model.atom_size}), "
            "the same replicates as x"
        )
    check_atoms(starts, model.atom_size, name="starts")
    if not 0 < variances[0] < variances[1]:
        raise ValueError(f"variances is {variances}; it must be (lower, upper) with 0 < lower < upper")
    replicates, n, _ = x.shape
    size = starts.shape[2] * model.atom_size
    if n < size:
        raise ValueError(f"{n} samples cannot determine {size} parameters; use at least {size}")
    if truth is not None:
        if truth.ndim != 2:
            raise ValueError(f"truth has shape {tuple(truth.shape)}; it must be (atoms, {model.atom_size})")
        check_atoms(truth, model.atom_size, name="truth")
        same = np.all(to_numpy(starts)[..., :, None, :] == to_numpy(truth), axis=-1)
        if bool(np.any(np.all(np.any(same, axis=-1), axis=-1))):
            raise ValueError(
                "a start is exactly the truth, where a discontinuous likelihood holds the optimiser: move it away"
            )
    return replicates, n, starts.shape[1], starts.shape[2]


def check_settings(least: float, **settings: float) -> None:
    """Refuse settings below a number."""
    for name, value in settings.items():
        if not value >= least:
            raise ValueError(f"{name} is {value}; it must be at least {least:g}")
