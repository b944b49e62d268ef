"""Numbers in prose, held to the records under ``outputs/records``: a mark behind a number says where it comes from.

    python docs/quoted.py            # every marked number with what its record says; fails if one is another
    python docs/quoted.py --write    # put what the records say in its place, with as many decimals

A mark is a comment, which no reader of the page sees, behind a number, a number with its interval or half-width, a
count or a verdict:

    steeper by 0.207<!-- = sigmoid_vs_softmax split-softmax-relu * -1 -->
    0.973 [0.970, 0.976]<!-- = task_routing/ten favourite -->
    2.2 points [0.3, 4.1]<!-- = expert_count/paper few-mlp-4 -->, *supported*<!-- = expert_count/paper few-mlp-4 -->
    falls by 0.52 ± 0.03<!-- = softmax_gaussian slope D1 arm=exact * -1 -->
    16 of 20<!-- = mot_assumed_regime count after_all_covered arm=stated stage=I -->

It names a study, its preset (``quick`` if none is named), and a claim by its id, or else what is to be computed:
``mean``, ``median``, ``min``, ``max`` of a variable, ``count`` of the replicates in which it is not zero, or the
``slope`` of a loss, each at ``KEY=VALUE``. ``%`` and "points" are hundredths; ``* FACTOR`` stands for any other change.
A claim's id behind words in italics means its verdict, with the scale of the run; counts ("in 50 of 50") may be left
out. A page with the line ``<!-- every interval is marked -->`` may hold no interval without a mark, unless a remark
behind it says where it is from, ``<!-- of no record: ... -->``.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np

from moestat.claims.wording import Word, wording
from moestat.report import csv_text
from moestat.runner import records, results
from moestat.study.spec import Scale

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "findings").glob("*.md")),
    *sorted((ROOT / "studies").glob("*/README.md")),
)

MARK = re.compile(r"<!--\s*=\s*([\w-]+)(?:/([\w-]+))?\s+([^>]+?)\s*-->")
EVERY = "<!-- every interval is marked -->"
NUMBER = r"([+−-]?(?:\d{1,3}(?: \d{3})+|\d+)(?:\.\d+)?(?:e[+−-]?\d+)?)"
UNIT = r"(?:\s*(%)|\s+(points?)|\s+[a-z]+)?"
INTERVAL = rf"\[{NUMBER},\s*{NUMBER}\]"
FORMS = (
    re.compile(rf"(?<![\d.]){NUMBER}{UNIT}\s*{INTERVAL}$"),
    re.compile(rf"(?<![\d.]){NUMBER}\s*±\s*{NUMBER}{UNIT}$"),
    re.compile(rf"(?<![\d.]){NUMBER} of {NUMBER}$"),
    re.compile(rf"(?<![\d.]){NUMBER}{UNIT}$"),
)
VERDICT = re.compile(r"\*([^*]+)\*$")


@dataclass(frozen=True)
class Found:
    """What a record holds: an estimate with its interval, a count out of a number, and a verdict."""

    value: float
    low: float = math.nan
    high: float = math.nan
    count: tuple[int, int] = (0, 0)
    verdicts: tuple[str, ...] = ()


def look_up(out: Path, study: str, preset: str, words: str) -> Found:
    """Return what the record of a study says to the words of a mark.

    Raises
    ------
    LookupError
        If there is none, or it holds no such thing; the message says what.
    """
    folder = records.path(out, study, preset)
    if not records.is_record(folder):
        raise LookupError(f"there is no record of {study}, preset {preset}")
    _check(folder)
    first, *rest = words.split()
    if not rest:
        row = _row(folder / "claims.csv", claim=first)
        verdicts = wording(cast(Word, row["verdict"]), cast(Scale, row["scale"])), row["wording"]
        return Found(*_numbers(row, "estimate"), verdicts=verdicts)
    if first not in STATISTICS:
        raise LookupError(f"{words!r} is neither the id of a claim nor one of {', '.join(STATISTICS)} with a variable")
    variable, *places = rest
    keys = dict(place.split("=", 1) for place in places if "=" in place)
    if first == "slope":
        return Found(*_numbers(_row(folder / "rates.csv", loss=variable, **keys), "slope"))
    return _statistic(folder, STATISTICS[first], variable, keys)


_check = cache(records.check)  # a page has many marks to one record
_table = cache(csv_text.load)
_results = cache(results.read)


def _row(path: Path, **keys: str) -> dict[str, str]:
    rows = [row for row in _table(path) if all(row.get(key) == value for key, value in keys.items())]
    if len(rows) != 1:
        raise LookupError(f"{path.name} has {len(rows)} rows with {', '.join(f'{k} = {v}' for k, v in keys.items())}")
    return rows[0]


def _numbers(row: dict[str, str], key: str) -> tuple[float, float, float]:
    return tuple(float(row[name] or "nan") for name in (key, "ci_low", "ci_high"))  # type: ignore[return-value]


STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "count": np.count_nonzero,
    "slope": np.mean,
}


def _statistic(folder: Path, function: Callable[[np.ndarray], float], variable: str, keys: dict[str, str]) -> Found:
    from scipy import stats

    dataset = _results(folder / results.NAME)
    if variable not in dataset:
        raise LookupError(f"{folder / results.NAME} has no variable {variable!r}")
    array = dataset[variable]
    for key, text in keys.items():
        labels = [str(label) for label in array[key].values.tolist()] if key in array.dims else []
        places = [at for at, label in enumerate(labels) if label == text or _same(label, text)]
        if len(places) != 1:
            raise LookupError(f"{variable} has no {key} = {text}")
        array = array.isel({key: places[0]})
    values = np.asarray(array.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        raise LookupError(f"{variable} has no number there")
    rows = np.asarray(array.mean([dim for dim in array.dims if dim != "replicate"]).values, dtype=np.float64)
    rows = rows[np.isfinite(rows)] if rows.ndim else rows.reshape(1)
    half = math.nan
    if function is np.mean and rows.size > 1:
        half = float(stats.t.ppf(0.975, rows.size - 1) * rows.std(ddof=1) / math.sqrt(rows.size))
    value = float(function(values))
    return Found(value, value - half, value + half, (int(np.count_nonzero(values)), values.size))


def _same(label: str, text: str) -> bool:
    try:
        return float(label) == float(text)
    except ValueError:
        return False


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
        study, preset, words = mark[1], mark[2] or "quick", mark[3]
        words, _, factor = words.partition(" * ")
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
    interval, half, count, single = FORMS
    for form in FORMS:
        match = form.search(before[-120:])
        if match is None:
            continue
        shift = len(before) - len(before[-120:])
        hundred = 100.0 if any(group in ("%", "point", "points") for group in match.groups()) else 1.0
        low, high = sorted((found.low * factor, found.high * factor)) if found.low == found.low else (math.nan,) * 2
        values: Sequence[float] = {
            interval: (found.value * factor, low, high),
            half: (found.value * factor, (high - low) / 2),
            count: found.count,
            single: (found.value * factor,),
        }[form]
        if form is count and found.count == (0, 0):
            raise LookupError("a count is marked with: count VARIABLE")
        text, at = "", match.start()
        spans = [match.span(g) for g in range(1, len(match.groups()) + 1) if re.fullmatch(NUMBER, match[g] or "")]
        for (first, last), value in zip(spans, values, strict=True):
            text += before[shift + at : shift + first] + _as(
                before[shift + first : shift + last], value * hundred, minus
            )
            at = last
        return shift + match.start(), text + before[shift + at :]
    raise LookupError("there is no number, count or *verdict* before the mark")


def _as(there: str, value: float, minus: bool) -> str:
    """Write a number as the one that is there is written, which stays if it is right."""
    if math.isnan(value):
        raise LookupError("the record has no such number")
    plain = there.replace("−", "-").replace(" ", "")
    mantissa, exponent, _ = plain.partition("e")
    places = len(mantissa.partition(".")[2])
    if abs(float(plain) - value) <= (0.5 + 1e-9) * 10.0 ** (int(_ or 0) - places):
        return there
    text = f"{value:.{places}e}" if exponent else f"{value:.{places}f}"
    if exponent:
        text = re.sub(r"e([+-])0*(\d)", lambda m: f"e{m[1].strip('+')}{m[2]}", text)
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
    parser = argparse.ArgumentParser(description="Hold the marked numbers of README.md and docs to the records.")
    parser.add_argument("--write", action="store_true", help="put what the records say in the place of other numbers")
    parser.add_argument("--out", type=Path, default=ROOT / "outputs", help="outputs folder with the records")
    arguments = parser.parse_args()
    wrong = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if arguments.write and (new := rewritten(text, arguments.out)) != text:
            page.write_text(new, encoding="utf-8")
            text = new
        for quote in quotes(text, arguments.out):
            wrong += bool(quote.problem)
            state = quote.problem or "holds"
            print(f"{page.relative_to(ROOT)}:{quote.line}: {quote.text or '(a number)'} [{quote.words}]: {state}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
