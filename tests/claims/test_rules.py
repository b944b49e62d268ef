import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError
from moestat.rates import Cases
from moestat.study.spec import Claim

EXPERTS = [4, 8, 16]
LOSSES = xr.Dataset(
    {"loss": (("arm", "t", "replicate"), np.array([[[1.0, np.nan], [5.0, 2.0]], [[9.0, 3.0], [4.0, 7.0]]]))},
    coords={"arm": ["one", "two"], "t": [0.1, 1.0], "replicate": [0, 1]},
)


def dataset(values, arms=("a",)):
    """Accuracies of shape (arm, experts, replicate)."""
    values = np.asarray(values, dtype=float).reshape(len(arms), len(EXPERTS), -1)
    variables = {"accuracy": (("arm", "experts", "replicate"), values)}
    return xr.Dataset(variables, coords={"arm": list(arms), "experts": EXPERTS, "replicate": range(values.shape[2])})


def runs_of(values):
    """Return three arms with the same accuracy at every number of experts."""
    return dataset(np.repeat(values[:, None], len(EXPERTS), axis=1), arms=("a", "b", "c")).isel(experts=0)


def claim(rule=None, **given):
    given = {"variable": "accuracy", "arm": "a"} | (rule or {"at_least": 0.0}) | given
    return Claim(id="c", source="s", statement="t", kind="function", function="m:f", **given)


def loss_of(arm="", rule=None, **at):
    return claim(rule or {"at_most": 4.0}, variable="loss", arm=arm, at=at)


def gaussian(means, replicates, seed, sd=1.0):
    rng = np.random.default_rng(seed)
    return np.asarray(means, dtype=float)[:, None] + sd * rng.standard_normal((len(means), replicates))


def test_the_largest_value_is_found_with_its_place_and_the_smallest_is_that_of_the_negative():
    found = rules.largest(LOSSES, loss_of("one"))
    assert found.value == found.low == found.high == 5 and found.exact
    assert found.note == "largest of 3 values, at arm one, t 1, replicate 0"
    turned = LOSSES.assign(loss=-LOSSES["loss"])
    for given, options, value in (
        (loss_of(), {"arms": ["*"]}, 9),
        (loss_of("two", t=1.0), {}, 7),
        (loss_of("*", t=0.1), {}, 9),
    ):
        most, least = rules.largest(LOSSES, given, **options), rules.smallest(turned, given, **options)
        assert most.value == value == -least.value and least.note == most.note.replace("largest", "smallest")


@pytest.mark.parametrize(
    ("rule", "cases"),
    [
        # of the seven values 1, 5, 2 and 9, 3, 4, 7, four lie above 4; each of the two draws has one of these
        ({"at_most": 4.0}, Cases(7, 4, 2, 0, every=True)),
        ({"at_most": 9.0}, Cases(7, 7, 2, 2, every=True)),
        ({"at_least": 7.0}, Cases(7, 2, 2, 0, every=False)),
        ({"within": [1.0, 9.0]}, None),
    ],
)
def test_cases_are_counted_against_the_rule(rule, cases):
    assert rules.largest(LOSSES, loss_of("*", rule)).cases == cases
    ends = {"at_most": "at_least", "at_least": "at_most"}
    turned = {ends[name]: -end for name, end in rule.items() if name in ends} or {"within": [-9.0, -1.0]}
    assert rules.smallest(LOSSES.assign(loss=-LOSSES["loss"]), loss_of("*", turned)).cases == cases


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda ds: rules.largest(LOSSES, loss_of("three")), "No arm of this run matches three"),
        (lambda ds: rules.largest(LOSSES.where(False), loss_of("one")), "no value in the arms one"),
        (lambda ds: rules.largest(LOSSES, loss_of("one"), over=[]), "also runs over t"),
        (lambda ds: rules.largest(ds, claim(variable="gain")), "no variable 'gain'"),
        (lambda ds: rules.largest(ds, claim(at={"step": 3})), "has no axis 'step'"),
        (lambda ds: rules.peak(ds, claim(), value=32), "experts = 32"),
        (lambda ds: rules.lead(ds, claim(), others=["a"]), "other arm"),
    ],
)
def test_what_is_not_there_is_named(ask, message):
    with pytest.raises(NoAnswerError, match=message):
        ask(dataset(gaussian([0, 1, 2], 4, 8)))


def test_gap_averages_paired_differences():
    shared = gaussian([0, 0, 0], 12, 1)
    found = rules.gap(dataset(np.stack([shared + 0.3, shared]), arms=("a", "b")), claim(versus="b"))
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.3, 0.3))
    ds = dataset(gaussian([0, 1, 2, 0, 1, 2], 12, 2), arms=("a", "b"))
    found = rules.gap(ds, claim(versus="b"))
    test = stats.ttest_rel(ds.accuracy[0].mean("experts"), ds.accuracy[1].mean("experts")).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))


def test_replicates_with_holes_are_left_out():
    values = gaussian([0, 1, 2], 9, 7)
    values[1, 4] = np.nan
    found = rules.peak(dataset(values), claim(), value=16)
    whole = rules.peak(dataset(np.delete(values, 4, axis=1)), claim(), value=16)
    assert (found.value, found.low) == (whole.value, whole.low) and "8 of 9 replicates" in found.note


def test_several_comparisons_share_the_level():
    """Bonferroni: the bounds are those of paired t-intervals at 1 - 0.05 / (number of comparisons)."""
    values = gaussian([0.5, 0.9, 0.7], 9, 11, sd=0.3)
    found = rules.lead(runs_of(values), claim(arm="b"), others=["a", "c"])
    assert found.value == pytest.approx(min(float((values[1] - values[i]).mean()) for i in (0, 2)))
    assert "9 of 9 replicates" in found.note
    assert rules.lead(runs_of(values), claim(arm="a"), others=["a", "b", "c"], lower=True).value == pytest.approx(
        min(float((values[i] - values[0]).mean()) for i in (1, 2))
    )
    tests = [stats.ttest_rel(values[1], values[i]).confidence_interval(1 - 0.05 / 2) for i in (0, 2)]
    assert (found.low, found.high) == pytest.approx((min(t.low for t in tests), min(t.high for t in tests)))
    peak = rules.peak(dataset(values), claim(), value=EXPERTS[1])
    assert (peak.low, peak.high) == pytest.approx((found.low, found.high))
