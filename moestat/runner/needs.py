"""What a study reads from the results of other studies, and the commands that make what is missing."""

from __future__ import annotations

from dataclasses import replace

from moestat.errors import InputError
from moestat.runner import results
from moestat.runner.request import Request
from moestat.study import load
from moestat.study.load import StudyFile


def missing(study_file: StudyFile, request: Request) -> list[str]:
    """Return the commands that make the results which a study needs and which are not there.

    A needed study is looked for at the preset that is asked for, or at ``quick`` if it has no preset of that name.
    """
    commands = []
    for name in study_file.study.needs:
        try:
            known = load.read(name).study.presets
        except InputError:  # a study of the user's own folder, say; its results may be there all the same
            known = {}
        preset = request.preset if request.preset in known or not known else "quick"
        if not (request.out / name / preset / results.NAME).is_file():
            plain = Request(study=name, preset=preset, out=request.out)
            commands.append(replace(plain, device=request.device, jobs=request.jobs).command())
    return commands


def sentence(study_file: StudyFile, commands: list[str]) -> str:
    """Say which results are missing, and how to make them."""
    which = "one of them is" if len(commands) == 1 else f"{len(commands)} of them are"
    names = ", ".join(study_file.study.needs)
    return (
        f"{study_file.shown} reads the results of other studies ({names}); {which} missing. Make them first with: "
        + "; then ".join(commands)
    )
