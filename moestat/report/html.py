"""The two pages, each one file that loads nothing: ``report.html`` of a run, and the ledger of all claims."""

from __future__ import annotations

import base64
import fnmatch
import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr
from markupsafe import Markup

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import Verdict, count_written, judged, written
from moestat.claims.wording import VERDICTS, broad, rule, tally
from moestat.report import items, render, views
from moestat.rounding import number
from moestat.runner.experiments import importable
from moestat.sentences import counted
from moestat.study import seal
from moestat.study.spec import Study

MOST_ROWS = 200
"""A longer table of means is cut in the page; the file holds all of it."""
FILTERS = ("paper", "origin", "bearing", "scale", "verdict", "preset")
"""The columns of the ledger that a reader can choose values of."""


@dataclass(frozen=True)
class Drawn:
    """A figure of the page: its PNG and captions, or the problem that kept it from being drawn."""

    name: str
    png: bytes = b""
    caption: str = ""
    problem: str = ""
    notes: Sequence[str] = ()
    """What the caption has no room for."""
    inches: float = 0.0

    @property
    def data(self) -> str:
        """The picture as it stands in the page."""
        return base64.b64encode(self.png).decode("ascii")


# --- the report of a run ---------------------------------------------------------------------------------------------


def report(
    evidence: Evidence,
    tables: Mapping[str, pd.DataFrame],
    verdicts: Sequence[Verdict],
    figures: Sequence[Drawn],
    provenance: Mapping[str, Any],
) -> str:
    """Return the page of a study at a preset; ``tables`` are the frames of a run by their names."""
    study, preset, counts = evidence.study, evidence.preset, evidence.count()
    shown = dict(views.frames({**tables, "summaries": tables["summaries"].head(MOST_ROWS)}))
    if len(tables["summaries"]) > MOST_ROWS:
        more = f"The first {MOST_ROWS} of {len(tables['summaries'])} rows; summaries.csv holds all of them."
        shown["summaries"].attrs["notes"].append(more)
    there = [arm for arm in study.arms if arm.name in evidence.ds["arm"].values]
    arms = [(arm.name, arm.label, ", ".join(f"{k} = {_text(v)}" for k, v in arm.settings.items())) for arm in there]
    page = render.environment().get_template("report.html.j2")
    return page.render(
        css=stylesheet(),
        study=study,
        preset=preset,
        scale=views.scale_of(study.scale_of(preset), study.paper),
        tally=tally((v.verdict for v in verdicts), (v.scale for v in verdicts)),
        rules=views.of_rules(count_written(v.row() for v in verdicts)).removeprefix("; "),
        counts=counts,
        warnings=_lines(provenance.get("notes")),
        findings=findings(study, verdicts),
        figures=figures,
        claims=[_claim(study, verdict) for verdict in verdicts],
        elsewhere=[claim.id for claim in study.claims if claim not in judged(study, preset)],
        tables=dict.fromkeys(tables, "") | {name: render.html(table) for name, table in shown.items()},
        design=design(evidence.ds, study, preset, _lines(provenance.get("set"))),
        arms=render.html(render.table(("arm", "label", "settings"), arms, title="Arms")),
        about=dict.fromkeys(("study", "date", "moestat_version", "command"), "") | dict(provenance),
        provenance=_provenance(provenance),
    )


def stylesheet() -> Markup:
    """Return the style sheet of all pages."""
    return Markup(render.environment().get_template("style.css").render())


