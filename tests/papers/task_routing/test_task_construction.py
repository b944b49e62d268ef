"""The experiment that builds and checks the theorems' transformers."""

import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.papers.task_routing import task_construction
from moestat.status import Status


def cell(**settings):
    resolved = task_construction.Settings(**settings).model_dump(mode="json")
    return Cell("moestat.papers.task_routing.task_construction", 3, "arm", {}, resolved)


def test_repaired_theorem_on_the_example_and_small_sizes():
    for size in ("example", "5x3x20"):
        found = task_construction.run(cell(size=size), [0, 4])
        assert np.array_equal(found["replicate"], [0, 4])
        assert (found["status"] == Status.CONVERGED).all()
        assert (found["checked"] == found["prefixes"]).all()
        for count in ("misrouted", "misrouted_ambiguous", "low_mass"):
            assert not found[count].any()
        assert (found["width_ratio"] <= 1).all()
        assert (found["dimension_ratio"] <= 1).all()
        assert (found["failure"] == "").all()


def test_printed_theorem_fails_and_says_where():
    found = task_construction.run(cell(size="5x3x20", repairs="none"), [0])
    assert found["misrouted"].item() > 0
    assert found["low_mass"].item() > 0.5 * found["prefixes"].item()
    assert found["heads"].item() == 2
    assert found["rank"].item() <= found["rank_bound"].item() < found["patterns"].item()
    assert "instead of" in found["failure"].item()


def test_dense_circuits():
    found = task_construction.run(cell(size="5x3x20", theorem="dense", shared_subjects=0.0), [0, 1])
    assert not found["circuit_differs"].any()
    assert not found["low_mass"].any()
    assert (found["neurons_ratio"] <= 1).all()
    assert (found["most_active"] == 1).all()


def test_templates_that_all_tasks_share_break_the_count_of_neurons():
    found = task_construction.run(cell(size="5x3x20", theorem="dense", shared_templates=2), [0])
    assert found["neurons_ratio"].item() > 1
    assert found["ambiguous"].item() > 0
    assert " or " in found["failure_ambiguous"].item()


def test_tables_in_the_head_leave_the_experts_small():
    found = task_construction.run(cell(size="5x3x20", router="tables"), [0, 1])
    for count in ("misrouted", "low_mass", "failing", "inseparable"):
        assert not found[count].any()
    assert (found["dimension_ratio"] <= 1).all()
    assert (found["complexity_ratio"] < 0.5).all()
    assert (found["heads"] == 2).all()
    assert np.isnan(found["rank"]).all()


def test_where_the_object_tells_the_task_some_prefix_fails():
    for settings in ({"router": "argmax"}, {"router": "none", "theorem": "dense"}):
        found = task_construction.run(cell(size="object-tells", **settings), [0])
        assert found["low_mass"].item() > 0
        assert found["low_mass_told"].item() == 0
        assert '"A" is ' in found["failure"].item()


def test_valid_sets_that_are_no_arcs_are_named():
    found = task_construction.run(cell(size="5x3x20", repairs="none"), [0])
    assert found["not_arcs"].item() == 1
    assert "may each go on with" in found["not_arcs_at"].item()
    example = task_construction.run(cell(size="example"), [0])
    assert (example["not_arcs"].item(), example["not_arcs_at"].item()) == (0, "")


def test_replicates_do_not_depend_on_the_block():
    together = task_construction.run(cell(size="5x3x20", max_prefixes=300), [0, 1, 2])
    alone = task_construction.run(cell(size="5x3x20", max_prefixes=300), [2])
    assert alone.identical(together.sel(replicate=[2]))
    assert (together["checked"] == 300).all()


def test_arms_share_the_dataset():
    first = task_construction.run(cell(size="5x3x20"), [0])
    second = task_construction.run(cell(size="5x3x20", repairs="none", theorem="dense"), [0])
    for name in ("tokens", "patterns", "prefixes", "ambiguous"):
        assert first[name].item() == second[name].item()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": "10x5"}, "tasks x templates x pairs"),
        ({"theorem": "dense", "router": "argmax"}, "go with theorem 'moe'"),
        ({"theorem": "dense", "router": "tables"}, "go with theorem 'moe'"),
        ({"router": "tables", "precision": "float32"}, "router 'tables' goes with repairs 'all'"),
        ({"router": "tables", "repairs": "all but heads"}, "router 'tables' goes with repairs 'all'"),
        ({"theorem": "moe", "router": "none"}, "with theorem 'dense'"),
        ({"theorem": "dense", "router": "none", "repairs": "none"}, "repairs 'all'"),
        ({"repairs": "all but spelling"}, "joint_isolation"),
        ({"epsilon": 0}, "greater than 0"),
    ],
)
def test_settings_refuse(settings, message):
    with pytest.raises(ValidationError, match=message):
        task_construction.Settings(**settings)
