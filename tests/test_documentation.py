"""The pages: links that lead somewhere, code that is Python, options that exist; slow: the build and the types."""

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import readme_table

from moestat import cli_options
from moestat.errors import InputError
from moestat.study import load, lookup

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "studies/*/README.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
COMMAND = re.compile(r"^\s*(?:exec )?(?:python -m moestat\.study|moestat)[ \t]+([^\n#`|&]*)", re.MULTILINE)


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_readmes_table_is_the_record():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_table.filled(page) == page, "python docs/readme_table.py --write"


def test_the_tables_of_the_benchmarks_are_their_results():
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    assert tables["filled"](page) == page, "python benchmarks/tables.py"


@pytest.mark.parametrize("door", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_readme_prints_what_its_code_prints(tmp_path, door):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    doors = _blocks(ROOT / "README.md", "python")
    shown = re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[door - 1]
    (tmp_path / "mine.py").write_text(doors[door - 1])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == shown.split()


def test_a_model_of_ones_own_runs_as_its_page_says():
    """With three replicates in place of twenty."""
    code, study = _blocks(ROOT / "docs" / "howto-own.md", "python")
    assert "in range(20)" in code
    names = {}
    exec(code.replace("in range(20)", "in range(3)"), names)
    assert -0.8 < names["rates"].fit(np.array(names["losses"]), over=names["sizes"]).slope < -0.3
    exec(study, names)
    assert "4 cells x 8 replicates" in repr(names["study"])


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_to_files(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)\s#]+)(?:#[\w-]*)?\)", text)
    missing = []
    for link in links:
        # notebooks are copied into docs/notebooks when the documentation is built
        target = re.sub(r"^notebooks/", "../studies/notebooks/", link)
        if "://" not in link and not (page.parent / target).exists():
            missing.append(link)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_on_the_page_is_python(page):
    for block in _blocks(page, "python"):
        ast.parse(block)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "ledger.md"], ids=lambda p: p.name)
def test_commands_name_options_and_studies_that_exist(page):
    known = load.known_studies()
    for block in _blocks(page, "bash"):
        for line in COMMAND.findall(block.replace("\\\n", " ")):
            words = [re.sub(r"\$\{?\w+\}?", "1", word) for word in shlex.split(line)]
            try:
                arguments = cli_options.parse(words)
            except (InputError, SystemExit) as problem:
                assert words[-1:] == ["--help"], (line, problem)
                continue
            verb = arguments.verb
            if verb == "check":
                assert lookup.item(" ".join(arguments.item)), line
            named = arguments.claim if verb == "claim" else getattr(arguments, "study", None)
            if named in (None, "NAME", "ID") or ".py" in named:
                continue
            if verb == "claim" and lookup.argument(named):
                continue
            if verb == "claim" or verb == "run" and arguments.claims:
                assert lookup.chosen(named, known), line
            else:
                assert named in known, line


@pytest.mark.slow
def test_the_documentation_builds_without_warnings(tmp_path):
    for needed in ("sphinx", "numpydoc", "myst_nb", "pydata_sphinx_theme", "latex2mathml"):
        pytest.importorskip(needed)
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "doctrees"), "docs", str(tmp_path / "html")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "api" / "moestat.rates.html").is_file()
    formulas = (tmp_path / "html" / "mathematics.html").read_text(encoding="utf-8")
    assert "<math" in formulas and "cdn.jsdelivr" not in formulas


USER = """\
import numpy as np
from xarray import Dataset

import moestat
from moestat import figures, rates
from moestat.identify import identify
from moestat.losses import voronoi
from moestat.models.regression import Model

results: Dataset = moestat.load("sigmoid_vs_softmax", preset="quick")
designs: list[rates.Design] = rates.power(0.05, 0.6, low=1e3, high=1e5)
verdict: str = identify("relu").verdict
model = Model("sigmoid", "full", "relu", d=2)
loss = voronoi.L3(np.zeros((1, 2, model.atom_size)), np.zeros((2, model.atom_size)), model)
rates.power("wide", 0.6, low=1e3, high=1e5)  # the only mistake here
"""


@pytest.mark.slow
def test_types_hold_inside_and_for_a_user(tmp_path):
    pytest.importorskip("mypy")
    inside = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert inside.returncode == 0, inside.stdout
    (tmp_path / "user.py").write_text(USER)
    words = ["--strict", "--follow-imports=silent", "--config-file", str(ROOT / "pyproject.toml"), "user.py"]
    environment = {"MYPYPATH": str(ROOT), "PATH": ""}
    command = [sys.executable, "-m", "mypy", *words]
    outside = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert re.findall(r"user\.py:(\d+): error: (.*)", outside.stdout) == [
        ("15", 'Argument 1 to "power" has incompatible type "str"; expected "float"  [arg-type]')
    ], outside.stdout
