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

import moestat.rates
from moestat import rounding
from moestat.claims import verdicts
from moestat.claims.selection import usable
from moestat.claims.verdicts import Estimate
from moestat.runner.results import BINARY
from moestat.status import Status
from moestat.study.spec import Study

N = [1000, 3000, 10000, 30000, 100000]


def dataset(seed=0, slopes=(-0.5, -0.25), sd=0.1, replicates=10, sizes=N):
    rng = np.random.default_rng(seed)
    shape = (len(slopes), len(sizes), replicates)
    common = rng.standard_normal((1, *shape[1:]))
    n, slope = np.asarray(sizes, dtype=float)[None, :, None], np.asarray(slopes)[:, None, None]
    loss = 3 * n**slope * np.exp(sd * common + 0.01 * rng.standard_normal(shape))
    dims = ("arm", "n", "replicate")
    names = [f"arm{i}" for i in range(len(slopes))]
    return xr.Dataset(
        {
            "L3": (dims, loss),
            "hit": (dims, rng.random(shape) < 0.5),
            "fisher_L3": (dims[:2], (2 * n**-0.5 * np.ones((len(slopes), 1, 1)))[..., 0]),
            "message": (dims, np.full(shape, "fine", dtype=object)),
            "status": (dims, np.zeros(shape, dtype=np.int64)),
        },
        coords={"arm": names, "arm_label": ("arm", [f"arm {n}" for n in names]), "n": list(sizes)}
        | {"replicate": np.arange(replicates)},
    )


def study(*claim, rates=(), arms=("arm0", "arm1"), **more):
    return Study.model_validate(
        {
            "title": "t",
            "paper": "p",
            "source": "s",
            "experiment": "e",
            "seed": 1,
            "arms": [a if isinstance(a, dict) else {"name": a} for a in arms],
            "presets": {"quick": {"replicates": 10}} | more.pop("presets", {}),
            "claims": [{"id": f"c{i}", "source": "s", "statement": "x"} | c for i, c in enumerate(claim)],
            "rates": list(rates),
        }
        | more
    )


def judged(ds, preset="quick", rates=(), arms=("arm0", "arm1"), presets=None, **claim):
    found = verdicts.judge(ds, study(claim, rates=rates, arms=arms, presets=presets or {}), preset)
    assert len(found) == 1
    return found[0]


def test_the_interval_of_a_mean_share_stays_within_its_range():
    ds = dataset(sizes=N[:1])
    ds["share"] = ds["L3"].copy(data=1.0 - 0.05 * (np.arange(20).reshape(2, 1, 10) == 3))
    claim = {"kind": "mean", "variable": "share", "arm": "arm0", "at": {"n": N[0]}, "at_least": 0.9}
    assert judged(ds, **claim).ci_high > 1.0
    ds["share"].attrs["valid_range"] = [0.0, 1.0]
    within = judged(ds, **claim)
    assert within.ci_high == 1.0 and within.verdict == "supported"


SLOPE = {"kind": "slope", "variable": "L3", "arm": "arm0"}


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"within": [-0.6, -0.4]}, "supported"),
        ({"at_most": -0.4}, "supported"),
        ({"at_least": -0.6}, "supported"),
        ({"within": [-0.3, -0.2]}, "not supported"),
        ({"at_most": -0.6}, "not supported"),
        ({"at_least": -0.4}, "not supported"),
    ],
)
def test_a_slope_is_judged_by_its_interval(rule, word):
    verdict = judged(dataset(), **SLOPE, **rule, predicted=-0.5)
    assert verdict.verdict == word
    assert verdict.ci_low < verdict.estimate < verdict.ci_high
    assert verdict.estimate == pytest.approx(-0.5, abs=0.1)
    assert "10 complete replicates at 5 sizes from 1000 to 100000" in verdict.why
    assert "0 failed, 0 not converged" in verdict.why
    assert tuple(verdict.row()) == verdicts.COLUMNS
    assert verdict.predicted == -0.5


def bent(sizes=N, **more):
    """Return losses of which that of arm0 has a floor of a tenth of its first value."""
    ds = dataset(sizes=sizes, sd=0.01, **more)
    ds["L3"][0] += 0.1 * float(ds["L3"][0, 0].mean())
    return ds


