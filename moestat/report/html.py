"""``report.html``: a study as one page that loads nothing, reads like a short paper, and prints; and an index page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import Verdict, count_written, judged
from moestat.claims.wording import VERDICTS, rule, tally
from moestat.report import all_settings, design, performance, render, searches, stored_runs, svg, views
from moestat.report.findings import findings
from moestat.report.meaning import of_run, says
from moestat.report.span import printed
from moestat.rounding import estimate, number
from moestat.sentences import counted
from moestat.study.spec import Claim, Study

MOST_ROWS = 200
"""A longer table of means is cut in the page; the file holds all of it."""


@dataclass(frozen=True)
class Drawn:
    """A figure of the page: its SVG and captions, or the problem that kept it from being drawn."""

    name: str
    svg: bytes = b""
    caption: str = ""
    alternative: str = ""
    problem: str = ""
    notes: Sequence[str] = ()
    """What the caption has no room for."""

    @property
    def narrow(self) -> bool:
        """Whether the figure is as wide as one column."""
        return svg.is_narrow(self.svg)

    @property
    def picture(self) -> Markup:
        """The drawing in the page."""
        return svg.picture(self.svg, self.alternative)


@dataclass(frozen=True)
class Tables:
    """The data frames that a page shows."""

    rates: pd.DataFrame
    parameters: pd.DataFrame
    summaries: pd.DataFrame
    statuses: pd.DataFrame
    failures: pd.DataFrame
    diagnostics: pd.DataFrame
    searches: pd.DataFrame
    performance: pd.DataFrame


def report(
    evidence: Evidence,
    tables: Tables,
    verdicts: Sequence[Verdict],
    figures: Sequence[Drawn],
    provenance: Mapping[str, Any],
) -> str:
    """Return the page of a study at a preset."""
    ds, study, preset = evidence.ds, evidence.study, evidence.preset
    word_counts = list(tally((v.verdict for v in verdicts), (v.scale for v in verdicts)).items())
    judged_rows = [v.row() for v in verdicts]
    rules = views.of_rules(count_written(judged_rows))
    shown_rates = views.rates_by_loss(tables.rates)
    heads = {column for view in shown_rates for column in view.columns}
    content = {
        "study": study,
        "preset": preset,
        "name": str(provenance.get("study", "")),
        "date": _date(provenance.get("date", "")),
        "version": str(provenance.get("moestat_version", "")),
        "css": stylesheet(),
        "tally": word_counts,
        "answer": _answer(word_counts, rules),
        "rules": rules.removeprefix("; "),
        "mark_notes": views.notes_on(judged_rows),
        "warnings": _warnings(evidence, provenance),
        "design": design.parts(ds, study, preset, _overrides(provenance), tables.rates, tables.summaries),
        "arms": render.html(design.arms(ds, study)),
        "scale": of_run(study.scale_of(preset), study.paper),
        "figures": figures,
        "rates": Markup("").join(map(render.html, shown_rates)),
        "has_reference": "Fisher" in heads,
        "has_start": "start" in heads,
        "parameters": render.html(views.parameters(tables.parameters)) if len(tables.parameters) else "",
        "summaries": render.html(_summaries(tables.summaries)) if len(tables.summaries) else "",
        "performance": render.html(performance.view(tables.performance)) if len(tables.performance) else "",
        "claims": [_claim(study, verdict) for verdict in verdicts],
        "findings": findings(study, verdicts),
        "elsewhere": [c.id for c in study.claims if c not in judged(study, preset)],
        "failed": f"{evidence.count().replicates} runs: {evidence.count()}.",
        "statuses": render.html(views.statuses(tables.statuses)),
        "failures": render.html(views.failures(tables.failures)) if len(tables.failures) else "",
        "diagnostics": render.html(views.diagnostics(tables.diagnostics)) if len(tables.diagnostics) else "",
        "searches": render.html(searches.view(tables.searches)) if len(tables.searches) else "",
        "command": provenance.get("command", ""),
        "provenance": _provenance(provenance),
        "settings": render.html(all_settings.view(ds)) if all_settings.of_dataset(ds) else "",
    }
    content["strips"] = any(claim["strip"] for claim in content["claims"])
    content["diamonds"] = any('class="paper"' in claim["strip"] for claim in content["claims"])
    content["sections"] = _sections(content)
    return render.environment().get_template("report.html.j2").render(**content)


def stylesheet() -> Markup:
    """Return the style sheet of all pages."""
    return Markup(render.environment().get_template("style.css").render())


def index(out_root: Path) -> str:
    """Return a page that lists the studies and presets of an outputs folder, with their verdicts."""
    rows, links = [], {}
    runs = stored_runs.runs(out_root)
    for run in runs:
        ended = run.manifest.get("tally")
        ended = ended if isinstance(ended, Mapping) else {}
        counts = [str(ended[key]) if key in ended else "" for key in ("replicates", "failed")]
        verdicts = [str(n) if run.claims is not None else "" for n in run.verdicts().values()]
        row = (run.preset, str(run.manifest.get("title", "")), *verdicts, *counts, run.date, run.version)
        rows.append(row)
        if (run.folder / "report.html").is_file():
            links[row] = f"{run.study}/{run.preset}/report.html"
    columns = ("preset", "title", *VERDICTS, "runs", "not converged", "date", "version")
    groups = [run.study for run in runs]
    note = "Verdicts of a run at reduced scale, or on a stand-in, are about that run; not supported is then: not shown."
    shown = views.View("Studies and presets", columns, rows, groups, [note], numeric=frozenset(columns[2:]))
    judgements = [row for run in runs for row in run.claims or []]
    totals = tally((row["verdict"] for row in judgements), (row["scale"] for row in judgements))
    summary = f"{len(set(groups))} studies, {len(runs)} presets; verdicts: {views.in_words(totals)}"
    summary += views.of_rules(count_written(judgements))
    template = render.environment().get_template("index.html.j2")
    return template.render(css=stylesheet(), version="", summary=summary, table=render.html(shown, links=links))


def _sections(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    figures = "Figure" if len(content["figures"]) == 1 else "Figures"
    every = [
        ("question", "Aims", bool(content["study"].question)),
        ("findings", "What the simulation shows", bool(content["findings"])),
        ("figures", figures, bool(content["figures"])),
        ("design", "Design", True),
        ("rates", "Rates", bool(content["rates"])),
        ("parameters", "Parameter rates", bool(content["parameters"])),
        ("performance", "Performance", bool(content["performance"])),
        ("summaries", "Means", bool(content["summaries"])),
        ("claims", "Claims and verdicts", True),
        ("notes", "How to read it", bool(content["study"].notes)),
        ("failures", "Failures", True),
        ("searches", "Global searches", bool(content["searches"])),
        ("diagnostics", "Diagnostics", bool(content["diagnostics"])),
        ("provenance", "How to get these numbers again", True),
    ]
    return [(anchor, heading) for anchor, heading, there in every if there]


def _answer(tally: Sequence[tuple[str, int]], rules: str) -> str:
    total = sum(n for _, n in tally)
    if not total:
        return "The study states no claim for this preset."
    parts = ", ".join(f"{n} {_verb(word, n)} {word}" for word, n in tally)
    return f"Of {counted(total, 'claim')}, {parts}{rules}."


def _verb(wording: str, number: int) -> str:
    one, more = ("has", "have") if wording.startswith("no counterexample") else ("is", "are")
    return one if number == 1 else more


def _warnings(evidence: Evidence, provenance: Mapping[str, Any]) -> list[str]:
    counts = evidence.count()
    warnings = []
    if counts.missing:
        warnings.append(f"This run is not complete: {counts.missing} of {counts.replicates} runs are missing.")
    for key in ("accepted_stale", "notes"):
        value = provenance.get(key) or []
        warnings += value.splitlines() if isinstance(value, str) else [str(line) for line in value]
    return list(dict.fromkeys(warnings))


def _overrides(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that were replaced on the command line of the run."""
    lines = provenance.get("set") or []
    return dict(text.split("=", 1) for text in ([lines] if isinstance(lines, str) else lines) if "=" in text)


