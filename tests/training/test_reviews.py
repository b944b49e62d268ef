"""Reviews from the grammar: a reader that knows it recovers topic, polarity and score from the text alone."""

import re

import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.text_ids import words
from moestat.training import reviews

CLAUSE = re.compile(r"^(unlike )?(\w+) (very |slightly )?(\w+)$")


def read(text):
    """Return (topic, score) of a review, from the grammar as it is documented."""
    of = {noun: topic for topic, nouns in reviews.NOUNS.items() for noun in nouns}
    parts = text.removesuffix(" .").split(" . ")
    found = [None if part in reviews.FILLER else CLAUSE.match(part) for part in parts]
    counting = [m for m in found if m and not m[1]]
    (topic,) = {of[m[2]] for m in counting}
    (other,) = {of[m[2]] for m in found if m and m[1]}
    assert other != topic and sum(m is None for m in found) == 1
    degree = {None: 1.0, "very ": 1.5, "slightly ": 0.5}
    return topic, sum(reviews.sign(m[4], topic) * degree[m[3]] for m in counting)


def test_the_text_tells_everything():
    drawn = reviews.draw(300, np.random.default_rng(3))
    for text, topic, polarity, score in zip(drawn.texts, drawn.topic, drawn.polarity, drawn.score, strict=True):
        assert read(text) == (topic, score)
        assert polarity == ("good" if score > 0 else "bad") and score != 0
    assert max(len(words(text)) for text in drawn.texts) <= 20


def test_no_topic_has_a_preferred_sign():
    """Else the topic alone would tell the polarity; every mixed adjective is good somewhere and bad elsewhere."""
    for signs in reviews.DEPENDS.values():
        assert {"+", "-"} == set(signs) and len(signs) == len(reviews.NOUNS)
    for topic in reviews.NOUNS:
        total = sum(reviews.sign(word, topic) for word in [*reviews.PLAIN, *reviews.DEPENDS])
        assert total == 0


def test_targets_and_streams():
    drawn = reviews.draw(60, np.random.default_rng(5))
    assert drawn.target("topic").classes == tuple(reviews.NOUNS)
    assert drawn.target("polarity").classes == ("bad", "good")
    assert drawn.target("score").target is drawn.score
    assert reviews.draw(60, np.random.default_rng(5)).texts == drawn.texts
    assert reviews.draw(60, np.random.default_rng(6)).texts != drawn.texts
    with pytest.raises(ValueError, match="no column 'stars'; they have 'topic'"):
        drawn.target("stars")
