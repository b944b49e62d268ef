r"""Power law or log law: what the data are compatible with.

The power law :math:`C n^{s}` and the log law :math:`C (\log n)^{-\tau}` have two parameters each, so their Gaussian
likelihoods compare without a penalty. Over two decades they bend away from each other by less than a few per cent,
so the comparison seldom decides anything: the answer here is which laws the data are compatible with, together with
the chance that the likelihood would pick the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from moestat import streams
from moestat.arrays import to_numpy
from moestat.doors import as_float64
from moestat.rates.loglog import fit_array


@dataclass(frozen=True)
class LawComparison:
    """How a power law and a log law fare on the same losses."""

    slope: float  #: Exponent s of the power law.
    tau: float  #: Exponent of the log law (log n)**-tau.
    #: Gaussian log likelihood of the power law minus that of the log law, for the mean log losses with one common
    #: variance; positive favours the power law.
    log_likelihood_ratio: float
    #: P-values of each law being right: t-tests over replicates of the other law's direction, valid however the sizes
    #: share their data.
    p_power: float
    p_log: float
    #: Chance that the likelihood picks the right one of the two fitted laws at this spread, grid and number of
    #: replicates (simulated; the mean over which law is true).
    probability_correct: float
    compatible: tuple[str, ...]  #: The laws that are not rejected at 1 - level.
    reasons: tuple[str, ...]  #: Why the series cannot be trusted, as in :func:`moestat.rates.fit`.

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        names = {"power": f"a power law n^{self.slope:.2f}", "log": f"a log law (log n)^{-self.tau:.2f}"}
        if not np.isfinite(self.slope):
            return "There is nothing to compare: " + " ".join(self.reasons)
        if not self.compatible:
            return f"The losses are compatible neither with {names['power']} nor with {names['log']}."
        text = " and with ".join(names[name] for name in self.compatible)
        chance = f"; at this spread the likelihood picks the right law with probability {self.probability_correct:.2f}"
        return f"The losses are compatible with {text}{chance}."


def compare_laws(
    values: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
) -> LawComparison:
    """Compare a power law with a log law on losses (S, R) at sizes ``over`` (S,), all above 1.

    Otherwise as :func:`moestat.rates.fit`; ``draws`` curves are simulated for ``probability_correct``.
    """
    losses, sizes = to_numpy(as_float64(values, "values")), to_numpy(as_float64(over, "over"))
    line = fit_array(losses, sizes, window, level)
    if np.any(line.sizes <= 1):
        raise ValueError("a log law needs sizes above 1")
    size, count = line.losses.shape
    if size < 3 or count == 0:
        reasons = line.reasons or ("fewer than 3 sizes or no complete replicate.",)
        return LawComparison(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, (), reasons)
    x, logs = np.log(line.sizes), np.log(line.losses)
    curves = {"power": x, "log": np.log(x)}
    mean = np.mean(logs, axis=1)
    fitted = {name: _line(u, mean) for name, u in curves.items()}
    rss = {name: float(np.sum((mean - line) ** 2)) for name, (_, line) in fitted.items()}
    p = {name: _p_value(curves[name], curves[other], logs) for name, other in (("power", "log"), ("log", "power"))}
    right = []
    if count > 1:
        # mean log curves of either law at the observed spread, of which the likelihood picks one
        sd = np.std(logs, axis=1, ddof=1) / np.sqrt(count)
        noise = streams.generator(seed, streams.key(use="rates.compare_laws"), 0, "noise")
        deviation = sd[:, None] * noise.standard_normal((size, draws))
        for true, wrong in (("power", "log"), ("log", "power")):
            sample = fitted[true][1][:, None] + deviation
            right.append(np.mean(_residual(curves[true], sample) < _residual(curves[wrong], sample)))
    ratio = 0.5 * size * float(np.log(rss["log"] / rss["power"])) if min(rss.values()) > 0 else np.nan
    return LawComparison(
        slope=fitted["power"][0],
        tau=-fitted["log"][0],
        log_likelihood_ratio=ratio,
        p_power=p["power"],
        p_log=p["log"],
        probability_correct=float(np.mean(right)) if right else np.nan,
        # a p-value that does not exist (one replicate) rejects nothing
        compatible=tuple(name for name in curves if not p[name] < 1 - level),
        reasons=line.reasons,
    )


def _line(u: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    centred = u - np.mean(u)
    slope = float(centred @ y / (centred @ centred))
    return slope, np.mean(y) + slope * centred


def _p_value(own: np.ndarray, other: np.ndarray, logs: np.ndarray) -> float:
    """Test that log losses are linear in ``own``: their component along ``other``, outside that line, has mean 0."""
    extra = other - _line(own, other)[1]
    along = (extra / np.sqrt(extra @ extra)) @ logs
    if along.size < 2 or np.std(along) == 0:
        return np.nan
    return float(scipy.stats.ttest_1samp(along, 0.0).pvalue)


def _residual(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the residual sums of squares of lines in ``u`` through the columns of ``y``."""
    centred = u - np.mean(u)
    deviation = y - np.mean(y, axis=0)
    left: np.ndarray = np.sum(deviation**2, axis=0) - (centred @ deviation) ** 2 / (centred @ centred)
    return left
