"""Which readings of a printed protocol give the printed slopes: shares of truths, rules of claims, and a picture."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError
from moestat.rates import Estimate
from moestat.report import style
from moestat.report.text import minus
from moestat.sentences import listed
from moestat.study.spec import Claim, Figure

NINTH = dict(copy="a copy", split="split off", elsewhere="elsewhere", target="best pseudo-truth")
SUFFIX = {"": "", "-half": ", half mean square", "-batches": ", batches of 100"}
SUFFIX |= {"-batches-1000": ", batches of 1000", "-batches-10": ", batches of 10"}
LOSSES = dict(to_best="L3 to the best measures (sparse: L1)", to_truth="L3 to the truth itself")
Region = Sequence[float]


def slopes(ds: xr.Dataset, loss: str) -> xr.DataArray:
    """Return the least-squares slopes of log loss over log n, of every truth and reading; NaN where one has no loss."""
    logs = np.log(ds[loss].where(ds[loss] > 0))
    n = np.log(ds["n"] / 1.0)
    centred = n - n.mean()
    return (centred * logs).sum("n", skipna=False) / (centred**2).sum()


def share(ds: xr.Dataset, loss: str, arm: str, region: Region, levels: Region = ()) -> xr.DataArray:
    """Return the share of truths (exponent, radius) whose slope lies in the region.

    With ``levels`` (scale, exponent, factor) also, both at the least and the largest n, the loss within the factor of
    ``scale * n**exponent``.
    """
    found = slopes(ds.sel(arm=arm), loss)
    inside = (found >= region[0]) & (found <= region[1])
    for n in (int(ds["n"].min()), int(ds["n"].max())) if levels else ():
        scale, exponent, factor = levels
        off = np.abs(np.log(ds[loss].sel(arm=arm, n=n) / (scale * n**exponent)))
        inside = inside & (off <= np.log(factor))
    return inside.mean("replicate")


def _readings(ds: xr.Dataset, options: Mapping[str, Any]) -> Iterator[tuple[xr.DataArray, str]]:
    """Yield the least share over all curves of a figure, (exponent, radius), of every way to read start, loss and step.

    Curves of one group have one kind of start.
    """
    arms, groups, levels = set(ds["arm"].values), options["groups"], options.get("levels", {})
    for loss, suffix in itertools.product(options.get("losses", LOSSES), options.get("steps", SUFFIX)):
        for kinds in itertools.product(*(group["ninth"] for group in groups)):
            names = {
                curve: (f"{curve}-{kind}{suffix}", region)
                for group, kind in zip(groups, kinds, strict=True)
                for curve, region in group["curves"].items()
            }
            if all(arm in arms for arm, _ in names.values()):
                shares = [share(ds, loss, arm, region, levels.get(curve, ())) for curve, (arm, region) in names.items()]
                said = " and ".join(NINTH[kind] for kind in kinds) + SUFFIX[suffix]
                yield xr.concat(shares, "curve").min("curve"), f"{said}, {LOSSES[loss]}"


def best(ds: xr.Dataset, claim: Claim, *, exchanged: Sequence[str] = (), **options: Any) -> Estimate:
    """Return the largest share of truths, over all readings, in which every curve is as printed.

    With two curves as ``exchanged`` a share in the region decides nothing where every reading that has it has one in
    the region for exchanged regions of these curves, too: such readings do not tell one printed slope from the other.

    ``groups``: curves, with the regions of their slopes, and the kinds of start that they may have together;
    ``losses``: some of those in ``LOSSES``; ``steps``: some of those in ``SUFFIX``; ``levels``: curve -> scale,
    exponent and factor (:func:`share`).
    """
    found = _extreme(ds, options, "largest")
    least, most = claim.region
    if not exchanged or not least <= found.value <= most:
        return found
    other = _exchange(options, *exchanged)
    both = zip(_readings(ds, options), _readings(ds, other), strict=True)
    if any(bool(((own >= least) & (control < least)).any()) for (own, _), (control, _) in both):
        return found
    share = _extreme(ds, other, "largest").value
    said = (
        f"With the slopes of {listed(exchanged)} exchanged the share is {share:g}: no reading tells one from the other."
    )
    return replace(found, reasons=(*found.reasons, said))


def turned(ds: xr.Dataset, claim: Claim, *, exchanged: Sequence[str], **options: Any) -> Estimate:
    """Return the largest share as :func:`best` does, the regions of two curves exchanged."""
    return _extreme(ds, _exchange(options, *exchanged), "largest")


def _exchange(options: Mapping[str, Any], first: str, second: str) -> dict[str, Any]:
    """Return options in which two curves, of whatever groups, have each other's region."""
    regions = {curve: region for group in options["groups"] for curve, region in group["curves"].items()}
    regions[first], regions[second] = regions[second], regions[first]
    groups = [dict(group, curves={curve: regions[curve] for curve in group["curves"]}) for group in options["groups"]]
    return dict(options, groups=groups)


