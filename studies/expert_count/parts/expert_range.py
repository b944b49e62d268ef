"""The numbers of experts that cannot be told from the best one: the one-standard-error rule, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moestat.report import style
from moestat.report.tables import label

RESAMPLES = 2000
"""Bootstrap resamples of the replicates behind :attr:`Recommendation.share_best`."""


@dataclass(frozen=True)
class Recommendation:
    """The range of M within one standard error of the best.

    Attributes
    ----------
    experts : (L,) int array
        The candidates, ascending.
    mean, se : (L,) arrays
        Mean of the score and its standard error over replicates (NaN for one replicate).
    behind, behind_se : (L,) arrays
        How far the mean is behind the best one, and the standard error of that difference, paired by replicate.
    within : (L,) bool array
        Whether ``behind <= behind_se``.
    share_best : (L,) array
        In how many bootstrap resamples of the replicates the candidate has the best mean. Far from 1 at the best
        candidate: the replicates do not settle which M is best.
    replicates : int
        Replicates behind each mean.
    score : str
        What the mean is of.
    clusters : int
        K; the coverage bound K log K of the theory is reported beside the range.
    """

    experts: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    behind: np.ndarray
    behind_se: np.ndarray
    within: np.ndarray
    share_best: np.ndarray
    replicates: int
    score: str
    clusters: int

    @property
    def best(self) -> int:
        """The candidate of the best mean."""
        return int(self.experts[np.argmax(self.mean)])

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest candidate within one standard error of the best."""
        members = self.experts[self.within]
        return int(members.min()), int(members.max())

    @property
    def coverage(self) -> float:
        """K log K: below about this many experts, some cluster is left without one at the start (Lemma 6)."""
        return self.clusters * float(np.log(self.clusters))

    @property
    def text(self) -> str:
        """The range in words, with its gaps: ``M = 4 to 16, but for 8``."""
        low, high = self.range
        left_out = self.experts[(self.experts > low) & (self.experts < high) & ~self.within]
        gaps = f", but for {', '.join(map(str, left_out))}" if left_out.size else ""
        return f"M = {low} to {high}{gaps}" if low < high else f"M = {low}"

    def __str__(self) -> str:
        low, high = self.range
        at_edge = [f"M = {m}" for m, edge in ((low, 0), (high, -1)) if m == self.experts[edge]]
        top = int(np.argmax(self.mean))
        lines = [
            f"{self.text}: within one standard error of the best, "
            f"M = {self.best}, by {self.score} over {self.replicates} replicates.",
            f"M = {self.best} has the best mean in {self.share_best[top]:.0%} of bootstrap resamples; "
            f"K log K = {self.coverage:.1f}.",
        ]
        if at_edge and self.experts.size > 1:
            lines.append(f"The range ends at {' and '.join(at_edge)}, the edge of the candidates: try others beyond.")
        lines.append("      M     mean       se   behind       se   in range  best in resamples")
        rows = (self.experts, self.mean, self.se, self.behind, self.behind_se, self.within, self.share_best)
        for m, mean, se, behind, behind_se, inside, share in zip(*rows, strict=True):
            numbers = "  ".join(f"{number:7.4f}" for number in (mean, se, behind, behind_se))
            lines.append(f"{m:7d}  {numbers}   {'yes' if inside else 'no':8s}  {share:.0%}")
        return "\n".join(lines)

    def draw(self, ax: Axes) -> None:
        """Draw the means and shade the range: the candidates whose bar reaches the best mean."""
        colour = style.COLOURS[2]
        positions = np.log2(self.experts)
        edges = np.concatenate([[positions[0] - 0.5], (positions[1:] + positions[:-1]) / 2, [positions[-1] + 0.5]])
        for i, inside in enumerate(self.within):
            if inside:
                ax.axvspan(edges[i], edges[i + 1], color=colour, alpha=0.12, lw=0)
        ax.axhline(np.max(self.mean), color=colour, lw=1, ls="--", label="best mean")
        bars = "mean ± standard error of its distance to the best"
        ax.errorbar(positions, self.mean, yerr=self.behind_se, fmt="o-", color=style.INK, capsize=3, label=bars)
        ax.axvline(np.log2(self.coverage), color=style.REFERENCE, lw=1, ls=":", label="K log K")
        ax.set_xlim(edges[0], edges[-1])
        ax.set_xticks(positions, [str(m) for m in self.experts])
        ax.set_xlabel("number of experts M")
        ax.set_ylabel(self.score)
        ax.set_title(f"within one standard error of the best: {self.text}")

    def figure(self) -> Figure:
        """Return a figure of :meth:`draw`."""
        with style.look():
            figure = style.new_figure(5.5, 3.6)
            self.draw(figure.add_subplot())
            _legend(figure)
        return figure


