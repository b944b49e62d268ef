"""Templates, tasks, prefixes, and where knowledge comes from."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.data_file import DataFileError, digest
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.knowledge_file import load
from studies.task_routing.parts.knowledge_sources import Source, paper_example, sample
from studies.task_routing.parts.knowledge_synthetic import synthetic
from studies.task_routing.parts.template import END, OBJECT, SUBJECT, KnowledgeError, Template, tokenize

LINE = {"relation": "P17", "templates": ["{subject} is in {object}."], "pairs": [["Opachychi", "Ukraine"]]}


def sentences(knowledge):
    """Return {sentence: tasks} by the definition."""
    out = {}
    for k, task in enumerate(knowledge.tasks):
        for template in task.templates:
            for subject, obj in task.table:
                out.setdefault(template.fill(subject, obj), set()).add(k)
    return out


@pytest.mark.parametrize("text", ['"open is here', "{name} is in {object}", "a } b"])
def test_tokenize_refuses_stray_signs(text):
    with pytest.raises(KnowledgeError, match="stray"):
        tokenize(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{subject} is here.", "holds {object} 0 times"),
        ("{object} holds {subject}.", "object before the subject"),
        ('{subject} is in the "big apple" of {object}.', "quoted name"),
        ("{subject} . {object}.", "single full stop"),
    ],
)
def test_template_refuses(text, message):
    with pytest.raises(KnowledgeError, match=message):
        Template.parse(text)


def test_example_is_the_papers():
    knowledge = paper_example()
    assert {" ".join(words).replace('"', "").replace(" .", ".") for words in sentences(knowledge)} == {
        "Paris is in France.",
        "Madrid is in Spain.",
        "English is spoken widely in Canada.",
        "Hindi is spoken widely in India.",
    }
    assert [task.complexity for task in knowledge.tasks] == [5 + 2, 7 + 2]
    assert (knowledge.max_length, knowledge.max_table, len(knowledge.vocabulary)) == (7, 2, 13)


@st.composite
def datasets(draw):
    """Small datasets full of collisions: few words, few entities, both roles for an entity."""
    words, names = st.sampled_from(["is", "in", "of"]), st.sampled_from(["A", "B", "C", "D"])
    part = st.lists(words, max_size=2)
    template = st.builds(lambda a, b, c: Template((*a, SUBJECT, *b, OBJECT, *c, END)), part, part, part)
    tables = st.lists(st.tuples(names, names), min_size=1, max_size=4, unique=True)
    templates = st.lists(template, min_size=1, max_size=3, unique=True)
    count = draw(st.integers(1, 3))
    return Knowledge(tuple(Task(f"R{k}", tuple(draw(templates)), tuple(draw(tables))) for k in range(count)))


@settings(max_examples=150, deadline=None)
@given(datasets())
def test_prefixes_by_the_definition(knowledge):
    valid, tasks, pattern = {}, {}, {}
    for k, task in enumerate(knowledge.tasks):
        for template in task.templates:
            for subject, obj in task.table:
                words = template.fill(subject, obj)
                for i in range(1, len(words)):
                    valid.setdefault(words[:i], set()).add(words[i])
                    tasks.setdefault(words[:i], set()).add(k)
                    pattern.setdefault(words[:i], set()).add(template.tokens[:i])
    found = knowledge.prefixes
    assert len(found) == len(valid)
    assert np.all(np.diff(found.length) >= 0)
    for row in range(len(found)):
        words = tuple(knowledge.vocabulary[t] for t in found.tokens[row, : found.length[row]])
        assert np.all(found.tokens[row, found.length[row] :] == -1)
        assert {knowledge.vocabulary[t] for t in found.valid(row)} == valid[words]
        assert len(found.valid(row)) == len(valid[words])
        assert set(np.flatnonzero(found.compatible[row])) == tasks[words]
        assert {found.patterns[found.pattern[row]]} == pattern[words]
    for row, words in enumerate(found.patterns):
        mine = {k for k, t in enumerate(knowledge.tasks) if any(u.tokens[: len(words)] == words for u in t.templates)}
        assert set(np.flatnonzero(found.pattern_tasks[row])) == mine
    rows = knowledge.sentences
    for sentence, where in enumerate(knowledge.prefix_of):
        for i, row in enumerate(where):
            assert (row == -1) == (i + 1 >= rows.length[sentence])
            assert row == -1 or np.array_equal(found.tokens[row, : i + 1], rows.tokens[sentence, : i + 1])
    some = np.arange(len(found))[::-2]
    part = found.take(some)
    for i, row in enumerate(some):
        assert np.array_equal(part.valid(i), found.valid(row))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 5), st.integers(1, 30))
def test_synthetic_shape_and_separation(seed, tasks, templates, pairs):
    knowledge = synthetic(np.random.default_rng(seed), tasks, templates, pairs)
    assert len(knowledge.tasks) == tasks
    assert all(len(task.templates) == templates and len(task.subjects) == pairs for task in knowledge.tasks)
    assert knowledge.max_length <= 10
    found = knowledge.prefixes
    shows_object = np.array([OBJECT in pattern for pattern in found.patterns])
    assert np.all(found.pattern_tasks[shows_object].sum(axis=1) == 1)


def write(path, *lines):
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_load_reads_the_users_file(tmp_path):
    path = write(tmp_path / "own.jsonl", LINE, "", LINE | {"relation": "P36", "pairs": [["a b", "c"], ["d", "c"]]})
    knowledge = load(path)
    assert [task.name for task in knowledge.tasks] == ["P17", "P36"]
    assert ('"a b"', "is", "in", '"c"', END) in sentences(knowledge)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{not json", "line 2: not JSON"),
        ([1], "line 2: a line must be an object with the keys relation, templates and pairs; found list"),
        ({"relation": "x", "pairs": []}, "line 2: .*found pairs, relation"),
        (LINE | {"relation": "x", "templates": "one"}, "line 2: templates must be a list"),
        (LINE | {"relation": "x", "pairs": [["a"]]}, r"line 2: pairs\[0\] is \['a'\]"),
        (LINE | {"relation": "x", "pairs": [["a", "b"], ["a", "b"]]}, r"line 2: .*\('a', 'b'\) twice"),
        (LINE, "given twice: P17"),
    ],
)
def test_load_says_where_it_hurts(tmp_path, bad, message):
    path = write(tmp_path / "own.jsonl", LINE, bad)
    with pytest.raises(KnowledgeError, match=message) as error:
        load(path)
    assert "own.jsonl" in str(error.value)


def test_source_ties_results_to_the_file(tmp_path):
    pairs = [[f"s{i}", f"o{i % 3}"] for i in range(20)]
    templates = ["{subject} is in {object}.", "the {subject} of {object}."]
    path = write(
        tmp_path / "own.jsonl", *({"relation": f"P{k}", "templates": templates, "pairs": pairs} for k in range(4))
    )
    source = Source.parse("3x2x10", file=str(path), file_sha256=digest(path))
    knowledge = source.draw(np.random.default_rng(0))
    assert len(knowledge.tasks) == 3
    assert all(len(task.templates) == 2 and len(task.table) == 10 for task in knowledge.tasks)
    with pytest.raises(DataFileError, match=digest(path)):
        Source.parse("3x2x10", file=str(path)).draw(np.random.default_rng(0))
    with pytest.raises(KnowledgeError, match="5 tasks are asked for"):
        sample(load(path), np.random.default_rng(0), 5, 2, 10)
    with pytest.raises(KnowledgeError, match="3 templates per task are asked for; task 'P0' has 2"):
        sample(load(path), np.random.default_rng(0), 4, 3, 10)
