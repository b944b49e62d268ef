"""Numbers in prose, held to the records under ``outputs/records``: a mark behind a number says where it comes from.

    python docs/quoted.py            # every marked number that is another than its record's; fails if there is one
    python docs/quoted.py --write    # put what the records say in its place, with as many decimals

A mark is a comment, which no reader of the page sees, behind a number, a number with its interval or half-width, a
count or a verdict:

    slower by 0.35<!-- = sigmoid_vs_softmax faster-relu-sgd-root -->
    2.2 points [0.3, 4.1]<!-- = expert_count/paper few-mlp-4 -->, *supported*<!-- = expert_count/paper few-mlp-4 -->
    falls by 0.52 ± 0.03<!-- = softmax_gaussian/medium published-three * -1 -->
    16 of 20<!-- = mot_specialisation count covered arm=m8 -->
    *holds in part*<!-- = check SA Figure 1 -->

It names a study, its preset (``quick`` if none is named), and a claim by its id, or else what is to be computed: the
``mean`` of a variable, or the ``count`` of the replicates in which it is not zero, at ``KEY=VALUE``. ``%`` and "points"
are hundredths; ``* FACTOR`` stands for any other change. A claim's id behind words in italics means its verdict, with
the scale of the run; counts ("in 50 of 50") may be left out. With ``check`` the words in italics mean how an item of a
paper stands, as ``moestat check`` says it. A page with the line ``<!-- every interval is marked -->`` may hold no
interval without a mark, unless a remark behind it says where it is from, ``<!-- of no record: ... -->``.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from scipy import stats

from moestat.claims.wording import wording
from moestat.rates.verdict import Word
from moestat.report import csv_text, items, ledger
from moestat.runner import records, results
from moestat.study import contents, load, lookup
from moestat.study.spec import Scale

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("studies/*/README.md")))
MARK = re.compile(r"<!--\s*=\s*([\w-]+)(?:/([\w-]+))?\s+([^>]+?)\s*-->")
EVERY = "<!-- every interval is marked -->"
NUMBER = r"([+−-]?(?:\d{1,3}(?: \d{3})+|\d+)(?:\.\d+)?(?:e[+−-]?\d+)?)"
UNIT = r"(?:\s*(%)|\s+(points?)|\s+[a-z]+)?"
INTERVAL = rf"\[{NUMBER},\s*{NUMBER}\]"
FORMS = {
    "interval": re.compile(rf"(?<![\d.]){NUMBER}{UNIT}\s*{INTERVAL}$"),
    "half": re.compile(rf"(?<![\d.]){NUMBER}\s*±\s*{NUMBER}{UNIT}$"),
    "count": re.compile(rf"(?<![\d.]){NUMBER} of {NUMBER}$"),
    "single": re.compile(rf"(?<![\d.]){NUMBER}{UNIT}$"),
}
VERDICT = re.compile(r"\*([^*]+)\*$")


@dataclass(frozen=True)
class Found:
    """What a record holds: an estimate with its interval, a count out of a number, and a verdict."""

    value: float
    low: float = math.nan
    high: float = math.nan
    count: tuple[int, int] = (0, 0)
    verdicts: tuple[str, ...] = ()


_check = cache(records.check)  # a page has many marks to one record
_table = cache(csv_text.load)
_results = cache(results.read)


@cache
def _stand(out: Path) -> dict[str, str]:
    """Return how every item of every paper stands, by the key of the paper and the name of the item."""
    rows = ledger.rows(out, lookup.readable(load.known_studies()))
    parts = {one.key: items.parts(one, [row for row in rows if row["paper"] == one.name]) for one in contents.every()}
    return {f"{key} {part.item.name}": part.stands for key, found in parts.items() for part in found}


def look_up(out: Path, study: str, preset: str, words: str) -> Found:
    """Return what the record of a study says to the words of a mark; a LookupError says that it says nothing."""
    if study == "check":
        if words not in _stand(out):
            raise LookupError(f"no item is named {words!r}")
        return Found(math.nan, verdicts=(_stand(out)[words],))
    folder = records.path(out, study, preset)
    if not records.is_record(folder):
        raise LookupError(f"there is no record of {study}, preset {preset}")
    _check(folder)
    first, *rest = words.split()
    if not rest:
        row = next((row for row in _table(folder / "claims.csv") if row["claim"] == first), None)
        if row is None:
            raise LookupError(f"claims.csv has no claim {first}")
        verdicts = wording(cast(Word, row["verdict"]), cast(Scale, row["scale"])), row["wording"]
        return Found(*(float(row[name] or "nan") for name in ("estimate", "ci_low", "ci_high")), verdicts=verdicts)
    if first not in ("mean", "count"):
        raise LookupError(f"{words!r} is neither the id of a claim nor mean or count with a variable")
    dataset = _results(results.of(folder))
    if rest[0] not in dataset:
        raise LookupError(f"{results.of(folder)} has no variable {rest[0]!r}")
    array = dataset[rest[0]]
    for key, text in (place.split("=", 1) for place in rest[1:]):
        labels = [str(label) for label in array[key].values.tolist()] if key in array.dims else []
        if text not in labels:
            raise LookupError(f"{rest[0]} has no {key} = {text}")
        array = array.isel({key: labels.index(text)})
    values = np.asarray(array.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    rows = np.asarray(array.mean([dim for dim in array.dims if dim != "replicate"]).values, dtype=np.float64)
    rows = rows[np.isfinite(rows)] if rows.ndim else rows.reshape(1)
    count = int(np.count_nonzero(values)), values.size
    half = (
        float(stats.t.ppf(0.975, rows.size - 1) * rows.std(ddof=1) / math.sqrt(rows.size))
        if rows.size > 1
        else math.nan
    )
    value = float(np.mean(values)) if first == "mean" else float(count[0])
    return Found(value, value - half, value + half, count) if first == "mean" else Found(value, count=count)


@dataclass(frozen=True)
class Quote:
    """A marked number of a page: where it stands, what stands there, what its record says, and what is wrong."""

    line: int
    words: str
    text: str
    right: str
    start: int
    problem: str = ""


def quotes(text: str, out: Path) -> Iterator[Quote]:
    """Yield every marked number of a page, compared with its record."""
    for mark in MARK.finditer(text):
        line = text.count("\n", 0, mark.start()) + 1
        study, preset = mark[1], mark[2] or "quick"
        words, _, factor = mark[3].partition(" * ")
        name = f"{study}/{preset} {words}"
        try:
            found = look_up(out, study, preset, words)
            start, right = _right(text[: mark.start()], found, float(factor or 1), "−" in text)
        except (LookupError, ValueError) as error:
            yield Quote(line, name, "", "", mark.start(), str(error))
            continue
        there = text[start : mark.start()]
        yield Quote(line, name, there, right, start, "" if there == right else f"the record says {right}")
    if EVERY in text:
        for found in re.finditer(rf"(?<![A-Za-z]){INTERVAL}", text):  # but Unif[0, 1] is none
            if not re.match(r"\s*(?:%|points?)?\s*<!--\s*(?:=|of no record: )", text[found.end() :]):
                line = text.count("\n", 0, found.start()) + 1
                yield Quote(line, "", found[0], "", found.start(), "the interval has no mark")


def _right(before: str, found: Found, factor: float, minus: bool) -> tuple[int, str]:
    """Return where what a mark belongs to begins, and how it reads by the record."""
    if word := VERDICT.search(before):
        if not found.verdicts:
            raise LookupError("there is no verdict but that of a claim")
        said = word[1] if " ".join(word[1].split()) in found.verdicts else found.verdicts[-1]
        return word.start(), f"*{said}*"
    form, match = next(((n, m) for n, form in FORMS.items() if (m := form.search(before))), ("", None))
    if match is None:
        raise LookupError("there is no number, count or *verdict* before the mark")
    if form == "count" and found.count == (0, 0):
        raise LookupError("a count is marked with: count VARIABLE")
    hundred = 100.0 if {"%", "point", "points"} & set(match.groups()) else 1.0
    value = found.value * factor * hundred
    low, high = sorted((found.low * factor * hundred, found.high * factor * hundred))
    values = {
        "interval": (value, low, high),
        "half": (value, (high - low) / 2),
        "count": found.count,
        "single": (value,),
    }
    text, at = "", match.start()
    spans = [match.span(g) for g in range(1, len(match.groups()) + 1) if re.fullmatch(NUMBER, match[g] or "")]
    for (first, last), number in zip(spans, values[form], strict=True):
        text += before[at:first] + _as(before[first:last], number, minus)
        at = last
    return match.start(), text + before[at:]


def _as(there: str, value: float, minus: bool) -> str:
    """Write a number as the one that is there is written, which stays if it is right."""
    if math.isnan(value):
        raise LookupError("the record has no such number")
    plain = there.replace("−", "-").replace(" ", "")
    mantissa, exponent, power = plain.partition("e")
    places = len(mantissa.partition(".")[2])
    if abs(float(plain) - value) <= (0.5 + 1e-9) * 10.0 ** (int(power or 0) - places):
        return there
    text = f"{value:.{places}e}" if exponent else f"{value:.{places}f}"
    if " " in there:
        text = re.sub(r"(?<=\d)(?=(?:\d{3})+(?:\.|$))", " ", text)
    text = "+" + text if there.startswith("+") and value > 0 else text
    return text.replace("-", "−") if minus else text


def rewritten(text: str, out: Path) -> str:
    """Return a page with every marked number as its record has it."""
    for quote in sorted(quotes(text, out), key=lambda quote: -quote.start):
        if quote.right and quote.text != quote.right:
            text = text[: quote.start] + quote.right + text[quote.start + len(quote.text) :]
    return text


def main() -> int:
    """Compare, or write, the numbers of every page."""
    parser = argparse.ArgumentParser(description="Hold the marked numbers of the pages to the records.")
    parser.add_argument("--write", action="store_true", help="put what the records say in the place of other numbers")
    parser.add_argument("--out", type=Path, default=ROOT / "outputs", help="outputs folder with the records")
    arguments = parser.parse_args()
    wrong = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if arguments.write and (new := rewritten(text, arguments.out)) != text:
            page.write_text(new, encoding="utf-8")
            text = new
        for quote in (quote for quote in quotes(text, arguments.out) if quote.problem):
            wrong += 1
            print(
                f"{page.relative_to(ROOT)}:{quote.line}: {quote.text or '(a number)'} [{quote.words}]: {quote.problem}"
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
