"""Maximum likelihood of softmax-gated Gaussian mixtures of experts: this package, plain loops, SciPy and R.

    python benchmarks/likelihood.py             # about 1 CPU minute

Fits of K experts to the one-dimensional two-component model of arXiv 2305.03288, from the same five starts near the
truth; the best counts. *EM*: what a careful user writes, one start after the other, weighted least squares, Newton's
method for the gate, stopped at a relative change of the log-likelihood of 1e-6 (the rule of the R package meteorits).
*L-BFGS*: SciPy's, with the score written out and 50 pairs, to its own criterion made strict. *flexmix*: the R package,
from the responsibilities at the starts, with the tolerance of EM, where R has it (Debian: r-cran-flexmix). *search*:
``global_maximum``, as the study fits. *short*, in brackets: fits more than 0.1 below the best that any of them found;
flexmix has no bound on the variances, and is left out of that.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import timed, write
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from moestat.fit.softmax_global import AGAIN, global_maximum
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts
from studies.demystifying_softmax.parts.softmax_gaussian import MODEL, TRUTH

CASES = ((2, 10_000, 3), (3, 300, 8), (3, 10_000, 2))  # experts, samples, data sets
TOLERANCE, LEAST = 1e-6, 1e-2
FLEXMIX = """
suppressMessages(library(flexmix))
folder <- commandArgs(TRUE)[1]
d <- read.csv(file.path(folder, "data.csv"))
for (file in list.files(folder, "^p[0-9]", full.names = TRUE)) {
  p <- as.matrix(read.csv(file, header = FALSE))
  t <- system.time(f <- flexmix(y ~ x, data = d, k = ncol(p), cluster = p, concomitant = FLXPmultinom(~x),
    control = list(tolerance = 1e-6, iter.max = 2000, minprior = 0)))
  cat("\\nFOUND", f@logLik, t[["user.self"]] + t[["sys.self"]])
}
"""


def parts(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log density (n,), and per sample and expert responsibilities and gate (n, K)."""
    scores = theta[:, 0] + np.outer(x, theta[:, 1])
    log_gate = scores - logsumexp(scores, axis=1, keepdims=True)
    square = (y[:, None] - theta[:, 3] - np.outer(x, theta[:, 2])) ** 2
    joint = log_gate - 0.5 * (square / theta[:, 4] + np.log(2 * np.pi * theta[:, 4]))
    each = logsumexp(joint, axis=1)
    return each, np.exp(joint - each[:, None]), np.exp(log_gate)


