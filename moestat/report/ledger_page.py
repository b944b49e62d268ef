"""The ledger as a page of the documentation: what is counted, and where all of it is."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from moestat.report import headline
from moestat.report.exponents import markdown
from moestat.report.ledger_html import rules_of

COMMAND = "python -m moestat.study --claims --write docs/ledger.md --write docs/_static/ledger.html"
_HEAD = f"""\
# The claims ledger

<!-- made by `{COMMAND}`; do not edit -->

Every claim of the papers that a study of moestat judges: what the paper says, what the simulation finds, and the
verdict by the rule of the study file. A verdict is *supported* when the whole interval lies
inside the region of the rule, *not supported* when it lies outside, and *inconclusive* otherwise, or when something
stands in the way of an honest answer (a failed replicate, say). A statement about every case has *no counterexample*
or is *refuted*. A run that is not the paper's own problem says so: *not shown at reduced scale* is no verdict about
the paper's size. *Says* tells whose statement it is (stated or implied by the paper, or ours), and what it means for
the paper if it is supported (for, against, neutral). Of the runs of a study the one nearest to the paper's own problem
counts.

<a href="_static/ledger.html">One page</a> holds all of them, with the run behind each, search, filters and drawings.
One claim with its rule, interval and runs is printed by `python -m moestat.study claim ID`, all those on a theorem or a
figure by `python -m moestat.study --claims "SA Theorem 1"`. Both pages are made from the outputs folder, never typed:

```bash
{COMMAND}
```
"""


def page(table: pd.DataFrame) -> str:
    """Return the head of the ledger as a Markdown page.

    Parameters
    ----------
    table : DataFrame
        From :func:`moestat.report.ledger.ledger`.

    Returns
    -------
    str
        A table of verdicts per paper, between the comments ``summary`` and ``/summary``. It depends on the table alone.
    """
    parts = [_HEAD, rules_of(table.to_dict("records")), "<!-- summary -->", _summary(table), "<!-- /summary -->"]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _summary(table: pd.DataFrame) -> str:
    """Count the statements of every paper by bearing and scale, variants of one statement once."""
    counts = headline.headline(table)
    heads = ["paper", "bearing", "scale", "statements", *headline.WORDS]
    lines = [_row(heads), _row([*["---"] * 3, *["---:"] * (len(heads) - 3)])]
    lines += [
        _row([markdown(row["paper"]), *(str(row[head]) for head in heads[1:])]) for row in counts.to_dict("records")
    ]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
