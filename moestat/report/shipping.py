"""Make records: a complete run, made small enough for version control; see :mod:`moestat.runner.records`.

Numbers are kept in 32 bits if every verdict comes out as it does with 64, to four digits. What is left out are bulky
variables (fitted parameters, tables of every pair of an expert and a cluster) that no claim, table or figure shows: the
run is judged and drawn without them, and comes out the same. If another study reads such a variable, what it makes of
it is kept in its place, or the variable itself.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from moestat import bounded
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import Verdict, judge_sealed
from moestat.errors import InputError, UserError
from moestat.experiment import Source
from moestat.report import csv_text, ledger, tables, write
from moestat.runner import experiments, manifest_file, needs, netcdf, plan, records, results, rounded
from moestat.runner import whole as packages
from moestat.runner.difference import difference
from moestat.runner.request import Request
from moestat.study import load, seal
from moestat.study.load import StudyFile
from moestat.study.spec import Study

BULKY = 100_000
"""Bytes from which a variable is left out if nothing shows it."""
MOST = 15_000_000
"""Bytes that all records may take together."""
KEPT = ("study", "title", "preset", "experiment", "seed", "request", "versions", "code", "rules", "tally", "updated")
"""What the manifest of a record takes from that of the run; nothing of it names a folder of the machine."""
ORIGIN = ["cpu", "blas", "simd", "kernel", "device", "moestat", "python", "platform", "replicates"]
ORIGIN += ["numpy", "scipy", "numba", "torch"]
LEFT_OUT = "left out of this record:"


def ship(
    study: str, preset: str, out: Path, to: Path, *, replace: bool = False, whole: Path | None = None
) -> list[str]:
    """Make the record of a study at a preset, or judge the one that is there again; return what is to be said.

    Parameters
    ----------
    out, to : Path
        The outputs folders of the results (or of the record that is judged again), and of the record.
    replace : bool
        Whether numbers of a record that is there may become others; without it that is refused, with a UserError, as
        is what makes no record of the preset as the study states it (incomplete, edited, of other settings).
    whole : Path, optional
        Folder of a package of whole results, to which the run's are added (:mod:`moestat.runner.whole`).
    """
    study_file = load.read(study)
    load.need_preset(study_file, preset)
    request = Request(study=study, preset=preset, out=out)
    root = records.results_folder(out, study_file.name, preset)
    dataset = records.read(root, study_file, request)
    kept, about = manifest_file.read(root), results.provenance(dataset)
    _refuse_unfit(dataset, kept, root)
    small = _smaller(*_condensed(dataset, study_file, request, root), study_file.study, preset)
    from_run = not records.is_record(root)
    pack = records.netcdf(_without_places(dataset, out)) if from_run else b""
    left_out = [name for name in str(dataset.attrs.get("left_out", "")).split(", ") if name]
    left_out += [str(name) for name in dataset.variables if name not in small.variables]
    notes = [_portable(line, out) for line in about["notes"] if not line.startswith(LEFT_OUT)]
    if left_out:
        notes.append(f"{LEFT_OUT} {', '.join(left_out)}; no claim, table or figure shows them, and replay gives them")
    named = study_file.name if Path(study).is_absolute() else study
    plain = Request(study=named, preset=preset, replicates=kept.get("request", {}).get("replicates"))
    small = _without_places(small, out)
    told = {"command": plain.command(), "notes": "\n".join(notes), "left_out": ", ".join(left_out)}
    small = small.assign_attrs(told)
    before = {row["claim"]: row for row in ledger.read_claims(root / "claims.csv") or []}
    sealed = seal.read(root)

    def judged(dataset: xr.Dataset) -> tuple[Evidence, list[Verdict]]:
        evidence = Evidence(dataset, write.filled(study_file.study, dataset), preset)
        return evidence, judge_sealed(evidence, sealed, before)[0]

    evidence, verdicts = judged(small)
    if not rounded.names(small):
        small = _rounded(small, study_file.study, lambda dataset: _told(judged(dataset)[1]))
    unchanged = not from_run and small.identical(dataset)
    packed = bounded.read(root / results.PACKED) if unchanged else records.packed(small)
    if not unchanged:
        _refuse_changed(small, packed)
    rules = json.loads(seal.raw(root)) if sealed is not None else {}
    described = _manifest(kept, plain, packed) | {"problem": about["problem"], "notes": notes, "left_out": left_out}
    described["whole_sha256"] = hashlib.sha256(pack).hexdigest() if from_run else kept.get("whole_sha256", "")
    texts = {"claims.csv": csv_text.dump(tables.claims(verdicts)), "rates.csv": csv_text.dump(tables.rates(evidence))}
    if not from_run:
        texts = {name: _with_its_digits(text, bounded.text(root / name)) for name, text in texts.items()}
    content = {
        results.PACKED: packed,
        **{name: text.encode() for name, text in texts.items()},
        seal.PACKED: seal.packed(json.dumps(rules, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"),
        manifest_file.NAME: (json.dumps(described, indent=1) + "\n").encode(),
    }
    folder = records.path(to, study_file.name, preset)
    said = _compare(folder, small, replace)
    records.write(folder, content)
    if from_run:
        (folder / results.WHOLE).unlink(missing_ok=True)  # of the record before
    if whole is not None and from_run:
        said.append(f"{packages.put(whole, study_file.name, preset, pack)}: {len(pack) / 1e6:.2f} MB")
    size, together = sum(map(len, content.values())), total(to)
    said.append(f"{folder}: {size / 1e6:.2f} MB" + (f", without {', '.join(left_out)}" if left_out else ""))
    if together > MOST:
        raise UserError(f"the records in {to / records.FOLDER} take {together / 1e6:.1f} MB; at most {MOST / 1e6:g}")
    return said


def total(out: Path) -> int:
    """Return the bytes that all records of an outputs folder take."""
    return sum((folder / name).stat().st_size for _, _, folder in records.every(out) for name in records.FILES)


def _refuse_unfit(dataset: xr.Dataset, kept: Mapping[str, Any], root: Path) -> None:
    """Refuse what is no complete run of a preset as the study file states it."""
    asked = kept.get("request", {})
    changed = [f"--set {key}" for key in asked.get("settings") or {}] + ["--seed"] * (asked.get("seed") is not None)
    if changed:
        said = f"{root} was run with {', '.join(changed)}; a record is of a preset as the study file states it"
        raise InputError(said)
    if missing := int(dataset.attrs.get("count_missing", 0)):
        raise InputError(f"{root} lacks {missing} replicates; a record is of a complete run")


# --- what may be left out --------------------------------------------------------------------------------------------


def _condensed(
    dataset: xr.Dataset, study_file: StudyFile, request: Request, root: Path
) -> tuple[xr.Dataset, list[str]]:
    """Return the dataset with what its readers make of it, and the names of bulky variables that none of them reads."""
    own = dataset["status"].ndim
    bulky = [str(name) for name, array in dataset.data_vars.items() if array.ndim > own and array.nbytes > BULKY]
    for reader, preset in needs.readers(study_file.name, request.preset) if bulky else []:
        condense = experiments.condenser(reader)
        if condense is None:  # it may read any of them
            return dataset, []
        source = Source(results.of(root), "", dataset, request.command())
        dataset = condense(source, plan.make(reader, preset).arms)
    return dataset, bulky


def _smaller(dataset: xr.Dataset, bulky: list[str], study: Study, preset: str) -> xr.Dataset:
    """Return the dataset without those of some bulky variables that nothing shows."""
    shown = _shown(dataset, study, preset) if bulky else {}
    for name in bulky:
        if _shown(without := dataset.drop_vars(name), study, preset) == shown:
            dataset = without
    return dataset


def _shown(dataset: xr.Dataset, study: Study, preset: str) -> dict[str, bytes]:
    """Return the files that a run shows: verdicts, tables and figures."""
    with tempfile.TemporaryDirectory() as folder:
        write.write_outputs(dataset, study, preset, Path(folder), provenance={})
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# --- what is written -------------------------------------------------------------------------------------------------


def _portable(text: str, out: Path) -> str:
    """Name files of an outputs folder as they are named in a checkout."""
    for folder in (str(out.resolve()), str(out)):
        text = re.sub(rf"(?<![\w/.~-]){re.escape(folder)}/", "outputs/", text)
    return text


def _without_places(dataset: xr.Dataset, out: Path) -> xr.Dataset:
    """Do so in the texts of a dataset."""
    return dataset.assign({name: _portable_texts(dataset[name], out) for name in dataset.data_vars})


def _rounded(dataset: xr.Dataset, study: Study, judge: Callable[[xr.Dataset], dict[str, str]]) -> xr.Dataset:
    """Return the dataset in 32 bits, but for variables of claims of which another thing would be told."""
    told, claims, kept = judge(dataset), {claim.id: claim for claim in study.claims}, set[str]()
    while True:
        short = rounded.rounded(dataset, kept)
        again = judge(rounded.whole(short))
        if not (others := [claims[name] for name in told if again[name] != told[name]]):
            return short
        wanted = {name for claim in others for name in (claim.variable, claim.versus_variable) if name} - kept
        kept |= wanted or set(map(str, dataset.data_vars))


def _told(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return by claim what is told of it: every digit in words, four of the numbers."""
    return {v.claim: f"{v.verdict} {v.estimate:.4g} {v.ci_low:.4g} {v.ci_high:.4g} {v.why}" for v in verdicts}