def test_a_slope_of_a_bent_line_has_its_verdict_and_says_so():
    claim = SLOPE | {"at_most": -0.2, "hindsight": "Written late."}
    verdict = judged(bent(), **claim)
    assert verdict.verdict == "supported" and "trusted" not in verdict.why
    assert (
        "(10 complete replicates at 5 sizes from 1000 to 100000; 0 failed, 0 not converged). The line is bent and "
        in (verdict.why)
    )
    assert "flattens, towards a floor or a slower rate: slope -0.4" in verdict.why
    assert verdict.why.endswith(" in the upper. Written late.")
    assert "bent" not in judged(dataset(), **claim).why
    undecided = judged(bent(), **SLOPE, at_most=verdict.estimate)
    assert undecided.verdict == "inconclusive" and "The line is bent and flattens" in undecided.why


def test_a_claim_is_told_of_the_bend_in_its_own_window():
    ds = bent(sizes=[*N, 300000, 1000000, 3000000])
    ds["L3"][0] = ds["L3"][1] * (np.maximum(ds.n, 1e5) / 1e5) ** 0.5  # straight up to 1e5, then upwards
    assert "The line is bent and turns" in judged(ds, **SLOPE, at_most=0).why
    assert "bent" not in judged(ds, **SLOPE, at_most=0, window=[1e3, 1e5]).why


@pytest.mark.parametrize("exact", ["L3", "fisher_L3"])
def test_a_difference_of_slopes_says_which_line_is_bent(exact):
    ds = bent()
    claim = {"kind": "slope_difference", "variable": "L3", "arm": "arm0", "versus": "arm1", "versus_variable": exact}
    verdict = judged(ds, **claim, within=[-1, 1])
    assert verdict.verdict == "supported" and "The first line is bent and flattens" in verdict.why
    assert "second line" not in verdict.why
    back = judged(ds, **claim | {"arm": "arm1", "versus": "arm0", "versus_variable": "L3"}, within=[-1, 1])
    assert "The second line is bent and flattens" in back.why and "first line" not in back.why


def test_a_line_without_an_error_is_bent_by_more_than_rounding():
    ds = dataset()
    claim = {"kind": "slope", "variable": "fisher_L3", "arm": "arm0", "at_most": 0}
    assert "bent" not in judged(ds, **claim).why
    ds["fisher_L3"] += 0.01
    assert "The line is bent and flattens" in judged(ds, **claim).why


def rate_of_arm(ds, claim):
    """A function of a user, which hands on what a fit says."""
    return moestat.rates.fit(ds[claim.variable].sel(arm=claim.arm), over="n", draws=0).rate


def test_a_function_that_returns_the_rate_of_a_fit_tells_of_its_bend():
    claim = {"kind": "function", "function": f"{__name__}:rate_of_arm", "variable": "L3", "arm": "arm0", "at_most": 0}
    assert "The line is bent and flattens" in judged(bent(), **claim).why
    assert "bent" not in judged(dataset(), **claim).why


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.lists(st.floats(-5, 5), min_size=2, max_size=2))
def test_the_rule_of_the_three_verdicts(numbers_, region):
    low, value, high = sorted(numbers_)
    a, b = sorted(region)
    if a == b:
        return
    word = judged(
        dataset(replicates=2, sizes=N[:1]), kind="function", within=[a, b], **fixed(value=value, low=low, high=high)
    ).verdict
    grid = np.linspace(low, high, 7)
    inside = [a <= x <= b for x in (low, high)]
    if all(inside):
        assert word == "supported"
    elif not any(inside) and (high < a or low > b):
        assert word == "not supported" and not np.any((grid >= a) & (grid <= b))
    else:
        assert word == "inconclusive"


def constant(ds, claim, **options):
    return Estimate(**({"exact": options["low"] == options["high"]} | options))


def fixed(**options):
    return {"function": f"{__name__}:constant", "options": options}


def test_an_interval_across_the_edge_is_inconclusive():
    low, high = (getattr(judged(dataset(), **SLOPE, at_most=0), k) for k in ("ci_low", "ci_high"))
    verdict = judged(dataset(), **SLOPE, at_most=(low + high) / 2)
    assert verdict.verdict == "inconclusive"
    assert "only a part of the interval is at most" in verdict.why


