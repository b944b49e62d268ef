"""The rooms of the package keep their walls: the contracts of ``pyproject.toml`` hold for every import."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_imports_run_downwards():
    words = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout + done.stderr
