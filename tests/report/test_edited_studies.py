"""A study file that was edited after its run: what the run still judges, and how a changed rule shows."""

import csv
import shutil

import pytest
from machine import inside, undrawn, write_study

RULE = "within(-0.6, -0.4"
ANOTHER = """
from moestat.study.rules import mean
study.claim(
    "added",
    "The error at 10 is not negative.",
    mean("error", "mean", at=dict(n=10)).at_least(0),
    source="a textbook",
)
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    path = write_study(folder, grid="n = [10, 20, 40, 80, 160]", replicates=4)
    with undrawn():
        code, _, err = inside(path, "--out", folder / "out", "--quiet", "--jobs", 1)
    assert code == 0, err
    return folder


@pytest.fixture
def ran(once, tmp_path):
    """A study that was run, and its outputs."""
    shutil.copytree(once, tmp_path / "here")
    return tmp_path / "here" / "study.py", tmp_path / "here" / "out"


def change(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def said(*words):
    with undrawn():
        code, out, err = inside(*words)
    assert code == 0, err
    return " ".join(out.split())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("settings=dict(", "settings=dict(shift=1.0", "other settings"),
        ("seed=7", "seed=8", "another seed"),
        ("160]", "320]", "another grid"),
    ],
)
def test_a_run_of_another_problem_judges_nothing(ran, old, new, told):
    path, out = ran
    assert "0 not run" in said("--claims", path, "--out", out)
    change(path, old, new)
    again = f"run it again: python -m moestat.study {path} --out {out}"
    for text in (said("--claims", path, "--out", out), said("claim", f"{path}:mean-rate", "--out", out)):
        assert f"is of {told} than the study file now states" in text and "not run" in text
        assert again.replace(" ", "") in text.replace(" ", "")
    page = path.parent / "l.csv"
    said("--claims", path, "--out", out, "--write", page)
    [row] = csv.DictReader(page.open(newline=""))
    assert (row["verdict"], row["estimate"]) == ("not run", "") and told in row["why"]


def test_what_the_command_line_set_leaves_a_run_that_of_the_file(ran):
    path, out = ran
    said(path, "--out", out, "--set", "shift=0.5", "--replace-stale", "--quiet", "--jobs", 1)
    assert "0 not run" in said("--claims", path, "--out", out)


def test_when_a_rule_was_written_stands_beside_its_verdict_everywhere(ran):
    path, out = ran
    folder = out / "study" / "quick"
    assert "edited" not in said("report", path, "--out", out).split("Claims: ")[0]
    change(path, RULE, "within(-9.0, 9.0")
    path.write_text(path.read_text() + ANOTHER)
    told = said("report", path, "--out", out)
    rules = "rules: 0 sealed, 1 edited, 1 added"
    assert f"Claims: 2 supported; {rules}." in told
    assert "supported edited" in told and "supported added" in told
    page = (folder / "report.html").read_text()
    assert f"{rules[:1].upper()}{rules[1:]}." in page and "(edited)" in page and "(added)" in page
    listed = said("--claims", path, "--out", out)
    assert f"0 not run; {rules}" in listed
    assert "supported (rule: edited)" in said("claim", f"{path}:mean-rate", "--out", out)
    assert "supported edited" in said("claim", f"{path}:a textbook", "--out", out)
    for name in ("l.html", "l.csv"):
        said("--claims", path, "--out", out, "--write", path.parent / name)
    text = (path.parent / "l.html").read_text()
    assert f"{rules[:1].upper()}{rules[1:]}." in text and "rule (edited)" in text
