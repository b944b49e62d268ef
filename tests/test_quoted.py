"""Numbers in prose: what stands before a mark is what the record says, on every page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import quoted
import xarray as xr

from moestat import cli
from moestat.runner import records
from moestat.study import seal

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Records of one study: three claims, a variable."""
    out = tmp_path_factory.mktemp("quoted")
    hits = [[1.0, 0.0, 1.0, 1.0], [0.2, 0.4, np.nan, 0.6]]
    hit = xr.DataArray(hits, dims=("arm", "replicate"), coords={"arm": np.array(["a", "b"], dtype=object)})
    claims = "claim,estimate,ci_low,ci_high,scale,verdict,wording\n"
    claims += "one,-0.5231,-0.5512,-0.4949,reduced,not supported,not shown at reduced scale\n"
    claims += "share,0.9714,0.9591,0.9838,stand-in,supported,supported on a stand-in\n"
    claims += "all,1,1,1,reduced,refuted,refuted by 3 of 40 at reduced scale\n"
    content = {"results.nc.xz": records.packed(xr.Dataset({"hit": hit})), "claims.csv": claims.encode()}
    content |= {"rates.csv": b"arm\n", "rules.json.gz": seal.packed(b"{}"), "manifest.json": b"{}"}
    records.write(records.path(out, "toy", "quick"), content)
    return out


@pytest.mark.parametrize(
    "text",
    [
        "−0.523 [−0.551, −0.495]<!-- = toy one -->",
        "0.52 [0.49, 0.55]<!-- = toy one * -1 -->",
        "−0.52 ± 0.03<!-- = toy/quick one -->",
        "97.1 % [95.9, 98.4]<!-- = toy share --> and 97 points<!-- = toy share -->",
        "*not shown at\nreduced scale*<!-- = toy one -->, *supported on a stand-in*<!-- = toy share -->",
        "*refuted at reduced scale*<!-- = toy all -->, *refuted by 3 of 40 at reduced scale*<!-- = toy all -->",
        "3 of 4<!-- = toy count hit arm=a -->, 0.75<!-- = toy mean hit arm=a -->",
        "0.40 [-0.10, 0.90]<!-- = toy mean hit arm=b -->",
    ],
)
def test_what_the_records_hold_stands(text, out):
    found = list(quoted.quotes(text, out))
    assert found and not any(quote.problem for quote in found), found
    assert quoted.rewritten(text, out) == text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("-0.53<!-- = toy one -->", "-0.52<!-- = toy one -->"),
        ("0.52 [0.49, 0.56]<!-- = toy one * -1 -->", "0.52 [0.49, 0.55]<!-- = toy one * -1 -->"),
        ("96 % [95, 98]<!-- = toy share -->", "97 % [96, 98]<!-- = toy share -->"),
        ("−0.52 ± 0.02<!-- = toy one -->", "−0.52 ± 0.03<!-- = toy one -->"),
        ("so *not supported*<!-- = toy one -->", "so *not shown at reduced scale*<!-- = toy one -->"),
        ("so *refuted*<!-- = toy all -->", "so *refuted by 3 of 40 at reduced scale*<!-- = toy all -->"),
        ("4 of 4<!-- = toy count hit arm=a -->", "3 of 4<!-- = toy count hit arm=a -->"),
        ("1 − 0.5<!-- = toy one -->", "1 − −0.5<!-- = toy one -->"),
    ],
)
def test_another_number_is_found_and_can_be_put_right(text, right, out):
    (quote,) = quoted.quotes(text, out)
    assert quote.problem.startswith("the record says")
    assert quoted.rewritten(f"Before {text} after.", out) == f"Before {right} after."
    assert not any(quote.problem for quote in quoted.quotes(right, out))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.1<!-- = toy/paper one -->", "there is no record of toy, preset paper"),
        ("0.1<!-- = toy none -->", "claims.csv has no claim none"),
        ("0.1<!-- = toy mean hit arm=c -->", "hit has no arm = c"),
        ("0.1<!-- = toy mode hit -->", "is neither the id of a claim nor mean or count"),
        ("much<!-- = toy one -->", "there is no number"),
        ("0.1 [0, 1]<!-- = toy count hit -->", "the record has no such number"),
        ("*holds*<!-- = check SA Theorem 99 -->", "no item is named 'SA Theorem 99'"),
        (f"{quoted.EVERY}\nis 0.5 [0.4, 0.6] of Unif[0, 1].", "the interval has no mark"),
    ],
)
def test_what_cannot_be_looked_up_is_said(text, problem, out):
    (quote,) = quoted.quotes(text, out)
    assert problem in quote.problem


@pytest.mark.parametrize("item", ["SA Figure 1", "EC Lemma 14", "DS Theorem 2"])
def test_an_item_stands_as_the_command_says(item, capsys):
    (quote,) = quoted.quotes(f"*holds*<!-- = check {item} -->", ROOT / "outputs")
    assert cli.main(["check", item]) == 0
    assert quote.right.strip("*") == capsys.readouterr().out.splitlines()[0].split(": ")[1]


@pytest.mark.parametrize("page", quoted.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_our_pages_quote_what_the_records_hold(page):
    found = list(quoted.quotes(page.read_text(encoding="utf-8"), ROOT / "outputs"))
    wrong = [f"line {q.line}: {q.text} [{q.words}]: {q.problem}" for q in found if q.problem]
    assert not wrong, "\n".join(["python docs/quoted.py --write puts other numbers right:", *wrong])
