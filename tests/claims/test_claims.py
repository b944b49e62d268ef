"""Verdicts: every kind of claim on data whose answer is known, and everything that must make a verdict inconclusive.

Where a verdict depends on noise the seed is fixed and the rule is at least eight standard errors away, so that a
correct program fails with probability below 1e-9 over the choice of seeds.
"""

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import moestat.rates
from moestat import rounding
from moestat.claims import verdicts, wording
from moestat.claims.selection import usable
from moestat.rates import Estimate
from moestat.runner.results import BINARY
from moestat.status import Status
from moestat.study import seal
from moestat.study.spec import Claim, Study

N = [1000, 3000, 10000, 30000, 100000]
SLOPE = {"kind": "slope", "variable": "L3", "arm": "arm0"}
TWO = SLOPE | {"kind": "slope_difference", "versus": "arm1"}
MEAN = {"kind": "mean", "variable": "L3", "arm": "arm0", "at": {"n": 1000}}
LARGEST = {"kind": "function", "function": "moestat.claims.rules:largest", "variable": "L3", "arm": "arm0"}


def dataset(seed=0, slopes=(-0.5, -0.25), sd=0.1, replicates=10, sizes=N):
    rng = np.random.default_rng(seed)
    shape = (len(slopes), len(sizes), replicates)
    common = rng.standard_normal((1, *shape[1:]))
    n, slope = np.asarray(sizes, dtype=float)[None, :, None], np.asarray(slopes)[:, None, None]
    loss = 3 * n**slope * np.exp(sd * common + 0.01 * rng.standard_normal(shape))
    dims = ("arm", "n", "replicate")
    variables = {
        "L3": (dims, loss),
        "hit": (dims, rng.random(shape) < 0.5),
        "fisher_L3": (dims[:2], (2 * n**-0.5 * np.ones((len(slopes), 1, 1)))[..., 0]),
        "message": (dims, np.full(shape, "fine", dtype=object)),
        "status": (dims, np.zeros(shape, dtype=np.int64)),
    }
    arms = [f"arm{i}" for i in range(len(slopes))]
    return xr.Dataset(variables, coords={"arm": arms, "n": list(sizes), "replicate": np.arange(replicates)})


def study(*claims, presets=None, arms=("arm0", "arm1"), **more):
    head = {"title": "t", "paper": "p", "source": "s", "experiment": "e", "seed": 1}
    head["arms"] = [arm if isinstance(arm, dict) else {"name": arm} for arm in arms]
    head["presets"] = {"quick": {"replicates": 10}} | (presets or {})
    head["claims"] = [{"id": f"c{i}", "source": "s", "statement": "x"} | claim for i, claim in enumerate(claims)]
    return Study.model_validate(head | more)


def judged(ds, rates=(), arms=("arm0", "arm1"), presets=None, **claim):
    [found] = verdicts.judge(ds, study(claim, rates=list(rates), arms=arms, presets=presets), "quick")
    return found


def constant(ds, claim, **options):
    return Estimate(**({"exact": options["low"] == options["high"]} | options))


def fixed(**options):
    return {"kind": "function", "function": f"{__name__}:constant", "options": options}


@pytest.mark.parametrize("outcome", [{"at_most": 1}, {"at_least": 1}])  # either would be decided
@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"low": 0.2, "high": 0.4}, "not supported"),
        ({"low": -0.2, "high": 0.2}, "inconclusive"),
        ({"low": 0.2, "high": 0.4, "presets": ["other"]}, "not judged at this preset"),
        ({"low": -0.4, "high": -0.2}, ""),
    ],
)
def test_an_effect_whose_treatment_was_not_delivered_is_inconclusive_whatever_came_out(outcome, check, told):
    low, high = check["low"], check["high"]
    delivered = fixed(value=(low + high) / 2, low=low, high=high) | {"at_most": 0}
    delivered |= {"presets": check.get("presets", ["*"])}
    asked = study(delivered, fixed(value=0.5, low=0.4, high=0.6) | outcome | {"check": "c0", "control": "c0"})
    effect = verdicts.judge(dataset(), asked, "quick")[-1]
    if not told:
        assert effect.verdict in ("supported", "not supported")
        return
    assert (effect.verdict, effect.wording) == ("inconclusive", "inconclusive: not delivered")
    assert effect.reason == "not delivered" and f"its check c0 is {told}." in effect.why
    assert effect.estimate == 0.5 and wording.tally([effect.row()]) == {"inconclusive": 1}


