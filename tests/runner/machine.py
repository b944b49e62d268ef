"""What the tests of the study machine share: study files, the command line, and comparisons of results."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from moestat.cli import main
from moestat.experiment import Cell
from moestat.report import write
from moestat.report.write import Drawn
from moestat.runner import shard

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

STUDY = """\
from moestat import Study
from moestat.study.rules import slope

study = Study(
    "The mean of normal draws",
    paper="none",
    source="a textbook",
    experiment="{experiment}",
    seed={seed},
    settings=dict({settings}),
    grid=dict({grid}),
)
study.preset("quick", replicates={replicates}, block={block})
study.arm("mean")
study.arm("median", kind="median")
study.rate("error")
study.claim(
    "mean-rate",
    "The mean converges like n^(-1/2).",
    slope("error", "mean").within(-0.6, -0.4, predicted=-0.5),
    source="a textbook",
)
{more}
"""


def write_study(
    folder: Path,
    *,
    name: str = "study",
    experiment: str = "toy",
    seed: int = 7,
    settings: str = "",
    grid: str = "n=[10, 40]",
    replicates: int = 6,
    block: int = 2,
    more: str = "",
) -> Path:
    """Write a study of the toy experiment: two arms, a grid, a preset 'quick'; a setting or an axis a line."""
    settings, grid = (", ".join(text.splitlines()) for text in (settings, grid))
    path = folder / f"{name}.py"
    values = {"experiment": experiment, "seed": seed, "settings": settings, "grid": grid, "more": more}
    path.write_text(STUDY.format(**values, replicates=replicates, block=block))
    return path


def inside(*words: object) -> tuple[int, str, str]:
    """Run the command line in this process; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def said(*words: object) -> str:
    """Run the command line in this process, where it must succeed; return stdout in one line."""
    code, out, err = inside(*words)
    assert code == 0, err
    return " ".join(out.split())


def run(study: Path, out: Path, *words: object, jobs: int = 1) -> tuple[int, str, str]:
    """Run a study without a report."""
    return inside(study, "--out", out, "--jobs", jobs, "--no-report", *words)


def own(folder: Path, name: str, body: str, head: str = "") -> str:
    """Write an experiment that runs the toy one after some lines of its own; return its name."""
    lines = "\n".join("    " + line for line in body.splitlines())
    (folder / f"{name}.py").write_text(
        f"import os, sys, time, signal, xarray\nimport toy\nfrom toy import Settings\n{head}\n"
        f"def run(cell, replicates, *, device):\n{lines}\n    return toy.run(cell, replicates, device=device)\n"
    )
    return name


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Let reports of this process have no pictures: those take a second each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "_draw", lambda evidence, figure, folder, numbers: Drawn(figure.name))
        yield


def environment(**more: str) -> dict[str, str]:
    """The environment of a subprocess that finds the checkout and the toy experiment."""
    path = os.pathsep.join([str(ROOT), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | more


def command(*words: object) -> list[str]:
    """The command line as a subprocess."""
    return [sys.executable, "-m", "moestat.study", *(str(word) for word in words)]


def outside(*words: object, timeout: float = 120, **more: str) -> tuple[int, str, str]:
    """Run the command line in a process of its own."""
    done = subprocess.run(command(*words), env=environment(**more), capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def results(out: Path, name: str = "study") -> xr.Dataset:
    """The results of a study at the preset 'quick', without the attributes (they hold the date)."""
    with xr.open_dataset(out / name / "quick" / "results.nc", engine="h5netcdf") as dataset:
        return dataset.load().drop_attrs(deep=False)


def shards(out: Path, name: str = "study") -> list[Path]:
    """The shard files of a study."""
    return sorted((out / name / "quick" / "shards").rglob("*.shard"))


def finished(out: Path, name: str = "study") -> set[tuple[str, int]]:
    """The (cell, replicate) pairs that lie on the disk in whole shards."""
    pairs = set()
    for path in shards(out, name):
        header, _ = shard.read(path)
        pairs |= {(header.digest[:20], replicate) for replicate in header.replicates}
    return pairs


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, shard.Variable]], None]) -> None:
    """Change who made a shard, or its variables, and write it as if it had been computed so."""
    header, variables = shard.read(path)
    cell, made = json.loads(header.cell), dict(header.provenance)
    change(made, variables)
    cell = Cell("toy", cell["seed"], header.arm, header.coords, cell["settings"])
    path.write_bytes(shard.encode(cell, header.replicates, variables, header.code, made))


def logged(log: Path) -> list[tuple[str, int]]:
    """The (cell, replicate) pairs that the toy experiment began to compute, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(line.split()[0], int(replicate)) for line in lines for replicate in line.split()[1:]]
