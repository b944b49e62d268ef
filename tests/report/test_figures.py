"""Figures: what is drawn is what was computed, and odd results are drawn or refused."""

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imread
from report_example import SLOPES, N, results, study_of

import moestat
from moestat import figures as own
from moestat import rates as log_log
from moestat.claims.evidence import Evidence
from moestat.losses.rescore import rescore
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.report import figures, style
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


# --- rates -----------------------------------------------------------------------------------------------------------


def test_points_bars_and_lines_of_a_rate_panel(ds):
    canvas, (facts,) = draw(ds, figure(PANEL), {"softmax-relu": -0.24, "sigmoid-relu": -0.24})
    axes = canvas.axes[0]
    arm = ds["L3"].sel(arm="softmax-relu", drop=True)
    fit = log_log.fit(arm, over="n")
    mean, _, low, high = log_log.mean_interval(np.log(arm.values))
    points = lines(axes, marker="o", linestyle="None", color=style.COLOURS[0])[0]
    assert points.get_ydata() == pytest.approx(np.exp(mean))
    assert points.get_xdata() == pytest.approx(N, rel=0.1)
    bars = axes.collections[0].get_segments()
    assert [bar[0, 1] for bar in bars] == pytest.approx(np.exp(low))
    assert [bar[1, 1] for bar in bars] == pytest.approx(np.exp(high))
    fitted = next(line for line in lines(axes, linestyle="-", color=style.COLOURS[0], marker="none"))
    assert slope_of(fitted) == pytest.approx(fit.slope)
    printed = lines(axes, linestyle="--", color=style.COLOURS[0])[0]
    assert slope_of(printed) == pytest.approx(-0.24)
    reference = lines(axes, color=style.REFERENCE)
    assert len(lines(axes, linestyle="--")) == 1  # two arms share it
    assert len(reference) == 1  # four arms share it
    assert reference[0].get_ydata() == pytest.approx(ds["fisher_L3"][0].values)
    assert len(lines(axes, linestyle=":")) == 4
    half = (fit.high - fit.low) / 2
    text = f"{fit.slope:.2f} \N{PLUS-MINUS SIGN} {half:.2f}".replace("-", "\N{MINUS SIGN}")
    assert text in facts.entries[0].value.replace("\N{NO-BREAK SPACE}", " ")
    assert facts.entries[0].value.endswith("(paper\N{NO-BREAK SPACE}-0.24)")


def test_a_label_has_one_colour_in_all_panels_and_one_entry_of_the_one_legend(ds):
    canvas, facts = draw(ds, figure(PANEL, PANEL | {"arms": ["sigmoid-linear"]}))
    assert lines(canvas.axes[1], linestyle="None")[0].get_color() == style.COLOURS[3]
    names = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert len(canvas.legends) == 1 and len(names) == len(SLOPES) + 2  # the Fisher line, the start
    below = canvas.axes[1].get_legend().get_texts()
    assert [text.get_text() for text in below] == [facts[1].entries[0].value], "the slope of the panel, without a name"


# --- captions --------------------------------------------------------------------------------------------------------


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
    assert values[0].startswith("(") and "*" in values[1] and "values are missing" in caption
    assert "In brackets: a slope that is not trusted" in caption and "*: the line is bent" in caption


# --- lines, heat maps, functions -------------------------------------------------------------------------------------


def curves():
    rng = np.random.default_rng(1)
    steps, experts = np.arange(0, 401, 20), [4, 8, 16]
    values = 0.5 + 0.4 * rng.random((2, 3, 10, len(steps)))
    dims = ("arm", "experts", "replicate")
    return xr.Dataset(
        {
            "accuracy": ((*dims, "step"), values),
            "last": (dims, values[..., -1]),
            "status": (dims, np.zeros(values.shape[:3], dtype=int)),
        },
        coords={"arm": ["mlp", "cnn"], "arm_label": ("arm", ["MLP", "CNN"]), "experts": experts}
        | {"replicate": np.arange(10), "step": steps},
    )


def test_many_points_become_a_band_and_hue_names_the_lines():
    ds = curves()
    canvas = own.lines(ds, "accuracy", over="step", arms=["mlp"], hue="experts")
    axes = canvas.axes[0]
    assert [t.get_text() for t in canvas.legends[0].get_texts()] == ["experts = 4", "experts = 8", "experts = 16"]
    expected = ds["accuracy"].sel(arm="mlp", experts=16).mean("replicate").values
    assert lines(axes, color=style.COLOURS[2])[0].get_ydata() == pytest.approx(expected)
    assert len(axes.collections) == 3


