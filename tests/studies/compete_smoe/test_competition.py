import numpy as np
import pytest
import xarray as xr
from cells import computed
from pydantic import ValidationError

from moestat.claims.selection import NoAnswerError
from moestat.rates import Cases
from moestat.status import Status
from moestat.study import load
from studies.compete_smoe.parts import competition_bound, competition_gaps
from studies.compete_smoe.parts.competition_designs import DESIGNS
from studies.compete_smoe.parts.rules import counterexample, least_exponent, share, sharp, tail_exponent


def claim_of(study, name):
    return next(c for c in load.read(study).study.claims if c.id == name)


def gaps(design, replicates=(0, 1, 2)):
    return computed(competition_gaps, replicates, design=design, pool_log2=17, evaluation_points=256)


def test_perturbations_follow_the_theory_of_change_points():
    for design in ("continuous", "mean"):
        ds = gaps(design).mean("replicate")
        small, large = ds.isel(epsilon=-1), ds.isel(epsilon=4)  # 0.001 and 0.01
        # shares of 2^17 points: 30 misrouted ones at the least; 0.5 is five of their standard errors
        assert np.log10(large["misrouted"] / small["misrouted"]) == pytest.approx(1, abs=0.5)
        power = float(np.log10(large["hellinger_squared"] / small["hellinger_squared"]))
        assert power == pytest.approx(2, abs=0.1) if design == "continuous" else power < 1.5
    assert ds["density_change"].min() > 0.1 > gaps("continuous")["density_change"].isel(epsilon=-1).max()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_copied_expert_costs_nothing_in_d(design):
    ds = gaps(design, [0])
    assert ds["copied_D"] == 0 and ds["copied_matched"] > 0.5 and ds["copied_hellinger"] > 0.02
    assert ds["copy_D"].max() > 0.3 and ds["copy_empty_cells"].isel(t=-1) == 1 and ds["copy_D"].isel(t=0) == 0


def test_share_of_failed_fits():
    claim = claim_of("competition_mle", "failed-fits")
    failed = np.zeros((2, 2, 25))
    failed[1, 0, :2] = 1.0
    dims = ("arm", "n", "replicate")
    ds = xr.Dataset({"failed_fit": (dims, failed)}, coords={"arm": ["a", "b"], "n": [100, 200]})
    found = share(ds, claim)
    # Clopper-Pearson for 2 of 100
    assert (found.value, found.low, found.high) == pytest.approx((0.02, 0.00243, 0.07038), abs=1e-5)
    assert found.counts_failures and found.note == "2 of 100 runs; most at arm b, n 100: 8%"
    # a run that raised has no value and failed; one that was not computed is nothing
    failed[0, 0, 0], failed[0, 0, 1] = np.nan, np.nan
    status = np.zeros(failed.shape, dtype=int)
    status[0, 0, :2] = Status.RAISED, -1
    crashed = ds.assign(failed_fit=(dims, failed), status=(dims, status))
    assert share(crashed, claim).note.startswith("3 of 99 runs")
    with pytest.raises(NoAnswerError, match="no variable 'failed_fit'"):
        share(ds.drop_vars("failed_fit"), claim)


def bound(replicates=(0, 1, 2, 3), **settings):
    return computed(competition_bound, replicates, pool_log2=12, evaluation_points=16, **settings)


def test_the_inequality_holds_exactly_where_every_expert_wins():
    for design in ("sign", "asleep", "tied"):
        ds = bound([0], design=design)
        assert bool(ds["holds"][0]) == (design == "sign") == (ds["least_wins"][0] > 0) and bool(ds["agrees"][0])
        assert ds["counterexample"][0] == (design != "sign")
    drawn = bound(range(8), design="drawn", expert="affine", active=1)
    assert drawn["agrees"].all() and 0 < drawn["holds"].sum() < 8
    # a replicate has a truth of its own, which does not depend on its block
    xr.testing.assert_identical(drawn.sel(replicate=[2]), bound([2], design="drawn", expert="affine", active=1))
    all_active = bound(design="drawn", expert="tanh", active=4)
    assert all_active["holds"].all() and not all_active["counterexample"].any()
    with pytest.raises(ValidationError, match="there are only 4 experts"):
        bound(design="drawn", active=5)


