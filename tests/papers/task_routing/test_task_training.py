"""The experiment that trains the task-routing transformer."""

import json
from functools import partial

import numpy as np
import pytest
from cells import cell_of

from moestat.data_file import digest
from moestat.papers.task_routing import task_training
from moestat.status import Status

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


def test_the_users_file(tmp_path):
    path = tmp_path / "own.jsonl"
    templates = ["{subject} is in {object}.", "the {subject} of {object}.", "by {subject} to {object}."]
    records = [
        {"relation": f"P{k}", "templates": templates, "pairs": [[f"s{k}-{i}", f"o{i % 4}"] for i in range(15)]}
        for k in range(4)
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    found = task_training.run(cell(file=str(path), file_sha256=digest(path), epochs=1), [0])
    assert found["status"].item() == Status.CONVERGED
    with pytest.raises(ValueError, match="file_sha256 is 'x'"):
        task_training.run(cell(file=str(path), file_sha256="x", epochs=1), [0])
