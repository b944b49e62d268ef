"""How typical the truth of a study is: known places at the paper's size, and what a reader is told."""

import json

import numpy as np
import pandas as pd
import pytest
import truths_table
import xarray as xr

from moestat.papers.sigmoid_attention import regression, typicality
from moestat.papers.sigmoid_attention.regression_settings import Settings
from moestat.papers.sigmoid_attention.typical import Features, Place
from moestat.report import design, truths
from moestat.study.spec import Study

STUDY = 20260101
"""Seed of sigmoid_vs_softmax."""
SMALL = {"n": 1000, "d": 2, "n_true": 2, "n_fitted": 3, "truth_gate": "softmax", "expert": "linear"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))


@pytest.fixture
def brief(monkeypatch):
    """Ten others instead of forty, on a quarter of the points."""
    monkeypatch.setattr(typicality, "DRAWS", range(1, 11))
    monkeypatch.setattr(typicality, "LOG2", 13)


@pytest.mark.parametrize(
    ("expert", "line", "median", "outside"), [("relu", 17.25, 3.1, True), ("linear", 1.918, 1.85, False)]
)
def test_the_truth_of_the_main_study(brief, expert, line, median, outside):
    """The line as its record has it; that of others within what ten draws can be off by."""
    problem = Settings(n=10, truth_gate="softmax", expert=expert).problem
    place = typicality.place_of(problem, STUDY)
    own, others = (lines / np.sqrt(1e5) for lines in place.lines)
    assert own == pytest.approx([line], rel=0.01)
    assert np.median(others) == pytest.approx(median, rel=0.1)
    assert place.outside.tolist() == [outside] and (place.rank[0] == 1) == outside
    if outside:
        assert place.own.active[0] == pytest.approx(0.0055, rel=0.05) and place.own.smallest[0] < 1e-8


def test_lines_scale_with_the_noise_and_are_computed_once(brief, monkeypatch):
    place = typicality.place_of(Settings(**SMALL).problem, 1, truths=3)
    monkeypatch.setattr(typicality, "features", lambda *arguments: pytest.fail("it was computed again"))
    louder = typicality.place_of(Settings(**SMALL, noise_variance=0.04).problem, 1, truths=3)
    np.testing.assert_allclose(louder.own.line, 2 * place.own.line, rtol=1e-12)
    assert louder.rank.tolist() == place.rank.tolist() and len(place.rank) == 3


def test_a_given_truth_has_no_law():
    atoms = [[0.0, 1.0, 0.0, 1.0, 0.0], [0.5, -1.0, 1.0, 1.0, 1.0]]
    settings = {"n": 10, "d": 1, "n_true": 2, "n_fitted": 2, "truth": atoms}
    assert "design" in typicality.said("regression", settings, 1)
    with pytest.raises(ValueError, match="explicit"):
        typicality.place_of(Settings(**settings).problem, 1)
    with pytest.raises(ValueError, match="noise_variance"):
        typicality.place_of(Settings(**SMALL, noise_variance=0.0).problem, 1)


@pytest.mark.parametrize(
    ("experiment", "more"),
    [("regression", {"truths": 10}), ("regression", {"noise_variance": 0.0}), ("tail_frequency", {})]
    + [("regression", {"of an older version": 1})],
)
def test_nothing_is_said_where_there_is_nothing_to_say(experiment, more):
    assert typicality.said(experiment, SMALL | more, 1) == ""


def place(own, others):
    one = Features(*(np.full(len(own), v) for v in (0.0, 0.0, 0.005, 1e-4, 1e-9)))
    other = Features(*(np.full(len(others), v) for v in (0.0, 0.0, 0.3, 0.1, 1e-4)))
    return Place(one._replace(line=np.array(own)), other._replace(line=np.array(others)))


