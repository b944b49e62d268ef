"""The ledger: the primary claims of all studies, with the verdict of the run that decides each; and one claim.

It is read from what the runs left behind (``claims.csv`` and ``manifest.json`` of each preset), never typed.
"""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from moestat.claims.wording import COLUMNS, in_words, rule, tally
from moestat.report import chance, csv_text, grid, items, views
from moestat.report.grid import Shown
from moestat.report.items import NOT_RUN
from moestat.rounding import number
from moestat.runner import manifest_file, records, results
from moestat.runner.request import Request
from moestat.sentences import counted, listed
from moestat.study import cells, load, presets, seal
from moestat.study.seal import rule_digest
from moestat.study.spec import Claim, Study

if TYPE_CHECKING:
    import pandas as pd

FILTERS = ("paper", "cell", "origin", "scale", "verdict", "sealed", "survives")
"""The columns of the ledger that a reader can choose values of."""
OUTPUTS = Path("outputs")
"""The outputs folder of a command without ``--out``."""
ABOUT = ("study", "paper", "item", "cell", "because", "hindsight", "region", "level")
CHANCE = ("p", "survives")
RUN = ("preset", "command", "date", "version", "decides", "decides_with")


# --- what lies in an outputs folder: runs, and beside them their records ---------------------------------------------


@dataclass(frozen=True)
class Run:
    """What the folder of a preset says about itself: the rows of ``claims.csv``, all text, and the manifest."""

    study: str
    preset: str
    folder: Path
    claims: list[dict[str, str]]
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> dict[str, str]:
        """Preset, command, day of the last change, version of moestat."""
        kept, known = self.manifest, self.manifest.get("versions")
        return {
            "preset": self.preset,
            "command": str(kept.get("command") or command(self.study, self.preset)),
            "date": str(kept.get("updated") or kept.get("date") or "")[:10],
            "version": str(known.get("moestat", "") if isinstance(known, Mapping) else ""),
        }

    @cached_property
    def problem(self) -> dict[str, str]:
        """What its results are results of (:func:`moestat.study.seal.problem`); empty where that cannot be told.

        A record has it in its manifest, a run in the attributes of ``results.nc``.
        """
        lines, path = self.manifest.get("problem"), self.folder / results.NAME
        if not isinstance(lines, list):
            import h5netcdf  # for one attribute: xarray opens all variables

            from moestat.runner import hdf5

            try:
                hdf5.check(path)
                with h5netcdf.File(path, "r", decode_vlen_strings=True) as file:
                    lines = str(file.attrs.get("problem", "")).split("\n")
            except results.UNREADABLE:
                lines = []
        return records.problem_of(map(str, lines))


def command(study: str, preset: str, out: Path = OUTPUTS) -> str:
    """Return the command line that runs a study at a preset in an outputs folder."""
    return Request(study, preset, out=out).command()


def runs_and_records(out_root: Path) -> list[Run]:
    """Return what was judged in an outputs folder, and the records of the other presets, there or in the package."""
    found: dict[tuple[str, str], Run] = {}
    places = [(path.parent.parent.name, path.parent.name, path.parent) for path in out_root.glob("*/*/claims.csv")]
    for study, preset, folder in [*places, *records.every(out_root), *records.every(records.INSTALLED)]:
        if (study, preset) not in found:
            if records.is_record(folder):
                records.check(folder, ("claims.csv", "manifest.json"))
            if (rows := read_claims(folder / "claims.csv")) is not None:
                found[study, preset] = Run(study, preset, folder, rows, manifest_file.cached(folder))
    return list(found.values())


def read_claims(path: Path) -> list[dict[str, str]] | None:
    """Read claims.csv; a file that is not one counts as absent."""
    try:
        rows = csv_text.load(path)
    except (ValueError, OSError, csv.Error):
        return None
    return rows if all(set(COLUMNS) <= set(row) and None not in row.values() for row in rows) else None


# --- the ledger ------------------------------------------------------------------------------------------------------


def frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return :func:`rows` as a data frame."""
    import pandas as pd

    return pd.DataFrame(records, columns=[*ABOUT, *COLUMNS, *CHANCE, *RUN])


def rows(out_root: Path | str, studies: Mapping[str, Study]) -> list[dict[str, Any]]:
    """Return every claim of every study with the verdict that decides it; without one it is 'not run'.

    The run that says most about a claim counts; but a run that could not decide it, with fewer replicates than a
    verdict needs or without an interval, never takes the place of one that did. A claim that differs from the one that
    was judged is not run; so are all claims where the run is of other settings than the study states; why says so.
    A primary claim has the ``item`` and the ``cell`` in which it stands; both are empty for one of the sensitivity.
    ``p`` and ``survives`` are those of :mod:`moestat.report.chance`, if these are all studies of a paper.
    """
    out, runs, places = Path(out_root), runs_and_records(Path(out_root)), cells.of_studies(studies)
    papers: dict[str, list[dict[str, Any]]] = {}
    for name, study in studies.items():
        found = [row | cells.where(places, name, row["claim"]) for row, _ in _rows(out, name, study, runs)]
        papers.setdefault(study.paper, []).extend(found)
    for of_it in papers.values():
        for row, word in zip(of_it, chance.survivors(of_it), strict=True):
            row["survives"] = word
    return [row for of_it in papers.values() for row in of_it]


def _rows(
    out: Path, name: str, study: Study, runs: Iterable[Run]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the row of each claim of a study, and what each of its runs came to."""
    mine = _results_of(name)
    ran = {run.preset: run for run in runs if run.study == mine}
    foreign = {preset: _foreign(name, study, run, out) for preset, run in ran.items()}
    for claim in study.claims:
        found, why, how = [], "", ""
        for preset in presets.strongest_first(study, claim, ran):
            run = ran[preset]
            row = next((row for row in run.claims if row["claim"] == claim.id), None)
            problem = row and (foreign[preset] or _outdated(name, study, claim, run, row, out))
            if problem and not why:
                why, how = problem
            found += [_judged(run, row)] if row and not problem else []
        row = _about(name, study, claim) | (_counting(found) or _not_run(name, study, claim, why, how))
        replicates = study.presets[row["preset"]].replicates if row["preset"] in study.presets else 1
        yield row | {"p": chance.p_value(row, claim.region, claim.level, replicates)}, found


def _results_of(name: str) -> str:
    """Return the name of the results of a study, which a file may call otherwise than itself."""
    return load.name_of(name) if load.is_path(name) else name


def _about(name: str, study: Study, claim: Claim) -> dict[str, Any]:
    told = ("source", "origin", "because", "hindsight", "bearing", "statement", "predicted")
    says = {key: getattr(claim, key) for key in told}
    says |= {"claim": claim.id, "level": claim.level, "region": rule(claim)}
    best = presets.decisive(study, claim) or "quick"
    return says | {"study": name, "paper": study.paper, "decides": best, "decides_with": command(name, best)}


