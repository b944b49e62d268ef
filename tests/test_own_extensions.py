"""The files of docs/howto-extensions.md, written to a folder outside the package and run as the page says."""

import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from moestat import rates
from moestat.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "howto-extensions.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"\*\*`([\w.]+)`\*\*\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"```bash\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    yield folder
    for name in FILES:
        sys.modules.pop(Path(name).stem, None)


def _python(folder, *words):
    # plain NumPy: compiling anew for a fresh cache would take longer than the studies
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": path, "MOESTAT_CACHE": str(folder / "cache")}
    environment["MOESTAT_KERNEL"] = "numpy"
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if "nearest" not in c], ids=lambda command: command.split()[-1]
)
def test_the_study_runs_and_its_replicates_converge(folder, command, monkeypatch):
    """One as a command, the others in this process, which has imported everything."""
    words = [*shlex.split(command)[1:], "--jobs", "1", "--quiet"]
    name = Path(words[2]).stem.removesuffix("_study")
    if name == "centre":
        _python(folder, *words)
    else:
        monkeypatch.chdir(folder)
        monkeypatch.delitem(sys.modules, "mine", raising=False)  # another test's, whose folder is on the path
        monkeypatch.setattr(sys, "path", [place for place in sys.path if not (Path(place) / "mine.py").is_file()])
        monkeypatch.setenv("MOESTAT_CACHE", str(folder / "cache"))
        monkeypatch.setenv("MOESTAT_KERNEL", "numpy")
        few = ["--no-report", "--replicates", "1", "--set", "evaluation_log2=9", "--set", "n=[200, 2000]"]
        assert main([*words[2:], *few]) == 0
    quick = folder / "outputs" / f"{name}_study" / "quick"
    with xr.open_dataset(quick / "results.nc", engine="h5netcdf") as ds:
        assert (ds["status"] == 0).all()
        if name == "centre":
            fitted = rates.fit(ds["error"].sel(arm="median"), over="n", level=0.999)
            assert fitted.low < -0.5 < fitted.high
            (verdict,) = csv.DictReader((quick / "claims.csv").open())
            assert verdict["verdict"] == "supported" and (quick / "report.html").is_file()
        else:  # in every arm
            assert (ds["rmse"].isel(n=-1).mean("replicate") < ds["rmse"].isel(n=0).mean("replicate")).all()


def test_a_study_trains_a_router_of_ones_own(folder, monkeypatch):
    """In this process, as above; the settings of the page, fewer steps."""
    pytest.importorskip("torch")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MOESTAT_CACHE", str(folder / "cache"))
    words = ["--no-report", "--replicates", "1", "--jobs", "1", "--quiet"]
    words += [word for pair in ("steps=20", "every=10", "probability=0.5") for word in ("--set", pair)]
    assert main(["nearest_study.py", *words]) == 0
    with xr.open_dataset(folder / "outputs" / "nearest_study" / "quick" / "results.nc", engine="h5netcdf") as ds:
        assert (ds["status"] == 0).all() and len(np.unique(ds["bpc"])) == 3
        assert [share > 0 for share in ds["competitions"].values.ravel()] == [False, False, True]


def test_the_expert_is_usable_on_plain_arrays(folder):
    out = _python(folder, "mine_alone.py")
    assert out.startswith("weak\nThe stopping criterion was met.")
