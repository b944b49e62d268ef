"""Panels at points of their own: curves, and maps of single runs."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.evidence import Evidence
from moestat.report import captions, figures
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
            "sent": ((*dims, "class", "expert"), sent),
            "used": (dims, rng.random(shape)),
        },
        coords={
            "arm": np.array(["one", "mot"], dtype=object),
            "task": np.array(["a", "b"], dtype=object),
            "experts": [4, 8],
            "replicate": np.arange(3),
            "epoch": np.arange(1, 7),
            "class": np.array(list("vwxyz"), dtype=object),
            "expert": np.arange(1, 5),
        },
    )


def draw(ds, panels, **more):
    made = Figure.model_validate({"panels": panels, "logx": False, "logy": False} | more)
    return figures.draw_evidence(Evidence(ds, figures.study_for(ds), "quick"), made)


MAPS = {"kind": "heatmap", "x": "class", "y": "expert"}
PANEL = {"variable": "error", "at": {"task": "a", "experts": 8}}


def test_each_panel_of_curves_stands_at_its_own_point():
    ds = results()
    panels = [PANEL, PANEL | {"at": {"task": "c", "experts": 8}}]
    panels.append({"variable": "error", "arms": ["mot"], "at": {"task": "b", "experts": 4}})
    canvas, _ = draw(ds, panels, kind="lines", x="epoch")
    left, right = canvas.axes  # the task c was not run
    for line, arm in zip(left.get_lines(), ["one", "mot"], strict=True):
        np.testing.assert_allclose(line.get_ydata(), ds["error"].sel(arm=arm, task="a", experts=8).mean("replicate"))
    (one,) = right.get_lines()
    assert one.get_color() == left.get_lines()[1].get_color(), "an arm has one colour in all panels"


def test_maps_show_shares_of_single_runs_with_their_numbers():
    ds = results()
    note = "run {replicate}: {used:.3f} of {experts}"
    panels = [
        {"variable": "sent", "arms": ["mot", "one"], "note": note, "at": {"replicate": run}, "ylabel": "share"}
        for run in (0, 2, 9)
    ]
    options = {"at": {"task": "b", "experts": ["16", 8]}, "share": "class", "vmin": 0, "vmax": 1}
    canvas, _ = draw(ds, panels, options=options, **MAPS)
    maps = [axes for axes in canvas.axes if axes.get_images()]
    assert len(maps) == 4, "the ninth run was not made"
    assert len(canvas.axes) - len(maps) == 1, "one bar for all maps of a variable"
    sent = ds["sent"].sel(arm="mot", task="b", experts=8, replicate=2).values
    np.testing.assert_allclose(maps[3].get_images()[0].get_array(), (sent / sent.sum(axis=1, keepdims=True)).T)
    assert maps[2].get_images()[0].get_array().shape == (1, 5), "experts that an arm has not are left out"
    used = float(ds["used"].sel(arm="mot", task="b", experts=8, replicate=2))
    assert f"run 2: {used:.3f} of 8" in maps[3].get_title(loc="left")
    assert [text.get_text() for text in maps[0].get_xticklabels()] == list("vwxyz")


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
    with pytest.raises(figures.FigureError, match="no variable 'absent'|no variable '0'|ormat"):
        draw(ds, [{"variable": "sent", "note": note, "at": {"task": "a", "experts": 4}}], **MAPS)
