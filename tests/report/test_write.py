"""What a run leaves behind: the files, the page (whole, self-contained, readable), the index and the ledger."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr
from report_example import results, study_of
from rich.console import Console

from moestat.claims import verdicts
from moestat.report import ledger, ledger_html
from moestat.report.html import stylesheet
from moestat.report.write import write_outputs
from moestat.study import presets

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


class Outline(HTMLParser):
    """What a reader of the page's structure needs: ids, links, labels, headings, and whether tags are balanced."""

    VOID = ("meta", "br", "link", "img", "hr", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.headings, self.data = [], [], [], [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if "href" in attrs or "src" in attrs or "xlink:href" in attrs:
            self.links.append(attrs.get("href") or attrs.get("src") or attrs.get("xlink:href"))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1] if self.open else ''}>"
        self.open.pop()

    def handle_data(self, data):
        self.data += data


# --- the files -------------------------------------------------------------------------------------------------------


def test_the_files_of_a_run(written):
    folder, _, _ = written
    figures = {f"{name}.{end}" for name in ("figure", "curves") for end in ("png", "svg", "pdf", "caption.txt")}
    tables = {"rates.csv", "rates.tex", "claims.csv", "claims.tex", "summaries.csv", "summaries.tex"}
    assert {path.name for path in folder.iterdir()} == figures | tables | {"report.html", "manifest.json"}
    assert (folder.parent.parent / "index.html").is_file()


