"""How typical the truths are of studies that rest on a few drawn ones, as a table made from the study files."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from moestat.rounding import number
from moestat.runner import plan
from moestat.study import load
from studies.sigmoid_attention.parts import typicality
from studies.sigmoid_attention.parts.regression_settings import Settings

STUDIES = Path(__file__).resolve().parents[1] / "studies"
PAPER = "sigmoid-attention"


class Row(NamedTuple):
    """A law of truths in a study: the presets that draw from it, the largest size of any, and how many are drawn."""

    study: str
    presets: list[str]
    seed: int
    settings: Settings


def rows(folder: Path = STUDIES) -> Iterator[Row]:
    """Yield every law of which a study draws between one truth and nine, in the order of the study files."""
    for path in load.known_studies([folder]).values():
        file = load.read(path)
        if file.study.paper != PAPER or file.study.experiment not in typicality.EXPERIMENTS:
            continue
        found: dict[tuple, Row] = {}
        for preset in file.study.presets:
            cells = sorted(plan.make(file, preset).cells, key=lambda planned: planned.cell.settings["n"])
            for planned in {planned.cell.arm: planned for planned in cells}.values():  # the largest n of each arm
                one = Settings(**planned.cell.settings)
                if one.truth or one.truths > typicality.MOST:
                    continue
                key = (str(one.problem.data_identity), one.noise_variance, one.truths)
                row = found.setdefault(key, Row(path.stem, [], planned.cell.study_seed, one))
                if preset not in row.presets:
                    row.presets.append(preset)
                if one.n > row.settings.n:
                    found[key] = row._replace(settings=one)
        yield from found.values()


def page(folder: Path = STUDIES) -> str:
    """Return one Markdown table: study, law, Fisher lines of its truths and of forty others, how many are higher."""
    lines = [
        "| study | presets | law | n | its truths | forty others | higher |",
        "| --- | --- | --- | ---: | --- | --- | --- |",
    ]
    before = ""
    for row in rows(folder):
        s = row.settings
        place = typicality.place_of(s.problem, row.seed, s.truths)
        own, others = (found / np.sqrt(s.n) for found in place.lines)
        law = f"{s.truth_gate}, {s.regime}, {s.expert}, d = {s.d}, N\\* = {s.n_true}"
        of_each = zip(own, place.outside, strict=True)
        lines_of = ", ".join(f"**{typicality.shown(v)}**" if far else typicality.shown(v) for v, far in of_each)
        higher = ", ".join(str(rank - 1) for rank in place.rank)
        name = "" if row.study == before else f"`{row.study}`"
        presets = ", ".join(f"`{preset}`" for preset in row.presets)
        told = typicality.told(others)
        lines.append(f"| {name} | {presets} | {law} | {number(s.n)} | {lines_of} | {told} | {higher} |")
        before = row.study
    return "\n".join(lines) + "\n"
