"""The records that the repository keeps: whole, small, judged by the rules of today, and computed by today's code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_studies import STUDIES

from moestat.claims import verdicts
from moestat.report import csv_text, ledger, shipping
from moestat.runner import manifest_file, records, replay, results
from moestat.runner.request import Request
from moestat.study import load, seal

OUT = Path(__file__).resolve().parents[1] / "outputs"
KEPT = [(study, preset) for study, preset, _ in records.every(OUT)]
CHEAP = ("attention_is_moe", "minimax_lower_bound", "router_smoothness")
"""Studies of which a replicate takes milliseconds."""
LONG = 120.0
"""Seconds of a replicate beyond which the slow suite does not compute it again; `moestat verify` does."""


def test_the_records_are_small():
    assert shipping.total(OUT) <= shipping.MOST


def test_the_records_are_whole_and_judged_by_the_rules_of_today():
    problems = []
    for study, preset in KEPT:
        folder = records.path(OUT, study, preset)
        records.check(folder)
        kept, known = manifest_file.read(folder), load.read(study).study
        if kept["problem"] != [f"{key}={text}" for key, text in seal.problem(known, preset).items()]:
            problems.append(f"{folder} is of another problem than the study file; run it again, and ship --replace")
        run = ledger.Run(study, preset, folder, ledger.read_claims(folder / "claims.csv") or [], kept)
        rows = {row["claim"]: row for row in run.claims}
        for claim in verdicts.judged(known, preset):
            if claim.id not in rows or ledger._outdated(study, known, claim, run, rows[claim.id]):
                problems.append(f"{claim.id}: judge it again: moestat ship {study} --preset {preset}")
    assert not problems, "\n".join(problems)


def _rules():
    """Yield the smallest records in which every rule that is a function judges a claim, and these claims."""
    left = {claim.function for file in STUDIES.values() for claim in file.study.claims if claim.kind == "function"}
    for run in sorted(KEPT, key=lambda run: results.of(records.path(OUT, *run)).stat().st_size):
        judged = [claim for claim in verdicts.judged(STUDIES[run[0]].study, run[1]) if claim.function in left]
        left -= {claim.function for claim in judged}
        if judged:
            yield pytest.param(*run, judged, id="/".join(run))


@pytest.mark.parametrize(("study", "preset", "claims"), list(_rules()))
def test_every_rule_comes_to_the_verdict_of_its_record(study, preset, claims):
    folder, checks = records.path(OUT, study, preset), {claim.check for claim in claims}
    of_them = [claim for claim in STUDIES[study].study.claims if claim in claims or claim.id in checks]
    asked = STUDIES[study].study.model_copy(update={"claims": of_them})
    kept = {row["claim"]: row for row in csv_text.load(folder / "claims.csv")}
    for verdict in verdicts.judge(results.read(folder / results.PACKED), asked, preset):
        row, numbers = kept[verdict.claim], (verdict.estimate, verdict.ci_low, verdict.ci_high)
        assert verdict.verdict == row["verdict"], verdict.why
        there = [float(row[key] or "nan") for key in ("estimate", "ci_low", "ci_high")]
        # of numbers in 32 bits, four digits are promised
        np.testing.assert_allclose(numbers, there, rtol=2e-4, atol=1e-12, err_msg=verdict.claim)


def _verified(study, preset, replicates=1):
    said = []
    found = replay.verify(Request(study, preset, out=OUT), replicates, 0, said.append)
    assert found.holds, "\n".join([*said, *found.lines])
    return found


@pytest.mark.parametrize("study", [name for name in CHEAP if (name, "quick") in KEPT])
def test_a_replicate_of_a_cheap_record_comes_out_again(study):
    assert len(_verified(study, "quick").found) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("study", "preset"), KEPT)
def test_a_replicate_of_every_record_comes_out_again(study, preset):
    if load.read(study).study.reads:
        pytest.skip("it computes nothing itself: it reads the results of another study")
    kept = manifest_file.read(records.path(OUT, study, preset))
    took = sum(kept["cells"].values()) / max(kept["tally"]["replicates"], 1)
    if took > LONG:
        pytest.skip(f"a replicate takes {took:.0f} s; python -m moestat.study verify {study} --preset {preset}")
    assert len(_verified(study, preset).found) == 1
