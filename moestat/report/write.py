"""Everything that a run writes beside its data: tables, figures and the report; and what it shows in the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from moestat import files
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge_sealed
from moestat.report import captions, csv_text, figures, html, style, tables, views
from moestat.report.html import Drawn
from moestat.report.terminal import Shown
from moestat.study import seal
from moestat.study.presets import figure_file
from moestat.study.spec import Figure, Study

NOT_IN_PAPER = (
    *("start", "OLS", "WLS", "bootstrap", "last half", "curvature", "loss/Fisher", "failed", "not conv."),
    *("sd", "median"),
)
"""Columns that a page has no room for; the CSV files have all of them."""
IN_FILES = ("sd", "median", "replicates")
"""Columns of means that a terminal has no room for."""
KEPT = ("rates", "parameters", "summaries")
"""The tables that are files of their own."""
ALL = (*KEPT, "statuses", "failures", "diagnostics")
ROWS, SENTENCES = 20, 3
"""Claims and findings on the one screen that a run ends with."""


@dataclass(frozen=True)
class Report:
    """What a run showed: data frames, and renderables for a terminal."""

    folder: Path
    tables: dict[str, pd.DataFrame]
    claims: pd.DataFrame
    """As in claims.csv."""
    problems: list[str]
    """Figures that could not be drawn, and why."""
    runs: str
    """How many runs there are and how they ended."""
    bent: frozenset[str] = frozenset()
    """Claims on the slopes of lines that bend."""
    sentences: list[str] = field(default_factory=list)
    """The findings that hold."""
    figure: Path | None = None

    def answer(self) -> RenderableType:
        """Return one screen: printed, ours and verdict of each claim, what they say together, where the rest is."""
        if not len(self.claims):
            return Group(self.rates_table(), self.summary)
        told = [_reason(row) for row in self.claims.to_dict("records") if math.isnan(row["estimate"])][:SENTENCES]
        told += [Text(sentence) for sentence in self.sentences[:SENTENCES]]
        first = self.claims.sort_values("origin", key=lambda origin: origin == "ours", kind="stable").head(ROWS)
        more = len(self.claims) - len(first)
        notes = [f"and {more} more claims: --verbose"] if more else []
        table = views.without(views.claims(first, bent=self.bent, notes=notes), "statement", "says")
        return Group(Shown(table), *told, *([Text("")] if told else []), self.summary)

    def rates_table(self) -> Shown:
        """Return the rate table for a terminal; without rates, that of means."""
        if len(self.tables["rates"]):
            short = self.tables["rates"].assign(label=self.tables["rates"]["arm"])
            return Shown(views.rates(short), spare=("bound", *NOT_IN_PAPER))
        return Shown(views.without(views.summaries(self.tables["summaries"]), *IN_FILES), spare=("MCSE",))

    def claims_table(self) -> RenderableType:
        """Return the claims table for a terminal: as many columns as fit, and the reasons."""
        if not len(self.claims):
            return Text("")
        shown = Shown(views.claims(self.claims, bent=self.bent, title="Claims"), spare=("statement", "predicted"))
        rows = self.claims.to_dict("records")
        told = [row for row in rows if row["sealed"] == "edited" or row["reason"] not in ("", "across the edge")]
        return Group(shown, *map(_reason, told))

    @property
    def summary(self) -> Text:
        """The run in a few lines: how the runs ended, the verdicts, where the report is, what went wrong."""
        judged = "The study makes no claim."
        if len(self.claims):
            judged = f"Claims: {views.tally(self.claims.to_dict('records'))}."
        drawn = [f"Figure: {self.figure}"] if self.figure else []
        page = f"Report: {self.folder / 'report.html'}  (every table and reason: --verbose)"
        return Text("\n".join([f"{self.runs}.", judged, *self.problems, *drawn, page]))


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
    judged = tables.claims(judgements)
    drawn = [_draw(evidence, figure, folder) for figure in evidence.study.figures if figures.shown(evidence, figure)]
    notes = [*html.lines(provenance.get("notes")), *changes]
    texts = {"claims.csv": csv_text.dump(judged), "rates.csv": csv_text.dump(made["rates"])}
    for name, shown in views.frames({name: made[name] for name in KEPT}):
        texts[f"{name}.csv"] = csv_text.dump(made[name])
        texts[f"{name}.tex"] = views.latex(views.without(shown, *NOT_IN_PAPER), label=f"tab:{name}")
    texts["report.html"] = html.report(evidence, made, judgements, drawn, {**provenance, "notes": notes})
    for name, text in texts.items():
        files.write(folder / name, text.encode(), durable=False)
    counts = evidence.count()
    return Report(
        folder,
        made,
        judged,
        [f"Figure {figure.name} could not be drawn: {figure.problem}" for figure in drawn if figure.problem],
        f"{counts.replicates} runs: {counts}",
        bent=frozenset(verdict.claim for verdict in judgements if verdict.bend),
        sentences=html.findings(evidence.study, judgements),
        figure=next((folder / f"{figure.name}.png" for figure in drawn if not figure.problem), None),
    )


def _draw(evidence: Evidence, figure: Figure, folder: Path) -> Drawn:
    """Draw a figure of a run and write its files."""
    name = figure_file(evidence.study, evidence.preset, figure.name)
    try:
        canvas, facts = figures.draw_evidence(evidence, figure)
    except figures.FigureError as error:
        return Drawn(name, problem=str(error))
    caption = captions.caption(evidence, figure, facts)
    title, source = figure.title or evidence.study.title, captions.origin(evidence)
    saved = style.save(canvas, title=title, description=caption, source=source)
    for ending, content in saved.items():
        files.write(folder / f"{name}.{ending}", content, durable=False)
    return Drawn(name, saved["png"], caption, inches=float(canvas.get_figwidth()))


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
        panels = [{"variable": name, "ylabel": str(ds[name].attrs.get("long_name", name))} for name in names]
        made = {"kind": "lines", "x": x, "hue": hue, "logx": wide, "logy": False, "panels": panels}
        caption = "Means over replicates with their 95 % intervals."
        changes["figures"] = [Figure.model_validate(made | {"caption": caption})]
    return study.model_copy(update=changes) if changes else study
