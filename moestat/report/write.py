"""Everything that a run writes beside its data: tables, figures and the report; and what it shows in the terminal."""

from __future__ import annotations

import base64
import contextlib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from moestat import files
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge_sealed, judged
from moestat.claims.wording import Verdict, broad, holds, rule, tally, written
from moestat.errors import InputError
from moestat.report import csv_text, figures, style, tables, views
from moestat.report.grid import Shown, table
from moestat.rounding import number
from moestat.sentences import counted
from moestat.study import cells, contents, seal
from moestat.study.presets import figure_file
from moestat.study.spec import Claim, Figure, Study

NOT_IN_PAPER = ["start", "wider", "last half", "curvature", "loss/Fisher", "failed", "not conv."]
NOT_IN_PAPER += ["sd", "median"]
"""Columns that a page has no room for; the CSV files have all of them."""
IN_FILES = ["sd", "median", "replicates"]
"""Columns of means that a terminal has no room for."""
KEPT = ("rates", "parameters", "summaries")
"""The tables that are files of their own."""
ALL = (*KEPT, "statuses", "failures", "diagnostics")
ROWS, FIRST, SENTENCES = 20, 10, 3
"""Claims on the one screen that a run ends with, those on the first screen of the page, and reasons on the former."""
MOST_ROWS = 200
"""A longer table of means is cut in the page; the file holds all of it."""
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


@dataclass(frozen=True)
class Report:
    """What a run showed: data frames, and renderables for a terminal."""

    folder: Path
    tables: dict[str, pd.DataFrame]
    claims: pd.DataFrame
    """As in claims.csv, and the ``item`` and the ``cell`` in which each stands (:mod:`moestat.study.cells`)."""
    problems: list[str]
    """Figures that could not be drawn, and why."""
    runs: str
    """How many runs there are and how they ended."""
    bent: frozenset[str] = frozenset()
    """Claims on the slopes of lines that bend."""
    sentences: list[str] = field(default_factory=list)
    """The findings that hold."""
    paper: str = ""
    """How the items of the paper stand, which the claims are part of: what to type."""

    def answer(self) -> RenderableType:
        """Return one screen: printed, ours and verdict of each claim, what they say together, where the rest is."""
        if not len(self.claims):
            return Group(self.rates_table(ROWS), self.summary)
        rows = self.claims.to_dict("records")
        told = [_reason(row) for row in rows if math.isnan(row["estimate"])][:SENTENCES]
        primary = [row for row in rows if row["cell"]] or rows
        primary = [row for row in rows if row in primary or broad(row["verdict"]) == "not supported"][:ROWS]
        more = len(rows) - len(primary)
        notes = [f"and {counted(more, 'more claim')}: --verbose"] if more else []
        shown = views.claims(primary, bent=self.bent, notes=notes)
        spare = [
            "statement",
            "says",
            "cell",
            *([] if {views.when(row) for row in rows} - {"", "sealed"} else ["rule"]),
        ]
        told += [Text(re.sub("[`*]", "", views.sentence(rows, self.sentences)))] if self.sentences else []
        return Group(Shown(shown.without(spare)), *told, self.summary)

    def rates_table(self, most: int | None = None) -> Shown:
        """Return the rate table for a terminal, or its first rows; without rates, that of means."""
        rates, means = self.tables["rates"], self.tables["summaries"]
        made = views.rates(rates.assign(label=rates["arm"])) if len(rates) else views.summaries(means).without(IN_FILES)
        if most is not None and (more := len(made.rows) - most) > 0:
            notes = [*made.notes[:1], f"and {more} more rows: --verbose"]
            made = replace(made, rows=made.rows[:most], groups=made.groups[:most], notes=notes)
        return Shown(made, spare=("bound", *NOT_IN_PAPER) if len(rates) else ("MCSE",))

    def claims_table(self) -> RenderableType:
        """Return the claims table for a terminal: as many columns as fit, and the reasons."""
        if not len(self.claims):
            return Text("")
        shown = Shown(
            views.claims(self.claims.to_dict("records"), bent=self.bent, title="Claims"),
            spare=("statement", "predicted"),
        )
        rows = self.claims.to_dict("records")
        told = [row for row in rows if row["sealed"] == "edited" or row["reason"] not in ("", "across the edge")]
        return Group(shown, *map(_reason, told))

    @property
    def summary(self) -> Text:
        """The run in a few lines: how the runs ended, the verdicts, where the report is, what went wrong."""
        judged = "The study makes no claim."
        if len(self.claims):
            judged = f"Claims: {views.tally(self.claims.to_dict('records'))}."
        page = f"Report: {self.folder / 'report.html'}  (every table and reason: --verbose)"
        paper = [f"What it means for the paper: {self.paper}"] if self.paper else []
        return Text("\n".join([f"{self.runs}.", judged, *self.problems, *paper, page]))


