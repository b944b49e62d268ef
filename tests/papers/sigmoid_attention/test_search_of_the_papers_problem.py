"""The global search of the paper's own problem: how low it ends, and that it does not say more than it knows."""

import numpy as np
import pytest

from moestat.claims.evidence import AGAIN
from moestat.experiment import Cell
from moestat.fit.global_search import Budget, global_search
from moestat.papers.sigmoid_attention import regression, regression_targets


def stream(seed, purpose):
    return np.random.default_rng([seed, *purpose.encode()])


def paper_cell(gate, expert, n, replicates, **settings):
    """The paper's problem and the study's own draws: d = 8, N* = 8, N = 9."""
    chosen = regression.Settings(
        n=n, truth_gate="softmax", fitted_gate=gate, expert=expert, search="global", pseudo_search="starts", **settings
    ).model_dump()
    cell = Cell("moestat.papers.sigmoid_attention.regression", 20260101, "arm", {"n": n}, chosen)
    return regression.run(cell, replicates)


@pytest.mark.slow
def test_the_papers_problem_is_searched_below_31_noise_variances_of_the_local_fit():
    """Softmax gate, linear experts, n = 10,000, replicate 0: many other searches ended at 0.004628 to 0.004631."""
    ds = paper_cell("softmax", "linear", 10_000, [0])
    assert float(ds["search_local_loss"][0]) == pytest.approx(0.0046468, rel=1e-4)
    assert float(ds["train_loss"][0]) <= 0.004631


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["linear", "relu"])
def test_where_a_dearer_search_finds_more_the_cheaper_one_had_not_settled(gate, expert, tmp_path_factory, monkeypatch):
    """The paper's problem at n = 1000, two samples per parameter: no search settles there, and none says that it did.

    What an independent search with ten times the starts finds below it at larger n is in ``benchmarks/``.
    """
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    n, replicates, effort = 1000, [0, 1], 0.12  # of the preset that is shipped
    ds = paper_cell(gate, expert, n, replicates, search_effort=effort)
    settings = regression.Settings(n=n, truth_gate="softmax", fitted_gate=gate, expert=expert)
    target = regression_targets.target_of(settings.problem, 20260101)
    cell = Cell("moestat.papers.sigmoid_attention.regression", 20260101, "arm", {"n": n}, settings.model_dump())
    x, y = regression._draw(cell, settings, settings.problem, target, replicates)
    for k in replicates:
        dear = global_search(
            settings.problem.fitted,
            x[k],
            y[k],
            local=target.minimisers[:1],
            known=target.minimisers,
            stream=lambda purpose, k=k: stream(4711 + k, purpose),
            budget=Budget().times(10 * effort),
        )
        lower = 2 * n * (float(ds["train_loss"][k]) - float(dear.fit.loss[0])) / 0.01
        settled = int(ds["search_found"][k]) >= AGAIN
        assert lower <= np.log(n) or not settled, f"replicate {k}: lower by {lower:.1f} noise variances"
