"""The ledger as a page, made by one command from what runs left behind."""

import csv
import re

import pytest
import xarray as xr
from machine import inside, said, undrawn, write_study

from moestat.study import load

CLAIM = """
from moestat.study.rules import mean
study.claim(
    "odd",
    "A statement with marks: f* is in [0, 1]_+ | <b> and $5.",
    mean("error", "median", at=dict(n=10)).at_least(0),
    source="p. 1 | 2",
    presets=["paper"],
)
study.preset("paper", "Four of each.", replicates=4)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Studies 'ran' (quick and paper, 'odd' judged in paper only), 'quick_only' and 'waits', and their outputs."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "studies").mkdir()
    grid = "n = [10, 20, 40, 80, 160]"
    ran = write_study(folder / "studies", name="ran", grid=grid, more=CLAIM)
    quick_only = write_study(folder / "studies", name="quick_only", grid=grid, seed=8)
    write_study(folder / "studies", name="waits").write_text(quick_only.read_text().replace('"none"', '"other"'))
    for study, *words in ((ran,), (ran, "--preset", "paper"), (quick_only, "--set", "shift=0.5")):
        with undrawn():
            said(study, *words, "--jobs", 1, "--quiet", "--out", folder / "out")
    return folder


def _written(outputs, monkeypatch, ending):
    monkeypatch.setattr(load, "study_folders", lambda: [outputs / "studies"])
    file = outputs / "docs" / f"ledger.{ending}"
    code, out, err = inside("--claims", "--out", outputs / "out", "--write", file)
    assert code == 0, err
    assert "4 primary claims:" in out and "1 not run" in out
    return file.read_text(encoding="utf-8")


def test_every_run_is_named_with_its_provenance(outputs, monkeypatch):
    rows = {f"{r['study']}:{r['claim']}": r for r in csv.DictReader(_written(outputs, monkeypatch, "csv").splitlines())}
    with xr.open_dataset(outputs / "out" / "ran" / "paper" / "results.nc", engine="h5netcdf") as ds:
        told = {"preset": "paper", "date": ds.date[:10], "version": ds.moestat_version}
    assert {key: rows["ran:odd"][key] for key in told} == told
    # the paper's preset decides where it was run, quick otherwise; what is not run says so
    quick = rows["quick_only:mean-rate"]
    assert quick["preset"] == "quick" and "--set shift=0.5" in quick["command"]
    page = _written(outputs, monkeypatch, "html")
    assert "--set shift=0.5" in page
    assert "not run<small>decided by <code>python -m moestat.study waits --preset quick</code>" in page


def test_write_belongs_to_claims_and_wants_a_form_that_it_knows(tmp_path):
    assert "--write belongs to --claims" in inside("toy", "--write", "a.html")[2]
    for name in ("a.pdf", "a.md"):
        code, _, err = inside("--claims", "--write", tmp_path / name)
        assert code == 2 and "FILE.html" in err and not (tmp_path / name).exists()


def test_the_html_page_holds_every_claim_and_loads_nothing(outputs, monkeypatch):
    monkeypatch.setattr(load, "study_folders", lambda: [outputs / "studies"])
    file, data = outputs / "ledger.html", outputs / "ledger.csv"
    said("--claims", "--out", outputs / "out", "--write", file, "--write", data)
    text = file.read_text(encoding="utf-8")
    assert not re.search(r'src="|href="[^#]', text), "it loads nothing"
    found = {row[0]: row[1] for row in re.findall(r'<tr id="([^"]*)"(.*?)</tr>', text, re.DOTALL)}
    assert set(found) == {"ran:odd", "ran:mean-rate", "quick_only:mean-rate", "waits:mean-rate"}
    for row in csv.DictReader(data.open(newline="", encoding="utf-8")):
        shown = found[f"{row['study']}:{row['claim']}"]
        for key in ("verdict", "scale", "origin"):
            assert f'data-{key}="{row[key]}"' in shown and f"<option>{row[key]}</option>" in text
        decided = row["date"] and row["preset"] == row["decides"]
        assert decided or row["decides_with"] in shown
    assert "A statement with marks: f* is in [0, 1]_+ | &lt;b&gt; and $5." in text
    assert "converges like n<sup>\N{MINUS SIGN}1/2</sup>" in text


def test_one_claim_is_printed_with_all_that_is_known_of_it(outputs, monkeypatch):
    monkeypatch.setattr(load, "study_folders", lambda: [outputs / "studies"])
    code, out, err = inside("claim", "ran:mean-rate", "--out", outputs / "out")
    assert code == 0, err
    with open(outputs / "out" / "ran" / "paper" / "claims.csv", newline="", encoding="utf-8") as stream:
        row = next(row for row in csv.DictReader(stream) if row["claim"] == "mean-rate")
    flat, place = " ".join(out.split()), str(outputs / "out" / "ran" / "paper")
    assert all(text in flat for text in (row["statement"], row["source"], row["wording"], "preset paper", place))
    assert "says stated, statement of Claims" in flat and "scale the study's own problem: Four of each." in flat
    assert "also run preset quick" in flat and "the slope of log error against log n, arm mean" in flat
    assert out.rstrip().endswith(f"python -m moestat.study ran --preset paper --out {outputs / 'out'}")
    path = outputs / "studies" / "ran.py"
    assert f"python -m moestat.study {path}" in inside("claim", f"{path}:mean-rate", "--out", outputs / "out")[1]
    code, out, _ = inside("claim", "mean-rate")
    assert code == 0 and "One of them: python -m moestat.study claim " in out and out.count("mean-rate") == 4


def test_the_run_of_a_file_is_found_by_the_name_that_its_study_gives_itself(tmp_path):
    file = write_study(tmp_path, name="here", grid="n = [10, 20]", more=CLAIM.replace('"paper"', '"quick"', 1))
    file.write_text(file.read_text() + '\nstudy.name = "there"\n')
    with undrawn():
        said(file, "--jobs", 1, "--quiet", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "there" / "quick" / "results.nc").is_file()
    code, out, err = inside("--claims", file, "--out", tmp_path / "out")
    assert code == 0, err
    assert "quick, 2" in out and ", 0 not run" in out
