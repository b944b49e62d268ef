"""Claims that no run can judge are refused when the study is read: later their mending is a rule that was changed."""

import math

import pytest

from moestat import Study
from moestat.errors import InputError
from moestat.study import presets, seal
from moestat.study.rules import difference, function, mean, slope

HERE = dict(at=dict(n=1000))
ABOVE = mean("L3", "relu", at=dict(n=1000)).at_least(0)


def checked(rule=None, *, grid=None, settings=None, quick=None, more=(), **rate):
    """Return a study of three arms, two presets, a rate and a claim with a rule."""
    sizes = dict(n=[100, 1000, 10000], **(grid or {}))
    study = Study("Widths", experiment="regression", seed=3, settings=settings or {}, grid=sizes)
    study.preset("quick", replicates=2, **(quick or {}))
    study.preset("large", replicates=2, grid=dict(n=[1000, 3000, 30000]))
    study.arm("relu")
    study.arm("gelu", expert="gelu")
    study.arm("few", n=[100, 1000], d=3, presets=["quick"])
    study.rate("L3", bound=-0.5, **rate)
    study.ours("c", "It falls.", rule or slope("L3", "relu").at_most(-0.3), source="ours", **dict(more))
    return study.check()


def refusal(*of, **more):
    """Return the one sentence by which a study is refused, after file and line."""
    with pytest.raises(InputError) as caught:
        checked(*of, **more)
    (line,) = str(caught.value).splitlines()
    place, _, told = line.partition(": ")
    assert "test_checks.py:" in place
    return told


def window(low, high, **more):
    return slope("L3", "relu", window=(low, high), **more).at_most(-0.3)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (window(30000, 1000), "window is [30000, 1000]: allowed is [low, high] with low < high"),
        (window(900, 1100), "window is [900.0, 1100.0], which holds 1 size of the grid at preset 'quick'; allowed are"),
        (window(10, 1000), "window is [10.0, 1000.0], which holds 1 size of the grid at preset 'large'"),
        (slope("L3", "relu").within(-math.inf, math.inf), "within is (-inf, inf), which decides nothing; allowed are"),
        (slope("L3", "relu").at_least(math.nan), "at_least is nan, which decides nothing"),
        (mean("L3", "relu", at=dict(n=2)).at_most(1), "at.n is 2, which is not on the grid; allowed are 100, 1000, 10"),
        (
            mean("L3", "relu", at=dict(n=100), presets=["large"]).at_most(1),
            "at.n is 100, which is not on the grid; allowed are 1000, 3000, 30000",
        ),
        (
            mean("L3", "relu").at_most(1),
            "at does not say at which n the mean is taken, and L3 of the arm 'relu' runs over n = 100, 1000, "
            "10000 at preset 'quick'; allowed is one of them, as at={'n': 10000}",
        ),
        (mean("L3", "few", at=dict(n=10000)).at_most(1), "at.n is 10000, at which at preset 'quick' the arm 'few'"),
        (mean("L3", "few", at=dict(n=100), presets=["large"]).at_most(1), "presets is ['large'], and no such"),
        (difference("L3", "relu", versus="gelu").at_most(0), "at does not say at which n the difference is taken"),
        (difference("L3", "relu", **HERE, versus_at={}, versus="gelu").at_most(0), "versus_at does not say at which n"),
        (
            difference("L3", "relu", **HERE, versus="relu").at_most(0),
            "versus is 'relu', so that L3 of the arm 'relu' is compared with itself; allowed are another versus,",
        ),
        (ABOVE | {"check": "d"}, "check names 'd', which is no claim of the study; they are c"),
        (ABOVE | {"control": "d"}, "control names 'd', which is no claim of the study; they are c"),
        (ABOVE | {"check": "c"}, "check is 'c', which has a check of its own; allowed are claims without one"),
        (slope("L3", "rellu").at_most(0), "arm names 'rellu', which is no arm of the study; did you mean 'relu'?"),
    ],
)
def test_a_claim_that_no_run_can_judge_is_refused(rule, told):
    assert refusal(rule).startswith(f"claim 'c': {told}")