def test_slopes_are_subtracted_replicate_by_replicate():
    ds = dataset(sd=0.5)
    verdict = judged(ds, kind="slope_difference", variable="L3", arm="arm0", versus="arm1", at_most=0)
    assert verdict.verdict == "supported"
    # the shared noise cancels: the interval is far narrower than that of one slope
    alone = judged(ds, **SLOPE, at_most=0)
    assert verdict.ci_high - verdict.ci_low < 0.1 * (alone.ci_high - alone.ci_low)
    logs = np.log(ds["L3"].values)
    x = np.log(N) - np.mean(np.log(N))
    by_hand = np.einsum("s,asr->ar", x / (x @ x), logs)
    assert verdict.estimate == pytest.approx(np.mean(by_hand[0] - by_hand[1]))


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
        verdict = judged(ds, variable="L3", arm="arm0", at_most=100, **claim)
        from scipy import stats

        half = stats.t.ppf(0.975, 9) * np.std(samples, ddof=1) / math.sqrt(10)
        assert verdict.estimate == pytest.approx(np.mean(samples))
        assert verdict.ci_high - verdict.estimate == pytest.approx(half)
        assert verdict.verdict == "supported"


def test_a_claims_own_level_is_used():
    widths = []
    for level in (0.9, 0.99):
        verdict = judged(dataset(), **SLOPE, at_most=0, level=level)
        widths.append(verdict.ci_high - verdict.ci_low)
        assert f"{100 * level:g} % interval" in verdict.why
    assert widths[1] > 1.5 * widths[0]


def test_truth_values_have_an_exact_interval():
    ds = dataset()
    ds["hit"] = xr.ones_like(ds["hit"])
    verdict = judged(ds, kind="mean", variable="hit", arm="arm0", at={"n": 1000}, at_least=0.95)
    assert (verdict.estimate, verdict.ci_high) == (1.0, 1.0)
    assert verdict.ci_low == pytest.approx(0.025 ** (1 / 10))  # all of 10: the lower end solves p^10 = 0.025
    assert verdict.verdict == "inconclusive"


def test_a_property_of_the_cell_has_no_monte_carlo_error():
    verdict = judged(dataset(), kind="slope", variable="fisher_L3", arm="arm0", within=[-0.51, -0.49])
    assert verdict.verdict == "supported"
    assert verdict.ci_low == pytest.approx(-0.5) and verdict.ci_high == pytest.approx(-0.5)
    assert "no Monte Carlo error" in verdict.why
    mean = judged(dataset(), kind="mean", variable="fisher_L3", arm="arm0", at={"n": 10000}, within=[0.019, 0.021])
    assert mean.verdict == "supported" and mean.ci_low == mean.ci_high


# --- what stands in the way ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (SLOPE | {"arm": "absent"}, "'absent' is not part of this run"),
        (SLOPE | {"variable": "nothing"}, "no variable 'nothing'"),
        (SLOPE | {"variable": "message"}, "is text"),
        (SLOPE | {"over": "m"}, "also runs over n"),
        ({"kind": "mean", "variable": "L3", "arm": "arm0"}, "also runs over n"),
        ({"kind": "mean", "variable": "L3", "arm": "arm0", "at": {"n": 5}}, "n = 5 is not on the grid"),
        ({"kind": "mean", "variable": "L3", "arm": "arm0", "at": {"n": 1000, "q": 5}}, "has no axis 'q'"),
        ({"kind": "function", "function": "no.such.module:f"}, "cannot be imported"),
        ({"kind": "function", "function": "math:pi"}, "is not callable"),
        ({"kind": "function", "function": "math:floor"}, "raised TypeError"),
        ({"kind": "function", "function": f"{__name__}:nonsense"}, "returned a str"),
    ],
)
def test_without_a_number_there_is_no_verdict_but_a_reason(claim, told):
    verdict = judged(dataset(), **claim, at_most=0)
    assert verdict.verdict == "inconclusive"
    assert told in verdict.why
    assert math.isnan(verdict.estimate)


def nonsense(ds, claim):
    return "nonsense"


