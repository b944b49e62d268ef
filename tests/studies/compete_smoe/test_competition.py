import numpy as np
import pytest
import xarray as xr
from cells import computed

from studies.compete_smoe.parts import competition_bound, competition_gaps
from studies.compete_smoe.parts.competition_designs import DESIGNS


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
