"""Train decoders with sparse mixtures of experts and five kinds of routers (compete-smoe paper, section 6).

A replicate is a draw of initial weights, of batches and of the coins of the competition. Arms share all that they have
in common: the decoder, the experts and linear routers start from the same weights, every arm sees the same batches, and
a step that competes with a small lambda competes with a larger one too. With lambda = 0, CompeteSMoE is SMoE bit for
bit. ``seconds_per_step`` and ``tokens_per_second`` are measurements of the machine, everything else is a function of
(seed, settings, replicate) on one kind of device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
import xarray as xr
from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from moestat import own
from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.status import Status

ROUTERS = ("smoe", "smoe_fixed", "xmoe", "stable_moe", "compete_smoe")


def _name_or_path(value: str) -> str:
    """Accept the name of a method, or the import path of a router of the user's own."""
    if not own.is_path(value) and value not in ROUTERS:
        allowed = f"{', '.join(map(repr, ROUTERS))} or an import path 'module:name'"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": allowed})
    return value


class Settings(SettingsModel):
    """Settings of a cell; *ours* where the paper does not say or uses a larger number."""

    router: Annotated[str, AfterValidator(_name_or_path)] = Field(
        "smoe", description="method: smoe, smoe_fixed, xmoe, stable_moe, compete_smoe, or one's own 'module:name'"
    )
    own_code: str = Field("", description="set by itself: a hash of the code of one's own router")
    competes: bool | None = Field(None, description="whether layers compete; by itself those of compete_smoe do")
    architecture: Literal["switch", "glam"] = Field("switch", description="GLaM: a dense block after each SMoE block")
    size: Literal["micro", "tiny", "small", "medium"] = Field("micro", description="micro is ours")
    blocks: int = Field(0, ge=0, description="SMoE blocks; 0: those of the size")
    width: int = Field(0, ge=0, description="of the model and of an expert's hidden layer; 0: that of the size")
    thirds: int = Field(
        3,
        ge=1,
        description="ours: of blocks and width, in whole blocks and eights; 4 makes the paper's medium of its small",
    )
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
    reading: Literal["paper", "published"] = Field(
        "paper", description="of L_R, XMoE and StableMoE: the papers', or the code that the authors published"
    )
    norm: Literal["before", "after"] = Field("before", description="ours: LayerNorm before or after each part")
    dropout: float = Field(0.0, ge=0, lt=1, description="share dropped of what attention and feed-forward part add")
    steps: int = Field(1000, ge=1, description="60 000 or 80 000 in the paper")
    batch: int = Field(16, ge=1, description="windows per step; 48 in the paper")
    rate: float = Field(3e-3, gt=0, description="largest rate; 7e-4 in the paper")
    warmup: float = Field(0.1, gt=0, le=1, description="ours: share of the steps in which the rate rises")
    schedule: Literal["inverse_sqrt", "constant"] = Field(
        "inverse_sqrt", description="of the rate; 1/sqrt(t) in the paper"
    )
    clip: float = Field(1.0, ge=0, description="ours: largest norm of the gradient; 0: gradients are not clipped")
    beta2: float = Field(0.98, ge=0, lt=1, description="ours: of Adam; the paper does not say")
    every: int = Field(100, ge=1, description="ours: steps between two validations")
    validation: int = Field(32768, ge=0, description="ours: symbols of a validation; 0: the whole part")
    test: int = Field(0, ge=0, description="ours: symbols of the test; 0: the whole part")
    file: str = Field("", description="own text, enwik8, text8 or a folder of WikiText; shipped plays if empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    @model_validator(mode="before")
    @classmethod
    def _code_of_own_router(cls, given: Any) -> Any:
        """Make the code of the user's own router a part of the cell's identity, so that a change of it is seen."""
        if not isinstance(given, dict):
            return given
        code = own.code(str(given.get("router", "")))
        if given.get("own_code", code) != code:
            raise ValueError("own_code is set by itself; it was given, or the code of the own router has changed")
        return given | {"own_code": code} if code else given

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


VERSION = 1

DEVICES = ("cpu", "cuda")
MEASUREMENTS = {"seconds_per_step": "seconds", "tokens_per_second": "tokens per second"}
MANY_EPOCHS = 20.0  # from here on a training is warned of: the paper's 1.47 billion symbols are 16 epochs of enwik8
BY_LAYER = ("entropy", "entropy_top_k")


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

    ``bpc``: cross-entropy of the test part in bits per symbol, with the weights of the lowest validation loss;
    ``valid_bpc`` and ``train_bpc`` (step): of the validation part, and of the batches since
    the last point; ``mean_valid_bpc``: mean of ``valid_bpc`` over the points after the first, the area under the curve;
    ``best_valid_bpc``. ``entropy``, ``entropy_top_k``, ``overlap``, ``overlap_chance``, ``usage_entropy``,
    ``router_loss``: see ``smoe_measures.Routing``, on the test part, as means over the SMoE layers, the first two also
    by layer (``entropy_by_layer``). ``competitions``: share of (step, layer) that
    competed. ``parameters``. Measurements of the machine: ``seconds_per_step`` (of the CPU; of the clock on a GPU;
    training steps alone) and ``tokens_per_second``.
    """
    settings = Settings.model_validate(dict(cell.settings))
    rows = rows_of(_replicate, cell, settings, replicates, device)
    dims = {"valid_bpc": ("step",), "train_bpc": ("step",)} | {f"{name}_by_layer": ("layer",) for name in BY_LAYER}
    attrs = {name: {"measurement": 1, "units": units} for name, units in MEASUREMENTS.items()}
    layers = np.arange(1, rows[0]["entropy_by_layer"].size + 1)
    coords = {"step": plan_of(settings).checks, "layer": layers}
    return assemble(replicates, rows, dims=dims, coords=coords, attrs=attrs)


def rows_of(
    one: Callable[..., dict[str, Any]], cell: Cell, settings: Settings, replicates: Sequence[int], device: str
) -> list[dict[str, Any]]:
    """Return what ``one(cell, settings, replicate, device)`` gives for each replicate, to the bit where it can be."""
    require_torch()
    from moestat.training.lm_training import deterministic

    with deterministic(device):
        return [one(cell, settings, replicate, device) for replicate in replicates]


def length_of(settings: Settings) -> int:
    """Return the symbols of a window."""
    from studies.compete_smoe.parts.decoders import SIZES

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
        betas=(0.9, settings.beta2),
        decay=0.0,
        clip=settings.clip or math.inf,
        every=settings.every,
        validation=settings.validation,
        keep_best=True,
    )


def model_of(cell: Cell, settings: Settings, replicate: int, vocabulary: int) -> Any:
    """Return a decoder with first weights that depend on the replicate and the sizes alone."""
    from dataclasses import replace

    from moestat.training.decoder import Decoder, Dense
    from studies.compete_smoe.parts import decoders, routers
    from studies.compete_smoe.parts.smoe import Competition, ExpertBank, SMoE, schedule

    shape = decoders.shape_of(settings.architecture, settings.size, vocabulary)
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
        drawn, reading = rng("router", **place), settings.reading
        router = routers.make(settings.router, width, experts, drawn, stage_one=settings.stage_one, reading=reading)
        bank = ExpertBank(width, shape.hidden, experts, rng("experts", **place))
        return SMoE(bank, router, top_k=settings.top_k, competition=competition, balance=settings.balance)

    def dense(block: int) -> Dense:
        return Dense(shape, rng("dense", block=block))

    sizes = {"vocabulary": vocabulary, "length": shape.length, "blocks": shape.blocks}
    make = decoders.feed_forwards(settings.architecture, sparse, dense)
    model = Decoder(shape, feed_forward=make, generator=rng("start", **sizes))
    if settings.dropout:
        decoders.add_dropout(model, settings.dropout, rng("dropout"))
    if settings.norm == "after":
        decoders.norm_after(model)
    return model


def trained(
    cell: Cell,
    settings: Settings,
    replicate: int,
    device: str,
    code: str,
    *,
    before: Callable[[Any, Any], None] = lambda model, corpus: None,
) -> tuple[Any, Any, Any, Any]:
    """Train the model of a replicate; return it, the text, what the training gave, and its checkpoints.

    ``before``: what is done with the model and the text before the first step.
    """
    from moestat.training.checkpoint import Checkpoints, folder_of
    from moestat.training.corpus import load_checked
    from moestat.training.lm_training import train

    plan = plan_of(settings)
    corpus = load_checked(settings.file, settings.file_sha256).require(plan.length + 1)
    model = model_of(cell, settings, replicate, corpus.vocabulary)
    before(model, corpus)
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
    from moestat.training.lm_training import bits, evaluate
    from studies.compete_smoe.parts.smoe import SMoE
    from studies.compete_smoe.parts.smoe_measures import routing

    code = f"{__name__} {VERSION}"
    model, corpus, training, checkpoints = trained(cell, settings, replicate, device, code)
    how = {"batch": settings.batch, "limit": settings.test}
    length = length_of(settings)
    test = evaluate(model, corpus.test, length, **how) if training.finite else np.nan
    routed = asdict(routing(model, corpus.test, length, **how))
    routed = routed if training.finite else {name: values * np.nan for name, values in routed.items()}
    rivals = [m.competition for m in model.modules() if isinstance(m, SMoE) and m.competition is not None]
    coins = [rival.heads(step, settings.steps) for rival in rivals for step in range(settings.steps)]
    checkpoints.remove()
    status = Status.CONVERGED if np.isfinite(test) else Status.NOT_FINITE
    return {
        "bpc": bits(test),
        "valid_bpc": bits(training.valid),
        "train_bpc": bits(training.train),
        "mean_valid_bpc": bits(float(np.mean(training.valid[1:]))),
        "best_valid_bpc": bits(float(np.nanmin(training.valid))) if training.finite else np.nan,
        **{name: float(values.mean()) for name, values in routed.items()},
        **{f"{name}_by_layer": routed[name] for name in BY_LAYER},
        "competitions": float(np.mean(coins)) if coins else 0.0,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds_per_step": training.seconds_per_step,
        "tokens_per_second": settings.batch * length / training.seconds_per_step,
        "status": int(status),
        "message": f"The training ran its {settings.steps} steps." if training.finite else status.sentence,
        "iterations": training.done,
    }
