"""Text of a report that is bound to verdicts: it is shown where they are so, and nowhere else."""

import re

import pytest
from machine import undrawn
from report_example import results, study_of

from moestat.claims.verdicts import judge
from moestat.errors import InputError
from moestat.report.findings import findings
from moestat.report.write import write_outputs
from moestat.study import load
from moestat.study.spec import Study

STUDIES = sorted(load.known_studies().values())
FINDINGS = [
    {"when": {"slope": "supported"}, "text": "It falls as printed."},
    {"when": {"slope": "not supported"}, "text": "It does not fall as printed."},
    {"when": {"slope": "supported", "faster": "not supported"}, "text": "It falls as printed, and is no faster."},
    {"when": {"s*": "supported", "absent": "supported"}, "text": "A claim that could not be judged is supported."},
    {"when": {"absent": "inconclusive"}, "text": "Nothing is known of the absent arm."},
    {"when": {"elsewhere": "supported"}, "text": "A claim of another preset speaks here."},
    {"when": {"slope*": "supported"}, "text": "Both slopes fall as printed, of which one is judged."},
]


def shown(tmp_path, exponent: float) -> set[int]:
    """Return which findings a report shows when the first arm falls with ``exponent`` and the last like n^(-0.3)."""
    ds = results({"a": exponent, "b": -0.3})
    study = study_of(ds)
    other = study.claims[0].model_dump() | {"id": "elsewhere", "presets": ["paper"]}
    slope = study.claims[0].model_dump() | {"id": "slope-paper", "presets": ["paper"]}
    content = study.model_dump() | {"figures": [], "findings": FINDINGS, "notes": "How to read a slope."}
    study = type(study).model_validate(content | {"claims": [*content["claims"], other, slope]})
    with undrawn():
        write_outputs(ds, study, "quick", tmp_path, provenance={})
    page = (tmp_path / "report.html").read_text()
    assert "How to read a slope." in page
    return {i for i, finding in enumerate(FINDINGS) if finding["text"] in page}


def test_a_report_shows_the_findings_of_its_verdicts_and_no_others(tmp_path):
    assert shown(tmp_path, -0.5) == {0, 4}
    assert shown(tmp_path, -0.2) == {1, 4}


@pytest.mark.parametrize(("bound", "word"), [(1e9, "supported"), (1e-9, "not supported")])
def test_a_finding_on_every_case_holds_where_there_is_no_counterexample_or_one(bound, word):
    ds = results()
    every = {"id": "every", "source": "SA Fig. 1", "statement": "Every loss is small.", "kind": "function"}
    every |= {"function": "moestat.claims.rules:largest", "variable": "L3", "at_most": bound}
    both = [{"when": {"every": each}, "text": each} for each in ("supported", "not supported")]
    content = study_of(ds).model_dump() | {"figures": [], "claims": [every], "findings": both}
    study = Study.model_validate(content)
    assert findings(study, judge(ds, study, "quick")) == [word]


def test_a_page_without_findings_has_no_heading_for_them(tmp_path):
    ds = results()
    with undrawn():
        write_outputs(ds, study_of(ds, figures=[]), "quick", tmp_path, provenance={})
    assert "What the simulation shows" not in (tmp_path / "report.html").read_text()


def test_a_finding_on_a_claim_that_does_not_exist_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    text = load.find("router_smoothness").read_text()
    path.write_text(text + 'study.finding({"factor-3": "supported"}, "It is three.")\n')
    with pytest.raises(InputError, match=r"finding \d: when names 'factor-3'.*no claim.*did you mean 'factor-2'"):
        load.read(path)
    path.write_text(text + 'study.finding({"factor-2": "suported"}, "It is two.")\n')
    with pytest.raises(InputError, match=r"finding \d: when.factor-2.*'suported'.*did you mean 'supported'"):
        load.read(path)


INTERVAL = re.compile(r"\[-?\d+(\.\d+)?, -?\d+(\.\d+)?\]")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_no_text_of_a_study_holds_an_estimate(path):
    study = load.read(path).study
    for text in (study.notes, *(finding.text for finding in study.findings)):
        assert not INTERVAL.search(text.replace("[-1, 1]", "")), text