def worst(ds: xr.Dataset, claim: Claim, **options: Any) -> Estimate:
    """Return the smallest share over all readings; the options are those of :func:`best`."""
    return _extreme(ds, options, "smallest")


def _extreme(ds: xr.Dataset, options: Mapping[str, Any], which: str) -> Estimate:
    found = list(_readings(ds, options))
    if not found:
        raise NoAnswerError("No reading has all of its curves in this run.")
    stacked = np.stack([values.transpose("exponent", "radius").values for values, _ in found])
    at = np.unravel_index(int(stacked.argmax() if which == "largest" else stacked.argmin()), stacked.shape)
    value, (shares, said) = float(stacked[at]), found[at[0]]
    start = f"radius {float(shares['radius'][at[2]]):.3g} (n / 1000)^{float(shares['exponent'][at[1]]):g}"
    note = f"{which} of {stacked.size} readings, at: {said}, {start}; {ds.sizes['replicate']} truths"
    return Estimate(value, value, value, note, subject=f"The {which} share of truths", exact=True)


def picture(
    ds: xr.Dataset, figure: Figure, *, evidence: Evidence, curves: dict[str, list[Any]], columns: dict[str, list[str]]
) -> Canvas:
    """Draw the share of truths whose slope is as printed, a row for each curve, a column for each start and loss.

    ``curves``: name -> title and the ends of its region; ``columns``: title -> the loss, and the ends of the names of
    the arms that may stand there. A start is framed in every curve if half of the truths or more are as printed in all.
    """
    there = {
        (curve, head): share(ds, loss, arm, region).transpose("exponent", "radius")
        for curve, (_, *region) in curves.items()
        for head, (loss, *ends) in columns.items()
        if (arm := next((name for end in ends if (name := f"{curve}-{end}") in ds["arm"].values), None))
    }
    heads = [head for head in columns if any(head == one for _, one in there)]
    whole = {head for head in heads if all((curve, head) in there for curve in curves)}
    least = {head: np.min([there[curve, head].values for curve in curves], axis=0) for head in whole}
    narrow = len(heads) > 3
    small = 6 if narrow else 7
    canvas = style.new_figure(max(style.TWO_COLUMNS, 1.9 * len(heads)), 0.95 * len(curves) + 1.1)
    grid = canvas.subplots(len(curves), len(heads), sharex=True, sharey=True, squeeze=False)
    for (curve, (title, *_)), axes_of in zip(curves.items(), grid, strict=True):
        for head, axes in zip(heads, axes_of, strict=True):
            axes.grid(visible=False)
            if (curve, head) not in there:
                axes.set_axis_off()
                continue
            shares = there[curve, head]
            axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            for (row, column), value in np.ndenumerate(shares.values):
                colour = style.PAGE if value > 0.5 else style.INK
                axes.text(column, row, f"{value:.0%}", color=colour, fontsize=small, ha="center", va="center")
            for row, column in np.argwhere(least[head] >= 0.5) if head in whole else ():
                corner = (column - 0.5, row - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.COLOURS[1], linewidth=2, zorder=3))
            axes.set_xticks(range(shares.sizes["radius"]), [f"{r:g}" for r in shares["radius"].values])
            axes.set_yticks(range(shares.sizes["exponent"]), [minus(f"{a:g}") for a in shares["exponent"].values])
            axes.tick_params(labelsize=6.5, length=0)
            axes.tick_params(axis="x", labelrotation=90 * narrow)
        axes_of[0].set_ylabel(minus(title), fontsize=7)
    for letter, head, axes in zip("abcdefgh", heads, grid[0], strict=False):
        axes.set_title(f"({letter}) {head}", loc="left")
    canvas.supxlabel("radius of the start at n = 1000, standard deviation of a coordinate", fontsize=8)
    canvas.supylabel("power of n with which the radius falls", fontsize=8)
    return canvas
