"""Everything that a run writes beside its data: tables, figures, the report and the index page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from moestat import files, garbage
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge_sealed
from moestat.report import (
    captions,
    csv_text,
    defaults,
    figures,
    findings,
    html,
    performance,
    render,
    searches,
    style,
    tables,
    views,
)
from moestat.report.html import Drawn, Tables
from moestat.report.latex_table import latex
from moestat.study import seal
from moestat.study.presets import figure_file
from moestat.study.spec import Figure, Study

PAPER_CLAIMS = ("claim", "source", "statement", "predicted", "estimate", "verdict")
NOT_IN_PAPER = (
    *("start", "OLS", "WLS", "bootstrap", "last half", "curvature", "loss/Fisher", "failed", "not conv."),
    *("sd", "median"),
)
"""Columns that a page has no room for; the CSV files have all of them."""

IN_FILES = ("sd", "median", "replicates")
"""Columns that a terminal has no room for."""
ROWS = 20
"""Claims on the one screen that a run ends with."""
SENTENCES = 3
"""Findings on it."""
WIDE = 1000
"""Characters in which no column is folded."""


@dataclass(frozen=True)
class Report:
    """What a run showed: data frames, and renderables for a terminal.

    Attributes
    ----------
    folder : Path
    rates, summaries, claims, statuses : DataFrame
        As in the files.
    problems : list of str
        Figures that could not be drawn, and why.
    runs : str
        How many runs there are and how they ended.
    performance : DataFrame
        Bias, coverage and the like, where the experiment says what a variable estimates.
    bent : frozenset of str
        Claims on the slopes of lines that bend.
    sentences : list of str
        The findings that hold.
    figure : Path or None
        The first figure.
    """

    folder: Path
    rates: pd.DataFrame
    summaries: pd.DataFrame
    claims: pd.DataFrame
    statuses: pd.DataFrame
    problems: list[str]
    runs: str
    performance: pd.DataFrame
    bent: frozenset[str] = frozenset()
    sentences: list[str] = field(default_factory=list)
    figure: Path | None = None

    def answer(self) -> RenderableType:
        """Return one screen: printed, ours and verdict of each claim, what they say together, where the rest is."""
        if not len(self.claims):
            return Group(self.rates_table(), self.summary)
        told = [_reason(row) for row in self.claims.to_dict("records") if math.isnan(row["estimate"])][:SENTENCES]
        told += [Text(text) for text in self.sentences[:SENTENCES]]
        table = render.rich(views.answer(self.claims, self.bent, ROWS))
        return Group(table, *told, *([Text("")] if told else []), self.summary)

    def rates_table(self) -> RenderableType:
        """Return the rate table for a terminal; without rates, those of performance or of means."""
        if len(self.performance) and not len(self.rates):
            return render.rich(performance.view(self.performance))
        if len(self.rates):
            return render.rich(views.rates(self.rates, brief=True))
        return MeansTable(self.summaries)

    def claims_table(self) -> ClaimsTable:
        """Return the claims table for a terminal: as many columns as fit, and the reasons."""
        return ClaimsTable(self.claims)

    @property
    def summary(self) -> Text:
        """The run in a few lines: how the runs ended, the verdicts, where the report is, what went wrong."""
        judged = f"Claims: {views.tally(self.claims)}." if len(self.claims) else "The study makes no claim."
        lines = [f"{self.runs}.", judged] + self.problems
        drawn = [f"Figure: {self.figure}"] if self.figure else []
        return Text(
            "\n".join([*lines, *drawn, f"Report: {self.folder / 'report.html'}  (every table and reason: --verbose)"])
        )


def _reason(row: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{row['claim']}: ", "bold"), str(row["why"]))


@dataclass(frozen=True)
class MeansTable:
    """Means in a terminal of any width: with their Monte Carlo standard errors where no name is folded for it."""

    summaries: pd.DataFrame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show what there is room for."""
        usual, narrow = (views.summaries(self.summaries, without=(*IN_FILES, *more)) for more in ((), ("MCSE",)))
        lines = console.render_lines(render.rich(usual), options.update(width=WIDE), pad=False)
        room = max(sum(len(segment.text) for segment in line) for line in lines) <= options.max_width
        yield render.rich(usual if room else narrow)


