"""The experiment that trains the task-routing transformer."""

from functools import partial

import numpy as np
import pytest
from cells import cell_of

from moestat.papers.task_routing import task_training

pytest.importorskip("torch")

SMALL = {"tasks": 4, "templates": 3, "pairs": 12, "experts": 2, "epochs": 12, "completions": 30}


cell = partial(cell_of, task_training, **SMALL)


def test_router_loss_aligns_experts_with_tasks():
    router = task_training.run(cell(loss="router", epochs=40), [0])
    plain = task_training.run(cell(loss="ce", epochs=40), [0])
    assert router["mutual_information"].item() > plain["mutual_information"].item() + 0.3
    assert router["routed_as_asked"].item() > 0.9


def test_one_expert_has_nothing_to_route():
    # both auxiliary losses are then constant, so that the studies leave one expert out
    runs = [task_training.run(cell(loss=loss, experts=1, epochs=2), [0]) for loss in ("ce", "load_balance", "router")]
    for found in runs:
        assert found["usage_entropy"].item() == found["mutual_information"].item() == 0.0
        assert np.array_equal(found["accuracy"], runs[0]["accuracy"])
        np.testing.assert_allclose(found["curve"], runs[0]["curve"], rtol=1e-12)


def test_a_held_out_fact_cannot_be_recalled():
    settings = {"epochs": 40, "completions": 500, "tasks": 3, "pairs": 30}
    seen = task_training.run(cell(**settings), [0])
    unseen = task_training.run(cell(**settings, split="pairs"), [0])
    recall = [found["accuracy_by_cut"].sel(cut="recall").item() for found in (seen, unseen)]
    assert recall[1] < 0.5 * recall[0]
