"""A small cell of every experiment that can use a GPU, on the device and on the processor."""

import numpy as np
import pytest

from moestat.experiment import Cell
from moestat.fit import competition_mle, population
from studies.compete_smoe.parts import competition_mle as competition
from studies.demystifying_softmax.parts import softmax_gaussian
from studies.expert_count.parts import expert_count
from studies.sigmoid_attention.parts import regression, settled_argmin

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory):
    """Keep pseudo-truths and Fisher lines out of the user's cache: what the device computes is computed here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOESTAT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


SMALL = {"n": 200, "d": 2, "n_true": 2, "n_fitted": 2, "evaluation_log2": 10} | {
    "pseudo_points_log2": 9,
    "pseudo_polish_log2": 10,
    "pseudo_starts": 2,
}
ROUGH = ("iterations", "gradient", "decrement", "min_eigenvalue", "search_steps", "rounds_there", "unsettled")
"""How a fit got there, and numbers that are zero but for rounding."""


def both(module, device, settings, replicates=(0, 1, 2)):
    """Return the datasets of one cell on the processor and on the device."""
    resolved = module.Settings(**settings).model_dump(mode="json")
    cell = Cell(module.__name__, 5, "arm", {}, resolved)
    return [module.run(cell, list(replicates), device=each) for each in ("cpu", device)]


def same(cpu, gpu, *, rtol, atol=0.0, leave=()):
    """Assert that two datasets hold the same variables, and all but some the same numbers."""
    assert set(gpu.data_vars) == set(cpu.data_vars) and gpu.sizes == cpu.sizes
    assert gpu.attrs == cpu.attrs
    for key in sorted(set(cpu.data_vars) - set(leave) - set(ROUGH) - {"message"}):
        one, other = gpu[key].values, cpu[key].values
        if other.dtype.kind in "iubUO":
            np.testing.assert_array_equal(one, other, err_msg=key)
        else:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=key)


def test_the_argmin_by_two_searches(cuda):
    """Searches part by rounding, and their end points with them; the local fits and the shape of the results do not."""
    cpu, gpu = both(settled_argmin, cuda, SMALL | {"expert": "linear", "evaluations": 1}, replicates=(0, 1))
    assert set(gpu.data_vars) == set(cpu.data_vars) and gpu.sizes == cpu.sizes
    np.testing.assert_allclose(gpu["L3_local"], cpu["L3_local"], rtol=1e-4)
    assert np.all(np.abs(gpu["gain"] - cpu["gain"]) <= np.log(200))


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["relu", "gelu"])
def test_regression_by_least_squares(cuda, gate, expert):
    gates = {"truth_gate": gate, "fitted_gate": gate, "expert": expert}
    cpu, gpu = both(regression, cuda, SMALL | gates | {"starts": 2})
    np.testing.assert_allclose(gpu["truth_loss"], cpu["truth_loss"], rtol=1e-12)
    np.testing.assert_allclose(gpu["train_loss"], cpu["train_loss"], rtol=1e-6)
    np.testing.assert_array_equal(gpu["status"], cpu["status"])
    # parameters may lie elsewhere in a flat valley, and the losses that see them with them
    np.testing.assert_allclose(gpu["rmse"], cpu["rmse"], rtol=1e-2)
    same(cpu, gpu, rtol=1e-2, leave=[key for key in cpu.data_vars if not key.startswith(("bound_", "fisher_"))])


def test_regression_against_pseudo_truths_that_the_device_has_searched(cuda, monkeypatch):
    monkeypatch.setitem(population.pseudo_truths.__kwdefaults__, "max_iterations", 200)
    settings = SMALL | {"truth_gate": "sigmoid", "fitted_gate": "softmax", "expert": "gelu"}
    cpu, gpu = both(regression, cuda, settings)
    np.testing.assert_allclose(gpu["train_loss"], cpu["train_loss"], rtol=1e-6)
    # the list is named by what it depends on, without the device: the second run reads what the first has left
    np.testing.assert_array_equal(gpu["pseudo_rmse"], cpu["pseudo_rmse"])
    np.testing.assert_allclose(gpu["rmse_pseudo"], cpu["rmse_pseudo"], rtol=1e-2)


def test_pseudo_truths_are_as_good(cuda):
    from moestat.models import truths
    from moestat.models.regression import Model

    true, model = (Model(gate, "linear", "gelu", 1) for gate in ("sigmoid", "softmax"))
    rng = np.random.default_rng(0)
    truth = 2.0 * truths.ground_truth(true, 2, "dense", rng)
    starts = truth + 0.1 * rng.standard_normal((2, *truth.shape))
    found = [
        population.pseudo_truths(model, (true, truth), starts, points_log2=9, polish_log2=10, device=device)
        for device in ("cpu", cuda)
    ]
    np.testing.assert_allclose(found[1].rmse[0], found[0].rmse[0], rtol=1e-4)
    np.testing.assert_array_equal(found[1].status[0], found[0].status[0])


def test_regression_by_a_global_search(cuda):
    settings = SMALL | {"d": 1, "truth_score": "linear", "fitted_score": "linear", "expert": "linear"}
    settings |= {"truth_gate": "softmax", "fitted_gate": "softmax", "search": "global", "search_effort": 0.2}
    cpu, gpu = both(regression, cuda, settings, replicates=(0,))
    np.testing.assert_allclose(gpu["train_loss"], cpu["train_loss"], rtol=1e-6)
    np.testing.assert_allclose(gpu["search_local_loss"], cpu["search_local_loss"], rtol=1e-6)
    np.testing.assert_array_equal(gpu["status"], cpu["status"])


@pytest.mark.parametrize("batch_size", [0, 10])
def test_the_papers_protocol(cuda, batch_size):
    settings = SMALL | {"estimator": "sgd", "epochs": 2, "batch_size": batch_size, "expert": "relu"}
    cpu, gpu = both(regression, cuda, settings | {"truths": 2})
    same(cpu, gpu, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("estimator", ["maximum_likelihood", "em"])
def test_softmax_gated_mixtures(cuda, estimator):
    settings = {"n": 200, "estimator": estimator, "starts": 2, "evaluation_points": 16, "max_iterations": 50}
    cpu, gpu = both(softmax_gaussian, cuda, settings)
    # which of two starts ends lower by rounding is open, and what is said of the start with it
    beside = [key for key in cpu.data_vars if key.startswith("start_")]
    same(cpu, gpu, rtol=1e-4, atol=1e-5, leave=beside if estimator == "maximum_likelihood" else ())


def test_softmax_gated_mixtures_of_three_experts_by_search(cuda):
    settings = {"n": 120, "experts": 3, "starts": 1, "evaluation_points": 16, "search_rounds": 1, "kept": 1}
    cpu, gpu = both(softmax_gaussian, cuda, settings, replicates=(0,))
    np.testing.assert_array_equal(gpu["status"], cpu["status"])
    np.testing.assert_allclose(gpu["log_likelihood"], cpu["log_likelihood"], rtol=0, atol=0.2)


@pytest.fixture
def fewer_steps(monkeypatch):
    """Let fits of competition-gated mixtures end early."""
    for option, value in (("adam_steps", 30), ("search_rounds", 8), ("coarsest", 200)):
        monkeypatch.setitem(competition_mle.maximum_likelihood.__kwdefaults__, option, value)


def test_competition_gated_mixtures(cuda, fewer_steps):
    settings = {"design": "continuous", "n": 250, "pool_log2": 12, "evaluation_points": 64}
    cpu, gpu = both(competition, cuda, settings | {"hops": 1}, replicates=(0, 1))
    assert set(gpu.data_vars) == set(cpu.data_vars)
    # rounding may decide between the peaks of a likelihood that jumps
    np.testing.assert_allclose(gpu["gain"], cpu["gain"], rtol=0, atol=20.0)
    np.testing.assert_allclose(gpu["hellinger"], cpu["hellinger"], rtol=1.0)
    assert np.isfinite(gpu["D"]).all()


@pytest.mark.parametrize("expert", ["mlp", "cnn"])
def test_top_one_mixtures(cuda, expert):
    settings = {"n": 300, "test_samples": 200, "steps": 10, "records": 3, "experts": 4, "neurons": 4}
    cpu, gpu = both(expert_count, cuda, settings | {"expert": expert, "expert_slots": 4})
    same(cpu, gpu, rtol=1e-6, atol=1e-9)
