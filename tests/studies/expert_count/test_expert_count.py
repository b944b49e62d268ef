"""The experiment against Algorithm 1 written out: expert by expert, patch by patch, every measure by its definition."""

from functools import partial
from math import exp, log

import numpy as np
import pytest
from cells import computed

from moestat.experiment import Cell
from moestat.status import Status
from studies.expert_count.parts import cubic_experts, expert_count
from studies.expert_count.parts.expert_count import Settings

SIZES = {"n": 60, "test_samples": 80, "steps": 6, "records": 4, "experts": 4, "neurons": 2, "dimension": 10}
SIZES |= {"expert_slots": 4, "input_scale": 1.0, "start_scale": 0.3, "expert_rate": 0.1, "router_rate": 2.0}


def output(w, x):
    """Return f of one expert, weights (P, J, d), after one sample (P, d)."""
    return sum(float(w[p, j] @ x[p]) ** 3 for p in range(len(x)) for j in range(w.shape[1]))


def train(sample, w, noise, s, look):
    """Take the steps of equations (1) to (6); the gradients of l(y pi_m f_m) by the chain rule, sample by sample."""
    cnn, (n, patches, d) = s.expert == "cnn", sample.x.shape
    theta = np.zeros((patches, d, s.experts))
    for step in range(s.steps + 1):
        look(step, w, theta)
        r = noise.random((n, s.experts))
        g, g_theta = np.zeros_like(w), np.zeros_like(theta)
        for i in range(n):
            x, y = sample.x[i], sample.y[i]
            h = sum(x[p] @ theta[p] for p in range(patches))
            m = int(np.argmax(h + r[i]))
            pi = np.exp(h) / np.exp(h).sum()
            f = output(w[m], x)
            slope = -1 / (1 + exp(y * pi[m] * f)) * y / n
            for p in range(patches):
                for j in range(s.neurons):
                    g[m, p, j] += slope * pi[m] * 3 * float(w[m, p, j] @ x[p]) ** 2 * x[p]
                for k in range(s.experts):
                    g_theta[p, :, k] += slope * f * pi[m] * ((k == m) - pi[k]) * x[p]
        for m in range(s.experts):
            if cnn:
                g[m] = g[m].sum(axis=0)  # one weight for all patches
            norm = np.sqrt(np.sum(g[m, 0] ** 2)) if cnn else np.sqrt(np.sum(g[m] ** 2))
            if norm > 0:
                w[m] = w[m] - s.expert_rate * g[m] / norm
        if cnn:
            g_theta[:] = g_theta.sum(axis=0)
        theta = theta - s.eta_r * g_theta


def measure(w, theta, test, own, s):
    """Return accuracy, dispatch entropy (eq. 7), routing and the errors by expert and cluster."""
    table, right = np.zeros((s.experts, s.clusters)), 0
    wrong, of = np.zeros((s.experts, s.clusters)), np.bincount(test.cluster, minlength=s.clusters)
    for x, y, k in zip(test.x, test.y, test.cluster, strict=True):
        m = int(np.argmax(sum(x[p] @ theta[p] for p in range(len(x)))))
        table[m, k] += 1
        margins = [y * output(w[e], x) for e in range(s.experts)]
        right += margins[m] > 0
        wrong[:, k] += np.array(margins) <= 0
    n, error = table.sum(), wrong / of
    mine = [error[m, own[m]] for m in range(s.experts)]
    best = [min(range(s.clusters), key=lambda k: (error[m, k], -table[m, k])) for m in range(s.experts)]
    return {
        "accuracy": right / n,
        "entropy": -sum(c / n * log(c / row.sum()) for row in table for c in row if c > 0),
        "best_cluster_error": np.mean([min(row) for row in error]),
        "own_error": np.mean(mine),
        "other_error": np.mean([(sum(row) - e) / (s.clusters - 1) for row, e in zip(error, mine, strict=True)]),
        "routed_to_own": sum(table[m, own[m]] for m in range(s.experts)) / n,
        "routed_to_best": sum(table[m, best[m]] for m in range(s.experts)) / n,
        "clusters_with_best": len(set(best)),
    }


@pytest.mark.parametrize("settings", [{"expert": "mlp"}, {"expert": "cnn"}, {"expert": "mlp", "start": "independent"}])
def test_the_experiment_is_algorithm_1(settings, monkeypatch):
    """Both kinds of experts and both starts, at every step that is recorded: what a user reads is the paper's."""
    monkeypatch.setattr(cubic_experts, "CHUNK", 32)  # the last chunk of outputs is shorter
    s = Settings(**SIZES | settings)
    cell = Cell("studies.expert_count.parts.expert_count", 7, "arm", {}, s.model_dump(mode="json"))
    directions, training, test = expert_count._data(cell, s, 2)
    start = expert_count._start(cell, s, 2)
    w = np.array(np.broadcast_to(start, (s.experts, s.patches, s.neurons, s.dimension)))
    own = [
        max((float(v @ u), k) for u in e.reshape(-1, s.dimension) for k, v in enumerate(directions.labels))[1]
        for e in w
    ]
    ds = expert_count.run(cell, [2], device="cpu").isel(replicate=0)
    seen = []

    def look(step, w, theta):
        if step in s.recorded:
            seen.append(step)
            for name, value in measure(w, theta, test, own, s).items():
                assert float(ds[name].sel(step=step)) == pytest.approx(value, abs=1e-9), (step, name)

    train(training, w, cell.generator(2, "routing noise: training", experts=s.experts, n=s.n), s, look)
    assert seen == s.recorded
    assert float(ds.accuracy.isel(step=-1)) != float(ds.accuracy.isel(step=0))


SMALL = {"n": 120, "test_samples": 100, "steps": 6, "records": 3, "experts": 3, "neurons": 2, "expert_slots": 4}


run = partial(computed, expert_count, seed=7, **SMALL)


def test_cells_share_data_and_starts():
    few, many = run(experts=2), run(experts=4)
    # before the first step all samples are sent to the first expert, which is the same one
    np.testing.assert_array_equal(few.accuracy.sel(step=0), many.accuracy.sel(step=0))
    np.testing.assert_array_equal(few.error.sel(step=0, expert=[0, 1]), many.error.sel(step=0, expert=[0, 1]))
    # CNN experts start from the weights that equal MLP experts share over patches
    mlp, cnn = run(expert="mlp"), run(expert="cnn")
    np.testing.assert_allclose(mlp.error.sel(step=0), cnn.error.sel(step=0))


def test_weights_and_inputs_share_one_scale():
    """Inputs times c are a start and a step times c, and a router's rate times c^2, on the inputs as they are."""
    scaled = run(input_scale=10.0, start_scale=0.01, expert_rate=0.001, router_rate=0.1)
    plain = run(input_scale=1.0, start_scale=0.1, expert_rate=0.01, router_rate=10.0)
    for name in ("accuracy", "loss", "error", "routed_to_best"):
        np.testing.assert_allclose(plain[name], scaled[name], rtol=1e-8, err_msg=name)


def test_the_late_change_is_that_of_the_last_quarter():
    ds = run(steps=40, records=5, expert="cnn")
    np.testing.assert_allclose(ds.late_change, ds.last_accuracy - ds.accuracy.sel(step=30))


def test_failures_are_data():
    with np.errstate(all="ignore"):
        ds = run(input_scale=1e150)
    assert ds.status.item() == Status.NOT_FINITE
    assert ds.message.item() == Status.NOT_FINITE.sentence
