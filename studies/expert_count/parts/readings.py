"""In which readings a sentence on Figures 1 and 2 holds: every n, sigma_0 and T of a map, with one error rate.

A sentence is one or more contrasts of means, each above a bound, taken in every reading. The t-intervals of its
contrasts in all readings hold at once with the claim's level (Bonferroni). A sentence *holds* in a reading where all
of its intervals are above their bounds, is *reversed* where one is below, and is *open* elsewhere. So the share of
readings in which it is true is between the share in which it holds and that in which it is not reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from moestat.claims.selection import NoAnswerError
from moestat.rates import Estimate, mean_interval
from moestat.report import style
from moestat.study.spec import Claim, Figure
from studies.expert_count.parts.curve_words import COUNTS, PEAKS

POINT = 0.01
"""What is as good as equal: one point of accuracy."""
AXES = ("n", "start_scale", "step")

Values = Callable[[str, str, int], np.ndarray]
"""Variable, arm and M to the values of one reading, (R,)."""
Contrast = tuple[np.ndarray, float]
"""Values (R,), and the bound that their mean is above where the sentence is true."""


def _accuracy(more: int, less: int, arm: str, values: Values) -> np.ndarray:
    return values("accuracy", arm, more) - values("accuracy", arm, less)


def _few(values: Values, kind: str) -> list[Contrast]:
    return [(_accuracy(PEAKS[kind], 4, f"{kind}-4", values), 0.0)]


def _peak(values: Values, kind: str) -> list[Contrast]:
    peak = PEAKS[kind]
    return [(_accuracy(peak, m, f"{kind}-4", values), 0.0) for m in COUNTS if m != peak]


def _no_gain(values: Values, kind: str) -> list[Contrast]:
    peak = PEAKS[kind]
    return [(_accuracy(peak, m, f"{kind}-4", values), -POINT) for m in COUNTS if m > peak]


def _decline(values: Values, kind: str) -> list[Contrast]:
    return [(_accuracy(PEAKS[kind], 64, f"{kind}-4", values), 0.0)]


def _rise(values: Values, kind: str) -> list[Contrast]:
    arm = f"{kind}-4"
    return [(values("entropy", arm, 64) - values("entropy", arm, PEAKS[kind]), 0.0)]


def _tie(values: Values, kind: str) -> list[Contrast]:
    gap = _accuracy(2 * PEAKS[kind], PEAKS[kind], f"{kind}-4", values)
    return [(gap, -POINT), (-gap, -POINT)]


def _scatter(values: Values, arm: str, m: int) -> np.ndarray:
    """Return the distance of each run from the median run (Brown and Forsythe 1974)."""
    runs = values("accuracy", arm, m)
    return np.abs(runs - np.median(runs))


def _varies(values: Values, kind: str) -> list[Contrast]:
    ours, theirs = ([_scatter(values, f"{name}-4", m) for m in COUNTS] for name in ("mlp", "cnn"))
    return [(np.mean(ours, axis=0) - np.mean(theirs, axis=0), 0.0)]


def _last_mean(values: Values, kind: str) -> list[Contrast]:
    return [(_accuracy(64, 32, f"{kind}-4", values), 0.0)]


def _last_variance(values: Values, kind: str) -> list[Contrast]:
    arm = f"{kind}-4"
    return [(_scatter(values, arm, 64) - _scatter(values, arm, 32), 0.0)]


def _patches(values: Values, kind: str) -> list[Contrast]:
    lost = values("accuracy", f"{kind}-4", PEAKS[kind]) - values("accuracy", f"{kind}-8", PEAKS[kind])
    return [(lost, 0.0)] if kind == "mlp" else [(-lost, -2 * POINT)]


CONTRASTS: dict[str, Callable[[Values, str], list[Contrast]]] = {
    "few": _few,
    "peak": _peak,
    "no-gain": _no_gain,
    "decline": _decline,
    "rise": _rise,
    "tie": _tie,
    "varies": _varies,
    "last-mean": _last_mean,
    "last-variance": _last_variance,
    "patches-mlp": _patches,
    "patches-cnn": _patches,
}
"""The contrasts of a sentence (:data:`.curve_words.WORDS`) in one reading, for a kind of experts."""


def _readings(ds: xr.Dataset) -> Iterator[tuple[tuple[float, ...], Values]]:
    """Yield n, sigma_0 and T of each reading, and its values."""
    for place in np.ndindex(*(ds.sizes[axis] for axis in AXES)):
        here = ds.isel(dict(zip(AXES, place, strict=True)))

        def values(name: str, arm: str, m: int, here: xr.Dataset = here) -> np.ndarray:
            return np.asarray(here[name].sel(arm=arm, experts=m).values)

        yield tuple(float(here[axis]) for axis in AXES), values


def judge(ds: xr.Dataset, sentence: str, kind: str, level: float) -> dict[tuple[float, ...], tuple[int, bool, float]]:
    """Return for each reading three things: whether the sentence holds (1), is open (0) or is reversed (-1), whether
    its means alone are as it says, and the smallest mean of its contrasts.
    """
    try:
        found = {key: CONTRASTS[sentence](values, kind) for key, values in _readings(ds)}
    except KeyError as error:
        raise NoAnswerError(f"The run holds no {error}, of which the sentence speaks.") from None
    every = [contrast for each in found.values() for contrast in each]
    if not all(np.isfinite(samples).all() for samples, _ in every):
        raise NoAnswerError("A run of the map has no value.")
    joint = 1 - (1 - level) / len(every)
    states: dict[tuple[float, ...], tuple[int, bool, float]] = {}
    for key, contrasts in found.items():
        ends = [(mean_interval(samples, joint), bound) for samples, bound in contrasts]
        holds = all(low > bound for (_, _, low, _), bound in ends)
        reversed_ = any(high < bound for (_, _, _, high), bound in ends)
        states[key] = (
            int(holds) - int(reversed_),
            all(mean > bound for (mean, *_), bound in ends),
            float(min(mean for (mean, *_), _ in ends)),
        )
    return states


def share(ds: xr.Dataset, claim: Claim, *, sentence: str, kind: str) -> Estimate:
    """Estimate the share of the readings in which a sentence is true, with the interval of this module's first lines.

    The value is the share in which the means alone have it so.
    """
    states = list(judge(ds, sentence, kind, claim.level).values())
    holds, reversed_ = (sum(state == sign for state, *_ in states) for sign in (1, -1))
    low, high = holds / len(states), 1 - reversed_ / len(states)
    runs = ds.sizes["replicate"]
    note = f"holds in {holds}, open in {len(states) - holds - reversed_}, reversed in {reversed_} of {len(states)}"
    return Estimate(
        float(np.clip(np.mean([means for _, means, _ in states]), low, high)),
        low,
        high,
        f"{note} readings, {runs} runs each",
        subject="The share of readings",
        exact=low == high,
        replicates=runs,
    )


TITLES = {
    "few": "M = 4 is worse",
    "peak": "the peak is there",
    "no-gain": "no gain beyond",
    "decline": "M = 64 is worse",
    "rise": "entropy rises to 64",
}
SHADES = ("#e0620a", "#eceef0", "#0084dc")


def picture(ds: xr.Dataset, figure: Figure, *, level: float = 0.95) -> Canvas:
    """Draw a map for each sentence and kind: readings where it holds, is open, is reversed; numbers are points."""
    axes_of = {name: ds[name].values for name in AXES}
    rows = [(n, start) for n in axes_of["n"] for start in axes_of["start_scale"]]
    canvas = style.new_figure(style.TWO_COLUMNS, 4.2)
    grid = canvas.subplots(len(PEAKS), len(TITLES), sharex=True, sharey=True)
    for line, (kind, peak) in zip(grid, PEAKS.items(), strict=True):
        for axes, (sentence, title) in zip(line, TITLES.items(), strict=True):
            states = judge(ds, sentence, kind, level)
            table = np.array([[states[float(n), float(s), float(t)] for t in axes_of["step"]] for n, s in rows])
            axes.imshow(table[:, :, 0], cmap=ListedColormap(SHADES), vmin=-1, vmax=1, aspect="auto")
            for i, j in np.ndindex(table.shape[:2]):
                scale = 100 if sentence != "rise" else 1
                ink = style.PAGE if table[i, j, 0] else style.INK
                value = f"{scale * table[i, j, 2]:+.{0 if scale > 1 else 1}f}".replace("-", "\N{MINUS SIGN}")
                axes.text(j, i, value, ha="center", va="center", fontsize=6, color=ink)
            axes.grid(visible=False)
            axes.set_title(f"{kind.upper()}, {peak}: {title}", fontsize=6.5)
            axes.set_xticks(range(len(axes_of["step"])), [f"{t / 1000:g}" for t in axes_of["step"]])
            axes.set_yticks(range(len(rows)), [f"{n}, {s:g}" for n, s in rows])
    for axes in grid[-1]:
        axes.set_xlabel("T η")
    for axes in grid[:, 0]:
        axes.set_ylabel("n, σ₀")
    marks = [Patch(facecolor=shade, edgecolor=style.REFERENCE, linewidth=0.4) for shade in SHADES]
    canvas.legend(marks, ["reversed", "open", "holds"], loc="outside lower center", ncols=3)
    return canvas
