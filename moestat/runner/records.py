"""Records: results that are kept in version control, in ``<outputs>/records/<study>/<preset>/``, and read from there.

A record is what a run left behind, made small: its numbers in 32 bits (:mod:`moestat.runner.rounded`) and compressed,
its tables, rules and manifest, and ``SHA256SUMS`` over them. Results of one's own, in ``<outputs>/<study>/<preset>/``,
come first wherever results are read, and neither is ever written over the other. :mod:`moestat.report.shipping` makes
records, and :func:`moestat.runner.replay.verify` computes a sample of one again.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat import bounded, files
from moestat.errors import InputError, StaleError, UserError
from moestat.runner import digests, manifest_file, results
from moestat.runner.request import Request
from moestat.sentences import listed
from moestat.study import seal
from moestat.study.load import StudyFile
from moestat.study.spec import Study

if TYPE_CHECKING:
    import xarray as xr

FOLDER = "records"
SUMS = "SHA256SUMS"
FILES = (results.PACKED, "claims.csv", "rates.csv", seal.PACKED, manifest_file.NAME)
INSTALLED = Path(__file__).resolve().parents[1] / "kept"
"""Outputs folder of the records that come with an installed package; a checkout has none."""
MADE = "report"
"""Folder, beside the files of a record and not under version control, of the reports that are made from it."""
SHUFFLED = 200
"""Bytes from which those of the numbers of a variable are sorted by place, which makes them easier to pack."""
FORMAT = ("v110", "latest")
"""HDF5 of 2016 or later: what it notes about every variable is shorter, by a fifth of all records."""


def path(out: Path, study: str, preset: str) -> Path:
    """Return the folder of a record, whether it exists or not."""
    return out / FOLDER / study / preset


def every(out: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield study, preset and folder of each record of an outputs folder, in order."""
    for sums in sorted((out / FOLDER).glob(f"*/*/{SUMS}")):
        yield sums.parent.parent.name, sums.parent.name, sums.parent


def is_record(folder: Path) -> bool:
    """Return whether a folder holds a record."""
    return (folder / SUMS).is_file()


def place(out: Path, study: str, preset: str) -> Path:
    """Return the folder of a record: in an outputs folder, else with the installed package, else where it would be."""
    own, installed = path(out, study, preset), path(INSTALLED, study, preset)
    return installed if is_record(installed) and not is_record(own) else own


def results_folder(out: Path, study: str, preset: str) -> Path:
    """Return the folder of results to read: of a run of one's own, else of a record, else where a run would write.

    Raises StaleError if the record was changed after it was made.
    """
    own, kept = out / study / preset, place(out, study, preset)
    if (own / results.NAME).is_file() or not is_record(kept):
        return own
    check(kept)
    return kept


def read(folder: Path, study_file: StudyFile, request: Request) -> xr.Dataset:
    """Read the results of a study in a folder, its own or those of a record, with the names of today.

    Raises InputError if there are none: the message names the presets that have some, and the command that makes these;
    StaleError if they are results of another study, or their rules cannot be told.
    """
    from moestat.runner import labels  # imports what experiments are made of

    file = results.of(folder)
    if not file.is_file():
        name, out = study_file.name, request.out
        others = [
            preset
            for preset in study_file.study.presets
            if is_record(place(out, name, preset)) or (out / name / preset / results.NAME).is_file()
        ]
        those = f"there are results of the presets {listed(others)}; " if others else ""
        raise InputError(f"there is no {file}; {those}run the study with: {request.command()}")
    dataset = results.read(file)
    problem = problem_of(results.provenance(dataset)["problem"])
    if others := differing(problem, study_file.study, request.preset):
        raise StaleError(
            f"{file} holds results of {', '.join(others)} than {study_file.shown} now asks for"
            f"{_code(dataset, study_file.study)}; give these results "
            f"their own folder (--out), or compute again with: {request.command()}"
        )
    sealed, rules = seal.read(folder), str(dataset.attrs.get("rules", ""))
    if rules and (sealed is None or sealed.digest != rules):
        raise StaleError(
            f"{folder / seal.NAME}, the rules as they were when the run started, was changed or removed; results "
            f"judged by rules that cannot be told must be computed again: {request.command()} --fresh"
        )
    return labels.described(dataset)


