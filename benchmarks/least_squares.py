"""One least-squares fit: this package beside what a user writes in an afternoon, and beside libraries, in one run.

    python benchmarks/least_squares.py                     # about 3 CPU minutes
    python benchmarks/least_squares.py --gate sigmoid

All get the same data, start and objective (for ReLU experts the smoothed one, tau = 0.001, that our last rung
minimises) with analytic derivatives. *by hand* is Levenberg-Marquardt on the normal equations, J'J by SYRK, in 25
lines. LBFGS is PyTorch's, with autograd and the quadratic features computed once. Ours, by hand and LBFGS are run to
the end, that is until the largest entry of the gradient is ``--target`` times that at the start, or 150 iterations are
spent, twice, and the least time counts; the others are too slow for that, and take ``--cap`` iterations once. An
iteration of LBFGS is one evaluation.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize
from common import plain, timed, write
from scipy.linalg import blas, cho_factor, cho_solve

from moestat.fit.gradient import perturb
from moestat.fit.newton import least_squares
from moestat.models import experts, gates, truths
from moestat.models.regression import Model

BOX, TAU, LONGEST = 5.0, 1e-3, 150


class Enough(Exception):
    """Stops a solver that has reached the target or spent its iterations."""


@dataclass(frozen=True)
class Problem:
    """One data set, one start, and the objective 1/2 mean r^2 that every solver minimises."""

    model: Model
    x: np.ndarray
    y: np.ndarray
    start: np.ndarray

    def __post_init__(self) -> None:
        tau = TAU if self.model.expert == "relu" else 0.0
        features = gates.score_features(self.x, self.model.score), experts.expert_features(self.x)
        vars(self).update(tau=tau, features=features, root=np.sqrt(len(self.y)))

    def residuals(self, flat: np.ndarray, jacobian: bool = False, dtype: type = np.float64) -> Any:
        """Residuals over sqrt(n) and, if asked for, their dense Jacobian (p, n)."""
        theta, size, (q, e) = flat.reshape(self.start.shape), self.model.gate_size, self.features
        g = gates.gate_values(self.model.gate, theta[:, :size] @ q)
        phi, slope = experts.activation(self.model.expert, theta[:, size:] @ e, tau=self.tau, order=1)
        f = np.sum(g * phi, axis=0)
        r = (f - self.y) / self.root
        if not jacobian:
            return r
        u, v = gates.output_slopes(self.model.gate, g, phi, f) / self.root, g * slope / self.root
        rows = np.empty((*theta.shape, len(self.y)), dtype)
        np.multiply(u[:, None, :], q, out=rows[:, :size])
        np.multiply(v[:, None, :], e, out=rows[:, size:])
        return r, rows.reshape(flat.size, -1)

    def stationarity(self, theta: np.ndarray, box: float = BOX) -> tuple[float, float]:
        """Loss, and the largest coordinate of theta - clip(theta - gradient, -box, box)."""
        loss, gradient = self.model.gradient(theta.reshape(self.start.shape), self.x, self.y, tau=self.tau)
        flat = theta.reshape(-1)
        return float(loss), float(np.abs(flat - np.clip(flat - gradient.reshape(-1), -box, box)).max())


class Follower:
    """Counts iterations and stops at the target or the cap; its own work is not timed."""

    def __init__(self, problem: Problem, target: float, cap: int, box: float = np.inf) -> None:
        self.problem, self.target, self.cap, self.box, self.count, self.own = problem, target, cap, box, 0, 0.0

    def look(self, theta: np.ndarray) -> None:
        """See where the solver is about to take its next derivatives; raise Enough when it need not."""
        seconds, (self.loss, self.gradient) = timed(lambda: self.problem.stationarity(theta, self.box))
        self.own += seconds
        if self.gradient <= self.target or self.count >= self.cap:
            raise Enough
        self.count += 1

    def run(self, solve: Callable[[], Any]) -> tuple[int, float, float, bool]:
        """Return iterations, CPU seconds, the loss, and whether the target is reached."""

        def until_enough() -> None:
            with contextlib.suppress(Enough):
                solve()

        seconds, _ = timed(until_enough)
        return self.count, seconds - self.own, self.loss, self.gradient <= self.target


def ours(problem: Problem, precision: str) -> tuple[int, float, float, bool]:
    """Run this package's fit to its own criterion, which is stricter, with its certificate."""
    arrays = problem.x[None], problem.y[None], problem.start[None, None]
    seconds, fit = timed(lambda: least_squares(problem.model, *arrays, box=BOX, precision=precision))
    return int(fit.iterations[0]), seconds, problem.stationarity(fit.theta[0])[0], True


