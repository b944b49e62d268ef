"""Templates, tasks, prefixes, and where knowledge comes from."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.data_file import DataFileError, digest
from studies.task_routing.parts import knowledge_second
from studies.task_routing.parts.knowledge import END, OBJECT, SUBJECT, Knowledge, KnowledgeError, Task, Template
from studies.task_routing.parts.knowledge_sources import FIXED, load, sample, synthetic
from studies.task_routing.parts.task_construction import Settings

LINE = {"relation": "P17", "templates": ["{subject} is in {object}."], "pairs": [["Opachychi", "Ukraine"]]}


def sentences(knowledge):
    """Yield (words, task, tokens of the template) of every sentence by the definition."""
    for k, task in enumerate(knowledge.tasks):
        for template, pair in itertools.product(task.templates, task.table):
            yield template.fill(*pair), k, template.tokens


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"open is here', "stray"),
        ("{name} is in {object}", "stray"),
        ("{subject} is here.", "holds {object} 0 times"),
        ("{object} holds {subject}.", "object before the subject"),
        ('{subject} is in the "big apple" of {object}.', "stray"),
        ("{subject} . {object}.", "single full stop"),
    ],
)
def test_template_refuses(text, message):
    with pytest.raises(KnowledgeError, match=message):
        Template.parse(text)


def test_example_is_the_papers():
    knowledge = FIXED["example"]
    assert {" ".join(words).replace('"', "").replace(" .", ".") for words, *_ in sentences(knowledge)} == {
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
    wanted = {}
    for words, k, template in sentences(knowledge):
        for i in range(1, len(words)):
            valid, tasks, pattern = wanted.setdefault(words[:i], (set(), set(), set()))
            valid.add(words[i])
            tasks.add(k)
            pattern.add(template[:i])
    found = knowledge.prefixes
    assert len(found) == len(wanted) and np.all(np.diff(found.length) >= 0)
    for row in range(len(found)):
        words = tuple(knowledge.vocabulary[t] for t in found.tokens[row, : found.length[row]])
        said = [knowledge.vocabulary[t] for t in found.valid(row)]
        tasks, pattern = set(np.flatnonzero(found.compatible[row])), {found.patterns[found.pattern[row]]}
        assert np.all(found.tokens[row, found.length[row] :] == -1)
        assert (set(said), tasks, pattern) == wanted[words] and len(said) == len(set(said))
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
    assert all(np.array_equal(part.valid(i), found.valid(row)) for i, row in enumerate(some))


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
    assert ('"a b"', "is", "in", '"c"', END) in [words for words, *_ in sentences(knowledge)]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{not json", "line 2: Invalid JSON"),
        ("[" * 5000, "line 2: Invalid JSON"),
        ({"relation": "x", "pairs": []}, "line 2: templates: Field required"),
        (LINE | {"other": 1}, "line 2: other: "),
        (LINE | {"relation": "x", "templates": "one"}, "line 2: templates: "),
        (LINE | {"relation": "x", "templates": ["{subject} is here."]}, "line 2: .* 0 times"),
        (LINE | {"relation": "x", "pairs": [["a"]]}, r"line 2: pairs\[0\]"),
        (LINE | {"relation": "x", "pairs": [["a", 3]]}, r"line 2: pairs\[0\]\[1\]: .*string"),
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
    lines = [{"relation": f"P{k}", "templates": templates, "pairs": pairs} for k in range(4)]
    path = write(tmp_path / "own.jsonl", *lines)
    source = Settings(size="3x2x10", file=str(path))
    assert source.identity == {"size": "3x2x10", "file_sha256": digest(path)}
    knowledge = source.draw(np.random.default_rng(0))
    assert len(knowledge.tasks) == 3
    assert all(len(task.templates) == 2 and len(task.table) == 10 for task in knowledge.tasks)
    with pytest.raises(KnowledgeError, match="5 tasks are asked for"):
        sample(load(path), np.random.default_rng(0), 5, 2, 10)
    with pytest.raises(KnowledgeError, match="3 templates per task are asked for; task 'P0' has 2"):
        sample(load(path), np.random.default_rng(0), 4, 3, 10)
    write(path, *lines[:3])
    with pytest.raises(DataFileError, match=digest(path)):
        source.draw(np.random.default_rng(0))


def test_the_second_generator_has_what_the_first_has_not():
    """Shared subjects, relations that are named after the object, and templates of Figure 4's kind."""
    knowledge = knowledge_second.sentences(np.random.default_rng(0), 12, 6, 40)
    for task in knowledge.tasks:
        assert len(task.templates) == 6 and len(task.subjects) == len(task.table) == 40
        assert 1 < len({obj for _, obj in task.table}) < 40
    tables = [set(task.subjects) for task in knowledge.tasks]
    assert any(a & b for a, b in itertools.combinations(tables, 2))
    texts = {" ".join(template.tokens) for template in knowledge.templates}
    assert any(text.startswith("*1 has *2 as its") for text in texts)
    assert np.mean(knowledge.prefixes.compatible[knowledge.prefix_of[knowledge.prefix_of >= 0]].sum(axis=1) > 1) > 0.1
    with pytest.raises(KnowledgeError, match="templates is 10; the second generator has at most 9"):
        knowledge_second.sentences(np.random.default_rng(0), 2, 10, 5)