# --- the number and the region ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"within": [-0.6, -0.4]}, "supported"),
        ({"at_most": -0.4}, "supported"),
        ({"at_most": -0.6}, "not supported"),
        ({"at_least": -0.4}, "not supported"),
    ],
)
def test_a_slope_is_judged_by_its_interval(rule, word):
    verdict = judged(dataset(), **SLOPE, **rule, predicted=-0.5)
    assert (verdict.verdict, verdict.reason, verdict.predicted) == (word, "", -0.5)
    assert verdict.ci_low < verdict.estimate < verdict.ci_high and verdict.estimate == pytest.approx(-0.5, abs=0.1)
    assert "10 complete replicates at 5 sizes from 1000 to 100000; 0 failed, 0 not converged" in verdict.why
    assert tuple(verdict.row()) == wording.COLUMNS


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.lists(st.floats(-5, 5), min_size=2, max_size=2))
def test_the_rule_of_the_three_verdicts(numbers, region):
    (low, value, high), (a, b) = sorted(numbers), sorted(region)
    if a == b:
        return
    verdict = judged(dataset(replicates=2, sizes=N[:1]), within=[a, b], **fixed(value=value, low=low, high=high))
    inside = [a <= x <= b for x in np.linspace(low, high, 7)]
    if inside[0] and inside[-1]:
        assert verdict.verdict == "supported" and all(inside)
    elif high < a or low > b:
        assert verdict.verdict == "not supported" and not any(inside)
    else:
        assert (verdict.verdict, verdict.reason) == ("inconclusive", "across the edge")


def test_slopes_are_subtracted_replicate_by_replicate():
    ds = dataset(sd=0.5)
    verdict, alone = judged(ds, **TWO, at_most=0), judged(ds, **SLOPE, at_most=0)
    assert verdict.verdict == "supported"  # the shared noise cancels: the interval is far narrower
    assert verdict.ci_high - verdict.ci_low < 0.1 * (alone.ci_high - alone.ci_low)
    x = np.log(N) - np.mean(np.log(N))
    by_hand = np.einsum("s,asr->ar", x / (x @ x), np.log(ds["L3"].values))
    assert verdict.estimate == pytest.approx(np.mean(by_hand[0] - by_hand[1]))
    assert judged(dataset(), **TWO, equivalent=0.05).verdict == "not supported"
    ds = dataset(slopes=(-0.5, -0.5))
    near = judged(ds, **TWO, equivalent=0.05)  # its whole interval lies within the margin
    assert near.verdict == "supported"
    narrow = (near.ci_high - near.ci_low) / 4  # no difference seen is not equivalence
    assert judged(ds, **TWO, equivalent=narrow).verdict == "inconclusive"


def test_a_bend_is_told_or_is_an_obstacle_where_the_rule_says_so_in_advance():
    ds = dataset(sd=0.001)
    ds["L3"] = ds["L3"] + 0.02
    told, stopped = (judged(ds, **SLOPE, at_most=0, **more) for more in ({}, {"bent": "inconclusive"}))
    assert told.verdict == "supported" and told.bend and told.bend in told.why
    assert (stopped.verdict, stopped.reason) == ("inconclusive", "bent")
    assert "asks for a straight line" in stopped.why and told.bend in stopped.why
    assert judged(dataset(), **SLOPE, at_most=0, bent="inconclusive").verdict == "supported"
    plain = {"id": "c", "source": "s", "statement": "t", "at_most": 0, **SLOPE}
    digests = [seal.digest_of(Claim(**plain, **more)) for more in ({}, {"bent": "told"}, {"bent": "inconclusive"})]
    sealed = Claim(**plain).model_dump(mode="json", exclude={"bent"})  # as before there was the key
    assert digests[0] == digests[1] == seal.digest_of(sealed) != digests[2]


