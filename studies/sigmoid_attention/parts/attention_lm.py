"""Train small language models with softmax or sigmoid attention, or time them (sigmoid-attention paper, section 5.2).

A replicate is a draw of initial weights and of batches; arms that differ in the attention share both. The defaults are
those of the paper's Table 3 where it says something, with the sizes scaled down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, field_validator, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.status import Status
from moestat.training.corpus import load_checked

VERSION = 1

DEVICES = ("cpu", "cuda")
KERNELS = ("softmax", "fused softmax", "sigmoid")
"""The first and the last are the same three operations but for the function in the middle; the second is PyTorch's."""

HARDWARE = ("cpu", "cuda")


class Settings(SettingsModel):
    """Settings of a cell; rates and norms are the paper's, *ours* where they are not."""

    measure: Literal["loss", "throughput"] = Field("loss", description="train a model, or time all three kernels")
    attention: Literal["softmax", "sigmoid"] = Field("softmax", description="of the model that is trained")
    blocks: int = Field(3, ge=1, description="ours")
    width: int = Field(64, ge=1, description="ours")
    heads: int = Field(4, ge=1, description="ours; must divide width")
    hidden: int = Field(172, ge=1, description="ours: 8/3 of the width, as in Llama 2")
    length: int = Field(128, ge=2, description="ours: symbols per window")
    batch: int = Field(0, ge=0, description="ours: windows per step; if 0, as many as make 1024 symbols")
    steps: int = Field(1000, ge=1, description="ours")
    rate: float = Field(1e-2, gt=0, description="peak of the cosine")
    warmup: float = Field(0.2, gt=0, le=1, description="share of the steps: 5000 of 100e9 / 4e6")
    final: float = Field(0.1, ge=0, le=1, description="last rate, as a share of the peak")
    beta1: float = Field(0.9, ge=0, lt=1, description="of AdamW")
    beta2: float = Field(0.95, ge=0, lt=1, description="of AdamW")
    decay: float = Field(1e-4, ge=0, description="weight decay")
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    every: int = Field(100, ge=1, description="ours: steps between two points of the curve")
    validation: int = Field(32768, ge=1, description="ours: symbols of a point of the curve")
    windows: tuple[int, ...] = Field((128, 512, 2048), description="ours: lengths that are timed; 2048 is the paper's")
    tokens: int = Field(2048, ge=1, description="ours: symbols of a timed pass, at least one window")
    rounds: int = Field(5, ge=1, description="ours: timed passes of each kernel, of which the median counts")
    file: str = Field(
        "", description="the user's own text, enwik8, text8 or a folder of WikiText; shipped plays if empty"
    )
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    @field_validator("heads")
    @classmethod
    def _heads(cls, heads: int, info: Any) -> int:
        width = info.data.get("width", 0)
        if width % heads:
            raise ValueError(f"heads is {heads}; it must divide width, which is {width}")
        return heads


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    load_checked(settings["file"], settings["file_sha256"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train one model per replicate, or time the kernels once per replicate.

    ``measure = "loss"``: ``valid_bpc`` and ``train_bpc`` (step): cross-entropy in bits per symbol, of the validation
    part and of the batches since the last point (none at step 0); ``test_bpc``: of the whole test part, after the last
    step; ``parameters``. ``measure = "throughput"``: ``training_throughput`` and ``inference_throughput`` (hardware,
    window, kernel) in symbols per second, see ``throughput``. These are measurements of the machine, and say so in the
    attribute ``measurement``. ``"cuda"`` is measured when it is the device, and missing otherwise.
    """
    require_torch()
    from moestat.training.lm_training import deterministic

    settings = Settings.model_validate(dict(cell.settings))
    replicate_of = _trained if settings.measure == "loss" else _timed
    with deterministic(device if settings.measure == "loss" else "cpu"):
        rows = [replicate_of(cell, settings, replicate, device) for replicate in replicates]
    speeds = ("training_throughput", "inference_throughput")
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",)} | dict.fromkeys(speeds, ("hardware", "window", "kernel"))
    attrs = dict.fromkeys(speeds, {"measurement": 1, "units": "tokens per second"})
    coords: dict[str, Any] = {"step": _plan(settings).checks}
    if settings.measure != "loss":
        coords = {"hardware": HARDWARE, "window": settings.windows, "kernel": KERNELS}
    return assemble(replicates, rows, dims=dims, coords=coords, attrs=attrs)


def windows_of(settings: Settings) -> int:
    """Return the windows of a step."""
    return settings.batch or max(1, 1024 // settings.length)


def _plan(s: Settings) -> Any:
    from moestat.training.lm_plan import Plan

    same = ("steps", "length", "rate", "warmup", "final", "decay", "clip", "every", "validation")
    return Plan(batch=windows_of(s), betas=(s.beta1, s.beta2), **{name: getattr(s, name) for name in same})


def _model(cell: Cell, settings: Settings, replicate: int, vocabulary: int, length: int, **options: Any) -> Any:
    """Return a Llama (Table 3); its first weights depend on the sizes alone."""
    from moestat.training.decoder import Decoder, Shape

    sizes: dict[str, Any] = {"vocabulary": vocabulary}
    sizes |= {name: getattr(settings, name) for name in ("blocks", "width", "heads", "hidden")}
    llama: dict[str, Any] = {"positions": "alibi", "norm": "rms", "query_key_norm": True, "activation": "swiglu"}
    shape = Shape(**sizes, length=length, **llama, **options)
    return Decoder(shape, generator=cell.generator(replicate, "start", **sizes))


def _trained(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    from moestat.training.checkpoint import Checkpoints, folder_of
    from moestat.training.lm_training import bits, evaluate, train

    corpus = load_checked(settings.file, settings.file_sha256).require(settings.length + 1)
    # without the fused kernel, both kinds of attention round alike
    options = {"attention": settings.attention, "fused": False}
    model = _model(cell, settings, replicate, corpus.vocabulary, settings.length, **options)
    checkpoints = Checkpoints(folder_of(cell.digest, str(replicate), device, f"{__name__} {VERSION}"))
    training = train(
        model,
        corpus,
        _plan(settings),
        batches=cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=settings.length),
        device=device,
        checkpoints=checkpoints,
        title=f"{settings.attention} attention, replicate {replicate}",
    )
    test = evaluate(model, corpus.test, settings.length, batch=windows_of(settings)) if training.finite else np.nan
    checkpoints.remove()
    status = Status.CONVERGED if np.isfinite(test) else Status.NOT_FINITE
    return {
        "valid_bpc": bits(training.valid),
        "train_bpc": bits(training.train),
        "test_bpc": bits(test),
        "parameters": sum(p.numel() for p in model.parameters()),
        "status": int(status),
        "message": f"The training ran its {settings.steps} steps." if training.finite else status.sentence,
        "iterations": training.done,
    }


def _timed(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    import torch

    from studies.sigmoid_attention.parts.throughput import throughput

    corpus = load_checked(settings.file, settings.file_sha256).require(max(settings.windows) + 1)
    found = np.full((2, len(HARDWARE), len(settings.windows), len(KERNELS)), np.nan)
    for i, hardware in enumerate(HARDWARE[: 2 if device == "cuda" else 1]):
        for j, window in enumerate(settings.windows):
            rng = cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=window)
            starts = rng.integers(0, corpus.train.size - window, max(1, settings.tokens // window))
            tokens = torch.from_numpy(corpus.train[starts[:, None] + np.arange(window + 1)].astype(np.int64))
            models = {}
            for kernel in KERNELS:
                options = {"attention": kernel.removeprefix("fused "), "fused": kernel.startswith("fused")}
                models[kernel] = _model(cell, settings, replicate, corpus.vocabulary, window, **options)
            speed = throughput(models, tokens, rounds=settings.rounds, device=hardware)
            found[:, i, j] = np.transpose([speed[kernel] for kernel in KERNELS])
    return {
        "training_throughput": found[0],
        "inference_throughput": found[1],
        "status": int(Status.CONVERGED),
        "message": f"Each kernel was timed {settings.rounds} times.",
        "iterations": settings.rounds,
    }
