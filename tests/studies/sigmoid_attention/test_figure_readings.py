"""Readings of the printed protocol: what each start does, and shares and rules on losses that are made."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from cells import a_claim, computed

import moestat
from moestat.claims.selection import NoAnswerError
from studies.sigmoid_attention.figure_batches import GROUPS
from studies.sigmoid_attention.parts import figure_readings, readings
from studies.sigmoid_attention.parts.figure_1 import REGIONS
from studies.sigmoid_attention.parts.figure_readings import EXPONENTS, RADII

SMALL = dict(n=60, d=1, n_true=3, truths=2, expert="linear")
SOFTMAX = SMALL | dict(truth_gate="softmax", fitted_gate="softmax")


def at_rest(**settings):
    """Run no epoch: losses of the starts."""
    return computed(figure_readings, range(2), 7, epochs=0, **settings)


@pytest.mark.parametrize("settings", [SMALL, SOFTMAX])
def test_a_copy_has_the_loss_of_the_truth_until_it_is_moved(settings):
    """Equation (12) does not see that a mass is counted twice, and the steps do; a split atom stays."""
    settings, of = settings | dict(n=4000), dict(radius=0.0005, exponent=-0.5)
    start, copy, split = (
        computed(figure_readings, range(2), 7, **settings, ninth=ninth, epochs=epochs).sel(of)
        for ninth, epochs in (("copy", 0), ("copy", 10), ("split", 10))
    )
    assert start.to_truth.max() < 0.02
    assert (copy.to_best > 3 * split.to_best).all()


def test_losses_of_starts_go_with_the_radius_and_its_power():
    """Without a step, beside a best measure, L3 is proportional to the radius r (n / 1000)^a."""
    one, four = (at_rest(**SMALL | dict(n=n), ninth="split") for n in (1000, 4000))
    np.testing.assert_allclose(one.to_best.sel(radius=0.005) / one.to_best.sel(radius=0.0005), 10, rtol=1e-6)
    ratio = (four.to_best / one.to_best).sel(radius=0.0005).mean("replicate")
    np.testing.assert_allclose(ratio, [4.0**a for a in EXPONENTS], rtol=1e-6)
    assert one.sizes["radius"] == len(RADII)


def test_the_line_is_the_fisher_line_and_falls_like_the_root():
    few, many = (at_rest(**SOFTMAX | dict(n=n)).line for n in (100, 10_000))
    np.testing.assert_allclose(few / many, 10, rtol=1e-9)


def made(slopes):
    """Return results of two curves, whose losses are 2 n^slope for every truth, exponent and radius."""
    n = np.array([1000, 10_000, 100_000])
    values = {arm: 2.0 * n[:, None, None, None] ** np.asarray(slope) for arm, slope in slopes.items()}
    dims = ("arm", "n", "replicate", "exponent", "radius")
    data = np.stack([np.broadcast_to(v, (3, 4, 1, 2)) for v in values.values()])
    coords = dict(arm=list(values), n=n, replicate=range(4), exponent=[-0.5], radius=[0.1, 0.2])
    return xr.Dataset({"to_best": (dims, data), "to_truth": (dims, data)}, coords)


def test_shares_and_the_best_reading_are_those_of_the_slopes():
    three_of_four = np.tile([-0.25, -0.5], (4, 1, 1))  # replicate, exponent, radius
    three_of_four[3] = 0.0
    ds = made({"a-copy": three_of_four, "a-split": -0.9, "b-copy": -0.25, "b-split": -0.25})
    np.testing.assert_allclose(readings.share(ds, "to_best", "a-copy", [-0.3, -0.2]), [[0.75, 0.0]])
    low = readings.share(ds, "to_best", "a-copy", [-0.3, -0.2], [2.0, -0.25, 1.5])
    np.testing.assert_allclose(low, [[0.75, 0.0]])
    assert readings.share(ds, "to_best", "a-copy", [-0.3, -0.2], [9.0, -0.25, 1.5]).max() == 0
    region = [-0.3, -0.2]
    groups = [dict(curves={"a": region, "b": region}, ninth=["copy", "split"])]
    best, worst = (
        rule(ds, a_claim(at_least=0.5), groups=groups, losses=["to_best"]) for rule in (readings.best, readings.worst)
    )
    assert (best.value, worst.value) == (0.75, 0.0) and "a copy" in best.note and "radius 0.1" in best.note
    tens = ds.assign_coords(arm=[f"{name}-batches-10" for name in ds["arm"].values])
    of_steps = dict(groups=groups, losses=["to_best"], steps=["-batches-10"])
    assert readings.best(tens, a_claim(at_least=0.5), **of_steps).note.count("batches of 10") == 1
    with pytest.raises(NoAnswerError, match="No reading"):
        readings.best(ds, a_claim(at_least=0.5), **of_steps)


@pytest.mark.parametrize(("slopes", "told"), [((-0.15, -0.15), False), ((-0.25, -0.05), True), ((-0.5, -0.5), True)])
def test_a_reading_that_gives_exchanged_slopes_too_decides_nothing(slopes, told):
    """One slope for two curves is near both printed ones; a share outside of the region decides all the same."""
    ds = made(dict(zip(("a-copy", "b-copy"), slopes, strict=True)))
    options = dict(groups=[dict(curves={"a": [-0.3, -0.1], "b": [-0.17, 0.0]}, ninth=["copy"])], losses=["to_best"])
    best, plain, turned = (
        rule(ds, a_claim(at_least=0.5), **options, **more)
        for rule, more in (
            (readings.best, dict(exchanged=["a", "b"])),
            (readings.best, {}),
            (readings.turned, dict(exchanged=["a", "b"])),
        )
    )
    assert best.value == plain.value == (slopes[0] > -0.3) and turned.value == (not told) and not plain.reasons
    assert (best.reasons == ()) == told
    assert told or "a, b exchanged the share is 1" in best.reasons[0]


def test_the_pages_say_which_starts_give_all_four_slopes():
    """A copy does in 8 truths of ten, by either loss; a split atom in all ten, by the loss to the truth alone."""
    records = Path(__file__).parents[3] / "outputs/records"

    def truths(ds, loss, softmax, sigmoid):
        arms = {curve: f"{curve}-{softmax if curve.startswith('softmax') else sigmoid}" for curve in REGIONS}
        found = [readings.slopes(ds.sel(arm=arm), loss) for arm in arms.values()]
        return int(
            np.all([(low <= s) & (s <= high) for s, (low, high) in zip(found, REGIONS.values(), strict=True)], 0).sum()
        )

    drawn, own = (moestat.load(records / name) for name in ("figure_readings/paper", "sigmoid_vs_softmax/quick"))
    copy, split = (drawn.sel(exponent=-0.5, radius=radius) for radius in (0.00158, 0.0158))
    assert [truths(copy, loss, "copy", "target") for loss in readings.LOSSES] == [8, 8]
    assert [truths(split, loss, "split", "target") for loss in readings.LOSSES] == [0, 10]
    assert truths(own, "L3", "printed", "printed") == 7


def test_the_pages_say_which_batches_give_all_four_slopes():
    """Of five truths: in batches of 1000 all, from one start by one loss; in batches of 100 one at most."""
    ds = moestat.load(Path(__file__).parents[3] / "outputs/records/figure_batches/paper")
    shares = {
        (batch, loss, ninth): min(
            readings.share(ds, loss, f"{curve}-{ninth if 'soft' in curve else 'target'}-{batch}", region)
            .sel(exponent=-0.5, radius=0.0158)
            .item()
            for curve, region in REGIONS.items()
        )
        for batch in ("batches-1000", "batches")
        for loss in readings.LOSSES
        for ninth in ("copy", "split")
    }
    assert shares.pop(("batches-1000", "to_truth", "split")) == 1 and max(shares.values()) <= 0.2
    best = readings.best(ds, a_claim(at_least=0.5), groups=GROUPS, steps=["-batches"])
    assert best.value == 0.2
