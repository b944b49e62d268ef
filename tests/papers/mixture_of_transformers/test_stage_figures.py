"""Error curves with the ends of the stages, and routing maps."""

import numpy as np
import pytest
import xarray as xr

from moestat.papers.mixture_of_transformers import stage_figures
from moestat.report import style
from moestat.study.spec import Figure

FIGURE = Figure(
    kind="function", function="moestat.papers.mixture_of_transformers.stage_figures:error_curves", title="Errors"
)
PANELS = [
    {"title": "rivals", "ylabel": "error", "arms": ["one", "mot", "absent"], "at": {"task": "a"}},
    {"title": "not run", "arms": ["absent"]},
    {"title": "other task", "arms": ["mot"], "at": {"task": "b"}},
    {"title": "task not run", "arms": ["mot"], "at": {"task": "c"}},
]


def results():
    rng = np.random.default_rng(1)
    error = rng.random((2, 2, 3, 6))
    routing = rng.dirichlet(np.ones(4), (2, 2, 3, 5))
    routing[0, ..., 1:] = np.nan  # one transformer has one expert
    routing[0, ..., 0] = 1.0
    sizes = ("arm", "task", "replicate")
    return xr.Dataset(
        {
            "test_error": ((*sizes, "epoch"), error),
            "routing": ((*sizes, "class", "expert"), routing),
            "experts_used": (sizes, np.full((2, 2, 3), 1.7)),
            "mutual_information": (sizes, np.full((2, 2, 3), 0.25)),
            "stage_end": (("arm", "task", "stage"), np.broadcast_to([2, 4, 6], (2, 2, 3))),
        },
        coords={
            "arm": np.array(["one", "mot"], dtype=object),
            "task": np.array(["a", "b"], dtype=object),
            "replicate": np.arange(3),
            "epoch": np.arange(1, 7),
            "stage": np.array(["I", "II", "III"], dtype=object),
            "class": np.array(list("vwxyz"), dtype=object),
            "expert": np.arange(1, 5),
        },
    )


def drawn(canvas):
    with style.look():
        canvas.draw_without_rendering()
    return canvas


def test_curves_are_the_means_and_stages_end_where_they_end():
    ds = results()
    canvas = drawn(stage_figures.error_curves(ds, FIGURE, panels=PANELS))
    left, right = canvas.axes
    lines = {line.get_label(): line for line in left.get_lines()}
    for arm in ("one", "mot"):
        expected = ds["test_error"].sel(arm=arm, task="a").mean("replicate")
        np.testing.assert_allclose(lines[arm].get_ydata(), expected)
    assert [line.get_xdata()[0] for line in left.get_lines() if line.get_linestyle() == ":"] == [2.5, 4.5]
    same = next(line for line in right.get_lines() if line.get_label() == "mot")
    assert same.get_color() == lines["mot"].get_color(), "an arm has one colour in all panels"
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == ["one", "mot"]


def test_curves_without_a_panel_say_so():
    with pytest.raises(ValueError, match="no panel has an arm"):
        stage_figures.error_curves(results(), FIGURE, panels=PANELS[1:2])


def test_maps_show_single_runs_experts_down_and_classes_across():
    ds = results()
    canvas = drawn(
        stage_figures.routing_maps(ds, FIGURE, arms=["mot", "absent", "one"], replicates=[0, 2, 9], at={"task": "b"})
    )
    maps = [axes for axes in canvas.axes if axes.get_images()]
    assert len(maps) == 4
    np.testing.assert_array_equal(
        maps[2].get_images()[0].get_array(), ds["routing"].sel(arm="mot", task="b", replicate=2).values.T
    )
    assert maps[1].get_images()[0].get_array().shape == (1, 5), "experts that an arm has not are left out"
    assert "run 2: 1.7 in use, 0.25 bits" in maps[2].get_title(loc="left")
    assert [t.get_text() for t in maps[0].get_xticklabels()] == list("vwxyz")
