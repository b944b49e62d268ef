"""Rates: known slopes, honest intervals, refusals that still give the number, laws and designs.

Statistical tests have fixed seeds; the bounds are chosen so that a correct program fails with the stated probability
over the choice of seeds.
"""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from moestat import rates

N = np.geomspace(1e3, 1e5, 8)
RANGE = {"low": 1e3, "high": 1e5}


def losses(rng, *, slope=-0.5, sd=0.3, replicates=10, sizes=N, scale=1.0):
    sd = np.broadcast_to(sd, sizes.shape)[:, None]
    return scale * sizes[:, None] ** slope * np.exp(sd * rng.standard_normal((sizes.size, replicates)))


@settings(max_examples=25, deadline=None)
@given(
    slope=st.floats(-3, 0.9),
    scale=st.floats(1e-6, 1e6),
    sizes=st.integers(2, 9),
    replicates=st.integers(1, 5),
)
def test_exact_power_laws_are_recovered(slope, scale, sizes, replicates):
    n = np.geomspace(10, 1e5, sizes)
    values = scale * n[:, None] ** slope * np.arange(1, replicates + 1)
    result = rates.fit(values, over=n)
    assert result.slope == pytest.approx(slope, abs=1e-9)
    assert np.allclose(result.local, slope, atol=1e-9)
    geometric = np.exp(np.mean(np.log(values), axis=1))
    assert np.allclose(np.exp(result.intercept) * n**result.slope, geometric, rtol=1e-8)
    if sizes >= 3:
        assert result.curvature.value == pytest.approx(0, abs=1e-8)


def test_matches_textbook_formulas():
    values = losses(np.random.default_rng(1))
    result = rates.fit(values, over=N)
    slopes = np.array([np.polyfit(np.log(N), np.log(column), 1)[0] for column in values.T])
    low, high = stats.t.interval(0.95, 9, slopes.mean(), stats.sem(slopes))
    assert np.allclose(result.slopes, slopes, rtol=1e-10)
    assert (result.low, result.high) == pytest.approx((low, high))
    half = N >= 1e4 * (1 - 1e-12)
    last = [np.polyfit(np.log(N[half]), np.log(column[half]), 1)[0] for column in values.T]
    assert result.last_half.value == pytest.approx(np.mean(last))
    bend = [2 * np.log(10) * np.polyfit(np.log(N), np.log(column), 2)[0] for column in values.T]
    assert result.curvature.value == pytest.approx(np.mean(bend))


SCENARIOS = [(cv, falling, rho) for cv in (0.1, 0.3, 0.6, 1.0) for falling in (False, True) for rho in (0.0, 0.5)]


@pytest.mark.parametrize(("cv", "falling", "rho"), SCENARIOS)
def test_coverage_of_the_interval(cv, falling, rho):
    """4000 studies of 8 sizes and 10 replicates, spread constant or falling, sizes independent or correlated.

    With 4 standard errors of the coverage a correct interval fails with probability 6e-5 per scenario, 1e-3 in all.
    """
    studies = 4000
    rng = np.random.default_rng([int(10 * cv), falling, int(10 * rho)])
    sd = np.sqrt(np.log1p((cv * (np.linspace(1.5, 0.5, 8) if falling else np.ones(8))) ** 2))[:, None]
    noise = np.sqrt(1 - rho) * rng.standard_normal((studies, 8, 10)) + np.sqrt(rho) * rng.standard_normal(
        (studies, 1, 10)
    )
    logs = -0.5 * np.log(N)[:, None] + sd * noise
    _, _, low, high = rates.mean_interval(rates.replicate_slopes(np.log(N), logs))
    coverage = np.mean((low < -0.5) & (high > -0.5))
    assert abs(coverage - 0.95) < 4 * np.sqrt(0.95 * 0.05 / studies)


@pytest.mark.parametrize(("sizes", "word"), [(np.geomspace(1e3, 9e3, 6), "one decade"), (N[[0, 3, 7]], "at least 4")])
def test_untrusted_fits_say_so_and_still_give_the_number(sizes, word):
    result = rates.fit(losses(np.random.default_rng(7), sizes=sizes), over=sizes)
    assert not result.trusted and "NOT TRUSTED" in str(result) and word in " ".join(result.reasons)
    assert result.slope == pytest.approx(-0.5, abs=0.3)


