"""Train decoders with sparse mixtures of experts and five kinds of routers (compete-smoe paper, section 6).

A replicate is a draw of initial weights, of batches and of the coins of the competition. Arms share all that they have
in common: the decoder, the experts and linear routers start from the same weights, every arm sees the same batches, and
a step that competes with a small lambda competes with a larger one too. With lambda = 0, CompeteSMoE is SMoE bit for
bit. ``seconds_per_step`` and ``tokens_per_second`` are measurements of the machine, everything else is a function of
(seed, settings, replicate) on one kind of device.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.experiment import Cell, assemble, require_torch
from moestat.papers.compete_smoe.compete_lm_settings import Settings
from moestat.status import Status

VERSION = 1

DEVICES = ("cpu", "cuda")
MEASUREMENTS = {"seconds_per_step": "seconds", "tokens_per_second": "tokens per second"}
MANY_EPOCHS = 20.0
"""From here on a training is warned of: the paper's 1.47 billion symbols are 16 epochs of enwik8."""
BY_LAYER = ("entropy", "entropy_top_k", "overlap", "overlap_chance", "usage_entropy", "router_loss")


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    from moestat.training.corpus import load_checked

    load_checked(settings["file"], settings["file_sha256"])


def cautions(settings: Mapping[str, Any]) -> list[str]:
    """Say when a training reads its text many times over."""
    from moestat.training.corpus import load_checked

    chosen = Settings.model_construct(**{key: settings[key] for key in Settings.model_fields})
    corpus = load_checked(chosen.file, chosen.file_sha256)
    symbols = chosen.steps * chosen.batch * length_of(chosen)
    epochs = symbols / corpus.train.size
    if epochs < MANY_EPOCHS:
        return []
    remedy = "" if chosen.file else "; set file to a larger text, enwik8 in the paper"
    return [
        f"a training reads {symbols:.3g} {corpus.unit}s, {epochs:.0f} times the {corpus.train.size:.3g} of the "
        f"training part of {corpus.name}{remedy}"
    ]


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and test one model per replicate.

    Returns
    -------
    xarray.Dataset
        ``bpc``: cross-entropy of the test part in bits per symbol, with the weights of the lowest validation loss;
        ``perplexity`` per symbol; ``valid_bpc`` and ``train_bpc`` (step): of the validation part, and of the batches
        since the last point; ``mean_valid_bpc``: mean of ``valid_bpc`` over the points after the first, the area under
        the curve; ``best_valid_bpc``, ``best_step``. ``bpc_winners``: as ``bpc``, where in the test the winners of the
        competition make the output of every SMoE layer, not the router. ``entropy``, ``entropy_top_k``, ``overlap``,
        ``overlap_chance``, ``usage_entropy``, ``router_loss``: see ``smoe_measures.Routing``, on the test part, as
        means over the SMoE layers and by layer (``entropy_by_layer`` and so on). ``competitions``: share of
        (step, layer) that competed. ``parameters``. Measurements of the machine: ``seconds_per_step`` (of the CPU; of
        the clock on a GPU; training steps alone) and ``tokens_per_second``.
    """
    require_torch()
    from moestat.training.lm_training import deterministic

    settings = Settings.model_validate(dict(cell.settings))
    with deterministic(device if settings.precision == "single" else "cpu"):
        rows = [_replicate(cell, settings, replicate, device) for replicate in replicates]
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",)} | {f"{name}_by_layer": ("layer",) for name in BY_LAYER}
    attrs = {name: {"measurement": 1, "units": units} for name, units in MEASUREMENTS.items()}
    layers = np.arange(1, rows[0]["entropy_by_layer"].size + 1)
    coords = {"step": plan_of(settings).checks, "layer": layers}
    return assemble(replicates, rows, dims=dims, coords=coords, attrs=attrs)


def length_of(settings: Settings) -> int:
    """Return the symbols of a window."""
    from moestat.papers.compete_smoe.decoder_sizes import SIZES

    return settings.length or SIZES[settings.size].length


def plan_of(settings: Settings) -> Any:
    """Return how the models are trained."""
    from moestat.training.lm_training import Plan

    constant = settings.schedule == "constant"  # a cosine that ends where it began
    return Plan(
        steps=settings.steps,
        batch=settings.batch,
        length=length_of(settings),
        rate=settings.rate,
        schedule="cosine" if constant else "inverse_sqrt",
        warmup=settings.warmup,
        final=1.0,
        betas=(settings.beta1, settings.beta2),
        decay=settings.decay,
        clip=settings.clip or math.inf,
        every=settings.every,
        validation=settings.validation,
        keep_best=True,
    )


def model_of(cell: Cell, settings: Settings, replicate: int, vocabulary: int) -> Any:
    """Return a decoder with first weights that depend on the replicate and the sizes alone."""
    from dataclasses import replace

    from moestat.papers.compete_smoe import routers, variants
    from moestat.papers.compete_smoe.decoder_sizes import feed_forwards, shape_of
    from moestat.papers.compete_smoe.expert_bank import ExpertBank
    from moestat.papers.compete_smoe.smoe import Competition, SMoE, schedule
    from moestat.training.decoder import Decoder, Dense

    shape = shape_of(settings.architecture, settings.size, vocabulary)
    own = 8 * max(1, round((settings.width or shape.width) * settings.thirds / 24))
    twice = 2 if settings.architecture == "glam" else 1
    blocks = twice * max(1, round((settings.blocks or shape.blocks // twice) * settings.thirds / 3))
    shape = replace(shape, length=length_of(settings), width=own, hidden=own, blocks=blocks)
    width, experts = shape.width, settings.experts

    def rng(purpose: str, **identity: Any) -> np.random.Generator:
        return cell.generator(replicate, purpose, width=width, **identity)

    def sparse(block: int) -> SMoE:
        place = {"block": block, "experts": experts}
        competition = None
        if settings.router == "compete_smoe" if settings.competes is None else settings.competes:
            competition = Competition(
                schedule(settings.probability, settings.form),
                key=int(rng("coins", block=block).integers(2**63)),
                alpha=settings.alpha,
                weight=settings.router_weight,
                output=settings.competition_output,
                reading=settings.reading,
            )
        return SMoE(
            ExpertBank(width, shape.hidden, experts, rng("experts", **place)),
            routers.make(
                settings.router,
                width,
                experts,
                rng("router", **place),
                stage_one=settings.stage_one,
                reading=settings.reading,
            ),
            top_k=settings.top_k,
            competition=competition,
            balance=settings.balance,
        )

    def dense(block: int) -> Dense:
        return Dense(shape, rng("dense", block=block))

    sizes = {"vocabulary": vocabulary, "length": shape.length, "blocks": shape.blocks}
    make = feed_forwards(settings.architecture, sparse, dense)
    kind = variants.MixedDecoder if settings.precision == "mixed" else Decoder
    model = kind(shape, feed_forward=make, generator=rng("start", **sizes))
    if settings.dropout:
        variants.add_dropout(model, settings.dropout, rng("dropout"))
    if settings.norm == "after":
        variants.norm_after(model)
    return model


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
    from moestat.papers.compete_smoe.smoe_measures import perplexity, routing, winners_route
    from moestat.training.lm_training import bits, evaluate

    code = f"{__name__} {VERSION}"
    model, corpus, training, checkpoints = trained(cell, settings, replicate, device, code)
    how = {"batch": settings.batch, "limit": settings.test}
    length = length_of(settings)
    test = evaluate(model, corpus.test, length, **how) if training.finite else np.nan
    with winners_route(model):
        won = evaluate(model, corpus.test, length, **how) if training.finite else np.nan
    routed = routing(model, corpus.test, length, **how)
    by_layer = {name: getattr(routed, name) if training.finite else routed.entropy * np.nan for name in BY_LAYER}
    if settings.keep_model and training.finite:
        _keep(cell, replicate, corpus, model)
    rivals = [m.competition for m in model.modules() if isinstance(m, SMoE) and m.competition is not None]
    coins = [rival.heads(step, settings.steps) for rival in rivals for step in range(settings.steps)]
    checkpoints.remove()
    status = Status.CONVERGED if np.isfinite(test) else Status.NOT_FINITE
    return {
        "bpc": bits(test),
        "bpc_winners": bits(won),
        "perplexity": perplexity(test),
        "valid_bpc": bits(training.valid),
        "train_bpc": bits(training.train),
        "mean_valid_bpc": bits(float(np.mean(training.valid[1:]))),
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


def _keep(cell: Cell, replicate: int, corpus: Any, model: Any) -> None:
    """Write the weights, and say where."""
    from moestat.papers.compete_smoe import kept_models

    path = kept_models.save(cell, replicate, corpus, model)
    print(f"{cell.arm}, replicate {replicate}: the model is kept in {path}", file=sys.stderr, flush=True)
