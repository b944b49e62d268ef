"""The picture to play with on the home page: the curves of Figure 1 by how its fits are started.

It is made when the site is built, from the record of figure_readings: no server and no library, and it works offline.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import moestat
from moestat import rates
from moestat.rounding import estimate
from studies.sigmoid_attention.parts.figure_1 import LEGENDS

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "outputs" / "records" / "figure_readings" / "paper"
STARTS = {
    "copy": "as a copy of a true expert",
    "split": "split off a true expert",
    "elsewhere": "somewhere else",
    "target": "beside the best measure of nine",
}
"""Where the ninth expert starts, by the end of an arm's name."""


def data(ds: xr.Dataset) -> dict[str, Any]:
    """Return sizes, radii, powers and, by curve and start, the mean losses, slopes and their intervals."""
    curves: dict[str, Any] = {}
    sizes = ds["n"].values.astype(float)
    for curve in LEGENDS:
        for start in STARTS:
            if (arm := f"{curve}-{start}") not in ds["arm"]:
                continue
            loss = ds["to_best"].sel(arm=arm).transpose("exponent", "radius", "n", "replicate").values
            lines = [[told(sizes, errors) for errors in row] for row in loss]
            curves.setdefault(curve, {})[start] = lines
    powers, radii = (ds[name].values.tolist() for name in ("exponent", "radius"))
    return {"n": sizes.tolist(), "powers": powers, "radii": radii, "curves": curves, "printed": LEGENDS}


def told(sizes: np.ndarray, errors: np.ndarray) -> dict[str, Any]:
    """Return what is said of errors (n, replicate): geometric means, and the slope with its interval."""
    if not np.isfinite(errors).all() or not (errors > 0).all():
        return {"loss": [], "slope": "not finite"}
    fit = rates.fit(errors, over=sizes)
    value, interval = estimate(fit.slope, fit.low, fit.high)
    return {"loss": np.exp(np.log(errors).mean(axis=1)).round(6).tolist(), "slope": f"{value} {interval}"}


def page() -> str:
    """Return the picture as a piece of HTML."""
    known = json.dumps(data(moestat.load(RECORD)), separators=(",", ":"))
    template = (ROOT / "docs" / "_templates" / "readings.html").read_text(encoding="utf-8")
    return template.replace("DATA", known).replace("STARTS", json.dumps(STARTS))
