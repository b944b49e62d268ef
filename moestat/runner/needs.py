"""What a study reads from the results of other studies, and the commands that make what is missing."""

from __future__ import annotations

from dataclasses import replace

from moestat.errors import InputError
from moestat.runner import records, results
from moestat.runner.request import Request
from moestat.study import load
from moestat.study.load import StudyFile


def requests(study_file: StudyFile, request: Request) -> list[Request]:
    """Return what makes the results that a study needs.

    A needed study is looked for at the preset that is asked for, or at ``quick`` if it has no preset of that name.
    """
    requested = []
    for name in study_file.study.needs:
        try:
            known = load.read(name).study.presets
        except InputError:  # a study of the user's own folder, say; its results may be there all the same
            known = {}
        preset = request.preset if request.preset in known or not known else "quick"
        plain = Request(study=name, preset=preset, out=request.out)
        requested.append(replace(plain, device=request.device, jobs=request.jobs))
    return requested


def readers(name: str, preset: str) -> list[tuple[StudyFile, str]]:
    """Return the known studies, each with a preset of its own, that read what a study has at a preset."""
    known = (load.read(path) for path in load.known_studies().values())
    return [
        (reader, own)
        for reader in known
        if name in reader.study.needs
        for own in reader.study.presets
        for needed in requests(reader, Request(study=reader.name, preset=own))
        if (needed.study, needed.preset) == (name, preset)
    ]


def refuse_missing(study_file: StudyFile, request: Request) -> None:
    """Refuse to go on without the results that a study needs.

    Raises
    ------
    InputError
        It says which commands make what is missing.
    """
    commands = [
        needed.command()
        for needed in requests(study_file, request)
        if not (records.results_folder(needed.out, needed.study, needed.preset) / results.NAME).is_file()
    ]
    if commands:
        which = "one of them is" if len(commands) == 1 else f"{len(commands)} of them are"
        names = ", ".join(study_file.study.needs)
        raise InputError(
            f"{study_file.shown} reads the results of other studies ({names}); {which} missing. Make them first with: "
            + "; then ".join(commands)
        )