@dataclass(frozen=True)
class ClaimsTable:
    """The verdicts in a terminal of any width."""

    claims: pd.DataFrame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show statements where there is room, and the reason where it is not the interval alone."""
        if not len(self.claims):
            return
        columns: tuple[str, ...] = ("claim", "says", "predicted", "estimate", "verdict")
        if options.max_width < 80:
            columns = ("claim", "says", "estimate", "verdict")
        if options.max_width >= 120:
            columns = ("claim", "says", "statement", "predicted", "estimate", "verdict")
        brief = options.max_width < 120
        yield render.rich(views.claims(self.claims, columns=columns, brief=brief))
        for row in self.claims.to_dict("records"):
            if row["sealed"] == "edited" or row["reason"] not in ("", "across the edge"):
                yield _reason(row)


@garbage.left()
def write_outputs(
    dataset: xr.Dataset, study: Study, preset: str, folder: Path, *, provenance: Mapping[str, Any]
) -> Report:
    """Judge the claims, fit the rates, draw the figures and write all of it to a folder.

    Written are ``rates.csv`` and ``.tex``, ``claims.csv`` and ``.tex``, ``summaries.csv`` and ``.tex``, where the study
    lists blocks of parameters ``parameters.csv``, ``.tex`` and ``.txt``, after global searches ``searches.csv``, each
    figure as ``.png``, ``.svg``, ``.pdf`` and its caption as ``.caption.txt`` (the first figure is named
    ``figure``), ``report.html``, and ``index.html`` of the outputs folder where ``folder`` is
    ``<outputs>/<study>/<preset>``. Each file is put in place whole. A figure that cannot be drawn is named in the
    report, with the reason; the others are.

    Parameters
    ----------
    dataset : xarray.Dataset
        The collected results.
    study : Study
    preset : str
    folder : Path
        An existing folder.
    provenance : mapping
        What made the results: shown in the report under its keys. ``study``, ``date``, ``command``,
        ``moestat_version``, ``accepted_stale`` and ``notes`` have their own places.
    """
    study = defaults.filled(study, dataset)
    evidence = Evidence(dataset, study, preset)
    judgements, changes = judge_sealed(evidence, seal.read(folder))
    shown_tables = Tables(
        rates=tables.rates(evidence),
        parameters=tables.parameters(evidence),
        summaries=tables.summaries(evidence),
        statuses=tables.statuses(evidence),
        failures=tables.failures(dataset),
        diagnostics=tables.diagnostics(evidence),
        searches=searches.table(evidence),
        performance=performance.performance(dataset),
    )
    judged = tables.claims(judgements)
    _write(folder, "claims.csv", csv_text.dump(judged))
    _write(folder, "claims.tex", latex(views.claims(judged, columns=PAPER_CLAIMS), label="tab:claims"))
    _write(folder, "rates.csv", csv_text.dump(shown_tables.rates))
    if len(shown_tables.rates):
        parts = views.rates_by_loss(shown_tables.rates)
        _write(
            folder,
            "rates.tex",
            "\n".join(latex(v, label=f"tab:rates-{i}", without=NOT_IN_PAPER) for i, v in enumerate(parts, 1)),
        )
    if len(shown_tables.parameters):
        shown = views.parameters(shown_tables.parameters)
        _write(folder, "parameters.csv", csv_text.dump(shown_tables.parameters))
        _write(folder, "parameters.tex", latex(shown, label="tab:parameters"))
        _write(folder, "parameters.txt", render.text(shown))
    if len(shown_tables.searches):
        _write(folder, "searches.csv", csv_text.dump(shown_tables.searches))
    if len(shown_tables.summaries):
        _write(folder, "summaries.csv", csv_text.dump(shown_tables.summaries))
        means = views.summaries(shown_tables.summaries)
        _write(folder, "summaries.tex", latex(means, label="tab:summaries", without=NOT_IN_PAPER))
    if len(shown_tables.performance):
        _write(folder, "performance.csv", csv_text.dump(shown_tables.performance))
        _write(folder, "performance.tex", latex(performance.view(shown_tables.performance), label="tab:performance"))
    drawn = [
        _draw(evidence, figure, figure_file(study, preset, figure.name), folder)
        for figure in study.figures
        if figures.shown(evidence, figure)
    ]
    notes = provenance.get("notes") or []
    notes = [*(notes.splitlines() if isinstance(notes, str) else notes), *changes]
    page = html.report(evidence, shown_tables, judgements, drawn, {**provenance, "notes": notes})
    _write(folder, "report.html", page)
    if (folder.parent.name, folder.name) == (provenance.get("study"), preset):
        _write(folder.parent.parent, "index.html", html.index(folder.parent.parent))
    problems = [f"Figure {figure.name} could not be drawn: {figure.problem}" for figure in drawn if figure.problem]
    counts = evidence.count()
    runs = f"{counts.replicates} runs: {counts}"
    return Report(
        folder,
        shown_tables.rates,
        shown_tables.summaries,
        judged,
        shown_tables.statuses,
        problems,
        runs,
        shown_tables.performance,
        bent=frozenset(verdict.claim for verdict in judgements if verdict.bend),
        sentences=findings.findings(study, judgements),
        figure=next((folder / f"{figure.name}.png" for figure in drawn if not figure.problem), None),
    )


def _draw(evidence: Evidence, figure: Figure, name: str, folder: Path) -> Drawn:
    """Draw one figure and write its files."""
    try:
        canvas, facts = figures.draw_evidence(evidence, figure)
    except figures.FigureError as error:
        return Drawn(name, problem=str(error))
    caption = captions.caption(evidence, figure, facts)
    titles = [panel.title for panel in figures.panels_of(evidence.ds, evidence.study, figure)] if facts else []
    alternative = captions.alternative(figure, facts, titles)
    title, source = figure.title or evidence.study.title, captions.origin(evidence)
    saved = style.save(canvas, title=title, description=caption, source=source)
    for ending, content in saved.items():
        files.write(folder / f"{name}.{ending}", content, durable=False)
    _write(folder, f"{name}.caption.txt", caption + "\n")
    notes = captions.notes(evidence, figure, facts)
    return Drawn(name, saved["svg"], caption, alternative, notes=notes)


def _write(folder: Path, name: str, text: str) -> None:
    files.write(folder / name, text.encode(), durable=False)
