"""A study file that was edited after its run: what the run still judges, and how a changed rule shows."""

import csv
import shutil

import pytest
from machine import inside, undrawn, write_study

from moestat.report import ledger, meaning
from moestat.study import load

RULE = "within(-0.6, -0.4"
DAGGER, DOUBLE = "\N{DAGGER}", "\N{DOUBLE DAGGER}"
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
    folder = out / "study" / "quick"
    assert ledger.is_current(load.read(path), "quick", folder)
    assert "1 supported" in said("--claims", path, "--out", out) or "1 inconclusive" in said(
        "--claims", path, "--out", out
    )
    change(path, old, new)
    again = f"run it again: python -m moestat.study {path} --out {out}"
    for text in (said("--claims", path, "--out", out), said("claim", f"{path}:mean-rate", "--out", out)):
        assert f"is of {told} than the study file now states" in text and "not run" in text
        assert again.replace(" ", "") in text.replace(" ", "")
    page = path.parent / "l.csv"
    said("--claims", path, "--out", out, "--write", page)
    [row] = csv.DictReader(page.open(newline=""))
    assert (row["verdict"], row["estimate"]) == ("not run", "") and told in row["why"]
    assert not ledger.is_current(load.read(path), "quick", folder)


def test_what_the_command_line_set_leaves_a_run_that_of_the_file(ran):
    path, out = ran
    said(path, "--out", out, "--set", "shift=0.5", "--replace-stale", "--quiet", "--jobs", 1)
    assert "0 not run" in said("--claims", path, "--out", out)


def test_a_dry_run_counts_what_is_stale(ran):
    path, out = ran
    assert "stored" not in said(path, "--out", out, "--dry-run")
    change(path, "settings=dict(", "settings=dict(shift=1.0")
    before = sorted(out.rglob("*"))
    text = said(path, "--out", out, "--dry-run")
    assert "of other settings or code: 40 stored replicates, which would be computed again." in text
    assert "setting shift" in text and "--replace-stale results would go to" in text
    assert sorted(out.rglob("*")) == before


def test_a_verdict_by_a_changed_rule_is_marked_and_counted(ran):
    path, out = ran
    folder = out / "study" / "quick"
    assert DAGGER not in said("report", path, "--out", out)
    change(path, RULE, "within(-9.0, 9.0")
    path.write_text(path.read_text() + ANOTHER)
    counts = "2 supported, 0 not supported, 0 inconclusive"
    told = said("report", path, "--out", out)
    table = told.split("Claims: ")[0]
    assert table.count(f"supported{DAGGER}") == 1 and table.count(f"{DAGGER} the rule was changed after the run") == 1
    rules = "0 by a rule sealed before the run, 1 by one edited after it, 1 by one added after it"
    assert f"Claims: {counts}; {rules}." in told
    page = (folder / "report.html").read_text()
    assert f"supported{DAGGER}</span>" in page and f"{DAGGER} the rule was changed after the run" in page
    assert f'<p class="note">{rules}.</p>' in page and f"Verdicts: {rules}." in page
    assert f"; {rules}" in (out / "index.html").read_text()
    assert (
        f"supported{DAGGER}" in (folder / "claims.tex").read_text()
        and DAGGER not in (folder / "claims.csv").read_text()
    )
    listed = said("--claims", path, "--out", out)
    assert f"2 claims: {counts}, 0 not run; {rules}" in listed
    assert listed.count(f"supported{DAGGER}") == 1 and f"{DAGGER} the rule was changed after the run" in listed
    assert f"2 statements: 2 supported; {rules}" in listed
    assert listed.count(f"supported{DOUBLE}") == 1 and f"{DOUBLE} the claim was added after the run" in listed
    card = said("claim", f"{path}:mean-rate", "--out", out)
    assert f"supported{DAGGER} (by a rule that was changed after the run)" in card
    assert f"supported{DOUBLE} (the claim was added after the run)" in said("claim", f"{path}:added", "--out", out)
    several = said("claim", f"{path}:a textbook", "--out", out)
    assert several.count(f"[supported{DAGGER}]") == 1 and f"{DAGGER} the rule was changed" in several
    assert f"claim {path}:mean-rate --out {out}" in several


def test_the_pages_of_the_ledger_have_no_mark(ran):
    path, out = ran
    change(path, RULE, "within(-9.0, 9.0")
    said("report", path, "--out", out)
    for name in ("l.md", "l.html", "l.csv"):
        said("--claims", path, "--out", out, "--write", path.parent / name)
        assert DAGGER not in (path.parent / name).read_text()
    told = "1 verdict; 0 by a rule sealed before the run, 1 by one edited after it, 0 by one added after it."
    assert all(told in (path.parent / name).read_text() for name in ("l.md", "l.html"))


def test_a_claim_names_the_folder_that_was_given(ran):
    path, out = ran
    assert said("claim", f"{path}:mean-rate", "--out", out).endswith(f"moestat.study {path} --out {out}")
    assert f"claim ID --out {out}; " in said("--claims", path, "--out", out)


def test_a_study_of_no_listed_paper_states_its_claims_itself(ran):
    path, out = ran
    whose = "stated by the study; if supported, it speaks for the study"
    assert whose in said("claim", f"{path}:mean-rate", "--out", out)
    assert "stated by the study" in meaning.says("stated", "for", "", "p" * 5000)
    assert "stated in the paper; if supported, it speaks for the paper" in meaning.says(
        "stated", "for", "", "task-routing"
    )
