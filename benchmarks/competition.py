"""Maximum likelihood of competition-gated Gaussian mixtures of experts: this package and SciPy's L-BFGS-B.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/competition.py        # about 30 CPU seconds

One job is one data set of n = 2000 with four starts, two near the truth and two that know nothing of it; the best
counts. SciPy maximises the same log-likelihood with the same analytic score in the same box, start after start, and
ends at the first jump that it cannot climb. *gain* is the log-likelihood minus that of the truth; a fit with a gain
below zero has failed. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import scipy
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from moestat.fit.competition_likelihood import pack, scores, slopes
from moestat.fit.competition_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.models.competition import Competition
from studies.compete_smoe.parts.competition_designs import DESIGNS, near_starts, random_starts, true_mixture

RESULTS = Path(__file__).parent / "results" / "competition.json"
BOX, VARIANCES = 10.0, (0.05, 10.0)


def lbfgs(model: Competition, x: np.ndarray, y: np.ndarray, starts: np.ndarray) -> float:
    """Return the best log-likelihood of SciPy's runs from the starts (S, k, P)."""
    features = model.features(x)

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        at = slopes(model, free, features, y, 0.0)
        return -at.log_density.sum(), -scores(at, features).sum(axis=-1)

    variance = tuple(np.log(VARIANCES))
    bounds = ([(-BOX, BOX)] * model.weight_size + [variance]) * starts.shape[1]
    return max(-minimize(loss, pack(s), jac=True, method="L-BFGS-B", bounds=bounds).fun for s in starts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000, help="sample size (default: 2000)")
    parser.add_argument("--replicates", type=int, default=6, help="data sets per design (default: 6)")
    arguments = parser.parse_args()
    rows = []
    print(f"{'design':12}{'solver':14}{'CPU s per fit':>14}{'median gain':>13}{'least gain':>12}{'failed':>8}")
    for design in DESIGNS:
        model, truth = true_mixture(design)
        rng = np.random.default_rng(7)
        x = rng.uniform(-1, 1, (arguments.replicates, arguments.n, model.d))
        y = np.stack([gaussian.sample(model, truth, points, rng) for points in x])
        starts = np.stack(
            [
                np.concatenate([near_starts(truth, 4, 2, 0.1, rng), random_starts(model, x[b], y[b], 4, 2, rng)])
                for b in range(arguments.replicates)
            ]
        )
        base = gaussian.log_likelihood(model, np.stack([truth] * len(x)), x, y)
        begin = time.process_time()
        ours = maximum_likelihood(model, x, y, starts, truth=truth, box=BOX, variances=VARIANCES).gain
        middle = time.process_time()
        theirs = np.array([lbfgs(model, x[b], y[b], starts[b]) for b in range(len(x))]) - base
        end = time.process_time()
        for solver, gain, seconds in (("moestat", ours, middle - begin), ("L-BFGS-B", theirs, end - middle)):
            row = {
                "design": design,
                "solver": solver,
                "seconds": seconds / len(x),
                "median_gain": float(np.median(gain)),
                "least_gain": float(gain.min()),
                "failed": int(np.sum(gain < 0)),
            }
            rows.append(row)
            print(
                f"{design:12}{solver:14}{row['seconds']:14.2f}{row['median_gain']:13.1f}{row['least_gain']:12.1f}"
                f"{row['failed']:5} of {len(x)}",
                flush=True,
            )
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {
        "processor": platform.processor() or platform.machine(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    RESULTS.write_text(json.dumps({"arguments": vars(arguments), "machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