def test_a_window_is_inclusive_and_nothing_usable_is_nan_with_a_reason():
    values = losses(np.random.default_rng(11))
    result = rates.fit(values, over=N, window=(N[2], N[6]))
    assert np.array_equal(result.sizes, N[2:7]) and result.slope == rates.fit(values[2:7], over=N[2:7]).slope
    for empty in (np.zeros((8, 3)), np.full((8, 3), np.nan), np.empty((8, 0))):
        result = rates.fit(empty, over=N)
        assert np.isnan(result.slope) and not result.trusted
    result = rates.fit(values, over=N, window=(1, 2))
    assert np.isnan(result.slope) and "Only 0 sizes" in result.reasons[0]
    one = rates.fit(values[:, :1], over=N)
    assert np.isfinite(one.slope) and np.isnan(one.low) and not one.trusted
    assert "nothing to compare" in str(rates.compare_laws(np.full((8, 3), np.nan), over=N))


@pytest.mark.parametrize(
    ("bad", "word"), [(np.nan, "not finite"), (np.inf, "not finite"), (0.0, "no logarithm"), (-1.0, "negative")]
)
def test_incomplete_replicates_are_refused_with_their_reason(bad, word):
    values = losses(np.random.default_rng(8))
    values[3, 2] = bad
    result = rates.fit(values, over=N)
    assert not result.trusted
    assert word in result.reasons[0]
    assert f"{N[3]:g}" in result.reasons[0]
    assert (result.replicates, result.complete) == (10, 9)
    assert result.slope == pytest.approx(rates.fit(np.delete(values, 2, axis=1), over=N).slope)


@pytest.mark.parametrize(
    ("values", "over", "window"),
    [
        (np.ones((3, 2)), N, None),
        (np.ones(8), N, None),
        (np.ones((2, 2)), [-1, 1], None),
        (np.ones((8, 2)), N, (5, 1)),
        (np.c_[N, N**-0.5], N, None),
    ],
)
def test_unusable_input_raises(values, over, window):
    with pytest.raises(ValueError, match="over|window"):
        rates.fit(values, over=over, window=window)
    with pytest.raises(ValueError, match="above 1"):
        rates.compare_laws(np.ones((4, 2)), over=[0.5, 2, 4, 8])


WIDE = np.geomspace(1e2, 1e5, 8)
BENT = {
    "a floor that is far": (0.02 + 3 * WIDE**-0.5, "flattens, towards a floor or a slower rate: slope -0.4"),
    "a scaling law": (1.69 + 13 * WIDE**-0.34, "flattens, towards a floor or a slower rate: slope -0.1"),
    "a floor that is reached": (np.maximum(3 * WIDE**-0.5, 0.06), "ends level, as on a floor: slope -0."),
    "a ceiling that is reached": (np.minimum(WIDE / 1e3, 1.0), "ends level, as at a ceiling: slope 0."),
    "a way down and up": (np.maximum(WIDE / 3e3, 3e3 / WIDE), "turns: slope -"),
    "a late fall": (np.exp(-WIDE / 1e5), "steepens: slope -0.0"),
    "a growth that slows": (np.log(WIDE), "flattens: slope 0."),
}
BENT_FLOOR = BENT["a floor that is far"][0]


@pytest.mark.parametrize(("curve", "said"), BENT.values(), ids=BENT)
def test_a_bent_line_says_so_where_its_slope_is_printed(curve, said):
    """The interval of a level half misses 0 for one seed in twenty; nothing else hangs on the noise."""
    values = curve[:, None] * losses(np.random.default_rng(12), slope=0, sd=0.003, sizes=WIDE)
    result = rates.fit(values, over=WIDE)
    assert result.bend.startswith(f"The line is bent and {said}") and result.bend.endswith(" in the upper.")
    assert f" {result.first_half.value:.3f} in the lower" in result.bend and f" {result.last_half} in" in result.bend
    first, second = str(result).split("\n")
    assert second.startswith(result.bend.rstrip(".")) and "trusted" not in str(result)
    assert result.trusted and result.row()["notes"] == result.bend
    short = rates.fit(values[:, :5], over=WIDE, window=(1e2, 9e2))
    assert "NOT TRUSTED: Only 3 sizes" in str(short) and (short.bend.rstrip(".") in str(short))


