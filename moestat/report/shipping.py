"""Make records: a complete run, made small enough for version control; see :mod:`moestat.runner.records`.

Nothing is rounded. What is left out are bulky variables (fitted parameters, tables of every pair of an expert and a
cluster) that no claim, table or figure shows: the reports with and without them are compared, tables byte for byte and
figures to a thousandth of a point. If another study reads such a variable, what it makes of it is kept in its place, or
the variable itself.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from moestat import bounded, versions
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge_sealed
from moestat.errors import InputError, UserError
from moestat.experiment import Source
from moestat.report import csv_text, defaults, stored_runs, tables
from moestat.report.rate_panel import NUMBERS, numbers_of
from moestat.report.write import write_outputs
from moestat.runner import begin, belongs, experiments, labels, manifest_file, needs, plan, records, results
from moestat.runner.difference import difference
from moestat.runner.request import Request
from moestat.runner.shard import Variable
from moestat.study import load, seal
from moestat.study.load import StudyFile
from moestat.study.spec import Study

BULKY = 100_000
"""Bytes from which a variable is left out if nothing shows it."""
MOST = 60_000_000
"""Bytes that all records may take together."""
SHOWN = (".csv", ".svg", ".caption.txt")
"""Files of a report that hold what is shown, and neither dates nor paths."""
KEPT = (
    *("study", "file", "title", "preset", "experiment", "seed", "request", "command", "versions", "code", "rules"),
    *("accepted_stale", "tally", "updated", "verified"),
)
"""What the manifest of a record takes from that of the run; nothing of it names a folder of the machine."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
"""A number in a drawing."""
LEFT_OUT = "left out of this record:"
ORIGIN = (
    "cpu",
    "blas",
    "simd",
    "kernel",
    "device",
    "moestat",
    "python",
    "platform",
    "numpy",
    "scipy",
    "numba",
    "torch",
)


def ship(study: str, preset: str, out: Path, to: Path, *, replace: bool = False) -> list[str]:
    """Make the record of a study at a preset from its results, or judge the one that is there again.

    Parameters
    ----------
    study : str
    preset : str
    out : Path
        The outputs folder with the results; where it has none of its own, its record is judged again.
    to : Path
        The outputs folder whose record is written.
    replace : bool
        Whether numbers of a record that is there may become others.

    Returns
    -------
    list of str
        What is to be said.

    Raises
    ------
    InputError
        If there are no results, they are incomplete, or not those of the preset as the study file states it.
    StaleError
        If they are results of another study file, or were edited.
    UserError
        If a record with other numbers is there, and ``replace`` is not given.
    """
    study_file = load.read(study)
    load.need_preset(study_file, preset)
    request = Request(study=study, preset=preset, out=out)
    root = records.results_folder(out, study_file.name, preset)
    dataset = labels.described(records.read(root, study_file, request))
    belongs.refuse_foreign(dataset, study_file, request, root)
    kept = manifest_file.read(root)
    _refuse_unfit(dataset, kept, root)
    said = []
    before = seal.read(root)
    with tempfile.TemporaryDirectory(prefix="moestat-") as name:
        show = functools.partial(_shown, study_file.study, preset, root, Path(name))
        small = _smaller(*_condensed(dataset, study_file, request, root), study_file.study, show)
    gone = [str(name) for name in dataset.variables if name not in small.variables]
    left_out = [name for name in str(dataset.attrs.get("left_out", "")).split(", ") if name] + gone
    kept_notes = [line for line in results.provenance(dataset)["notes"] if not line.startswith(LEFT_OUT)]
    notes = [_portable(line, out) for line in kept_notes]
    if left_out:
        notes.append(f"{LEFT_OUT} {', '.join(left_out)}; no claim, table or figure shows them, and replay gives them")
    named = study_file.name if Path(study).is_absolute() else study
    plain = Request(study=named, preset=preset, replicates=kept.get("request", {}).get("replicates"))
    small = small.assign({name: _portable_texts(small[name], out) for name in small.data_vars})
    small.attrs = small.attrs | {
        "command": plain.command(),
        "notes": "\n".join(notes),
        "left_out": ", ".join(left_out),
    }
    content = {results.NAME: records.packed(small)}
    _refuse_changed(small, content[results.NAME])
    content |= _tables(small, study_file.study, preset, root)
    content[seal.PACKED] = seal.packed(_compact(seal.raw(root)) if before is not None else b"{}\n")
    problem = results.provenance(dataset)["problem"]
    described = _manifest(kept, plain, notes, left_out, problem, content[results.NAME])
    content[manifest_file.NAME] = (json.dumps(described, indent=1) + "\n").encode()
    folder = records.path(to, study_file.name, preset)
    said += _compare(folder, small, replace)
    said += _stale(study_file, request, kept)
    records.write(folder, content)
    size, whole = sum(map(len, content.values())), total(to)
    said.append(f"{folder}: {size / 1e6:.2f} MB" + (f", without {', '.join(left_out)}" if left_out else ""))
    if whole > MOST:
        raise UserError(
            f"the records in {to / records.FOLDER} take {whole / 1e6:.1f} MB; at most {MOST / 1e6:g} are meant"
        )
    return said