def recommend(
    experts: Sequence[int] | np.ndarray, score: np.ndarray, *, clusters: int, name: str = "test accuracy"
) -> Recommendation:
    """Apply the one-standard-error rule to scores that were measured already.

    A candidate is in the range when its mean is behind the best by at most the standard error of that difference,
    paired by replicate. (The rule of Breiman et al. 1984 takes the best one's own standard error, which is blind to
    the scatter of the others: here the candidates often scatter very differently.)

    Parameters
    ----------
    experts : sequence of int
        Candidates M.
    score : (L, R) array
        Score of each candidate in each replicate, larger is better; replicates with a hole are left out.
    clusters : int
        K.
    name : str
        What the score is.

    Raises
    ------
    ValueError
        If the shapes do not match, or no replicate is complete.
    """
    counts = np.asarray(experts)
    score = np.asarray(score, dtype=float)
    if score.ndim != 2 or len(counts) != len(score):
        raise ValueError(
            f"score has shape {score.shape}; it must be (candidates, replicates), with {len(counts)} candidates"
        )
    score = score[:, np.all(np.isfinite(score), axis=0)]
    replicates = score.shape[1]
    if replicates == 0:
        raise ValueError("no replicate has a finite score for every candidate")
    order = np.argsort(counts, kind="stable")
    counts, score = counts[order], score[order]
    mean = np.mean(score, axis=1)
    top = int(np.argmax(mean))
    behind = mean[top] - mean
    missing = np.full(len(mean), np.nan)
    se, behind_se = (
        np.std(a, axis=1, ddof=1) / np.sqrt(replicates) if replicates > 1 else missing
        for a in (score, score[top] - score)
    )
    resampled = np.random.default_rng(0).integers(replicates, size=(RESAMPLES, replicates))
    winners = np.argmax(np.mean(score[:, resampled], axis=2), axis=0)
    return Recommendation(
        experts=counts,
        mean=mean,
        se=se,
        behind=behind,
        behind_se=behind_se,
        within=behind <= np.nan_to_num(behind_se),
        share_best=np.bincount(winners, minlength=len(counts)) / RESAMPLES,
        replicates=replicates,
        score=name,
        clusters=clusters,
    )


def of_study(ds: xr.Dataset, arm: str, *, variable: str = "last_accuracy", clusters: int = 4) -> Recommendation:
    """Apply the rule to the results of a study with the axis ``experts``."""
    score = ds[variable].sel(arm=arm).transpose("experts", "replicate")
    return recommend(ds["experts"].values, score.values, clusters=clusters, name=variable.replace("_", " "))


def study_figure(ds: xr.Dataset, figure: object, *, variable: str = "last_accuracy", clusters: int = 4) -> Figure:
    """Draw the recommendation of every arm of a study; a figure of kind ``function``."""
    arms = [str(arm) for arm in ds["arm"].values]
    rows = -(-len(arms) // 2)
    canvas = style.new_figure(style.TWO_COLUMNS, 2.7 * rows)
    panels = canvas.subplots(rows, min(2, len(arms)), squeeze=False)
    for ax in panels.flat[len(arms) :]:
        ax.remove()
    for ax, arm in zip(panels.flat, arms, strict=False):
        recommendation = of_study(ds, arm, variable=variable, clusters=clusters)
        recommendation.draw(ax)
        ax.set_title(f"{label(ds, arm)}: {recommendation.text}")
    _legend(canvas)
    return canvas


def _legend(canvas: Figure) -> None:
    handles, labels = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
