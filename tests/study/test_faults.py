"""Claims that no run can judge are refused when the file is loaded: later their mending is a rule that was changed."""

import pytest

from moestat.errors import InputError
from moestat.study import load

STUDY = """
title = "Widths"
paper = "none"
source = "a textbook"
experiment = "regression"
seed = 3
[grid]
n = [100, 1000, 10000]
{grid}
[presets.quick]
replicates = 2
{quick}
[presets.large]
replicates = 2
grid = {{ n = [1000, 3000, 30000] }}
[[arms]]
name = "relu"
[[arms]]
name = "gelu"
settings = {{ expert = "gelu" }}
[[arms]]
name = "few"
settings = {{ n = [100, 1000], d = 3 }}
presets = ["quick"]
[[rates]]
loss = "L3"
bound = -0.5
{rate}
[[claims]]
id = "c"
source = "ours"
statement = "{statement}"
{claim}
"""
SLOPE = 'kind = "slope"\nvariable = "L3"\narm = "relu"\n'
RULE = "at_most = -0.3\n"
MEAN = 'kind = "mean"\nvariable = "L3"\narm = "relu"\nat_most = 1\n'
DIFFERENCE = 'kind = "difference"\nvariable = "L3"\narm = "relu"\nat_most = 0\n'


@pytest.fixture
def read(tmp_path):
    def reader(claim=SLOPE + RULE, statement="It falls.", **more):
        path = tmp_path / "widths.toml"
        path.write_text(STUDY.format(claim=claim, statement=statement, **{"grid": "", "quick": "", "rate": ""} | more))
        return load.read(path).study

    return reader


def refusal(read, *claim, **more):
    """Return the one sentence by which a file is refused, after the name of the file."""
    with pytest.raises(InputError) as caught:
        read(*claim, **more)
    (line,) = str(caught.value).splitlines()
    file, _, told = line.partition(": ")
    assert file.endswith("widths.toml")
    return told


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (SLOPE + RULE + "window = [30000, 1000]", "window ('c') is [30000.0, 1000.0]; allowed is [low, high] with low"),
        (
            SLOPE + RULE + "window = [900, 1100]",
            "window ('c') is [900.0, 1100.0], which holds 1 size of the grid at preset 'quick'; allowed are windows of "
            "at least 2 of n = 100, 1000, 10000",
        ),
        (
            SLOPE + RULE + "window = [10, 1000]",
            "window ('c') is [10.0, 1000.0], which holds 1 size of the grid at preset 'large'",
        ),
        (SLOPE + "within = [-inf, inf]", "within ('c') is [-inf, inf], which decides nothing; allowed are numbers of"),
        (SLOPE + "at_most = inf", "at_most ('c') is inf, which decides nothing; allowed are finite numbers"),
        (SLOPE + "at_least = nan", "at_least ('c') is nan, which decides nothing"),
        (
            MEAN + "at = { n = 20000 }",
            "at.n ('c') is 20000, which is not on the grid; allowed are 100, 1000, 10000, 3000, 30000",
        ),
        (
            MEAN + "at = { n = 100 }\npresets = ['large']",
            "at.n ('c') is 100, which is not on the grid; allowed are 1000, 3000, 30000",
        ),
        (
            MEAN,
            "at ('c') does not say at which n the mean is taken, and L3 of the arm 'relu' runs over n = 100, 1000, "
            "10000 at preset 'quick'; allowed is one of them, as at = { n = 10000 }",
        ),
        (
            MEAN.replace("relu", "few") + "at = { n = 10000 }",
            "at.n ('c') is 10000, at which at preset 'quick' the arm 'few'",
        ),
        (
            MEAN.replace("relu", "few") + "at = { n = 100 }\npresets = ['large']",
            "presets ('c') is ['large'], and no such",
        ),
        (DIFFERENCE + "versus = 'gelu'", "at ('c') does not say at which n the difference is taken"),
        (DIFFERENCE + "versus_at = { n = 1000 }", "at ('c') does not say at which n"),
        (DIFFERENCE + "at = { n = 1000 }\nversus_at = {}\nversus = 'gelu'", "versus_at ('c') does not say at which n"),
        (
            DIFFERENCE + "at = { n = 1000 }\nversus = 'relu'",
            "versus ('c') is 'relu', so that L3 of the arm 'relu' is compared with itself; allowed are another versus,",
        ),
        (
            DIFFERENCE + "at = { n = 1000 }\nversus_variable = 'L3'",
            "versus_variable ('c') is 'L3', so that L3 of the arm",
        ),
    ],
)
def test_a_claim_that_no_run_can_judge_is_refused(read, claim, told):
    assert refusal(read, claim).startswith(f"claims[0].{told}")


