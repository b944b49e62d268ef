"""Rules are sealed with the run: a later edit is told with both verdicts, and foreign or edited results are refused."""

import csv
import json

import pytest
import xarray as xr
from machine import inside, write_study

import moestat
from moestat.claims import sealed
from moestat.errors import StaleError
from moestat.study import seal

GRID = "n = [10, 20, 40, 80, 160]"
RULE = "within(-0.6, -0.4,"
OTHER = "at_most(99.0,"


@pytest.fixture
def ran(tmp_path):
    """A study that was run, with four replicates at five sizes."""
    path = write_study(tmp_path, grid=GRID, replicates=4)
    code, _, err = inside(path, "--out", tmp_path / "out", "--quiet", "--jobs", 1)
    assert code == 0, err
    return path, tmp_path / "out" / "study" / "quick"


def again(path, verb="report", *more):
    return inside(verb, path, "--out", path.parent / "out", "--quiet", *more)


def rows(folder):
    with open(folder / "claims.csv", newline="") as stream:
        return {row["claim"]: row for row in csv.DictReader(stream)}


def change(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_digest_of_the_rules_stands_in_manifest_and_results(ran):
    _, folder = ran
    sealed = seal.read(folder)
    assert sealed.digest == json.loads((folder / "manifest.json").read_text())["rules"]
    with xr.open_dataset(folder / "results.nc", engine="h5netcdf") as ds:
        assert (ds.attrs["rules"], ds.attrs["rules_sealed"]) == (sealed.digest, sealed.date)
    assert rows(folder)["mean-rate"]["changed"] == ""


@pytest.mark.parametrize("verb", ["report", "collect"])
def test_a_rule_that_is_edited_is_told_with_both_verdicts(ran, verb):
    path, folder = ran
    first = rows(folder)["mean-rate"]
    change(path, RULE, OTHER)
    code, out, err = again(path, verb)
    assert code == 0, err
    row = rows(folder)["mean-rate"]
    day = seal.read(folder).date[:10]
    assert row["verdict"] == "supported" and row["changed"] == day and row["rule"] != first["rule"]
    before = f"The rule was changed after the run on {day}: by the rule before (within [-0.6, -0.4])"
    assert f"{before} the verdict is: {first['wording']}." in row["why"]
    assert before in (folder / "report.html").read_text().replace("\N{MINUS SIGN}", "-")
    # the same rule in other words is no change
    change(path, OTHER, RULE)
    change(path, "converges like n^(-1/2)", "falls like n^(-1/2)")
    assert again(path, verb)[0] == 0 and rows(folder)["mean-rate"]["changed"] == ""


def test_other_code_of_a_rule_is_told_where_it_gives_another_verdict_or_estimate(ran, monkeypatch):
    path, folder = ran
    monkeypatch.setattr(sealed, "code_of", lambda claim: "other code")
    assert again(path)[0] == 0 and rows(folder)["mean-rate"]["changed"] == ""
    first = rows(folder)["mean-rate"]
    change(folder / "claims.csv", first["estimate"], first["estimate"][:-3])
    for _ in range(2):  # it is not forgotten by the next report
        assert again(path)[0] == 0
        row = rows(folder)["mean-rate"]
        assert row["changed"] and row["estimate"] == first["estimate"]
        assert (
            f"The code of the rule was changed after the run on {row['changed']}. The verdict before was" in row["why"]
        )
    (folder / "claims.csv").unlink()
    assert again(path)[0] == 0 and "The verdict before is not known" in rows(folder)["mean-rate"]["why"]


def test_a_rule_of_ones_own_is_sealed_with_a_hash_of_its_file_and_one_of_moestat_with_none(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file, codes = tmp_path / "own_rule.py", []
    for number in (1.0, 1.0, 2.0):
        file.write_text(f"def rule(evidence, claim):\n    return {number}\n")
        seal._code.cache_clear()
        codes.append(seal._code("own_rule:rule"))
    assert codes[0] == codes[1] != codes[2] and all(codes)
    assert seal._code("moestat.claims.rules:largest") == seal._code("") == ""


def test_a_window_that_is_moved_is_a_changed_rule(ran):
    path, folder = ran
    change(path, 'study.rate("error"', 'study.rate("error", window=(10, 100)')
    assert again(path)[0] == 0
    assert "The rule was changed after the run" in rows(folder)["mean-rate"]["why"]


def test_more_replicates_keep_the_seal_and_a_fresh_start_makes_another(ran):
    path, folder = ran
    first = seal.read(folder).digest
    change(path, RULE, OTHER)
    words = (path, "--out", path.parent / "out", "--quiet", "--jobs", 1)
    assert inside(*words, "--replicates", 5)[0] == 0
    assert seal.read(folder).digest == first and rows(folder)["mean-rate"]["changed"]
    assert inside(*words, "--fresh")[0] == 0
    assert seal.read(folder).digest != first and not rows(folder)["mean-rate"]["changed"]


def test_added_and_removed_claims_are_told(ran):
    path, folder = ran
    change(path, '"mean-rate"', '"another"')
    assert again(path)[0] == 0
    assert "The claim was added after the run on" in rows(folder)["another"]["why"]
    assert "The claim mean-rate was removed after the run on" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seed=7", "seed=8", "another seed"),
        ('kind="median"', 'kind="mean"', "other arms"),
        ("160]", "320]", "another grid"),
        ("settings=dict(", "settings=dict(shift=1.0", "other settings"),
    ],
)
def test_results_of_another_study_are_refused(ran, old, new, told):
    path, folder = ran
    report = (folder / "report.html").read_bytes()
    change(path, old, new)
    code, _, err = again(path)
    assert code == 3 and told in err and "compute again with: python -m moestat.study" in err
    assert (folder / "report.html").read_bytes() == report
    assert "--accept-stale" not in err
    _, _, err = again(path, "report", "--accept-stale")
    assert "use them as they are with: python -m moestat.study collect" in err and err.count("--accept-stale") == 1
    with pytest.raises(StaleError, match=f"{told} than .* now asks for"):
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


def test_the_ledger_does_not_show_the_verdict_of_a_rule_that_is_gone(ran, monkeypatch):
    from moestat.study import load

    path, _ = ran
    monkeypatch.setattr(load, "study_folders", lambda: [path.parent])
    change(path, RULE, OTHER)
    page = path.parent / "ledger.csv"
    words = ("--claims", "--out", path.parent / "out", "--write", page)
    assert inside(*words)[0] == 0
    assert "The rule was changed after the run on" in page.read_text() and ",not run," in page.read_text()
    assert again(path)[0] == 0
    assert inside(*words)[0] == 0
    assert "by the rule before" in page.read_text() and ",supported," in page.read_text()


def test_a_setting_in_which_arms_differ_cannot_be_set_for_all(tmp_path):
    path = write_study(tmp_path)
    code, _, err = inside(path, "--set", "kind=median", "--dry-run")
    assert code == 2 and "the arms of" in err and "differ in kind, which median" in err
    assert inside(path, "--set", "shift=0.5", "--dry-run")[0] == 0
