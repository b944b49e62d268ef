"""Train decoders with sparse mixtures of experts and five kinds of routers (compete-smoe paper, section 6).

A replicate is a draw of initial weights, of batches and of the coins of the competition. Arms share all that they have
in common: the decoder, the experts and linear routers start from the same weights, every arm sees the same batches, and
a step that competes with a small lambda competes with a larger one too. With lambda = 0, CompeteSMoE is SMoE bit for
bit. ``seconds_per_step`` and ``tokens_per_second`` are measurements of the machine, everything else is a function of
(seed, settings, replicate) on one kind of device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, code_version, require_torch
from moestat.fingerprint import digest
from moestat.status import Status

DEVICES = ("cpu", "cuda")
MEASUREMENTS = {"seconds_per_step": "seconds", "tokens_per_second": "tokens per second"}
BY_LAYER = ("entropy", "entropy_top_k", "overlap", "overlap_chance", "usage_entropy")


class Settings(SettingsModel):
    """Settings of a cell; *ours* where the paper does not say or uses a larger number."""

    router: Literal["smoe", "smoe_fixed", "xmoe", "stable_moe", "compete_smoe"] = Field("smoe", description="method")
    architecture: Literal["switch", "glam"] = Field("switch", description="GLaM: a dense block after each SMoE block")
    size: Literal["micro", "tiny", "small", "medium"] = Field("micro", description="micro is ours")
    blocks: int = Field(0, ge=0, description="SMoE blocks; 0: those of the size")
    width: int = Field(0, ge=0, description="of the model and of an expert's hidden layer; 0: that of the size")
    length: int = Field(0, ge=0, description="symbols per window; 0: that of the size (512 in the paper)")
    experts: int = Field(16, ge=2, description="N")
    top_k: int = Field(2, ge=1, description="K")
    probability: float = Field(0.05, ge=0, le=1, description="lambda, the mean of lambda(t)")
    form: Literal["constant", "falling", "rising"] = Field("constant", description="of lambda(t); the others are ours")
    alpha: float = Field(5.0, ge=0, description="factor of the task's loss in the router's objective, equation 5")
    router_weight: float = Field(1.0, ge=0, description="factor of the router loss; 1 in the paper")
    competition_output: Literal["router", "competition"] = Field(
        "router", description="whose routing makes the output in a step that competes: equation 5, or section 3.1"
    )
    stage_one: float = Field(0.1, gt=0, le=1, description="StableMoE: share of the steps before its router is frozen")
    balance: float = Field(0.0, ge=0, description="weight of the load-balancing loss; the paper trains without")
    steps: int = Field(1000, ge=1, description="60 000 or 80 000 in the paper")
    batch: int = Field(16, ge=1, description="windows per step; 48 in the paper")
    rate: float = Field(3e-3, gt=0, description="largest rate; 7e-4 in the paper")
    warmup: float = Field(0.1, gt=0, le=1, description="ours: share of the steps; then 1/sqrt(t) as in the paper")
    every: int = Field(100, ge=1, description="ours: steps between two validations")
    validation: int = Field(32768, ge=0, description="ours: symbols of a validation; 0: the whole part")
    test: int = Field(0, ge=0, description="ours: symbols of the test; 0: the whole part")
    file: str = Field("", description="own text, enwik8, text8 or a folder of WikiText; shipped plays if empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    def model_post_init(self, _context: Any) -> None:
        """Refuse what does not go together."""
        if self.top_k > self.experts:
            raise ValueError(f"top_k is {self.top_k}; it must be at most experts, which is {self.experts}")
        if self.width % 8:
            raise ValueError(f"width is {self.width}; it must be a multiple of 8, so that the heads divide it")
        if self.form != "constant" and self.probability > 0.5:
            raise ValueError(
                f"probability is {self.probability}; with form {self.form!r} it must be at most 0.5, since lambda(t) "
                "reaches twice its mean"
            )


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    from moestat.training.corpus import load_checked

    load_checked(settings["file"], settings["file_sha256"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and test one model per replicate.

    Returns
    -------
    xarray.Dataset
        ``bpc``: cross-entropy of the test part in bits per symbol, with the weights of the lowest validation loss;
        ``perplexity`` per symbol; ``valid_bpc`` and ``train_bpc`` (step): of the validation part, and of the batches
        since the last point; ``best_valid_bpc``, ``best_step``. ``entropy``, ``entropy_top_k``, ``overlap``,
        ``overlap_chance``, ``usage_entropy``: see ``smoe_measures.Routing``, on the test part, as
        means over the SMoE layers and by layer (``entropy_by_layer`` and so on). ``competitions``: share of
        (step, layer) that competed. ``parameters``. Measurements of the machine: ``seconds_per_step`` (of the CPU; of
        the clock on a GPU; training steps alone) and ``tokens_per_second``.
    """
    require_torch()
    from moestat.training.lm_training import deterministic

    settings = Settings.model_validate(dict(cell.settings))
    with deterministic(device):
        rows = [_replicate(cell, settings, replicate, device) for replicate in replicates]
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",)} | {f"{name}_by_layer": ("layer",) for name in BY_LAYER}
    attrs = {name: {"measurement": 1, "units": units} for name, units in MEASUREMENTS.items()}
    layers = np.arange(1, rows[0]["entropy_by_layer"].size + 1)
    coords = {"step": plan_of(settings).checks, "layer": layers}
    return assemble(replicates, rows, dims=dims, coords=coords, attrs=attrs)


