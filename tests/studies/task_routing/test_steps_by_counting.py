"""Neurons, counted again from sentences that are written out one by one."""

import pytest

from moestat.experiment import Cell
from studies.task_routing.parts import task_construction
from studies.task_routing.parts.task_construction import Settings


def run(**settings):
    """Return what the experiment finds on one dataset, and the dataset."""
    s = Settings(size="5x3x20", **settings)
    cell = Cell("studies.task_routing.parts.task_construction", 20260615, "a", {}, s.model_dump(mode="json"))
    knowledge = s.draw(cell.generator(1, "knowledge", **s.identity))
    return task_construction.run(cell, [1]).isel(replicate=0), knowledge


@pytest.mark.parametrize("settings", [{"router": "argmax"}, {"router": "tables"}])
def test_neurons_counted(settings):
    """Of experts, and of those without tables: beginnings of templates, and subjects."""
    found, knowledge = run(**settings)
    widths, sizes = [], []
    for task in knowledge.tasks:
        beginnings = {t.tokens[:i] for t in task.templates for i in range(1, len(t))}
        widths.append(len(beginnings) + (0 if settings["router"] == "tables" else len(set(task.subjects))))
        sizes.append(sum(map(len, task.templates)) + len(task.table))
    assert found["neurons"] == sum(widths)
    assert found["complexity_ratio_least"] == pytest.approx(min(w / c for w, c in zip(widths, sizes, strict=True)))