def _reason(row: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{row['claim']}: ", "bold"), str(row["why"]))


def write_outputs(
    dataset: xr.Dataset, study: Study, preset: str, folder: Path, *, provenance: Mapping[str, Any]
) -> Report:
    """Judge the claims, fit the rates, draw the figures and write all of it to a folder.

    Written are ``claims.csv``; ``rates``, ``parameters`` and ``summaries`` as ``.csv`` and ``.tex``,
    those that have rows; each figure as ``.png`` and ``.pdf`` (the first is named ``figure``); and ``report.html``.
    Each file is put in place whole. A figure that cannot be drawn is named in the report, with the reason; the others
    are.
    """
    evidence = Evidence(dataset, filled(study, dataset), preset)
    judgements, changes = judge_sealed(evidence, seal.read(folder))
    made = {name: getattr(tables, name)(evidence) for name in ALL}
    places, name = {}, str(provenance.get("study", ""))
    with contextlib.suppress(InputError):  # a broken list of items is told where it is asked for
        places = cells.of_studies({name: study})
    stands = {claim.id: cells.where(places, name, claim.id) | {"hindsight": claim.hindsight} for claim in study.claims}
    claims = tables.claims(judgements)
    numbers: dict[str, int] = {}  # a line has one colour in all figures
    shown = [figure for figure in evidence.study.figures if figures.shown(evidence, figure)]
    drawn = [_draw(evidence, figure, folder, numbers) for figure in shown]
    notes = [*lines(provenance.get("notes")), *changes]
    texts = {"claims.csv": csv_text.dump(claims), "rates.csv": csv_text.dump(made["rates"])}
    for name, table_of in views.frames({name: made[name] for name in KEPT}):
        texts[f"{name}.csv"] = csv_text.dump(made[name])
        texts[f"{name}.tex"] = views.latex(table_of.without(NOT_IN_PAPER), label=f"tab:{name}")
    texts["report.html"] = page(evidence, made, judgements, stands, drawn, {**provenance, "notes": notes})
    for name, text in texts.items():
        files.write(folder / name, text.encode(), durable=False)
    counts = evidence.count()
    return Report(
        folder,
        made,
        claims.assign(**{key: [stands[id_][key] for id_ in claims["claim"]] for key in ("item", "cell", "hindsight")}),
        [f"Figure {figure.name} could not be drawn: {figure.problem}" for figure in drawn if figure.problem],
        f"{counts.replicates} runs: {counts}",
        bent=frozenset(verdict.claim for verdict in judgements if verdict.bend),
        sentences=findings(evidence.study, judgements),
        paper=_of_paper(study, stands.values()),
    )


def _draw(evidence: Evidence, figure: Figure, folder: Path, numbers: dict[str, int]) -> Drawn:
    """Draw a figure of a run and write its files."""
    name = figure_file(evidence.study, evidence.preset, figure.name)
    try:
        canvas, facts = figures.draw_evidence(evidence, figure, numbers)
    except figures.FigureError as error:
        return Drawn(name, problem=str(error))
    caption = figures.caption(evidence, figure, facts)
    title, source = figure.title or evidence.study.title, figures.origin(evidence)
    saved = style.save(canvas, title=title, description=caption, source=source)
    for ending, content in saved.items():
        files.write(folder / f"{name}.{ending}", content, durable=False)
    return Drawn(name, saved["png"], caption, inches=float(canvas.get_figwidth()))


# --- report.html, one file that loads nothing ------------------------------------------------------------------------


def page(
    evidence: Evidence,
    tables: Mapping[str, pd.DataFrame],
    verdicts: Sequence[Verdict],
    stands: Mapping[str, Mapping[str, str]],
    figures: Sequence[Drawn],
    provenance: Mapping[str, Any],
) -> str:
    """Return the page of a study at a preset.

    ``tables`` are its frames, ``stands`` has item, cell and hindsight of each claim.
    """
    study, preset = evidence.study, evidence.preset
    shown = dict(views.frames({**tables, "summaries": tables["summaries"].head(MOST_ROWS)}))
    if len(tables["summaries"]) > MOST_ROWS:
        more = f"The first {MOST_ROWS} of {len(tables['summaries'])} rows; summaries.csv holds all of them."
        shown["summaries"] = replace(shown["summaries"], notes=[*shown["summaries"].notes, more])
    there = [arm for arm in study.arms if arm.name in evidence.ds["arm"].values]
    arms = [(arm.name, arm.label, ", ".join(f"{k} = {_text(v)}" for k, v in arm.settings.items())) for arm in there]
    rows = sorted((v.row() | dict(stands[v.claim]) for v in verdicts), key=lambda row: not row["cell"])
    claims, primary = {claim.id: claim for claim in study.claims}, [row for row in rows if row["cell"]]
    told, bent = findings(study, verdicts), {verdict.claim for verdict in verdicts if verdict.bend}
    page = views.environment().get_template("report.html.j2")
    return page.render(
        study=study,
        preset=preset,
        answer=views.sentence(rows, told),
        short=[row | _shortly(row, bent) for row in (primary or rows)[:FIRST]],
        bent=views.BENT if bent else "",
        paper=_of_paper(study, stands.values()),
        scale=views.scale_of(study.scale_of(preset), study.paper),
        tally=tally(primary or rows),
        rules=views.of_rules(rows),
        sensitivity=counted(len(rows) - len(primary), "claim") if 0 < len(primary) < len(rows) else "",
        counts=evidence.count(),
        warnings=lines(provenance.get("notes")),
        findings=told,
        figures=figures,
        claims=[row | {"told": _told(row, claims[row["claim"]])} for row in rows],
        elsewhere=[claim.id for claim in study.claims if claim not in judged(study, preset)],
        tables=dict.fromkeys(tables, "") | {name: views.html(table) for name, table in shown.items()},
        design=design(evidence.ds, study, preset, lines(provenance.get("set"))),
        arms=views.html(table(("arm", "label", "settings"), arms, title="Arms")),
        about=dict.fromkeys(("study", "date", "moestat_version", "command"), "") | dict(provenance),
        provenance=_provenance(provenance),
    )


def _of_paper(study: Study, places: Iterable[Mapping[str, str]]) -> str:
    """Return the command that says how the items of the paper stand to which a study's claims belong; "" without."""
    items = list(dict.fromkeys(place["item"] for place in places if place["item"]))
    if not items or contents.read(study.paper) is None:
        return ""
    words = f'"{study.paper} {items[0]}"' if len(items) == 1 else study.paper
    return f"python -m moestat.study check {words}"


def _shortly(row: Mapping[str, Any], bent: Collection[str]) -> dict[str, str]:
    """Return the cells of a claim on the first screen of the page; an interval is not broken."""
    ours = views.estimated(row).replace(", ", ",\N{NO-BREAK SPACE}") + "*" * (row["claim"] in bent)
    return {"predicted": number(row["predicted"]), "ours": ours, "when": views.when(row)}


def findings(study: Study, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the texts of the findings whose verdicts are those of the run, in the order of the study.

    Text that is bound to verdicts cannot contradict them: a finding on a claim that was not judged does not hold.
    """
    words = {claim.id: "" for claim in study.claims} | {v.claim: v.verdict for v in verdicts}
    return [finding.text for finding in study.findings if holds(finding, words)]


def _told(row: Mapping[str, Any], claim: Claim) -> str:
    """Return what is said below a claim: whose it is, what the paper has, the rule and when it was written."""
    said = {"predicted": number(row["predicted"]), "rule": f"{rule(claim)} ({written(row)})"}
    parts = [row["source"], views.says(row), claim.because.rstrip(".")]
    said |= {"manipulation check": claim.check, "control": claim.control}
    parts += [f"{name} {text}" for name, text in said.items() if text]
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
    for head, name in (("Target", "target"), ("Starts", "start_policy")):
        texts = _statements(ds, name)
        rows += [(head, f"{text} ({', '.join(arms)})" if len(texts) > 1 else text) for text, arms in texts.items()]
    return rows


def _statements(ds: xr.Dataset, name: str) -> dict[str, list[str]]:
    """Return the texts of the cells under ``name``, each with the arms that share it, in order."""
    if name not in ds:
        return {str(ds.attrs[name]): []} if ds.attrs.get(name) else {}
    texts: dict[str, list[str]] = {}
    for arm in map(str, ds["arm"].values):
        here = ds[name].sel(arm=arm) if "arm" in ds[name].dims else ds[name]
        for text in {t: None for t in here.values.ravel().tolist() if isinstance(t, str) and t}:
            texts.setdefault(text, []).append(arm)
    return texts


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items())
    if isinstance(value, float) and math.isfinite(value):
        return number(value, 8)
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def lines(value: Any) -> list[str]:
    """Return the lines of a text, or of a list of texts, each once."""
    return list(dict.fromkeys(value.splitlines() if isinstance(value, str) else map(str, value or ())))


def _provenance(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for key, value in provenance.items():
        if key not in HIDDEN and not key.startswith("count_") and value not in ("", None, []):
            value = [f"{k} {v}" for k, v in value.items()] if isinstance(value, Mapping) else value
            told = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append((key.replace("_", " "), told))
    return rows


# --- a study that says nothing about what it shows -------------------------------------------------------------------

MOST_MEANS, MOST_PANELS = 12, 4


def filled(study: Study, ds: xr.Dataset) -> Study:
    """Return the study with means where it states neither rates nor means, and a figure where it states none."""
    changes: dict[str, Any] = {}
    summaries = study.summaries
    if not study.rates and not study.parameters and not summaries:
        changes["summaries"] = summaries = tables.numbers(ds)[:MOST_MEANS]
    if not study.figures and study.rates:
        changes["figures"] = [Figure.model_validate({"kind": "rates", "x": study.rates[0].over})]
    axes = [str(dim) for dim in ds["status"].dims if dim not in ("arm", "replicate")]
    if not study.figures and not study.rates and summaries and 1 <= len(axes) <= 2:
        x, hue = axes[0], axes[1] if len(axes) == 2 else "arm"
        wide = ds[x].dtype.kind in "fiu" and 0 < 10 * float(ds[x].min()) <= float(ds[x].max())
        names = summaries[:MOST_PANELS]
        panels = [{"variable": name, "title": str(ds[name].attrs.get("long_name", name))} for name in names]
        made = {"kind": "lines", "x": x, "hue": hue, "logx": wide, "logy": False, "panels": panels}
        caption = "Means over replicates with their 95 % intervals."
        changes["figures"] = [Figure.model_validate(made | {"caption": caption})]
    return study.model_copy(update=changes) if changes else study