def _compact(content: str) -> bytes:
    """Return JSON without what is there for the eye, a third of the bytes of rules."""
    return json.dumps(json.loads(content), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def total(out: Path) -> int:
    """Return the bytes that all records of an outputs folder take."""
    return sum((folder / name).stat().st_size for _, _, folder in records.every(out) for name in records.FILES)


def _refuse_unfit(dataset: xr.Dataset, kept: Mapping[str, Any], root: Path) -> None:
    """Refuse what is no complete run of a preset as the study file states it."""
    asked = kept.get("request", {})
    changed = [f"--set {key}" for key in asked.get("settings") or {}] + ["--seed"] * (asked.get("seed") is not None)
    if changed:
        raise InputError(
            f"{root} was run with {', '.join(changed)}; a record is of a preset as the study file states it"
        )
    if missing := int(dataset.attrs.get("count_missing", 0)):
        raise InputError(f"{root} lacks {missing} replicates; a record is of a complete run")
    if dataset.attrs.get("accepted_stale"):
        raise InputError(f"{root} holds results of several versions of the code (--accept-stale), which are no record")


def _tables(dataset: xr.Dataset, study: Study, preset: str, root: Path) -> dict[str, bytes]:
    """Judge a dataset by the study file as it is now, beside the rules of the run."""
    evidence = Evidence(dataset, defaults.filled(study, dataset), preset)
    before = {row["claim"]: row for row in stored_runs.read_claims(root / "claims.csv") or []}
    judged, _ = judge_sealed(evidence, seal.read(root), before)
    made = {"claims.csv": tables.claims(judged), "rates.csv": tables.rates(evidence)}
    return {name: csv_text.dump(table).encode() for name, table in made.items()}


def _shown(study: Study, preset: str, root: Path, folder: Path, dataset: xr.Dataset) -> dict[str, str]:
    """Return what a report shows of a dataset: file -> text."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        if any((root / file).is_file() for file in (seal.NAME, seal.PACKED)):
            (place / seal.NAME).write_bytes(seal.raw(root).encode())
        if (root / "claims.csv").is_file():
            (place / "claims.csv").write_bytes(bounded.read(root / "claims.csv"))
        write_outputs(dataset, study, preset, place, provenance=results.provenance(dataset))
        texts = {p.name: p.read_text(encoding="utf-8") for p in sorted(place.iterdir()) if p.name.endswith(SHOWN)}
    return {name: _without_chance(text) if name.endswith(".svg") else text for name, text in texts.items()}


def _without_chance(drawing: str) -> str:
    """Return an SVG without names that hold an address, which is another one at each drawing: those of clip paths."""
    return re.sub(r"\bp[0-9a-f]{10}\b", "p", drawing)


def _alike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two reports show the same: texts to the letter, drawings to a thousandth of a point."""
    return one.keys() == other.keys() and all(
        text == other[name] or name.endswith(".svg") and _same_drawing(text, other[name]) for name, text in one.items()
    )


def _same_drawing(one: str, other: str) -> bool:
    """Return whether two SVG differ by no more than the last digits of a layout, which move by chance."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    places = [np.array(NUMBER.findall(text), dtype=np.float64) for text in (one, other)]
    return bool(np.all(np.abs(places[0] - places[1]) <= 1e-3))


def _condensed(
    dataset: xr.Dataset, study_file: StudyFile, request: Request, root: Path
) -> tuple[xr.Dataset, list[str]]:
    """Return the dataset with what its readers make of it, and the names of bulky variables that none of them reads."""
    bulky = [
        str(name)
        for name, array in dataset.data_vars.items()
        if array.ndim > dataset["status"].ndim and array.nbytes > BULKY
    ]
    for reader, preset in needs.readers(study_file.name, request.preset) if bulky else []:
        condense = experiments.condenser(reader)
        if condense is None:  # it may read any of them
            return dataset, []
        source = Source(root / results.NAME, "", dataset, request.command())
        dataset = condense(source, plan.make(reader, preset).arms)
    return dataset, bulky


def _smaller(
    dataset: xr.Dataset, bulky: list[str], study: Study, show: Callable[[xr.Dataset], Mapping[str, str]]
) -> xr.Dataset:
    """Return the dataset without those of some bulky variables that nothing shows."""
    if not bulky:
        return dataset
    shown = show(dataset)
    counted = {figure.per for figure in study.figures}

    def without(names: tuple[str, ...]) -> xr.Dataset:
        numbers = {NUMBERS.format(name): json.dumps(numbers_of(dataset, name)) for name in names if name in counted}
        return dataset.drop_vars(list(names)).assign_attrs(numbers)

    @functools.cache  # a report takes seconds to draw
    def spare(names: tuple[str, ...]) -> bool:
        return not names or _alike(show(without(names)), shown)

    idle = _idle(tuple(bulky), spare)
    return without(idle) if spare(idle) else dataset


def _idle(names: tuple[str, ...], spare: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Return the names that can be spared, halving what cannot be spared together."""
    if spare(names):
        return names
    half = len(names) // 2
    return _idle(names[:half], spare) + _idle(names[half:], spare) if half else ()


def _portable(text: str, out: Path) -> str:
    """Name files of an outputs folder as they are named in a checkout."""
    for folder in (str(out.resolve()), str(out)):
        text = re.sub(rf"(?<![\w/.~-]){re.escape(folder)}/", "outputs/", text)
    return text


def _portable_texts(array: xr.DataArray, out: Path) -> xr.DataArray:
    """Do so in the texts of a variable: messages of failures, sources of a study that reads others."""
    if array.dtype.kind not in "OU":
        return array
    values = np.array([_portable(str(text), out) for text in array.values.ravel()], dtype=object)
    return array.copy(data=values.reshape(array.shape))


def _refuse_changed(dataset: xr.Dataset, content: bytes) -> None:
    """Read the bytes of a record back: every variable must be what it was, to the last bit."""
    with xr.open_dataset(io.BytesIO(content), engine="h5netcdf", decode_times=False, decode_timedelta=False) as kept:
        again = results.in_order(kept.load())
        for name, variable in dataset.variables.items():
            pair = (Variable(tuple(map(str, v.dims)), v.values) for v in (variable, again.variables[name]))
            if text := difference(*pair):
                raise UserError(f"{name} cannot be kept as it is in compressed netCDF: it {text}")


def _manifest(
    kept: Mapping[str, Any],
    plain: Request,
    notes: list[str],
    left_out: list[str],
    problem: list[str],
    packed: bytes,
) -> dict[str, Any]:
    origins = [{key: o[key] for key in (*ORIGIN, "replicates") if o.get(key)} for o in kept.get("origins", []) if o]
    cells = kept.get("cells", [])
    seconds = cells if isinstance(cells, dict) else {row["digest"][:16]: row["seconds"] for row in cells}
    return {key: kept[key] for key in KEPT if key in kept} | {
        "file": f"{Path(plain.study).stem}.py",
        "command": plain.command(),
        "origins": origins,
        "state": "record",
        "problem": problem,
        "notes": notes,
        "left_out": left_out,
        "results_sha256": hashlib.sha256(packed).hexdigest(),
        "run_sha256": kept.get("run_sha256", kept.get("results_sha256")),
        "cells": seconds,
    }


def _compare(folder: Path, new: xr.Dataset, replace: bool) -> list[str]:
    """Say what becomes of a record that is there; refuse to change its numbers unasked."""
    if not records.is_record(folder):
        return []
    old = results.read(folder / results.NAME)
    left_out = {name for dataset in (old, new) for name in str(dataset.attrs.get("left_out", "")).split(", ")}
    names = [str(name) for name in {**old.variables, **new.variables} if name not in left_out]
    other = [name for name in names if not (name in old.variables and name in new.variables)]
    other += [name for name in names if name not in other and _differs(old[name], new[name])]
    if not other:
        return [f"{folder}: the same numbers as before, judged again"]
    if not replace:
        raise UserError(
            f"{folder} is a record with other numbers ({', '.join(other[:5])}); compare them with: moestat diff, and "
            "give --replace to put the new ones in its place"
        )
    return [f"{folder}: replaced; other numbers in {', '.join(other[:5])}"]


def _differs(old: xr.DataArray, new: xr.DataArray) -> bool:
    pair = (Variable(tuple(map(str, array.dims)), array.values) for array in (old, new))
    return not new.attrs.get("measurement") and bool(difference(*pair))


def _stale(study_file: StudyFile, request: Request, kept: Mapping[str, Any]) -> list[str]:
    """Say so if the version that computed is not today's; what an older moestat recorded of it cannot be compared."""
    changes = versions.since(kept.get("code") or {}, begin.version_of(begin.make_plan(request)))
    return (
        [f"{study_file.name}: computed by another version than today's ({'; '.join(changes[:3])})"] if changes else []
    )
