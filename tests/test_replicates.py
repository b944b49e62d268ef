"""An experiment as a function of one replicate: the same streams, dataset and refusals as one written out."""

import numpy as np
import pytest

from moestat.experiment import Cell, SettingsModel
from moestat.replicates import Streams, each, steps
from moestat.status import Status


class Settings(SettingsModel):
    n: int = 4


@each(
    dims={"drawn": ("place",)}, coords=lambda s: {"place": range(s.n)}, finished="Done.", of_cell=lambda s: {"m": s.n}
)
def run(s: Settings, streams: Streams):
    """Draw."""
    return {"drawn": streams("data", n=s.n).random(s.n), "one": 1.0}


def test_streams_are_those_of_the_cell_and_the_dataset_is_whole():
    cell = Cell(__name__, 5, "arm", {}, {"n": 3})
    ds = run(cell, [2, 0])
    assert ds["drawn"].dims == ("replicate", "place") and ds["m"].item() == 3 and run.__doc__ == "Draw."
    for r in (0, 2):
        np.testing.assert_array_equal(ds["drawn"].sel(replicate=r), cell.generator(r, "data", n=3).random(3))
    assert ds["status"].values.tolist() == [0, 0] and ds["message"].values.tolist() == ["Done."] * 2


def test_steps_that_left_the_numbers_are_a_status():
    assert steps({"a": np.ones(2)}, 7) == {"status": 0, "message": "All 7 steps were taken.", "iterations": 7}
    assert steps({"a": np.array([1.0, np.inf])}, 7)["status"] == Status.NOT_FINITE


def test_a_function_without_settings_is_refused():
    with pytest.raises(TypeError, match="must be of the type Settings"):
        each()(lambda s, streams: {})
