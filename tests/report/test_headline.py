"""The headline of a paper counts statements, not claims."""

import pandas as pd
import pytest

from moestat.report import headline

ROWS = [
    ("p", "for", "paper", "rate", "supported"),
    ("p", "for", "paper", "rate", "supported"),
    ("p", "for", "paper", "order", "refuted"),
    ("p", "for", "reduced", "order", "not supported"),
    ("p", "against", "reduced", "gap", "no counterexample"),
    ("q", "neutral", "stand-in", "check", "not run"),
]
TABLE = pd.DataFrame(ROWS, columns=["paper", "bearing", "scale", "group", "verdict"])


def test_variants_of_one_statement_count_once():
    counts = headline.headline(TABLE)
    assert list(map(tuple, counts[["paper", "bearing", "scale", "statements"]].values)) == [
        ("p", "for", "paper", 2),
        ("p", "for", "reduced", 1),
        ("p", "against", "reduced", 1),
        ("q", "neutral", "stand-in", 1),
    ]
    first = counts.iloc[0]
    assert (first["supported"], first["refuted"]) == (1, 1)
    assert (counts[list(headline.WORDS)].sum(axis=1) == counts["statements"]).all()
    sealed = "; all by rules sealed before the run"
    assert headline.sentences(TABLE)[0] == f"p, for, paper: 2 statements: 1 supported, 1 refuted{sealed}"
    assert f"p, for, reduced: 1 statement: 1 not shown{sealed}" in headline.sentences(TABLE)
    assert headline.sentences(TABLE)[-1] == "q, neutral, stand-in: 1 statement: 1 not run"


def test_a_statement_counts_as_the_latest_written_of_its_variants():
    edited = TABLE.assign(sealed=["", "edited", "edited", "", "", ""])
    told = "; 0 by a rule sealed before the run, 2 by one edited after it, 0 by one added after it"
    assert headline.sentences(edited)[0].endswith(told)
    added = edited.assign(sealed=["", "added", "edited", "", "", ""])
    assert headline.sentences(added)[0].endswith("1 by one edited after it, 1 by one added after it")


@pytest.mark.parametrize(
    ("verdicts", "word"),
    [
        (["supported", "not supported"], "mixed"),
        (["no counterexample", "not supported"], "mixed"),
        (["no counterexample", "refuted"], "refuted"),
        (["no counterexample", "refuted", "inconclusive", "not run"], "refuted"),
        (["supported", "inconclusive"], "inconclusive"),
        (["refuted", "inconclusive"], "refuted"),
        (["not supported", "inconclusive"], "inconclusive"),
        (["supported", "not run"], "inconclusive"),
        (["refuted", "not run"], "refuted"),
        (["supported", "refuted", "not run"], "mixed"),
        (["not run", "not run"], "not run"),
        (["supported", "no counterexample"], "no counterexample"),
    ],
)
def test_one_counterexample_refutes_else_the_weakest_variant_counts_and_contradictions_are_mixed(verdicts, word):
    assert headline.of_group(verdicts) == headline.of_group(verdicts[::-1]) == word
