"""Mixtures of small transformers on texts (MT appendix B.3): classification and regression."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.experiment import Cell
from moestat.replicates import Streams
from moestat.training import reviews
from moestat.training.labelled_text import LabelledText, holdout, read_csv
from studies.mixture_of_transformers.parts.mot_real import MixtureSettings, Problem, measure

VERSION = 1

TEST_SHARE = 0.2  # share of a user's texts that is held out
FIFTHS = ("lowest fifth", "second", "third", "fourth", "highest fifth")  # rows of the routing table of a regression


class Settings(MixtureSettings):
    """Settings of a cell; without data the texts are reviews of a small grammar."""

    task: Literal["classification", "regression"] = Field("classification", description="what is predicted")
    text: str = Field("text", description="column of the texts")
    label: str = Field("polarity", description="column of the classes; of the reviews also 'topic'")
    number: str = Field("score", description="column of the numbers of a regression")
    router: Literal["centred", "counts"] = Field(
        "centred", description="ours: the router reads counts of words less their means; 'counts' is sum_l Theta' X_l"
    )
    length: int = Field(20, ge=1, description="tokens of a text; longer ones are cut")
    vocabulary: int = Field(10_000, ge=3, description="ids of words at most, the most frequent ones first")
    train: int = Field(2000, ge=2, description="training texts; of a file, at most so many")
    test: int = Field(500, ge=2, description="test texts; of a file, at most so many")


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    column = settings["label"] if settings["task"] == "classification" else settings["number"]
    read_csv(settings["data"], text=settings["text"], target=column, task=settings["task"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and evaluate one model per replicate; see ``mot_real.measure``.

    The rows of ``routing`` are topics for the reviews, else classes, or fifths of the target.
    """
    return measure(cell, Settings.model_validate(dict(cell.settings)), replicates, device, problem)


def problem(settings: Settings, streams: Streams) -> Problem:
    """Return the ids of a replicate's texts, and how its models read them."""
    from studies.mixture_of_transformers.parts.mixture_of_transformers import text_transformer

    training, test, group, groups = _texts(settings, streams)
    ids = WordIds(training.texts, size=settings.vocabulary)
    target = [training.target, test.target]
    if not training.classes:
        mean, scale = training.target.mean(), training.target.std() or 1.0
        target = [((t - mean) / scale).astype(np.float32) for t in target]
    inputs = ids(training.texts, settings.length), ids(test.texts, settings.length)
    return Problem(
        inputs=inputs,
        target=(target[0], target[1]),
        outputs=len(training.classes) or 1,
        group=group,
        groups=groups,
        encoder=functools.partial(text_transformer, settings.length, ids.size),
        reads="words",
        features=ids.size,
        centre=mean_counts(inputs[0], ids.size) if settings.router == "centred" else None,
    )


def _texts(settings: Settings, streams: Streams) -> tuple[LabelledText, LabelledText, np.ndarray, tuple[str, ...]]:
    """Return training and test texts, and the group of every test text with the groups' names."""
    column = settings.label if settings.task == "classification" else settings.number
    identity: dict[str, Any] = {"data": settings.data_sha256 or "reviews"}
    sizes = {"train": settings.train, "test": settings.test}
    if not settings.data:
        drawn = reviews.draw(settings.train + settings.test, streams("texts", **identity, **sizes))
        rows = np.arange(settings.train), np.arange(settings.train, settings.train + settings.test)
        whole, topic = drawn.target(column), drawn.target("topic")
        if whole.task != settings.task:
            raise ValueError(f"the column {column!r} of the reviews is for {whole.task}, not {settings.task}")
        return whole.take(rows[0]), whole.take(rows[1]), topic.target[rows[1]], topic.classes
    whole = read_csv(settings.data, text=settings.text, target=column, task=settings.task)
    rng = streams("split", **identity)
    rows = holdout(len(whole.texts), TEST_SHARE, rng)
    training, test = (whole.take(rng.permutation(part)[:size]) for part, size in zip(rows, sizes.values(), strict=True))
    if whole.classes:
        return training, test, test.target, whole.classes
    edges = np.quantile(test.target, [0.2, 0.4, 0.6, 0.8])
    return training, test, np.searchsorted(edges, test.target), FIFTHS


PAD = 0  # stands after the end of a text
UNKNOWN = 1  # a word that the vocabulary does not hold
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def words(text: str) -> list[str]:
    """Split a text into lower-case words and single signs: ``"Don't!"`` gives ``["don't", "!"]``."""
    return _WORD.findall(text.lower())


class WordIds:
    """Word ids from 2 on, the most frequent words first (ties in alphabetical order).

    ``texts``: texts that the vocabulary is made from; the training texts alone, so that nothing of the test leaks.
    ``size``: largest number of ids, padding and the unknown word included.
    """

    def __init__(self, texts: Iterable[str], *, size: int = 10_000) -> None:
        counts = Counter(word for text in texts for word in words(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[: max(size - 2, 0)]
        self.ids = {word: number for number, word in enumerate(ranked, 2)}
        self.size = len(self.ids) + 2

    def __call__(self, texts: Sequence[str], length: int) -> np.ndarray:
        """Return ids (n, length), int64; longer texts are cut."""
        out = np.full((len(texts), length), PAD, dtype=np.int64)
        for row, text in zip(out, texts, strict=True):
            found = [self.ids.get(word, UNKNOWN) for word in words(text)[:length]]
            row[: len(found)] = found
        return out


def mean_counts(ids: np.ndarray, size: int) -> np.ndarray:
    """Return how often every id occurs in a text on average, (size,); 0 for the padding."""
    counts = np.bincount(ids.ravel(), minlength=size).astype(float)
    counts[PAD] = 0.0
    return counts / len(ids)
