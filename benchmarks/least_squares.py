"""One least-squares fit: this package beside SciPy's least_squares and optimistix, in one run.

    python benchmarks/least_squares.py                    # d = 8, N = 9, n = 10_000, softmax gate, about 2 CPU minutes
    python benchmarks/least_squares.py --cap 20           # ... with more iterations of the competitors
    python benchmarks/least_squares.py --experts linear --competitors trf --cap 200
    python benchmarks/least_squares.py --device cuda      # also runs this package's fit on the GPU

Every solver gets the same data, the same start and the same objective (for ReLU experts the smoothed one, tau = 0.001,
that our last rung minimises), analytic Jacobians, float64, one thread, and is followed at each of its Jacobian
evaluations until the projected gradient is ``--target`` times that at the start, or ``--cap`` evaluations are spent.
Times are CPU seconds of the process. This package runs twice in turns with its compiled and its plain code
(:mod:`moestat.fit.kernel`), and the least time of each counts; one evaluation of each, with its Gflop/s beside those of
SGEMM, stands above the table (``hessian.py`` has more of them).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hessian
import numpy as np
import scipy.optimize
from threadpoolctl import threadpool_limits

from moestat.arrays import backend, resolve_device, to_numpy
from moestat.fit import kernel
from moestat.fit.gradient import perturb
from moestat.fit.newton import least_squares
from moestat.models import experts, gates, truths
from moestat.models.regression import Model

BOX = 5.0
COMPETITORS = ("trf", "lm", "optimistix")
TAU = 1e-3
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Problem:
    """One data set, one start, and the objective 1/2 mean r^2 that every solver minimises."""

    model: Model
    x: np.ndarray
    y: np.ndarray
    start: np.ndarray

    @property
    def tau(self) -> float:
        """Smoothing of the ReLU in the objective."""
        return TAU if self.model.expert == "relu" else 0.0

    def residuals(self, flat: np.ndarray) -> np.ndarray:
        """Residuals divided by sqrt(n), so that half their squares add up to the objective."""
        theta = flat.reshape(self.start.shape)
        return (self.model.predict(theta, self.x, tau=self.tau) - self.y) / np.sqrt(len(self.y))

    def jacobian(self, flat: np.ndarray) -> np.ndarray:
        """The dense n x p Jacobian of :meth:`residuals`, as SciPy wants it."""
        theta, size = flat.reshape(self.start.shape), self.model.gate_size
        q, e = gates.score_features(self.x, self.model.score), experts.expert_features(self.x)
        g = gates.gate_values(self.model.gate, theta[:, :size] @ q)
        phi, slope = experts.activation(self.model.expert, theta[:, size:] @ e, tau=self.tau, order=1)
        u = gates.output_slopes(self.model.gate, g, phi, np.sum(g * phi, axis=0)) / np.sqrt(len(self.y))
        v = g * slope / np.sqrt(len(self.y))
        rows = np.empty((*theta.shape, len(self.y)))
        np.multiply(u[:, None, :], q, out=rows[:, :size])
        np.multiply(v[:, None, :], e, out=rows[:, size:])
        return rows.reshape(flat.size, -1).T

    def stationarity(self, theta: np.ndarray, box: float) -> tuple[float, float]:
        """Loss, and the largest coordinate of theta - clip(theta - gradient, -box, box)."""
        loss, gradient = self.model.gradient(theta.reshape(self.start.shape), self.x, self.y, tau=self.tau)
        flat = theta.reshape(-1)
        return float(loss), float(np.abs(flat - np.clip(flat - gradient.reshape(-1), -box, box)).max())


@dataclass(frozen=True)
class Row:
    """What one solver did."""

    solver: str
    iterations: int
    seconds: float
    loss: float
    gradient: float
    reached: bool
    note: str = ""


class Enough(Exception):
    """Stops a solver that has reached the target or spent its evaluations."""


class Follower:
    """Records time, loss and stationarity at each Jacobian evaluation; its own work is not timed."""

    def __init__(self, problem: Problem, box: float, target: float, cap: int) -> None:
        self.problem, self.box, self.target, self.cap = problem, box, target, cap
        self.count, self.best, self.loss = 0, np.inf, np.inf
        self.own = 0.0
        self.begin = time.process_time()

    def look(self, theta: np.ndarray) -> None:
        """Record where the solver is about to take its next Jacobian; raise Enough when it need not."""
        entered = time.process_time()
        self.loss, self.best = self.problem.stationarity(theta, self.box)
        self.own += time.process_time() - entered
        if self.best <= self.target or self.count >= self.cap:
            raise Enough
        self.count += 1

    def row(self, solver: str, note: str = "") -> Row:
        """Say what happened since this follower was made."""
        seconds = time.process_time() - self.begin - self.own
        return Row(solver, self.count, seconds, self.loss, self.best, self.best <= self.target, note)


def ours(problem: Problem, precision: str, device: str, target: float, code: str) -> Row:
    """Run this package's fit, to its own stopping criterion (Newton decrement)."""
    xp = backend(device)  # type: ignore[arg-type]
    arrays = [xp.asarray(a) for a in (problem.x[None], problem.y[None], problem.start[None, None])]
    clock = time.process_time if device == "cpu" else time.perf_counter
    begin = clock()
    with patch.dict(os.environ, {kernel.VARIABLE: code} if code else {}):
        fit = least_squares(problem.model, *arrays, box=BOX, precision=precision)
        theta = to_numpy(fit.theta)[0]
    seconds = clock() - begin
    loss, gradient = problem.stationarity(theta, BOX)
    name = f"moestat, {'plain' if code else 'compiled'}, {precision}"
    if device != "cpu":
        name = f"moestat, {precision}, GPU (wall seconds)"
    return Row(name, int(fit.iterations[0]), seconds, loss, gradient, gradient <= target, fit.message()[0])