@pytest.mark.parametrize("status", [-1, Status.RAISED, Status.NOT_FINITE, Status.WORKER_DIED])
def test_a_missing_or_failed_replicate_makes_the_verdict_inconclusive_and_keeps_the_number(status):
    ds = dataset()
    ds["status"][0, 2, 3] = int(status)
    verdict = judged(ds, **SLOPE, at_most=0)
    assert verdict.verdict == "inconclusive"
    assert verdict.estimate == pytest.approx(-0.5, abs=0.1)
    assert "It decides nothing" in verdict.why
    assert ("1 of 50 runs are missing" if status == -1 else "1 of 50 runs failed") in verdict.why
    assert judged(ds, **(SLOPE | {"arm": "arm1"}), at_most=0).verdict == "supported"
    outside = judged(ds, **SLOPE, at_most=0, window=[10001, 1e9])
    assert "failed" in outside.why and "decides nothing" in outside.why  # two sizes: not trusted, though none failed
    assert "0 failed" in outside.why


@pytest.mark.parametrize("side", [0, 1])
def test_failures_of_both_sides_of_a_difference_count(side):
    ds = dataset()
    ds["status"][side, 2, 3] = int(Status.RAISED)
    verdict = judged(ds, kind="slope_difference", variable="L3", arm="arm0", versus="arm1", at_most=0)
    assert verdict.verdict == "inconclusive" and "1 of 100 runs failed" in verdict.why
    at = {"at": {"n": 10000}, "versus_at": {"n": 1000}}
    same_arm = judged(ds, kind="difference", variable="L3", arm=f"arm{side}", at_most=9, **at)
    assert "1 of 20 runs failed" in same_arm.why


def test_a_replicate_that_failed_does_not_enter_the_number():
    ds = dataset()
    ds["status"][0, :, 3] = int(Status.NOT_FINITE)
    clean = judged(ds, **SLOPE, at_most=0).estimate
    ds["L3"][0, :, 3] = 1e9
    assert judged(ds, **SLOPE, at_most=0).estimate == clean


@pytest.mark.parametrize(("extreme", "word"), [(False, "supported"), (True, "inconclusive")])
def test_not_converged_replicates_must_not_decide(extreme, word):
    ds = dataset(sd=0.02)
    ds["status"][0, 2, 3] = int(Status.LIMIT)
    if extreme:
        ds["L3"][0, -1, 3] *= 20
        ds["status"][0, -1, 3] = int(Status.LIMIT)
    verdict = judged(ds, **SLOPE, within=[-0.52, -0.48])
    assert verdict.verdict == word
    assert ("the verdict is the same without" in verdict.why) is not extreme
    assert ("hangs on replicates that did not converge" in verdict.why) is extreme


def test_with_nothing_converged_there_is_nothing_to_compare_with():
    ds = dataset()
    ds["status"][0, 0, :] = int(Status.STALLED)
    assert "too few are left" in judged(ds, **SLOPE, at_most=0).why


def test_a_rate_that_cannot_be_trusted_decides_nothing():
    verdict = judged(dataset(sizes=N[:3]), **SLOPE, at_most=0)
    assert verdict.verdict == "inconclusive"
    assert "needs at least 4" in verdict.why
    assert verdict.estimate == pytest.approx(-0.5, abs=0.2)


def test_one_replicate_gives_no_interval():
    verdict = judged(dataset(replicates=1), kind="mean", variable="L3", arm="arm0", at={"n": 1000}, at_most=100)
    assert verdict.verdict == "inconclusive"
    assert "at least 2 are needed" in verdict.why


def test_a_logarithm_of_nothing_is_refused():
    ds = dataset()
    ds["L3"][0, 0, 0] = 0.0
    claim = {"kind": "log_ratio", "variable": "L3", "arm": "arm0", "versus": "arm1", "at": {"n": 1000}}
    assert "1 values are not positive" in judged(ds, **claim, at_most=9).why
    assert judged(ds, **SLOPE, at_most=0).verdict == "inconclusive"


def test_a_function_that_counts_failures_itself_may_decide():
    ds = dataset()
    ds["status"][0, 0, 0] = int(Status.RAISED)
    number = {"value": 1.0, "low": 0.9, "high": 1.1}
    assert judged(ds, kind="function", at_least=0, **fixed(**number)).verdict == "inconclusive"
    assert judged(ds, kind="function", at_least=0, **fixed(**number, counts_failures=True)).verdict == "supported"
    doubtful = judged(ds, kind="function", at_least=0, **fixed(**number, counts_failures=True, reasons=["Too coarse."]))
    assert doubtful.verdict == "inconclusive" and "Too coarse." in doubtful.why


def smallest(ds, claim):
    value = float(ds["L3"].min())
    return Estimate(value, value, value, "smallest of all", exact=True)


