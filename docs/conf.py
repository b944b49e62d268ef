"""Sphinx: how the documentation is built.

python -m sphinx -W --keep-going -b html docs docs/_build
"""

import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(HERE))

import readings  # noqa: E402
import settings_tables  # noqa: E402

import moestat  # noqa: E402

project = "moestat"
author = "The moestat developers"
copyright = author
release = version = moestat.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "jupyter_execute"]
root_doc = "index"
language = "en-GB"
smartquotes_action = "qe"  # options such as --all keep their dashes

# Pages that live elsewhere or are made: copied here before Sphinx looks for its sources, and ignored by git.
notebooks = HERE / "notebooks"
notebooks.mkdir(exist_ok=True)
for stale in notebooks.glob("*.ipynb"):
    stale.unlink()
for notebook in sorted((ROOT / "studies" / "notebooks").glob("*.ipynb")):
    shutil.copy(notebook, notebooks)
(HERE / "_made").mkdir(exist_ok=True)
(HERE / "_made" / "settings.md").write_text(settings_tables.page(), encoding="utf-8")
(HERE / "_made" / "readings.html").write_text(readings.page(), encoding="utf-8")
exclude_patterns.append("_made")
for words in (["--claims", "--write", "_static/ledger.html"], ["--paper", "--write", "items.md"]):
    command = [sys.executable, "-m", "moestat.study", *words, "--out", ROOT / "outputs"]
    subprocess.run(command, cwd=HERE, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, stdout=subprocess.DEVNULL)
(HERE / "papers").mkdir(exist_ok=True)
for page in ROOT.glob("studies/*/README.md"):
    text = page.read_text(encoding="utf-8").replace("](../../docs/", "](../")
    (HERE / "papers" / f"{page.parent.name}.md").write_text(text, encoding="utf-8")

# A script whose text is as it was at the last build is not run again; one that is run begins anew.
shutil.rmtree(HERE / "gallery" / "outputs", ignore_errors=True)
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("gallery_pictures.saved",),
    "reset_modules": (),
    "capture_repr": (),
    "min_reported_time": 1e9,
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "default_thumb_file": str(HERE / "images" / "gates.png"),
}
exclude_patterns += ["gallery", "examples/*.ipynb"]  # pages are made of the scripts, and notebooks of the same names

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
suppress_warnings = ["mystnb.unknown_mime_type"]

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_default_options = {"members": True, "member-order": "bysource", "exclude-members": "model_config"}
autodoc_typehints = "signature"
autodoc_mock_imports = ["cupy", "cupyx"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "moestat"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# pages without pages below them have nothing to show beside them, and the ledger needs the width
ALONE = (
    "ledger",
    "tutorial",
    "mathematics",
    "architecture",
    "benchmarks",
    "contributing",
    "settings",
    "commands",
    "papers/*",
)
html_sidebars = {name: [] for name in ALONE}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


def _escaped(lines: list[str]) -> Iterator[str]:
    """Escape the bars of |a - b|, which reStructuredText would read as a substitution, outside of code and formulas."""
    inside = None  # the indentation of the directive or paragraph whose block we are in
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and indent <= inside:
            inside = None
        if inside is None and not line.lstrip().startswith(">>>"):
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            line = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)
            if line.rstrip().endswith("::") or line.lstrip().startswith(".. math"):
                inside = indent
        yield line


def _escape(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = _escaped(lines)


def _skip(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    return True if isinstance(obj, types.GenericAlias) else None  # an alias such as tuple[float, float]


def setup(app: Any) -> None:
    """Connect the handlers, the first one before numpydoc's."""
    app.connect("autodoc-process-docstring", _escape, priority=1)
    app.connect("autodoc-skip-member", _skip)
