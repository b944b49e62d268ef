import itertools

import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.losses import routing
from moestat.papers.expert_count import expert_count
from moestat.papers.expert_count.expert_count import Settings
from moestat.status import Status

SMALL = {"n": 120, "test_samples": 100, "steps": 6, "records": 3, "experts": 3, "neurons": 2, "expert_slots": 4}


def cell(seed=7, **settings):
    resolved = Settings(**SMALL | settings).model_dump(mode="json")
    return Cell("moestat.papers.expert_count.expert_count", seed, "arm", {}, resolved)


def run(replicates=(0,), **settings):
    return expert_count.run(cell(**settings), list(replicates), device="cpu")


@pytest.mark.parametrize(("expert", "start"), list(itertools.product(["mlp", "cnn"], ["equal", "independent"])))
def test_the_dataset_is_what_the_contract_says(expert, start):
    ds = run([3, 1], expert=expert, start=start)
    assert list(ds.replicate.values) == [3, 1]
    assert list(ds.step.values) == [0, 3, 6]
    assert ds.error.dims == ("replicate", "step", "expert", "cluster") and ds.error.shape == (2, 3, 4, 4)
    assert np.all(np.isnan(ds.expert_load.sel(expert=3)))
    np.testing.assert_allclose(ds.expert_load.sum("expert"), 1)
    np.testing.assert_allclose(ds.dispatch.sum(["expert", "cluster"]), 1)
    assert np.all(ds.status == Status.CONVERGED)
    assert list(ds.message.values) == ["All 6 steps were taken."] * 2
    np.testing.assert_allclose(ds.entropy, routing.dispatch_entropy(ds.dispatch.isel(expert=slice(3)).values))
    np.testing.assert_array_equal(ds.best_accuracy, ds.accuracy.max("step"))
    np.testing.assert_array_equal(ds.last_entropy, ds.entropy.isel(step=-1))
    assert ds.best_accuracy.sel(replicate=3) == ds.accuracy.sel(replicate=3, step=ds.best_step.sel(replicate=3))
    assert np.all((ds.own_error >= ds.best_cluster_error - 1e-12) & (ds.accuracy <= 1))


def test_numbers_do_not_depend_on_the_block_of_replicates():
    together = run([0, 1, 2])
    apart = [run([r]) for r in (2, 0)]
    for name in together.data_vars:
        np.testing.assert_array_equal(together[name].sel(replicate=2), apart[0][name].sel(replicate=2))
        np.testing.assert_array_equal(together[name].sel(replicate=0), apart[1][name].sel(replicate=0))


def test_a_longer_run_repeats_a_shorter_one():
    short, long = run(), run(steps=12, records=5)
    for name in ("accuracy", "entropy", "error", "loss"):
        np.testing.assert_array_equal(short[name].sel(step=[3, 6]), long[name].sel(step=[3, 6]))


def test_cells_share_data_and_starts():
    few, many = run(experts=2), run(experts=4)
    # before the first step all samples are sent to the first expert, which is the same one
    np.testing.assert_array_equal(few.accuracy.sel(step=0), many.accuracy.sel(step=0))
    np.testing.assert_array_equal(few.error.sel(step=0, expert=[0, 1]), many.error.sel(step=0, expert=[0, 1]))
    np.testing.assert_array_equal(few.profession.sel(expert=[0, 1]), many.profession.sel(expert=[0, 1]))
    # CNN experts start from the weights that equal MLP experts share over patches
    mlp, cnn = run(expert="mlp"), run(expert="cnn")
    np.testing.assert_allclose(mlp.error.sel(step=0), cnn.error.sel(step=0))


def test_the_start_is_the_one_asked_for():
    equal, independent = (
        expert_count._start(cell(start=s), Settings(**SMALL, start=s), 0) for s in ("equal", "independent")
    )
    assert equal.shape == independent.shape == (3, 4, 2, 50)
    np.testing.assert_array_equal(equal[:, 0], equal[:, 3])
    assert np.all(independent[:, 0] != independent[:, 3])
    np.testing.assert_array_equal(equal[:, 0], independent[:, 0])
    # 1200 squares: the root mean square is within 4.9 standard errors of sigma_0 with probability 1 - 1e-6
    assert np.sqrt(np.mean(independent**2)) == pytest.approx(0.01, rel=4.9 / np.sqrt(2 * 1200))


def test_learning_rates_of_the_router():
    assert [Settings(experts=m).eta_r for m in (4, 8, 16, 32, 64)] == [0.1, 0.1, 0.1, 0.25, 0.4]
    assert Settings(experts=8, router_rate="theorem").eta_r == pytest.approx(0.064)
    assert Settings(router_rate=0.3).eta_r == 0.3


def test_the_exploration_stage_is_counted_in_the_units_of_the_papers_inputs():
    # sigma_0 = 0.01 and eta = 0.001 on inputs times 10 are 0.1 and 0.01
    assert Settings().exploration == 31
    assert Settings(input_scale=1.0).exploration == 100
    assert Settings(input_scale=1.0, steps=50).exploration == 50


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


def test_a_router_that_is_off_sends_all_samples_to_the_first_expert():
    ds = run(router_rate=0.0)
    np.testing.assert_array_equal(ds.expert_load.sel(expert=0), np.ones((1, 3)))
    noisy = run(router_rate=0.0, evaluation_noise=True)
    assert np.all(noisy.experts_used == 3)


def test_training_learns():
    ds = run(n=600, test_samples=400, steps=60, expert="cnn", experts=8, expert_slots=8, neurons=8)
    assert ds.last_accuracy.item() > 0.75  # guessing gives 0.5 with standard error 0.025
    assert ds.train_loss.isel(step=-1).item() < 0.8 * ds.train_loss.isel(step=0).item()


def test_failures_are_data():
    with np.errstate(all="ignore"):
        ds = run(input_scale=1e150)
    assert ds.status.item() == Status.NOT_FINITE
    assert ds.message.item() == Status.NOT_FINITE.sentence


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"experts": 5}, "expert_slots = 4 must be at least that"),
        ({"dimension": 7}, "4 clusters need at least 8"),
        ({"records": 9}, "6 steps allow at most 7"),
        ({"signal": (2, 1)}, "0 < low <= high"),
        ({"expert": "conv"}, "'mlp' or 'cnn'"),
        ({"width": 3}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        Settings(**SMALL | settings)


@pytest.mark.gpu
def test_a_gpu_follows_the_cpu():
    pytest.importorskip("cupy")
    cells = cell(n=500, test_samples=400, steps=10, experts=4, neurons=4)
    cpu, gpu = (expert_count.run(cells, [0, 1, 2], device=device) for device in ("cpu", "cuda"))
    for name in ("train_loss", "loss"):
        np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-6)
    alone = expert_count.run(cells, [1], device="cuda")
    np.testing.assert_array_equal(alone["profession"], gpu["profession"].sel(replicate=[1]))
