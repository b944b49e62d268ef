"""Pretrain a decoder with one of five routers, then fine-tune it to classify texts (compete-smoe paper, section 6.3).

The texts are those of a CSV file of the user's, or reviews of a small grammar (:mod:`moestat.training.reviews`), which
need no download. A replicate draws what ``compete_lm`` draws, the reviews, the split, the new
layers and the batches; the arms share all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat import data_file
from moestat.experiment import Cell, assemble
from moestat.status import Status
from studies.compete_smoe.parts import compete_lm

VERSION = 1

DEVICES = ("cpu", "cuda")

cautions = compete_lm.cautions


class Settings(compete_lm.Settings):
    """Settings of a cell: those of the pretraining, and of the fine-tuning; *ours* where the paper has another one."""

    csv: str = Field("", description="own texts with classes; reviews of a grammar if empty")
    csv_sha256: str = Field("", description="SHA-256 of the CSV file; found when empty, else it must be this")
    text_column: str = Field("text", description="column of the texts")
    label_column: str = Field("label", description="column of the classes")
    reviews: int = Field(1500, ge=20, description="ours: reviews that are drawn")
    reviews_label: Literal["topic", "polarity"] = Field("polarity", description="ours: six classes, or two")
    test_share: float = Field(0.2, gt=0, lt=1, description="ours: share of the texts that is held out")
    tune_steps: int = Field(500, ge=1, description="5000 in the paper")
    tune_batch: int = Field(16, ge=1, description="16, of IMDB 4, in the paper")
    tune_rate: float = Field(1e-3, gt=0, description="1e-4 in the paper")

    @model_validator(mode="before")
    @classmethod
    def _csv(cls, given: Any) -> Any:
        return data_file.with_digest(given, "csv")


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    from moestat.training.labelled_text import read_csv

    read_csv(settings["csv"], text=settings["text_column"], target=settings["label_column"], task="classification")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Pretrain, fine-tune and test one model per replicate.

    ``accuracy``: share of the held-out texts that are classified rightly; ``train_accuracy``: of the others;
    ``majority``: share of the largest class among the held-out ones; ``bpc``: of the pretrained model on the test part
    of its corpus.
    """
    settings = Settings.model_validate(dict(cell.settings))
    rows = compete_lm.rows_of(_replicate, cell, settings, replicates, device)
    return assemble(replicates, rows)


def _texts(cell: Cell, settings: Settings, replicate: int) -> Any:
    """Return the texts with their classes."""
    from moestat.training import reviews
    from moestat.training.labelled_text import read_csv

    if not settings.csv:
        drawn = reviews.draw(settings.reviews, cell.generator(replicate, "reviews", count=settings.reviews))
        return drawn.target(settings.reviews_label)
    path = Path(settings.csv).expanduser()
    data = read_csv(path, text=settings.text_column, target=settings.label_column, task="classification")
    data_file.check(path, settings.csv_sha256, "csv")
    return data


def _replicate(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    from moestat.training.labelled_text import holdout
    from moestat.training.lm_training import bits, evaluate
    from studies.compete_smoe.parts.classifier import Classifier, accuracy, as_symbols, tune

    data = _texts(cell, settings, replicate)
    code = f"{__name__} {VERSION}"
    model, corpus, training, checkpoints = compete_lm.trained(cell, settings, replicate, device, code)
    length = compete_lm.length_of(settings)
    how = {"batch": settings.batch, "limit": settings.test}
    bpc = bits(evaluate(model, corpus.test, length, **how) if training.finite else np.nan)
    identity = {"csv": settings.csv_sha256, "reviews": settings.reviews, "label": settings.reviews_label}
    train, test = holdout(len(data.texts), settings.test_share, cell.generator(replicate, "holdout", **identity))
    texts = [as_symbols([data.texts[i] for i in rows], corpus, length) for rows in (train, test)]
    target = [data.target[rows] for rows in (train, test)]
    start = cell.generator(replicate, "classifier", classes=len(data.classes), width=model.shape.width)
    classifier = Classifier(model, len(data.classes), start).to(device)
    losses = tune(
        classifier,
        texts[0],
        target[0],
        steps=settings.tune_steps if training.finite else 0,
        batch=settings.tune_batch,
        rate=settings.tune_rate,
        rng=cell.generator(replicate, "tuning", **identity),
    )
    checkpoints.remove()
    losses = np.append(losses, np.full(settings.tune_steps - losses.size, np.nan))
    finite = bool(np.isfinite(losses).all())
    shares = [accuracy(classifier, *part) if finite else np.nan for part in zip(texts, target, strict=True)]
    status = Status.CONVERGED if finite else Status.NOT_FINITE
    return {
        "accuracy": shares[1],
        "train_accuracy": shares[0],
        "majority": float(np.bincount(target[1]).max() / target[1].size),
        "bpc": bpc,
        "status": int(status),
        "message": f"Both trainings ran, of {settings.steps} and {settings.tune_steps} steps."
        if finite
        else status.sentence,
        "iterations": training.done + int(np.isfinite(losses).sum()),
    }
