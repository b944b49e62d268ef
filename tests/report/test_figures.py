"""Figures: what is drawn is what was computed, and odd results are drawn or refused."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread
from report_example import SLOPES, N, results, study_of

from moestat import figures as own
from moestat import rates as log_log
from moestat.claims.evidence import Evidence
from moestat.report import captions, figures, style
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


def test_what_a_panels_title_says_is_left_out_of_its_names(ds):
    ds["arm_label"] = ("arm", ["ReLU, N* + 1", "ReLU, N*", "linear, N* + 1", "linear, N*"])
    arms = [str(arm) for arm in ds["arm"].values]
    panels = [PANEL | {"title": f"sparse, {e}", "arms": a} for e, a in (("ReLU", arms[:2]), ("linear", arms[2:]))]
    canvas, facts = draw(ds, figure(*panels))
    assert [[entry.name for entry in fact.entries] for fact in facts] == [["N* + 1", "N*"]] * 2
    colours = [{line.get_color() for line in lines(axes, linestyle="None")} for axes in canvas.axes]
    assert colours[0] == colours[1] == set(style.COLOURS[:2])


# --- captions --------------------------------------------------------------------------------------------------------


def test_caption_and_notes_count_the_runs_of_the_figure_and_say_what_is_not_to_be_trusted(ds):
    ds["status"][0, 0, 0] = 8
    ds["L3"][1] += float(ds["L3"][1].mean())
    made = figure(PANEL | {"arms": ["softmax-relu", "sigmoid*"]}, caption="By the author.")
    _, facts = draw(ds, made, {"softmax-relu": -0.24})
    evidence = Evidence(ds, study_of(ds), "quick")
    caption, notes = captions.caption(evidence, made, facts), " ".join(captions.notes(facts))
    assert "240 runs (10 replicates per point): 1 failed, 0 not converged. preset quick." in caption
    assert "By the author." in caption and "(this run is at reduced scale)" in caption
    assert "Not trusted: softmax gate, relu" in notes and "Bent: sigmoid gate, relu" in notes


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
    canvas, (facts,) = figures.draw_evidence(Evidence(ds, figures.study_for(ds), "quick"), made)
    expected = np.exp(np.log(ds["accuracy"].sel(arm="mlp", experts=4)).mean("replicate")).values[1:]
    assert lines(canvas.axes[0], color=style.COLOURS[0])[0].get_ydata() == pytest.approx(expected)
    assert "step = 0 has no place on a logarithmic axis" in facts.notes[0][2]


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
    evidence = Evidence(ds, figures.study_for(ds), "quick")
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
        (figure({"variable": "L3"}, kind="lines", x="step"), "also runs over n"),
        (figure({"variable": "L3"}, kind="heatmap", x="n", y="step"), "no axis 'step'"),
        (figure(kind="function", function=f"{__name__}:broken_figure"), "raised KeyError: 'no such thing'"),
        (figure(kind="function", function=f"{__name__}:no_figure"), "returned a int"),
        (figure(kind="function", function="nowhere:f"), "cannot be imported"),
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