@pytest.mark.parametrize("kind", [float, np.float32, int, np.uint8, bool, object])
def test_a_function_sees_no_value_of_a_failed_replicate(kind):
    ds = dataset()
    values = np.ones(ds["L3"].shape, dtype=bool)
    values[0, 0, 0] = False
    ds["L3"] = (ds["L3"].dims, values.astype(kind))
    ds["status"][0, 0, 0] = int(Status.NOT_FINITE)
    verdict = judged(ds, kind="function", function=f"{__name__}:smallest", at_least=0.5)
    assert verdict.estimate == 1
    ds["status"][0, 0, 0] = int(Status.LIMIT)
    claim = {"kind": "function", "function": f"{__name__}:smallest", "at_least": 0.5}
    assert "without them it is" in judged(ds, **claim).why


@pytest.mark.parametrize("kind", [float, int, bool, object])
def test_replicates_that_did_not_converge_decide_no_share(kind):
    """All twelve hits of twenty are of replicates that did not converge; without them there is none."""
    ds = dataset(sizes=[1000], replicates=20)
    hit = np.zeros(ds["L3"].shape, dtype=bool)
    hit[0, 0, :12] = True
    ds["hit"] = (ds["L3"].dims, hit.astype(kind))
    ds["status"][0, 0, :12] = int(Status.LIMIT)
    claim = {"kind": "function", "function": "moestat.claims.rules:share", "variable": "hit", "arm": "arm0"}
    verdict = judged(ds, **claim, at={"n": 1000}, at_least=0.3)
    assert verdict.estimate == pytest.approx(0.6)
    assert verdict.verdict == "inconclusive" and "without them it is" in verdict.why


def test_what_is_no_number_stays_beside_failed_replicates():
    ds = dataset()
    ds["status"][0, 0, 0] = int(Status.RAISED)
    seen = usable(ds)
    assert seen["status"].identical(ds["status"]) and seen["message"].identical(ds["message"])
    assert seen["fisher_L3"].identical(ds["fisher_L3"])  # of the cell, not of a replicate
    assert np.isnan(seen["hit"][0, 0, 0]) and seen["hit"].attrs[BINARY] == 1
    assert int(seen["hit"].isnull().sum()) == 1 and usable(dataset())["hit"].dtype == bool


def test_an_arm_that_lives_on_a_part_of_the_grid_is_not_missing_elsewhere():
    ds = dataset()
    ds["status"][0, :1] = -1
    ds["L3"][0, :1] = np.nan
    arms = [{"name": "arm0", "settings": {"n": N[1:]}}, "arm1"]
    verdict = judged(ds, arms=arms, **SLOPE, at_most=0)
    assert verdict.verdict == "supported"
    assert "4 sizes from 3000" in verdict.why
    assert judged(ds, **SLOPE, at_most=0).verdict == "inconclusive"


# --- window, presets -------------------------------------------------------------------------------------------------


def test_the_window_is_the_claims_then_the_presets_then_the_rates():
    def sizes(**more):
        return judged(dataset(), **SLOPE, at_most=0, **more).why

    rate = {"loss": "L3", "window": [3000, 1e5]}
    preset = {"quick": {"replicates": 10, "window": [10000, 1e5]}}
    assert "5 sizes from 1000" in sizes()
    assert "4 sizes from 3000" in sizes(rates=[rate])
    assert "3 sizes from 10000" in sizes(rates=[rate], presets=preset)
    assert "5 sizes from 1000" in sizes(rates=[rate], presets=preset, window=[1, 1e6])
    assert "5 sizes from 1000" in sizes(rates=[rate | {"arms": ["arm1"]}])


def test_a_slope_in_a_window_is_told_beside_that_over_all_sizes():
    """Whoever sets a window chooses sizes: the reader sees what the others would have made of it."""
    made = dataset()
    made["L3"][:, :2] *= 10.0  # the two smallest sizes are off the line
    verdict = judged(made, **SLOPE, at_most=0, window=[10000, 1e6])
    whole = judged(made, **SLOPE, at_most=0)
    text = f"over all sizes the slope is {' '.join(rounding.estimate(whole.estimate, whole.ci_low, whole.ci_high))}"
    assert text in verdict.why and whole.estimate < -0.8
    assert verdict.estimate == pytest.approx(-0.5, abs=0.1)
    assert "over all sizes" not in whole.why + judged(made, **SLOPE, at_most=0, window=[1, 1e9]).why