def test_one_certain_counterexample_refutes_and_a_probable_one_forbids_support():
    claim = claim_of("competition_bound", "bound-affine-2")
    dims, arms = ("arm", "replicate"), {"arm": ["affine-2"]}

    def judged(certain, holds):
        return counterexample(
            xr.Dataset({"counterexample": (dims, [certain]), "holds": (dims, [holds])}, coords=arms), claim
        )

    refuted = judged([0.0, 1.0, 0.0], [True, False, True])
    assert (refuted.value, refuted.low, refuted.high, refuted.reasons) == (1, 1, 1, ())
    assert refuted.cases == Cases(count=3, inside=2, draws=3, inside_draws=2)
    assert judged([0.0, 0.0], [True, True]).reasons == () and judged([0.0, 0.0], [True, True]).value == 0
    assert judged([0.0, 0.0], [True, True]).cases == Cases(count=2, inside=2, draws=2, inside_draws=2)
    assert judged([0.0, 0.0], [True, False]).reasons
    with pytest.raises(NoAnswerError):
        judged([np.nan], [True])


def test_a_bound_along_every_direction_is_refuted_by_one():
    claim, lengths = claim_of("competition_bound", "mean-change-continuous"), np.array([0.1, 0.03, 0.01, 0.003])

    def judged(*exponents):
        values = np.stack([2 * lengths**e for e in exponents], axis=-1)[None]
        coords = {"arm": ["continuous"], "length": lengths}
        return least_exponent(xr.Dataset({"largest": (("arm", "length", "replicate"), values)}, coords=coords), claim)

    alike = judged(1.0, 1.0, 1.0)
    assert alike.value == pytest.approx(1) and alike.cases == Cases(3, 3, 3, 3)
    one = judged(1.0, 0.0, 1.2)
    assert one.value == pytest.approx(0, abs=1e-12) and one.cases == Cases(3, 2, 3, 2)
    with pytest.raises(NoAnswerError, match="at_least"):
        least_exponent(xr.Dataset(), claim_of("competition_bound", "bound-linear-1"))


def test_a_rate_is_sharp_only_where_its_interval_holds_the_exponent():
    claim, n, rng = claim_of("competition_families", "sharp-linear-4"), np.array([400, 900, 2000, 4500]), 9
    for exponent, decides in ((-0.5, True), (-0.56, False), (-0.8, True)):
        noise = 0.02 * np.random.default_rng(rng).standard_normal((1, 4, 20))
        losses = np.exp(exponent * np.log(n)[:, None] + noise)
        ds = xr.Dataset({"D": (("arm", "n", "replicate"), losses)}, coords={"arm": ["linear-4"], "n": n})
        at = sharp(ds, claim)
        assert at.bend == "" and sharp(ds + 0.02, claim).bend.startswith("The line is bent and flattens")
        slopes = np.polyfit(np.log(n), np.log(losses[0]), 1)[0]
        assert at.value == pytest.approx(slopes.mean()) and at.low < at.value < at.high
        # -0.8 lies outside the region: the rule itself decides
        assert (at.reasons == ()) == decides
        # that it is no faster is said of the maximum: another start must have come to it, in 95 % of the data sets
        for missed in (4, 5):
            again = np.ones((4, 20))
            again.flat[:missed] = 0
            told = sharp(ds.assign(found_again=(("arm", "n", "replicate"), again[None])), claim)
            assert (told.reasons == at.reasons) == (missed == 4)


def test_the_tail_exponent_is_that_of_a_known_tail():
    claim, n = claim_of("competition_tail", "tail-density-all"), np.array([200, 400, 800, 1600, 3200])
    for c in (0.0, 0.7):
        rng = np.random.default_rng(10)
        above = rng.uniform(size=(5, 2000)) < 0.5 * (n / 200.0)[:, None] ** -c
        scaled = np.where(above, 1 + rng.uniform(size=above.shape), 1 - rng.uniform(size=above.shape))
        losses = scaled * np.sqrt(np.log(n) / n)[:, None]
        ds = xr.Dataset({"hellinger": (("arm", "n", "replicate"), losses[None])}, coords={"arm": ["all"], "n": n})
        at = tail_exponent(ds, claim, draws=100)
        # standard error of a share of 2000 near 1/16: 9 %, over a factor of 16: 0.03; five of them
        assert at.value == pytest.approx(c, abs=0.15) and at.low <= at.value <= at.high
        shares = np.mean(scaled > np.median(scaled[0]), axis=1)
        plain = -np.polyfit(np.log(n), np.log(shares), 1)[0]
        assert at.value == pytest.approx(plain, abs=0.1)
    with pytest.raises(NoAnswerError, match="two sizes"):
        tail_exponent(ds.isel(n=[0]), claim)
    once = ds.assign(found_again=ds["hellinger"] * 0.0, D=ds["hellinger"])
    assert tail_exponent(once, claim, draws=9).reasons == ()
    assert tail_exponent(once, claim_of("competition_tail", "tail-parameters-all"), draws=9).reasons