@pytest.mark.parametrize(
    "claim",
    [
        SLOPE + RULE,
        SLOPE + RULE + "window = [1000, 10000]",
        SLOPE + RULE + "window = [10, 1000]\npresets = ['quick']",
        SLOPE + "within = [-inf, -0.3]",
        SLOPE + RULE + "over = 'step'\nwindow = [1, 2]\nat = { n = 1000 }",  # an axis of the experiment's own
        MEAN + "at = { n = 30000 }",  # 'large' alone can judge it
        DIFFERENCE + "at = { n = 1000 }\nversus_at = { n = 10000 }",
        DIFFERENCE + "at = { n = 1000 }\nversus = 'relu'\nversus_variable = 'rmse'",
        DIFFERENCE.replace("difference", "slope_difference") + "versus = 'gelu'",
        'kind = "function"\nfunction = "mine:rule"\narm = "relu"\nat_most = 1',  # what it takes is its own affair
    ],
)
def test_one_that_a_run_can_judge_is_not(read, claim):
    assert read(claim).claims


def test_windows_of_rates_and_presets_are_windows_too(read):
    assert refusal(read, rate="window = [1000, 100]").startswith(
        "rates[0].window ('L3') is [1000.0, 100.0]; allowed is"
    )
    assert refusal(read, quick="window = [9, 9]").startswith("presets.quick.window is [9.0, 9.0]; allowed is")
    told = "claims[0].over ('c') is 'n', whose window in [[rates]] is [3000.0, 30000.0], which holds 1 size"
    assert refusal(read, rate="window = [3000, 30000]").startswith(told)
    told = "claims[0].over ('c') is 'n', whose window in presets.quick.window is [1.0, 9.0], which holds 0 sizes"
    assert refusal(read, quick="window = [1, 9]").startswith(told)


def test_a_setting_that_the_grid_replaces_at_every_preset_is_refused(read):
    axis = "[settings]\nn = 5"
    assert refusal(read, grid=axis).startswith("settings.n is 5, which never counts: the grid replaces it by n = 100,")
    assert refusal(read, quick="settings = { n = 5 }").startswith("presets.quick.settings.n is 5, which never counts")
    assert read(grid="[settings]\nd = 2", quick="grid = { d = [2, 3] }", claim=MEAN + "at = { n = 1000, d = 2 }")


def test_a_misspelt_variable_has_no_prediction_and_is_named(read):
    claim = (SLOPE + RULE).replace("L3", "L33")
    told = refusal(read, claim, statement="It falls like n^({predicted}).")
    assert told.startswith(
        "claims[0].variable ('c') is 'L33', of which no [[rates]] states a predicted slope over n for"
    )
    assert "did you mean 'L3'?" in told
    told = refusal(read, claim.replace("relu", "rellu"), statement="It falls like n^({predicted}).")
    assert told.startswith("claims[0].arm ('c') names 'rellu', which is no arm of the study; did you mean 'relu'?")
    assert read(statement="It falls like n^({predicted}).").claims[0].statement == "It falls like n^(-0.5)."