def test_claims_csv_has_its_columns_in_order_and_its_numbers_in_full(written):
    folder, report, _ = written
    with open(folder / "claims.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert tuple(rows[0]) == verdicts.COLUMNS
    assert [row[0] for row in rows[1:]] == ["slope", "faster", "absent"]
    slope, faster, absent = (dict(zip(rows[0], row, strict=True)) for row in rows[1:])
    assert [row["verdict"] for row in (slope, faster, absent)] == ["supported", "not supported", "inconclusive"]
    assert slope["wording"] == "supported at reduced scale" and faster["wording"] == "not shown at reduced scale"
    assert (slope["origin"], slope["bearing"], slope["group"], slope["scale"]) == ("stated", "for", "slope", "reduced")
    assert float(slope["estimate"]) == report.claims["estimate"][0]
    assert [absent[key] for key in ("estimate", "ci_low", "ci_high")] == ["", "", ""]
    assert "not part of this run" in absent["why"]


def test_a_report_made_again_is_the_same(written, tmp_path):
    folder, _, _ = written
    again = tmp_path / "quick"
    again.mkdir()
    ds, study = example()
    write_outputs(ds, study, "quick", again, provenance=PROVENANCE)
    for path in folder.iterdir():
        if path.name != "manifest.json":
            assert (again / path.name).read_bytes() == path.read_bytes(), path.name
    assert not (tmp_path.parent / "index.html").exists()  # this folder is not <outputs>/<study>/<preset>


def test_a_figure_that_cannot_be_drawn_does_not_take_the_others_with_it(written, page):
    _, report, _ = written
    assert report.problems == ["Figure broken could not be drawn: The results hold no variable 'absent'."]
    assert "could not be drawn" in page and "no variable 'absent'" in page


def test_the_terminal_shows_rates_claims_and_what_went_wrong(written):
    _, report, _ = written
    for width in (80, 140):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        console.print(report.rates_table(), report.claims_table(), report.summary)
        text = console.export_text()
        assert all(word in text for word in ("softmax-relu", "not shown", "inconclusive", "Fisher"))
        assert "absent: There is no number to judge" in text
        assert "320 runs: 1 failed, 0 not converged, 1 missing." in text
        told = "Claims: 1 supported at reduced scale, 1 not shown at reduced scale, 1 inconclusive; all by rules "
        told += "sealed before the run."
        assert told in " ".join(text.split()) and "not supported" not in text


def test_a_study_without_anything_to_show_still_has_a_report(tmp_path):
    ds = results({"only": -0.5}, sizes=[1000], replicates=1)[["status"]]
    study = study_of(
        results({"only": -0.5}), rates=[], claims=[], figures=[], summaries=[], about="", question="", notes=""
    )
    report = write_outputs(ds, study, "quick", tmp_path, provenance={})
    assert "The study states no claim for this preset" in (tmp_path / "report.html").read_text()
    Console(file=open("/dev/null", "w")).print(report.rates_table(), report.claims_table())  # noqa: SIM115
    Outline((tmp_path / "report.html").read_text())


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_loads_nothing(page):
    outline = Outline(page)
    assert not outline.open
    assert not any(tag in ("link", "iframe", "object", "embed") for tag, _ in outline.tags)
    assert all("src" not in attrs for tag, attrs in outline.tags if tag == "script")
    assert not any(key.startswith("on") for _, attrs in outline.tags for key in attrs)
    assert all(re.match(r"#|data:image/|[\w.-]+$", link) for link in outline.links)
    assert not re.search(r"@import|url\((?!#)", page)
    assert len(outline.ids) == len(set(outline.ids))
    anchors = {link[1:] for link in outline.links if link.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", page))
    assert anchors <= set(outline.ids)


def test_links_lead_to_files_of_the_run(written, page):
    folder, _, _ = written
    for link in Outline(page).links:
        if not link.startswith(("#", "data:")) and link not in ("results.nc",):
            assert (folder / link).is_file(), link


def test_the_page_can_be_read_without_eyes(page):
    outline = Outline(page)
    for tag, attrs in outline.tags:
        if tag == "svg":
            assert attrs["aria-hidden"] == "true"
        if tag == "img":
            assert len(attrs["alt"]) > 20
        if tag == "html":
            assert attrs["lang"] == "en-GB"
    labels = [attrs["alt"] for tag, attrs in outline.tags if tag == "img"]
    assert "slope \N{MINUS SIGN}0.4" in labels[0] and labels[1].startswith("Line plot with 1 panel")
    assert outline.headings[0] == 1 and outline.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(outline.headings, outline.headings[1:], strict=False))


def test_the_page_says_everything(written, page):
    _, report, study = written
    text = " ".join(Outline(page).data.split())
    for part in (
        "A study of & for <tests>",
        "Does sigmoid converge faster than softmax?",
        "Of 3 claims, 1 is supported at reduced scale, 1 is not shown at reduced scale, 1 is inconclusive; all by "
        "rules sealed before the run.",
        "This run is not complete: 1 of 320 runs are missing.",
        "set aside a <damaged> shard",
        "n = 3728, replicate 3",
        "ValueError: <b>bold</b>",
        "320 runs: 1 failed, 0 not converged, 1 missing.",
        "box |theta| \N{LESS-THAN OR EQUAL TO} 5",
        "projected gradient",
        PROVENANCE["command"],
        "numpy 2.4",
        "20260101",
        "as it should be",
        "d = 9 (set on the command line)",
        "within [\N{MINUS SIGN}0.6, \N{MINUS SIGN}0.4]",
    ):
        assert part in text, part
    for why in report.claims["why"]:
        assert re.sub("[-\N{MINUS SIGN}]", "", why) in re.sub("[-\N{MINUS SIGN}]", "", text)
    assert "<tests>" not in page and "<b>bold</b>" not in page


def luminance(colour):
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_the_contrast_that_wcag_asks_for(dark):
    blocks = re.findall(r":root \{(.*?)\}", str(stylesheet()), re.DOTALL)
    names = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[int(dark)]))
    pairs = [
        ("ink", "page"),
        ("soft", "page"),
        ("link", "page"),
        ("soft", "panel"),
        ("ink", "panel"),
        ("ink", "open-page"),
    ]
    pairs += [(word, f"{word}-page") for word in ("yes", "no", "open")]
    for text, ground in pairs:
        low, high = sorted(luminance(names[name]) for name in (text, ground))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def test_the_index_lists_what_lies_there(written):
    folder, _, study = written
    text = (folder.parent.parent / "index.html").read_text()
    outline = Outline(text)
    assert outline.links == ["example/quick/report.html"]
    assert study.title in outline.data and "1 studies, 1 presets" in outline.data
    assert "verdicts: 1 supported at reduced scale, 1 not shown at reduced scale, 1 inconclusive" in outline.data


# --- the ledger ------------------------------------------------------------------------------------------------------


def test_the_ledger_tells_what_was_run(written):
    folder, report, study = written
    table = ledger.ledger(folder.parent.parent, {"example": study, "other": study})
    assert tuple(table.columns) == ledger.LEDGER_COLUMNS
    mine, other = table[table["study"] == "example"], table[table["study"] == "other"]
    assert list(mine["verdict"]) == ["supported", "not supported", "inconclusive"]
    assert mine["estimate"][0] == report.claims["estimate"][0]
    assert set(mine["date"]) == {"2026-01-05"} and set(mine["version"]) == {"0.1.0"}
    assert set(mine["command"]) == {PROVENANCE["command"]}
    assert set(other["verdict"]) == {"not run"} and set(other["command"]) == {"python -m moestat.study other"}
    told = "1 supported at reduced scale, 1 not shown at reduced scale, 1 inconclusive, 3 not run"
    assert f"6 claims: {told}" in ledger.title(table)
    page = ledger_html.page(table)
    assert "not run" in page and "Faster." in page
    Outline(page)
    for width in (80, 140):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        console.print(ledger.rich(table))
        told = console.export_text()
        assert "not run" in told and "2026-01-05" in told
        assert (study.claims[0].statement in told) == (width == 140) and study.claims[0].id in told