def _portable_texts(array: xr.DataArray, out: Path) -> xr.DataArray:
    """Do so in the texts of a variable: messages of failures, sources of a study that reads others."""
    if array.dtype.kind not in "OU":
        return array
    values = np.array([_portable(str(text), out) for text in array.values.ravel()], dtype=object)
    return array.copy(data=values.reshape(array.shape))


def _with_its_digits(text: str, before: str) -> str:
    """Return a table of numbers in 32 bits, with the rows of the one before that it agrees with as far as these go."""
    old, new = (list(csv.reader(io.StringIO(table, newline=""))) for table in (before, text))
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(next((o for o in old if _agree(o, row)), row) for row in new)
    return out.getvalue()


def _agree(old: Sequence[str], new: Sequence[str]) -> bool:
    def alike(one: str, other: str) -> bool:
        both = csv_text.NUMBER.fullmatch(one) and csv_text.NUMBER.fullmatch(other)
        return bool(both) and math.isclose(float(one), float(other), rel_tol=1e-5, abs_tol=1e-7)

    return len(old) == len(new) and all(o == n or alike(o, n) for o, n in zip(old, new, strict=True))


def _refuse_changed(dataset: xr.Dataset, content: bytes) -> None:
    """Read the bytes of a record back: every variable must be what it was, to the last bit."""
    again = netcdf.load(io.BytesIO(lzma.decompress(content)))
    for name in dataset.variables:
        if text := _difference(dataset[name], again[name]):
            raise UserError(f"{name} cannot be kept as it is in compressed netCDF: it {text}")


