"""Load: ten thousand shards and a million rows are collected in under a minute and two gigabytes; starting is quick."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from machine import environment, outside, results, write_study

from moestat.experiment import code_version
from moestat.runner import contract, plan, shard
from moestat.runner.cells import PlannedCell
from moestat.study import load


def fill(out: Path, study: Path, *, per_shard: int) -> int:
    """Write the shards of a study with made-up numbers, without computing it; return how many there are."""
    made = plan.make(load.read(study))
    code = code_version(made.module_name)
    root = out / made.study_file.name / "quick"
    count = 0
    for planned in made.cells:
        for first in range(0, made.replicates, per_shard):
            replicates = range(first, min(first + per_shard, made.replicates))
            content = encode(planned, replicates, code)
            folder = shard.folder(root, planned.digest)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / shard.name(replicates, code)).write_bytes(content)
            count += 1
    return count


def encode(planned: PlannedCell, replicates: range, code: dict[str, str]) -> bytes:
    random = np.random.default_rng(replicates[0])
    size = len(replicates)
    losses = {f"loss_{i}": ("replicate", random.random(size)) for i in range(12)}
    dataset = xr.Dataset(
        losses
        | {
            "status": ("replicate", np.zeros(size, dtype=np.int64)),
            "message": ("replicate", np.full(size, "The stopping criterion was met.", dtype=object)),
            "iterations": ("replicate", np.arange(size)),
            "centre": (("replicate", "expert"), random.random((size, 2))),
            "theory": 0.5,
        },
        coords={"replicate": list(replicates), "expert": [0, 1]},
        attrs={"policy": "the mean"},
    )
    variables, attrs = contract.check(dataset, planned.cell, replicates)
    return shard.encode(
        cell=planned.cell.canonical,
        arm=planned.cell.arm,
        coords=planned.cell.coords,
        code=code,
        replicates=replicates,
        status=contract.statuses(variables),
        variables=variables,
        attrs=attrs,
        seconds=1.0,
        created=0.0,
        device="cpu",
    )


MEASURE = """\
import re, sys, time
from moestat.cli import main
begin = time.perf_counter()
code = main(sys.argv[1:])
# not ru_maxrss: it starts at what the parent process held when it forked
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 2**20
print(f"MEASURED {time.perf_counter() - begin:.2f} {peak:.3f}")
raise SystemExit(code)
"""


def collect_and_measure(study: Path, out: Path) -> tuple[float, float]:
    """Collect in a process of its own; return seconds and GiB."""
    words = [sys.executable, "-c", MEASURE, "collect", str(study), "--out", str(out), "--no-report"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    seconds, gigabytes = done.stdout.split("MEASURED ")[1].split()
    return float(seconds), float(gigabytes)


@pytest.mark.slow
def test_ten_thousand_shards_and_a_million_rows(tmp_path, capsys):
    sizes = ", ".join(str(10 * k) for k in range(1, 51))
    study = write_study(tmp_path, grid=f"n = [{sizes}]", replicates=10_000, block=100)
    assert fill(tmp_path, study, per_shard=100) == 10_000
    seconds, gigabytes = collect_and_measure(study, tmp_path)
    with capsys.disabled():
        print(f"\n10 000 shards, 1 000 000 rows of 14 variables: collected in {seconds:.1f} s, {gigabytes:.2f} GiB")
    found = results(tmp_path)
    assert found["status"].shape == (2, 50, 10_000) and (found["status"] == 0).all()
    assert found["loss_3"].values.std() > 0.1 and np.isfinite(found["loss_3"].values).all()
    assert seconds < 60 and gigabytes < 2


# --- starting ------------------------------------------------------------------------------------------------------

HEAVY = {"numpy", "scipy", "xarray", "pandas", "matplotlib", "torch", "joblib", "pydantic", "rich"}


@pytest.mark.parametrize("words", [["--list"], ["replay", "--help"]])
def test_nothing_heavy_is_imported_to_start(words):
    script = (
        "import sys\n"
        "from moestat.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], env=environment(), capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_a_study_file_is_checked_without_the_libraries_of_the_report(tmp_path):
    """A dry run imports the experiment and nothing of the report."""
    code, out, err = outside(write_study(tmp_path), "--dry-run", PYTHONPROFILEIMPORTTIME="1")
    assert code == 0 and "4 cells x 6 replicates in blocks of 2" in out and "nothing was written" in out
    imported = {line.split("|")[-1].strip() for line in err.splitlines() if "|" in line}
    assert "moestat.runner.plan" in imported and not {"matplotlib", "jinja2", "statsmodels"} & imported
