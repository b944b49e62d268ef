"""The tables for a paper fit its page: compiled where there is TeX, and by their own sizes everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from report_example import study_of

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge
from moestat.report import latex_table, tables, views
from moestat.report.write import NOT_IN_PAPER, PAPER_CLAIMS

TEX = next((name for name in ("pdflatex", "tectonic") if shutil.which(name)), None)
STUDIES = Path(__file__).parents[2] / "studies"
LONG = "The function error of the over-specified sigmoid fit falls at least as fast as n^(-0.4) at A_1 & B, 95 %. " * 3

DOCUMENT = r"""\documentclass{article}
\usepackage{array,booktabs,longtable}
\begin{document}
%s
\end{document}
"""


@pytest.fixture
def parts(ds) -> dict[str, str]:
    """The four tables, with names and statements as long as studies have them."""
    ds = ds.assign_coords(
        arm_label=("arm", [f"{name} gate, least squares in a box, 1 start" for name in ds["arm"].values])
    )
    rule = {"kind": "slope", "variable": "L3", "source": "SA Theorem 4, eq. (12); Figure 1a", "statement": LONG}
    named = [f"sigmoid_over-specified_linear/{k}" for k in range(30)]
    claims = [rule | {"id": name.replace("/", "."), "arm": "softmax-relu", "within": [-0.6, -0.4]} for name in named]
    study = study_of(ds, claims=claims, summaries=["L3", "good"])
    evidence = Evidence(ds, study, "quick")
    blocks = [{"loss": "L3", "block": "A", "role": "gate", "atoms": kind} for kind in ("all", "over-specified")]
    with_blocks = Evidence(ds, study_of(ds, parameters=blocks), "quick")
    shown = {
        "claims": views.claims(tables.claims(judge(ds, study, "quick")), columns=PAPER_CLAIMS),
        **{f"rates{i}": view for i, view in enumerate(views.rates_by_loss(tables.rates(evidence)))},
        "summaries": views.summaries(tables.summaries(evidence)),
        "parameters": views.parameters(tables.parameters(with_blocks)),
    }
    return {name: latex_table.latex(view, label=name, without=NOT_IN_PAPER) for name, view in shown.items()}


def test_the_columns_of_a_table_are_no_wider_than_the_line(parts):
    for name, text in parts.items():
        shares = [float(share) for share in re.findall(r"p\{([0-9.]+)\\linewidth\}", text)]
        assert sum(shares) < 0.95 and text.count(r"\begin{longtable}") == 1, name
    assert "bootstrap" not in parts["rates0"] and r"sigmoid\_\allowbreak{}over" in parts["claims"]


@pytest.mark.skipif(TEX is None, reason="no TeX here")
def test_the_tables_compile_and_fit_the_page(parts, tmp_path):
    (tmp_path / "paper.tex").write_text(DOCUMENT % "\n".join(parts.values()), encoding="utf-8")
    options = ["-interaction=nonstopmode", "-halt-on-error"] if TEX == "pdflatex" else ["--keep-logs"]
    for _ in range(2):  # longtable finds its widths in the second run
        done = subprocess.run([TEX, *options, "paper.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "paper.log").read_text(errors="replace")
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([0-9.]+)pt too wide\)", log)]
    assert max(too_wide, default=0.0) < 2.0, re.findall(r"Overfull .*", log)[:5]


def test_every_sign_of_the_studies_is_one_that_latex_knows():
    signs = {c for path in STUDIES.glob("*/*.[pm][yd]") for c in latex_table.escaped(path.read_text(encoding="utf-8"))}
    assert {c for c in signs if ord(c) > 126} <= set("§±†‡")
    assert latex_table.escaped("\u03c3\u00b2 \u2192 \u03b5, \u221a2, 10\u207b\u00b3") == (
        r"$\sigma$$^{2}$ $\to$ $\varepsilon$, $\surd$2, 10$^{-}$$^{3}$"
    )