def _difference(one: xr.DataArray, other: xr.DataArray) -> str:
    return difference(one.values, other.values)


def _manifest(kept: Mapping[str, Any], plain: Request, packed: bytes) -> dict[str, Any]:
    origins = [{key: o[key] for key in ORIGIN if o.get(key)} for o in kept.get("origins", []) if o]
    return {key: kept[key] for key in (*KEPT, "verified") if key in kept} | {
        "file": f"{Path(plain.study).stem}.py",
        "command": plain.command(),
        "origins": origins,
        "state": "record",
        "results_sha256": hashlib.sha256(packed).hexdigest(),
        "run_sha256": kept.get("run_sha256", kept.get("results_sha256")),
        "cells": kept.get("cells", {}),
    }


def _compare(folder: Path, new: xr.Dataset, replace: bool) -> list[str]:
    """Say what becomes of a record that is there; refuse to change its numbers unasked."""
    if not records.is_record(folder):
        return []
    old = results.read(folder / results.PACKED)
    passed = {name for dataset in (old, new) for name in str(dataset.attrs.get("left_out", "")).split(", ")}
    passed |= {rounded.CHECKSUM} | {str(name) for name, array in new.variables.items() if "measurement" in array.attrs}
    other = sorted(set(map(str, set(old.variables) ^ set(new.variables))) - passed)
    both = {str(name) for name in new.variables if name in old.variables} - passed
    other += [name for name in sorted(both) if _difference(old[name], rounded.whole(new)[name])]
    if not other:
        return [f"{folder}: the same numbers as before, judged again"]
    if not replace:
        raise UserError(
            f"{folder} is a record with other numbers ({', '.join(other[:5])}); give --replace to put the new ones in "
            "its place"
        )
    return [f"{folder}: replaced; other numbers in {', '.join(other[:5])}"]
