"""The records that the repository keeps: whole, small, judged by the rules of today, and computed by today's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from moestat.report import ledger, shipping
from moestat.runner import belongs, manifest, records, results, verify
from moestat.runner.request import Request
from moestat.study import load

OUT = Path(__file__).resolve().parents[1] / "outputs"
KEPT = [(study, preset) for study, preset, _ in records.every(OUT)]
CHEAP = ("attention_is_moe", "minimax_lower_bound", "mot_initialisation", "router_smoothness")
"""Studies of which a replicate takes milliseconds."""
LONG = 120.0
"""Seconds of a replicate beyond which the slow suite does not compute it again; `moestat verify` does."""


def test_the_records_are_small():
    assert shipping.total(OUT) <= shipping.MOST


@pytest.mark.parametrize(("study", "preset"), KEPT)
def test_a_record_is_whole_and_judged_by_the_rules_of_today(study, preset):
    folder = records.path(OUT, study, preset)
    records.check(folder)
    study_file = load.read(study)
    belongs.refuse_foreign(results.read(folder / results.NAME), study_file, Request(study, preset, out=OUT), folder)
    run = ledger.Run(study, preset, folder, ledger.read_claims(folder / "claims.csv"), manifest.read(folder))
    rows = {row["claim"]: row for row in run.claims or []}
    judged = [claim for claim in study_file.study.claims if claim.id in rows]
    problems = [ledger._outdated(study, study_file.study, claim, run, rows[claim.id]) for claim in judged]
    assert not any(problems), f"judge it again with: python -m moestat.study ship {study} --preset {preset}"


def _verified(study, preset, replicates=1):
    said = []
    found = verify.verify(Request(study, preset, out=OUT), replicates, 0, said.append)
    assert found.holds, "\n".join([*said, *found.lines])
    return found


@pytest.mark.parametrize("study", [name for name in CHEAP if (name, "quick") in KEPT])
def test_a_replicate_of_a_cheap_record_comes_out_again(study):
    assert _verified(study, "quick").compared == 1


@pytest.mark.slow
@pytest.mark.parametrize(("study", "preset"), [(s, p) for s, p in KEPT if not load.read(s).study.reads])
def test_a_replicate_of_every_record_comes_out_again(study, preset):
    kept = manifest.read(records.path(OUT, study, preset))
    took = sum(kept["cells"].values()) / max(kept["tally"]["replicates"], 1)
    if took > LONG:
        pytest.skip(f"a replicate takes {took:.0f} s; python -m moestat.study verify {study} --preset {preset}")
    assert _verified(study, preset).compared == 1
