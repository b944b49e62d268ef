"""What lies in an outputs folder: the runs of studies and, beside them, their records."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from moestat import versions
from moestat.claims.verdicts import COLUMNS
from moestat.report import csv_text
from moestat.runner import hdf5, manifest_file, records, results

OUTPUTS = Path("outputs")
"""The outputs folder of a command without ``--out``."""


@dataclass(frozen=True)
class Run:
    """What the folder of a preset says about itself: the rows of ``claims.csv``, all text (None without it)."""

    study: str
    preset: str
    folder: Path
    claims: list[dict[str, str]] | None
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> dict[str, str]:
        """Preset, command, day of the last change, versions of moestat and of what computed, and seed."""
        kept, code, known = self.manifest, self.manifest.get("code"), self.manifest.get("versions")
        return {
            "preset": self.preset,
            "command": str(kept.get("command") or command(self.study, self.preset)),
            "date": str(kept.get("updated") or kept.get("date") or "")[:10],
            "version": str(known.get("moestat", "") if isinstance(known, Mapping) else ""),
            "code": versions.text(code) if isinstance(code, Mapping) else "",
            "seed": str(kept.get("seed", "")),
        }

    @cached_property
    def problem(self) -> dict[str, str]:
        """What its results are results of (:func:`moestat.study.seal.problem`); empty where that cannot be told.

        A record has it in its manifest, a run in the attributes of ``results.nc``.
        """
        lines = self.manifest.get("problem")
        lines = lines if isinstance(lines, list) else _read_problem(self.folder / results.NAME)
        return records.problem_of(map(str, lines))


def command(study: str, preset: str, out: Path = OUTPUTS, *, verb: str = "") -> str:
    """Return the command line that runs a study at a preset, or does ``verb`` with it, in an outputs folder."""
    words = ["python", "-m", "moestat.study", *([verb] if verb else []), study]
    words += [] if preset == "quick" else ["--preset", preset]
    return shlex.join([*words, *named(out)])


def named(out: Path) -> list[str]:
    """Return the words that name an outputs folder on a command line, none for the one without."""
    return [] if out == OUTPUTS else ["--out", str(out)]


def folder_of(study: str) -> str:
    """Return the name of a study's folder: that of its file."""
    return Path(study).stem if study.endswith(".py") else study


def runs_and_records(out_root: Path) -> list[Run]:
    """Return what lies in an outputs folder, and of the presets that were not judged there the records."""
    found = {}
    for folder in sorted(out_root.glob("*/*/")) if out_root.is_dir() else ():
        claims = folder / "claims.csv"
        if claims.is_file() or (folder / manifest_file.NAME).is_file():
            run = Run(folder.parent.name, folder.name, folder, read_claims(claims), manifest_file.cached(folder))
            found[run.study, run.preset] = run
    for study, preset, folder in records.every(out_root):
        own = found.get((study, preset))
        if own is None or own.claims is None:
            records.check(folder, ("claims.csv", "manifest.json"))
            read = read_claims(folder / "claims.csv"), manifest_file.cached(folder)
            found[study, preset] = Run(study, preset, folder, *read)
    return list(found.values())


def read_claims(path: Path) -> list[dict[str, str]] | None:
    """Read claims.csv; a file that is not one counts as absent."""
    try:
        rows = csv_text.load(path)
    except (ValueError, csv.Error):
        return None
    return rows if all(set(COLUMNS) <= set(row) and None not in row.values() for row in rows) else None


def _read_problem(path: Path) -> list[str]:
    """Return what the attributes of results say that they are of; nothing where they cannot be read."""
    if not path.is_file():
        return []
    import h5netcdf  # for one attribute: xarray opens all variables

    try:
        hdf5.check(path)
        with h5netcdf.File(path, "r", decode_vlen_strings=True) as file:
            return str(file.attrs.get("problem", "")).split("\n")
    except results.UNREADABLE:
        return []
