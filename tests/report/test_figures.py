"""Figures: what is drawn is what was computed, and odd results are drawn or refused."""

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure as Canvas
from report_example import N, results, study_of

import moestat
from moestat import figures as own
from moestat import rates as log_log
from moestat.claims.evidence import Evidence
from moestat.report import figures, style, ticks
from moestat.report.paired_figure import paired
from moestat.study.spec import Figure

PANEL = {"variable": "L3", "ylabel": "Voronoi loss L3"}
RATE = {"loss": "L3", "reference": "fisher_L3", "start": "start_L3"}


def figure(*panels, **more):
    return Figure.model_validate({"kind": "rates", "panels": list(panels)} | more)


def draw(ds, made, printed=None):
    rates = [RATE | {"printed": printed or {}}]
    return figures.draw_evidence(Evidence(ds, study_of(ds, claims=[], figures=[], rates=rates), "quick"), made)


def lines(axes, **look):
    """Lines with data that have these properties."""
    return [
        line
        for line in axes.get_lines()
        if len(line.get_xdata()) and all(getattr(line, f"get_{key}")() == value for key, value in look.items())
    ]


def slope_of(line):
    x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
    return (y[-1] - y[0]) / (x[-1] - x[0])


def test_points_bars_and_lines_of_a_rate_panel(ds):
    canvas, (facts, _) = draw(ds, figure(PANEL, PANEL), {"softmax-relu": -0.24, "sigmoid-relu": -0.24})
    axes = canvas.axes[0]
    arm = ds["L3"].sel(arm="softmax-relu", drop=True)
    fit = log_log.fit(arm, over="n")
    mean, _, low, high = log_log.mean_interval(np.log(arm.values))
    points = lines(axes, marker="o", linestyle="None", color=style.COLOURS[0])[0]
    assert points.get_ydata() == pytest.approx(np.exp(mean)) and points.get_xdata() == pytest.approx(N, rel=0.1)
    ends = np.array([bar[:, 1] for bar in axes.collections[0].get_segments()])
    assert ends == pytest.approx(np.exp([low, high]).T)
    fitted = next(line for line in lines(axes, linestyle="-", color=style.COLOURS[0], marker="none"))
    (printed,) = lines(axes, linestyle="--")  # two arms share it
    assert (slope_of(fitted), slope_of(printed)) == pytest.approx((fit.slope, -0.24))
    (reference,) = lines(axes, color=style.REFERENCE)  # four arms share it
    assert reference.get_ydata() == pytest.approx(ds["fisher_L3"][0].values)
    text = f"{fit.slope:.2f} \N{PLUS-MINUS SIGN} {(fit.high - fit.low) / 2:.2f}".replace("-", "\N{MINUS SIGN}")
    shown = facts.entries[0].value.replace("\N{NO-BREAK SPACE}", " ")
    assert shown.startswith(text) and facts.entries[-1].value == "paper \N{MINUS SIGN}0.24"
    below = [text.get_text() for text in axes.get_legend().get_texts()]
    assert below[0] == facts.entries[0].value and below[-1] == facts.entries[-1].value


def test_figures_of_one_run_share_colours_legends_stay_short_and_each_reference_has_the_colour_of_its_arm(ds):
    ds["fisher_L3"] = ds["fisher_L3"].copy() * xr.DataArray([1.0, 2.0, 2.0, 2.0], dims="arm")
    ds["fisher_L3"].attrs["long_name"] = "Fisher line, as told"
    ds["arm_label"] = ("arm", ["softmax, local", "sigmoid, local", "sigmoid, global", "sigmoid, grid"])
    evidence = Evidence(ds, study_of(ds, claims=[], figures=[], rates=[RATE]), "quick")
    numbers = {}
    first, _ = figures.draw_evidence(evidence, figure(PANEL | {"arms": [str(ds["arm"].values[1])]}), numbers)
    second, facts = figures.draw_evidence(evidence, figure(PANEL), numbers)

    def colours(canvas):
        shown = canvas.legends[0]
        pairs = zip(shown.get_texts(), shown.get_lines(), strict=True)
        return {text.get_text().partition(":")[0]: line.get_color() for text, line in pairs}

    assert colours(first)["sigmoid, local"] == colours(second)["sigmoid, local"] != colours(second)["softmax, local"]
    assert colours(second)["Fisher line, sigmoid"] == colours(second)["sigmoid, local"]
    assert len(colours(second)) == figures.MOST and "loss at the start" in figures.caption(evidence, figure(), facts)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([100, 1000, 100_000], ["$10^{2}$", "$10^{3}$", "$10^{4}$", "$10^{5}$"]),
        ([300, 4000], ["500", "1000", "2000"]),
        ([30, 52], ["30", "40", "50"]),
        ([2e-6, 4e-6], [f"${digit} \\times 10^{{\N{MINUS SIGN}6}}$" for digit in (2, 3, 4)]),
    ],
)
def test_a_logarithmic_axis_has_powers_of_ten_or_else_plain_numbers(sizes, expected):
    axes = style.new_figure(3, 2).subplots()
    axes.set(yscale="log", ylim=(sizes[0] * 0.99, sizes[-1] * 1.01))
    ticks.logarithmic(axes.yaxis)
    axes.figure.canvas.draw()
    assert [label.get_text() for label in axes.get_yticklabels()] == expected


