"""What every preset of every study is to its paper, and what it costs, as tables made from the study files."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from moestat.claims.verdicts import judged
from moestat.runner import manifest_file
from moestat.runner.progress import duration
from moestat.runner.request import Request
from moestat.study import contents, load
from moestat.study.spec import Study

STUDIES = Path(__file__).resolve().parents[1] / "studies"
RECORDS = STUDIES.parent / "outputs" / "records"


def page(folder: Path = STUDIES) -> str:
    """Return one Markdown table per paper: study, preset, scale, and what is run."""
    studies = {path.stem: load.read(path).study for path in load.known_studies([folder]).values()}
    parts = []
    for paper, members in groupby(sorted(studies.items(), key=lambda item: item[1].paper), key=lambda i: i[1].paper):
        parts += [f"## {paper}", _problem(paper), "\n".join(_table(members))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _problem(paper: str) -> str:
    """Return what a paper's own problem is, as Markdown."""
    listed = contents.read(paper)
    return "" if listed is None else listed.problem.replace("*", r"\*")


def _table(studies: Iterable[tuple[str, Study]]) -> list[str]:
    lines = ["| study | preset | scale | what is run |", "| --- | --- | --- | --- |"]
    for name, study in studies:
        for place, (preset, content) in enumerate(study.presets.items()):
            first = "" if place else f"`{name}`"
            about = content.about.replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
            lines.append(f"| {first} | `{preset}` | {_scale(study, preset)} | {about} |")
    return lines


def _scale(study: Study, preset: str) -> str:
    """Return the scale of a preset, and how many claims are judged at another one."""
    whole = study.scale_of(preset)
    others = Counter(study.scale_of(preset, claim) for claim in judged(study, preset))
    apart = [f"{count} of {others.total()} claims {scale}" for scale, count in others.items() if scale != whole]
    return f"**{whole}**" + "".join(f"; {text}" for text in apart)


def missing(folder: Path = STUDIES, records: Path = RECORDS) -> str:
    """Return one Markdown table of the presets without a record: command, stated cost, and what was run instead.

    A `quick` one, a matter of minutes, has none where the record of another preset decides all its claims.
    """
    lines = ["| what has not been run | scale | stated cost | what was run instead |", "| --- | --- | --- | --- |"]
    for path in load.known_studies([folder]).values():
        study = load.read(path).study
        there = [preset for preset in study.presets if (records / path.stem / preset / "results.nc").is_file()]
        instead = ", ".join(f"`{preset}` ({study.scale_of(preset)})" for preset in there) or "nothing"
        for preset, content in study.presets.items():
            if preset not in there and not (preset == "quick" and there):
                command = Request(path.stem, preset).command()
                cost = content.expected or "not stated"
                lines.append(f"| `{command}` | {study.scale_of(preset)} | {cost} | {instead} |")
    return "\n".join(lines) + "\n"


def costs(folder: Path = STUDIES, records: Path = RECORDS) -> str:
    """Return one Markdown table of the presets with a record: what it states to cost, and what its run took.

    Below it: what all records took together, and those of presets `paper`.
    """
    lines = ["| study | preset | stated | the record took | replicates |", "| --- | --- | --- | ---: | ---: |"]
    runs: list[tuple[str, float]] = []
    for path in load.known_studies([folder]).values():
        for preset, content in load.read(path).study.presets.items():
            kept = manifest_file.read(records / path.stem / preset)
            if not kept:
                continue
            took, count = sum(kept["cells"].values()), kept["tally"]["replicates"]
            cost = duration(took) + (f", {duration(took / count)} each" if took >= count else "")
            lines.append(f"| `{path.stem}` | `{preset}` | {content.expected or 'not stated'} | {cost} | {count} |")
            runs.append((preset, took / 2))
    of_paper = [run for run in runs if run[0] == "paper"]
    lines.append(f"\nAll records {_together(runs, ' on two cores')}. Those of presets `paper` {_together(of_paper)}.")
    return "\n".join(lines) + "\n"


def _together(runs: list[tuple[str, float]], where: str = "") -> str:
    """Say how many runs there are, and what they took; of (preset, took)."""
    return f"({len(runs)}): {duration(sum(took for _, took in runs))}{where}"
