"""Long names, units and the names of an atom's coordinates, attached when results are collected."""

import numpy as np
import pytest
import xarray as xr

import moestat
from moestat.runner import labels, plan
from moestat.runner.results import within_range
from moestat.study import load

EXPERT_COUNT = "studies.expert_count.parts.expert_count"
REGRESSION = "studies.sigmoid_attention.parts.regression"
GAUSSIAN = "studies.demystifying_softmax.parts.softmax_gaussian"


def results(made, coordinates):
    """Return an empty dataset of the shape that a plan's results have."""
    grid = {"arm": [arm.name for arm in made.arms]} | {axis: list(values) for axis, values in made.axes.items()}
    shape = tuple(len(values) for values in grid.values())
    dims = (*grid, "replicate")
    theta = np.zeros((*shape, 1, 2, coordinates))
    variables = {"status": (dims, np.zeros((*shape, 1), dtype=int)), "theta": ((*dims, "atom", "coordinate"), theta)}
    variables |= {name: (dims, np.zeros((*shape, 1))) for name in ("L3", "start_L3", "fisher_L3", "mine")}
    return xr.Dataset(variables, coords=grid)


def test_coordinates_of_atoms_are_labels_where_all_cells_agree():
    made = plan.make(load.read("softmax_gaussian"), "quick")
    ds = labels.attach(results(made, 5), GAUSSIAN, made.cells)
    assert ds["coordinate"].values.tolist() == ["c", "b1", "a1", "beta", "v"]
    assert ds["atom"].values.tolist() == [1, 2]
    assert ds["theta"].sel(coordinate="b1", atom=2).size
    assert ds["theta"].attrs["long_name"] == "fitted parameters"


def test_variables_say_what_they_are_and_what_an_experiment_says_itself_stays():
    made = plan.make(load.read("sigmoid_vs_softmax"), "quick")
    ds = results(made, 12)
    ds["L3"].attrs["long_name"] = "mine"
    ds = labels.attach(ds, REGRESSION, made.cells)
    assert ds["L3"].attrs["long_name"] == "mine"
    assert ds["start_L3"].attrs["long_name"] == "Voronoi loss L3, equation (12), where the optimiser started"
    assert "long_name" not in ds["mine"].attrs


def test_an_experiment_of_ones_own_gets_the_common_names_alone(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "labels.py").write_text("raise RuntimeError('not asked for')")
    made = plan.make(load.read("sigmoid_vs_softmax"), "quick")
    ds = labels.attach(results(made, 12), "mine", made.cells)
    assert "long_name" not in ds["L3"].attrs and "coordinate" not in ds.coords
    assert ds["status"].attrs["long_name"]


def test_shares_have_a_range_and_their_intervals_stay_in_it():
    made = plan.make(load.read("task_routing"), "quick")
    dims = ("arm", "tasks", "experts", "replicate")
    grid = {"arm": [arm.name for arm in made.arms]} | {axis: list(values) for axis, values in made.axes.items()}
    ds = xr.Dataset({"accuracy": (dims, np.ones((3, 1, 1, 3))), "train_loss": (dims, np.ones((3, 1, 1, 3)))}, grid)
    ds = labels.attach(ds, "studies.task_routing.parts.task_training", made.cells)
    assert ds["accuracy"].attrs["valid_range"] == [0.0, 1.0]
    assert "valid_range" not in ds["train_loss"].attrs
    low, high = within_range(ds["accuracy"], np.array([-0.1, 0.9]), np.array([0.3, 1.2]))
    assert low.tolist() == [0.0, 0.9] and high.tolist() == [0.3, 1.0]
    assert within_range(ds["train_loss"], -1.0, 2.0) == (-1.0, 2.0)


def test_a_count_is_at_most_the_length_of_its_dimension_and_an_experiment_has_ranges_of_its_own():
    package = "studies.mixture_of_transformers.parts"
    ds = xr.Dataset(
        {"covered": ("replicate", np.ones(3)), "test_error": ("replicate", np.ones(3))}, {"class": range(4)}
    )
    found = labels.attach(ds, f"{package}.mot", [])
    assert found["covered"].attrs["valid_range"] == [0.0, 4.0] and found["test_error"].attrs["valid_range"] == [
        0.0,
        1.0,
    ]
    bare = ds.drop_vars("class").map(lambda array: array.copy(), keep_attrs=False)
    found = labels.attach(bare.copy(deep=True), f"{package}.mot", [])
    assert found["covered"].attrs["valid_range"] == [0.0, np.inf], "without the dimension the end is open"
    found = labels.attach(bare, f"{package}.mot_text", [])
    assert found["test_error"].attrs["valid_range"] == [0.0, np.inf], "a regression's error may exceed 1"


def test_an_entropy_is_at_most_the_logarithm_and_a_record_has_the_ranges_of_today():
    ds = xr.Dataset({"entropy": ("replicate", np.ones(3))}, {"cluster": range(4)}, {"experiment": EXPERT_COUNT})
    ds["entropy"].attrs["valid_range"] = np.array([0.0, np.inf])  # what an older table knew
    assert labels.described(ds)["entropy"].attrs["valid_range"] == [0.0, np.log(4)]
    ds["entropy"].attrs["valid_range"] = [0.5, 1.0]  # what the experiment says itself is not widened
    assert labels.described(ds)["entropy"].attrs["valid_range"] == [0.5, 1.0]


@pytest.mark.parametrize(("name", "ends"), [("ratio", [0.0, np.inf]), ("least_wins", [0.0, 1.0])])
def test_loading_a_record_gives_its_variables_their_ranges(name, ends):
    assert moestat.load("competition_bound")[name].attrs["valid_range"] == ends
