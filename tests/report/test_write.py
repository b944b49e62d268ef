"""What a run leaves behind: the files, the page (whole, self-contained, readable), and the ledger."""

import csv
import io
import json
import re
from html import unescape

import pandas as pd
import pytest
import xarray as xr
from report_example import results, study_of
from rich.console import Console

from moestat.claims import verdicts, wording
from moestat.report import ledger
from moestat.report.write import findings, write_outputs
from moestat.study import cells

PROVENANCE = {
    "study": "example",
    "preset": "quick",
    "title": "A study",
    "seed": 20260101,
    "command": "python -m moestat.study example --set d=9",
    "set": ["d=9"],
    "date": "2026-01-05T12:00:00+0000",
    "versions": "moestat 0.1.0, numpy 2.4",
    "moestat_version": "0.1.0",
    "accepted_stale": [],
    "notes": ["set aside a <damaged> shard"],
}
PANEL = {"title": "Error", "variable": "L3"}


def example():
    ds = results()
    ds["status"][1, 2, 3] = 8
    ds["message"][1, 2, 3] = "ValueError: <b>bold</b>"
    ds["status"][2, 0, 0] = -1
    # through the file, as the command line reads it
    ds = xr.load_dataset(bytes(ds.to_netcdf(engine="h5netcdf")), engine="h5netcdf")
    figures = [
        {"name": "rates", "title": "Errors", "panels": [PANEL]},
        {"name": "curves", "kind": "lines", "logy": False, "panels": [{"variable": "rmse"}]},
        {"name": "broken", "panels": [{"variable": "absent"}]},
    ]
    return ds, study_of(ds, figures=figures)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs") / "example" / "quick"
    folder.mkdir(parents=True)
    ds, study = example()
    manifest = {"title": study.title, "updated": PROVENANCE["date"], "versions": {"moestat": "0.1.0"}}
    manifest |= {"command": PROVENANCE["command"], "tally": {"replicates": 320, "failed": 1}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder, write_outputs(ds, study, "quick", folder, provenance=PROVENANCE), study


@pytest.fixture(scope="module")
def page(written):
    return (written[0] / "report.html").read_text()


def test_the_files_of_a_run_and_the_numbers_of_its_claims_in_full(written):
    folder, report, _ = written
    figures = {f"{name}.{end}" for name in ("figure", "curves") for end in ("png", "pdf")}
    tables = {"rates.csv", "rates.tex", "claims.csv", "summaries.csv", "summaries.tex"}
    assert {path.name for path in folder.iterdir()} == figures | tables | {"report.html", "manifest.json"}
    with open(folder / "claims.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert tuple(rows[0]) == wording.COLUMNS
    assert [row[0] for row in rows[1:]] == ["slope", "faster", "absent"]
    slope, faster, absent = (dict(zip(rows[0], row, strict=True)) for row in rows[1:])
    assert [row["verdict"] for row in (slope, faster, absent)] == ["supported", "not supported", "inconclusive"]
    assert slope["wording"] == "supported at reduced scale" and faster["wording"] == "not shown at reduced scale"
    assert (slope["origin"], slope["bearing"], slope["scale"]) == ("stated", "for", "reduced")
    assert float(slope["estimate"]) == report.claims["estimate"][0]
    assert [absent[key] for key in ("estimate", "ci_low", "ci_high")] == ["", "", ""]
    assert "not part of this run" in absent["why"]


def test_a_report_made_again_is_the_same(written, tmp_path):
    folder, _, _ = written
    again = tmp_path / "quick"
    again.mkdir()
    write_outputs(*example(), "quick", again, provenance=PROVENANCE)
    for path in again.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


def test_the_page_loads_nothing_and_its_links_lead_somewhere(written, page):
    folder, _, _ = written
    assert not re.search(r"<(link|iframe|object|embed|script)|@import|url\((?!#)", page)
    for link in re.findall(r'(?:href|src)="([^"]*)"', page):
        inside = link.startswith("data:image/") or f'id="{link[1:]}"' in page or link == "results.nc"
        assert inside or (folder / link).is_file(), link
    alternatives = re.findall(r'<img [^>]*alt="([^"]*)"', page)
    assert len(alternatives) == 2 and all("320 runs" in text for text in alternatives)


def test_the_page_says_what_was_run_and_what_went_wrong_and_shows_markup_of_nobody(written, page):
    _, report, _ = written
    text = " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.DOTALL)).split())
    for part in (
        "A study of & for <tests>",
        "Rules: 3 sealed, 0 edited, 0 added.",
        "This run is not complete: 1 of 320 runs are missing.",
        "set aside a <damaged> shard",
        "ValueError: <b>bold</b>",
        "320 runs: 1 failed, 0 not converged, 1 missing.",
        PROVENANCE["command"],
        "d = 9 (set on the command line)",
        "within [\N{MINUS SIGN}0.6, \N{MINUS SIGN}0.4]",
    ):
        assert part in text, part
    for why in report.claims["why"]:
        assert re.sub("[-\N{MINUS SIGN}]", "", why) in re.sub("[-\N{MINUS SIGN}]", "", text)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report.answer(), report.rates_table(), report.claims_table())
    text = " ".join(console.export_text().split())
    assert "absent: There is no number to judge" in text and "320 runs: 1 failed, 0 not converged, 1 missing." in text
    assert "Claims: 1 supported at reduced scale, 1 not shown at reduced scale, 1 inconclusive; rules: 3 seal" in text
    assert "<tests>" not in page and "<b>bold</b>" not in page
    assert report.problems == ["Figure broken could not be drawn: The results hold no variable 'absent'."]
    assert "could not be drawn" in page and "no variable 'absent'" in page


def test_claims_of_the_sensitivity_are_marked_and_not_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(cells, "of_studies", lambda studies: {"example:faster": cells.Place("Figure 1", "experiment")})
    report = write_outputs(*example(), "quick", tmp_path, provenance=PROVENANCE)
    told = "Claims: 1 not shown at reduced scale; rules: 1 sealed, 0 edited, 0 added; sensitivity: 1 supported"
    assert told in str(report.summary)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report.answer())
    shown = console.export_text()
    assert "faster" in shown and "slope" not in shown and "and 2 more claims: --verbose" in shown
    page = (tmp_path / "report.html").read_text()
    assert page.index('id="claim-faster"') < page.index('id="claim-slope"'), "what is primary comes first"
    assert 'href="#claim-faster"' in page and 'href="#claim-slope"' not in page, "the first screen has what is primary"
    assert page.count("stated, sensitivity") == 2 and "stated, experiment of Figure 1" in page
    assert "Beside these verdicts stand those of 2 claims of the sensitivity" in page