def test_what_was_settled_in_hindsight_is_told_with_the_verdict():
    text = "The limit was set after another run."
    told = judged(dataset(), **SLOPE, at_most=0, hindsight=text)
    plain = judged(dataset(), **SLOPE, at_most=0)
    assert told.why == f"{plain.why} {text}" and told.rule == plain.rule


def test_claims_of_other_presets_are_not_judged():
    made = study(SLOPE | {"at_most": 0, "presets": ["paper*"]}, SLOPE | {"at_most": 0})
    assert [v.claim for v in verdicts.judge(dataset(), made, "quick")] == ["c1"]
    assert [v.claim for v in verdicts.judge(dataset(), made, "paper-long")] == ["c0", "c1"]


def test_claims_of_arms_that_a_preset_leaves_out_are_not_judged():
    small = {"presets": {"small": {"replicates": 10, "arms": ["arm1"]}}}
    other, between = SLOPE | {"arm": "arm1"}, SLOPE | {"kind": "slope_difference", "arm": "arm1", "versus": "arm0"}
    made = study(*(claim | {"at_most": 0} for claim in (SLOPE, other, between)), **small)
    assert [claim.id for claim in verdicts.judged(made, "small")] == ["c1"]
    assert [claim.id for claim in verdicts.judged(made, "quick")] == ["c0", "c1", "c2"]


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


def test_a_number_without_an_error_is_not_drowned_in_digits():
    assert rounding.estimate(0.0079544, 0.0079544 - 1e-17, 0.0079544 + 1e-17) == (
        "0.0079544",
        "[0.0079544, 0.0079544]",
    )


# --- what a verdict is a verdict about -------------------------------------------------------------------------------


def test_a_run_that_is_not_the_papers_own_problem_says_so():
    shown = {}
    for scale in ("paper", "reduced", "stand-in"):
        for rule in ({"at_most": 0}, {"at_least": 0}):
            verdict = verdicts.judge(dataset(), study(SLOPE | rule, scale=scale), "quick")[0]
            assert verdict.scale == scale
            shown[scale, verdict.verdict] = verdict.wording
    assert shown == {
        ("paper", "supported"): "supported",
        ("paper", "not supported"): "not supported",
        ("reduced", "supported"): "supported at reduced scale",
        ("reduced", "not supported"): "not shown at reduced scale",
        ("stand-in", "supported"): "supported on a stand-in",
        ("stand-in", "not supported"): "not shown on a stand-in",
    }
    assert all(verdicts.verdict_of(text) == word for (_, word), text in shown.items())


def test_the_scale_of_a_claim_goes_before_that_of_its_preset_and_of_its_study():
    presets = {"paper": {"replicates": 10}, "big": {"replicates": 10, "scale": "stand-in"}}
    plain, own = SLOPE | {"at_most": 0}, SLOPE | {"at_most": 0, "scale": "paper"}
    of_study = study(plain, own, presets=presets)
    assert [of_study.scale_of(name, of_study.claims[0]) for name in ("quick", "paper", "big")] == [
        "reduced",
        "paper",
        "stand-in",
    ]
    assert {of_study.scale_of(name, of_study.claims[1]) for name in ("quick", "paper", "big")} == {"paper"}
    stated = study(plain, scale="stand-in", presets=presets)
    assert stated.scale_of("quick") == "stand-in"


def test_a_printed_number_is_compared_with_the_papers_own_problem_alone():
    for rule in ({"within": [-0.6, -0.4]}, {"within": [-0.3, -0.2]}):
        claim = SLOPE | rule | {"predicted": -0.5, "printed": True}
        small = verdicts.judge(dataset(), study(claim, scale="reduced"), "quick")[0]
        assert small.verdict == "inconclusive" and "paper prints -0.5 for its own problem" in small.why
        assert small.estimate == pytest.approx(-0.5, abs=0.1)
        assert verdicts.judge(dataset(), study(claim, scale="paper"), "quick")[0].verdict != "inconclusive"


