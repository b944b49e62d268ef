"""The ledger: every claim of every study, with the verdict of the run that decides it, or 'not run'.

It is read from what the runs left behind (``claims.csv`` and ``manifest.json`` of each preset), never typed.
"""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from rich.console import RenderableType

from moestat import files
from moestat.claims import verdicts
from moestat.claims.obstacles import TOO_FEW
from moestat.claims.verdicts import COLUMNS, VERDICTS, rule, tally
from moestat.fingerprint import digest
from moestat.report import csv_text, render, views
from moestat.rounding import estimate, number
from moestat.runner import belongs, records, results
from moestat.sentences import listed
from moestat.study import presets, seal
from moestat.study.load import StudyFile
from moestat.study.seal import rule_digest
from moestat.study.spec import Claim, Study

NOT_RUN = "not run"
OUTPUTS = Path("outputs")
"""The outputs folder of a command without ``--out``."""
ABOUT = ("study", "title", "paper", "because", "low", "high", "region")
RUN = ("preset", "command", "date", "version", "code", "seed")
LEDGER_COLUMNS = (*ABOUT, *COLUMNS, *RUN, "decides", "decides_with")


@dataclass(frozen=True)
class Run:
    """What the folder of a preset says about itself.

    Attributes
    ----------
    claims : list of dict or None
        The rows of ``claims.csv``, all text; None when there is none.
    manifest : dict
        Empty when there is none that can be read.
    """

    study: str
    preset: str
    folder: Path
    claims: list[dict[str, str]] | None
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """Day of the last change, or an empty text."""
        return str(self.manifest.get("updated") or self.manifest.get("date") or "")[:10]

    @property
    def version(self) -> str:
        """Version of moestat that computed."""
        versions = self.manifest.get("versions")
        version = (
            versions.get("moestat", "") if isinstance(versions, Mapping) else self.manifest.get("moestat_version", "")
        )
        return str(version)

    @property
    def code(self) -> str:
        """Fingerprint of the code that computed, as in the attributes of ``results.nc``."""
        modules = self.manifest.get("code")
        return digest(modules) if isinstance(modules, Mapping) else ""

    @property
    def seed(self) -> str:
        """Seed of the study."""
        return str(self.manifest.get("seed", ""))

    @property
    def command(self) -> str:
        """The command that computes it again."""
        return str(self.manifest.get("command") or command(self.study, self.preset))

    @cached_property
    def problem(self) -> dict[str, str]:
        """What its results are results of (:func:`moestat.study.seal.problem`); empty where that cannot be told.

        A record has it in its manifest, a run in the attributes of ``results.nc``.
        """
        lines = self.manifest.get("problem")
        lines = lines if isinstance(lines, list) else _read_problem(self.folder / results.NAME)
        return dict(str(line).split("=", 1) for line in lines if "=" in str(line))

    def verdicts(self) -> dict[str, int]:
        """Return how many claims got which verdict."""
        words = [row["verdict"] for row in self.claims or []]
        return {word: words.count(word) for word in VERDICTS}


def command(study: str, preset: str, out: Path = OUTPUTS, *, verb: str = "") -> str:
    """Return the command line that runs a study at a preset, or does ``verb`` with it, in an outputs folder."""
    words = ["python", "-m", "moestat.study", *([verb] if verb else []), study]
    words += [] if preset == "quick" else ["--preset", preset]
    return shlex.join([*words, *([] if out == OUTPUTS else ["--out", str(out)])])


def folder_of(study: str) -> str:
    """Return the name of a study's folder: that of its file."""
    return Path(study).stem if study.endswith(".toml") else study


def runs(out_root: Path) -> list[Run]:
    """Return what lies in an outputs folder, by study and preset."""
    return sorted(_runs(Path(out_root)), key=lambda run: (run.study, run.preset))


def runs_and_records(out_root: Path) -> list[Run]:
    """Return what lies in an outputs folder, and of the presets that were not judged there the records.

    Raises
    ------
    StaleError
        If a record was changed after it was made.
    """
    found = {(run.study, run.preset): run for run in runs(out_root)}
    for study, preset, folder in records.every(out_root):
        own = found.get((study, preset))
        if own is None or own.claims is None:
            records.check(folder, ("claims.csv", "manifest.json"))
            read = read_claims(folder / "claims.csv"), _read_manifest(folder / "manifest.json")
            found[study, preset] = Run(study, preset, folder, *read)
    return list(found.values())


def _runs(out_root: Path) -> Iterator[Run]:
    folders = out_root.glob("*/*/") if out_root.is_dir() else ()
    for folder in folders:
        claims, manifest = folder / "claims.csv", folder / "manifest.json"
        if claims.is_file() or manifest.is_file():
            yield Run(folder.parent.name, folder.name, folder, read_claims(claims), _read_manifest(manifest))


