"""Train a language model: AdamW, a schedule of the rate, clipped gradients, the validation loss at fixed steps.

What a module may do. It adds a loss of its own by leaving a scalar in ``auxiliary`` in its forward pass in training,
and is told of every step by ``begin_step(step, steps)``, step = 0..steps-1, before the forward pass. It must be a
function of the step, or keep what it draws from in its state (``get_extra_state`` of PyTorch), for a run that was
killed continues from the state of the modules, of the optimiser and of the order of the data.
"""

from __future__ import annotations

import copy
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from moestat.training.checkpoint import Checkpoints
from moestat.training.corpus import Corpus
from moestat.training.decoder import Decoder
from moestat.training.lm_plan import Plan

LINE_EVERY = 60.0  # seconds between two lines about the progress


@dataclass
class Trained:
    """What a training run gave."""

    steps: np.ndarray  #: (checks,) int, :attr:`Plan.checks`.
    valid: np.ndarray  #: (checks,), validation loss in nats per symbol; NaN from where it was no longer finite.
    train: np.ndarray  #: (checks,), mean cross-entropy of the batches since the last check; NaN at step 0.
    best_step: int = 0  #: The step with the lowest validation loss.
    finite: bool = True  #: Whether the loss always was; if not, the training stopped there.
    seconds: float = 0.0  #: In the steps of all attempts: of this thread's CPU, or of the clock on a GPU.
    resumed_at: int = 0  #: Steps that a killed run had done before; 0 if there was none.
    done: int = 0  #: Steps that were done, of all attempts together; fewer than planned if the loss was not finite.

    @property
    def seconds_per_step(self) -> float:
        """Seconds of a step that was done; NaN if none was."""
        return self.seconds / self.done if self.done else math.nan


@dataclass
class _Run:
    """The state of a training run, all of which is in a checkpoint."""

    model: Decoder
    optimiser: torch.optim.Optimizer
    batches: np.random.Generator
    result: Trained
    step: int = 0
    total: float = 0.0
    best: dict[str, Any] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        result = self.result
        return {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "batches": _plain(self.batches.bit_generator.state),
            "valid": result.valid.tolist(),
            "train": result.train.tolist(),
            "best_step": result.best_step,
            "seconds": result.seconds,
            "total": self.total,
            "best": self.best,
        }

    def restore(self, step: int, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.batches.bit_generator.state = state["batches"]
        result = self.result
        result.valid[:], result.train[:] = state["valid"], state["train"]
        result.best_step, result.seconds, result.resumed_at = state["best_step"], state["seconds"], step
        self.step, self.total, self.best = step, state["total"], state["best"]


def train(
    model: Decoder,
    corpus: Corpus,
    plan: Plan,
    *,
    batches: np.random.Generator,
    device: str = "cpu",
    checkpoints: Checkpoints | None = None,
    title: str = "",
) -> Trained:
    """Train a model in place, on ``device`` ("cpu" or "cuda").

    ``batches`` draws the windows of the training part: the same generator gives the same batches to any model. The run
    continues from ``checkpoints`` and is saved to them; the caller removes them when the results are safe. With a
    ``title`` lines about the progress, one a minute, go to the standard error stream.
    """
    corpus.require(plan.length + 1)
    model.to(device).train()
    checks = plan.checks
    nothing = np.full(checks.size, np.nan)
    # AdamW decays matrices and leaves gains, shifts and biases
    learnt = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in learnt if p.ndim > 1], "weight_decay": plan.decay},
        {"params": [p for p in learnt if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=plan.rate, betas=plan.betas, fused=True)
    run = _Run(model, optimiser, batches, Trained(checks, nothing.copy(), nothing.copy()))
    if checkpoints is not None and (state := checkpoints.latest()) is not None:
        run.restore(*state)
    else:
        _validate(run, corpus, plan)
    text = torch.from_numpy(corpus.train.astype(np.int64, copy=False)) if corpus.train.size < 1 << 24 else None
    clock = time.thread_time if device == "cpu" else time.perf_counter
    began = told = time.monotonic()
    before = run.step
    listeners: list[Any] = [module for module in model.modules() if hasattr(module, "begin_step")]
    loss_sum = torch.tensor(run.total, dtype=torch.float64, device=device)
    begin = clock()
    while run.step < plan.steps and run.result.finite:
        for module in listeners:
            module.begin_step(run.step, plan.steps)
        data = _windows(corpus.train, text, plan, batches).to(device, non_blocking=True)
        loss_sum += _step(run, data, plan)
        run.step += 1
        if run.step in checks:
            run.total = float(loss_sum)  # waits for the device
            run.result.seconds += clock() - begin
            _validate(run, corpus, plan)
            loss_sum.zero_()
            begin = clock()
        if title and time.monotonic() - told >= LINE_EVERY and run.step < plan.steps:
            told = time.monotonic()
            print(progress(title, plan, run, before, told - began), file=sys.stderr, flush=True)
        if checkpoints is not None and run.step < plan.steps and run.result.finite and checkpoints.due():
            run.total = float(loss_sum)
            run.result.seconds += clock() - begin
            checkpoints.save(run.step, run.state())
            begin = clock()
    run.result.done = run.step
    if plan.keep_best and run.best:
        model.load_state_dict(run.best)
    return run.result


def evaluate(model: Decoder, text: np.ndarray, length: int, *, batch: int = 16, limit: int = 0) -> float:
    """Return the mean cross-entropy of a text, in nats per symbol, in the model's evaluation mode.

    The text is cut into windows of ``length`` one after the other; each symbol is predicted once, from those before it
    in its window. A last window that is not whole is left out. With a ``limit`` only so many symbols from the start are
    used.
    """
    device = model.head.device
    count = (min(limit, text.size - 1) if limit else text.size - 1) // length
    count = max(1, count)
    kept = torch.from_numpy(text[: count * length + 1].astype(np.int64))
    given, wanted = kept[:-1].view(count, length), kept[1:].view(count, length)
    was_training = model.training
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=device)
    with torch.inference_mode():
        for start in range(0, count, batch):
            rows = slice(start, start + batch)
            loss = model.loss(given[rows].to(device), wanted[rows].to(device))
            total += loss.double() * min(batch, count - start)
    model.train(was_training)
    return float(total) / count


