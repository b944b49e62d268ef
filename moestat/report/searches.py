"""What the global searches of a study saw: which start won, how often, and how far near-minimisers are apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from moestat.claims.evidence import Evidence
from moestat.report.tables import label
from moestat.report.views import View, names
from moestat.rounding import number

COLUMNS = ("arm", "label", "at", "runs", "other_won", "gain", "found", "distinct", "lower_left", "near", "wide")
HEADS = {
    "at": "at",
    "runs": "searches",
    "other_won": "another start won",
    "gain": "gain / v",
    "found": "best found",
    "distinct": "minima",
    "lower_left": "lower one left",
    "near": "L3, v log n",
    "wide": "L3, v p",
}
NOTE = (
    "Medians over replicates. Gain: residual sum of squares of the local fit minus that of the best one, in units of "
    "the noise variance v. Best found: independent starts that ended at the best minimum; 0 where it came from a "
    "replacement of an atom. Lower one left: the chance of it after Boender and Rinnooy Kan (1987), which errs to the "
    "careful side. Last columns: lowest to highest L3 of the end points within v log n and within v p of the least "
    "residual sum of squares."
)


def table(evidence: Evidence) -> pd.DataFrame:
    """Tabulate the searches of every arm that has some, per point of the grid.

    Returns
    -------
    DataFrame
        ``other_won`` is the share of replicates in which another than a local start led to the best fit; the other
        numbers are medians over replicates. No rows where nothing was searched.
    """
    ds = evidence.ds
    if "search_kind" not in ds:
        return pd.DataFrame(columns=list(COLUMNS))
    axes = [str(dim) for dim in ds["search_kind"].dims if dim not in ("arm", "replicate")]
    rows = []
    for arm in ds["arm"].values:
        own = ds.sel(arm=arm).stack(point=axes)
        for k, at in enumerate(own["point"].values):
            cell = own.isel(point=k)
            searched = np.isfinite(cell["search_found"].values.astype(float))
            if searched.any():
                rows.append({"arm": str(arm), "label": label(ds, str(arm))} | _row(cell, searched, axes, at))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(cell: xr.Dataset, searched: np.ndarray, axes: list[str], at: tuple) -> dict[str, object]:
    def median(name: str) -> float:
        return float(np.median(cell[name].values[searched])) if name in cell else np.nan

    row: dict[str, object] = {
        "at": ", ".join(f"{axis} = {number(value)}" for axis, value in zip(axes, at, strict=True)),
        "runs": int(searched.sum()),
        "other_won": float(np.mean(cell["search_kind"].values[searched] != "local")),
    }
    for name in ("gain", "found", "distinct", "lower_left"):
        row[name] = median(f"search_{name}")
    for width in ("near", "wide"):
        low, high = median(f"L3_{width}_low"), median(f"L3_{width}_high")
        row[width] = f"{number(low, 3)} to {number(high, 3)}" if np.isfinite(low + high) else ""
    return row


def view(rows: pd.DataFrame) -> View:
    """Show the table, one group of rows per arm."""
    shown = []
    for row in rows.to_dict("records"):
        numbers = (number(row[name], 3) for name in ("gain", "found", "distinct"))
        shares = (f"{100 * row['other_won']:.0f} %", *numbers, f"{row['lower_left']:.2f}")
        shown.append((row["at"], str(row["runs"]), *shares, row["near"], row["wide"]))
    heads = tuple(HEADS.values())
    return View(
        "Global searches", heads, shown, names(rows), [NOTE], numeric=frozenset(heads[1:])
    ).without_empty_columns()