def test_a_difference_and_a_table_of_fits_name_the_lines_that_bend():
    rng = np.random.default_rng(22)
    straight, floor = (curve[:, None] * losses(rng, slope=0, sd=0.01, sizes=WIDE) for curve in (WIDE**-0.5, BENT_FLOOR))
    result = rates.difference(floor, straight, over=WIDE)
    assert result.bend.startswith("The first line is bent and flattens, ") and "second" not in result.bend
    assert result.bend.rstrip(".") in str(result) and "trusted" not in str(result)
    other = rates.difference(straight, floor, over=WIDE, paired=False)
    assert other.bend == result.bend.replace("The first", "The second")
    both = rates.difference(floor, floor**2, over=WIDE).bend
    assert both.startswith("The first line is bent and") and "; the second line is bent and" in both
    notes = rates.table({"straight": straight, "floor": floor}, over=WIDE).to_frame()["notes"]
    assert notes.tolist() == ["", rates.fit(floor, over=WIDE).bend]
    exact = np.repeat(2 * WIDE[:, None] ** -0.5, 2, axis=1)
    assert rates.fit(exact, over=WIDE).bend == "", "rounding is no bend"
    sizes = np.array([10.0, 1000, 2000, 3000, 4000])  # a half of one size has no slope
    values = (0.02 + 3 * sizes**-0.5)[:, None] * losses(np.random.default_rng(23), slope=0, sd=0.003, sizes=sizes)
    result = rates.fit(values, over=sizes)
    assert result.bend == f"The line is bent: its local slopes go from {result.local[0]:.3f} to {result.local[-1]:.3f}."


@pytest.mark.parametrize(("replicates", "sd"), [(4, 0.3), (10, 0.3), (10, np.linspace(1.2, 0.3, 8))])
def test_straight_lines_are_called_bent_in_one_of_twenty(replicates, sd):
    """More than 77 of 1000, or fewer than 25, have a probability of 1e-4 each at 0.05."""
    rng = np.random.default_rng(24)
    marks = sum(bool(rates.fit(losses(rng, sd=sd, replicates=replicates), over=N).bend) for _ in range(1000))
    assert 25 <= marks <= 77


def test_data_arrays():
    rng = np.random.default_rng(13)
    data = np.stack([losses(rng, slope=s) for s in (-0.5, -0.25)])
    array = xr.DataArray(
        data, dims=("arm", "n", "replicate"), coords={"arm": ["a", "b"], "n": N, "label": ("arm", ["A", "B"])}
    )
    single = rates.fit(array.sel(arm="b").transpose("replicate", "n"), over="n")
    assert isinstance(single, rates.RateFit)
    assert single.slope == rates.fit(data[1], over=N).slope
    with pytest.raises(ValueError, match="also run over arm: .* rates.table"):
        rates.fit(array, over="n")
    with pytest.raises(ValueError, match="no dimension m"):
        rates.fit(array, over="m")
    with pytest.raises(ValueError, match="no coordinate"):
        rates.fit(array.drop_vars("n"), over="n")


def test_paired_difference_removes_shared_noise_and_welch_does_not():
    rng = np.random.default_rng(14)
    shared = np.exp(0.5 * rng.standard_normal((8, 10)))
    first, second = losses(rng, slope=-0.5, sd=0.01) * shared, losses(rng, slope=-0.3, sd=0.01) * shared
    paired = rates.difference(first, second, over=N)
    assert paired.estimate.low < -0.2 < paired.estimate.high
    welch = rates.difference(first, second, over=N, paired=False)
    assert welch.estimate.value == pytest.approx(paired.estimate.value)
    assert welch.estimate.se > 5 * paired.estimate.se
    f, s = (rates.fit(v, over=N).slopes for v in (first, second))
    reference = stats.ttest_ind(f, s, equal_var=False).confidence_interval(0.95)
    assert (welch.estimate.low, welch.estimate.high) == pytest.approx((reference.low, reference.high))


def test_paired_difference_keeps_replicates_that_are_complete_in_both():
    rng = np.random.default_rng(15)
    first, second = losses(rng), losses(rng)
    first[0, 0], second[0, 1] = np.nan, 0.0
    result = rates.difference(first, second, over=N)
    keep = rates.difference(first[:, 2:], second[:, 2:], over=N)
    assert not result.trusted and keep.trusted
    assert result.estimate == keep.estimate
    arrays = [
        xr.DataArray(v, dims=("n", "replicate"), coords={"n": N, "replicate": r})
        for v, r in ((first[:, 2:], np.arange(2, 10)), (second[:, 2:][:, ::-1], np.arange(10)[:1:-1]))
    ]
    assert rates.difference(*arrays, over="n").estimate.value == pytest.approx(keep.estimate.value)


