"""Rules are sealed with the run: a later edit is told, and foreign or edited results are refused."""

import csv
import json
import shutil

import pytest
import xarray as xr
from machine import inside, said, write_study

import moestat
from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge_sealed
from moestat.claims.wording import count_written
from moestat.errors import StaleError
from moestat.report import ledger
from moestat.study import seal
from moestat.study.spec import Study

GRID = "n = [10, 20, 40, 80, 160]"


def study(*claims, **more):
    about = {"source": "s", "statement": "t", "kind": "slope", "variable": "L", "arm": "a", "at_most": 0.0}
    content = {"title": "t", "paper": "none", "source": "s", "experiment": "e", "seed": 1, "arms": [{"name": "a"}]}
    content |= {"presets": {"quick": {"replicates": 2}}}
    return Study.model_validate(content | {"claims": [about | {"id": "c"} | claim for claim in claims or [{}]]} | more)


def compared(sealed, now):
    return [seal.written(sealed, seal.settled(now, "quick", claim)) for claim in now.claims]


@pytest.mark.parametrize(
    ("claim", "more", "word"),
    [
        ({"statement": "another", "predicted": -0.5, "hindsight": "Late.", "bearing": "against"}, {}, "sealed"),
        ({"control": "d"}, {}, "sealed"),
        ({"check": "d"}, {}, "edited"),
        ({"at_most": 1.0}, {}, "edited"),
        ({"variable": "L3"}, {}, "edited"),
        ({"window": [10, 100]}, {}, "edited"),
        ({}, {"rates": [{"loss": "L", "window": [10, 100]}]}, "edited"),
        ({}, {"presets": {"quick": {"replicates": 2, "window": [10, 100]}}}, "edited"),
        ({"id": "new"}, {}, "added"),
    ],
)
def test_a_rule_is_compared_with_the_sealed_one(tmp_path, claim, more, word):
    seal.write(tmp_path, seal.make(study(), "quick"))
    sealed = seal.read(tmp_path)
    assert compared(sealed, study(claim, **more)) == [word] and compared(sealed, study()) == ["sealed"]
    rule = study({"window": [10, 100], "at": {"k": 2}}).claims[0]
    assert seal.digest_of(rule) == seal.digest_of(json.loads(rule.model_dump_json()))


def test_a_rule_that_a_record_has_in_other_words_counts_as_sealed(tmp_path):
    made, now = seal.make(study({"at_most": -1e-300}), "quick"), study()
    other = seal.rule_digest(now, "quick", now.claims[0])
    assert compared(made, now) == ["edited"]
    seal.write(tmp_path, seal.Seal(made.date, {"c": made.claims["c"] | {"reworded": other}}))
    kept = seal.read(tmp_path)
    assert compared(kept, now) == ["sealed"] and compared(kept, study({"at_most": 1.0})) == ["edited"]
    assert kept.digest == made.digest


def test_own_code_is_part_of_a_rule_and_that_of_moestat_is_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file, now = tmp_path / "own_rule.py", study({"kind": "function", "function": "own_rule:rule"})
    file.write_text("def rule(ds, claim):\n    return 1\n")
    sealed = seal.make(now, "quick")
    assert compared(sealed, now) == ["sealed"] and seal.code_of("moestat.claims.rules:largest") == ""
    file.write_text("def rule(ds, claim):\n    return 2\n")
    seal.code_of.cache_clear()
    assert compared(sealed, now) == ["edited"]


def test_verdicts_say_when_their_rules_were_written_and_what_is_gone():
    n, dims = [10, 100, 1000, 10000], ("arm", "n", "replicate")
    losses = 1 / xr.DataArray(n, dims="n") * xr.DataArray([1.0, 1.1, 1.2], dims="replicate").expand_dims(arm=["a"])
    ds = xr.Dataset({"L": losses.transpose(*dims)}, coords={"n": n})
    ds["status"] = xr.zeros_like(ds["L"], dtype=int)
    sealed = seal.make(study({}, {"id": "d"}, {"id": "gone"}), "quick")
    now = Evidence(ds, study({}, {"id": "d", "at_most": 1.0}, {"id": "e"}), "quick")
    verdicts, notes = judge_sealed(now, sealed)
    assert [v.sealed for v in verdicts] == ["sealed", "edited", "added"] and "removed since: gone" in notes[0]
    rows = [v.row() for v in verdicts]
    assert count_written([*rows, rows[0] | {"verdict": "not run"}]) == {"sealed": 1, "edited": 1, "added": 1}
    before = {"c": rows[0] | {"sealed": "edited"}}
    assert judge_sealed(now, sealed, before)[0][0].sealed == "edited"  # found edited once, by the same rule
    assert [v.sealed for v in judge_sealed(now, None)[0]] == ["", "", ""]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ran")
    path = write_study(folder, grid=GRID, replicates=4)
    assert inside(path, "--out", folder / "out", "--quiet", "--jobs", 1)[0] == 0
    return folder


@pytest.fixture
def ran(once, tmp_path):
    """A study that was run, with four replicates at five sizes, and the folder of its results."""
    shutil.copytree(once, tmp_path / "here")
    return tmp_path / "here" / "study.py", tmp_path / "here" / "out" / "study" / "quick"


