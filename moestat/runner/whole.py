"""Whole results of records: every variable with every bit, kept apart from the repository, and fetched from there.

A package is a folder, here or on a web server, of files ``<study>-<preset>.nc``. The manifest of each record has the
SHA-256 of its file, so that a package needs to be trusted by nobody. What is fetched lies beside the record as
``whole.nc``, which git ignores, and is read in its place.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from moestat import bounded, extras, files
from moestat.errors import InputError, UserError
from moestat.runner import manifest_file, records, results
from moestat.study import load

WEB = ("http://", "https://", "doi:")


def name_of(study: str, preset: str) -> str:
    """Return the name of a file of a package."""
    return f"{study}-{preset}.nc"


def put(package: Path, study: str, preset: str, content: bytes) -> Path:
    """Add the whole results of a study at a preset to a package."""
    path = package / name_of(study, preset)
    package.mkdir(parents=True, exist_ok=True)
    files.write(path, content)
    return path


def fetch(study: str, preset: str, out: Path, package: str) -> Path:
    """Put the whole results of a record beside it, and return where they lie.

    ``package`` is a folder, or the address of one: of a web server, or ``doi:`` and the DOI of an archive. Raises
    InputError if there is no such record, or no whole results of it; UserError if the package has others, or cannot be
    reached.
    """
    study_file = load.read(study)
    load.need_preset(study_file, preset)
    folder, name = records.place(out, study_file.name, preset), name_of(study_file.name, preset)
    if not records.is_record(folder):
        raise InputError(f"there is no record in {folder}; {records.others(out, study_file)}")
    records.check(folder)
    wanted = str(manifest_file.read(folder).get("whole_sha256", ""))
    if package.startswith(WEB):
        content = _downloaded(f"{package.rstrip('/')}/{name}", wanted)
    else:
        try:
            content = bounded.read(Path(package).expanduser() / name)
        except bounded.DataFileError as error:
            raise InputError(str(error)) from None
    if hashlib.sha256(content).hexdigest() != wanted:
        raise UserError(f"{name} of {package} is not what the record in {folder} was made of: its SHA-256 is another")
    files.write(folder / results.WHOLE, content)
    return folder / results.WHOLE


def _downloaded(address: str, sha256: str) -> bytes:
    try:
        import pooch
    except ImportError:
        raise InputError(f"to fetch from the web needs pooch; install it: {extras.command('data')}") from None
    with tempfile.TemporaryDirectory() as place:
        try:
            return Path(pooch.retrieve(address, f"sha256:{sha256}", "whole", place)).read_bytes()
        except (OSError, ValueError) as error:
            raise UserError(f"{address} cannot be fetched: {' '.join(str(error).split())}") from None
