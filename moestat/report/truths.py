"""How typical the truths of a study are, as the paper's folder says it: its module ``typicality`` has ``said``.

It is computed when a report is made and kept in the cache, so that no result depends on it.
"""

from __future__ import annotations

import importlib

import xarray as xr

from moestat.report import all_settings
from moestat.runner.experiments import importable


def said(ds: xr.Dataset) -> dict[str, list[str]]:
    """Return what is said of the truths of a run, each text with the arms that share it, at the largest sample size.

    Empty for experiments of a paper without that module, and for a user's own.
    """
    package, _, experiment = str(ds.attrs.get("experiment", "")).rpartition(".")
    module = f"{package}.typicality"
    if not (package.startswith("moestat.papers.") and importable(module)):
        return {}
    of_cell = importlib.import_module(module).said
    size = {"n": int(ds["n"].max())} if "n" in ds.coords else {}
    texts: dict[str, list[str]] = {}
    for arm, settings in all_settings.of_dataset(ds).items():
        if text := of_cell(experiment, settings | size, int(ds.attrs["seed"])):
            texts.setdefault(text, []).append(arm)
    return texts