def test_mean_difference_and_log_ratio_against_their_formulas():
    ds = dataset()
    at = {"at": {"n": 10000}}
    a, b = ds["L3"].sel(n=10000).values
    for claim, samples in [
        ({"kind": "mean", **at}, a),
        ({"kind": "difference", "versus": "arm1", **at}, a - b),
        ({"kind": "log_ratio", "versus": "arm1", **at}, np.log(a / b)),
        ({"kind": "difference", **at, "versus_at": {"n": 1000}}, a - ds["L3"].sel(n=1000, arm="arm0").values),
        ({"kind": "log_ratio", **at, "versus_variable": "fisher_L3"}, np.log(a / (2 * 10000**-0.5))),
    ]:
        for level in (0.95, 0.99):
            verdict = judged(ds, variable="L3", arm="arm0", at_most=100, level=level, **claim)
            half = stats.t.ppf(0.5 + level / 2, 9) * np.std(samples, ddof=1) / math.sqrt(10)
            assert verdict.estimate == pytest.approx(np.mean(samples)) and verdict.verdict == "supported"
            assert verdict.ci_high - verdict.estimate == pytest.approx(half)


def test_truth_values_have_an_exact_interval_and_shares_one_within_their_range():
    ds = dataset()
    ds["hit"] = xr.ones_like(ds["hit"])
    verdict = judged(ds, **MEAN | {"variable": "hit"}, at_least=0.95)
    assert (verdict.estimate, verdict.ci_high, verdict.verdict) == (1.0, 1.0, "inconclusive")
    assert verdict.ci_low == pytest.approx(0.025 ** (1 / 10))  # all of 10: the lower end solves p^10 = 0.025
    ds["share"] = ds["L3"].copy(data=1.0 - 0.05 * (np.arange(100).reshape(2, 5, 10) == 3))
    assert judged(ds, **MEAN | {"variable": "share"}, at_least=0.9).ci_high > 1.0
    ds["share"].attrs["valid_range"] = [0.0, 1.0]
    assert judged(ds, **MEAN | {"variable": "share"}, at_least=0.9).ci_high == 1.0


def test_a_property_of_the_cell_has_no_monte_carlo_error():
    for claim, region in ((SLOPE, [-0.51, -0.49]), (MEAN | {"at": {"n": 10000}}, [0.019, 0.021])):
        verdict = judged(dataset(), **claim | {"variable": "fisher_L3"}, within=region)
        assert verdict.verdict == "supported" and verdict.ci_low == pytest.approx(verdict.ci_high, abs=1e-12)
        assert "no Monte Carlo error" in verdict.why


def test_a_statement_about_every_case_has_a_bound_or_a_counterexample():
    ds = dataset()
    losses = np.sort(ds["L3"].sel(arm="arm0").values.ravel())
    whole = judged(ds, **LARGEST, at_most=float(losses[-1]))
    assert (whole.verdict, whole.wording) == ("no counterexample", "no counterexample in 50 of 50 at reduced scale")
    # no counterexample in 10 draws: shares p with (1 - p)^10 >= 0.05 are not excluded
    assert f"At most {100 * (1 - 0.05**0.1):.3g} % of such draws" in whole.why
    broken = judged(ds, **LARGEST, at_most=float(losses[-2]))
    assert (broken.verdict, broken.wording) == ("refuted", "refuted by 1 of 50 at reduced scale")
    low, high = stats.beta.ppf([0.025, 0.975], [1, 2], [10, 9])
    assert f"{100 * low:.3g} to {100 * high:.3g} % of such draws" in broken.why and "n 1000, replicate" in broken.why
    # about some case: one shows it, and none refutes it
    assert judged(ds, **LARGEST, at_least=losses[-1]).wording == "shown by 1 of 50 at reduced scale"
    assert judged(ds, **LARGEST, at_least=losses[-1] + 1).reason == "no case"


