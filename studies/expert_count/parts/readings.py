"""In which readings a sentence on Figures 1 and 2 holds: every n, sigma_0 and T of a map, with one error rate.

A sentence is one or more contrasts of means, each above a bound, taken in every reading. The t-intervals of its
contrasts in all readings hold at once with the claim's level (Bonferroni). A sentence *holds* in a reading where all
of its intervals are above their bounds, is *reversed* where one is below, and is *open* elsewhere. So the share of
readings in which it is true is between the share in which it holds and that in which it is not reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
    """Yield where each reading is on the axes that the run has, and its values."""
    axes = [axis for axis in AXES if axis in ds.dims]
    for place in np.ndindex(*(ds.sizes[axis] for axis in axes)):
        here = ds.isel(dict(zip(axes, place, strict=True)))

        def values(name: str, arm: str, m: int, here: xr.Dataset = here) -> np.ndarray:
            if arm not in here["arm"].values or m not in here["experts"].values:
                raise NoAnswerError(f"The run has no arm {arm} with M = {m}, of which the sentence speaks.")
            return np.asarray(here[name].sel(arm=arm, experts=m).values)

        yield tuple(float(here[axis]) for axis in axes), values


def judge(ds: xr.Dataset, sentence: str, kind: str, level: float) -> dict[tuple[float, ...], tuple[int, bool, float]]:
    """Return for each reading three things: whether the sentence holds (1), is open (0) or is reversed (-1), whether
    its means alone are as it says, and the smallest mean of its contrasts.
    """
    found = {key: CONTRASTS[sentence](values, kind) for key, values in _readings(ds)}
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


def chosen(ds: xr.Dataset, at_steps: Sequence[int] = (), after: int = 0) -> xr.Dataset:
    """Return a run at some T, all if there are none, without its first replicates."""
    ds = ds.isel(replicate=slice(after, None)).assign_coords(
        arm=[f"{arm}-4" if arm in PEAKS else arm for arm in ds["arm"].values]  # P = 4, where there is no other
    )
    return ds.sel(step=list(at_steps)) if at_steps else ds


def share(
    ds: xr.Dataset, claim: Claim, *, sentence: str, kind: str, at_steps: Sequence[int] = (), after: int = 0
) -> Estimate:
    """Estimate the share of the readings in which a sentence is true, with the interval of this module's first lines.

    The value is the share in which the means alone have it so. ``at_steps`` are the T that count, all if there are
    none; the first ``after`` replicates, by which a run was chosen, are left out.
    """
    ds = chosen(ds, at_steps, after)
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
    "rise": "entropy rises",
}
SHADES = ("#e0620a", "#eceef0", "#0084dc")
States = dict[tuple[str, str], dict[tuple[float, ...], tuple[int, bool, float]]]
"""Sentence and kind to what :func:`judge` says of every reading, of which T is the last coordinate."""


def judged(ds: xr.Dataset, level: float = 0.95, kinds: Sequence[str] = tuple(PEAKS)) -> States:
    """Judge every sentence that is drawn."""
    return {(sentence, kind): judge(ds, sentence, kind, level) for sentence in TITLES for kind in kinds}


def picture(ds: xr.Dataset, figure: Figure) -> Canvas:
    """Draw the map of a run; see :func:`drawn`."""
    states = judged(ds)
    rows = [(n, start) for n in ds["n"].values for start in ds["start_scale"].values]
    labels = [f"{n}, {start:g}" for n, start in rows]
    return drawn([(label, states, tuple(map(float, row))) for label, row in zip(labels, rows, strict=True)])


def drawn(rows: Sequence[tuple[str, States, tuple[float, ...]]]) -> Canvas:
    """Draw a map for each sentence and kind, of rows of readings: their label, their states and where they are.

    A square is a reading where the sentence holds, is open or is reversed; the number in it is the smallest mean of its
    contrasts, in points of accuracy (of the last map, in nats). A kind that a row does not have leaves it white.
    """
    steps = sorted({key[-1] for _, states, _ in rows for found in states.values() for key in found})
    canvas = style.new_figure(style.TWO_COLUMNS, 1.5 + 0.42 * len(rows))
    grid, first = canvas.subplots(len(PEAKS), len(TITLES), sharex=True, sharey=True), next(iter(PEAKS))
    for line, kind in zip(grid, PEAKS, strict=True):
        for axes, (sentence, title) in zip(line, TITLES.items(), strict=True):
            table = np.full((len(rows), len(steps)), np.nan)
            scale, digits = (1, 1) if sentence == "rise" else (100, 0)
            for i, (_, states, place) in enumerate(rows):
                for key, (state, _, mean) in states.get((sentence, kind), {}).items():
                    if key[:-1] == place:
                        j = steps.index(key[-1])
                        table[i, j] = state
                        value = f"{scale * mean:+.{digits}f}".replace("-", "\N{MINUS SIGN}").replace("0.", ".")
                        ink = style.PAGE if state else style.INK
                        axes.text(j, i, value, ha="center", va="center", fontsize=7, color=ink)
            axes.imshow(table, cmap=ListedColormap(SHADES), vmin=-1, vmax=1, aspect="auto")
            axes.grid(visible=False)
            if kind == first:
                axes.set_title(title)
            axes.set_xticks(range(len(steps)), [f"{step / 1000:g}" for step in steps])
            axes.set_yticks(range(len(rows)), [label for label, *_ in rows])
    for axes in grid[-1]:
        axes.set_xlabel("T η")
    for axes, (kind, peak) in zip(grid[:, 0], PEAKS.items(), strict=True):
        axes.set_ylabel(f"{kind.upper()}, peak {peak}\nn, σ₀")
    marks = [Patch(facecolor=shade, edgecolor=style.REFERENCE, linewidth=0.4) for shade in SHADES]
    canvas.legend(marks, ["reversed", "open", "holds"], loc="outside lower center", ncols=3)
    return canvas
