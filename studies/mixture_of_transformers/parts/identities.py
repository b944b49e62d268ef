"""The identity behind the verdicts by argument on "mixture-of-transformers" (``arguments.py``), on drawn instances.

Plain NumPy, sharing nothing with the models of the package. A sample is a fixed vector, the sum of its tokens as the
attention weights them, which stage III does not train; routes are drawn anew at every step.
"""

from __future__ import annotations

import numpy as np

DRAWS, STEPS, RATE = 3, 20_000, 0.5


def steps_and_loss() -> dict[str, float]:
    """Follow eq. (10): the largest step over eta R L, the power of t that L falls with, the weights over their bound.

    Two experts, twelve samples that one direction separates with a margin of 1; R is the largest norm of a sample.
    """
    rng, z = np.random.default_rng(1), np.linspace(-30.0, 30.0, 601)
    slopes = 1 / (1 + np.exp(z)) / np.logaddexp(0, -z)
    rows = []
    for _ in range(DRAWS):
        x = rng.standard_normal((12, 4))
        y = np.sign(x[:, 0])
        x[:, 0] += y
        size = float(np.linalg.norm(x, axis=1).max())
        w, losses, ratio = 0.1 * rng.standard_normal((2, 4)), np.empty(STEPS), 0.0
        first = float(np.linalg.norm(w, axis=1).max())
        for t in range(STEPS):
            routed = np.eye(2)[rng.integers(0, 2, 12)]  # (samples, experts)
            margins = y * np.sum((routed @ w) * x, axis=1)
            losses[t] = np.mean(np.logaddexp(0, -margins))
            step = RATE * (routed.T @ (x * (y / (1 + np.exp(margins)))[:, None])) / 12
            ratio = max(ratio, float(np.linalg.norm(step, axis=1).max() / (RATE * size * losses[t])))
            w += step
        late = np.polyfit(np.log(np.arange(STEPS // 10, STEPS)), np.log(losses[STEPS // 10 :]), 1)[0]
        reached = float(np.linalg.norm(w, axis=1).max()) / (first + RATE * size * losses.sum())
        rows.append((ratio, float(late), reached))
    found = np.array(rows)
    return {
        "largest |l'| over l": float(slopes.max()),
        "largest step over eta R L": float(found[:, 0].max()),
        "order of L in t": float(found[:, 1].min()),
        "weights over |W_0| + eta R sum L": float(found[:, 2].max()),
    }
