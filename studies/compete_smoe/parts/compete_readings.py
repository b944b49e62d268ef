"""Train small decoders with sparse mixtures under readings of the router's objective (compete-smoe, section 6).

A replicate is a draw of first weights, batches and coins, which the arms share. A group of replicates is trained as
one (``stack``). With ``router_loss = 0`` and ``task = 1`` CompeteSMoE is SMoE. ``seconds_per_step`` is a measurement
of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.status import Status


class Settings(SettingsModel):
    """Settings of a cell; *ours* where the paper does not say or uses a larger number."""

    competes: bool = Field(False, description="whether layers compete; else SMoE")
    blocks: int = Field(2, ge=1, description="SMoE blocks; 3 to 8 in the paper")
    width: int = Field(32, ge=8, multiple_of=8, description="of the model and of an expert's hidden layer")
    length: int = Field(32, ge=1, description="symbols per window; 512 in the paper")
    experts: int = Field(16, ge=2, description="N")
    top_k: int = Field(2, ge=1, description="K")
    probability: float = Field(0.05, ge=0, le=1, description="lambda")
    router_loss: float = Field(1.0, ge=0, description="factor of L_R in the router's objective: 1 in eq. 5 as printed")
    task: float = Field(5.0, ge=0, description="factor of NLL there: alpha in eq. 5 as printed, 1 if alpha is on L_R")
    over: Literal["mean", "sum"] = Field("mean", description="of L_R's squared differences over the experts")
    policy: Literal["winners", "all"] = Field("winners", description="whose softmax is the router's policy in L_R")
    output: Literal["router", "competition"] = Field(
        "router", description="whose choice makes a competing step's output"
    )
    sgd: float = Field(0.0, ge=0, description="plain steps of the router: their rate over Adam's; 0: Adam")
    group: int = Field(16, ge=1, description="seeds trained as one; it moves last digits alone")
    steps: int = Field(1000, ge=1, description="60 000 or 80 000 in the paper")
    batch: int = Field(16, ge=1, description="windows per step; 48 in the paper")
    rate: float = Field(3e-3, gt=0, description="largest rate; 7e-4 in the paper; then 1/sqrt(t)")
    warmup: float = Field(0.1, gt=0, le=1, description="ours: share of the steps in which the rate rises")
    clip: float = Field(1.0, gt=0, description="ours: largest norm of the gradient")
    beta2: float = Field(0.98, ge=0, lt=1, description="ours: of Adam; the paper does not say")
    every: int = Field(100, ge=1, description="ours: steps between two validations")
    validation: int = Field(8192, ge=0, description="ours: symbols of a validation; 0: the whole part")
    test: int = Field(32_768, ge=0, description="ours: symbols of the test; 0: the whole part")
    file: str = Field("", description="own text, enwik8, text8 or a folder of WikiText; shipped plays if empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    def model_post_init(self, _context: Any) -> None:
        """Refuse more winners than experts."""
        if self.top_k > self.experts:
            raise ValueError(f"top_k is {self.top_k}; it must be at most experts, which is {self.experts}")


VERSION = 1

DEVICES = ("cpu",)
HEADS = 4


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    from moestat.training.corpus import load_checked

    load_checked(settings["file"], settings["file_sha256"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and test one model per replicate, those of a group as one; a group is trained whole whoever is asked for.

    ``bpc``: cross-entropy of the test part in bits per symbol, with the weights of the lowest validation loss;
    ``valid_bpc``, ``train_bpc`` (step); ``mean_valid_bpc``: mean of the former after the first, the area under the
    curve. ``entropy``, ``entropy_top_k``, ``overlap``, ``overlap_chance``, ``usage_entropy``, ``router_loss``: see
    ``smoe_measures.Routing``, on the test part, means over the layers; the first also ``entropy_by_layer``.
    ``gradient_share``: |gradient of L_R| / |gradient of NLL| on the router, each with its factor, mean over the
    (step, layer) that competed. ``moved``: distance of a router's weights from their start over the start's norm.
    """
    require_torch()
    from moestat.training.corpus import load_checked
    from moestat.training.lm_training import bits, deterministic
    from studies.compete_smoe.parts import stack as stacked

    settings = Settings.model_validate(dict(cell.settings))
    groups = sorted({replicate // settings.group for replicate in replicates})
    if len(groups) > 1:
        parts = [run(cell, [r for r in replicates if r // settings.group == g], device=device) for g in groups]
        return xr.concat(parts, "replicate", combine_attrs="identical").sel(replicate=list(replicates))
    group = [groups[0] * settings.group + at for at in range(settings.group)]
    corpus = load_checked(settings.file, settings.file_sha256).require(settings.length + 1)
    plan, how = plan_of(settings), objective_of(settings)
    with deterministic(device):
        models = [model_of(cell, settings, replicate, corpus.vocabulary) for replicate in group]
        stack = stacked.Stack(models, settings.top_k)
        rivals = [rivals_of(model) for model in models]
        batches = [batches_of(cell, settings, replicate) for replicate in group]
        trained = stacked.train(stack, corpus, plan, how, rivals, batches)
        limits = {"batch": settings.batch, "limit": settings.test}
        test = stacked.evaluate(stack, corpus.test, settings.length, **limits)
        routed = stacked.routing(stack, corpus.test, settings.length, **limits)
    fine = np.isfinite(test) & np.isfinite(trained.valid).all(axis=1)
    seconds = trained.seconds / (settings.steps * settings.group)
    rows = []
    for at in [replicate - group[0] for replicate in replicates]:
        whole = bool(fine[at])
        status = Status.CONVERGED if whole else Status.NOT_FINITE
        measures = {name: values[at] if whole else values[at] * np.nan for name, values in routed.items()}
        rows.append(
            {
                "bpc": bits(test[at]) if whole else np.nan,
                "valid_bpc": bits(trained.valid[at]),
                "train_bpc": bits(trained.train[at]),
                "mean_valid_bpc": bits(float(np.mean(trained.valid[at, 1:]))),
                **{name: float(values.mean()) for name, values in measures.items()},
                "entropy_by_layer": measures["entropy"],
                "gradient_share": float(trained.share[at]),
                "moved": float(trained.moved[at]),
                "seconds_per_step": seconds,
                "status": int(status),
                "message": f"The training ran its {settings.steps} steps." if whole else status.sentence,
                "iterations": settings.steps,
            }
        )
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",), "entropy_by_layer": ("layer",)}
    layers = np.arange(1, rows[0]["entropy_by_layer"].size + 1)
    attrs = {"seconds_per_step": {"measurement": 1, "units": "seconds"}}
    return assemble(replicates, rows, dims=dims, coords={"step": plan.checks, "layer": layers}, attrs=attrs)


def plan_of(settings: Settings) -> Any:
    """Return how the models are trained."""
    from moestat.training.lm_training import Plan

    kept = settings.model_dump(include={"steps", "batch", "length", "rate", "warmup", "clip", "every", "validation"})
    return Plan(**kept, schedule="inverse_sqrt", final=1.0, betas=(0.9, settings.beta2), decay=0.0, keep_best=True)


def objective_of(settings: Settings) -> Any:
    """Return what the router minimises."""
    from studies.compete_smoe.parts.stack import Objective

    own = settings.model_dump(include={"task", "over", "policy", "output", "sgd"})
    return Objective(weight=settings.router_loss, **own)


def model_of(cell: Cell, settings: Settings, replicate: int, vocabulary: int) -> Any:
    """Return a decoder with first weights that depend on the replicate and the sizes alone."""
    from moestat.training.decoder import Decoder, Shape
    from studies.compete_smoe.parts import routers
    from studies.compete_smoe.parts.smoe import Competition, ExpertBank, SMoE, schedule

    width, experts = settings.width, settings.experts
    shape = Shape(vocabulary, settings.length, settings.blocks, width, HEADS, hidden=width)

    def rng(purpose: str, **identity: Any) -> np.random.Generator:
        return cell.generator(replicate, purpose, width=width, **identity)

    def sparse(block: int) -> SMoE:
        place = {"block": block, "experts": experts}
        key = int(rng("coins", block=block).integers(2**63))
        weight = settings.router_loss * (experts if settings.over == "sum" else 1)
        competition = Competition(
            schedule(settings.probability), key, alpha=settings.task, weight=weight, output=settings.output
        )
        router = routers.LinearRouter(width, experts, rng("router", **place))
        bank = ExpertBank(width, width, experts, rng("experts", **place))
        return SMoE(bank, router, top_k=settings.top_k, competition=competition if settings.competes else None)

    sizes = {"vocabulary": vocabulary, "length": settings.length, "blocks": shape.blocks}
    return Decoder(shape, feed_forward=sparse, generator=rng("start", **sizes))


def rivals_of(model: Any) -> list[Any]:
    """Return the competitions of a model's layers, whose coins its training flips."""
    from studies.compete_smoe.parts.smoe import SMoE

    return [m.competition for m in model.modules() if isinstance(m, SMoE) and m.competition is not None]


def batches_of(cell: Cell, settings: Settings, replicate: int) -> np.random.Generator:
    """Return what draws a replicate's windows."""
    return cell.generator(replicate, "batches", file_sha256=settings.file_sha256, length=settings.length)