def _summaries(table: pd.DataFrame) -> views.View:
    shown = views.summaries(table.head(MOST_ROWS))
    if len(table) > MOST_ROWS:
        shown.notes.append(f"The first {MOST_ROWS} of {len(table)} rows; summaries.csv holds all of them.")
    return shown


def _claim(study: Study, verdict: Verdict) -> dict[str, Any]:
    claim = next(c for c in study.claims if c.id == verdict.claim)
    value, interval = estimate(verdict.estimate, verdict.ci_low, verdict.ci_high)
    return {
        "id": verdict.claim,
        "source": verdict.source,
        "statement": verdict.statement,
        "predicted": number(verdict.predicted),
        "rule": rule(claim),
        "estimate": value if verdict.ci_low == verdict.ci_high else f"{value} {interval}".strip(),
        "wording": views.marked(verdict.row()),
        "says": _says(study, claim, verdict),
        "scale": of_run(verdict.scale, study.paper),
        "why": verdict.why,
        "strip": svg.strip(verdict.ci_low, verdict.ci_high, claim.region, verdict.estimate, printed(verdict.predicted)),
    }


def _says(study: Study, claim: Claim, verdict: Verdict) -> str:
    """Say whose statement a claim is, and what it means for the paper."""
    group = f"; counts once with the group {verdict.group}" if verdict.group != verdict.claim else ""
    return says(verdict.origin, verdict.bearing, claim.because, study.paper) + group


def _provenance(provenance: Mapping[str, Any]) -> list[tuple[str, Any]]:
    hidden = {"command", "set", "settings", "title", "notes", "accepted_stale", "source", "paper"}
    rows = []
    for key, value in provenance.items():
        if key in hidden or key.startswith("count_") or value in ("", None, [], {}):
            continue
        if isinstance(value, Mapping):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        rows.append((key.replace("_", " "), str(value)))
    return rows


def _date(value: object) -> str:
    return str(value).replace("T", " ")[:16]


__all__ = ["Drawn", "Tables", "index", "report", "stylesheet"]
