"""Reviews from a small grammar: the classification mixture of the mixture-of-transformers paper, in words.

A review is about one topic and says two or three things of it in clauses ``NOUN [DEGREE] ADJECTIVE``. The nouns tell
the topic (the class signal c_n of Definition 1); the adjectives carry the sign, and for half of them the sign depends
on the topic: a light tyre is bad, light food is not (the classification signal v_n). One more clause, after
``unlike``, is about another topic and does not count (the conflicting signal v_n'), and one is filler (the noise
tokens). The order of the clauses is random.

The score of a review is the sum over the counting clauses of sign x degree. Its polarity is the sign of the score;
reviews with the score 0 are drawn again. Both are functions of the text: a perfect reader makes no error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.training.labelled_text import LabelledText, labelled

NOUNS = {
    "book": ("plot", "prose", "ending"),
    "car": ("engine", "tyre", "brake"),
    "food": ("soup", "sauce", "bread"),
    "hotel": ("room", "bed", "lobby"),
}
"""Topic -> its nouns."""

PLAIN = {"good": 1, "lovely": 1, "excellent": 1, "bad": -1, "awful": -1, "poor": -1}
"""Adjectives of one sign whatever the topic is."""

DEPENDS = {
    "light": "+-+-",
    "heavy": "-+-+",
    "quiet": "-+-+",
    "sharp": "+-+-",
    "soft": "--++",
    "firm": "++--",
}
"""Adjectives whose sign depends on the topic, in the order of :data:`NOUNS`; every topic has three good ones."""

DEGREES = {"": 1.0, "very": 1.5, "slightly": 0.5}
FILLER = ("on monday", "in april", "with friends", "after work")


@dataclass(frozen=True)
class Reviews:
    """Reviews with what is known of them; ``score`` is float64, shape (n,)."""

    texts: tuple[str, ...]
    topic: tuple[str, ...]
    polarity: tuple[str, ...]
    score: np.ndarray

    def target(self, column: str) -> LabelledText:
        """Return the texts with one column as the target: ``topic``, ``polarity`` (classes) or ``score`` (a number)."""
        if column == "score":
            return LabelledText(self.texts, self.score)
        if column not in ("topic", "polarity"):
            raise ValueError(f"reviews have no column {column!r}; they have 'topic', 'polarity' and 'score'")
        return labelled(self.texts, self.topic if column == "topic" else self.polarity)


def draw(count: int, rng: np.random.Generator) -> Reviews:
    """Draw ``count`` independent reviews, topics with equal probability."""
    topics = list(NOUNS)
    texts: list[str] = []
    topic: list[str] = []
    score: list[float] = []
    while len(texts) < count:
        here = int(rng.integers(len(topics)))
        text, value = _review(here, rng)
        if value:
            texts.append(text)
            topic.append(topics[here])
            score.append(value)
    polarity = tuple("good" if value > 0 else "bad" for value in score)
    return Reviews(tuple(texts), tuple(topic), polarity, np.array(score))


def sign(adjective: str, topic: str) -> int:
    """Return what an adjective says of a topic: +1 or -1."""
    if adjective in PLAIN:
        return PLAIN[adjective]
    return 1 if DEPENDS[adjective][list(NOUNS).index(topic)] == "+" else -1


def _review(topic: int, rng: np.random.Generator) -> tuple[str, float]:
    counting = [_clause(topic, rng) for _ in range(rng.integers(2, 4))]
    other = int(rng.integers(len(NOUNS) - 1))
    compared, _ = _clause(other + (other >= topic), rng)
    parts = [text for text, _ in counting] + ["unlike " + compared, str(rng.choice(FILLER))]
    text = " . ".join(parts[i] for i in rng.permutation(len(parts))) + " ."
    return text, float(sum(value for _, value in counting))


def _clause(topic: int, rng: np.random.Generator) -> tuple[str, float]:
    """Return a statement about a topic and what it adds to the score."""
    name = list(NOUNS)[topic]
    noun = str(rng.choice(NOUNS[name]))
    adjective = str(rng.choice([*PLAIN, *DEPENDS]))
    degree = str(rng.choice(list(DEGREES)))
    text = " ".join(word for word in (noun, degree, adjective) if word)
    return text, sign(adjective, name) * DEGREES[degree]
