"""What verdicts on the proofs' steps hang on, counted again from sentences that are written out one by one."""

import itertools

import numpy as np
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


def written_out(knowledge):
    """Return {first words, up to all: (next tokens, tasks, beginning of the template)}."""
    out = {}
    for k, task in enumerate(knowledge.tasks):
        for template, (subject, obj) in itertools.product(task.templates, task.table):
            words = template.fill(subject, obj)
            for i in range(1, len(words) + 1):
                follow, tasks, _ = out.setdefault(words[:i], (set(), set(), template.tokens[:i]))
                follow.update(words[i : i + 1])
                tasks.add(k)
    return out


def heads_and_residual(beginnings, rng, size=120):
    """Return what one generic head says of every beginning, the last word's embedding beside it; and the rank bound."""
    names = [[w if w not in ("*1", "*2") else "entity" for w in beginning] for beginning in beginnings]
    word = {name: rng.standard_normal(size) for name in sorted({n for b in names for n in b})}
    position = rng.standard_normal((max(map(len, names)), size))
    query, key, value = rng.standard_normal((3, size, size)) / np.sqrt(size)
    rows = []
    for b in names:
        x = np.array([word[n] + position[i] for i, n in enumerate(b)])
        weight = np.exp((x @ key) @ (x[-1] @ query) / np.sqrt(size))
        rows.append(np.concatenate((weight @ x @ value / weight.sum(), x[-1])))
    return np.array(rows), len(word) + len(position) - 1


def test_dependent_vectors_of_one_head_and_the_error_of_every_linear_map():
    """Rank, its bound, and that no linear map is one-hot: by a head of our own and its null space."""
    found, knowledge = run(repairs="all but heads")
    sentences = written_out(knowledge)
    beginnings = sorted({b for _, _, b in sentences.values()})
    seen, bound = heads_and_residual(beginnings, np.random.default_rng(0))
    assert found["patterns"] == len(beginnings) and found["rank"] <= found["patterns"] and found["head_rank"] <= bound
    assert found["dependent"] == len(beginnings) - np.linalg.matrix_rank(seen) > 0
    tasks = np.array([[any(b == t.tokens[: len(b)] for t in k.templates) for k in knowledge.tasks] for b in beginnings])
    u, s, _ = np.linalg.svd(seen)
    beyond = u[:, np.linalg.matrix_rank(seen) :]  # what no linear map of these vectors can say
    assert np.abs(beyond.T @ tasks).max() > 0.1 and found["router_error"] > 0.1


def test_a_router_that_sees_the_template_alone_misroutes_at_least_this_many():
    """Whatever its weights are, it sends all prefixes with one beginning to one expert."""
    found, knowledge = run(repairs="all but subject_router")
    by_beginning = {}
    for _, tasks, beginning in written_out(knowledge).values():
        if len(tasks) == 1:
            by_beginning.setdefault(beginning, []).extend(tasks)
    least = sum(len(tasks) - max(map(tasks.count, tasks)) for tasks in by_beginning.values())
    assert 0 < least <= found["misrouted"]


@pytest.mark.parametrize("settings", [{"theorem": "dense", "shared_templates": 2}, {"router": "tables"}])
def test_neurons_counted(settings):
    """Neurons of disjoint blocks, and of experts without tables: beginnings of templates, and subjects."""
    found, knowledge = run(**settings)
    widths, sizes = [], []
    for task in knowledge.tasks:
        beginnings = {t.tokens[:i] for t in task.templates for i in range(1, len(t))}
        widths.append(len(beginnings) + (0 if "router" in settings else len(set(task.subjects))))
        sizes.append(sum(map(len, task.templates)) + len(task.table))
    assert found["neurons"] == sum(widths)
    assert found["complexity_ratio_least"] == pytest.approx(min(w / c for w, c in zip(widths, sizes, strict=True)))