def bits(nats: np.ndarray | float) -> Any:
    """Return nats per symbol as bits per symbol (BPC)."""
    return nats / math.log(2)


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Compute the same bits each time inside the block: one thread on the CPU, deterministic kernels on a GPU.

    The gradient of PyTorch's fused attention is not deterministic on a GPU while ``warn_only`` is set, so attention is
    computed by matrix products there.
    """
    threads, before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with sdpa_kernel(SDPBackend.MATH) if device != "cpu" else nullcontext():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


def _step(run: _Run, data: torch.Tensor, plan: Plan) -> torch.Tensor:
    """Take one step; return the cross-entropy of its batch."""
    model = run.model
    loss = model.loss(data[:, :-1], data[:, 1:])
    own = loss.detach()
    for module in model.modules():
        extra = getattr(module, "auxiliary", None)
        if extra is not None:
            loss = loss + extra
    run.optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
    for group in run.optimiser.param_groups:
        group["lr"] = plan.rate_at(run.step)
    run.optimiser.step()
    return own


def _windows(symbols: np.ndarray, text: torch.Tensor | None, plan: Plan, batches: np.random.Generator) -> torch.Tensor:
    """Draw a batch of windows (batch, length + 1)."""
    starts = batches.integers(0, symbols.size - plan.length, plan.batch)
    index = starts[:, None] + np.arange(plan.length + 1)
    if text is not None:
        return text[torch.from_numpy(index)]
    return torch.from_numpy(symbols[index].astype(np.int64))  # a large text stays in its small type


def _validate(run: _Run, corpus: Corpus, plan: Plan) -> None:
    """Fill the curves at this step, and remember the weights if they are the best so far."""
    result = run.result
    at = int(np.flatnonzero(result.steps == run.step)[0])
    value = evaluate(run.model, corpus.valid, plan.length, batch=plan.batch, limit=plan.validation)
    if at:
        result.train[at] = run.total / (result.steps[at] - result.steps[at - 1])
    run.total = 0.0
    if not math.isfinite(value) or (at and not math.isfinite(result.train[at])):
        result.finite = False
        return
    result.valid[at] = value
    if at == 0 or value < np.nanmin(result.valid[:at]):
        result.best_step = run.step
        if plan.keep_best:
            run.best = copy.deepcopy(run.model.state_dict())


def _plain(state: Any) -> Any:
    """Return the state of a NumPy generator in plain numbers, which a checkpoint may hold."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state if isinstance(state, str) else int(state)


def progress(title: str, plan: Plan, run: _Run, before: int, elapsed: float) -> str:
    """Return step, symbols per second, time left and last validation loss in one line; nothing of it is a result."""
    done = run.step - before
    speed, left = done * plan.batch * plan.length / elapsed, elapsed / max(1, done) * (plan.steps - run.step)
    known = run.result.valid[np.isfinite(run.result.valid)]
    loss = f", validation {known[-1]:.3f} nats" if known.size else ""
    minutes, seconds = divmod(round(left), 60)
    return (
        f"{title}: step {run.step} of {plan.steps}, {speed:,.0f} tokens/s, "
        f"about {minutes} min {seconds:02d} s left{loss}"
    )