# --- lines that bend, windows ----------------------------------------------------------------------------------------


def bent(sizes=N):
    """Return losses of which that of arm0 has a floor of a tenth of its first value."""
    ds = dataset(sizes=sizes, sd=0.01)
    ds["L3"][0] += 0.1 * float(ds["L3"][0, 0].mean())
    ds["fisher_L3"] += 0.01
    return ds


def rate_of_arm(ds, claim):
    """A function of a user, which hands on what a fit says."""
    return moestat.rates.fit(ds[claim.variable].sel(arm=claim.arm), over="n").rate


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (SLOPE, "The line is bent and flattens, towards a floor or a slower rate: slope -0.4"),
        (SLOPE | {"variable": "fisher_L3"}, "The line is bent and flattens"),
        (TWO | {"versus_variable": "fisher_L3"}, "The first line is bent and flattens"),
        (TWO | {"arm": "arm1", "versus": "arm0"}, "The second line is bent and flattens"),
        (LARGEST | {"function": f"{__name__}:rate_of_arm"}, "The line is bent and flattens"),
    ],
)
def test_a_slope_of_a_bent_line_has_its_verdict_and_says_so(claim, told):
    verdict = judged(bent(), **claim, at_most=1, hindsight="Written late.")
    assert verdict.verdict == "supported" and told in verdict.bend and verdict.bend in verdict.why
    assert verdict.why.endswith(" Written late.")
    assert judged(dataset(), **claim, at_most=1).bend == ""
    assert told in judged(bent(), **claim, at_most=verdict.estimate).bend


def test_the_window_is_the_claims_then_the_presets_then_the_rates():
    rate, preset = {"loss": "L3", "window": [3000, 1e5]}, {"quick": {"replicates": 10, "window": [10000, 1e5]}}
    for more, sizes in (
        ({}, "5 sizes from 1000"),
        ({"rates": [rate]}, "4 sizes from 3000"),
        ({"rates": [rate], "presets": preset}, "3 sizes from 10000"),
        ({"rates": [rate], "presets": preset, "window": [1, 1e6]}, "5 sizes from 1000"),
        ({"rates": [rate | {"arms": ["arm1"]}]}, "5 sizes from 1000"),
    ):
        assert sizes in judged(dataset(), **SLOPE, at_most=0, **more).why


def test_a_slope_in_a_window_is_told_beside_that_over_all_sizes():
    """Whoever sets a window chooses sizes: the reader sees what the others would have made of it."""
    made = dataset()
    made["L3"][:, :2] *= 10.0  # the two smallest sizes are off the line
    verdict, whole = (judged(made, **SLOPE, at_most=0, **w) for w in ({"window": [10000, 1e6]}, {}))
    text = f"over all sizes the slope is {' '.join(rounding.estimate(whole.estimate, whole.ci_low, whole.ci_high))}"
    assert text in verdict.why and verdict.estimate == pytest.approx(-0.5, abs=0.1) and whole.estimate < -0.8
    assert "over all sizes" not in whole.why + judged(made, **SLOPE, at_most=0, window=[1, 1e9]).why