@pytest.mark.parametrize(
    "rule",
    [
        window(1000, 10000),
        window(10, 1000, presets=["quick"]),
        window(1, 2, over="step", at=dict(n=1000)),  # an axis of the experiment's own
        mean("L3", "relu", at=dict(n=30000)).at_most(1),  # 'large' alone can judge it
        difference("L3", "relu", **HERE, versus="relu", versus_variable="rmse").at_most(0),
        slope("L3", "relu", versus="gelu").at_most(0),
        function("mine:rule", arm="relu").at_most(1),  # what it takes is its own affair
    ],
)
def test_one_that_a_run_can_judge_is_not(rule):
    assert checked(rule).claims


def test_windows_of_rates_and_presets_are_windows_too():
    assert refusal(window=(1000, 100)).startswith("rate 'L3': window is [1000, 100]: allowed is")
    assert refusal(quick=dict(window=(9, 9))).startswith("preset 'quick': window is [9, 9]: allowed is")
    told = "claim 'c': over is 'n', whose window in its rate is [3000.0, 30000.0], which holds 1 size"
    assert refusal(window=(3000, 30000)).startswith(told)
    told = "claim 'c': over is 'n', whose window in the preset 'quick' is [1.0, 9.0], which holds 0 sizes"
    assert refusal(quick=dict(window=(1, 9))).startswith(told)


def test_a_setting_that_the_grid_replaces_at_every_preset_is_refused():
    told = "settings.n is 5, which never counts: the grid replaces it by n = 100,"
    assert refusal(settings=dict(n=5)).startswith(told)
    assert refusal(quick=dict(settings=dict(n=5))).startswith("preset 'quick': settings.n is 5, which never counts")
    rule = mean("L3", "relu", at=dict(n=1000, d=2)).at_most(1)
    assert checked(rule, settings=dict(d=2), quick=dict(grid=dict(d=[2, 3])))


def test_an_arm_that_every_preset_leaves_out_is_refused_with_the_arms_of_its_presets():
    told = "arm 'few': presets is ['quick'], and no such preset runs it; the arms of presets are quick: relu, gelu"
    assert refusal(quick=dict(arms=["relu", "gelu"])).startswith(told)


def test_an_arm_of_some_presets_leaves_the_results_of_the_others_valid():
    before, after = (Study("Widths", experiment="regression", seed=3, settings=dict(n=100)) for _ in range(2))
    for study in (before, after):
        study.preset("quick", replicates=2)
        study.preset("control", replicates=2)
        study.arm("softmax", fitted_gate="softmax")
    after.arm("sigmoid", fitted_gate="sigmoid", presets=["control"])
    after.ours("lower", "It is low.", mean("L3", "sigmoid").at_most(0.1), source="ours")
    before, after = before.check(), after.check()
    ran = {name: [arm.name for arm in after.arms if presets.runs(after, name, arm)] for name in after.presets}
    assert ran == {"quick": ["softmax"], "control": ["softmax", "sigmoid"]}
    assert seal.problem(after, "quick") == seal.problem(before, "quick")
    assert seal.problem(after, "control") != seal.problem(before, "control")
    assert presets.able(after, after.claims[0]) == ["control"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            dict(options=dict(share=True)),
            "share is no option of kind 'rates'; did you mean 'share_y'? allowed are at, ",
        ),
        (dict(kind="lines", options=dict(dashed="L3")), "dashed is no option of kind 'lines'; allowed are at, levels,"),
        (dict(kind="heatmap", options=dict(vmin=0, cmap="Blues")), "cmap is no option of kind 'heatmap'; allowed are "),
        (dict(kind="heatmap", options=dict(vmin=0, origin="upper")), None),
        (dict(kind="function", function="mine:drawn", options=dict(mine=1)), None),
    ],
)
def test_an_option_that_no_figure_of_its_kind_reads_is_refused(given, told):
    study = Study("Widths", experiment="regression", seed=3, grid=dict(n=[100, 1000]))
    study.preset("quick", replicates=2)
    study.arm("relu")
    study.figure("map", panels=[dict(variable="L3")], **given)
    if told is None:
        assert study.check().figures
        return
    with pytest.raises(InputError) as caught:
        study.check()
    (line,) = str(caught.value).splitlines()
    assert line.partition(": ")[2].startswith(f"figure 'map': options.{told}")
