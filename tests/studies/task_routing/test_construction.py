"""The lemmas and the constructed transformer."""

from dataclasses import fields, replace
from functools import cache, partial

import numpy as np
import pytest
from cells import cell_of
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.status import Status
from studies.task_routing.parts import knowledge_small, task_construction
from studies.task_routing.parts.construction import memoriser, parity, router
from studies.task_routing.parts.construction.build import build
from studies.task_routing.parts.construction.check import check
from studies.task_routing.parts.construction.conditions import Conditions
from studies.task_routing.parts.construction.forward import forward
from studies.task_routing.parts.construction.full import FullWeights, full_weights
from studies.task_routing.parts.construction.model import Repairs
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.knowledge_sources import paper_example
from studies.task_routing.parts.knowledge_synthetic import synthetic
from studies.task_routing.parts.template import Template


def textbook(weights: FullWeights, tokens: np.ndarray, *, dense: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and experts at every position: definitions A.1, A.2 and section 3.2, word for word."""
    a = weights.embedding[tokens] + weights.positions[: len(tokens)]
    causal = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
    heads = 0.0
    for head in weights.heads:
        scores = np.where(causal, (a @ head.query) @ (a @ head.key).T, -np.inf)
        alpha = np.exp(scores - scores.max(axis=1, keepdims=True))
        heads = heads + alpha / alpha.sum(axis=1, keepdims=True) @ (a @ head.value) @ head.output
    a = heads + a
    expert = np.argmax(a @ weights.router, axis=1)
    network = np.zeros_like(a)
    for k, part in enumerate(weights.networks):
        out = np.maximum(a @ part.first + part.bias, 0.0) @ part.second
        network += out if dense else np.where((expert == k)[:, None], out, 0.0)
    return (network + a) @ weights.unembedding.T, expert


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 2**32))
def test_memoriser_fits_any_distinct_points_with_one_neuron_each(count, size, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((count, size)), rng.standard_normal((count, 3))
    fit = memoriser.memorise(x, y, rng)
    assert fit.width == count
    np.testing.assert_allclose(fit(x), y, atol=1e-6)
    assert np.all(fit.hidden(fit.knots[0] - 1.0) == 0.0)


@pytest.mark.parametrize("theorem", ["moe", "dense", "two heads"])
@pytest.mark.parametrize("which", ["all", "none", "without heads", "without joint_isolation", "without first_entity"])
@pytest.mark.parametrize("size", [None, (3, 2, 5), "one-task"])
def test_forward_is_the_textbook_transformer(theorem, which, size):
    rng = np.random.default_rng(5)
    knowledge = paper_example() if size is None else None
    knowledge = knowledge or (
        knowledge_small.named(size, rng) if isinstance(size, str) else synthetic(rng, *size, shared_subjects=0.4)
    )
    names = [field.name for field in fields(Repairs)]
    off = {"all": [], "none": names}.get(which, [which.removeprefix("without ")])
    router, theorem = ("argmax", "moe") if theorem == "two heads" else ("one_hot", theorem)
    built = build(knowledge, rng, theorem=theorem, router=router, repairs=Repairs(**dict.fromkeys(off, False)))
    weights = full_weights(built)
    assert weights.embedding.shape[1] == max(2 * built.block, built.coordinates)
    sentences = knowledge.sentences
    for row in range(0, sentences.length.shape[0], 4):
        tokens = sentences.tokens[row, : sentences.length[row]]
        logits, expert = textbook(weights, tokens, dense=theorem == "dense")
        prefixes = np.where(np.tril(np.ones((len(tokens), len(tokens)), dtype=bool)), tokens, -1)
        got = forward(built, prefixes, np.arange(1, len(tokens) + 1))
        np.testing.assert_allclose(got.logits, logits, rtol=1e-6, atol=1e-8 * np.abs(built.output).max())
        if theorem == "moe":
            assert np.array_equal(got.expert, expert)


@pytest.mark.parametrize("size", [None, (5, 3, 20)])
def test_repaired_dense_circuits_are_bitwise_equal(size):
    rng = np.random.default_rng(3)
    knowledge = synthetic(rng, *size, shared_subjects=0.0) if size else paper_example()
    built = build(knowledge, rng, theorem="dense")
    found = check(built, rng)
    assert not found.low_mass.any()
    assert not (found.differs & found.single).any()
    assert found.active[found.single].max() == 1
    neurons = sum(expert.width for expert in built.experts)
    assert neurons <= built.block + knowledge.max_table * len(knowledge.tasks)


def test_paper_example_fails_as_printed_and_names_the_prefix():
    knowledge = paper_example()
    rng = np.random.default_rng(0)
    found = check(build(knowledge, rng, repairs=replace(Repairs(), subject_router=False)), rng)
    # "Paris is" and "English is" look alike to a router that sees the template only
    assert found.misrouted.sum() == 4
    routed = found.first(found.misrouted, knowledge)
    assert routed.startswith(
        ('["Paris"] of location: routed to language', '["English"] of language: routed to location')
    )
    wrong = found.first(found.low_mass, knowledge)
    assert "says " in wrong and " instead of " in wrong
    printed = check(build(knowledge, rng, repairs=Repairs.parse("none")), rng)
    assert printed.low_mass.mean() > 0.5


@cache
def without(repair, theorem):
    """Return what is found of a transformer that lacks one repair, or none."""
    rng = np.random.default_rng(1)
    knowledge = synthetic(rng, 10, 5, 20, shared_subjects=0.0)
    repairs = replace(Repairs(), **({repair: False} if repair else {}))
    return check(build(knowledge, np.random.default_rng(2), theorem=theorem, repairs=repairs), rng)


@pytest.mark.parametrize(
    ("repair", "theorem"),
    [
        ("heads", "moe"),
        ("subject_router", "moe"),
        ("amplitude", "moe"),
        ("representative", "moe"),
        ("first_entity", "moe"),
        ("reserved", "moe"),
        ("joint_isolation", "dense"),
    ],
)
def test_every_repair_is_needed(repair, theorem):
    assert without(repair, theorem).low_mass.any() and not without("", theorem).low_mass.any()


def test_repairs_are_read_from_words():
    assert Repairs.parse("all") == Repairs()
    assert not any(getattr(Repairs.parse("none"), field.name) for field in fields(Repairs))
    assert Repairs.parse("all but heads + reserved") == replace(Repairs(), heads=False, reserved=False)
    assert Repairs.parse("heads + reserved") == replace(Repairs.parse("none"), heads=True, reserved=True)
    for wrong in ("everything", "all but spelling", "heads, amplitude"):
        with pytest.raises(ValueError, match="allowed are 'all', 'none'"):
            Repairs.parse(wrong)


@pytest.mark.parametrize("seed", range(4))
def test_two_heads_satisfy_every_bullet(seed):
    rng = np.random.default_rng(seed)
    knowledge = synthetic(rng, 8, 5, 20)
    built = build(knowledge, rng, router="argmax")
    assert built.heads == 2
    assert built.coordinates <= 2 * built.block
    assert built.separable
    assert built.rank < len(knowledge.prefixes.patterns)
    found = check(built, rng)
    assert not found.misrouted.any()
    assert not found.low_mass.any()


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_no_linear_router_for_the_parity_of_more_words_than_heads(bits, heads):
    # the identity of the proof, and, by another way, a linear programme over the same heads
    for seed in range(3):
        distance = parity.distance(bits, heads, np.random.default_rng(seed))
        z, _ = parity.inputs(bits, heads, np.random.default_rng(seed))
        tasks = np.array([[bin(i).count("1") % 2 == k for k in (0, 1)] for i in range(len(z))])
        found = router.argmax(z, 2, Conditions(np.arange(len(z)), tasks, ~tasks)).separable
        if bits > heads:
            assert distance < 1e-14
            assert not found
        else:
            assert distance > 1e-6
            assert found


def test_a_subject_in_two_tables_with_a_shared_beginning_is_beyond_disjoint_circuits():
    shared = (("Ada", "London"),)
    knowledge = Knowledge(
        (
            Task("born", (Template.parse("*1 was born in *2."),), (*shared, ("Alan", "London"))),
            Task("died", (Template.parse("*1 was buried in *2."),), (*shared, ("Kurt", "Princeton"))),
        )
    )
    rng = np.random.default_rng(0)
    found = check(build(knowledge, rng, theorem="dense"), rng)
    both = found.prefixes.compatible.all(axis=1)
    assert both.sum() == 2  # "Ada" and "Ada was"
    # after "Ada" both say "was" so loudly that the probabilities of one are those of two; after that they disagree
    assert found.differs[both].tolist() == [False, True]
    assert "a circuit alone says something else (distance " in found.first(found.differs, knowledge, "dense")
    assert not found.differs[~both].any()
    assert not found.low_mass[~both].any()
    moe = check(build(knowledge, rng), rng)
    assert not moe.low_mass.any()
    assert not moe.misrouted.any()


@st.composite
def datasets(draw):
    """Small datasets full of collisions: shared templates, subjects in two tables, entities in both roles."""
    words, names = st.sampled_from(["is", "in", "of"]), st.sampled_from(["A", "B", "C", "D", "E", "F"])
    part = st.lists(words, max_size=2)
    template = st.builds(lambda a, b, c: Template((*a, "*1", *b, "*2", *c, ".")), part, part, part)
    tables = st.lists(st.tuples(names, names), min_size=1, max_size=5, unique=True)
    templates = st.lists(template, min_size=1, max_size=3, unique=True)
    count = draw(st.integers(1, 3))
    return Knowledge(tuple(Task(f"R{k}", tuple(draw(templates)), tuple(draw(tables))) for k in range(count)))


@settings(max_examples=120, deadline=None)
@given(datasets(), st.integers(0, 2**32))
def test_repaired_moe_wherever_template_and_subject_tell_the_task(knowledge, seed):
    rng = np.random.default_rng(seed)
    built = build(knowledge, rng)
    found = check(built, rng)
    prefixes = found.prefixes
    words = len(knowledge.words)
    for row in range(len(prefixes)):
        entities = [t for t in prefixes.tokens[row] if t >= words]
        tasks = prefixes.pattern_tasks[prefixes.pattern[row]]
        if entities:
            tasks = tasks & (built.entity_member[entities[0]] > 0)
        if np.array_equal(tasks, prefixes.compatible[row]):
            assert not found.misrouted[row]
            assert not found.low_mass[row]
    for task, expert in zip(knowledge.tasks, built.experts, strict=True):
        assert expert.width <= knowledge.max_length * len(task.templates) + knowledge.max_table


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
    for other in ({"router": "argmax"}, {"router": "none", "theorem": "dense"}):
        found = task_construction.run(cell(size="object-tells", **other), [0])
        assert found["low_mass"].item() > 0
        assert found["low_mass_told"].item() == 0
        assert '"A" is ' in found["failure"].item()
