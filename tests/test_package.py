"""The package as a user gets it: the built wheel carries the studies, and importing it stays cheap."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("hatchling", reason="the wheel is built without isolation")
    folder = tmp_path_factory.mktemp("wheel")
    command = [*PIP, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", str(folder)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    (built,) = folder.glob("moestat-*.whl")
    return built


def test_the_wheel_carries_every_study(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [
        *ROOT.glob("studies/*/*.[pm][yd]"),
        *ROOT.glob("studies/*/items.py"),
        *ROOT.glob("moestat/report/templates/*"),
    ]
    assert {"moestat/py.typed", *(file.relative_to(ROOT).as_posix() for file in files)} <= names


def test_an_installed_wheel_runs_studies(wheel, tmp_path):
    """Outside the checkout, from the installed files alone."""
    target = tmp_path / "site"
    install = [*PIP, "install", "-q", "--no-deps", "--no-compile", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True, timeout=300)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import moestat; from moestat.cli import main; "
        "assert moestat.__file__.startswith(sys.path[0]), moestat.__file__; raise SystemExit(main(sys.argv[1:]))"
    )

    def study(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", program, str(target), *words]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), os.environ["PYTHONPATH"]])}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    listed = study("--list")
    assert listed.returncode == 0 and "sigmoid_vs_softmax" in listed.stdout, listed.stderr
    run = study("attention_is_moe", "--replicates", "2", "--jobs", "1", "--no-report")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "outputs" / "attention_is_moe" / "quick" / "results.nc").is_file()


def test_importing_the_package_loads_neither_torch_nor_cupy_nor_a_plotting_library():
    program = (
        "import sys, moestat; print([m for m in ('torch', 'cupy', 'matplotlib', 'scipy') if m in sys.modules]); "
        "import moestat.cache, moestat.streams, moestat.fit.levenberg_marquardt, moestat.fit.gradient; "
        "print([m for m in ('torch', 'cupy', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_imports_run_downwards():
    words = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout + done.stderr
