import numpy as np
import pytest

from moestat.experiment import Cell
from moestat.papers.sigmoid_attention import minimax_lower_bound
from moestat.papers.sigmoid_attention.minimax_lower_bound import Settings


def run(replicates, **settings):
    resolved = Settings(points_log2=8, d=2, **settings).model_dump(mode="json")
    cell = Cell("moestat.papers.sigmoid_attention.minimax_lower_bound", 5, "arm", {}, resolved)
    return minimax_lower_bound.run(cell, list(replicates), device="cpu")


def slope(array, axis):
    logs = np.log(array.mean("replicate"))
    return (logs[-1] - logs[2]).item() / np.log(array[axis][-1] / array[axis][2]).item()


@pytest.mark.parametrize("r", [1.0, 2.0, 4.0])
def test_the_printed_ratio_has_the_exponent_r_minus_2_and_the_bound_minus_r_over_4(r):
    ds = run(range(2), power=2, r=r)
    assert slope(ds.lemma, "m") == pytest.approx(r - 2, abs=0.01)
    assert slope(ds.le_cam, "size") == pytest.approx(-r / 4, abs=0.02)


def test_the_corrected_bound_does_not_fall():
    ds = run(range(2), sequence="corrected", power=3, r=4.0, flat=False)
    assert ds.distance.max() < 1e-12 and ds.L2r.min() > 0
    np.testing.assert_allclose(ds.le_cam, ds.le_cam[:, :1] * np.ones(ds.sizes["size"]), rtol=1e-9)
    assert ds.lone.max() == 0


def test_numbers_do_not_depend_on_the_block_of_replicates():
    together, alone = run(range(3), power=3), run([2], power=3)
    for name in together.data_vars:
        np.testing.assert_array_equal(together[name].sel(replicate=[2]), alone[name])


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
def test_splits_are_apart_and_alike(gate):
    ds = run(range(2), sequence="split", gate=gate)
    assert ds.distance.max() < 1e-12 and ds.between.min() > 0
    assert slope(ds.between, "m") == pytest.approx(-1, abs=1e-6)
    np.testing.assert_allclose(ds.le_cam, ds.le_cam[:, :1] * np.ones(ds.sizes["size"]), rtol=1e-9)
    assert np.isnan(ds.L2r).all() and np.isnan(ds.lone).all()


def test_the_softmax_has_splits_alone():
    with pytest.raises(ValueError, match="has 'split' alone"):
        Settings(gate="softmax")