def test_a_logarithmic_axis_takes_geometric_means_and_has_no_place_for_zero():
    ds = curves()
    made = Figure.model_validate(
        {"kind": "lines", "x": "step", "options": {"at": {"experts": 4}}} | {"panels": [{"variable": "accuracy"}]}
    )
    canvas, (facts,) = figures.draw_evidence(Evidence(ds, own.study_for(ds), "quick"), made)
    expected = np.exp(np.log(ds["accuracy"].sel(arm="mlp", experts=4)).mean("replicate")).values[1:]
    assert lines(canvas.axes[0], color=style.COLOURS[0])[0].get_ydata() == pytest.approx(expected)
    assert "step = 0 has no place on a logarithmic axis" in facts.remarks[0][0]


def test_lines_over_text_and_truth_values():
    ds = curves().isel(step=0).drop_vars("step")
    ds["kind"] = ("experts", ["few", "some", "many"])
    ds = ds.swap_dims(experts="kind")
    ds["hit"] = ds["last"] > 0
    canvas = own.lines(ds, "hit", over="kind", arms=["mlp"])
    assert [t.get_text() for t in canvas.axes[0].get_xticklabels()] == ["few", "some", "many"]
    low = canvas.axes[0].collections[0].get_segments()[0][0, 1]
    assert low == pytest.approx(0.025 ** (1 / 10))  # the exact interval of 10 out of 10
    means = ds["last"].mean("replicate").values
    made = {"kind": "lines", "x": "kind", "logx": False, "logy": False, "panels": [{"variable": "last"}]}
    made |= {"options": {"within": {"last": [means.min(), means.max()]}}}
    evidence = Evidence(ds, own.study_for(ds), "quick")
    canvas, _ = figures.draw_evidence(evidence, Figure.model_validate(made))
    first, second = (lines(canvas.axes[0], color=colour)[0] for colour in style.COLOURS[:2])
    assert first.get_linestyle() == second.get_linestyle() == "None", "categories are not joined"
    assert np.all(second.get_xdata() > first.get_xdata()), "equal values of two arms stand side by side"
    ends = np.array([s[:, 1] for part in canvas.axes[0].collections for s in part.get_segments()])
    assert (ends.min(), ends.max()) == pytest.approx((means.min(), means.max()))


def test_heat_maps_share_their_scale_and_leave_out_what_is_missing():
    ds = curves().isel(step=[0, 5, 10])
    ds["accuracy"] = ds["accuracy"].where(ds["experts"] < 16)
    canvas = own.heatmap(ds, "accuracy", x="experts", y="step")
    maps = [axes.images[0] for axes in canvas.axes if axes.images]
    expected = ds["accuracy"].mean("replicate").transpose("arm", "step", "experts").values
    for image, mean in zip(maps, expected, strict=True):
        assert np.ma.filled(image.get_array(), np.nan) == pytest.approx(mean, nan_ok=True)
        assert image.get_clim() == pytest.approx((np.nanmin(expected), np.nanmax(expected)))
    assert len(canvas.axes[0].texts) == 6


def own_figure(ds, made, **options):
    canvas = style.new_figure(3, 2)
    canvas.subplots().plot([0, options["to"]], color=style.COLOURS[0])
    return canvas


def broken_figure(ds, made):
    raise KeyError("no such thing")


def no_figure(ds, made):
    return 1


def test_a_function_draws_with_its_options(ds):
    made = Figure(kind="function", function=f"{__name__}:own_figure", options={"to": 7})
    canvas, facts = draw(ds, made)
    assert canvas.axes[0].get_lines()[0].get_ydata()[1] == 7 and facts == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (figure({"variable": "absent"}), "no variable 'absent'"),
        (figure({"variable": "L3", "arms": ["absent"]}), "None of its arms"),
        (figure({"variable": "L3"}, x="step"), "also runs over n"),
        (figure({"variable": "L3"}, kind="heatmap", x="n", y="step"), "no axis 'step'"),
        (figure(kind="function", function=f"{__name__}:broken_figure"), "raised KeyError: 'no such thing'"),
        (figure(kind="function", function=f"{__name__}:no_figure"), "returned a int"),
        (figure(kind="function", function="nowhere:f"), "cannot be imported"),
        (figure({"variable": "L3", "note": "{absent:.2f}"}), "no variable 'absent'"),
    ],
)
def test_what_cannot_be_drawn_says_why(ds, made, told):
    with pytest.raises(figures.FigureError, match=told):
        draw(ds, made)


