"""The figures of the task-routing studies draw what the results hold."""

import numpy as np
import pytest
import xarray as xr

from moestat.papers.task_routing import task_figures
from moestat.report import style
from moestat.study.spec import Figure

FIGURE = Figure.model_validate({"kind": "function", "function": "a:b", "title": "title"})


def arms(names):
    return {
        "arm": np.array(names, dtype=object),
        "arm_label": ("arm", np.array([n.upper() for n in names], dtype=object)),
    }


def test_gaps_shows_exact_zeros_and_shares():
    rng = np.random.default_rng(0)
    repairs = ["none", "a", "a + amplitude", "all", "all but a", "all but amplitude"]
    shares = rng.random((1, 2, 6, 3))
    shares[:, :, 3] = 0.0
    ds = xr.Dataset(
        {"failing_share": (("arm", "size", "repairs", "replicate"), shares)},
        coords={**arms(["moe"]), "size": ["x", "y"], "repairs": repairs, "replicate": range(3)},
    )
    with style.look():
        canvas = task_figures.gaps(ds, FIGURE, arms=["moe"])
    left, right = canvas.axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["all mended", "a", "blocks equally loud"]
    assert [t.get_text() for t in right.get_yticklabels()] == [
        "all as printed",
        "+ a",
        "+ template block louder",
        "all mended",
    ]
    drawn = {tuple(line.get_xdata()) for line in left.lines if line.get_label() in ("x", "y")}
    mean = shares[0].mean(axis=-1)
    assert drawn == {tuple(mean[i, [4, 5]]) for i in (0, 1)}
    zeros = [line for line in left.lines if line.get_fillstyle() == "none"]
    assert all(np.array_equal(line.get_xdata(), [task_figures.FLOOR]) for line in zeros)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_gaps_keeps_its_panels_wide_where_a_size_has_no_zeros_or_nothing_else(share):
    repairs = ["none", "a", "all", "all but a"]
    shares = np.full((1, 2, 4, 3), 0.25)
    shares[0, 1] = share
    ds = xr.Dataset(
        {"failing_share": (("arm", "size", "repairs", "replicate"), shares)},
        coords={**arms(["moe"]), "size": ["x", "y"], "repairs": repairs, "replicate": range(3)},
    )
    with style.look():
        canvas = task_figures.gaps(ds, FIGURE, arms=["moe"])
        canvas.canvas.draw()
    assert all(axes.get_position().width > 0.25 for axes in canvas.axes)


@pytest.fixture
def trained():
    rng = np.random.default_rng(0)
    routing = np.full((2, 2, 1, 3, 6, 3), np.nan)
    routing[:, 0, 0, :, :4] = rng.dirichlet(np.ones(3), (2, 3, 4))
    routing[:, 1, 0] = rng.dirichlet(np.ones(3), (2, 3, 6))
    dims = ("arm", "tasks", "experts", "replicate")
    return xr.Dataset(
        {
            "routing": ((*dims, "task", "expert"), routing),
            "mutual_information": (dims, rng.random((2, 2, 1, 3))),
            "top_share": (dims, rng.random((2, 2, 1, 3))),
            "accuracy": (dims, rng.random((2, 2, 1, 3))),
            "pairs": (dims, np.full((2, 2, 1, 3), 200)),
        },
        coords={
            **arms(["ce", "router"]),
            "tasks": [4, 6],
            "experts": [3],
            "replicate": range(3),
            "task": range(1, 7),
            "expert": range(1, 4),
        },
    )


def test_accuracy_curves_show_means_and_the_papers_numbers(trained):
    printed = {"4": {"3": {"ce": 88.0, "router": 91.0}}}
    with style.look():
        canvas = task_figures.accuracy_curves(
            trained, FIGURE, arms=["ce", "router"], printed=printed, printed_pairs=200
        )
    first, second = canvas.axes
    assert [axes.get_title(loc="left") for axes in canvas.axes] == ["4 tasks", "6 tasks"]
    hollow = [line.get_ydata().tolist() for line in first.lines if line.get_fillstyle() == "none"]
    assert hollow == [[88.0], [91.0]]
    assert not any(line.get_fillstyle() == "none" for line in second.lines)
    means = [container[0].get_ydata()[0] for container in first.containers]
    expected = 100 * trained["accuracy"].sel(tasks=4).isel(experts=0).mean("replicate").values
    np.testing.assert_allclose(means, expected)


def test_accuracies_stay_between_0_and_100_and_the_papers_numbers_belong_to_its_tables(trained):
    printed = {"4": {"3": {"ce": 88.0, "router": 91.0}}}
    # a t-interval over three values around 0.98 goes beyond 1
    near = trained.assign(accuracy=trained["accuracy"].copy(data=np.broadcast_to([0.94, 1.0, 1.0], (2, 2, 1, 3))))
    with style.look():
        canvas = task_figures.accuracy_curves(
            near.assign(pairs=trained["pairs"] - 140), FIGURE, arms=["ce"], printed=printed, printed_pairs=200
        )
    for axes in canvas.axes:
        bars = [segment for container in axes.containers for lines in container[2] for segment in lines.get_segments()]
        assert max(end[1] for segment in bars for end in segment) == 100.0
        assert not any(line.get_fillstyle() == "none" for line in axes.lines)