def plain_em(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    """One start: x (n,), y (n,), theta (K, 5); return the log-likelihood."""
    design, theta, before = np.column_stack([np.ones_like(x), x]), theta.copy(), -np.inf
    while True:
        each, r, _ = parts(x, y, theta)
        now = each.sum()
        if abs(now - before) <= TOLERANCE * abs(now):
            return now
        before = now
        for k, weight in enumerate(r.T):
            weighted = design * weight[:, None]
            mean = np.linalg.solve(weighted.T @ design, weighted.T @ y)
            theta[k, [3, 2]] = mean
            theta[k, 4] = max(weight @ (y - design @ mean) ** 2 / weight.sum(), LEAST)
        theta[:, :2] = plain_gate(design, r, (theta[:, :2] - theta[-1, :2]).T).T


def plain_gate(design: np.ndarray, r: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """Newton's method for the multinomial logistic regression, steps halved while they lower the objective."""
    experts = r.shape[1]

    def objective(gate: np.ndarray) -> float:
        scores = design @ gate
        return float(np.sum(r * scores) - logsumexp(scores, axis=1).sum())

    value = objective(gate)
    for _ in range(20):
        pi = softmax(design @ gate, axis=1)
        gradient = (design.T @ (r - pi))[:, :-1].T.ravel()
        hessian = np.zeros((len(gradient), len(gradient)))
        for j in range(experts - 1):
            for k in range(experts - 1):
                w = pi[:, j] * ((j == k) - pi[:, k])
                hessian[2 * j : 2 * j + 2, 2 * k : 2 * k + 2] = (design * w[:, None]).T @ design
        step = np.zeros_like(gate)
        step[:, :-1] = np.linalg.lstsq(hessian, gradient, rcond=None)[0].reshape(experts - 1, 2).T
        size = 1.0
        while (new := objective(gate + size * step)) < value and size > 1e-4:
            size /= 2
        if new < value:
            return gate
        gate, change, value = gate + size * step, new - value, new
        if change <= 1e-8 * abs(value):
            return gate
    return gate


def lbfgs(x: np.ndarray, y: np.ndarray, start: np.ndarray) -> float:
    """One start, in (gate, mean, log variance); return the log-likelihood."""

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = flat.reshape(start.shape).copy()
        theta[:, 4] = np.exp(theta[:, 4])
        each, r, gate = parts(x, y, theta)
        residual = y[:, None] - theta[:, 3] - np.outer(x, theta[:, 2])
        pull, spread = r * residual / theta[:, 4], 0.5 * r * (residual**2 / theta[:, 4] - 1)
        gradient = [(r - gate).sum(0), x @ (r - gate), x @ pull, pull.sum(0), spread.sum(0)]
        return -each.sum(), -np.stack(gradient, axis=1).ravel()

    free = np.column_stack([start[:, :4], np.log(start[:, 4])]).ravel()
    bounds = ([(-100, 100)] * 4 + [(np.log(LEAST), np.log(100))]) * len(start)
    options = {"maxiter": 10_000, "maxfun": 20_000, "maxcor": 50, "ftol": 1e-13, "gtol": 1e-6}
    return -minimize(loss, free, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun


def flexmix(x: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[float, float]:
    """Return the CPU seconds of all starts, and the best log-likelihood; a start that fails is left out."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/data.csv", np.column_stack([x, y]), delimiter=",", header="x,y", comments="")
        for k, start in enumerate(starts):
            np.savetxt(f"{folder}/p{k}", parts(x, y, start)[1], delimiter=",")
        Path(folder, "fit.R").write_text(FLEXMIX)
        done = subprocess.run(["Rscript", f"{folder}/fit.R", folder], capture_output=True, text=True, check=False)
    found = [[float(v) for v in line.split()[1:]] for line in done.stdout.splitlines() if line.startswith("FOUND")]
    return sum(seconds for _, seconds in found), max((value for value, _ in found), default=-np.inf)


def row(experts: int, n: int, replicates: int) -> dict[str, Any]:
    rng = np.random.default_rng([experts, n])
    x = rng.uniform(0, 1, (replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    starts = np.stack([near_starts(TRUTH, experts, 5, 0.1, rng) for _ in range(replicates)])
    maximum_likelihood(x[:, :100], y[:, :100], starts)  # compiles

    def loop(fit: Any) -> list[float]:
        return [max(fit(x[b, :, 0], y[b], start) for start in starts[b]) for b in range(replicates)]

    runs = {
        "this package, CPU s": timed(lambda: maximum_likelihood(x, y, starts, truth=TRUTH).log_likelihood),
        "search": timed(lambda: global_maximum(x, y, starts, truth=TRUTH).log_likelihood),
        "EM, a plain loop": timed(lambda: loop(plain_em)),
        "L-BFGS": timed(lambda: loop(lbfgs)),
    }
    if shutil.which("Rscript"):
        seconds, found = zip(*(flexmix(x[b, :, 0], y[b], starts[b]) for b in range(replicates)), strict=True)
        if np.isfinite(found).any():
            runs["flexmix"] = sum(seconds), found
    best = np.max([found for name, (_, found) in runs.items() if name != "flexmix"], axis=0)
    ours = runs["this package, CPU s"][0]
    out: dict[str, Any] = {"K": experts, "n": n, "data sets": replicates}
    for name, (seconds, found) in runs.items():
        time = seconds / (replicates if name.endswith("CPU s") else ours)
        out[f"{name} (short)"] = f"{time:{'.0f' if time >= 10 else '.2g'}} ({np.sum(best - found > AGAIN)})"
    return out


if __name__ == "__main__":
    write("likelihood", [row(*case) for case in CASES])
