"""The design of a study in the order of ADEMP: aims, data-generating mechanisms, estimands, methods, performance.

Morris, White and Crowther (2019), Using simulation studies to evaluate statistical methods. The aims are the study's
question, and stand before the design.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import xarray as xr

from moestat.report import captions, truths
from moestat.report.meaning import of_run
from moestat.report.views import View
from moestat.rounding import number
from moestat.study.spec import Study

Rows = list[tuple[str, str]]


def parts(
    ds: xr.Dataset, study: Study, preset: str, overrides: Mapping[str, str], rates: pd.DataFrame, means: pd.DataFrame
) -> list[tuple[str, Rows]]:
    """Return headings with their terms and descriptions.

    Parameters
    ----------
    ds : xarray.Dataset
    study : Study
    preset : str
    overrides : mapping
        Settings that were replaced on the command line.
    rates, means : DataFrame
        The tables of rates and of means, for the Monte Carlo error that the replicates give.
    """
    every = [
        ("Data-generating mechanisms", _mechanisms(ds, study, preset, overrides)),
        ("Estimands", _statements(ds, "target", "Target")),
        ("Methods", _statements(ds, "start_policy", "Starts")),
        ("Performance measures", _measures(ds, study, rates, means)),
    ]
    return [(heading, rows) for heading, rows in every if rows or heading == "Methods"]


def arms(ds: xr.Dataset, study: Study) -> View:
    """Return the table of the arms: what is compared."""
    names = [str(arm) for arm in ds["arm"].values]
    rows = [
        (arm.name, arm.label, ", ".join(f"{key} = {_value(value)}" for key, value in arm.settings.items()))
        for arm in study.arms
        if arm.name in names
    ]
    absent = [arm.name for arm in study.arms if arm.name not in names]
    notes = [f"Not part of this preset: {', '.join(absent)}."] if absent else []
    return View("Arms", ("arm", "label", "settings"), rows, notes=notes).without_empty_columns()


def _mechanisms(ds: xr.Dataset, study: Study, preset: str, overrides: Mapping[str, str]) -> Rows:
    chosen = study.presets.get(preset)
    rows = []
    if chosen is not None and chosen.about:
        rows.append((f"Preset {preset}", chosen.about))
    rows.append(("Scale", of_run(study.scale_of(preset), study.paper)))
    axes = [str(d) for d in ds["status"].dims if d not in ("arm", "replicate")]
    rows += [(f"Grid: {axis}", ", ".join(number(v) for v in ds[axis].values.tolist())) for axis in axes]
    settings = study.settings | (chosen.settings if chosen is not None else {})
    free = {key: value for key, value in overrides.items() if key not in axes}
    settings |= {key: f"{value} (set on the command line)" for key, value in free.items()}
    if settings:
        rows.append(("Settings", ", ".join(f"{key} = {_value(value)}" for key, value in settings.items())))
    return rows + _by_arms(truths.said(ds), "How typical the truth is")


def _statements(ds: xr.Dataset, name: str, called: str) -> Rows:
    return _by_arms(captions.statements_of(ds, name), called)


def _by_arms(texts: Mapping[str, list[str]], called: str) -> Rows:
    return [
        (called, f"{text} ({', '.join(arms)})" if len(texts) > 1 and arms else text) for text, arms in texts.items()
    ]


def _measures(ds: xr.Dataset, study: Study, rates: pd.DataFrame, means: pd.DataFrame) -> Rows:
    rows = []
    if fitted := list(dict.fromkeys(f"{rate.loss} over {rate.over}" for rate in study.rates)):
        rows.append(("Slopes of", ", ".join(fitted)))
    if study.summaries:
        rows.append(("Means of", ", ".join(study.summaries)))
    return [*rows, ("Replicates", f"{ds.sizes['replicate']} per cell{_errors(rates, means)}")]


def _errors(rates: pd.DataFrame, means: pd.DataFrame) -> str:
    """Say what Monte Carlo error the replicates give: the reason for their number."""
    said = []
    if len(rates):
        widths = ((rates["ci_high"] - rates["ci_low"]) / 2).dropna()
        if len(widths):
            said.append(
                f"half widths of slopes {number(widths.median(), 2)} (median), {number(widths.max(), 2)} (largest)"
            )
    if len(means):
        relative = (means["mcse"] / means["mean"].abs()).replace([math.inf], math.nan).dropna()
        if len(relative):
            said.append(f"standard errors of means {100 * relative.median():.2g} % of the mean (median)")
    return f"; the Monte Carlo error that this gives: {'; '.join(said)}" if said else ""


def _value(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return number(value, 8)
    return str(value)
