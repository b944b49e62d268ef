"""Panels at points of their own: curves with the ends of stages, and maps of single runs."""

import numpy as np
import pytest
import xarray as xr

from moestat.report import captions, figures, style
from moestat.study.spec import Figure


def results():
    """Two arms, two tasks, three sizes, three replicates; an arm with one expert is padded."""
    rng = np.random.default_rng(1)
    dims = ("arm", "task", "experts", "replicate")
    shape = (2, 2, 2, 3)
    sent = rng.integers(1, 9, (*shape, 5, 4)).astype(float)
    sent[0, ..., 1:] = np.nan
    return xr.Dataset(
        {
            "status": (dims, np.zeros(shape, dtype=int)),
            "error": ((*dims, "epoch"), 0.1 + rng.random((*shape, 6))),
            "other": ((*dims, "epoch"), 0.1 + rng.random((*shape, 6))),
            "sent": ((*dims, "class", "expert"), sent),
            "used": (dims, rng.random(shape)),
            "stage_end": (("arm", "task", "experts", "stage"), np.broadcast_to([2, 4, 6], (*shape[:3], 3))),
        },
        coords={
            "arm": np.array(["one", "mot"], dtype=object),
            "task": np.array(["a", "b"], dtype=object),
            "experts": [4, 8],
            "replicate": np.arange(3),
            "epoch": np.arange(1, 7),
            "stage": np.array(["I", "II", "III"], dtype=object),
            "class": np.array(list("vwxyz"), dtype=object),
            "expert": np.arange(1, 5),
        },
    )


def draw(ds, panels, **more):
    made = Figure.model_validate({"panels": panels, "logx": False, "logy": False} | more)
    with style.look():
        canvas, facts = figures.draw(ds, figures.study_for(ds), "quick", made)
        canvas.draw_without_rendering()
    return canvas, facts


LINES = {"kind": "lines", "x": "epoch"}
MAPS = {"kind": "heatmap", "x": "class", "y": "expert"}
PANEL = {"variable": "error", "at": {"task": "a", "experts": 8}}


def test_each_panel_of_curves_stands_at_its_own_point_and_shows_where_stages_end():
    ds = results()
    panels = [PANEL | {"dashed": "other"}, PANEL | {"at": {"task": "c", "experts": 8}}]
    panels.append({"variable": "error", "arms": ["mot"], "at": {"task": "b", "experts": 4}})
    canvas, _ = draw(ds, panels, options={"ends": "stage_end", "bottom": 0}, **LINES)
    left, right = canvas.axes  # the task c was not run
    lines = [line for line in left.get_lines() if len(line.get_xdata()) == 6]
    for line, (name, arm) in zip(
        lines, [("other", "one"), ("error", "one"), ("other", "mot"), ("error", "mot")], strict=True
    ):
        expected = ds[name].sel(arm=arm, task="a", experts=8).mean("replicate")
        np.testing.assert_allclose(line.get_ydata(), expected)
        assert (line.get_linestyle() == "--") == (name == "other")
    assert [line.get_xdata()[0] for line in left.get_lines() if line.get_linestyle() == ":"] == [2.5, 4.5]
    assert [text.get_text() for text in left.texts] == ["I", "II", "III"] and left.get_ylim()[0] == 0
    (one,) = [line for line in right.get_lines() if len(line.get_xdata()) == 6]
    assert one.get_color() == lines[-1].get_color(), "an arm has one colour in all panels"


def test_maps_show_shares_of_single_runs_with_their_numbers():
    ds = results()
    note = "run {replicate}: {used:.3f} of {experts}"
    panels = [
        {"variable": "sent", "arms": ["mot", "one"], "note": note, "at": {"replicate": run}, "ylabel": "share"}
        for run in (0, 2, 9)
    ]
    options = {"at": {"task": "b", "experts": ["16", 8]}, "share": "class", "vmin": 0, "vmax": 1, "mark": "sent"}
    canvas, _ = draw(ds, panels, options=options, **MAPS)
    maps = [axes for axes in canvas.axes if axes.get_images()]
    assert len(maps) == 4, "the ninth run was not made"
    assert len(canvas.axes) - len(maps) == 2, "one bar for each row of maps"
    sent = ds["sent"].sel(arm="mot", task="b", experts=8, replicate=2).values
    np.testing.assert_allclose(maps[3].get_images()[0].get_array(), (sent / sent.sum(axis=1, keepdims=True)).T)
    assert maps[2].get_images()[0].get_array().shape == (1, 5), "experts that an arm has not are left out"
    used = float(ds["used"].sel(arm="mot", task="b", experts=8, replicate=2))
    assert f"run 2: {used:.3f} of 8" in maps[3].get_title(loc="left")
    assert [text.get_text() for text in maps[0].get_xticklabels()] == list("vwxyz")
    marks = {(line.get_xdata()[0], line.get_ydata()[0]) for line in maps[3].get_lines()}
    assert marks == {(column, int(np.argmax(row))) for column, row in enumerate(sent)}


@pytest.mark.parametrize(
    ("at", "point"),
    [
        ({"experts": "last"}, {"experts": 8}),
        ({"experts": [16, 4, 8]}, {"experts": 4}),
        ({"task": "last"}, None),  # no axis of numbers
        ({"experts": [16]}, None),
        ({"absent": 1}, {"absent": 1}),  # refused where the variable is selected
    ],
)
def test_the_point_of_a_panel(at, point):
    made = Figure.model_validate({"panels": [{"at": at}]})
    assert captions.point(results(), made, made.panels[0]) == point


@pytest.mark.parametrize("note", ["{absent:.2f}", "{used:.2x}", "{0}"])
def test_a_note_that_cannot_be_filled_is_one_sentence(note):
    ds = results()
    with pytest.raises(figures.FigureError, match="no variable 'absent'|cannot be filled|hold no variable"):
        draw(ds, [{"variable": "sent", "note": note, "at": {"task": "a", "experts": 4}}], **MAPS)