def read_claims(path: Path) -> list[dict[str, str]] | None:
    """Read claims.csv; a file that is not one counts as absent."""
    try:
        rows = csv_text.load(path)
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    return rows if all(set(COLUMNS) <= set(row) and None not in row.values() for row in rows) else None


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(files.read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _read_problem(path: Path) -> list[str]:
    """Return what the attributes of results say that they are of; nothing where they cannot be read."""
    if not path.is_file():
        return []
    import h5netcdf  # for one attribute: xarray opens all variables

    try:
        with h5netcdf.File(path, "r", decode_vlen_strings=True) as file:
            return str(file.attrs.get("problem", "")).split("\n")
    except results.UNREADABLE:
        return []


def ledger(out_root: Path | str, studies: Mapping[str, Study], *, first: str = "") -> pd.DataFrame:
    """Return every claim of every study with the verdict that decides it.

    Parameters
    ----------
    out_root : path
        The outputs folder; it need not exist.
    studies : mapping of str to Study
        The studies by name, or by the path of a study file.
    first : str, optional
        The preset whose run counts where it has judged a claim. Otherwise that counts which says most about the claim
        (:func:`moestat.study.presets.strongest_first`); but a run that could not decide it, with fewer replicates than
        a verdict needs or without an interval, never takes the place of one that did.

    Returns
    -------
    DataFrame
        One row per claim. study, title, paper and because are those of the study file; low, high and region are the
        rule; then come the columns of claims.csv; preset, command, date, version, code (its fingerprint) and seed are
        of the run, and decides and decides_with the cheapest preset that decides the claim, and its command. The
        verdict of a claim without a run is 'not run'; so is that of a claim that differs from the one that was judged,
        and of all claims where the run is of other settings than the study file; why says so.
    """
    out_root = Path(out_root)
    by_study: dict[str, list[Run]] = {}
    for run in runs_and_records(out_root):
        by_study.setdefault(run.study, []).append(run)
    rows = []
    for name, study in studies.items():
        ran = by_study.get(folder_of(name), [])
        foreign = {run.preset: _foreign(name, study, run, out_root) for run in ran}
        for claim in study.claims:
            rows.append(_about(name, study, claim) | _row(name, study, claim, ran, foreign, first, out_root))
    return pd.DataFrame(rows, columns=list(LEDGER_COLUMNS))


def _about(name: str, study: Study, claim: Claim) -> dict[str, Any]:
    says = {key: getattr(claim, key) for key in ("source", "origin", "because", "bearing", "statement", "predicted")}
    says |= {"claim": claim.id, "group": claim.group or f"{name}/{claim.id}", "region": rule(claim)}
    best = presets.decisive(study, claim) or "quick"
    says |= {"study": name, "title": study.title, "paper": study.paper, "decides": best}
    return says | {"low": claim.region[0], "high": claim.region[1], "decides_with": command(name, best)}


def _row(
    name: str, study: Study, claim: Claim, ran: Iterable[Run], foreign: Mapping[str, str], first: str, out: Path
) -> dict[str, Any]:
    """Return what the run says that counts, or that there is none; ``foreign`` has why a preset's run does not."""
    by_preset = {run.preset: run for run in ran}
    order = presets.strongest_first(study, claim, by_preset)
    why = ""
    spare: dict[str, Any] | None = None
    for preset in sorted(order, key=lambda preset: preset != first):
        run = by_preset[preset]
        row = next((r for r in run.claims or [] if r["claim"] == claim.id), None)
        if row is None:
            continue
        problem = foreign[preset] or _outdated(name, study, claim, run, row, out)
        if not problem:
            judged = judged_by(run, row)
            if preset == first:
                return judged
            if not _undecidable(judged):  # what is weaker than it says less than it, also where it is inconclusive
                return judged if spare is None or judged["verdict"] != "inconclusive" else spare
            spare = spare or judged
        why = why or problem
    if spare is not None:
        return spare
    best = presets.decisive(study, claim) or "quick"
    empty: dict[str, Any] = dict.fromkeys(("estimate", "ci_low", "ci_high"), math.nan)
    empty |= {"preset": best, "command": command(name, best), "date": "", "version": "", "code": "", "seed": ""}
    empty |= {"scale": study.scale_of(best, claim), "rule": rule_digest(study, best, claim), "changed": ""}
    return empty | {"verdict": NOT_RUN, "wording": NOT_RUN, "why": why}


def _undecidable(row: Mapping[str, Any]) -> bool:
    """Return whether a run could not have decided a claim, whatever it had found."""
    known = math.isfinite(row["ci_low"]) or math.isfinite(row["ci_high"])
    return row["verdict"] == "inconclusive" and (not known or TOO_FEW in row["why"])


def is_current(study_file: StudyFile, preset: str, folder: Path) -> bool:
    """Return whether the claims in a folder are those of the study file, judged by its rules."""
    study, name = study_file.study, study_file.name
    run = Run(name, preset, folder, read_claims(folder / "claims.csv"), _read_manifest(folder / "manifest.json"))
    rows = {row["claim"]: row for row in run.claims or []}
    claims = verdicts.judged(study, preset)
    if _foreign(name, study, run):
        return False
    return all(claim.id in rows and not _outdated(name, study, claim, run, rows[claim.id]) for claim in claims)


def judged_by(run: Run, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of ``claims.csv`` with its numbers as numbers, and the run that it is of."""
    kept = {key: row[key] for key in ("scale", "verdict", "wording", "why", "rule", "changed")}
    numbers = {key: _float(row[key]) for key in ("estimate", "ci_low", "ci_high")}
    return kept | numbers | {key: getattr(run, key) for key in RUN}


def _foreign(name: str, study: Study, run: Run, out: Path = OUTPUTS) -> str:
    """Say what a run is of that the study file is not; an empty text where it is of the same problem."""
    if run.claims is None or run.preset not in study.presets:
        return ""
    now = seal.problem(study, run.preset)
    differing = [belongs.WHAT[key] for key in now if run.problem.get(key, now[key]) != now[key]]
    if not differing:
        return ""
    return (
        f"The run on {run.date} ({run.preset}) is of {listed(differing)} than the study file now states, so its "
        f"verdict is not shown; run it again: {command(name, run.preset, out)}"
    )


def _outdated(name: str, study: Study, claim: Claim, run: Run, row: Mapping[str, str], out: Path = OUTPUTS) -> str:
    """Say what was changed since a claim was judged; an empty text for nothing."""
    now = (claim.source, claim.statement, str(claim.predicted), study.scale_of(run.preset, claim))
    if tuple(row[key] for key in ("source", "statement", "predicted", "scale")) != now:
        return f"The claim has been changed since it was judged in preset {run.preset} ({run.date})."
    if row["rule"] != rule_digest(study, run.preset, claim):
        return (
            f"The rule was changed after the run on {run.date} ({run.preset}); by the rule before the verdict was: "
            f"{row['wording']}. For the verdict by the new rule: {command(name, run.preset, out, verb='report')}"
        )
    return ""


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # an empty field: there is no number
        return math.nan


def view(table: pd.DataFrame, *, brief: bool = False, statements: bool = True) -> views.View:
    """Show the ledger, one group of rows per paper and study.

    ``brief`` keeps what fits a terminal, with the run in the heading of its group, and the id behind each statement;
    without ``statements`` a claim is told by its id alone, which fits a narrow one.
    """
    rows, groups = [], []
    for row in table.to_dict("records"):
        value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
        interval = "" if row["ci_low"] == row["ci_high"] else interval
        shown = f"{value} {interval}".strip()
        told = f"{row['statement']} ({row['claim']})"  # the id is what `claim ID` takes
        first = [row["statement"], row["source"]] if not brief else [told if statements else row["claim"]]
        rest = [] if brief else [row["command"], row["date"], row["version"]]
        rows.append(
            (
                *map(str, first),
                views.says(row, brief=brief),
                number(row["predicted"]),
                shown,
                views.marked(row),
                *map(str, rest),
            )
        )
        run = f" ({row['preset']}, {row['date']}, moestat {row['version']})" if row["date"] and brief else ""
        groups.append(f"{row['paper']}: {row['study']}{run}")
    columns = ("claim", "says", "predicted", "estimate", "verdict")
    if not brief:
        columns = ("claim", "source", "says", "predicted", "estimate", "verdict", "command", "date", "version")  # type: ignore[assignment]
    counts = tally(table["verdict"], table["scale"]) | {NOT_RUN: int((table["verdict"] == NOT_RUN).sum())}
    of_rows = table.to_dict("records")
    changed = views.changed(of_rows)
    title = f"{len(table)} claims: {views.in_words(counts)}{views.of_them(changed)}"
    notes = [*([views.CHANGED_NOTE] if changed else []), *_not_shown(of_rows)]
    return views.View(title, columns, rows, groups, notes)


def _not_shown(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say why runs that are there do not count, each reason once, with the claims that it holds for."""
    claims: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        claims.setdefault(row["study"], []).append(row["claim"])
        if row["verdict"] == NOT_RUN and row["why"]:
            reasons.setdefault((row["study"], row["why"]), []).append(row["claim"])
    return [
        f"{study}{'' if names == claims[study] else f' ({listed(names, 3)})'}: {why}"
        for (study, why), names in reasons.items()
    ]


def rich(table: pd.DataFrame) -> RenderableType:
    """Return the ledger for the terminal: statements where there is room, ids where there is not."""

    def fitting(width: int) -> views.View:
        shown = view(table, brief=True, statements=width >= 110)
        if width >= 80:
            return shown
        return shown.of_columns([i for i, column in enumerate(shown.columns) if column != "predicted"])  # as of one run

    return render.by_width(fitting)


def html(table: pd.DataFrame) -> Markup:
    """Return the ledger as an HTML table."""
    return render.html(view(table))


def markdown(table: pd.DataFrame) -> str:
    """Return the ledger as a Markdown table."""
    return render.markdown(view(table))