def test_rate_laws_at_small_and_realistic_spread():
    """At a log-sd of 0.3 a power and a log law stay compatible most of the time; at 0.02 the wrong one is rejected.

    The right law is rejected with probability 0.05 per data set, a little more often as the direction is chosen by the
    data: more than 18 of 100 with probability 1e-4 at 0.08.
    """
    rng = np.random.default_rng(16)
    both = rejected = 0
    for _ in range(100):
        found = rates.compare_laws(losses(rng, sd=0.3), over=N).compatible
        both += {"power", "log"} <= set(found)
        rejected += "power" not in found
    assert both > 60
    assert rejected <= 18
    sharp = rates.compare_laws(losses(rng, sd=0.02), over=N)
    assert sharp.laws[0].name == "power" and "log" not in sharp.compatible
    log_law = np.log(N)[:, None] ** -4.5 * np.exp(0.02 * rng.standard_normal((8, 10)))
    result = rates.compare_laws(log_law, over=N)
    assert result.laws[0].name == "log" and "power" not in result.compatible
    assert result.laws[0].parameters["power"].value == pytest.approx(-4.5, abs=0.1)


def test_power_gives_designs_that_reach_the_half_width():
    """The half-width of 2000 simulated studies of a proposed design is the promised one on average, to 3 per cent."""
    for design in rates.power(0.05, 0.4, **RANGE):
        n = np.geomspace(1e3, 1e5, design.sizes)
        logs = 0.4 * np.random.default_rng(18).standard_normal((2000, design.sizes, design.replicates))
        _, _, low, high = rates.mean_interval(rates.replicate_slopes(np.log(n), logs))
        assert np.sqrt(np.mean(((high - low) / 2) ** 2)) == pytest.approx(design.half_width, rel=0.03)
        assert design.half_width <= 0.05
    for assurance in (0.5, 0.9):  # 4 standard errors either way, and one replicate less is not enough
        (design,) = rates.power(0.15, 0.4, sizes=[6], assurance=assurance, **RANGE)
        logs, shares = 0.4 * np.random.default_rng(19).standard_normal((4000, 6, design.replicates)), []
        for count in (design.replicates, design.replicates - 1):
            _, _, low, high = rates.mean_interval(
                rates.replicate_slopes(np.log(np.geomspace(1e3, 1e5, 6)), logs[..., :count])
            )
            shares.append(np.mean((high - low) / 2 <= 0.15))
        error = 4 * np.sqrt(assurance * (1 - assurance) / 4000)
        assert shares[0] > assurance - error and shares[1] < assurance + error
    assert rates.power(1e-6, 1.0, most=100, **RANGE) == []
    for words, told in (({"half_width": 0}, "half_width"), ({"half_width": 0.1, "sizes": [1]}, "at least 2 sizes")):
        with pytest.raises(ValueError, match=told):
            rates.power(log_sd=1, **RANGE, **words)


@pytest.mark.parametrize(("margin", "sizes", "replicates"), [(0.1, 5, 6), (0.05, 8, 12), (0.02, 4, 20)])
def test_the_chance_of_a_verdict_is_the_share_of_studies_that_decide(margin, sizes, replicates):
    """Of 4000 simulated studies with the rule at_most = -0.4 and the true slope below it; 4 standard errors."""
    n = np.geomspace(1e3, 1e5, sizes)
    logs = 0.3 * np.random.default_rng(20).standard_normal((4000, sizes, replicates))
    logs += (-0.4 - margin) * np.log(n)[:, None]
    _, _, _, high = rates.mean_interval(rates.replicate_slopes(np.log(n), logs))
    expected = rates.chance(margin, 0.3, sizes=sizes, replicates=replicates, **RANGE)
    assert 0.1 < expected < 0.99
    assert np.mean(high <= -0.4) == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))
    assert rates.chance(margin, 0.0, sizes=sizes, replicates=replicates, **RANGE) == 1.0
    with pytest.raises(ValueError, match="margin"):
        rates.chance(0.0, 0.3, sizes=sizes, replicates=replicates, **RANGE)


