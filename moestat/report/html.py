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

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import Verdict, judged, written
from moestat.claims.wording import VERDICTS, broad, rule, tally
from moestat.report import items, views
from moestat.rounding import number
from moestat.runner.experiments import importable
from moestat.study import places
from moestat.study.spec import Claim, Study

MOST_ROWS = 200
"""A longer table of means is cut in the page; the file holds all of it."""
FILTERS = ("paper", "origin", "scale", "verdict")
"""The columns of the ledger that a reader can choose values of."""
HIDDEN = {"command", "set", "settings", "title", "notes", "source", "paper", "problem"}
"""What the provenance of a run has that the page says elsewhere, or not at all."""


@dataclass(frozen=True)
class Drawn:
    """A figure of the page: its PNG and caption, or the problem that kept it from being drawn."""

    name: str
    png: bytes = b""
    caption: str = ""
    problem: str = ""
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
    study, preset = evidence.study, evidence.preset
    shown = dict(views.frames({**tables, "summaries": tables["summaries"].head(MOST_ROWS)}))
    if len(tables["summaries"]) > MOST_ROWS:
        more = f"The first {MOST_ROWS} of {len(tables['summaries'])} rows; summaries.csv holds all of them."
        shown["summaries"].attrs["notes"].append(more)
    there = [arm for arm in study.arms if arm.name in evidence.ds["arm"].values]
    arms = [(arm.name, arm.label, ", ".join(f"{k} = {_text(v)}" for k, v in arm.settings.items())) for arm in there]
    rows, claims = [verdict.row() for verdict in verdicts], {claim.id: claim for claim in study.claims}
    page = views.environment().get_template("report.html.j2")
    return page.render(
        study=study,
        preset=preset,
        scale=views.scale_of(study.scale_of(preset), study.paper),
        tally=tally((v.verdict for v in verdicts), (v.scale for v in verdicts)),
        rules=views.of_rules(rows),
        counts=evidence.count(),
        warnings=lines(provenance.get("notes")),
        findings=findings(study, verdicts),
        figures=figures,
        claims=[row | {"told": _told(row, claims[row["claim"]])} for row in rows],
        elsewhere=[claim.id for claim in study.claims if claim not in judged(study, preset)],
        tables=dict.fromkeys(tables, "") | {name: views.html(table) for name, table in shown.items()},
        design=design(evidence.ds, study, preset, lines(provenance.get("set"))),
        arms=views.html(views.table(("arm", "label", "settings"), arms, title="Arms")),
        about=dict.fromkeys(("study", "date", "moestat_version", "command"), "") | dict(provenance),
        provenance=_provenance(provenance),
    )


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


def _told(row: Mapping[str, Any], claim: Claim) -> str:
    """Return what is said below a claim: whose it is, what the paper has, the rule and when it was written."""
    when = views.RULES[written(row)]
    said = {"predicted": number(row["predicted"]), "rule": rule(claim) + (f" ({when})" if when else "")}
    parts = [row["source"], views.says(row), claim.because.rstrip(".")]
    parts += [f"{name} {text}" for name, text in said.items() if text]
    parts += [f"counts once with the group {row['group']}"] if row["group"] != row["claim"] else []
    return "; ".join(filter(None, parts))


def design(ds: xr.Dataset, study: Study, preset: str, overrides: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return how a study was made, in terms and descriptions; ``overrides`` are settings of the command line."""
    chosen = study.presets.get(preset)
    rows = [(f"Preset {preset}", chosen.about)] if chosen is not None and chosen.about else []
    axes = [str(d) for d in ds["status"].dims if d not in ("arm", "replicate")]
    rows += [(f"Grid: {axis}", ", ".join(number(v) for v in ds[axis].values.tolist())) for axis in axes]
    rows.append(("Replicates", f"{ds.sizes['replicate']} per cell"))
    shared = study.settings | (chosen.settings if chosen else {})
    settings = [f"{key} = {_text(value)}" for key, value in shared.items()]
    settings += [f"{text.replace('=', ' = ', 1)} (set on the command line)" for text in overrides]
    rows += [("Settings", ", ".join(settings))] if settings else []
    said = {"How typical the truth is": _typicality(ds)}
    said |= {head: _statements(ds, name) for head, name in (("Target", "target"), ("Starts", "start_policy"))}
    for head, texts in said.items():
        whole = len(texts) == 1
        rows += [(head, text if whole or not arms else f"{text} ({', '.join(arms)})") for text, arms in texts.items()]
    return rows


def _statements(ds: xr.Dataset, name: str) -> dict[str, list[str]]:
    """Return the texts of the cells under ``name``, each with the arms that share it, in order."""
    if name not in ds:
        return {str(ds.attrs[name]): []} if ds.attrs.get(name) else {}
    texts: dict[str, list[str]] = {}
    for arm in map(str, ds["arm"].values):
        here = ds[name].sel(arm=arm) if "arm" in ds[name].dims else ds[name]
        for text in dict.fromkeys(t for t in here.values.ravel().tolist() if isinstance(t, str) and t):
            texts.setdefault(text, []).append(arm)
    return texts


def _typicality(ds: xr.Dataset) -> dict[str, list[str]]:
    """Return what ``said`` in the module ``typicality`` of the paper's folder, if it has one, tells of drawn truths."""
    package, _, experiment = places.now(str(ds.attrs.get("experiment", ""))).rpartition(".")
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


def lines(value: Any) -> list[str]:
    """Return the lines of a text, or of a list of texts, each once."""
    return list(dict.fromkeys(value.splitlines() if isinstance(value, str) else map(str, value or ())))


def _provenance(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = {key: value for key, value in provenance.items() if key not in HIDDEN and not key.startswith("count_")}
    told |= {key: [f"{k} {v}" for k, v in value.items()] for key, value in told.items() if isinstance(value, Mapping)}
    return [
        (key.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for key, value in told.items()
        if value not in ("", None, [])
    ]


# --- the ledger ------------------------------------------------------------------------------------------------------


def ledger(table: pd.DataFrame) -> str:
    """Return the ledger as a page with search and filters; a claim has the anchor ``STUDY:ID``.

    Without JavaScript it is the whole table, every reason open to read; the script only hides rows.
    """
    records = table.to_dict("records")
    order = {word: place for place, word in enumerate((*items.WORDS, *items.SCALES, *items.ORIGINS))}
    rules = views.of_rules(records)
    return (
        views.environment()
        .get_template("ledger.html.j2")
        .render(
            rows=[row | _shown(row) for row in records],
            filters=[
                (name, sorted(set(table[name].astype(str)), key=lambda v: (order.get(v, 99), v))) for name in FILTERS
            ],
            rules=f"{rules[:1].upper()}{rules[1:]}." if rules else "No claim has been judged yet.",
        )
    )


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "because": row["because"].rstrip("."),
        "predicted": number(row["predicted"]),
        "estimate": views.estimated(row),
        "sealed": views.RULES[written(row)] if row["verdict"] in VERDICTS else "",
        "why": row["why"] or ("There is no run yet." if row["verdict"] == items.NOT_RUN else ""),
    }
