from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.papers.expert_count import expert_count
from moestat.status import Status

SMALL = {"n": 120, "test_samples": 100, "steps": 6, "records": 3, "experts": 3, "neurons": 2, "expert_slots": 4}


run = partial(computed, expert_count, seed=7, **SMALL)


def test_cells_share_data_and_starts():
    few, many = run(experts=2), run(experts=4)
    # before the first step all samples are sent to the first expert, which is the same one
    np.testing.assert_array_equal(few.accuracy.sel(step=0), many.accuracy.sel(step=0))
    np.testing.assert_array_equal(few.error.sel(step=0, expert=[0, 1]), many.error.sel(step=0, expert=[0, 1]))
    np.testing.assert_array_equal(few.profession.sel(expert=[0, 1]), many.profession.sel(expert=[0, 1]))
    # CNN experts start from the weights that equal MLP experts share over patches
    mlp, cnn = run(expert="mlp"), run(expert="cnn")
    np.testing.assert_allclose(mlp.error.sel(step=0), cnn.error.sel(step=0))


def test_weights_and_inputs_share_one_scale():
    """Inputs times c are a start and a step times c, and a router's rate times c^2, on the inputs as they are."""
    scaled = run(input_scale=10.0, start_scale=0.01, expert_rate=0.001, router_rate=0.1)
    plain = run(input_scale=1.0, start_scale=0.1, expert_rate=0.01, router_rate=10.0)
    for name in ("accuracy", "loss", "error", "dispatch"):
        np.testing.assert_allclose(plain[name], scaled[name], rtol=1e-8, err_msg=name)


def test_the_division_after_the_training():
    ds = run([0, 1], steps=40, records=5, expert="cnn")
    error, sent = (ds[name].isel(step=-1, expert=slice(3)).values for name in ("error", "dispatch"))
    for r in range(2):
        best = [min(range(4), key=lambda k: (error[r, m, k], -sent[r, m, k])) for m in range(3)]
        assert ds.last_routed_to_best.values[r] == pytest.approx(sum(sent[r, m, k] for m, k in enumerate(best)))
        assert ds.last_clusters_with_best.values[r] == len(set(best))
        assert ds.last_best_cluster_error.values[r] == pytest.approx(np.mean([error[r, m, best[m]] for m in range(3)]))
    np.testing.assert_allclose(ds.late_change, ds.last_accuracy - ds.accuracy.sel(step=30))
    assert np.array_equal(ds.covered, ds.clusters_with_expert == 4)


def test_failures_are_data():
    with np.errstate(all="ignore"):
        ds = run(input_scale=1e150)
    assert ds.status.item() == Status.NOT_FINITE
    assert ds.message.item() == Status.NOT_FINITE.sentence