def test_the_fewest_replicates_that_decide_are_those_of_the_chance():
    """One replicate less does not reach the wanted probability."""
    for design in rates.deciding(0.1, 0.5, chance=0.7, sizes=[4, 9], **RANGE):
        reached = [
            rates.chance(0.1, 0.5, sizes=design.sizes, replicates=design.replicates - k, **RANGE) for k in (0, 1)
        ]
        assert reached[0] >= 0.7 > reached[1]
        (same,) = rates.power(design.half_width * (1 + 1e-9), 0.5, sizes=[design.sizes], **RANGE)
        assert same.replicates == design.replicates
    assert rates.deciding(1e-6, 1.0, most=100, **RANGE) == []
    for wrong, says in (
        ({"margin": 0.0}, "margin > 0"),
        ({"chance": 1.0}, "chance < 1"),
        ({"log_sd": [0.1, 0.2]}, "log_sd is an array"),
        ({"sizes": 4}, "must be a sequence"),
    ):
        with pytest.raises(ValueError, match=says):
            rates.deciding(**({"margin": 0.1, "log_sd": 0.5} | RANGE | wrong))


def test_what_is_no_loss_is_refused_in_words():
    ds = xr.Dataset({"L1": (("n", "replicate"), np.ones((4, 3))), "L2": ("n", np.ones(4))}, {"n": [1, 2, 3, 4]})
    for call in (lambda v: rates.fit(v, over="n"), lambda v: rates.difference(v, v, over="n")):
        with pytest.raises(TypeError, match=r"takes one loss: an xarray.DataArray .* a Dataset with the .* 'L1', 'L2'"):
            call(ds)
        with pytest.raises(TypeError, match="it was given a dict"):
            call({"a": 1})
        with pytest.raises(TypeError, match="over is 'n', a name, which needs a DataArray"):
            call(np.ones((4, 3)))


@pytest.mark.parametrize(("margin", "sd"), [(1.0, 0.5), (1.0, 1.5)])
def test_the_planned_pairs_decide_as_often_as_planned(margin, sd):
    """4000 studies: the share that decides is within 0.03 of its chance (false alarm below 1e-4)."""
    seeds = rates.paired_seeds(margin, sd, chance=0.8)
    rng = np.random.default_rng(5)
    shares = []
    for count in (seeds, seeds - 1):
        draws = margin + sd * rng.standard_normal((4000, count))
        _, _, low, _ = rates.mean_interval(draws)
        shares.append(np.mean(low > 0))
    assert shares[0] >= 0.77
    assert shares[1] < 0.83 or seeds == 3
    assert rates.paired_seeds(margin, 0.0) == 3
    with pytest.raises(ValueError, match="margin > 0"):
        rates.paired_seeds(0.0, 1.0)
    with pytest.raises(ValueError, match="more than 1000 seeds"):
        rates.paired_seeds(1e-3, 1.0, most=1000)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-12, 1e8, 1e160, 1e300])
def test_units_of_the_loss_change_no_exponent_and_no_interval(unit):
    sizes = np.array([1e3, 3e3, 1e4, 3e4, 1e5, 3e5])
    noise = np.random.default_rng(5).lognormal(0, 0.05, (6, 7))
    losses = (sizes[:, None] ** -0.5 + 0.003) * noise
    plain, scaled = (rates.compare_laws(c * losses, over=sizes) for c in (1.0, unit))
    for law, other in zip(plain.laws, scaled.laws, strict=True):
        assert law.name == other.name
        assert other.p == pytest.approx(law.p, rel=1e-4, nan_ok=True)
        for name, e in law.parameters.items():
            known = {"scale": unit, "floor": unit}.get(name, 1.0)
            found = [
                end / known
                for end in (other.parameters[name].value, other.parameters[name].low, other.parameters[name].high)
            ]
            if name != "level":  # the log of a loss
                assert found == pytest.approx([e.value, e.low, e.high], rel=1e-4, abs=1e-9), name
    slope, of_scaled = (rates.fit(c * losses, over=sizes) for c in (1.0, unit))
    assert (of_scaled.low, of_scaled.slope, of_scaled.high) == pytest.approx((slope.low, slope.slope, slope.high))