def findings(study: Study, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the texts of the findings whose verdicts are those of the run, in the order of the study.

    Text that is bound to verdicts cannot contradict them: a finding on a claim that was not judged does not hold.
    """
    words = {v.claim: {v.verdict, broad(v.verdict)} for v in verdicts}
    claims = [claim.id for claim in study.claims]

    def holds(pattern: str, word: str) -> bool:
        matching = fnmatch.filter(claims, pattern)
        return bool(matching) and all(word in words.get(claim, ()) for claim in matching)

    return [f.text for f in study.findings if all(holds(pattern, word) for pattern, word in f.when.items())]


def _claim(study: Study, verdict: Verdict) -> dict[str, Any]:
    claim = next(c for c in study.claims if c.id == verdict.claim)
    row = verdict.row()
    parts = [views.says(row), claim.because.rstrip(".")]
    parts += [f"counts once with the group {verdict.group}"] if verdict.group != verdict.claim else []
    when = views.RULES[written(row)]
    return row | {
        "says": "; ".join(filter(None, parts)),
        "rule": rule(claim) + (f" ({when})" if when else ""),
        "predicted": number(verdict.predicted),
        "estimate": views.estimated(row),
        "strip": strip(row, claim.region),
    }


def design(ds: xr.Dataset, study: Study, preset: str, overrides: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return how a study was made, in terms and descriptions; ``overrides`` are settings of the command line."""
    chosen = study.presets.get(preset)
    rows = [(f"Preset {preset}", chosen.about)] if chosen is not None and chosen.about else []
    axes = [str(d) for d in ds["status"].dims if d not in ("arm", "replicate")]
    rows += [(f"Grid: {axis}", ", ".join(number(v) for v in ds[axis].values.tolist())) for axis in axes]
    rows.append(("Replicates", f"{ds.sizes['replicate']} per cell"))
    settings = [
        f"{key} = {_text(value)}" for key, value in (study.settings | (chosen.settings if chosen else {})).items()
    ]
    settings += [f"{text.replace('=', ' = ', 1)} (set on the command line)" for text in overrides]
    rows += [("Settings", ", ".join(settings))] if settings else []
    said = {"How typical the truth is": typicality(ds)}
    said |= {head: statements(ds, name) for head, name in (("Target", "target"), ("Starts", "start_policy"))}
    for head, texts in said.items():
        shared = len(texts) == 1
        rows += [(head, text if shared or not arms else f"{text} ({', '.join(arms)})") for text, arms in texts.items()]
    return rows


def statements(ds: xr.Dataset, name: str) -> dict[str, list[str]]:
    """Return the texts of the cells under ``name``, each with the arms that share it, in order."""
    if name not in ds:
        return {str(ds.attrs[name]): []} if ds.attrs.get(name) else {}
    texts: dict[str, list[str]] = {}
    for arm in map(str, ds["arm"].values):
        here = ds[name].sel(arm=arm) if "arm" in ds[name].dims else ds[name]
        for text in dict.fromkeys(t for t in here.values.ravel().tolist() if isinstance(t, str) and t):
            texts.setdefault(text, []).append(arm)
    return texts


def typicality(ds: xr.Dataset) -> dict[str, list[str]]:
    """Return what the paper's folder says of the truths of a run, each text with the arms that share it.

    Its module ``typicality`` has ``said``; empty for a paper without it, and for a user's own experiment.
    """
    package, _, experiment = seal.now(str(ds.attrs.get("experiment", ""))).rpartition(".")
    module = f"{package}.typicality"
    if not (package.startswith("studies.") and importable(module)):
        return {}
    of_cell = importlib.import_module(module).said
    size = {"n": int(ds["n"].max())} if "n" in ds.coords else {}
    texts: dict[str, list[str]] = {}
    for arm, settings in json.loads(str(ds.attrs.get("settings", "{}"))).items():
        if text := of_cell(experiment, settings | size, int(ds.attrs["seed"])):
            texts.setdefault(text, []).append(arm)
    return texts


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, float) and math.isfinite(value):
        return number(value, 8)
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _lines(value: Any) -> list[str]:
    return list(dict.fromkeys(value.splitlines() if isinstance(value, str) else map(str, value or ())))


def _provenance(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    hidden = {"command", "set", "settings", "title", "notes", "source", "paper"}
    told = {key: value for key, value in provenance.items() if key not in hidden and not key.startswith("count_")}
    told |= {key: [f"{k} {v}" for k, v in value.items()] for key, value in told.items() if isinstance(value, Mapping)}
    return [
        (key.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for key, value in told.items()
        if value not in ("", None, [])
    ]


def strip(row: Mapping[str, Any], region: tuple[float, float], width: int = 380) -> Markup:
    """Return a small drawing of an interval beside the region of its rule; empty where there is no interval.

    It only repeats what the text says, so it is hidden from screen readers.
    """
    low, high, value = (float(row[key]) for key in ("ci_low", "ci_high", "estimate"))
    if not all(map(math.isfinite, (low, high, value))):
        return Markup("")
    marks = [mark for mark in (low, high, *region) if math.isfinite(mark)]
    room = 0.18 * (max(marks) - min(marks)) or max(abs(low), 1.0) * 0.2
    left, right = min(marks) - room, max(marks) + room  # an infinite end of the region lies outside

    def at(v: float) -> float:
        return round(4 + (width - 8) * (min(max(v, left), right) - left) / (right - left), 1)

    ends = [(at(edge), f"{edge:g}".replace("-", "\N{MINUS SIGN}")) for edge in region if math.isfinite(edge)]
    template = render.environment().get_template("strip.svg.j2")
    return Markup(
        template.render(
            width=width, ends=ends, low=at(low), high=at(high), value=at(value), a=at(region[0]), b=at(region[1])
        )
    )


# --- the ledger ------------------------------------------------------------------------------------------------------


def ledger(table: pd.DataFrame) -> str:
    """Return the ledger as a page with search and filters; a claim has the anchor ``STUDY:ID``.

    Without JavaScript it is the whole table, every reason open to read; the script only hides and orders rows.
    """
    records = table.to_dict("records")
    known = [*items.WORDS, *items.BEARINGS, *items.SCALES, *items.ORIGINS]
    order = {word: place for place, word in enumerate(known)}
    judged = count_written(records)
    rules = "No claim has been judged yet."
    if sum(judged.values()):
        rules = f"{counted(sum(judged.values()), 'verdict')}{views.of_rules(judged)}."
    page = render.environment().get_template("ledger.html.j2")
    return page.render(
        css=stylesheet(),
        rows=[row | _shown(row) for row in records],
        filters=[(name, sorted(set(table[name].astype(str)), key=lambda v: (order.get(v, 99), v))) for name in FILTERS],
        words=items.WORDS,
        rules=rules,
        counts=items.headline(table).to_dict("records"),
        not_run=items.NOT_RUN,
    )


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "because": row["because"].rstrip("."),
        "group": "" if row["group"] in (row["claim"], f"{row['study']}/{row['claim']}") else row["group"],
        "predicted": number(row["predicted"]),
        "estimate": views.estimated(row),
        "number": "" if pd.isna(row["estimate"]) else repr(float(row["estimate"])),
        "strip": strip(row, (row["low"], row["high"]), width=200),
        "sealed": views.RULES[written(row)] if row["verdict"] in VERDICTS else "",
    }