FINDINGS = {
    "It falls as printed.": {"slope": "supported"},
    "It does not fall as printed.": {"slope": "not supported"},
    "It falls as printed, and is no faster.": {"slope": "supported", "faster": "not supported"},
    "Nothing is known of the absent arm.": {"absent": "inconclusive"},
    "A claim of another preset speaks here.": {"elsewhere": "supported"},
    "Both slopes fall as printed, of which one is judged.": {"slope*": "supported"},
}


@pytest.mark.parametrize(("exponent", "wanted"), [(-0.5, {0, 3}), (-0.2, {1, 3})])
def test_a_finding_is_shown_where_all_its_verdicts_are_as_it_says(exponent, wanted):
    ds = results({"a": exponent, "b": -0.3})
    study = study_of(ds)
    more = [study.claims[0].model_dump() | {"id": name, "presets": ["paper"]} for name in ("elsewhere", "slope-paper")]
    every = {"findings": [{"when": when, "text": text} for text, when in FINDINGS.items()]}
    content = study.model_dump() | every
    study = type(study).model_validate(content | {"claims": [*content["claims"], *more]})
    shown = findings(study, verdicts.judge(ds, study, "quick"))
    assert shown == [text for number, text in enumerate(FINDINGS) if number in wanted]


def test_the_ledger_prefers_the_paper_and_knows_changed_claims(written, tmp_path):
    folder, _, study = written
    rows = (folder / "claims.csv").read_text().splitlines()
    for preset in ("quick", "paper"):
        (tmp_path / "example" / preset).mkdir(parents=True)
        kept = [row.replace("reduced", "paper") for row in rows[:2]] if preset == "paper" else rows
        (tmp_path / "example" / preset / "claims.csv").write_text("\n".join(kept))
    table = ledger.frame(ledger.rows(tmp_path, {"example": study}))
    assert list(table["preset"]) == ["paper", "quick", "quick"]
    content = study.model_dump()
    content["claims"][0]["statement"] = "Something else."
    content["presets"]["paper"] = {"replicates": 3}
    changed = ledger.frame(ledger.rows(tmp_path, {"example": type(study).model_validate(content)}))
    assert list(changed["verdict"]) == ["not run", "not supported", "inconclusive"]
    assert "has been changed" in changed["why"][0]
    again = f"report example --preset paper --out {tmp_path}"
    assert changed["command"][0] == f"python -m moestat.study {again}" and changed["why"][0].endswith(again)


OPEN = {"verdict": "inconclusive", "ci_low": "-1", "ci_high": "1", "reason": "across the edge"}
FEW = OPEN | {"reason": "too few"}
NONE = OPEN | {"ci_low": "", "ci_high": "", "reason": "no interval"}


@pytest.mark.parametrize(
    ("quick", "middle", "paper", "counts"),
    [
        ({}, None, NONE, "quick"),  # a run that could not decide never takes the place of one that did
        ({}, None, FEW, "quick"),
        ({}, None, OPEN, "paper"),  # one that might have decided says more
        (OPEN, None, FEW, "paper"),  # nothing is decided: the stronger run stays
        ({}, OPEN, NONE, "paper"),  # a small run does not speak past a larger one that left it open
    ],
)
def test_which_run_counts(written, tmp_path, quick, middle, paper, counts):
    folder, _, study = written
    rows = list(csv.DictReader((folder / "claims.csv").open()))
    assert rows[0]["verdict"] != "inconclusive"
    between = study.presets["quick"].model_copy(update={"rank": 1})
    study = study.model_copy(update={"presets": {**study.presets, "middle": between}})
    for preset, changes in {"quick": quick, "middle": middle, "paper": paper}.items():
        if changes is not None:
            path = tmp_path / "example" / preset / "claims.csv"
            path.parent.mkdir(parents=True)
            scale = {"scale": "paper"} if preset == "paper" else {}
            pd.DataFrame([row | scale | changes for row in rows]).to_csv(path, index=False)
    found = ledger.frame(ledger.rows(tmp_path, {"example": study})).set_index("claim").loc[study.claims[0].id]
    assert found["preset"] == counts
    assert (found["verdict"] == "inconclusive") == (counts == "paper")


@pytest.mark.parametrize("content", ["", "claim\n\x00", "claim,source\nx,y\n"])
def test_a_broken_file_counts_as_no_run(tmp_path, content, study):
    folder = tmp_path / "example" / "quick"
    folder.mkdir(parents=True)
    (folder / "claims.csv").write_text(content)
    (folder / "manifest.json").write_text("{")
    assert set(ledger.frame(ledger.rows(tmp_path, {"example": study}))["verdict"]) == {"not run"}
    assert set(ledger.frame(ledger.rows(tmp_path / "nowhere", {"example": study}))["verdict"]) == {"not run"}
