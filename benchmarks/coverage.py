"""How often the intervals of a slope cover it: t, and its hull with bootstrap-t, for skewed errors.

Each study has R replicates at eight sizes from 1e3 to 1e5, with log errors -0.5 log n + noise of mean 0. The noise of
every run is its own, with a spread that grows or falls along the sizes, or one number tilts the whole line of a
replicate, as where all its sizes share a seed. An escape adds two to one run, or one line, in ten: it is skewed, and a
study of ten replicates has a probability of 0.35 to hold no line that escaped.

    python benchmarks/coverage.py                # four minutes; 4000 studies of each kind
    python benchmarks/coverage.py --studies 400
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from moestat.rates import mean_interval, replicate_slopes
from moestat.rates.estimate import wider

SLOPE, SIZES, LEVEL = -0.5, np.geomspace(1e3, 1e5, 8), 0.95
REPLICATES = (4, 10, 30)
SPREADS = {"grows": np.linspace(0.2, 1.5, 8), "falls": np.linspace(1.5, 0.2, 8)}
ESCAPES, FAR = 0.1, 2.0


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw lognormal noise of mean 0 and standard deviation 1."""
    return (rng.lognormal(size=shape) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def escapes(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw normal noise to which one number in ten adds far more."""
    return 0.3 * rng.standard_normal(shape) + FAR * (rng.random(shape) < ESCAPES) - FAR * ESCAPES


LAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t, 3 degrees": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "lognormal": lognormal,
    "10 % escapes": escapes,
}


def slopes(law: str, noise: str, replicates: int, studies: int, rng: np.random.Generator) -> np.ndarray:
    """Return the slopes (studies, replicates) of a law and a kind of noise."""
    if noise == "lines":
        return SLOPE + 0.1 * LAWS[law](rng, (studies, replicates))
    drawn = LAWS[law](rng, (studies, SIZES.size, replicates))
    logs = SLOPE * np.log(SIZES)[:, None] + SPREADS[noise][:, None] * drawn
    return replicate_slopes(np.log(SIZES), logs)


def covered(law: str, noise: str, replicates: int, studies: int) -> dict[str, float]:
    """Return the shares of studies whose intervals cover, and how much longer the hull is in the median."""
    seed = [list(LAWS).index(law), ["grows", "falls", "lines"].index(noise), replicates]
    samples = slopes(law, noise, replicates, studies, np.random.default_rng(seed))
    _, _, low, high = mean_interval(samples, LEVEL)
    hulls = [wider(sample, LEVEL) for sample in samples]
    ends = np.array([(hull.low, hull.high) for hull in hulls])
    return {
        "t": float(np.mean((low < SLOPE) & (high > SLOPE))),
        "hull": float(np.mean((ends[:, 0] < SLOPE) & (ends[:, 1] > SLOPE))),
        "length": float(np.median((ends[:, 1] - ends[:, 0]) / (high - low))),
    }


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=4000)
    studies = parser.parse_args().studies
    rows = []
    for law in LAWS:
        for noise in ("grows", "falls", "lines"):
            row: dict[str, object] = {"errors": law, "noise": noise}
            for replicates in REPLICATES:
                found = covered(law, noise, replicates, studies)
                row |= {f"{name}, R = {replicates}": round(value, 3) for name, value in found.items()}
            rows.append(row)
            print(row, flush=True)
    frame = pd.DataFrame(rows).drop(columns=["hull, R = 4", "length, R = 4"])  # below 8 replicates it is the t-interval
    frame.to_csv(Path(__file__).parent / "results" / "coverage.csv", index=False)
    print("| " + " | ".join(frame.columns) + " |\n|" + "---|" * len(frame.columns))
    for values in frame.itertuples(index=False):
        print("| " + " | ".join(map(str, values)) + " |")


if __name__ == "__main__":
    main()