def again(path, verb="report"):
    return inside(verb, path, "--out", path.parent / "out", "--quiet")


def row_of(folder):
    [row] = ledger.read_claims(folder / "claims.csv")
    return row


def test_a_fresh_start_makes_another_seal_and_results_of_another_study_are_refused(ran):
    path, folder = ran
    sealed = seal.read(folder)
    assert sealed.digest == json.loads((folder / "manifest.json").read_text())["rules"]
    with xr.open_dataset(folder / "results.nc", engine="h5netcdf") as ds:
        assert (ds.attrs["rules"], ds.attrs["rules_sealed"]) == (sealed.digest, sealed.date)
    assert row_of(folder)["sealed"] == "sealed"
    path.write_text(path.read_text().replace("-0.6", "-99.0"))
    words = (path, "--out", path.parent / "out", "--quiet", "--jobs", 1)
    assert inside(*words, "--replicates", 5)[0] == 0
    assert seal.read(folder).digest == sealed.digest and row_of(folder)["sealed"] == "edited"
    assert inside(*words, "--fresh")[0] == 0
    assert seal.read(folder).digest != sealed.digest and row_of(folder)["sealed"] == "sealed"
    report = (folder / "report.html").read_bytes()
    write_study(path.parent, grid=GRID, replicates=4, seed=8)
    code, _, err = again(path)
    assert code == 3 and "another seed" in err and "compute again with: python -m moestat.study" in err
    assert (folder / "report.html").read_bytes() == report
    with pytest.raises(StaleError, match="another seed than .* now asks for"):
        moestat.load(path, out=path.parent / "out")
    assert moestat.load(folder).identical(moestat.load(folder / "results.nc"))  # by their own path, as they are


def test_edited_results_and_edited_seals_are_found(ran):
    path, folder = ran
    kept = (folder / "rules.json").read_text()
    (folder / "rules.json").write_text(kept.replace("-0.6", "-0.9"))
    code, _, err = again(path)
    assert code == 3 and "rules.json" in err and "was changed or removed" in err
    (folder / "rules.json").write_text(kept)
    with xr.open_dataset(folder / "results.nc", engine="h5netcdf") as ds:
        edited = ds.load()
    edited["error"][:] = 0.0
    edited.to_netcdf(folder / "results.nc", engine="h5netcdf")
    code, _, err = again(path)
    assert code == 3 and "was changed after it was written" in err and "collect" in err
    with pytest.raises(StaleError, match="was changed after it was written"):
        moestat.load(path, out=path.parent / "out")
    assert again(path, "collect")[0] == 0 and again(path)[0] == 0
    assert moestat.load(path, out=path.parent / "out")["error"].all()


ANOTHER = """
from moestat.study.rules import mean
study.claim(
    "added",
    "The error at 10 is not negative.",
    mean("error", "mean", at=dict(n=10)).at_least(0),
    source="a textbook",
)
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("settings=dict(", "settings=dict(shift=1.0", "other settings"),
        ("seed=7", "seed=8", "another seed"),
        ("160]", "320]", "another grid"),
    ],
)
def test_a_run_of_another_problem_judges_nothing(ran, old, new, told):
    path, out = ran[0], ran[1].parents[1]
    assert "0 not run" in said("--claims", path, "--out", out)
    path.write_text(path.read_text().replace(old, new))
    again = f"run it again: python -m moestat.study {path} --preset quick --out {out}"
    for text in (said("--claims", path, "--out", out), said("claim", f"{path}:mean-rate", "--out", out)):
        assert f"is of {told} than the study file now states" in text and "not run" in text
        assert again.replace(" ", "") in text.replace(" ", "")
    page = path.parent / "l.csv"
    said("--claims", path, "--out", out, "--write", page)
    [row] = csv.DictReader(page.open(newline=""))
    assert (row["verdict"], row["estimate"]) == ("not run", "") and told in row["why"]


def test_what_the_command_line_set_leaves_a_run_that_of_the_file(ran):
    path, out = ran[0], ran[1].parents[1]
    said(path, "--out", out, "--set", "shift=0.5", "--replace-stale", "--quiet", "--jobs", 1)
    assert "0 not run" in said("--claims", path, "--out", out)


def test_when_a_rule_was_written_stands_beside_its_verdict_everywhere(ran):
    path, folder = ran
    out = ("--out", folder.parents[1])
    assert "edited" not in said("report", path, *out).split("Claims: ")[0]
    path.write_text(path.read_text().replace("within(-0.6, -0.4", "within(-9.0, 9.0") + ANOTHER)
    told, rules = said("report", path, *out), "ules: 0 sealed, 1 edited, 1 added"
    assert f"Claims: 2 supported; r{rules}." in told and "supported edited" in told and "supported added" in told
    page = (folder / "report.html").read_text()
    assert f"R{rules}." in page and "(edited)" in page and "(added)" in page
    assert f"; r{rules}; written to" in said("--claims", path, *out, "--write", path.parent / "l.html")
    page = (path.parent / "l.html").read_text()
    assert f"R{rules}." in page and "rule (edited)" in page
    assert "supported (rule: edited)" in said("claim", f"{path}:mean-rate", *out)
    assert "supported edited" in said("claim", f"{path}:a textbook", *out)