def test_what_is_ours_has_no_bearing_on_the_paper_unless_it_is_stated():
    claims = study(
        SLOPE | {"at_most": 0, "source": "SA Fig. 1"},
        SLOPE | {"at_most": 0, "origin": "ours"},
        SLOPE | {"at_most": 0, "source": "SA Fig. 1", "origin": "implied", "because": "By (9).", "bearing": "against"},
    ).claims
    assert [(c.origin, c.bearing) for c in claims] == [("stated", "for"), ("ours", "neutral"), ("implied", "against")]
    with pytest.raises(ValueError, match="needs because"):
        study(SLOPE | {"at_most": 0, "origin": "implied"})


@pytest.mark.parametrize("claim", [SLOPE, {"kind": "mean", "variable": "L3", "arm": "arm0", "at": {"n": 1000}}])
def test_two_replicates_decide_nothing(claim):
    for replicates, word in ((2, "inconclusive"), (3, "supported")):
        verdict = judged(dataset(sd=0.001, replicates=replicates), **claim, at_most=1e9)
        assert verdict.verdict == word
    assert "2 replicates are too few" in judged(dataset(replicates=2), **claim, at_most=1e9).why


def test_replicates_that_are_all_equal_decide_nothing():
    ds = dataset()
    ds["L3"][:] = 1.0
    verdict = judged(ds, kind="mean", variable="L3", arm="arm0", at={"n": 1000}, at_most=2)
    assert verdict.verdict == "inconclusive" and "no width" in verdict.why and verdict.estimate == 1


EVERY = {"kind": "function", "function": "moestat.claims.rules:largest", "variable": "L3", "arm": "arm0"}


def test_a_statement_about_every_case_has_a_bound_or_a_counterexample():
    from scipy import stats

    ds = dataset()
    losses = ds["L3"].sel(arm="arm0")
    whole = judged(ds, **EVERY, at_most=float(losses.max()))
    assert (whole.verdict, whole.wording) == ("no counterexample", "no counterexample in 50 of 50 at reduced scale")
    # no counterexample in 10 draws: shares p with (1 - p)^10 >= 0.05 are not excluded
    assert f"At most {100 * (1 - 0.05**0.1):.3g} % of such draws" in whole.why
    edge = float(np.sort(losses.values.ravel())[-2])
    broken = judged(ds, **EVERY, at_most=edge)
    assert (broken.verdict, broken.wording) == ("refuted", "refuted by 1 of 50 at reduced scale")
    low, high = stats.beta.ppf([0.025, 0.975], [1, 2], [10, 9])
    assert f"{100 * low:.3g} to {100 * high:.3g} % of such draws" in broken.why and "n 1000, replicate" in broken.why
    assert broken.why.startswith("The largest L3 is")
    assert "(exact)" not in whole.why + broken.why


def test_a_statement_about_some_case_is_shown_by_one_and_not_refuted_by_none():
    ds = dataset()
    top = float(ds["L3"].sel(arm="arm0").max())
    assert judged(ds, **EVERY, at_least=top).wording == "shown by 1 of 50 at reduced scale"
    assert judged(ds, **EVERY, at_least=top + 1).verdict == "inconclusive"


def test_an_equivalence_needs_its_whole_interval_within_the_margin():
    ds = dataset(slopes=(-0.5, -0.5))
    claim = {"kind": "slope_difference", "variable": "L3", "arm": "arm0", "versus": "arm1"}
    near = judged(ds, **claim, equivalent=0.05)
    assert near.verdict == "supported" and "equivalent, within [-0.05, 0.05]" in near.why
    width = near.ci_high - near.ci_low
    assert judged(ds, **claim, equivalent=width / 4).verdict == "inconclusive"  # no difference seen is not equivalence
    far = judged(dataset(slopes=(-0.5, -0.25)), **claim, equivalent=0.05)
    assert far.verdict == "not supported"
    with pytest.raises(ValueError, match="rule for differences"):
        study(SLOPE | {"equivalent": 0.1})


