"""What is said below a figure: what the marks mean, how many runs it rests on, where the estimator started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import xarray as xr

from moestat import sentences
from moestat.claims.evidence import Evidence
from moestat.claims.wording import AT_SCALE
from moestat.report.tables import label
from moestat.study.spec import Figure

if TYPE_CHECKING:
    from moestat.report.rate_panel import Facts

STATEMENTS = ("start_policy", "target")
"""Texts of the cells that every reader of a figure must know, where an experiment gives them."""


def references(facts: Sequence[Facts]) -> list[str]:
    """Return the names of the grey lines of all panels, each once."""
    return list(dict.fromkeys(name for fact in facts for name in fact.references))


def statements(ds: xr.Dataset, name: str, arms: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return the texts of the cells under ``name``, each with the arms that share it, in order."""
    if name not in ds:
        text = str(ds.attrs.get(name, "") or "")
        return {text: []} if text else {}
    array = ds[name]
    texts: dict[str, list[str]] = {}
    for arm in map(str, ds["arm"].values):
        if arms is not None and arm not in arms:
            continue
        here = array.sel(arm=arm).values.ravel().tolist() if "arm" in array.dims else array.values.ravel().tolist()
        for text in dict.fromkeys(str(t) for t in here if isinstance(t, str) and t):
            texts.setdefault(text, []).append(arm)
    return texts


def counted(evidence: Evidence, arms: Sequence[str]) -> str:
    """Return how many runs there are and how they ended: ``80 runs (10 replicates): 0 failed, 0 not converged``."""
    counts = evidence.count(arms)
    number = evidence.ds.sizes["replicate"]
    return f"{counts.replicates} runs ({sentences.counted(number, 'replicate')} per point): {counts}"


def footer(evidence: Evidence, facts: Sequence[Facts], limit: int = 3) -> list[str]:
    """Return the small print inside a figure, so that it says where it comes from when it stands alone."""
    ds, preset = evidence.ds, evidence.preset
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms))
    head = [str(ds.attrs[key]) for key in ("study", "moestat_version") if ds.attrs.get(key)]
    names = " \N{MIDDLE DOT} ".join([*head[:1], f"preset {preset}", *(f"moestat {v}" for v in head[1:])])
    lines = [f"{names} \N{MIDDLE DOT} {counted(evidence, arms)}."]
    policies = list(statements(ds, "start_policy", arms))
    lines += policies[:limit]
    if len(policies) > limit:
        lines.append(f"and {len(policies) - limit} more start policies, see the caption.")
    return lines


def caption(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> str:
    """Return the caption of a figure: the author's, then what the program knows."""
    ds, study, preset = evidence.ds, evidence.study, evidence.preset
    parts = [text for text in (figure.title.rstrip("."), figure.caption.rstrip(".")) if text]
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms)) or None
    shown = set().union(*(fact.parts for fact in facts)) if facts else set()
    if figure.kind == "rates":
        parts.append(
            "Points: geometric means over replicates with 95 % t-intervals (sizes of several arms are set apart a "
            "little); lines: mean of the slopes of the replicates, \N{PLUS-MINUS SIGN} half its 95 % t-interval"
        )
    elif figure.kind == "lines":
        means = "geometric means" if "geometric" in shown else "means"
        parts.append(f"{'Marks' if 'categories' in shown else 'Lines'}: {means} over replicates with 95 % t-intervals")
    elif figure.kind == "heatmap":
        parts.append("Cells: means over replicates, \N{PLUS-MINUS SIGN} half the 95 % t-interval where there is room")
    if "predicted" in shown:
        scale = study.scale_of(preset)
        own = f" for its own problem (this run is{AT_SCALE[scale]})" if scale != "paper" else ""
        parts.append(f"Dashed: the slope printed in the paper{own}, drawn through the centre of our points")
    if "reference" in shown:
        parts.append(f"Grey: {', '.join(references(facts))}")
    if "band" in shown:
        parts.append(
            "Shaded: lowest to highest loss of the near-minimisers, within v p of the least residual sum of squares"
        )
    if "start" in shown:
        parts.append("Dotted: the loss at the start of the optimiser")
    parts.append(counted(evidence, arms or [str(a) for a in ds["arm"].values]))
    parts += [f"Not trusted: {text.rstrip('.')}" for fact in facts for text in fact.untrusted]
    parts += dict.fromkeys(text.rstrip(".") for fact in facts for text in fact.unsettled)
    parts += [f"Left out: {text}" for fact in facts for text in fact.dropped]
    for name in STATEMENTS:
        said = statements(ds, name, arms)
        for text, of_arms in said.items():
            names = "; ".join(dict.fromkeys(label(ds, arm) for arm in of_arms))
            parts.append(f"{text.rstrip('.')} ({names})" if len(said) > 1 and names else text.rstrip("."))
    about = study.presets[preset].about.rstrip(".") if preset in study.presets else ""
    parts.append(f"Preset {preset}" + (f": {about}" if about else ""))
    return ". ".join(parts) + "."


def alternative(figure: Figure, facts: Sequence[Facts], titles: Sequence[str]) -> str:
    """Return the text that stands for a figure where it cannot be seen."""
    kinds = {"rates": "Log-log plot", "lines": "Line plot", "heatmap": "Heat map", "function": "Figure"}
    head = kinds[figure.kind] + (f" with {sentences.counted(len(facts), 'panel')}" if facts else "")
    parts = [f"{head}{': ' + figure.title.rstrip('.') if figure.title else ''}"]
    for title, fact in zip(titles, facts, strict=False):
        parts.append(": ".join(t for t in (title, "; ".join(fact.sentences)) if t))
    return ". ".join(parts) + "."
