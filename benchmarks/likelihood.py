"""Maximum likelihood of softmax-gated Gaussian mixtures of experts: this package, a NumPy EM loop, and R.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/likelihood.py             # about 3 CPU minutes
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/likelihood.py --starts random
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/likelihood.py --study     # a whole study, estimated
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/likelihood.py --r         # and flexmix and mixtools
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/likelihood.py --public    # data sets of these two

The job is one fit of the one-dimensional two-component model of arXiv 2305.03288: five starts, the best counts. The
loop is what a careful user writes: one start after the other, weighted least squares, Newton's method for the gate,
stopped at a relative change of the log-likelihood of 1e-6 (the rule and the default of the R package meteorits, which
the published study used: 0.44 s of wall time per fit at K = 3 and 0.70 s at K = 4 on 8 processes of an Apple M1).
flexmix gets the responsibilities at the first start, and the same tolerance; mixtools (hmeEM), which fits two
experts, gets that start's parameters. It exponentiates differences of squared residuals, which overflow where experts
are as far apart as in that model; ``--noise 100`` multiplies the variances. A package that R lacks is left out
(Debian has them as r-cran-flexmix and r-cran-mixtools). All see the same data and starts. Times are CPU seconds of
one thread; *gain* is the log-likelihood minus that of the truth.

``--public`` fits the data sets NOdata, CO2data and NPreg of these packages by :func:`moestat.fit.maximum_likelihood`,
which is told nothing but the data, and prints the best of ten runs of mixtools (regmixEM, hmeEM) above each.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from moestat.fit import maximum_likelihood as fit_own
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts, random_starts

TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
MODEL = SoftmaxGaussian(1)
RESULTS = Path(__file__).parent / "results"
STUDY_SIZES = np.round(np.geomspace(100, 100_000, 40)).astype(int)
STUDY_REPLICATES = 40
FLEXMIX = """
suppressMessages(library(flexmix))
folder <- commandArgs(TRUE)[1]
d <- read.csv(file.path(folder, "data.csv"))
p <- as.matrix(read.csv(file.path(folder, "posterior.csv"), header = FALSE))
t <- system.time(f <- flexmix(y ~ x, data = d, k = ncol(p), cluster = p, concomitant = FLXPmultinom(~x),
  control = list(tolerance = 1e-6, iter.max = 2000, minprior = 0)))
cat("\\n", f@logLik, t[["user.self"]] + t[["sys.self"]], f@iter, f@k)
"""
MIXTOOLS = """
suppressMessages(library(mixtools))
folder <- commandArgs(TRUE)[1]
d <- read.csv(file.path(folder, "data.csv"))
s <- as.matrix(read.csv(file.path(folder, "start.csv"), header = FALSE))  # a row per expert: c, b, a, beta, v
t <- system.time(f <- hmeEM(d$y, d$x, beta = rbind(s[, 4], s[, 3]), sigma = sqrt(s[, 5]), w = s[1, 1:2] - s[2, 1:2],
  k = 2, epsilon = TOLERANCE, maxit = 2000))
cat("\\n", f$loglik, t[["user.self"]] + t[["sys.self"]], length(f$all.loglik) - 1, 2)
"""
PUBLIC = """
suppressMessages({library(mixtools); library(flexmix)})
folder <- commandArgs(TRUE)[1]
data(NOdata); data(CO2data); data(NPreg); set.seed(1)
sets <- list(list(NOdata$Equivalence, NOdata[, "NO", drop = FALSE], 2, TRUE),
  list(NOdata$Equivalence, NOdata[, "NO", drop = FALSE], 2, FALSE),
  list(NPreg$yn, data.frame(x = NPreg$x, x2 = NPreg$x^2), 2, FALSE),
  list(CO2data$CO2, CO2data[, "GNP", drop = FALSE], 3, FALSE),
  list(CO2data$CO2, CO2data[, "GNP", drop = FALSE], 3, TRUE))
for (i in seq_along(sets)) { s <- sets[[i]]; best <- NA
  write.csv(cbind(y = s[[1]], s[[2]]), file.path(folder, paste0(i, ".csv")), row.names = FALSE)
  if (!(s[[4]] && s[[3]] > 2)) for (j in 1:10) { invisible(capture.output(f <- try(if (s[[4]])
    hmeEM(s[[1]], s[[2]][, 1], k = 2, epsilon = 1e-11, maxit = 20000) else
    regmixEM(s[[1]], as.matrix(s[[2]]), k = s[[3]], epsilon = 1e-11, maxit = 20000), silent = TRUE)))
    if (!inherits(f, "try-error") && is.finite(f$loglik)) best <- max(best, f$loglik, na.rm = TRUE) }
  cat("\\nRESULT", s[[3]], as.integer(s[[4]]), best) }