def test_the_arms_of_a_single_place_stand_side_by_side_above_its_name():
    ds = curves().isel(experts=[1])
    canvas = own.lines(ds, "last", over="experts", arms=["mlp", "cnn"])
    places = [line.get_xdata()[0] for line in lines(canvas.axes[0], linestyle="None")]
    assert places[0] < 0 < places[1] and [label.get_text() for label in canvas.axes[0].get_xticklabels()] == ["8"]


def test_numbers_and_caption_say_what_is_not_to_be_trusted_and_on_how_many_runs_they_rest(ds):
    ds["status"][0, 0, 0] = 8
    ds["L3"][1] += float(ds["L3"][1].mean())
    made = figure(PANEL | {"arms": ["softmax-relu", "sigmoid*"]}, caption="By the author.")
    _, facts = draw(ds, made, {"softmax-relu": -0.24})
    evidence = Evidence(ds, study_of(ds), "quick")
    caption = figures.caption(evidence, made, facts)
    assert "240 runs (10 replicates per point): 1 failed, 0 not converged. preset quick." in caption
    assert "By the author." in caption and "(this run is at reduced scale)" in caption
    values = [entry.value for entry in facts[0].entries]
    assert values[0].startswith("(") and "*" in values[1] and "Values are missing" in caption
    assert "Slopes in brackets" in caption and "* marks a bent line" in caption


def curves():
    rng = np.random.default_rng(1)
    dims, steps = ("arm", "experts", "replicate"), np.arange(0, 401, 20)
    values = xr.DataArray(0.5 + 0.4 * rng.random((2, 3, 10, len(steps))), dims=(*dims, "step"))
    coords = {"arm": ["mlp", "cnn"], "experts": [4, 8, 16], "replicate": np.arange(10), "step": steps}
    ds = xr.Dataset({"accuracy": values, "last": values[..., -1], "status": (dims, np.zeros((2, 3, 10), dtype=int))})
    return ds.assign_coords(coords | {"arm_label": ("arm", ["MLP", "CNN"])})


def test_a_logarithmic_axis_takes_geometric_means_and_has_no_place_for_zero():
    ds = curves()
    made = Figure.model_validate(
        {"kind": "lines", "x": "step", "options": {"at": {"experts": 4}}} | {"panels": [{"variable": "accuracy"}]}
    )
    canvas, (facts,) = figures.draw_evidence(Evidence(ds, own.study_for(ds), "quick"), made)
    expected = np.exp(np.log(ds["accuracy"].sel(arm="mlp", experts=4)).mean("replicate")).values[1:]
    assert lines(canvas.axes[0], color=style.COLOURS[0])[0].get_ydata() == pytest.approx(expected)
    assert "step = 0 has no place on a logarithmic axis" in facts.remarks[0][0]
    ds["accuracy"] -= ds["accuracy"].mean()
    _, (facts,) = figures.draw_evidence(Evidence(ds, own.study_for(ds), "quick"), made)
    assert ("The logarithmic axis cuts off what reaches 0", "MLP") in facts.remarks


