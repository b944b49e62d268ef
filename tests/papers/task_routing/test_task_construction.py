"""The experiment that builds and checks the theorems' transformers."""

from functools import partial

import numpy as np
from cells import cell_of

from moestat.papers.task_routing import task_construction
from moestat.status import Status

cell = partial(cell_of, task_construction)


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