def test_a_figure_saved_in_a_notebook_has_fonts_that_journals_take_and_enough_dots(tmp_path):
    canvas = own.rates(results(), "L3")
    canvas.savefig(tmp_path / "figure.pdf")
    canvas.savefig(tmp_path / "figure.png")
    assert b"/Type3" not in (tmp_path / "figure.pdf").read_bytes()
    assert imread(tmp_path / "figure.png").shape[1] == pytest.approx(style.ONE_COLUMN * 300, abs=1)


# --- panels at points of their own -----------------------------------------------------------------------------------


def test_each_panel_stands_at_its_own_point_the_first_that_was_run():
    ds = curves()
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
    assert f"run 0: {np.nanmean(first):.3f}" in maps[0].get_title(loc="left")


# --- any dataset -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def losses():
    truth = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
    sizes = [100, 400, 1600, 6400]
    noise = np.random.default_rng(0).normal(size=(4, 6, 2, 5)) * [0.1, 0.1, 0.1, 0.1, 0.01]
    fitted = truth + noise / np.sqrt(sizes)[:, None, None, None]
    return rescore(fitted, truth, n=sizes, model=SoftmaxGaussian(1))


def test_losses_of_ones_own_fits_are_drawn_and_saved(losses, tmp_path):
    plain = own.rates(losses, "D1", over="n")
    plain.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000
    slope = log_log.fit(losses["D1"], over="n").slope
    (shown,) = [text.get_text() for text in plain.legends[0].get_texts()]
    assert f"{slope:.2f}".replace("-", "\N{MINUS SIGN}") in shown


def test_a_panel_is_drawn_onto_axes_of_ones_own(losses):
    mine = xr.Dataset({"error": (("arm", "m"), [[1, 0.5, 0.25, 0.1], [2, 1, 0.9, 0.5]])}, {"m": [10, 20, 40, 160]})
    before = dict(matplotlib.rcParams)
    canvas = Canvas()
    left, right = canvas.subplots(1, 2)
    assert own.rates(losses, "D1", ax=left, title="Mine") is canvas
    own.rates(mine.assign_coords(arm=["first", "second"]), "error", over="m", ax=right, ylabel="error of mine")
    assert left.get_xlabel() == "n" and left.get_title(loc="left") == "Mine" and right.get_xlabel() == "m"
    names = [text.get_text().split(":")[0] for text in right.get_legend().get_texts()]
    assert names == ["first", "second"] and right.get_ylabel() == "error of mine"
    assert dict(matplotlib.rcParams) == before
    lined = own.lines(mine, "error", over="m")
    assert len(lined.axes) == 1


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
def test_what_cannot_be_drawn_is_told_in_words(losses, call, sentence):
    with pytest.raises(own.FigureError, match=sentence):
        call(losses)


def test_the_package_shows_what_it_has():
    assert {"run", "load", "tidy", "rates", "figures", "losses", "fit", "identify", "models"} <= set(dir(moestat))
    assert all(getattr(moestat, name) is not None for name in moestat.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lod'; it has"):
        _ = moestat.lod


# --- paired comparisons ----------------------------------------------------------------------------------------------


FIGURE = Figure(kind="function", title="t", x="step", xlabel="step", logx=False, logy=False)
OPTIONS = {"variables": {"loss": "bits"}, "baseline": "a", "others": ["b"]}


def pairs():
    rng = np.random.default_rng(0)
    base = 5 + rng.random((3, 6))  # the replicates differ much more than the arms
    loss = np.stack([base, base * 1.1 + 0.001 * rng.random((3, 6))])
    loss[1, 0, 2] = np.nan
    of_values = {"valid_range": [4.0, np.inf]}  # no difference lies in it
    array = (("arm", "step", "replicate"), loss, of_values)
    return xr.Dataset({"loss": array}, coords={"arm": ["a", "b"], "step": [0, 10, 20]})


def right(canvas):
    """Return the line of the panel on the right, and the lengths of its bars."""
    (container,) = canvas.axes[1].containers
    _, _, (bars,) = container
    line = canvas.axes[1].get_lines()[0]
    return line.get_ydata(), np.array([np.ptp(segment[:, 1]) for segment in bars.get_segments()])


@pytest.mark.parametrize("ratio", [False, True])
def test_differences_are_taken_replicate_by_replicate(ratio):
    ds = pairs()
    a, b = ds["loss"].values
    wanted = np.exp(np.nanmean(np.log(b / a), axis=1)) if ratio else np.nanmean(b - a, axis=1)
    mean, bars = right(paired(ds, FIGURE, **OPTIONS, ratio=ratio, region=[-10.0, 0.05]))
    np.testing.assert_allclose(mean, wanted, rtol=1e-12)
    assert (bars < 0.2).all(), "the part that the pairs share should be gone"
