"""How often a fit of a competition-gated mixture ends below the highest maximum that is known, and how sure it was.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/competition_maximum.py       # about 5 CPU minutes

Data sets of n samples from the four designs of `competition_mle`. *starts*: the best of two starts near the truth and
two that know nothing of it, which counts as sure if another one came within 0.1 of it. *hops*: the same, thrown out and
searched from again, at most twenty times, sure if twelve came back. *long*: sixteen starts, six points that are kept,
and at most thirty hops. *short* is the share that is more than 0.1 below the best of the three, *sure_short*
that of the sure ones, *mean_short* by how much on average; D is the loss of the parameters. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from moestat.fit.competition_mle import AGAIN, ENOUGH, maximum_likelihood
from moestat.losses.measures import competition_losses
from moestat.models import gaussian
from studies.compete_smoe.parts.competition_designs import DESIGNS, near_starts, random_starts, true_mixture

RESULTS = Path(__file__).parent / "results"


def case(design: str, n: int, replicates: int) -> dict[str, Any]:
    model, truth = true_mixture(design)
    rng = np.random.default_rng([20261125, n])
    x = rng.uniform(-1, 1, (replicates, n, model.d))
    y = np.stack([gaussian.sample(model, truth, points, rng) for points in x])
    near = np.stack([near_starts(truth, 4, 8, 0.1, rng) for _ in range(replicates)])
    far = np.stack([random_starts(model, x[i], y[i], 4, 8, rng) for i in range(replicates)])
    few, many = np.concatenate([near[:, :2], far[:, :2]], axis=1), np.concatenate([near, far], axis=1)
    runs = {
        "starts": {"starts": few, "hops": 0},
        "hops": {"starts": few},
        "long": {"starts": many, "kept": 6, "hops": 30},
    }
    fits, row = {}, {"design": design, "n": n, "data_sets": replicates}
    for name, options in runs.items():
        begin = time.process_time()
        fits[name] = maximum_likelihood(model, x, y, truth=truth, box=10.0, variances=(0.05, 10.0), **options)
        row[f"{name}_seconds"] = (time.process_time() - begin) / replicates
    best = np.max([fit.log_likelihood for fit in fits.values()], axis=0)
    for name, fit in fits.items():
        short = best - fit.log_likelihood
        again = np.sum(fit.log_likelihood[:, None] - fit.start_log_likelihood <= AGAIN, axis=1) > 1
        sure = again if name == "starts" else np.asarray(fit.hops_back) >= ENOUGH
        row |= {f"{name}_short": float(np.mean(short > AGAIN)), f"{name}_mean_short": float(short.mean())}
        row |= {f"{name}_sure": int(sure.sum()), f"{name}_sure_short": int(np.sum(sure & (short > AGAIN)))}
        row[f"{name}_D"] = float(competition_losses(fit.theta, truth, model)["D"].mean())
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1000], help="sample sizes (default: 1000)")
    parser.add_argument("--replicates", type=int, default=12, help="data sets per design and size (default: 12)")
    arguments = parser.parse_args()
    rows = []
    for n in arguments.n:
        for design in DESIGNS:
            rows.append(case(design, n, arguments.replicates))
            print(
                "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()),
                flush=True,
            )
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / "competition_maximum.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