def length_of(settings: Settings) -> int:
    """Return the symbols of a window."""
    from moestat.training.decoder import SIZES

    return settings.length or SIZES[settings.size].length


def plan_of(settings: Settings) -> Any:
    """Return how the models are trained."""
    from moestat.training.lm_training import Plan

    return Plan(
        steps=settings.steps,
        batch=settings.batch,
        length=length_of(settings),
        rate=settings.rate,
        schedule="inverse_sqrt",
        warmup=settings.warmup,
        betas=(0.9, 0.98),
        decay=0.0,
        every=settings.every,
        validation=settings.validation,
        keep_best=True,
    )


def model_of(cell: Cell, settings: Settings, replicate: int, vocabulary: int) -> Any:
    """Return a decoder with first weights that depend on the replicate and the sizes alone."""
    from dataclasses import replace

    from moestat.papers.compete_smoe import routers
    from moestat.papers.compete_smoe.expert_bank import ExpertBank
    from moestat.papers.compete_smoe.smoe import Competition, SMoE, schedule
    from moestat.training.decoder import Decoder, Dense, feed_forwards, shape_of

    shape = shape_of(settings.architecture, settings.size, vocabulary)
    own = settings.width or shape.width
    blocks = settings.blocks * (2 if settings.architecture == "glam" else 1) or shape.blocks
    shape = replace(shape, length=length_of(settings), width=own, hidden=own, blocks=blocks)
    width, experts = shape.width, settings.experts

    def rng(purpose: str, **identity: Any) -> np.random.Generator:
        return cell.generator(replicate, purpose, width=width, **identity)

    def sparse(block: int) -> SMoE:
        place = {"block": block, "experts": experts}
        competition = None
        if settings.router == "compete_smoe":
            competition = Competition(
                schedule(settings.probability, settings.form),
                key=int(rng("coins", block=block).integers(2**63)),
                alpha=settings.alpha,
                weight=settings.router_weight,
                output=settings.competition_output,
            )
        return SMoE(
            ExpertBank(width, shape.hidden, experts, rng("experts", **place)),
            routers.make(settings.router, width, experts, rng("router", **place), stage_one=settings.stage_one),
            top_k=settings.top_k,
            competition=competition,
            balance=settings.balance,
        )

    def dense(block: int) -> Dense:
        return Dense(shape, rng("dense", block=block))

    sizes = {"vocabulary": vocabulary, "length": shape.length, "blocks": shape.blocks}
    make = feed_forwards(settings.architecture, sparse, dense)
    return Decoder(shape, feed_forward=make, generator=rng("start", **sizes))


def trained(cell: Cell, settings: Settings, replicate: int, device: str, code: str) -> tuple[Any, Any, Any, Any]:
    """Train the model of a replicate; return it, the text, what the training gave, and its checkpoints."""
    from moestat.training.checkpoint import Checkpoints, folder_of
    from moestat.training.corpus import load_checked
    from moestat.training.lm_training import train

    plan = plan_of(settings)
    corpus = load_checked(settings.file, settings.file_sha256).require(plan.length + 1)
    model = model_of(cell, settings, replicate, corpus.vocabulary)
    checkpoints = Checkpoints(folder_of(cell.digest, str(replicate), device, code))
    training = train(
        model,
        corpus,
        plan,
        batches=cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=plan.length),
        device=device,
        checkpoints=checkpoints,
        title=f"{settings.router}, {settings.architecture}, replicate {replicate}",
    )
    return model, corpus, training, checkpoints


def _replicate(cell: Cell, settings: Settings, replicate: int, device: str) -> dict[str, Any]:
    from moestat.papers.compete_smoe.smoe import SMoE
    from moestat.papers.compete_smoe.smoe_measures import perplexity, routing
    from moestat.training.lm_training import bits, evaluate

    code = digest(code_version(__name__))
    model, corpus, training, checkpoints = trained(cell, settings, replicate, device, code)
    how = {"batch": settings.batch, "limit": settings.test}
    length = length_of(settings)
    test = evaluate(model, corpus.test, length, **how) if training.finite else np.nan
    routed = routing(model, corpus.test, length, **how)
    by_layer = {name: getattr(routed, name) if training.finite else routed.entropy * np.nan for name in BY_LAYER}
    rivals = [m.competition for m in model.modules() if isinstance(m, SMoE) and m.competition is not None]
    coins = [rival.heads(step, settings.steps) for rival in rivals for step in range(settings.steps)]
    checkpoints.remove()
    status = Status.CONVERGED if np.isfinite(test) else Status.NOT_FINITE
    return {
        "bpc": bits(test),
        "perplexity": perplexity(test),
        "valid_bpc": bits(training.valid),
        "train_bpc": bits(training.train),
        "best_valid_bpc": bits(float(np.nanmin(training.valid))) if training.finite else np.nan,
        "best_step": training.best_step,
        **{name: float(values.mean()) for name, values in by_layer.items()},
        **{f"{name}_by_layer": values for name, values in by_layer.items()},
        "competitions": float(np.mean(coins)) if coins else 0.0,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds_per_step": training.seconds_per_step,
        "tokens_per_second": settings.batch * length / training.seconds_per_step,
        "status": int(status),
        "message": f"The training ran its {settings.steps} steps." if training.finite else status.sentence,
        "iterations": training.done,
    }
