"""Which findings of a study hold in a run: text that is bound to verdicts cannot contradict them."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from moestat.claims.verdicts import Verdict
from moestat.study.spec import Finding, Study

ABOUT_EVERY_CASE = {"no counterexample": "supported", "refuted": "not supported"}
"""Verdicts on statements about every case, and the word that a finding may have for them as well."""


def findings(study: Study, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the texts of the findings whose verdicts are those of the run, in the order of the file.

    Parameters
    ----------
    study : Study
    verdicts : sequence of Verdict
        Of the claims that are judged at the preset of the run; a finding on any other claim does not hold.
    """
    words = {v.claim: {v.verdict, ABOUT_EVERY_CASE.get(v.verdict, v.verdict)} for v in verdicts}
    claims = [claim.id for claim in study.claims]
    return [finding.text for finding in study.findings if _holds(finding, claims, words)]


def _holds(finding: Finding, claims: Sequence[str], words: Mapping[str, set[str]]) -> bool:
    for pattern, word in finding.when.items():
        matching = [claim for claim in claims if fnmatch.fnmatchcase(claim, pattern)]
        if not matching or any(word not in words.get(claim, ()) for claim in matching):
            return False
    return True