def _judged(run: Run, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of ``claims.csv`` with its numbers as numbers (NaN for none), and the run that it is of."""
    kept = {key: row[key] for key in ("scale", "verdict", "wording", "reason", "why", "rule", "sealed")}
    return kept | {key: _number(row[key]) for key in ("estimate", "ci_low", "ci_high")} | run.about


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _counting(found: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the run that counts, of judged ones of which the first says most; None of none."""
    decided = next((row for row in found if not _undecidable(row)), None)
    if decided is None or decided["verdict"] == "inconclusive":  # then nothing takes the place of the strongest one
        return found[0] if found else None
    return decided


def _undecidable(row: Mapping[str, Any]) -> bool:
    """Return whether a run could not have decided a claim, whatever it had found."""
    known = math.isfinite(row["ci_low"]) or math.isfinite(row["ci_high"])
    return row["verdict"] == "inconclusive" and (not known or row["reason"] == "too few")


def _not_run(name: str, study: Study, claim: Claim, why: str, how: str) -> dict[str, Any]:
    best = presets.decisive(study, claim) or "quick"
    empty: dict[str, Any] = dict.fromkeys(("date", "version", "reason", "sealed"), "")
    empty |= dict.fromkeys(("estimate", "ci_low", "ci_high"), math.nan) | dict.fromkeys(("verdict", "wording"), NOT_RUN)
    empty |= {"preset": best, "command": how or command(name, best), "why": f"{why}: {how}" if why else ""}
    return empty | {"scale": study.scale_of(best, claim), "rule": rule_digest(study, best, claim)}


def _foreign(name: str, study: Study, run: Run, out: Path) -> tuple[str, str] | None:
    """Say what a run is of that the study file is not, and how to mend it; None where it is of the same problem."""
    differing = records.differing(run.problem, study, run.preset) if run.preset in study.presets else []
    if not differing:
        return None
    why = (
        f"The run on {run.about['date']} ({run.preset}) is of {listed(differing)} than the study file now states, so "
        "its verdict is not shown; run it again"
    )
    return why, command(name, run.preset, out)


def _outdated(
    name: str, study: Study, claim: Claim, run: Run, row: Mapping[str, str], out: Path = OUTPUTS
) -> tuple[str, str] | None:
    """Say what was changed since a claim was judged, and how it is judged again; None for nothing."""
    now = (claim.source, claim.statement, str(claim.predicted), study.scale_of(run.preset, claim))
    changed = ""
    if tuple(row[key] for key in ("source", "statement", "predicted", "scale")) != now:
        changed = f"The claim has been changed since it was judged in preset {run.preset} ({run.about['date']})"
    elif row["rule"] != rule_digest(study, run.preset, claim):
        changed = f"The rule was changed after the run on {run.about['date']} ({run.preset}); by the rule before the "
        changed += f"verdict was: {row['wording']}"
    kept = records.is_record(run.folder)
    again = Request(name, run.preset, out=out).command("ship" if kept else "report")
    again += f" --to {shlex.quote(str(out))}" if kept and out != OUTPUTS else ""
    return (f"{changed}. Judge it again", again) if changed else None


# --- as a page, and in the terminal ----------------------------------------------------------------------------------


def page(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the ledger as a page with search and filters; a claim has the anchor ``STUDY:ID``.

    Without JavaScript it is the whole table, every reason open to read; the script only hides rows.
    """
    order = {word: place for place, word in enumerate((*items.WORDS, *presets.SCALES, *items.ORIGINS, *cells.CELLS))}
    papers = dict.fromkeys(str(row["paper"]) for row in records)
    found = {paper: chance.told([row for row in records if row["paper"] == paper]) for paper in papers}
    return (
        views.environment()
        .get_template("ledger.html.j2")
        .render(
            rows=[{**row, **_shown(row)} for row in records],
            filters=[
                (name, sorted({str(row[name]) for row in records} - {""}, key=lambda v: (order.get(v, 99), v)))
                for name in FILTERS
            ],
            rules=views.of_rules(records) or "no claim has been judged yet",
            chance=chance.told(records),
            papers={paper: told for paper, told in found.items() if told},
        )
    )


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "says": views.says(row),
        "because": row["because"].rstrip("."),
        "predicted": number(row["predicted"]),
        "estimate": views.estimated(row),
        "sealed": views.when(row),
        "why": row["why"] or ("There is no run yet." if row["verdict"] == items.NOT_RUN else ""),
    }


def title(records: Sequence[dict[str, Any]]) -> str:
    """Return how many primary claims there are, how they stand, when their rules were written, and how many others."""
    mine = views.primary(records)
    told = views.in_words(tally(mine) | {NOT_RUN: sum(row["verdict"] == NOT_RUN for row in mine)})
    rest = f"sensitivity: {len(records) - len(mine)}" if len(mine) < len(records) else ""
    parts = [f"{counted(len(mine), 'primary claim')}: {told}", chance.told(mine), views.of_rules(records), rest]
    return "; ".join(filter(None, parts))


def rich(kept: Sequence[dict[str, Any]], head: str) -> Shown:
    """Return rows of the ledger for the terminal: a group per paper and study, the run in its heading.

    Below it stands why runs that are there do not count, each reason once, with the claims that it holds for.
    """
    groups = []
    claims: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in kept:
        run = f" ({row['preset']}, {row['date']}, moestat {row['version']})" if row["date"] else ""
        groups.append(f"{row['paper']}: {row['study']}{run}")
        claims.setdefault(row["study"], []).append(row["claim"])
        if row["verdict"] == NOT_RUN and row["why"]:
            reasons.setdefault((row["study"], row["why"]), []).append(row["claim"])
    notes = [
        f"{study}{'' if names == claims[study] else f' ({listed(names, 3)})'}: {why}"
        for (study, why), names in reasons.items()
    ]
    shown = views.claims(kept, title=head, groups=groups, notes=notes)
    return Shown(shown, spare=("statement", "says", "predicted", "FDR"))


def _sealed(row: Mapping[str, Any], date: str) -> str:
    """Say how the rule of a claim stands to the rules of its run."""
    return {
        "sealed": f"in the rules of {date}, when the run began",
        "edited": f"the run began with another rule, of {date}, which is in its {seal.NAME}",
        "added": f"not among the rules of {date}, when the run began",
    }[row["sealed"]]


def card(out_root: Path, name: str, study: Study, claim: Claim, row: Mapping[str, Any]) -> tuple[RenderableType, str]:
    """Return all that is known of a claim (rule, interval, runs), and the command that decides it.

    ``row`` is the claim's among :func:`rows` of all studies of its paper.
    """
    alone = study.model_copy(update={"claims": [claim]})
    runs = runs_and_records(out_root)
    ((_, found),) = _rows(out_root, name, alone, runs)
    when, estimate = views.when(row), views.estimated(row)
    which = _results_of(name), row["preset"]
    folder = next((one.folder for one in runs if (one.study, one.preset) == which), out_root)
    sealed = seal.read(folder)
    run = f"{folder} (preset {row['preset']}, {row['date']}, moestat {row['version']})"
    if not row["date"] and row["verdict"] == NOT_RUN:
        run = f"none in {out_root}" + (" that is of today's study file and rules" if row["why"] else "")
    about = study.presets[row["preset"]].about if row["preset"] in study.presets else ""
    told = [
        ("statement", claim.statement),
        ("source", claim.source),
        ("says", "; ".join(filter(None, [views.says(row), claim.because]))),
        ("rule", in_words(claim)),
        ("check", claim.check and f"{name}:{claim.check}, without which the treatment was not delivered"),
        ("control", claim.control and f"{name}:{claim.control}"),
        ("predicted", number(claim.predicted) + (" (printed in the paper)" if claim.printed else "")),
        ("scale", f"{views.scale_of(row['scale'], study.paper)}: {about}".removesuffix(": ")),
        ("estimate", f"{estimate}{f' ({100 * claim.level:.4g} % interval)' * ('[' in estimate)}" or "none"),
        ("verdict", row["wording"] + (f" (rule: {when})" if when else "")),
        ("seal", _sealed(row, sealed.date) if sealed is not None and when else ""),
        ("chance", chance.of_claim(row)),
        ("why", row["why"]),
        ("run", run),
    ]
    others = [other for other in found if other["preset"] != row["preset"]]
    told += [("also run", f"preset {r['preset']}, {r['date']}: {r['wording']}") for r in others]
    decided = "No preset of the study judges it."
    if row["verdict"] == NOT_RUN and row["why"]:
        decided = f"Decided again by:\n  {row['command']}"
    elif best := row["preset"] or presets.decisive(study, claim):
        cost = f", {study.presets[best].expected}" if study.presets[best].expected else ""
        decided = f"Decided by preset {best}{cost}:\n  {command(name, best, out_root)}"
    return grid.card(f"{claim.id}  ({name}, {study.paper})", [row for row in told if row[1]]), decided