def others(out: Path, study_file: StudyFile) -> str:
    """Say at which presets a study has records, as a hint where that asked for has none."""
    known = [preset for preset in study_file.study.presets if is_record(place(out, study_file.name, preset))]
    return f"there are records of --preset {listed(known)}" if known else "records are made with the subcommand ship"


def problem_of(lines: Iterable[str]) -> dict[str, str]:
    """Return what results are results of, from the lines KEY=TEXT in which a manifest or a dataset keeps it."""
    return dict(line.split("=", 1) for line in lines if "=" in line)


def differing(written: Mapping[str, str], study: Study, preset: str) -> list[str]:
    """Return in words what results are of that a study at a preset is not; what is not known does not differ."""
    other = [key for key, text in seal.problem(study, preset).items() if written.get(key, text) != text]
    return [f"other {key}" if key in ("settings", "arms") else f"another {key}" for key in other]


def report_folder(folder: Path, out: Path) -> Path:
    """Return the folder in which a report of results is made: theirs, or one among the records of an outputs folder.

    A record is judged by its rules as they were, so they go along.
    """
    if not is_record(folder):
        return folder
    made = path(out, folder.parent.name, folder.name) / MADE
    made.mkdir(parents=True, exist_ok=True)
    for name, content in ((seal.NAME, seal.raw(folder)), ("claims.csv", bounded.text(folder / "claims.csv"))):
        files.write(made / name, content.encode(), durable=False)
    return made


def _code(dataset: xr.Dataset, study: Study) -> str:
    """Say which parts of functions that travel to workers (:mod:`moestat.callables`) differ; "" where none do."""
    try:
        kept = json.loads(dataset.attrs["settings"])
        pairs = [(kept[arm.name]["code"], arm.settings["code"]) for arm in study.arms if arm.name in kept]
        names = {str(part) for old, new in pairs for part in {**old, **new} if old.get(part) != new.get(part)}
    except (ValueError, KeyError, TypeError, AttributeError):  # other settings, or a file that somebody made
        return ""
    return f" (code: {listed(sorted(names), 4)})" if names else ""


def check(folder: Path, names: Sequence[str] = FILES) -> None:
    """Compare the files of a record with its digests.

    Raises StaleError if one is missing or another one; UserError if there are no digests that can be read, or one of
    the files is none.
    """
    try:
        lines = [line.split(maxsplit=1) for line in bounded.text(folder / SUMS).splitlines()]
        wanted = {name: digest for digest, name in lines}
        found = {name: _digest(bounded.read(folder / name)) for name in names if (folder / name).exists()}
    except ValueError as error:
        raise UserError(f"{folder} is no record that can be read ({error})") from None
    for name in names:
        if wanted.get(name) != found.get(name, "missing"):
            raise StaleError(
                f"{folder / name} is {'not the one that was recorded' if name in found else 'missing'}: its "
                f"SHA-256 is not that of {SUMS}; get it again (git checkout), or remove the record"
            )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(folder: Path, content: Mapping[str, bytes]) -> None:
    """Put the files of a record in place, the digests last: a record that is cut off does not pass its check."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMS).unlink(missing_ok=True)
    for name in FILES:
        files.write(folder / name, content[name])
    files.write(folder / SUMS, "".join(f"{_digest(content[name])}  {name}\n" for name in FILES).encode())


def packed(dataset: xr.Dataset) -> bytes:
    """Return a dataset as netCDF packed by xz, from which every number comes back to the last bit."""
    return lzma.compress(netcdf(dataset, deflated=False), preset=9)


def netcdf(dataset: xr.Dataset, *, deflated: bool = True) -> bytes:
    """Return a dataset as netCDF, packed by HDF5 if it is ``deflated``, from which every number comes back, too."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    dataset = digests.stamped(dataset)
    how: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "fiub" and variable.nbytes > SHUFFLED:
            # in one piece: a record is read whole, and the pieces of a padded variable are bookkeeping for nothing
            how[str(name)] = {"shuffle": True, "chunksizes": variable.shape}
            how[str(name)] |= {"zlib": True, "complevel": 9} if deflated else {}
    content = io.BytesIO()
    with h5netcdf.File(content, "w", libver=FORMAT) as file:  # to_netcdf has no way to say so
        dataset.dump_to_store(H5NetCDFStore(file), encoding=how)
    return content.getvalue()