def by_hand(problem: Problem, look: Callable[[np.ndarray], None], dtype: type) -> None:
    """Levenberg-Marquardt, damped by the diagonal by Nielsen's rule (Madsen, Nielsen, Tingleff 2004, 3.2)."""
    syrk, theta = blas.dsyrk if dtype is np.float64 else blas.ssyrk, problem.start.reshape(-1)
    damping, growth = 1e-3, 2.0
    while True:
        look(theta)
        r, jacobian = problem.residuals(theta, True, dtype)
        normal = syrk(1.0, jacobian.T, trans=1).astype(np.float64)
        gradient = (jacobian @ r.astype(dtype)).astype(np.float64)
        diagonal, loss = np.diag(normal).copy(), r @ r
        while True:
            np.fill_diagonal(normal, diagonal * (1 + damping) + 1e-14)
            try:
                step = -cho_solve(cho_factor(normal, check_finite=False), gradient, check_finite=False)
                trial = problem.residuals(theta + step)
                gain = (loss - trial @ trial) / (-step @ gradient + damping * step @ (diagonal * step))
            except np.linalg.LinAlgError:
                gain = 0.0
            if gain > 0:
                theta, damping, growth = theta + step, damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 2.0
                break
            damping, growth = damping * growth, 2 * growth
            if damping > 1e12:
                raise Enough


