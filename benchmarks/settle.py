"""How far apart do two searches of the least-squares argmin end, by the evaluations that they spend?

    python benchmarks/settle.py --jobs 2                             # 40 000 evaluations: an hour; rows are appended
    python benchmarks/settle.py --budget 8000 --method global        # the search of the records, at about equal length
    python benchmarks/settle.py --problem 3 3 1500                   # a smaller problem; or 8 8 10000
    python benchmarks/settle.py --summary                            # what results/settle.csv says

A softmax truth is fitted by either gate with one atom too many; noise variance 0.01; all searches are told the truth.
The moves and numbers of ``moestat.fit.settle`` were chosen on data sets 0 to 3, the last of them after looks at set 4;
sets 5 and above are clean. A row holds the
lowest residual sum of squares in noise variances at each budget up to its own: a search with a smaller budget is the
beginning of one with a larger. What is there is not computed again.
"""

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path

import joblib
import numpy as np

from moestat import streams
from moestat.fit.global_search import Budget, global_search
from moestat.fit.settle import SAME, search
from moestat.models import truths
from moestat.models.regression import Model

RESULTS = Path(__file__).parent / "results" / "settle.csv"
NOISE = 0.01
BUDGETS = (1000, 2000, 4000, 8000, 20_000, 40_000)
KINDS = tuple(f"{gate}-{expert}" for gate in ("softmax", "sigmoid") for expert in ("linear", "relu"))
COLUMNS = ["method", "kind", "d", "n_true", "n", "set", "search", "budget", "evaluations", "cpu_seconds"]
COLUMNS += [f"at_{budget}" for budget in BUDGETS]


def data(kind: str, d: int, n_true: int, n: int, number: int) -> tuple[Model, np.ndarray, np.ndarray, np.ndarray]:
    """Return the fitted model, a truth (N*, P) and a data set; gates share them."""
    gate, expert = kind.split("-")
    true = Model("softmax", "full", expert, d)
    truth = truths.ground_truth(true, n_true, "dense", np.random.default_rng([109, number]))
    return (
        Model(gate, "full", expert, d),
        truth,
        *truths.sample(true, truth, n, NOISE, np.random.default_rng([110, number])),
    )


def told(model: Model, truth: np.ndarray) -> np.ndarray:
    """Return the truth with one atom split, each in turn, (K, N, P): both searches are told it."""
    return np.stack([truths.split(model, np.roll(truth, -k, axis=0), len(truth) + 1) for k in range(len(truth))])


def settled(kind: str, d: int, n_true: int, n: int, number: int, which: int, budget: int) -> np.ndarray:
    """Search once; the trace (T, 2) of evaluations and the lowest loss."""
    model, truth, x, y = data(kind, d, n_true, n, number)
    key = streams.key(kind=kind, d=d, n_true=n_true, n=n, search=which)
    of = dict(streams=[streams.generator(4711, key, number, "search")], known=told(model, truth))
    return search(model, x[None], y[None], n_true + 1, budget=budget, noise_variance=NOISE, **of)[0].trace


def by_global_search(kind: str, d: int, n_true: int, n: int, number: int, which: int, budget: int) -> np.ndarray:
    """The same by the search of the records; three of its usual ones are about 8000 steps at d = 4."""
    model, truth, x, y = data(kind, d, n_true, n, number)
    key, known = streams.key(kind=kind, d=d, n_true=n_true, n=n, search=which), told(model, truth)
    of = dict(local=known[:1], known=known, budget=Budget().times(3 * budget / 8000))
    found = global_search(
        model, x, y, stream=lambda purpose: streams.generator(4711, key, number, f"global: {purpose}"), **of
    )
    return np.array([[found.steps, found.fit.loss[0]]])


METHODS = {"settle": settled, "global": by_global_search}


def row(method: str, kind: str, d: int, n_true: int, n: int, number: int, which: int, budget: int) -> dict[str, object]:
    """Search one data set once; a row of the table."""
    began = time.process_time()
    trace = METHODS[method](kind, d, n_true, n, number, which, budget)
    seconds = round(time.process_time() - began, 1)
    at = {}
    for most in BUDGETS:
        # what a search with this budget returns: it ends with the round that passes it
        if most == budget or (method == "settle" and most < budget):
            place = min(int(np.searchsorted(trace[:, 0], most)), len(trace) - 1)
            at[f"at_{most}"] = f"{2 * n * trace[place, 1] / NOISE:.3f}"
    values = [method, kind, d, n_true, n, number, which, budget, round(trace[-1, 0]), seconds]
    return dict(zip(COLUMNS, values, strict=False)) | at


def rows() -> list[dict[str, str]]:
    """Read the rows so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def append(values: dict[str, object]) -> None:
    """Write one row, and print it."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        if new:
            writer.writeheader()
        writer.writerow(values)
    print(*values.values(), flush=True)


def summary() -> None:
    """Print, for every problem, method and budget, how many data sets are settled, and what is above the best known."""
    table = rows()
    known: dict[tuple[str, ...], float] = defaultdict(lambda: np.inf)
    problem = ("kind", "d", "n")
    for one in table:
        for most in BUDGETS:
            if one[f"at_{most}"]:
                place = (*(one[name] for name in problem), one["set"])
                known[place] = min(known[place], float(one[f"at_{most}"]))
    for kind in dict.fromkeys(tuple(one[name] for name in (*problem, "method")) for one in table):
        for most in BUDGETS:
            ends: dict[str, dict[str, float]] = defaultdict(dict)
            for one in table:
                if tuple(one[name] for name in (*problem, "method")) == kind and one[f"at_{most}"]:
                    above = float(one[f"at_{most}"]) - known[*kind[:3], one["set"]]
                    ends[one["set"]].setdefault(one["search"], above)
            both = [(own["1"], own["2"]) for own in ends.values() if len(own) == 2]
            if both:
                apart = np.abs([a - b for a, b in both])
                width = np.log(float(kind[2]))
                print(
                    f"{kind[3]:6} {kind[0]:14} d {kind[1]} n {kind[2]} evaluations {most:6}: settled "
                    f"{np.sum(apart <= width)} of {len(apart)}, same minimum {np.sum(apart <= SAME)}; apart "
                    f"{', '.join(f'{a:.1f}' for a in apart)} v (log n = {width:.1f}); above the best known "
                    f"{np.mean(both):.1f} v a search, both by more than log n in {np.sum(np.min(both, axis=1) > width)}"
                )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", type=int, nargs=3, default=[4, 4, 3000], help="d, true atoms, samples")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--sets", type=int, nargs="+", default=[4, 5, 6])
    parser.add_argument("--budget", type=int, default=40_000, choices=BUDGETS)
    parser.add_argument("--method", default="settle", choices=METHODS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--summary", action="store_true", help="print what the rows say, and compute nothing")
    given = parser.parse_args()
    if not given.summary:
        there = {tuple(one[name] for name in COLUMNS[:8]) for one in rows()}
        wanted = [
            place
            for number in given.sets
            for kind in given.kinds
            for which in (1, 2)
            if tuple(map(str, place := (given.method, kind, *given.problem, number, which, given.budget))) not in there
        ]
        for found in joblib.Parallel(given.jobs, return_as="generator_unordered")(
            joblib.delayed(row)(*place) for place in wanted
        ):
            append(found)
    summary()


if __name__ == "__main__":
    main()
