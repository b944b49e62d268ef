"""Train small language models with softmax or sigmoid attention, or time them (sigmoid-attention paper, section 5.2).

A replicate is a draw of initial weights and of batches; arms that differ in the attention share both. The defaults are
those of the paper's Table 3 where it says something, with the sizes scaled down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.status import Status
from moestat.training.corpus import load_checked
from moestat.training.lm_plan import Plan

VERSION = 1

DEVICES = ("cpu", "cuda")
KERNELS = ("softmax", "fused softmax", "sigmoid")
"""The first and the last are the same three operations but for the function in the middle; the second is PyTorch's."""


class Sizes(SettingsModel):
    """Sizes of a Llama."""

    blocks: int = Field(ge=1)
    width: int = Field(ge=1)
    heads: int = Field(ge=1)
    hidden: int = Field(ge=1)

    @model_validator(mode="after")
    def _divisible(self) -> Sizes:
        if self.width % self.heads:
            raise ValueError(f"heads is {self.heads}; it must divide width, which is {self.width}")
        return self


class Settings(Sizes):
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


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    load_checked(settings["file"], settings["file_sha256"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train one model per replicate, or time the kernels once per replicate.

    ``measure = "loss"``: ``valid_bpc`` and ``train_bpc`` (step): cross-entropy in bits per symbol, of the validation
    part and of the batches since the last point (none at step 0); ``test_bpc``: of the whole test part, after the last
    step; ``parameters``. ``measure = "throughput"``: ``training_throughput`` (forward pass, gradient, AdamW step) and
    ``inference_throughput`` (hardware, window, kernel) in symbols per second, on one thread of the CPU: measurements of
    the machine, which say so in the attribute ``measurement``.
    """
    require_torch()
    from moestat.training.lm_training import deterministic

    settings = Settings.model_validate(dict(cell.settings))
    replicate_of = _trained if settings.measure == "loss" else _timed
    device = device if settings.measure == "loss" else "cpu"
    with deterministic(device):
        rows = [replicate_of(cell, settings, replicate, device) for replicate in replicates]
    speeds = ("training_throughput", "inference_throughput")
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",)} | dict.fromkeys(speeds, ("hardware", "window", "kernel"))
    attrs = dict.fromkeys(speeds, {"measurement": 1, "units": "tokens per second"})
    coords: dict[str, Any] = {"step": _plan(settings).checks}
    if settings.measure != "loss":
        coords = {"hardware": ["cpu"], "window": settings.windows, "kernel": KERNELS}
    return assemble(replicates, rows, dims=dims, coords=coords, attrs=attrs)


def _plan(s: Settings) -> Plan:
    """Return the plan of Table 3: AdamW, a fifth of the steps (5000 of 100e9 / 4e6) to warm up, a cosine to a tenth."""
    batch = s.batch or max(1, 1024 // s.length)
    adamw: dict[str, Any] = dict(warmup=0.2, final=0.1, betas=(0.9, 0.95), decay=1e-4, clip=1.0)
    return Plan(s.steps, batch, s.length, rate=s.rate, every=s.every, validation=s.validation, **adamw)


def llama(sizes: Sizes, vocabulary: int, generator: Any, **options: Any) -> Any:
    """Return a decoder of the paper's kind (Table 3)."""
    from moestat.training.decoder import Decoder, Shape

    same: dict[str, Any] = {name: getattr(sizes, name) for name in Sizes.model_fields}
    kind: dict[str, Any] = {"positions": "alibi", "norm": "rms", "query_key_norm": True, "activation": "swiglu"}
    return Decoder(Shape(vocabulary=vocabulary, **same, **kind, **options), generator=generator)


def _model(cell: Cell, settings: Settings, replicate: int, vocabulary: int, length: int, **options: Any) -> Any:
    """Return a Llama; its first weights depend on the sizes alone."""
    sizes = {name: getattr(settings, name) for name in Sizes.model_fields}
    generator = cell.generator(replicate, "start", vocabulary=vocabulary, **sizes)
    return llama(settings, vocabulary, generator, length=length, **options)


def _trained(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    from moestat.training.checkpoint import Checkpoints, folder_of
    from moestat.training.lm_training import bits, evaluate, train

    corpus = load_checked(settings.file, settings.file_sha256).require(settings.length + 1)
    # without the fused kernel, both kinds of attention round alike
    kind: dict[str, Any] = {"attention": settings.attention, "fused": False}
    model, plan = _model(cell, settings, replicate, corpus.vocabulary, settings.length, **kind), _plan(settings)
    checkpoints = Checkpoints(folder_of(cell.digest, str(replicate), device, f"{__name__} {VERSION}"))
    training = train(
        model,
        corpus,
        plan,
        batches=cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=settings.length),
        device=device,
        checkpoints=checkpoints,
        title=f"{settings.attention} attention, replicate {replicate}",
    )
    test = evaluate(model, corpus.test, settings.length, batch=plan.batch) if training.finite else np.nan
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

    from studies.sigmoid_attention.parts.timed_attention import medians

    corpus = load_checked(settings.file, settings.file_sha256).require(max(settings.windows) + 1)
    found: dict[str, list[list[float]]] = {"training": [], "inference": []}
    for window in settings.windows:
        rng = cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=window)
        starts = rng.integers(0, corpus.train.size - window, max(1, settings.tokens // window))
        tokens = torch.from_numpy(corpus.train[starts[:, None] + np.arange(window + 1)].astype(np.int64))
        passes: dict[str, dict[str, Callable[[], object]]] = {"training": {}, "inference": {}}
        for kernel in KERNELS:
            options = {"attention": kernel.removeprefix("fused "), "fused": kernel.startswith("fused")}
            model = _model(cell, settings, replicate, corpus.vocabulary, window, **options)
            for task, one_pass in _passes(model, tokens).items():
                passes[task][kernel] = one_pass
        for task, of_kernel in passes.items():
            seconds = medians(of_kernel, settings.rounds, device)
            found[task].append([tokens[:, 1:].numel() / seconds[kernel] for kernel in KERNELS])
    said = f"Each kernel was timed {settings.rounds} times."
    row = {"status": int(Status.CONVERGED), "message": said, "iterations": settings.rounds}
    return row | {f"{task}_throughput": np.array([values]) for task, values in found.items()}


def _passes(model: Any, tokens: Any) -> dict[str, Callable[[], object]]:
    """Return what is timed of a model on tokens (batch, n); training changes it."""
    import torch

    given, wanted = tokens[:, :-1], tokens[:, 1:]
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def training() -> None:
        model.train()
        loss = model.loss(given, wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def inference() -> None:
        model.eval()
        with torch.inference_mode():
            model.logits(given)

    return {"training": training, "inference": inference}