def test_lines_over_text_and_truth_values():
    ds = curves()
    expected = ds["accuracy"].sel(arm="mlp", experts=16).mean("replicate").values
    canvas = own.lines(ds, "accuracy", over="step", arms=["mlp"], hue="experts")
    assert lines(canvas.axes[0], color=style.COLOURS[2])[0].get_ydata() == pytest.approx(expected)
    ds = ds.isel(step=0).drop_vars("step")
    ds["kind"] = ("experts", ["few", "some", "many"])
    ds = ds.swap_dims(experts="kind")
    ds["hit"] = ds["last"] > 0
    canvas = own.lines(ds, "hit", over="kind", arms=["mlp"])
    low = canvas.axes[0].collections[0].get_segments()[0][0, 1]
    assert low == pytest.approx(0.025 ** (1 / 10))  # the exact interval of 10 out of 10
    means = ds["last"].mean("replicate").values
    made = {"kind": "lines", "x": "kind", "logx": False, "logy": False, "panels": [{"variable": "last"}]}
    made |= {"options": {"within": {"last": [means.min(), means.max()]}}}
    evidence = Evidence(ds, own.study_for(ds), "quick")
    canvas, _ = figures.draw_evidence(evidence, Figure.model_validate(made))
    ends = np.array([s[:, 1] for part in canvas.axes[0].collections for s in part.get_segments()])
    assert (ends.min(), ends.max()) == pytest.approx((means.min(), means.max()))


def own_figure(ds, made, **options):
    if "to" not in options:
        return options["instead"]
    canvas = style.new_figure(3, 2)
    canvas.subplots().plot([0, options["to"]])
    return canvas


OWN = {"kind": "function", "function": f"{__name__}:own_figure"}


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (figure({"variable": "absent"}), "no variable 'absent'"),
        (figure({"variable": "L3", "arms": ["absent"]}), "None of its arms"),
        (figure({"variable": "L3"}, x="step"), "also runs over n"),
        (figure({"variable": "L3"}, kind="heatmap", x="n", y="step"), "no axis 'step'"),
        (figure(**OWN), "raised KeyError: 'instead'"),
        (figure(**OWN, options={"instead": 1}), "returned a int"),
        (figure(kind="function", function="nowhere:f"), "cannot be imported"),
        (figure({"variable": "L3", "note": "{absent:.2f}"}), "no variable 'absent'"),
    ],
)
def test_a_function_draws_with_its_options_and_what_cannot_be_drawn_says_why(ds, made, told):
    canvas, facts = draw(ds, figure(**OWN, options={"to": 7}))
    assert canvas.axes[0].get_lines()[0].get_ydata()[1] == 7 and facts == []
    with pytest.raises(figures.FigureError, match=told):
        draw(ds, made)


def test_heat_maps_share_their_scale_and_each_panel_stands_at_its_own_point_the_first_that_was_run():
    ds = curves().isel(step=[0, 5, 10])
    ds["accuracy"] = ds["accuracy"].where(ds["experts"] < 16)
    maps = [axes.images[0] for axes in own.heatmap(ds, "accuracy", x="experts", y="step").axes if axes.images]
    expected = ds["accuracy"].mean("replicate").transpose("arm", "step", "experts").values
    for image, mean in zip(maps, expected, strict=True):
        assert np.ma.filled(image.get_array(), np.nan) == pytest.approx(mean, nan_ok=True)
        assert image.get_clim() == pytest.approx((np.nanmin(expected), np.nanmax(expected)))
    panels = [
        {"variable": "last", "arms": ["mlp"], "note": "run {replicate}: {last:.3f}", "at": {"replicate": r}}
        for r in (0, 12)
    ]
    panels.append({"variable": "last", "arms": ["mlp", "cnn"], "at": {"replicate": [12, 3]}})
    ds = ds.assign(last=ds["last"].expand_dims(task=[1, 2]).where(lambda a: a["experts"] < 16))
    made = {"kind": "heatmap", "x": "experts", "y": "task", "panels": panels, "options": {"vmin": 0, "vmax": 1}}
    canvas, _ = figures.draw_evidence(Evidence(ds, own.study_for(ds), "quick"), Figure.model_validate(made))
    maps = [axes for axes in canvas.axes if axes.get_images()]
    assert len(maps) == 3, "the twelfth run was not made; one map for each arm"
    first = ds["last"].sel(arm="mlp", replicate=0).transpose("task", "experts").values
    np.testing.assert_allclose(np.ma.filled(maps[0].get_images()[0].get_array(), np.nan), first)
    third = ds["last"].sel(arm="cnn", replicate=3).transpose("task", "experts").values
    np.testing.assert_allclose(np.ma.filled(maps[2].get_images()[0].get_array(), np.nan), third)
    assert f"run 0: {np.nanmean(first):.3f}" in [text.get_text() for text in maps[0].texts]