# --- what stands in the way ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (SLOPE | {"arm": "absent"}, "'absent' is not part of this run"),
        (SLOPE | {"variable": "nothing"}, "no variable 'nothing'"),
        (SLOPE | {"variable": "message"}, "is text"),
        (MEAN | {"at": {}}, "also runs over n"),
        (MEAN | {"at": {"n": 5}}, "n = 5 is not on the grid"),
        (MEAN | {"at": {"n": 1000, "q": 5}}, "has no axis 'q'"),
        ({"kind": "function", "function": "no.such.module:f"}, "cannot be imported"),
        ({"kind": "function", "function": "math:pi"}, "is not callable"),
        ({"kind": "function", "function": "math:floor"}, "raised TypeError"),
        ({"kind": "function", "function": "operator:is_"}, "returned a bool"),
    ],
)
def test_without_a_number_there_is_no_verdict_but_a_reason(claim, told):
    verdict = judged(dataset(), **claim, at_most=0)
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "no number")
    assert told in verdict.why and math.isnan(verdict.estimate)


@pytest.mark.parametrize(("status", "side"), [(-1, 0), (Status.RAISED, 0), (Status.WORKER_DIED, 1)])
def test_a_missing_or_failed_replicate_makes_the_verdict_inconclusive_and_keeps_the_number(status, side):
    ds = dataset()
    ds["status"][side, 2, 3] = int(status)
    clean, told = dataset(), "are missing" if status == -1 else "failed"
    clean["L3"][side, :, 3] = np.nan
    claim = SLOPE | {"arm": f"arm{side}"}
    for rule, runs in ((claim, 50), (TWO, 100), (MEAN | {"at": {"n": 10000}, "arm": f"arm{side}"}, 10)):
        verdict = judged(ds, **rule, at_most=9)
        assert verdict.verdict == "inconclusive" and f"1 of {runs} runs {told}." in verdict.why
    assert judged(ds, **claim, at_most=0).estimate == judged(clean, **claim, at_most=0).estimate
    assert judged(ds, **SLOPE | {"arm": f"arm{1 - side}"}, at_most=0).verdict == "supported"
    assert "0 failed" in judged(ds, **claim, at_most=0, window=[10001, 1e9]).why
    pair = MEAN | {"kind": "difference", "arm": f"arm{side}", "at": {"n": 10000}, "versus_at": {"n": 1000}}
    assert f"1 of 20 runs {told}" in judged(ds, **pair, at_most=9).why


@pytest.mark.parametrize(
    ("claim", "options", "reason"),
    [
        (SLOPE, {"sizes": N[:3]}, "not trusted"),
        (MEAN, {"replicates": 1}, "not trusted"),
        (MEAN, {"replicates": 2}, "too few"),
        (SLOPE, {"replicates": 2}, "too few"),
        (MEAN, {"slopes": (0.0, 0.0)}, "no width"),
        (SLOPE | {"printed": True, "predicted": -0.5}, {}, "other problem"),
        (fixed(value=1.0, low=0.9, high=1.1, reasons=["Too coarse."], counts_failures=True), {}, "not trusted"),
        (fixed(value=1.0, low=0.9, high=math.nan), {}, "no interval"),
    ],
)
def test_what_decides_nothing_says_why(claim, options, reason):
    ds = dataset(**options)
    if reason == "no width":
        ds["L3"][:] = 1.0
    verdict = judged(ds, **claim, at_most=1e9)
    assert (verdict.verdict, verdict.reason) == ("inconclusive", reason) and "It decides nothing" in verdict.why
    assert math.isfinite(verdict.estimate)


def test_a_logarithm_of_nothing_decides_nothing():
    assert judged(dataset(sd=0.001, replicates=3), **SLOPE, at_most=1e9).verdict == "supported"  # three may decide
    ds = dataset()
    ds["L3"][0, 0, 0] = 0.0
    told = judged(ds, **MEAN | {"kind": "log_ratio", "versus": "arm1"}, at_most=9)
    assert told.reason == "not trusted" and "1 values are not positive" in told.why
    assert judged(ds, **SLOPE, at_most=0).verdict == "inconclusive"


