"""Numbers of a tiny replicate of every experiment, kept in ``stored_numbers.json``: they move with a new VERSION alone.

``python tests/stored_numbers.py`` writes the entries of new experiments and of those whose ``VERSION`` was raised, and
no other.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_studies import STUDIES, WRITTEN, hurry, shrink

from moestat.experiment import Cell
from moestat.runner import experiments, plan
from moestat.threads import one_thread

FILE = Path(__file__).with_suffix(".json")
KEPT = 4
"""Values of a variable that are kept, its first ones, beside the mean of all."""
DIGITS = 12
SMALL = {"n": 60, "d": 1, "n_true": 3, "n_fitted": 4, "max_iterations": 6, "evaluation_log2": 8}
PROTOCOL = {"truth_gate": "softmax", "fitted_gate": "softmax", "estimator": "sgd", "epochs": 2}
OTHER_CELLS = {
    "regression": [
        SMALL | {"expert": "gelu", "regime": "sparse", "truths": 2},
        SMALL | {"expert": "relu", "search": "global", "search_effort": 0.01},
        SMALL | PROTOCOL | {"superfluous": "copy", "scores": "L3", "batch_size": 0},
        SMALL | PROTOCOL | {"expert": "linear"},
    ],
}
"""In place of the first and the last cell of a study: every estimator, and no target that is a search cut off."""
LEFT_OUT = {
    "it is rounding itself": ("attention_is_moe.*ulps", "attention_is_moe.share"),
    "it is divided by an eigenvalue that is zero but for rounding": ("identifiability.gap",),
    "a search from few starts decides it": (
        *("tail_frequency.constant", "tail_frequency.mean_error"),
        *(f"settled_argmin.{name}" for name in ("L?", "quotient", "rmse", "*_near", "*_tenfold", "*gain", "apart")),
        *(f"settled_argmin.{name}" for name in ("settled", "same_minimum", "box_hits", "iterations", "status")),
    ),
    "the information matrix is all but singular": ("regression.fisher_L?", "regression.fisher_matched_sum"),
    "it is the rest of a fit that has converged": ("softmax_gaussian.decrement", "softmax_gaussian.gradient"),
}
"""Why a variable is not kept, and which ones: on another processor they are other ones."""
TOLERANCE = 1e-9
LOOSER = {
    "trained in single precision": (
        1e-4,
        *("attention_lm", "compete_lm", "compete_readings", "mot_images", "mot_text"),
        *("task_construction", "task_knockout", "task_second", "task_training"),
    ),
    "a fit stops at a gradient of 1e-8, where half of the digits are settled": (1e-6, "softmax_gaussian"),
}
"""Why less than that is asked of an experiment, how much, and of which ones."""


def modules() -> dict[str, str]:
    """Return name -> import path of every experiment of moestat that a study runs."""
    known = experiments.own_experiments() | {"moestat.printed": "moestat.printed"}
    return {name: module for name, module in known.items() if name in WRITTEN}


def tiny(name: str) -> list[dict[str, Any]]:
    """Return the first and the last cell of the first study of an experiment, shrunk, or those named above."""
    if name in OTHER_CELLS:
        return [{"seed": 1, "arm": "arm", "coords": {}, "settings": settings} for settings in OTHER_CELLS[name]]
    made = shrink(plan.make(STUDIES[WRITTEN[name]], "quick"))
    cells = list({planned.digest: planned.cell for planned in made.cells}.values())
    cells = cells if len(cells) < 2 else [cells[0], cells[-1]]
    return [{"seed": c.study_seed, "arm": c.arm, "coords": dict(c.coords), "settings": c.settings} for c in cells]


def tolerance_of(name: str) -> float:
    """Return the relative difference that an experiment's numbers may have on another processor."""
    return next((least for least, *names in LOOSER.values() if name in names), TOLERANCE)


def computed(module_name: str, place: Mapping[str, Any]) -> dict[str, Any]:
    """Return variable -> shape, mean and first values of replicate 0 of a cell, but for texts and times."""
    module = importlib.import_module(module_name)
    settings = module.Settings(**place["settings"]).model_dump(mode="json")
    cell = Cell(module_name, place["seed"], place["arm"], place["coords"], settings)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as cache, one_thread():
        hurry(patch)
        patch.setenv("MOESTAT_CACHE", cache)
        ds = module.run(cell, [0], device="cpu")
    found = {}
    for key, array in sorted(ds.data_vars.items()):
        left_out = any(fnmatch(f"{module_name.rpartition('.')[2]}.{key}", p) for ps in LEFT_OUT.values() for p in ps)
        if array.dtype.kind in "fiub" and not left_out and not array.attrs.get("measurement"):
            values = array.values.astype(np.float64)
            finite = values[np.isfinite(values)]
            mean = finite.mean() if finite.size else np.nan
            found[key] = {"shape": list(values.shape), "values": [_short(v) for v in (mean, *values.ravel()[:KEPT])]}
    return found


def _short(value: float) -> float | str:
    """Return a number as JSON keeps it."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else str(value)


def rewritten(kept: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries that are to be written: of experiments that are new, or of a higher version than is kept."""
    for name, module_name in modules().items():
        version = importlib.import_module(module_name).VERSION
        if version > kept.get(name, {}).get("version", 0):
            places = [place | {"variables": computed(module_name, place)} for place in tiny(name)]
            yield name, {"version": version, "cells": places}


def main() -> None:
    """Write what is due."""
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    due = dict(rewritten(kept))
    everything = sorted((kept | due).items())
    lines = [f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}" for name, entry in everything]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"written: {', '.join(due) or 'nothing, for no VERSION was raised'}", file=sys.stderr)


if __name__ == "__main__":
    main()