"""


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def plain_em(x: np.ndarray, y: np.ndarray, theta: np.ndarray, tolerance: float, limit: int) -> tuple[float, int]:
    """One start: x (n,), y (n,), theta (K, 5); return log-likelihood and iterations."""
    design = np.column_stack([np.ones_like(x), x])
    experts = len(theta)
    gate = (theta[:, :2] - theta[-1, :2]).T
    mean, variance = theta[:, [3, 2]].T, theta[:, 4].copy()
    before = -np.inf
    for iteration in range(1, limit + 1):
        scores = design @ gate
        log_gate = scores - logsumexp(scores, axis=1, keepdims=True)
        joint = log_gate - 0.5 * ((y[:, None] - design @ mean) ** 2 / variance + np.log(2 * np.pi * variance))
        each = logsumexp(joint, axis=1)
        now = each.sum()
        if abs(now - before) <= tolerance * abs(now):
            return now, iteration
        before = now
        r = np.exp(joint - each[:, None])
        mean, variance = mean.copy(), variance.copy()
        for k in range(experts):
            weighted = design * r[:, k : k + 1]
            mean[:, k] = np.linalg.solve(weighted.T @ design, weighted.T @ y)
            variance[k] = max(r[:, k] @ (y - design @ mean[:, k]) ** 2 / r[:, k].sum(), 1e-2)
        gate = plain_gate(design, r, gate)
    return now, limit


def plain_gate(design: np.ndarray, r: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """Newton's method for the multinomial logistic regression, steps halved while they lower the objective."""
    experts = r.shape[1]

    def objective(gate: np.ndarray) -> float:
        scores = design @ gate
        return float(np.sum(r * scores) - logsumexp(scores, axis=1).sum())

    value = objective(gate)
    for _ in range(20):
        pi = softmax(design @ gate)
        gradient = (design.T @ (r - pi))[:, :-1].T.ravel()
        hessian = np.zeros((len(gradient), len(gradient)))
        for j in range(experts - 1):
            for k in range(experts - 1):
                w = pi[:, j] * ((j == k) - pi[:, k])
                hessian[2 * j : 2 * j + 2, 2 * k : 2 * k + 2] = (design * w[:, None]).T @ design
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0].reshape(experts - 1, 2).T
        size = 1.0
        while size > 1e-4:
            trial = gate.copy()
            trial[:, :-1] += size * step
            new = objective(trial)
            if new >= value:
                break
            size /= 2
        else:
            return gate
        gate, change, value = trial, new - value, new
        if change <= 1e-8 * abs(value):
            return gate
    return gate


def in_r(script: str, x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> dict[str, float] | None:
    """One start in R, of which a fit gets the parameters or the responsibilities; None if it fails."""
    joint = gaussian.log_joint(MODEL.components(theta, x[:, None]), y)
    posterior = np.exp(joint - gaussian.log_sum_exp(joint)).T
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/data.csv", np.column_stack([x, y]), delimiter=",", header="x,y", comments="")
        np.savetxt(f"{folder}/posterior.csv", posterior, delimiter=",")
        np.savetxt(f"{folder}/start.csv", theta, delimiter=",")
        Path(folder, "fit.R").write_text(script)
        out = subprocess.run(["Rscript", f"{folder}/fit.R", folder], capture_output=True, text=True, check=False)
    if out.returncode:
        print(f"R failed: {out.stderr.strip().splitlines()[-1]}")
        return None
    value, seconds, iterations, atoms = (float(v) for v in out.stdout.splitlines()[-1].split())
    return {"log_likelihood": value, "seconds": seconds, "iterations": iterations, "atoms": atoms}


def public() -> None:
    """Fit the public data sets of two R packages, each told nothing but the data, and print what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "public.R").write_text(PUBLIC)
        out = subprocess.run(["Rscript", f"{folder}/public.R", folder], capture_output=True, text=True, check=True)
        rows = [line.split()[1:] for line in out.stdout.splitlines() if line.startswith("RESULT")]
        for i, (experts, softmax_gate, theirs) in enumerate(rows, start=1):
            data = pd.read_csv(f"{folder}/{i}.csv")
            gate = "softmax" if int(softmax_gate) else "constant"
            print(
                f"\nmixtools: {theirs}\n{fit_own(data.drop(columns='y'), data['y'], experts=int(experts), gate=gate)}"
            )


def r_has(package: str) -> bool:
    """Return whether R is there, with a package."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", f"library({package})"], capture_output=True, check=False).returncode == 0


