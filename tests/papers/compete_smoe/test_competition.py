import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from moestat.claims.selection import NoAnswerError
from moestat.experiment import Cell
from moestat.papers.compete_smoe import competition_gaps, competition_mle
from moestat.papers.compete_smoe.competition_designs import DESIGNS, true_mixture
from moestat.papers.compete_smoe.rules import share
from moestat.status import Status
from moestat.study.spec import Study

STUDIES = Path(__file__).parents[3] / "studies"


def mle_cell(**settings):
    values = {"design": "mean", "n": 300, "pool_log2": 12, "evaluation_points": 256} | settings
    full = competition_mle.Settings(**values).model_dump()
    return Cell("moestat.papers.compete_smoe.competition_mle", 3, "arm", {"n": full["n"]}, full)


def gaps(design, replicates=(0, 1, 2)):
    full = competition_gaps.Settings(design=design, pool_log2=17, evaluation_points=256).model_dump()
    cell = Cell("moestat.papers.compete_smoe.competition_gaps", 3, "arm", {}, full)
    return competition_gaps.run(cell, replicates, device="cpu")


def test_a_replicate_does_not_depend_on_its_block():
    both = competition_mle.run(mle_cell(), [0, 1], device="cpu")
    alone = competition_mle.run(mle_cell(), [1], device="cpu")
    xr.testing.assert_identical(both.sel(replicate=[1]), alone)
    assert np.all(both["gain"] > 0) and np.all(both["status"] == Status.CONVERGED)
    np.testing.assert_allclose(both["D_weights"] + both["D_variances"] >= both["D"] - 1e-12, True)
    np.testing.assert_allclose(both["root_hellinger_squared"] ** 2, both["hellinger_squared"])
    assert np.all(both["hellinger"] <= both["root_hellinger_squared"] + 1e-12)


def test_cells_with_another_number_of_experts_share_their_data():
    s = competition_mle.Settings(design="mean", n=60, experts=4)
    more = competition_mle.Settings(design="mean", n=60, experts=5)
    model, truth = true_mixture("mean")
    cells = mle_cell(n=60), mle_cell(n=60, experts=5)
    drawn = [competition_mle._draw(c, v, model, truth, [0, 4]) for c, v in zip(cells, (s, more), strict=True)]
    for a, b in zip(*drawn, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_expert_too_many_has_losses_but_no_misrouting():
    ds = competition_mle.run(mle_cell(experts=5, random_starts=0), [0], device="cpu")
    assert np.isfinite(ds["D"]) and ds["hellinger"] > 0 and np.isnan(ds["misrouted"]) and np.isnan(ds["random_reached"])
    assert 0 <= ds["least_wins"] < 0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"design": "other"}, "design"),
        ({"near_starts": 0, "random_starts": 0}, "at least one start"),
        ({"experts": 3}, "experts"),
        ({"start_radius": 0.0}, "start_radius"),
        ({"evaluation_points": 8192}, "at most 2\\*\\*pool_log2"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(ValidationError, match=words):
        mle_cell(**settings)


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
    text = (STUDIES / "competition_mle.toml").read_text()
    claim = next(c for c in Study(**tomllib.loads(text)).claims if c.id == "failed-fits")
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


@pytest.mark.parametrize("name", ["competition_mle", "competition_over_specified", "competition_gaps"])
def test_claims_speak_of_variables_that_the_experiments_return(name):
    study = Study(**tomllib.loads((STUDIES / f"{name}.toml").read_text()))
    ds = gaps("sign", [0]) if name == "competition_gaps" else competition_mle.run(mle_cell(n=60), [0], device="cpu")
    panels = [p.variable for f in study.figures for p in f.panels]
    for variable in {c.variable for c in study.claims} | {r.loss for r in study.rates} | {*panels, *study.summaries}:
        assert variable in ds
