"""An arm that names its presets: it runs in those alone, and what the others have computed stays theirs."""

import pytest

from moestat.errors import InputError
from moestat.runner import plan
from moestat.study import load, presets, seal

STUDY = """
title = "Widths"
paper = "none"
source = "a textbook"
experiment = "regression"
seed = 3
[settings]
d = 2
n_true = 2
n_fitted = 3
n = 100
[presets.quick]
replicates = 2
[presets.control]
replicates = 2
[[arms]]
name = "softmax"
settings = {{ fitted_gate = "softmax" }}
{more}
[[claims]]
id = "lower"
source = "ours"
statement = "The loss of the control is low."
kind = "mean"
variable = "L3"
arm = "{arm}"
at_most = 0.1
"""
CONTROL = """[[arms]]
name = "sigmoid"
settings = {{ fitted_gate = "sigmoid" }}
presets = ["{preset}"]
"""


@pytest.fixture
def read(tmp_path):
    def reader(more="", arm="softmax"):
        (tmp_path / "widths.toml").write_text(STUDY.format(more=more, arm=arm))
        return load.read(tmp_path / "widths.toml")

    return reader


def test_it_runs_in_its_presets_alone_and_leaves_the_results_of_others_valid(read):
    before = read().study
    after = read(CONTROL.format(preset="control"), arm="sigmoid")
    ran = {name: [arm.name for arm in plan.make(after, name).arms] for name in after.study.presets}
    assert ran == {"quick": ["softmax"], "control": ["softmax", "sigmoid"]}
    assert seal.problem(after.study, "quick") == seal.problem(before, "quick")
    assert seal.problem(after.study, "control") != seal.problem(before, "control")
    (claim,) = after.study.claims
    assert presets.able(after.study, claim) == ["control"]


def test_a_preset_that_does_not_exist_is_named(read):
    with pytest.raises(InputError, match=r"arms\[1\].presets \('sigmoid'\) names 'contrl'.*control"):
        read(CONTROL.format(preset="contrl"))
