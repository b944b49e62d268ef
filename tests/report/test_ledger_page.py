"""The ledger as a page, made by one command from what runs left behind."""

import re

import pytest
import xarray as xr
from machine import inside, write_study

from moestat.study import load

CLAIM = """
[[claims]]
id = "odd"
source = "p. 1 | 2"
statement = "A statement with marks: f* is in [0, 1]_+ | <b> and $5."
kind = "mean"
variable = "error"
arm = "median"
at = { n = 10 }
at_least = 0
presets = ["paper"]

[presets.paper]
replicates = 4
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Studies 'ran' (quick and paper, 'odd' judged in paper only), 'quick_only' and 'waits', and their outputs."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "studies").mkdir()
    grid = "n = [10, 20, 40, 80, 160]"
    ran = write_study(folder / "studies", name="ran", grid=grid)
    ran.write_text(ran.read_text() + CLAIM)
    quick_only = write_study(folder / "studies", name="quick_only", grid=grid, seed=8)
    write_study(folder / "studies", name="waits").write_text(quick_only.read_text().replace('"none"', '"other"'))
    for study, *words in ((ran,), (ran, "--preset", "paper"), (quick_only, "--set", "shift=0.5")):
        code, _, err = inside(study, *words, "--jobs", 1, "--quiet", "--out", folder / "out")
        assert code == 0, err
    return folder


def _page(outputs, monkeypatch):
    monkeypatch.setattr(load, "study_folders", lambda: [outputs / "studies"])
    file = outputs / "docs" / "ledger.md"
    code, out, err = inside("--claims", "--out", outputs / "out", "--write", file)
    assert code == 0, err
    assert "4 claims:" in out and "1 not run" in out
    return file.read_text(encoding="utf-8")


def test_every_run_is_named_with_its_provenance(outputs, monkeypatch):
    page = _page(outputs, monkeypatch)
    with xr.open_dataset(outputs / "out" / "ran" / "paper" / "results.nc", engine="h5netcdf") as ds:
        told = f"preset `paper`, run on {ds.date[:10]}, moestat {ds.moestat_version}, code `{ds.code}`, seed 7: "
    assert told in page
    # the paper's preset decides where it was run, quick otherwise; what is not run says so
    assert re.search(r"Study `quick_only`, preset `quick`, run on .* seed 8: .*--set shift=0.5`", page)
    assert "Study `waits`, **not run**. To run it: `python -m moestat.study waits`" in page
    heads = page.split("<!-- summary -->")[1].split("\n")[2].strip("| ").split(" | ")
    other = next(line for line in page.splitlines() if line.startswith("| other |")).strip("| ").split(" | ")
    counts = dict(zip(heads, other, strict=True))
    assert (counts["bearing"], counts["scale"], counts["statements"], counts["not run"]) == ("for", "reduced", "1", "1")
    assert "--out" not in page.split("## none")[1] and "--jobs" not in page.split("## none")[1]


def test_statements_are_shown_as_they_are(outputs, monkeypatch):
    page = _page(outputs, monkeypatch)
    assert r"A statement with marks: f\* is in \[0, 1\]\_+ \| &lt;b&gt; and \$5." in page
    assert "converges like n<sup>\N{MINUS SIGN}1/2</sup>" in page
    tables = [line for line in page.splitlines() if line.startswith("| ") and "a textbook" in line]
    assert len(tables) == 3 and all(len(re.findall(r"(?<!\\)\|", line)) == 7 for line in tables)


def test_the_page_depends_on_the_outputs_alone(outputs, monkeypatch):
    assert _page(outputs, monkeypatch) == _page(outputs, monkeypatch)


def test_write_belongs_to_claims_and_wants_markdown(tmp_path):
    assert "--write belongs to --claims" in inside("toy", "--write", "a.md")[2]
    code, _, err = inside("--claims", "--write", tmp_path / "a.html")
    assert code == 2 and "FILE.md" in err and not (tmp_path / "a.html").exists()
