"""Starting is quick: nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from machine import environment, outside, write_study

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