def lbfgs(problem: Problem, look: Callable[[np.ndarray], None]) -> None:
    """PyTorch's LBFGS with a strong Wolfe line search."""
    import torch

    model, (q, e), y = problem.model, map(torch.tensor, problem.features), torch.tensor(problem.y)
    theta = torch.tensor(problem.start, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [theta], max_iter=10**6, history_size=50, tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        look(theta.detach().numpy())
        scores, h = theta[:, : model.gate_size] @ q, theta[:, model.gate_size :] @ e
        g = scores.softmax(0) if model.gate == "softmax" else scores.sigmoid()
        if problem.tau:
            h = torch.where(h.abs() < problem.tau, (h + problem.tau) ** 2 / (4 * problem.tau), h.relu())
        loss = 0.5 * ((g * h).sum(0) - y).square().mean()
        optimiser.zero_grad()
        loss.backward()
        return loss

    optimiser.step(closure)


def scipy_fit(problem: Problem, look: Callable[[np.ndarray], None], method: str) -> None:
    def jacobian(flat: np.ndarray) -> np.ndarray:
        look(flat)
        return problem.residuals(flat, True)[1].T

    options: dict[str, Any] = {"bounds": (-BOX, BOX)} if method == "trf" else {}
    options |= dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    scipy.optimize.least_squares(
        problem.residuals, problem.start.reshape(-1), jac=jacobian, method=method, max_nfev=10**5, **options
    )


def optimistix_fit(problem: Problem, follower: Follower) -> Callable[[], None]:
    """Levenberg-Marquardt of optimistix, step by step, by Cholesky, the faster of its choices; compiled before."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import equinox as eqx
    import jax
    import lineax
    import optimistix

    jax.config.update("jax_enable_x64", True)
    jnp, model = jax.numpy, problem.model
    (q, e), y = map(jnp.asarray, problem.features), jnp.asarray(problem.y)

    def residuals(flat: Any, _: Any) -> tuple[Any, None]:
        theta = flat.reshape(problem.start.shape)
        scores, h = theta[:, : model.gate_size] @ q, theta[:, model.gate_size :] @ e
        g = jax.nn.softmax(scores, axis=0) if model.gate == "softmax" else jax.nn.sigmoid(scores)
        if problem.tau:
            h = jnp.where(jnp.abs(h) < TAU, (h + TAU) ** 2 / (4 * TAU), jnp.maximum(h, 0.0))
        return ((g * h).sum(axis=0) - y) / problem.root, None

    solver = optimistix.LevenbergMarquardt(rtol=1e-15, atol=1e-15, linear_solver=lineax.Normal(lineax.Cholesky()))
    theta = jnp.asarray(problem.start.reshape(-1))
    shape = jax.eval_shape(lambda: residuals(theta, None)[0])
    state = solver.init(residuals, theta, None, {}, shape, None, frozenset())
    step = eqx.filter_jit(eqx.Partial(solver.step, fn=residuals, args=None, options={}, tags=frozenset()))
    jax.block_until_ready(step(y=theta, state=state)[0])

    def solve() -> None:
        at, now = theta, state
        while True:
            follower.look(np.asarray(at))
            at, now, _ = step(y=at, state=now)
            jax.block_until_ready(at)

    return solve


def make_problem(gate: str, expert: str, n: int, seed: int, d: int = 8) -> Problem:
    model = Model(gate, "full", expert, d)
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, 8, "dense", rng)
    x, y = truths.sample(model, truth, n, 0.01, rng)
    return Problem(model, x, y, perturb(truths.split(model, truth, 9), 0.05, rng))


def compare(problem: Problem, arguments: argparse.Namespace) -> dict[str, tuple[int, float, float, bool]]:
    target = arguments.target * problem.stationarity(problem.start)[1]
    followed: dict[str, tuple[int, float, Callable[[Follower], Callable[[], Any]]]] = {
        "by hand, J'J in float32": (LONGEST, np.inf, lambda f: lambda: by_hand(problem, f.look, np.float32)),
        "by hand, J'J in float64": (LONGEST, np.inf, lambda f: lambda: by_hand(problem, f.look, np.float64)),
        "PyTorch LBFGS, by evaluation": (10 * LONGEST, np.inf, lambda f: lambda: lbfgs(problem, f.look)),
        "optimistix LevenbergMarquardt": (arguments.cap, np.inf, lambda f: optimistix_fit(problem, f)),
        "SciPy least_squares, trf": (arguments.cap, BOX, lambda f: lambda: scipy_fit(problem, f.look, "trf")),
        "SciPy least_squares, lm": (arguments.cap, np.inf, lambda f: lambda: scipy_fit(problem, f.look, "lm")),
    }

    def run(cap: int, box: float, make: Callable[[Follower], Callable[[], Any]]) -> tuple[int, float, float, bool]:
        follower = Follower(problem, target, cap, box)
        return follower.run(make(follower))

    sides: dict[str, Callable[[], tuple[int, float, float, bool]]] = {
        "this package": lambda: ours(problem, "mixed"),
        "the same, float64 throughout": lambda: ours(problem, "double"),
        "the same, plain NumPy": lambda: plain(ours, problem, "mixed"),
        **{name: partial(run, *how) for name, how in followed.items()},
    }
    found: dict[str, tuple[int, float, float, bool]] = {}
    for turn in range(2):
        for name, side in sides.items():
            if turn and name in list(sides)[-3:]:
                continue
            try:
                found[name] = min(found.get(name, (0, np.inf, 0.0, True)), side(), key=lambda row: row[1])
            except ImportError as error:
                print(f"{name} is skipped: {error}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="sample size")
    parser.add_argument("--gate", choices=gates.GATES, default="softmax")
    parser.add_argument("--cap", type=int, default=4, help="iterations allowed to optimistix and SciPy")
    parser.add_argument("--target", type=float, default=1e-5, help="projected gradient, relative to the start's")
    arguments = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    for expert, word in (("linear", "linear"), ("relu", "ReLU")):
        for precision in ("mixed", "double"):  # compiles
            ours(make_problem(arguments.gate, expert, 200, 0), precision)
        found = compare(make_problem(arguments.gate, expert, arguments.n, 0), arguments)
        count, seconds, best, _ = found["this package"]
        for name, (its, own, loss, ended) in found.items():
            row = rows.setdefault(name, {f"{arguments.gate} gate": name})
            row |= {f"{word}: ms per iteration": 1e3 * own / its, f"_{word}: ratio": own / its / seconds * count}
            row |= {f"{word}: iterations": its if ended else f"over {its}"}
            row |= {f"{word}: CPU s of a fit": own, f"{word}: ratio of fits": own / seconds} if ended else {}
            row |= {f"_{word}: loss - ours": loss - best}
    write("least_squares" + ("" if arguments.gate == "softmax" else f"_{arguments.gate}"), list(rows.values()))


if __name__ == "__main__":
    main()
