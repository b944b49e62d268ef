"""Where the object tells the task, a second head for the dictionary tokens present (App. A.3) is enough."""

import numpy as np
import pytest

from moestat.papers.task_routing.construction.memoriser import memorise, plane

SENTENCES = (["A", "is", "B", "of", "in", "."], ["A", "is", "C", "of", "on", "."])
TOKENS = ["A", "is", "B", "C", "of", "in", "on", "."]
ENTITIES = {"A": 1.0, "B": 2.0, "C": 4.0}
LENGTH, TEMPLATES, TASKS, PAIRS = 6, 2, 2, 2  # N is 2: a table of one pair has fewer
DIMENSION = 2 * LENGTH * TEMPLATES
FLAG, PLACE, TEMPLATE, PRESENT, NUMBER, SECOND = 4, 5, slice(6, 11), 12, 13, 14
"""Coordinates: entities share one in the first block, and have a number in the second."""


def embed(token, position):
    x = np.zeros(DIMENSION)
    if token in ENTITIES:
        x[FLAG] = x[PRESENT] = 1.0
        x[NUMBER] = ENTITIES[token]
    else:
        x[["is", "of", "in", "on"].index(token)] = 1.0
    x[PLACE] = position / LENGTH
    return x


def attend(scores, values):
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()


def read(prefix, head, entities):
    """Return what the hidden layer sees: last token, template head, and the head for ``entities(flags)``."""
    x = np.array([embed(token, i) for i, token in enumerate(prefix, 1)])
    queries, keys, values = head
    first = x[:, :6]
    out = x[-1].copy()
    out[TEMPLATE] += attend(first @ keys @ (first[-1] @ queries), first @ values)
    out[SECOND] += attend(60.0 * entities(x[:, PRESENT]), x[:, NUMBER])
    return out


@pytest.fixture
def head():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 6)), rng.standard_normal((6, 6)), rng.standard_normal((6, 5))


def prefixes():
    every = sorted({tuple(s[:i]) for s in SENTENCES for i in range(1, LENGTH)})
    return {p: {s[len(p)] for s in SENTENCES if tuple(s[: len(p)]) == p} for p in every}


def test_the_mean_of_the_dictionary_tokens_tells_the_task(head):
    valid = prefixes()
    seen = {p: read(p, head, lambda present: present) for p in valid}
    corners = dict(zip(TOKENS, plane(len(TOKENS)), strict=True))
    rng = np.random.default_rng(1)

    says = {1: corners["is"], 2: np.zeros(2), 3: corners["of"], 4: (corners["in"] + corners["on"]) / 2, 5: corners["."]}
    patterns = {seen[p][:12].tobytes(): (seen[p][:12], 50.0 * says[len(p)]) for p in valid}
    template = memorise(*map(np.array, zip(*patterns.values(), strict=True)), rng)
    objects = {1.0: "B", 1.5: "in", 2.5: "on"}
    dictionary = memorise(np.array(list(objects))[:, None], np.array([corners[t] for t in objects.values()]), rng)
    assert template.width + dictionary.width == 9 <= LENGTH * TEMPLATES + PAIRS * TASKS

    assert len(valid) == 8
    for prefix, tokens in valid.items():
        logits = 200.0 * plane(len(TOKENS)) @ (template(seen[prefix][:12]) + dictionary(seen[prefix][[SECOND]]))
        probability = np.exp(logits - logits.max())
        probability /= probability.sum()
        assert sum(probability[TOKENS.index(t)] for t in tokens) > 1 - 1e-9


def test_the_subject_alone_does_not(head):
    def first(present):
        return present * (np.cumsum(present) == 1)

    one, other = (read(tuple(s[:4]), head, first) for s in SENTENCES)
    assert prefixes()[tuple(SENTENCES[0][:4])] == {"in"} and prefixes()[tuple(SENTENCES[1][:4])] == {"on"}
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
