"""Maximum likelihood of competition-gated Gaussian mixtures of experts: this package and SciPy's L-BFGS-B.

    python benchmarks/competition.py        # about 2 CPU minutes

Data sets of n = 500 from each of the four designs of ``competition_mle``. *four starts*: two near the truth and two
that know nothing of it. Ours throws its best point out and searches from it again, twenty times at most. L-BFGS-B has
the same log-likelihood, score and box, from the four starts, or from so many of both kinds that it takes as long as
ours. *short*: fits more than 0.1 below the best that any of them found, and in brackets the mean shortfall.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import timed, write
from scipy.optimize import minimize

from moestat.fit.competition_likelihood import pack, scores, slopes
from moestat.fit.competition_mle import AGAIN, maximum_likelihood
from moestat.models import gaussian
from moestat.models.competition import Competition
from studies.compete_smoe.parts.competition_designs import DESIGNS, near_starts, random_starts, true_mixture

BOX, VARIANCES, N, MOST = 10.0, (0.05, 10.0), 500, 200
WORDS = {
    "continuous": "no jump",
    "variance": "variance jumps",
    "sign": "mean jumps, few",
    "mean": "mean jumps, many",
}


def lbfgs(model: Competition, x: np.ndarray, y: np.ndarray, starts: np.ndarray, budget: float = np.inf) -> float:
    """Return the best log-likelihood from the starts (S, k, P), or from as many as the CPU seconds allow."""
    features = model.features(x)

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        at = slopes(model, free, features, y, 0.0)
        return -at.log_density.sum(), -scores(at, features).sum(axis=-1)

    bounds = ([(-BOX, BOX)] * model.weight_size + [tuple(np.log(VARIANCES))]) * starts.shape[1]
    best = -np.inf
    for start in starts:
        seconds, found = timed(lambda s=start: minimize(loss, pack(s), jac=True, method="L-BFGS-B", bounds=bounds))
        best, budget = max(best, -found.fun), budget - seconds
        if budget <= 0:
            break
    return best


def row(design: str, replicates: int) -> dict[str, Any]:
    model, truth = true_mixture(design)
    rng = np.random.default_rng(20261125)
    x = rng.uniform(-1, 1, (replicates, N, model.d))
    y = np.stack([gaussian.sample(model, truth, points, rng) for points in x])
    near = np.stack([near_starts(truth, 4, MOST, 0.1, rng) for _ in range(replicates)])
    far = np.stack([random_starts(model, x[i], y[i], 4, MOST, rng) for i in range(replicates)])
    both = np.stack([near, far], axis=2).reshape(replicates, 2 * MOST, *near.shape[2:])
    settings = {"truth": truth, "box": BOX, "variances": VARIANCES}
    each = range(replicates)
    maximum_likelihood(model, x[:, :100], y[:, :100], both[:, :4], hops=1, **settings)  # compiles
    runs = {
        "this package, four starts": timed(lambda: maximum_likelihood(model, x, y, both[:, :4], **settings)),
        "L-BFGS-B, four starts": timed(lambda: [lbfgs(model, x[i], y[i], both[i, :4]) for i in each]),
    }
    allowed = runs["this package, four starts"][0] / replicates
    runs["L-BFGS-B, as long as ours"] = timed(lambda: [lbfgs(model, x[i], y[i], both[i], allowed) for i in each])
    reached = {name: np.array(getattr(fit, "log_likelihood", fit)) for name, (_, fit) in runs.items()}
    best = np.max(list(reached.values()), axis=0)
    out: dict[str, Any] = {"truth": WORDS[design], "this package: CPU s": allowed}
    out["L-BFGS-B, four starts: ratio"] = runs["L-BFGS-B, four starts"][0] / replicates / allowed
    for name, found in reached.items():
        short = best - found
        out[f"short: {name}"] = f"{np.sum(short > AGAIN)} of {replicates} ({short.mean():.1f})"
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=5, help="data sets of a design (default: 5)")
    replicates = parser.parse_args().replicates
    write("competition", [row(design, replicates) for design in DESIGNS])
