"""Long names, units and the names of an atom's coordinates, attached when results are collected."""

import numpy as np
import xarray as xr

from moestat.runner import labels, plan
from moestat.runner.results import within_range
from moestat.study import load


def attached(study, module, coordinates):
    """Return an empty dataset of the shape that results have, and with its labels."""
    made = plan.make(load.read(study), "quick")
    grid = {"arm": [arm.name for arm in made.arms]} | {axis: list(values) for axis, values in made.axes.items()}
    dims, shape = (*grid, "replicate"), (*(len(values) for values in grid.values()), 1)
    variables = {name: (dims, np.zeros(shape)) for name in ("status", "L3", "start_L3")}
    variables["theta"] = ((*dims, "atom", "coordinate"), np.zeros((*shape, 2, coordinates)))
    ds = xr.Dataset(variables, coords=grid)
    ds["L3"].attrs |= {} if module == "mine" else {"long_name": "mine"}
    return labels.attach(ds, module, made.cells)


def test_coordinates_of_atoms_are_labels_where_all_cells_agree():
    ds = attached("softmax_gaussian", "studies.demystifying_softmax.parts.softmax_gaussian", 5)
    assert ds["coordinate"].values.tolist() == ["c", "b1", "a1", "beta", "v"] and ds["atom"].values.tolist() == [1, 2]
    assert ds["theta"].attrs["long_name"] == "fitted parameters"


def test_variables_say_what_they_are_and_what_an_experiment_says_itself_stays():
    ds = attached("sigmoid_vs_softmax", "studies.sigmoid_attention.parts.regression", 12)
    assert ds["L3"].attrs["long_name"] == "mine"
    assert ds["start_L3"].attrs["long_name"] == "Voronoi loss L3, equation (12), where the optimiser started"


def test_an_experiment_of_ones_own_gets_the_common_names_alone(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "labels.py").write_text("raise RuntimeError('not asked for')")
    ds = attached("sigmoid_vs_softmax", "mine", 12)
    assert "long_name" not in ds["L3"].attrs and "coordinate" not in ds.coords
    assert ds["status"].attrs["long_name"]


def test_intervals_stay_in_the_range_and_what_an_experiment_says_itself_is_not_widened():
    ds = xr.Dataset({"accuracy": ("replicate", np.ones(3), {"valid_range": [0.5, 1.0]})})
    found = labels.described(ds, "studies.task_routing.parts.task_training")["accuracy"]
    assert found.attrs["valid_range"] == [0.5, 1.0]
    covered = xr.Dataset({"covered": ("replicate", np.ones(3))})
    for ds, ends in ((covered, [0.0, np.inf]), (covered.assign_coords({"class": range(4)}), [0.0, 4.0])):
        named = labels.described(ds, "studies.mixture_of_transformers.parts.mot")["covered"]
        assert named.attrs["valid_range"] == ends  # without the dimension the end is open
    low, high = within_range(found, np.array([0.4, 0.9]), np.array([0.6, 1.2]))
    assert low.tolist() == [0.5, 0.9] and high.tolist() == [0.6, 1.0]
    assert within_range(xr.DataArray(0.0), -1.0, 2.0) == (-1.0, 2.0)