def job(
    rng: np.random.Generator, experts: int, n: int, replicates: int, policy: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data and five starts of each replicate."""
    x = rng.uniform(0, 1, (replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    if policy == "near":
        return x, y, np.stack([near_starts(TRUTH, experts, 5, 0.1, rng) for _ in range(replicates)])
    return x, y, np.stack([random_starts(x[b], y[b], experts, 5, rng) for b in range(replicates)])


def study(experts: int, replicates: int, policy: str) -> dict[str, float | int | str]:
    """CPU seconds of 40 sizes from 1e2 to 1e5, 40 replicates, five starts, estimated from a few replicates of each."""
    seconds, smallest = 0.0, np.inf
    for n in STUDY_SIZES:
        x, y, starts = job(np.random.default_rng([experts, int(n)]), experts, int(n), replicates, policy)
        begin = time.process_time()
        fit = maximum_likelihood(x, y, starts, truth=TRUTH)
        seconds += time.process_time() - begin
        smallest = min(smallest, float(fit.gain.min()))
    return {
        "K": experts,
        "starts": policy,
        "measured_fits": replicates * len(STUDY_SIZES),
        "seconds_per_fit": seconds / replicates / len(STUDY_SIZES),
        "study_cpu_seconds": seconds / replicates * STUDY_REPLICATES,
        "smallest_gain": smallest,
    }


def case(
    experts: int, n: int, replicates: int, policy: str, tolerance: float, packages: Iterable[str]
) -> dict[str, object]:
    x, y, starts = job(np.random.default_rng([experts, n]), experts, n, replicates, policy)
    truth = gaussian.log_likelihood(MODEL, np.broadcast_to(TRUTH, (replicates, *TRUTH.shape)), x, y)

    begin = time.process_time()
    fit = maximum_likelihood(x, y, starts, truth=TRUTH)
    ours = time.process_time() - begin

    begin = time.process_time()
    loop = [[plain_em(x[b, :, 0], y[b], start, tolerance, 2000) for start in starts[b]] for b in range(replicates)]
    plain = time.process_time() - begin
    reached = np.array([[value for value, _ in row] for row in loop])
    short = reached.max(axis=1) - fit.log_likelihood
    row: dict[str, object] = {
        "K": experts,
        "n": n,
        "starts": policy,
        "replicates": replicates,
        "ours_seconds_per_fit": ours / replicates,
        "loop_seconds_per_fit": plain / replicates,
        "ratio": plain / ours,
        "loop_iterations_per_start": float(np.mean([[count for _, count in row] for row in loop])),
        "ours_mean_gain": float(fit.gain.mean()),
        "ours_smallest_gain": float(fit.gain.min()),
        "loop_mean_gain": float(np.mean(reached.max(axis=1) - truth)),
        "loop_smallest_gain": float(np.min(reached.max(axis=1) - truth)),
        "ours_at_least_loop": int(np.sum(short <= 1e-6)),
        "largest_shortfall": float(max(short.max(), 0.0)),
        "ours_largest_gradient": float(fit.gradient.max()),
        "converged": int(np.sum(fit.status == 0)),
    }
    for package in packages:
        if package == "mixtools" and experts != 2:
            continue
        script = {"flexmix": FLEXMIX, "mixtools": MIXTOOLS.replace("TOLERANCE", f"{1e-6 * np.abs(truth).mean():g}")}
        runs = [in_r(script[package], x[b, :, 0], y[b], starts[b, 0]) for b in range(replicates)]
        done = [(r, t) for r, t in zip(runs, truth, strict=True) if r is not None]
        row[f"{package}_failed"] = replicates - len(done)
        if done:
            row[f"{package}_seconds_per_start"] = float(np.mean([r["seconds"] for r, _ in done]))
            row[f"{package}_mean_gain"] = float(np.mean([r["log_likelihood"] - t for r, t in done]))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experts", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--replicates", type=int, default=None, help="default: 6 at n <= 20000, 2 above")
    parser.add_argument("--starts", choices=["near", "random"], default="near")
    parser.add_argument("--noise", type=float, default=1.0, help="factor of the truth's variances")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of the loop")
    parser.add_argument(
        "--study", action="store_true", help="estimate the cost of 40 sizes x 40 replicates, ours alone"
    )
    parser.add_argument("--r", action="store_true", help="also run flexmix and mixtools, from the first start")
    parser.add_argument("--public", action="store_true", help="fit the public data sets of mixtools and flexmix")
    args = parser.parse_args()
    if args.public:
        public()
        return
    TRUTH[:, -1] *= args.noise
    packages = [name for name in ("flexmix", "mixtools") if args.r and r_has(name)]
    if args.r:
        print(f"R has {' and '.join(packages) or 'neither flexmix nor mixtools'}")
    print(f"{platform.processor() or platform.machine()}, NumPy {np.__version__}, one thread; CPU seconds per fit")
    rows: list[dict] = []
    with threadpool_limits(1):
        for experts in args.experts:
            if args.study:
                cases: Iterable[dict] = [study(experts, args.replicates or 2, args.starts)]
            else:
                cases = (
                    case(
                        experts, n, args.replicates or (6 if n <= 20_000 else 2), args.starts, args.tolerance, packages
                    )
                    for n in args.sizes
                )
            for row in cases:
                rows.append(row)
                text = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
                print("  ".join(text), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")
    name = "likelihood" + ("-study" if args.study else "") + ("-random" if args.starts == "random" else "")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