def test_the_sentence_says_where_the_truth_lies_and_why():
    others = [20.0, 30.0, 40.0]
    ordinary = typicality.sentence(place([25.0], others), 100)
    assert "Fisher line of 2.5 (" in ordinary and "2 to 4, median 3, 2 of them higher" in ordinary
    outlier = typicality.sentence(place([25.0, 500.0], others), 100)
    assert "2.5, 50 (" in outlier and "50 is higher than any" in outlier and "2.5 is" not in outlier
    assert "0.5 % of the inputs (of the others: 30 to 30 %)" in outlier and "1e-09 of the largest" in outlier
    assert "1 is lower than any" in typicality.sentence(place([10.0], others), 100)
    assert "all of the study's inside" in typicality.sentence(place([25.0, 35.0], others), 100)
    lost = place([25.0], others)
    lost.others.nullity[0] = 1
    assert "3 to 4, 1 of them infinity" in typicality.sentence(lost, 100)


@pytest.fixture
def run():
    """Results of three arms, two of which have truths of one law."""
    cell = {key: value for key, value in SMALL.items() if key != "n"}
    arms = {"a": cell, "b": cell | {"fitted_gate": "softmax"}, "c": cell | {"truth_gate": "sigmoid"}}
    about = {"experiment": regression.__name__, "seed": 5, "settings": json.dumps(arms)}
    status = (("arm", "n", "replicate"), np.zeros((3, 2, 4), dtype=np.int64))
    return xr.Dataset({"status": status}, {"arm": list(arms), "n": [100, 2500], "replicate": range(4)}, about)


def test_a_report_tells_it_of_the_arms_that_share_a_law(brief, run):
    (text, both), (_, other) = truths.said(run).items()
    assert (both, other) == (["a", "b"], ["c"])
    own, _ = typicality.place_of(Settings(**SMALL).problem, 5).lines
    assert f"line of {own[0] / 50:.3g} (L3, N* known, n = 2500); 10 other" in text
    assert truths.said(run.assign_attrs(experiment="my_module")) == {}
    assert truths.said(run.assign_attrs(experiment="moestat.papers.expert_count.expert_count")) == {}


def test_it_stands_in_the_design_of_a_report(brief, run):
    head = {"title": "t", "paper": "p", "source": "s", "experiment": "regression", "seed": 5, "arms": [{"name": "a"}]}
    study = Study.model_validate(head | {"presets": {"quick": {"replicates": 4}}})
    ((_, rows), *_) = design.parts(run, study, "quick", {}, pd.DataFrame(), pd.DataFrame())
    shown = [description for term, description in rows if term == "How typical the truth is"]
    assert len(shown) == 2 and shown[0].endswith("(a, b)") and shown[1].endswith("(c)")


def test_the_table_lists_every_study_of_a_few_drawn_truths():
    listed = {(row.study, preset) for row in truths_table.rows() for preset in row.presets}
    assert {study for study, _ in listed} >= {"paper_protocol", "protocol_from_target", "sigmoid_vs_softmax"}
    assert ("sigmoid_regimes", "figure2") in listed and ("sigmoid_regimes", "theorems") not in listed


def test_a_row_of_the_table(brief, tmp_path):
    settings = 'settings = { d = 2, n_true = 2, n_fitted = 3, truth_gate = "softmax", expert = "linear", truths = 2 }'
    study = f"""
    title = "t"\npaper = "sigmoid-attention"\nsource = "s"\nexperiment = "regression"\nseed = 1
    {settings}\narms = [{{ name = "a" }}]\ngrid.n = [100, 400]\npresets.quick.replicates = 2
    presets.large = {{ replicates = 2, grid = {{ n = [900] }} }}
    presets.many = {{ replicates = 10, settings = {{ truths = 10 }} }}
    """
    (tmp_path / "toy.toml").write_text(study, encoding="utf-8")
    row = truths_table.page(tmp_path).splitlines()[-1].split(" | ")
    place = typicality.place_of(Settings(**SMALL).problem, 1, truths=2)
    assert row[:3] == ["| `toy`", "`quick`, `large`", r"softmax, dense, linear, d = 2, N\* = 2"] and row[3] == "900"
    assert row[4].replace("*", "") == ", ".join(f"{line / 30:.3g}" for line in place.own.line)
    assert row[6] == f"{place.rank[0] - 1}, {place.rank[1] - 1} |"
