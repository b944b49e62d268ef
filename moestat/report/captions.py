"""What is said below a figure: what the marks mean, how many runs it rests on, where the estimator started."""

from __future__ import annotations

import re
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


MOST_WORDS = 120
"""Of a caption: what does not fit stands in the report, below the figure."""


def statements_of(ds: xr.Dataset, name: str, arms: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return :func:`statements` as they are printed: counts with their noun, one or several."""
    plain: dict[str, list[str]] = {}
    for text, of_arms in statements(ds, name, arms).items():
        plain.setdefault(_SEVERAL.sub(_noun, text), []).extend(of_arms)
    return plain


_SEVERAL = re.compile(r"\b(\d+) ([\w-]+)\(s\)")


def _noun(match: re.Match[str]) -> str:
    return sentences.counted(int(match.group(1)), match.group(2))


def origin(evidence: Evidence) -> str:
    """Return what a figure is of, in few words: study, preset, version."""
    ds = evidence.ds
    version = f"moestat {ds.attrs['moestat_version']}" if ds.attrs.get("moestat_version") else ""
    return ", ".join(part for part in (str(ds.attrs.get("study", "")), f"preset {evidence.preset}", version) if part)


def footer(evidence: Evidence, facts: Sequence[Facts], limit: int = 3) -> list[str]:
    """Return the small print inside a figure, so that it says where it comes from when it stands alone."""
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms))
    lines = [f"{origin(evidence)} \N{MIDDLE DOT} {counted(evidence, arms)}."]
    policies = list(statements_of(evidence.ds, "start_policy", arms))
    lines += policies[:limit]
    if len(policies) > limit:
        lines.append(f"And {sentences.counted(len(policies) - limit, 'other rule')} for the start: see the report.")
    return lines


def caption(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> str:
    """Return the caption of a figure: the author's, then what the marks mean and what it rests on.

    It has at most ``MOST_WORDS`` words; :func:`notes` are the rest.
    """
    return _parts(evidence, figure, facts)[0]


def notes(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> list[str]:
    """Return what the report says below the caption: what is not to be trusted, what is left out, where fits start."""
    return _parts(evidence, figure, facts)[1]


def _parts(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> tuple[str, list[str]]:
    said = [text for text in (figure.title.rstrip("."), figure.caption.rstrip(".")) if text]
    said += [*_marks(evidence, figure, facts)]
    rest = _rest(evidence, facts)
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms))
    said.append(counted(evidence, arms or [str(a) for a in evidence.ds["arm"].values]))
    said.append(origin(evidence))
    short = ". ".join(said) + "."
    left: list[str] = []
    for text in rest:  # a short remark is read where the figure is
        longer = f"{short} {text}"
        if not left and len(longer.split()) <= MOST_WORDS:
            short = longer
        else:
            left.append(text)
    return short, left


def _marks(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> list[str]:
    """Say what the marks of a figure are, in as few words as do; what the author says is not said again."""
    study, preset, parts = evidence.study, evidence.preset, []
    told = figure.caption.lower()
    shown = set().union(*(fact.parts for fact in facts)) if facts else set()
    if figure.kind == "rates":
        slopes = "numbers" if len(facts) > 1 else "numbers in the legend"
        points = "" if "geometric mean" in told else "Points: geometric means over replicates with 95 % t-intervals; "
        said = f"{points}{slopes}: mean slopes \N{PLUS-MINUS SIGN} half their 95 % t-intervals"
        parts.append(said[0].upper() + said[1:])
    elif figure.kind == "lines" and "95 %" not in told:
        means = "geometric means" if "geometric" in shown else "means"
        parts.append(f"{'Marks' if 'categories' in shown else 'Lines'}: {means} over replicates with 95 % t-intervals")
    elif figure.kind == "heatmap":
        parts.append("Cells: means over replicates, \N{PLUS-MINUS SIGN} half the 95 % t-interval where there is room")
    if "predicted" in shown and "dashed: " not in told:
        scale = study.scale_of(preset)
        own = f" for its own problem (this run is{AT_SCALE[scale]})" if scale != "paper" else ""
        parts.append(f"Dashed: the slope printed in the paper{own}")
    if "reference" in shown and figure.kind == "lines":
        parts.append(f"Grey: {', '.join(references(facts))}")
    if "deviations" in shown:
        parts.append("Thin bars with caps: one standard deviation over replicates")
    if "coincide" in shown:
        parts.append("Dashes over a line: two lines coincide")
    return parts


def _rest(evidence: Evidence, facts: Sequence[Facts]) -> list[str]:
    """Return sentences on what is not trusted, missing or left out, and on what the fits are."""
    ds, study, preset = evidence.ds, evidence.study, evidence.preset
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms)) or None
    shown = set().union(*(fact.parts for fact in facts)) if facts else set()
    letters = [f"({chr(97 + number)}) " if len(facts) > 1 else "" for number in range(len(facts))]
    parts = []
    if "band" in shown:
        parts.append(
            "Shaded: lowest to highest loss of the near-minimisers, within v p of the least residual sum of squares"
        )
    for head, kind in (("Not trusted", "untrusted"), ("Bent", "bent")):
        parts += _grouped(
            head, [(at, text) for at, fact in zip(letters, facts, strict=True) for text in getattr(fact, kind)]
        )
    parts += dict.fromkeys(
        f"{at}{text.rstrip('.')}" for at, fact in zip(letters, facts, strict=True) for text in fact.unsettled
    )
    parts += [f"Left out: {at}{text}" for at, fact in zip(letters, facts, strict=True) for text in fact.dropped]
    for name in STATEMENTS:
        told = statements_of(ds, name, arms)
        for text, of_arms in told.items():
            names = _called(ds, of_arms, arms)
            parts.append(f"{text.rstrip('.')} ({names})" if len(told) > 1 and names else text.rstrip("."))
    about = study.presets[preset].about.rstrip(".") if preset in study.presets else ""
    return [f"{part}." for part in [*parts, *([f"Preset {preset}: {about}"] if about else [])]]


def _grouped(head: str, texts: Sequence[tuple[str, str]]) -> list[str]:
    """Return ``head: (a) name, (b) name: reason``, one text for each reason."""
    by_reason: dict[str, list[str]] = {}
    for at, text in texts:
        name, _, reason = text.partition(": ")
        by_reason.setdefault(reason.rstrip("."), []).append(at + name)
    return [f"{head}: {'; '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _called(ds: xr.Dataset, arms: Sequence[str], among: Sequence[str] | None) -> str:
    """Return the labels of arms, and the names of those that share theirs with an arm that is not meant."""
    others = [str(arm) for arm in (ds["arm"].values if among is None else among) if str(arm) not in arms]
    taken = {label(ds, arm) for arm in others}
    return "; ".join(dict.fromkeys(arm if label(ds, arm) in taken else label(ds, arm) for arm in arms))


def alternative(figure: Figure, facts: Sequence[Facts], titles: Sequence[str]) -> str:
    """Return the text that stands for a figure where it cannot be seen."""
    kinds = {"rates": "Log-log plot", "lines": "Line plot", "heatmap": "Heat map", "function": "Figure"}
    head = kinds[figure.kind] + (f" with {sentences.counted(len(facts), 'panel')}" if facts else "")
    parts = [f"{head}{': ' + figure.title.rstrip('.') if figure.title else ''}"]
    for title, fact in zip(titles, facts, strict=False):
        parts.append(": ".join(t for t in (title, "; ".join(fact.sentences)) if t))
    return ". ".join(parts) + "."