def test_the_ledger_prefers_the_paper_and_knows_changed_claims(written, tmp_path):
    folder, _, study = written
    rows = (folder / "claims.csv").read_text().splitlines()
    for preset in ("quick", "paper"):
        (tmp_path / "example" / preset).mkdir(parents=True)
        kept = [row.replace("reduced", "paper") for row in rows[:2]] if preset == "paper" else rows
        (tmp_path / "example" / preset / "claims.csv").write_text("\n".join(kept))
    table = ledger.ledger(tmp_path, {"example": study})
    assert list(table["preset"]) == ["paper", "quick", "quick"]
    content = study.model_dump()
    content["claims"][0]["statement"] = "Something else."
    content["presets"]["paper"] = {"replicates": 3}
    changed = ledger.ledger(tmp_path, {"example": type(study).model_validate(content)})
    assert list(changed["verdict"]) == ["not run", "not supported", "inconclusive"]
    assert "has been changed" in changed["why"][0]
    assert changed["command"][0] == "python -m moestat.study example --preset paper"


def test_a_run_that_could_not_decide_never_takes_the_place_of_one_that_did(written, tmp_path):
    folder, _, study = written
    claim = study.claims[0].id
    rows = list(csv.DictReader((folder / "claims.csv").open()))

    def table(first="", **changes):
        for preset in ("quick", "paper"):
            mine = [row | {"scale": "paper", **changes} if preset == "paper" else row for row in rows]
            path = tmp_path / "example" / preset / "claims.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", newline="") as stream:
                writer = csv.DictWriter(stream, rows[0])
                writer.writeheader()
                writer.writerows(mine)
        found = ledger.ledger(tmp_path, {"example": study}, first=first).set_index("claim")
        return found.loc[claim, ["preset", "verdict"]].tolist()

    decided = rows[0]["verdict"]
    assert decided != "inconclusive"
    none = {"verdict": "inconclusive", "ci_low": "", "ci_high": "", "reason": "no interval"}
    few = {
        "verdict": "inconclusive",
        "ci_low": "-1",
        "ci_high": "1",
        "reason": "too few",
    }
    assert table(**none) == table(**few) == ["quick", decided]
    assert table(first="paper", **few) == ["paper", "inconclusive"]
    wide = {"verdict": "inconclusive", "ci_low": "-1", "ci_high": "1", "reason": "across the edge"}
    assert table(**wide) == ["paper", "inconclusive"], "a run that might have decided says more"
    rows[0] = rows[0] | wide
    assert table(**few) == ["paper", "inconclusive"], "nothing is decided: the stronger run stays"


def test_a_small_run_does_not_speak_past_a_larger_one_that_left_it_open(written, tmp_path):
    folder, _, study = written
    claim = study.claims[0].id
    rows = list(csv.DictReader((folder / "claims.csv").open()))
    assert rows[0]["verdict"] != "inconclusive"
    few = {"verdict": "inconclusive", "ci_low": "", "ci_high": "", "reason": "no interval"}
    open_still = {"verdict": "inconclusive", "ci_low": "-1", "ci_high": "1", "reason": "across the edge"}
    middle = study.model_copy(
        update={"presets": {**study.presets, "middle": study.presets["quick"].model_copy(update={"rank": 1})}}
    )
    assert presets.strongest_first(middle, middle.claims[0], ["quick", "middle", "paper"]) == [
        "paper",
        "middle",
        "quick",
    ]
    for preset, changes in (("quick", {}), ("middle", open_still), ("paper", few)):
        path = tmp_path / "example" / preset / "claims.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows([row | {"scale": "paper", **changes} for row in rows])
    found = ledger.ledger(tmp_path, {"example": middle}).set_index("claim").loc[claim]
    assert [found["preset"], found["verdict"]] == ["paper", "inconclusive"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "claim\n\x00", '"unclosed', "claim,source\nx,y\n"])
def test_a_broken_file_counts_as_no_run(tmp_path, content, study):
    folder = tmp_path / "example" / "quick"
    folder.mkdir(parents=True)
    (folder / "claims.csv").write_text(content)
    (folder / "manifest.json").write_text("{")
    assert set(ledger.ledger(tmp_path, {"example": study})["verdict"]) == {"not run"}
    assert set(ledger.ledger(tmp_path / "nowhere", {"example": study})["verdict"]) == {"not run"}


def test_the_design_follows_ademp_and_says_what_the_replicates_give(written):
    folder, report, _ = written
    page = (folder / "report.html").read_text()
    heads = ["Aims", "Data-generating mechanisms", "Methods", "Performance measures"]
    places = [page.index(f">{head}</h") for head in heads]
    assert places == sorted(places)
    half = ((report.rates["ci_high"] - report.rates["ci_low"]) / 2).median()
    assert f"half widths of slopes {half:.2g} (median)" in page
    assert "preset quick (reduced: the paper" in page.split("</h1>")[0]
