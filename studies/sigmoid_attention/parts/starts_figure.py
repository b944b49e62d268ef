"""The figure of the printed protocol: the loss over n from several starts, beside least squares and what can be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

import moestat
from moestat.claims.evidence import Evidence
from moestat.report import style, ticks
from moestat.report.means import along
from moestat.report.text import minus
from moestat.runner import records, results
from moestat.study.spec import Figure
from studies.sigmoid_attention.parts.figure_1 import LEGENDS

STARTS = {
    "printed": "radius 0.05 n^(-1/2)",
    "split": "the same, ninth atom split off",
    "numbers": "at the softmax truth's numbers",
    "wide": "radius 0.1, whatever n",
}
"""The starts, as the legend names them; where the ninth atom of the first one comes from stands in the panel."""
NINTH = {"softmax": "ninth atom a copy", "sigmoid": "beside its target"}
EXPERTS = {"relu": "ReLU", "linear": "linear"}


def starts(ds: xr.Dataset, figure: Figure, *, evidence: Evidence) -> Canvas:
    """Draw L3 over n from every start, one panel for each gate and expert.

    ``ds``: results of the arms ``{gate}-{expert}-{start}``, with ``L3`` and ``line_L3`` over n and replicate;
    ``evidence``: the fitted series.
    """
    kept = _record(str(ds.attrs.get("study", "")))
    canvas = style.new_figure(style.TWO_COLUMNS, 5.4)
    grid = canvas.subplots(2, 2, sharex=True, sharey=True)
    for axes, curve, letter in zip(grid.flat, LEGENDS, "abcd", strict=True):
        gate, expert = curve.split("-")
        _panel(axes, evidence, gate, expert, kept)
        axes.set_title(f"({letter}) {gate} gate, {EXPERTS[expert]} experts", loc="left")
        axes.set(xscale="log", yscale="log", xlabel="sample size n", ylabel="Voronoi loss L3")
        ticks.logarithmic(axes.xaxis)
        axes.label_outer()
    entries = [entry for axes in grid.flat for entry in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {name: handle for handle, name in entries}
    canvas.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False)
    return canvas


def _panel(axes: Axes, evidence: Evidence, gate: str, expert: str, kept: xr.Dataset | None) -> None:
    ds, arm = evidence.ds, f"{gate}-{expert}"
    for number, (start, words) in enumerate(STARTS.items()):
        name = f"{arm}-{start}"
        if name not in ds["arm"].values:
            continue
        n, mean, low, high, _ = along(ds["L3"].sel(arm=name), "n", log=True)
        slope = round(evidence.series("L3", "n", name).fit.slope, 2) + 0.0  # no -0.00
        colour, bars = style.colour(number), np.stack([mean - low, high - mean])
        axes.errorbar(n, mean, yerr=bars, color=colour, label=minus(words), linewidth=1.2, **style.marker(number))
        axes.annotate(
            minus(f"{slope:.2f}"), (n[-1], mean[-1]), (5, 0), textcoords="offset points", color=colour, va="center"
        )
    n = ds["n"].values.astype(float)
    scale, exponent = LEGENDS[f"{gate}-{expert}"]
    axes.plot(n, scale * n**exponent, color=style.INK, linestyle="--", linewidth=1.2)
    middle, text = np.sqrt(n[0] * n[-1]), minus(f"Fig. 1: {exponent}")
    axes.annotate(text, (middle, scale * middle**exponent), (0, 3), textcoords="offset points", fontsize=7)
    if gate == "softmax":  # the model of the other gate does not hold the truth, and its line is no bound
        lines = ds["line_L3"].sel(arm=f"{arm}-printed").transpose("n", "replicate").values
        axes.fill_between(n, np.nanmin(lines, 1), np.nanmax(lines, 1), color=style.REFERENCE, alpha=0.2, linewidth=0)
        axes.plot(n, np.nanmedian(lines, 1), color=style.REFERENCE, linewidth=1.0, label="information bound")
    if kept is not None and arm in kept["arm"].values:
        sizes, mean, *_ = along(kept["L3"].sel(arm=arm), "n", log=True)
        axes.plot(sizes, mean, "s:", color=style.INK, markersize=3, linewidth=0.8, label="least squares (record)")
    axes.text(0.02, 0.03, f"first start: {NINTH[gate]}", transform=axes.transAxes, fontsize=7)
    axes.set_xlim(n[0] / 1.3, n[-1] * 2.6)


def _record(study: str) -> xr.Dataset | None:
    """Return the record of least squares over several truths, of the current folder's outputs or the checkout's."""
    for root in (Path("outputs"), Path(moestat.__file__).parents[1] / "outputs"):
        folder = records.path(root, study, "truths")
        if records.is_record(folder):
            records.check(folder)
            return results.read(results.of(folder))
    return None
