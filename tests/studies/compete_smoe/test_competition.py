import xarray as xr
from cells import computed

from studies.compete_smoe.parts import competition_bound


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