@pytest.mark.parametrize(("extreme", "word"), [(False, "supported"), (True, "inconclusive")])
def test_not_converged_replicates_must_not_decide(extreme, word):
    ds = dataset(sd=0.02)
    ds["status"][0, 2, 3] = int(Status.LIMIT)
    if extreme:
        ds["L3"][0, -1, 3] *= 20
        ds["status"][0, -1, 3] = int(Status.LIMIT)
    verdict = judged(ds, **SLOPE, within=[-0.52, -0.48])
    assert (verdict.verdict, verdict.reason) == (word, "not converged" if extreme else "")
    assert ("the verdict is the same without" in verdict.why) is not extreme
    ds["status"][0, 0, :] = int(Status.STALLED)
    assert "too few are left" in judged(ds, **SLOPE, at_most=0).why


def smallest(ds, claim):
    value = float(ds["L3"].min())
    return Estimate(value, value, value, "smallest of all", exact=True)


@pytest.mark.parametrize("kind", [float, np.uint8, bool, object])
def test_a_function_sees_no_value_of_a_failed_replicate(kind):
    ds = dataset()
    values = np.ones(ds["L3"].shape, dtype=bool)
    values[0, 0, 0] = False
    ds["L3"] = (ds["L3"].dims, values.astype(kind))
    claim = {"kind": "function", "function": f"{__name__}:smallest", "at_least": 0.5}
    for status, told in ((Status.NOT_FINITE, "1 of 100 runs failed"), (Status.LIMIT, "without them it is")):
        ds["status"][0, 0, 0] = int(status)
        verdict = judged(ds, **claim)
        assert told in verdict.why and verdict.estimate == (status == Status.NOT_FINITE)
    ds["status"][0, 0, 0] = int(Status.NOT_FINITE)
    counts = fixed(value=1.0, low=0.9, high=1.1, counts_failures=True)  # it counts failures itself, and may decide
    assert judged(ds, **counts, at_least=0).verdict == "supported"
    seen = usable(ds)
    assert seen["status"].identical(ds["status"]) and seen["message"].identical(ds["message"])
    assert seen["fisher_L3"].identical(ds["fisher_L3"])  # of the cell, not of a replicate
    assert np.isnan(seen["hit"][0, 0, 0]) and seen["hit"].attrs[BINARY] == 1 and int(seen["hit"].isnull().sum()) == 1


def test_an_arm_that_lives_on_a_part_of_the_grid_is_not_missing_elsewhere():
    ds = dataset()
    ds["status"][0, :1] = -1
    ds["L3"][0, :1] = np.nan
    verdict = judged(ds, arms=[{"name": "arm0", "settings": {"n": N[1:]}}, "arm1"], **SLOPE, at_most=0)
    assert verdict.verdict == "supported" and "4 sizes from 3000" in verdict.why
    assert judged(ds, **SLOPE, at_most=0).verdict == "inconclusive"


def searched(found, name="search_found"):
    ds = dataset()
    again = np.full(ds["L3"].shape, np.nan)
    again[0] = 3
    again[0].flat[: len(found)] = found
    same = ("rmse", "L3_wide_high", "hellinger", "hellinger_to_bound", "root_hellinger_squared_to_fisher", "D_to_bound")
    return ds.assign({name: (ds["L3"].dims, again)} | dict.fromkeys(same, ds["L3"]))


@pytest.mark.parametrize("kind", [SLOPE, TWO])
def test_a_rate_of_the_argmin_is_open_where_the_search_has_not_settled(kind):
    """Fifty data sets: two are fewer than 5 %, three are more."""
    rule = kind | {"at_most": -0.1}
    assert judged(searched([0, 1]), **rule).verdict == "supported"
    told = judged(searched([0, 1, 1]), **rule)
    assert told.reason == "not settled" and "in 47 of 50 data sets" in told.why
    # outside of the window and at an arm without a search it is no obstacle
    window = [{"loss": "L3", "window": [3000, 1e6]}]
    assert judged(searched([0, 1, 1]), rates=window, **rule).verdict == "supported"
    # rounds of a likelihood's search count likewise, and where they were counted, they are what tells
    rounds = searched([0, 1, 1], "rounds_there")
    assert judged(rounds, **rule).reason == "not settled"
    assert judged(rounds.assign(found_again=searched([9, 9, 9])["search_found"]), **rule).reason == "not settled"
    # the worst near-minimiser of those that were seen is no bound of the worst
    assert judged(searched([0, 1, 1]), **rule | {"variable": "L3_wide_high"}).reason == "not settled"
    # other starts that came to the best point count beside the one that led to it
    for found, reason in (([0, 0], ""), ([0, 0, 0], "not settled"), ([1, 1, 1], "")):
        assert judged(searched(found, "found_again"), **rule).reason == reason


