"""A table of rates of any errors: slopes with intervals, bends and the slopes of a theory; verdicts, LaTeX, a figure.

>>> import numpy as np
>>> n, rng = np.array([100, 300, 1000, 3000, 10000]), np.random.default_rng(0)
>>> errors = 3 * n[:, None] ** -0.5 * np.exp(rng.normal(scale=0.1, size=(5, 12)))
>>> print(table({"mine": errors}, over=n, theory=-0.5))
       slope     95 % interval curvature theory
mine  -0.491  [-0.506, -0.478]    +0.001   -0.5
Slopes of log error against log n: 5 sizes from 100 to 10000, 12 replicates.
Intervals: hull of t and bootstrap-t over replicates.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from moestat import files
from moestat.errors import InputError
from moestat.rates.data import arm_of, series
from moestat.rates.estimate import wider
from moestat.rates.laws import Law, of_bent
from moestat.rates.loglog import RateFit, fit_array
from moestat.rates.verdict import Region, Verdict, judge, region_of
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.sentences import listed, show
from moestat.status import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Table:
    """Rates by arm.

    ``fits`` has all numbers of each line, ``theory`` the slopes that a theory states, where it states one. The interval
    of a row is ``fits[arm].wider``: from 8 to 1000 replicates the hull of the t- and the bootstrap-t interval, of
    fewer or more replicates the t-interval, of one that of the regression.
    """

    fits: Mapping[str, RateFit]
    theory: Mapping[str, float]
    over: str
    loss: str
    ends: str = ""  #: Of a study's runs: how many did not converge, and how they ended.
    replicate: str = ""  #: The column that was taken as the replicate without being told.

    @cached_property
    def laws(self) -> Mapping[str, Sequence[Law]]:
        """What each bent line may be: the law with the best criterion, and the power law above a floor."""
        return {arm: of_bent(fit) for arm, fit in self.fits.items() if fit.bend}

    def judge(
        self,
        arm: str | None = None,
        *,
        within: Region | None = None,
        at_most: float | None = None,
        at_least: float | None = None,
        bent: Literal["told", "inconclusive"] = "told",
    ) -> Verdict:
        """Judge the slope of an arm by a rule, which is one of ``within``, ``at_most`` and ``at_least``.

        *Supported* where the whole interval is in the region, *not supported* where none of it is. A line that cannot
        be trusted, fewer than 3 replicates, and a verdict that hangs on a single replicate are *inconclusive*. A bend
        is told, or with ``bent="inconclusive"`` an obstacle. Of an arm's name a part is enough that no other has, and
        nothing where there is one arm. Write rules down before you look at the slopes.

        Raises
        ------
        InputError
            If there is no such arm, or not exactly one rule.
        """
        arm = arm_of(arm, [*self.fits])
        region, fit = region_of(within, at_most, at_least), self.fits[arm]
        note = f"{fit.complete} replicate{'s' * (fit.complete != 1)} at {_sizes(fit)}; interval: {fit.kind}"
        note += f"; {self.ends}" * bool(self.ends)
        rising = all(end > 0 for end in region if math.isfinite(end))
        note += f"; {SIGN}, and the rule is of positive ones" * (rising and fit.slope < 0)
        subject = f"The slope of {arm}"
        answer = replace(fit.wider, subject=subject, note=note, replicates=fit.complete, reasons=fit.reasons)
        again = partial(wider, level=fit.level)
        return judge(answer, region, level=fit.level, samples=fit.slopes, again=again, bent=bent)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each arm, with the columns of :meth:`RateFit.row`; ``low`` and ``high`` are of ``wider``."""
        rows = []
        for arm, fit in self.fits.items():
            row = fit.row() | {"low": fit.wider.low, "high": fit.wider.high, "t_low": fit.low, "t_high": fit.high}
            law = " or ".join(map(str, self.laws.get(arm, ())))
            rows.append({"arm": arm, "theory": self.theory.get(arm, np.nan)} | row | {"interval": fit.kind, "law": law})
        return pd.DataFrame(rows).drop(columns=["wider_low", "wider_high"])

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return the table for LaTeX (package booktabs), and write it to a file if one is named."""
        shown = self._shown().map(_tex).rename(index=_tex, columns=_tex)
        notes = "".join(f"% {line}\n" for line in self._notes())
        text: str = notes + shown.to_latex(escape=False, column_format="lrcrr")
        if path is not None:
            files.write(Path(path).expanduser(), text.encode())
        return text

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw points with intervals, fitted lines and the slopes of the theory; write it if a file is named.

        The ending of the file, ``.pdf`` or ``.png`` say, decides its form.
        """
        from moestat import figures  # it stands above the library, and matplotlib is slow to import

        figure = figures.of_table(self)
        if path is not None:
            figure.savefig(Path(path).expanduser())
        return figure

    def __str__(self) -> str:
        lines = self._shown().to_string().split("\n")
        return "\n".join([*(line.rstrip() for line in lines), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return f"{self._shown().to_html()}<p>{'<br>'.join(map(escape, self._notes()))}</p>"

    def _shown(self) -> pd.DataFrame:
        """Return the table as texts; a star stands for a bent line, and brackets for one that is not trusted."""
        rows = {}
        for arm, fit in self.fits.items():
            slope, interval = rounded(fit.slope, fit.wider.low, fit.wider.high)
            bend = f"{fit.curvature.value:+.3f}{'*' * bool(fit.bend)}" if math.isfinite(fit.curvature.value) else ""
            theory = number(self.theory.get(arm, math.nan))
            rows[arm] = (slope if fit.trusted or not slope else f"({slope})", interval, bend, theory)
        level = f"{100 * next(iter(self.fits.values())).level:.4g} % interval"
        return pd.DataFrame.from_dict(rows, orient="index", columns=["slope", level, "curvature", "theory"])

    def _notes(self) -> list[str]:
        """Return a line for each bent line, each that is not to be trusted, and what the columns are."""
        notes = []
        for arm, fit in self.fits.items():
            if fit.reasons:
                notes.append(f"{arm}: NOT TRUSTED, in brackets: {' '.join(fit.reasons)}")
            if fit.bend:
                law = " or ".join(map(str, self.laws[arm]))
                notes.append(f"* {arm}: {fit.bend}{f' It may be {law}.' if law else ''}")
        by_sizes: dict[str, list[str]] = {}
        by_kind: dict[str, list[str]] = {}
        for arm, fit in self.fits.items():
            by_sizes.setdefault(f"{_sizes(fit)}, {fit.complete} replicate{'s' * (fit.complete != 1)}", []).append(arm)
            by_kind.setdefault(fit.kind, []).append(arm)
        said = f"Slopes of log {self.loss} against log {self.over}"
        turned = [arm for arm, slope in self.theory.items() if slope > 0 > self.fits[arm].slope]
        notes += [f"{SIGN}, and that of the theory is positive ({listed(map(repr, turned))})."] * bool(turned)
        notes += [f"{self.ends}."] * bool(self.ends)
        notes += [f"The column {self.replicate!r} was taken as the replicate."] * bool(self.replicate)
        return [*notes, f"{said}: {_by(by_sizes)}.", f"Intervals: {_by(by_kind)}."]


def table(
    data: Any,
    *,
    over: Any = "n",
    theory: float | Mapping[str, float] | None = None,
    loss: str | Sequence[str] | None = None,
    replicate: Hashable = "replicate",
    window: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Table:
    """Tabulate the rates at which errors fall with the size.

    Parameters
    ----------
    data : xarray.Dataset or DataArray, pandas.DataFrame, array, dict of arrays by arm, or path of a CSV file
        Errors. An array is (sizes, replicates), or turned where its shape says so. A table is long (a row for each run)
        or wide (a row for each size, a column for each replicate); columns of words name arms.
    over : str or array (S,), default "n"
        The dimension or column of the sizes, or the sizes themselves. A size may be there twice.
    theory : float or dict, optional
        The slope that a theory states, for all arms or by arm.
    loss : str or sequence of str, optional
        The variables or columns of the errors; all that can be one, if absent. Of a study's dataset, whole, the table
        also says how many runs did not converge.
    replicate : str, default "replicate"
        The dimension or column of the replicates. Without such a column, one named rep, run or seed is taken if it
        alone has the same numbers at the sizes; the table says so.
    window : (low, high), optional
        Sizes that are used, both ends included.
    level : float, default 0.95
        Of the intervals.

    Raises
    ------
    InputError
        If something is no loss (zero, negative, a column equal to the sizes), or could be read in two ways (a square
        array); the sentence names it. If all runs of a study failed.
    """
    ends = _ends(data)
    found, axis, taken = series(data, over, loss=loss, replicate=replicate)
    fits = {arm: fit_array(one.losses, one.sizes, window, level) for arm, one in found.items()}
    stated = dict(theory) if isinstance(theory, Mapping) else {} if theory is None else dict.fromkeys(fits, theory)
    slopes = {arm_of(str(arm), [*fits], "theory"): _slope(slope) for arm, slope in stated.items()}
    return Table(
        fits,
        slopes,
        axis,
        loss if isinstance(loss, str) and loss else "error",
        ends,
        str(taken) if taken != replicate else "",
    )


def _slope(value: Any) -> float:
    if isinstance(value, int | float | np.number) and math.isfinite(value):
        return float(value)
    raise InputError(f"theory is {show(value)}; allowed is a slope, a number such as -0.5, or one for each arm")


SIGN = "slopes of errors that fall are negative"
ENDED = {
    Status.LIMIT: "ran out of steps",
    Status.STALLED: "stalled",
    Status.NOT_FINITE: "not finite",
    Status.RAISED: "raised an exception",
    Status.WORKER_DIED: "lost with their process",
    Status.TIMED_OUT: "timed out",
}
"""How runs ended that failed or did not converge; those above the loss at the truth are told apart."""


def _ends(data: Any) -> str:
    """Return what a study's dataset says of the ends of its runs, in words; "" where it says nothing, or only good.

    Raises InputError if all of them failed.
    """
    codes = data.get("status") if isinstance(data, xr.Dataset) else None
    if codes is None or codes.dtype.kind != "i":
        return ""
    counts = {Status(code): int(np.sum(codes == code)) for code in np.unique(codes) if code in [*Status]}
    runs, done = sum(counts.values()), codes.values >= 0
    if runs and not any(status.has_value for status in counts):
        messages = data["message"].values[done].tolist() if "message" in data else []
        most = f"; the most frequent message: {max(messages, key=messages.count)}" if messages else ""
        raise InputError(f"no run has a loss: {runs} of {runs} failed{most}")
    said = []
    for what, kept in (("failed", False), ("did not converge", True)):
        other = {status: count for status, count in counts.items() if status in ENDED and status.has_value is kept}
        told = ", ".join(f"{count} {ENDED[status]}" for status, count in other.items())
        said += [f"{sum(other.values())} of {runs} runs {what} ({told})"] if other else []
    if worse := counts.get(Status.WORSE_THAN_TRUTH):
        said.append(f"{worse} of {runs} ended above the loss at the truth, so not at the global minimum")
    if "floor" in data and float(floor := data["floor"].max()) > 0:
        said.append(f"the model does not hold the truth: the function that fits are compared with is {floor:.3g} away")
    if "flat_directions" in data and (flat := int(data["flat_directions"].max())):
        which = f"{flat} direction{'s' * (flat > 1)} of its atoms"
        said.append(
            f"the truth is not identified: to first order {which} leave{'s' * (flat == 1)} the function as it is"
        )
    if "search_found" in data and (alone := int(np.sum((data["search_found"].values == 1) & done))):
        said.append(f"in {alone} of {runs} a single start came to the lowest minimum, so that a lower one may be left")
    if "box_hits" in data and (held := int(np.sum((data["box_hits"].values > 0) & done))):
        said.append(f"{held} of {runs} fits end on the box")
    return "; ".join(said)


def _sizes(fit: RateFit) -> str:
    """Return the sizes in words: ``5 sizes from 100 to 10000``."""
    distinct = np.unique(fit.sizes)
    again = f", {fit.sizes.size - distinct.size} of them twice" if fit.sizes.size > distinct.size else ""
    ends = f" from {number(distinct[0])} to {number(distinct[-1])}" if distinct.size else ""
    return f"{distinct.size} sizes{ends}{again}"


def _by(groups: Mapping[str, list[str]]) -> str:
    """Return what holds for all arms, or for which."""
    arms = {what: f" ({listed(map(repr, names))})" * (len(groups) > 1) for what, names in groups.items()}
    return "; ".join(what + whose for what, whose in arms.items())


def _tex(text: str) -> str:
    """Return a cell for LaTeX: numbers as formulas, with a raised star, and words with their signs escaped."""
    if text[:1] in ("-", "+", "[", "("):
        return f"${text.replace('*', '^{*}')}$"
    signs: dict[str, str | int | None] = {letter: f"\\{letter}" for letter in "&%$#_{}"}
    return text.translate(str.maketrans(signs | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}))
