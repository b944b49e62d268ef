"""The ledger on one screen: how the items of each paper stand, its primary claims counted, and what chance may do."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from moestat.claims.wording import VERDICTS
from moestat.report import chance
from moestat.report.items import NOT_RUN, Part
from moestat.report.views import in_words, of_rules
from moestat.study.contents import Paper
from moestat.study.presets import SCALES

WIDTH = 80
HEADS = [("", "supported"), ("no counter-", "example"), ("not", "supported"), ("", "refuted"), ("", "inconclusive")]
HEADS += [("not", "run")]
WORDS = {word: max(map(len, head)) + 2 for word, head in zip((*VERDICTS, NOT_RUN), HEADS, strict=True)}
"""The columns of verdicts, and how wide they are."""
LABEL = 10
HEAD = [" " * LABEL + "".join(h[at].rjust(w) for h, w in zip(HEADS, WORDS.values(), strict=True)) for at in (0, 1)]
LEGEND = (
    "in hindsight: after related results; intervals: decisions that rest on one;\n"
    f"wrong: at most so many, if they cover; survive a false discovery rate of {100 * chance.RATE:g} %"
)


def block(paper: Paper, parts: Sequence[Part]) -> list[str]:
    """Return how the items of a paper stand, its claims by scale and verdict, and a line on rules and on chance."""
    rows = [row for part in parts for row in part.rows]
    stands = in_words(dict(Counter(part.stands.removesuffix(", by argument") for part in parts).most_common()))
    lines = textwrap.wrap(f"{paper.name}, {len(parts)} items: {stands}", WIDTH, subsequent_indent="  ")
    for scale in SCALES:
        counts = Counter(row["verdict"] for row in rows if row["scale"] == scale)
        if counts:
            cells = ((str(counts[word]) if counts[word] else ".").rjust(wide) for word, wide in WORDS.items())
            lines.append(f"  {scale:{LABEL - 2}}{''.join(cells)}")
    found = chance.counts(rows)
    rests = f"intervals {found.resting} of {found.decided}, {found.wrong:.1f} wrong, {found.survive} survive"
    rules = f"  {of_rules(rows).removeprefix('rules: ')}; {rests}"
    return [*lines, *textwrap.wrap(rules, WIDTH, subsequent_indent="  ")] if found.decided else lines


def listing(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the items of a paper, a line each: name, how it stands, its verdicts as far as there is room."""
    checked = [part for part in parts if part.filled]
    wide = [max(map(len, texts), default=0) for texts in zip(*((p.item.name, p.stands) for p in checked), strict=True)]
    for part in checked:
        others = (f"{cell}: {part.word(cell)}" for cell in part.filled if cell != part.conclusion)
        told = "; ".join(filter(None, [part.counts(part.conclusion), *others]))
        short = textwrap.shorten(told, WIDTH - sum(wide) - 4, placeholder=" ...")
        yield f"{part.item.name:{wide[0]}}  {part.stands:{wide[1]}}  {short}".rstrip()
    if bare := ", ".join(part.item.name for part in parts if not part.filled):
        yield from textwrap.wrap(f"not checked: {bare}", WIDTH, subsequent_indent="  ")