def test_losses_of_ones_own_are_drawn_onto_axes_of_ones_own_and_saved(tmp_path):
    mine = xr.Dataset({"error": (("arm", "m"), [[1, 0.5, 0.25, 0.1], [2, 1, 0.9, 0.5]])}, {"m": [10, 20, 40, 160]})
    before, canvas = dict(matplotlib.rcParams), Canvas()
    left, right = canvas.subplots(1, 2)
    assert own.rates(results(), "L3", ax=left, title="Mine") is canvas
    own.rates(mine.assign_coords(arm=["first", "second"]), "error", over="m", ax=right, ylabel="error of mine")
    assert left.get_xlabel() == "n" and left.get_title(loc="left") == "Mine" and right.get_xlabel() == "m"
    names = [text.get_text().split(":")[0] for text in right.get_legend().get_texts()]
    assert names == ["first", "second"] and right.get_ylabel() == "error of mine"
    canvas = own.rates(results(), "L3")
    canvas.savefig(tmp_path / "figure.pdf")
    assert b"/Type3" not in (tmp_path / "figure.pdf").read_bytes(), "fonts that journals take"
    assert dict(matplotlib.rcParams) == before
    assert len(own.lines(mine, "error", over="m").axes) == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda ds: own.rates(ds, "D11"), "no variable 'D11'; did you mean 'D1'"),
        (lambda ds: own.rates(ds, "D1", over="m"), "'D1' has no axis 'm'; its dimensions are n, replicate"),
        (lambda ds: own.rates(ds.drop_vars("n"), "D1"), r"The axis 'n' has no values; .*assign_coords\(n="),
        (lambda ds: own.rates([1, 2], "D1"), "takes an xarray.Dataset .* it was given a list"),
        (lambda ds: own.rates(ds, "D1", ax="here"), "ax is a str; it takes matplotlib axes"),
        (lambda ds: own.rates(ds, "D1", arms="other"), "None of the arms other is in the results"),
        (lambda ds: own.rates(ds, "D1", windw=(1, 2)), "no option 'windw'; did you mean 'window'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_words(call, sentence):
    one = results()["L3"].isel(arm=0, drop=True)
    with pytest.raises(own.FigureError, match=sentence):
        call(xr.Dataset({"D1": one}))


def test_the_package_shows_what_it_has():
    assert {"run", "load", "tidy", "rates", "figures", "losses", "fit", "identify", "models"} <= set(dir(moestat))
    assert all(getattr(moestat, name) is not None for name in moestat.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lod'; it has"):
        _ = moestat.lod


@pytest.mark.parametrize("ratio", [False, True])
def test_differences_are_taken_replicate_by_replicate(ratio):
    rng = np.random.default_rng(0)
    a = 5 + rng.random((3, 6))  # the replicates differ much more than the arms
    b = a * 1.1 + 0.001 * rng.random((3, 6))
    b[0, 2] = np.nan
    of_values = {"valid_range": [4.0, np.inf]}  # no difference lies in it
    array = (("arm", "step", "replicate"), np.stack([a, b]), of_values)
    ds = xr.Dataset({"loss": array}, coords={"arm": ["a", "b"], "step": [0, 10, 20]})
    wanted = np.exp(np.nanmean(np.log(b / a), axis=1)) if ratio else np.nanmean(b - a, axis=1)
    made = Figure(kind="function", title="t", x="step", xlabel="step", logx=False, logy=False)
    how = {"variables": {"loss": "bits"}, "baseline": "a", "others": ["b"], "region": [-10.0, 0.05]}
    panel = paired(ds, made, **how, ratio=ratio).axes[1]
    np.testing.assert_allclose(panel.get_lines()[0].get_ydata(), wanted, rtol=1e-12)
    bars = panel.containers[0][2][0].get_segments()
    assert all(np.ptp(bar[:, 1]) < 0.2 for bar in bars), "the part that the pairs share should be gone"
