"""How often a fit of a softmax-gated Gaussian mixture ends below the highest maximum that is known.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/global_maximum.py       # about 7 CPU minutes

Data sets of the two-component truth of arXiv 2305.03288, of two seeds that were fixed before any of them was looked at;
they took no part in the making of the search. From the same five starts near the truth: *starts*, the best of them;
*search*, :func:`moestat.fit.softmax_global.global_maximum` with its defaults. The best that is known is the highest of
these, of the best of sixty starts (*sixty*), and of a search from these sixty that asks for six rounds at the best
point, of twelve. *short* counts fits
more than 0.1 below it, *sure* those of *search* that two rounds agree on, and *sure_short* those of them that are
short all the same. Times are CPU seconds per fit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from moestat.fit.likelihood import LikelihoodFit
from moestat.fit.softmax_global import AGAIN, SURE, global_maximum
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts, random_starts
from studies.demystifying_softmax.parts.softmax_gaussian import MODEL, TRUTH

SEEDS = ((20261124, 1), (20261123, 2))  # and how many times the data sets
CASES = ((3, 300, 20), (4, 300, 8), (3, 1000, 12))  # experts, samples, data sets
RESULTS = Path(__file__).parent / "results"


def timed(fit: Callable[[], LikelihoodFit]) -> tuple[LikelihoodFit, float]:
    begin = time.process_time()
    out = fit()
    return out, time.process_time() - begin


def case(seed: int, experts: int, n: int, replicates: int) -> dict[str, object]:
    rng = np.random.default_rng([seed, experts, n])
    x = rng.uniform(size=(replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    near = np.stack([near_starts(TRUTH, experts, 30, 0.1, rng) for _ in range(replicates)])
    far = np.stack([random_starts(x[i], y[i], experts, 30, rng) for i in range(replicates)])
    five, sixty = near[:, :5], np.concatenate([near, far], axis=1)
    runs = {
        "starts": timed(lambda: maximum_likelihood(x, y, five, truth=TRUTH, kept=4)),
        "search": timed(lambda: global_maximum(x, y, five, truth=TRUTH)),
        "sixty": timed(lambda: maximum_likelihood(x, y, sixty, truth=TRUTH, kept=10)),
        "longest": timed(lambda: global_maximum(x, y, sixty, truth=TRUTH, rounds=12, enough=6)),
    }
    best = np.max([fit.log_likelihood for fit, _ in runs.values()], axis=0)
    row: dict[str, object] = {"seed": seed, "K": experts, "n": n, "data_sets": replicates}
    for name, (fit, seconds) in runs.items():
        short = best - fit.log_likelihood
        row |= {f"{name}_short": int(np.sum(short > AGAIN)), f"{name}_mean_short": float(short.mean())}
        row[f"{name}_seconds"] = seconds / replicates
    search = runs["search"][0]
    sure = np.asarray(search.rounds_there) >= SURE
    row |= {"sure": int(sure.sum()), "sure_short": int(np.sum(sure & (best - search.log_likelihood > AGAIN)))}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    rows = []
    for (seed, times), (experts, n, replicates) in itertools.product(SEEDS, CASES):
        rows.append(case(seed, experts, n, times * replicates))
        print(
            "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()), flush=True
        )
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "global_maximum.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