@pytest.mark.parametrize("name", ["hellinger", "hellinger_to_bound", "root_hellinger_squared_to_fisher", "rmse"])
def test_a_bound_from_above_of_a_density_needs_no_settled_search(name):
    ds, rule = searched([0, 0, 0]), SLOPE | {"variable": name}
    assert judged(ds, **rule, at_most=-0.1).verdict == "supported"
    bounds = ({"at_least": -9}, {"within": [-9, -0.1]}, {"at_most": -0.1, "variable": "D_to_bound"})
    assert {judged(ds, **rule | other).reason for other in bounds} == {"not settled"}
    assert judged(ds, **TWO | {"variable": name}, at_most=-0.1).reason == "not settled"


# --- what a verdict is a verdict about -------------------------------------------------------------------------------


def test_claims_of_other_presets_or_of_arms_that_one_leaves_out_are_not_judged():
    made = study(SLOPE | {"at_most": 0, "presets": ["paper*"]}, SLOPE | {"at_most": 0})
    assert [v.claim for v in verdicts.judge(dataset(), made, "quick")] == ["c1"]
    assert [v.claim for v in verdicts.judge(dataset(), made, "paper-long")] == ["c0", "c1"]
    small = {"small": {"replicates": 10, "arms": ["arm1"]}}
    made = study(*(claim | {"at_most": 0} for claim in (SLOPE, SLOPE | {"arm": "arm1"}, TWO)), presets=small)
    assert [claim.id for claim in verdicts.judged(made, "small")] == ["c1"]


@pytest.mark.parametrize(
    ("scale", "at_most", "at_least"),
    [
        ("paper", "supported", "not supported"),
        ("reduced", "supported at reduced scale", "not shown at reduced scale"),
        ("stand-in", "supported on a stand-in", "not shown on a stand-in"),
    ],
)
def test_a_run_that_is_not_the_papers_own_problem_says_so(scale, at_most, at_least):
    for rule, wanted in (({"at_most": 0}, at_most), ({"at_least": 0}, at_least)):
        made = study(SLOPE | rule, SLOPE | rule | {"scale": "paper"}, scale=scale)  # the scale of a claim goes first
        (first, second) = verdicts.judge(dataset(), made, "quick")
        assert (first.scale, first.wording, second.scale) == (scale, wanted, "paper")
    printed = study(SLOPE | {"predicted": -0.5, "printed": True, "within": [-0.3, -0.2]}, scale=scale)
    word = "not supported" if scale == "paper" else "inconclusive"
    assert verdicts.judge(dataset(), printed, "quick")[0].verdict == word
    presets = {"paper": {"replicates": 10}, "big": {"replicates": 10, "scale": "stand-in"}}
    made = study(SLOPE | {"at_most": 0}, presets=presets)
    assert [made.scale_of(name) for name in ("quick", "paper", "big")] == ["reduced", "paper", "stand-in"]


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-9, 10))
@example(1e-5, 1e-9)
def test_rounded_intervals_stay_true(value, half):
    shown, interval = rounding.estimate(value, value - half, value + half)
    texts = [shown, *interval.strip("[]").split(", ")]
    error = 0.06 * half + 6e-5 * max(abs(value - half), abs(value + half))
    for text, number in zip(texts, (value, value - half, value + half), strict=True):
        assert abs(float(text) - number) <= error
        assert "e" in text or len(text.lstrip("-0.")) <= 8