def scipy_fit(problem: Problem, method: str, target: float, cap: int) -> Row:
    box = BOX if method == "trf" else np.inf
    follower = Follower(problem, box, target, cap)

    def jacobian(flat: np.ndarray) -> np.ndarray:
        follower.look(flat)
        return problem.jacobian(flat)

    options: dict[str, Any] = {"bounds": (-BOX, BOX)} if method == "trf" else {}
    note = ""
    try:
        done = scipy.optimize.least_squares(
            problem.residuals,
            problem.start.reshape(-1),
            jac=jacobian,
            method=method,
            max_nfev=100 * cap,
            **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15),
            **options,
        )
        note = f"stopped by itself: {done.message}"
    except Enough:
        pass
    return follower.row(f"SciPy least_squares, {method}", note)


def optimistix_fit(problem: Problem, target: float, cap: int) -> Row | str:
    """Levenberg-Marquardt of optimistix, step by step; compilation is not timed. A string says why it is skipped."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import equinox as eqx
        import jax
        import lineax
        import optimistix
    except ImportError as error:
        return f"optimistix is skipped: {error} (pip install optimistix)"
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    model, size = problem.model, problem.model.gate_size
    q = jnp.asarray(gates.score_features(problem.x, model.score))
    e = jnp.asarray(experts.expert_features(problem.x))
    y, root = jnp.asarray(problem.y), np.sqrt(len(problem.y))

    def residuals(flat: Any, _: Any) -> tuple[Any, None]:
        theta = flat.reshape(problem.start.shape)
        scores, h = theta[:, :size] @ q, theta[:, size:] @ e
        g = jax.nn.softmax(scores, axis=0) if model.gate == "softmax" else jax.nn.sigmoid(scores)
        if model.expert == "relu":
            h = jnp.where(jnp.abs(h) < TAU, (h + TAU) ** 2 / (4 * TAU), jnp.maximum(h, 0.0))
        return ((g * h).sum(axis=0) - y) / root, None

    # normal equations: the faster of its choices here, its default (QR) takes longer per step
    solver = optimistix.LevenbergMarquardt(rtol=1e-15, atol=1e-15, linear_solver=lineax.Normal(lineax.Cholesky()))
    theta = jnp.asarray(problem.start.reshape(-1))
    fixed = {"fn": residuals, "args": None, "options": {}, "tags": frozenset()}
    shape = jax.eval_shape(lambda: residuals(theta, None)[0])
    state = solver.init(residuals, theta, None, {}, shape, None, frozenset())
    step = eqx.filter_jit(eqx.Partial(solver.step, **fixed))
    jax.block_until_ready(step(y=theta, state=state)[0])
    follower = Follower(problem, np.inf, target, cap)
    try:
        while True:
            follower.look(np.asarray(theta))
            theta, state, _ = step(y=theta, state=state)
            jax.block_until_ready(theta)
    except Enough:
        return follower.row("optimistix LevenbergMarquardt")


def make_problem(gate: str, expert: str, n: int, seed: int) -> Problem:
    model = Model(gate, "full", expert, 8)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, 8, "dense", rng)
    x, y = truths.sample(model, truth, n, 0.01, rng)
    return Problem(model, x, y, perturb(truths.split(model, truth, 9), 0.05, rng))


def table(rows: list[Row], start: float) -> str:
    """The rows as text; ratios are to the first row."""
    first = rows[0]
    lines = [
        f"{'solver':34s} {'its':>4s} {'ms/it':>8s} {'ratio':>6s} {'CPU s':>7s} {'ratio':>7s} {'rel. gradient':>13s} "
        f"{'loss':>12s}"
    ]
    for row in rows:
        each = row.seconds / max(row.iterations, 1)
        ratio, total = each / (first.seconds / first.iterations), row.seconds / first.seconds
        lines.append(
            f"{row.solver:34s} {row.iterations:4d} {1e3 * each:8.1f} {ratio:6.1f} {row.seconds:7.2f} "
            f"{'' if row.reached else '>':>1s}{total:6.1f} {row.gradient / start:13.1e} {row.loss:12.9f}"
            + ("" if row.reached else "   target not reached")
            + (f" ({row.note})" if row.note and not row.reached else "")
        )
    return "\n".join(lines)


def compare(problem: Problem, arguments: argparse.Namespace) -> dict[str, Any]:
    loss, start = problem.stationarity(problem.start, BOX)
    target = arguments.target * start
    print(
        f"\n{problem.model.gate} gate, {problem.model.expert} experts, d=8, N=9, n={arguments.n}; at start: {loss:.9f}"
    )
    print(hessian.HEAD)
    evaluation = hessian.evaluations(
        problem.model.gate, problem.model.expert, problem.model.d, 9, arguments.n, hessian.sgemm()
    )
    print()
    sides = [("cpu", "mixed", ""), ("cpu", "mixed", "numpy"), ("cpu", "double", ""), ("cpu", "double", "numpy")]
    if resolve_device(arguments.device) == "cuda":
        sides += [("cuda", "mixed", ""), ("cuda", "double", "")]
    for _, precision, code in sides[:4]:  # compiles, and loads what is needed
        ours(make_problem(problem.model.gate, problem.model.expert, 200, 0), precision, "cpu", target, code)
    turns = [[ours(problem, precision, device, target, code) for device, precision, code in sides] for _ in range(2)]
    rows = [min(pair, key=lambda row: row.seconds) for pair in zip(*turns, strict=True)]
    others: dict[str, Callable[[], Row | str]] = {
        "trf": lambda: scipy_fit(problem, "trf", target, arguments.cap),
        "lm": lambda: scipy_fit(problem, "lm", target, arguments.cap),
        "optimistix": lambda: optimistix_fit(problem, target, arguments.cap),
    }
    for name in arguments.competitors:
        outcome = others[name]()
        if isinstance(outcome, str):
            print(outcome)
        else:
            rows.append(outcome)
    print(table(rows, start))
    return {
        "gate": problem.model.gate,
        "expert": problem.model.expert,
        "start_loss": loss,
        "start_gradient": start,
        "evaluation": evaluation,
        "rows": [asdict(row) for row in rows],
    }


def machine() -> dict[str, Any]:
    """Where the numbers come from, without names."""
    versions = {}
    for package in ("numpy", "scipy", "numba", "optimistix", "jax"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": kernel.describe(),
        **versions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="sample size")
    parser.add_argument("--gate", choices=gates.GATES, default="softmax")
    parser.add_argument("--experts", nargs="+", choices=("linear", "relu"), default=["linear", "relu"])
    parser.add_argument("--competitors", nargs="*", choices=COMPETITORS, default=list(COMPETITORS))
    parser.add_argument("--cap", type=int, default=8, help="Jacobian evaluations allowed to each competitor")
    parser.add_argument("--target", type=float, default=1e-5, help="projected gradient, relative to the start's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "auto", "cuda"), default="cpu")
    parser.add_argument("--output", type=Path, help="JSON file; benchmarks/results/least_squares-GATE.json if absent")
    arguments = parser.parse_args()
    results = [
        compare(make_problem(arguments.gate, e, arguments.n, arguments.seed), arguments) for e in arguments.experts
    ]
    output = arguments.output or RESULTS / f"least_squares-{arguments.gate}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    settings = {k: v for k, v in vars(arguments).items() if k != "output"}
    output.write_text(json.dumps({"settings": settings, "machine": machine(), "results": results}, indent=1) + "\n")
    print(f"\nwritten to {output}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
