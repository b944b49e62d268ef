"""Train decoders with and without competition, and see how alike their experts become (compete-smoe paper, section 1).

A layer's coin is its own, or one coin is flipped for all layers (section 3.3 argues for the former). A replicate is
what it is in :mod:`~studies.compete_smoe.parts.compete_lm`; the shared coin is that of the first layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.experiment import Cell, assemble
from moestat.status import Status
from studies.compete_smoe.parts import compete_lm

VERSION = 1

DEVICES = ("cpu", "cuda")

read_data, cautions = compete_lm.read_data, compete_lm.cautions


class Settings(compete_lm.Settings):
    """Settings of a cell."""

    coin: Literal["own", "shared"] = Field("own", description="of a layer: its own (the paper's), or one for all")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and test one model per replicate.

    ``bpc``: cross-entropy of the test part in bits per symbol, with the weights of the lowest validation loss. With the
    same weights, over the test part: ``alike`` (layer), see :func:`~.smoe_measures.alike`, and ``likeness``, its mean
    over the layers; ``usage_entropy``, see :class:`~.smoe_measures.Routing`, its mean. ``grown``: by how much the
    likeness has grown since the start of the training. ``together``: share of the steps in which all layers compete.
    """
    settings = Settings.model_validate(dict(cell.settings))
    rows = compete_lm.rows_of(_replicate, cell, settings, replicates, device)
    layers = np.arange(1, rows[0]["alike"].size + 1)
    return assemble(replicates, rows, dims={"alike": ("layer",)}, coords={"layer": layers})


def share_coins(model: Any) -> None:
    """Give all layers that compete the coin of the first, in place."""
    from studies.compete_smoe.parts.smoe import SMoE

    layers = [m for m in model.modules() if isinstance(m, SMoE)]
    keys = [layer.competition.key for layer in layers if layer.competition is not None]
    for layer in layers:
        if layer.competition is not None:
            layer.competition = replace(layer.competition, key=keys[0])


def _replicate(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    from moestat.training.lm_training import bits, evaluate
    from studies.compete_smoe.parts.smoe import SMoE
    from studies.compete_smoe.parts.smoe_measures import alike, routing

    how = {"batch": settings.batch, "limit": settings.test}
    length, starts = compete_lm.length_of(settings), []

    def before(model: Any, corpus: Any) -> None:
        if settings.coin == "shared":
            share_coins(model)
        starts.append(alike(model, corpus.test, length, **how))

    code = f"{__name__} {VERSION}"
    model, corpus, training, checkpoints = compete_lm.trained(cell, settings, replicate, device, code, before=before)
    (start,), finite = starts, training.finite
    test = evaluate(model, corpus.test, length, **how) if finite else np.nan
    found = alike(model, corpus.test, length, **how) if finite else start * np.nan
    usage = routing(model, corpus.test, length, **how).usage_entropy.mean() if finite else np.nan
    rivals = [m.competition for m in model.modules() if isinstance(m, SMoE) and m.competition is not None]
    heads = [[rival.heads(step, settings.steps) for rival in rivals] for step in range(settings.steps)]
    checkpoints.remove()
    status = Status.CONVERGED if np.isfinite(test) else Status.NOT_FINITE
    return {
        "bpc": bits(test),
        "alike": found,
        "likeness": float(found.mean()),
        "grown": float((found - start).mean()),
        "usage_entropy": float(usage),
        "together": float(np.mean([all(step) for step in heads])) if rivals else 0.0,
        "status": int(status),
        "message": f"The training ran its {settings.steps} steps." if finite else status.sentence,
        "iterations": training.done,
    }