def test_a_limit_is_judged_by_its_trend_and_a_plateau_is_none():
    rule = {"kind": "function", "function": "moestat.claims.rules:vanishes", "variable": "L3", "arm": "arm0"}
    rule |= {"options": {"over": "n"}}
    falling, flat = dataset(slopes=(-0.5, 0.0)), dataset(slopes=(0.0, 0.0), sd=0.01)
    assert judged(falling, **rule, at_most=-0.05).verdict == "supported"
    assert judged(flat, **rule, at_most=-0.05).verdict == "not supported"
    # it falls at first and stays: one line through all sizes would still fall
    bent = dataset(slopes=(-0.5, 0.0), sd=0.01)
    bent["L3"][0, 2:] = bent["L3"][0, 2].values[None]
    assert judged(bent, **SLOPE, at_most=-0.05).verdict == "supported"
    assert judged(bent, **rule, at_most=-0.05).verdict in ("not supported", "inconclusive")
    bent["L3"][0] = falling["L3"][0] + 1e-2
    assert "The line is bent: its local slopes go from -0.3" in judged(bent, **rule, at_most=-0.05).why
    assert "has slope 0" in judged(falling, **rule, at_most=0.0).why
    assert "over a decade" in judged(dataset(sizes=N[:3]), **rule, at_most=-0.05).why


def searched(found, name="search_found"):
    ds = dataset()
    again = np.full(ds["L3"].shape, np.nan)
    again[0] = 3
    again[0].flat[: len(found)] = found
    ds[name] = (ds["L3"].dims, again)
    ds["rmse"] = ds["L3"]
    ds["L3_wide_high"] = 2 * ds["L3"]
    return ds


@pytest.mark.parametrize("kind", ["slope", "slope_difference"])
def test_a_rate_of_the_argmin_is_open_where_the_search_has_not_settled(kind):
    """Fifty data sets: two are fewer than 5 %, three are more."""
    rule = {"variable": "L3", "arm": "arm0", "at_most": -0.1} | ({} if kind == "slope" else {"versus": "arm1"})
    assert judged(searched([0, 1]), kind=kind, **rule).verdict == "supported"
    told = judged(searched([0, 1, 1]), kind=kind, **rule)
    assert told.verdict == "inconclusive" and "in 47 of 50 data sets" in told.why
    # outside of the window and at an arm without a search it is no obstacle
    window = [{"loss": "L3", "window": [3000, 1e6]}]
    assert judged(searched([0, 1, 1]), kind=kind, rates=window, **rule).verdict == "supported"
    # rounds of a likelihood's search count likewise
    assert judged(searched([0, 1, 1], "rounds_there"), kind=kind, **rule).verdict == "inconclusive"
    # a function's error is bounded for every fit as good as the truth, and no more than bounded
    function = judged(searched([0, 1, 1]), kind=kind, **rule | {"variable": "rmse"}).verdict
    assert function == ("supported" if kind == "slope" else "inconclusive")
    # the worst near-minimiser of those that were seen is no bound of the worst
    assert judged(searched([0, 1, 1]), kind=kind, **rule | {"variable": "L3_wide_high"}).verdict == "inconclusive"
    if kind == "slope":
        assert judged(searched([0, 1, 1]), kind=kind, **rule | {"arm": "arm1"}).verdict == "supported"


def test_other_starts_that_came_to_the_best_point_count_beside_the_one_that_led_to_it():
    rule = {"kind": "slope", "variable": "L3", "arm": "arm0", "at_most": -0.1}
    assert judged(searched([0, 0], "found_again"), **rule).verdict == "supported"
    told = judged(searched([0, 0, 0], "found_again"), **rule)
    assert told.verdict == "inconclusive" and "in 47 of 50 data sets" in told.why
    assert judged(searched([1, 1, 1], "found_again"), **rule).verdict == "supported"
    # where rounds were counted, they are what tells
    rounds = searched([1, 1, 1], "rounds_there")
    again = np.where(np.isnan(rounds["rounds_there"]), np.nan, 3.0)
    assert judged(rounds.assign(found_again=(rounds["L3"].dims, again)), **rule).verdict == "inconclusive"


@pytest.mark.parametrize("name", ["hellinger", "hellinger_to_bound", "root_hellinger_squared_to_fisher", "rmse"])
def test_a_bound_from_above_of_a_density_needs_no_settled_search(name):
    ds = searched([0, 0, 0], "found_again")
    ds[name] = ds["L3"]
    rule = {"kind": "slope", "variable": name, "arm": "arm0"}
    assert judged(ds, **rule, at_most=-0.1).verdict == "supported"
    assert judged(ds, **rule, at_least=-9.0).verdict == "inconclusive"
    assert judged(ds, **rule, within=[-9.0, -0.1]).verdict == "inconclusive"
    assert judged(ds.assign(D_to_bound=ds["L3"]), **rule | {"variable": "D_to_bound"}, at_most=-0.1).verdict == (
        "inconclusive"
    )
