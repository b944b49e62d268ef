"""Ten minutes on one GPU: are the fits right there, how many a second, and how far from what the card can do?

    python benchmarks/gpu_campaign.py --n 10000 --output gpu.jsonl            # with a GPU
    python benchmarks/gpu_campaign.py --device cpu --tiny --output tiny.jsonl # a minute, to check the script
    python benchmarks/gpu_campaign.py --report                                # the table of what is published

The work is cut into units; each leaves one line of JSON in ``--output`` as soon as it is done, and a unit whose line is
there is not done again. So the script can be killed at any moment and started again; it begins no unit after
``--seconds``, and one may take three minutes more. After a change of the code give another file. The units, the most
important first, are

* ``peak``: products of square matrices in float32 and float64, a copy of memory, a stack of Cholesky solutions;
* ``evaluation``: loss, gradient and Hessian by array code and by the kernels, beside the processor's numbers, and the
  share of the float64 peak;
* ``core``, ``fits``: batches of fits (d = 8, eight true experts, nine fitted) from starts near the truth to certified
  ends, on one core in CPU seconds and on the GPU in wall seconds, kernels being compiled before: as many data sets from
  one start each, and one data set from as many starts; the core works beside the GPU's first units;
* ``tests``: ``pytest -m gpu``;
* ``settle``: two searches of the least-squares argmin that draw everything apart (:mod:`moestat.fit.settle`), of a data
  set of each of ten truths of the law: how far apart they end, after how many evaluations, how many a second, and which
  share of the time the searches took themselves, between fits;
* ``study``: fits of a study with all that it does besides, losses above all, a second of eight processes on the GPU.

A fit's share is that of the float64 peak which its evaluations alone would use. The last columns compare those fits
that the core has done, too: the largest difference of a loss, relative to it, and how many ended lower or higher by
more than 1e-9 of it, in another local minimum. Of a search the tables say in how many of the data sets both ended
within log n noise variances of each other in the residual sum of squares (settled), and within 0.1 of one.

With ``--device cpu`` arrays of array-api-strict stand in the GPU's place: the same code, without kernels and speed.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from moestat import cache
from moestat.arrays import backend, resolve_device, to_numpy
from moestat.fit import served
from moestat.fit.cuda_problem import problem_on_device
from moestat.fit.gradient import perturb
from moestat.fit.linalg import cholesky_solve
from moestat.fit.moments import Problem, layout
from moestat.fit.newton import from_each, least_squares
from moestat.fit.settle import settle
from moestat.models import truths
from moestat.models.regression import Model
from moestat.runner import origin

MODELS = [(gate, expert) for gate in ("softmax", "sigmoid") for expert in ("linear", "relu")]
RESULTS = Path(__file__).parent / "results" / "gpu_campaign.jsonl"
BOX = 5.0
FEW = 4  #: Fits of a batch that the core does, too.
TRUTHS, VARIANCE = 10, 0.01  #: Of the searches.
Row = dict[str, Any]


class Bench:
    """Sizes, the device, and the cases."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        tiny = arguments.tiny
        self.tiny, self.budget = tiny, arguments.evaluations
        self.d, self.atoms = (2, 3) if tiny else (8, 9)
        self.sizes = [100] if tiny else arguments.n
        self.batches = [2] if tiny else arguments.batches
        self.models = MODELS[::3] if tiny else MODELS
        self.cuda = arguments.device != "cpu" and resolve_device(arguments.device) == "cuda"
        if self.cuda:
            self.xp = backend("cuda")
        else:
            import array_api_strict

            self.xp = array_api_strict

    def model(self, gate: str, expert: str) -> Model:
        """Return a model of this size."""
        return Model(gate, "full", expert, self.d)  # type: ignore[arg-type]

    def case(self, model: Model, n: int, batch: int, own: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return data sets (batch or 1, n, d), (batch or 1, n) of one truth, and starts (batch, N, P).

        A smaller batch has the first ones of a larger one.
        """
        truth = truths.ground_truth(model, self.atoms - 1, "dense", np.random.default_rng(0))
        rngs = [np.random.default_rng([1, k]) for k in range(batch)]
        drawn = [truths.sample(model, truth, n, 0.01, rng) for rng in rngs[: batch if own else 1]]
        starts = [perturb(truths.split(model, truth, self.atoms), 0.05, rng) for rng in rngs]
        return np.stack([x for x, _ in drawn]), np.stack([y for _, y in drawn]), np.stack(starts)

    def move(self, *arrays: np.ndarray) -> list[Any]:
        """Return arrays of the device."""
        return [self.xp.asarray(array) for array in arrays]

    def wait(self) -> None:
        """Wait for the device."""
        if self.cuda:
            import cupy

            cupy.cuda.Device().synchronize()

    def seconds(self, function: Callable[[], object], turns: int = 3) -> float:
        """Return the least wall seconds of a function, after one call that is not timed."""
        best = np.inf
        for turn in range(turns + 1):
            self.wait()
            begin = time.perf_counter()
            function()
            self.wait()
            best = min(best, time.perf_counter() - begin) if turn else np.inf
        return best

    def free(self) -> float:
        """Give the memory that the arrays have taken back; return its GiB."""
        if not self.cuda:
            return 0.0
        import cupy

        pool = cupy.get_default_memory_pool()
        taken = float(pool.total_bytes()) / 2**30
        pool.free_all_blocks()
        return taken


def flops_per_row(model: Model, n_atoms: int) -> int:
    """Multiplications and additions of the products of weights and monomials, per sample."""
    gate, mixed, expert = layout(model, n_atoms).sizes
    pairs = n_atoms * (n_atoms + 1) // 2
    return 2 * (pairs * gate + n_atoms**2 * mixed + pairs * expert)


def fit(bench: Bench, model: Model, x: Any, y: Any, starts: np.ndarray) -> dict[str, np.ndarray]:
    """Fit as many data sets from a start each, or one data set from every start; NumPy arrays of a row each."""
    steps = 15 if bench.tiny else 2000
    if x.shape[0] == starts.shape[0]:
        xp = np if isinstance(x, np.ndarray) else bench.xp
        found = least_squares(model, x, y, xp.asarray(starts)[:, None, ...], box=BOX, max_iterations=steps)
        return {name: to_numpy(value) for name, value in vars(found).items()}
    return vars(from_each(model, x[0, ...], y[0, ...], starts, box=BOX, max_iterations=steps))


def peak(bench: Bench) -> Row:
    size, rng, xp = 64 if bench.tiny else 8192, np.random.default_rng(0), bench.xp
    row: Row = {"gpu": _name() if bench.cuda else "no GPU"}
    for name, dtype in (("float32", xp.float32), ("float64", xp.float64)):
        a = xp.asarray(rng.standard_normal((size, size)), dtype=dtype)
        row[name] = 2 * size**3 / bench.seconds(lambda a=a: a @ a) / 1e12  # type: ignore[misc]
        row["copy"] = 2 * size * size * 8 / bench.seconds(lambda a=a: a + 0.0) / 1e12  # type: ignore[misc]
    for batch in bench.batches:
        p = bench.model("softmax", "linear").atom_size * bench.atoms
        h = rng.standard_normal((1, p, p))
        h, g = bench.move(
            np.repeat(h @ np.swapaxes(h, 1, 2) + np.eye(p), batch, axis=0), rng.standard_normal((batch, p))
        )
        row[f"solve_{batch}"] = bench.seconds(lambda h=h, g=g: cholesky_solve(h, g))  # type: ignore[misc]
    return row


def _name() -> str:
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def evaluation(bench: Bench, gate: str, expert: str, n: int, batch: int, own: bool) -> Row:
    model = bench.model(gate, expert)
    x, y, theta = bench.case(model, n, batch, own)
    expected = Problem(model, bench.atoms, x[:1], y[:1], "double").hessian(theta[:1], 0.01, 1.0)
    data, (point,) = bench.move(x, y), bench.move(theta)
    row: Row = {}
    for name, make in (("plain", Problem), ("kernels", problem_on_device)):
        problem = make(model, bench.atoms, *data, "mixed")
        found = [to_numpy(part)[0] for part in problem.hessian(point, 0.01, 1.0)]
        row[f"differs_{name}"] = max(
            float(np.abs(a - b[0]).max() / np.abs(b[0]).max()) for a, b in zip(found, expected, strict=True)
        )
        del found
        row[name] = bench.seconds(lambda p=problem: p.hessian(point, 0.01, 1.0))  # type: ignore[misc]
        row[f"loss_{name}"] = bench.seconds(lambda p=problem: p.loss(point, 0.01))  # type: ignore[misc]
    return row | {"tflops": flops_per_row(model, bench.atoms) * n * batch / row["kernels"] / 1e12, "GiB": bench.free()}


def core(arguments: argparse.Namespace, gate: str, expert: str, n: int, own: bool) -> Row:
    bench = Bench(argparse.Namespace(**vars(arguments) | {"device": "cpu"}))
    model = bench.model(gate, expert)
    small = bench.case(model, 60, 2, own)
    case = bench.case(model, n, 1 if n > 50_000 else FEW, own)
    with threadpool_limits(1):  # it is another process than that of main()
        fit(bench, model, *small)
        begin = time.process_time()
        found = fit(bench, model, *case)
        seconds = time.process_time() - begin
    return {"rate": len(case[2]) / seconds, "loss": found["loss"].tolist(), "steps": float(found["iterations"].mean())}


def fits(bench: Bench, gate: str, expert: str, n: int, batch: int, own: bool, beside: Row) -> Row:
    model = bench.model(gate, expert)
    small = bench.case(model, 60, 2, own)
    fit(bench, model, *bench.move(*small[:2]), small[2])
    x, y, starts = bench.case(model, n, batch, own)
    data = bench.move(x, y)
    bench.wait()
    begin = time.perf_counter()
    found = fit(bench, model, *data, starts)
    seconds = time.perf_counter() - begin
    both = min(len(beside["loss"]), batch)
    true = np.asarray(beside["loss"])[:both]
    change = (found["loss"][:both] - true) / true
    status, counts = np.unique(found["status"], return_counts=True)
    return {
        "seconds": seconds,
        "rate": batch / seconds,
        "ratio": batch / seconds / beside["rate"],
        "tflops": flops_per_row(model, bench.atoms) * n * float(found["iterations"].sum()) / seconds / 1e12,
        "steps": float(found["iterations"].mean()),
        "most_steps": int(found["iterations"].max()),
        "factorisations": float(found["factorisations"].mean()),
        "status": dict(zip(map(str, status.tolist()), counts.tolist(), strict=True)),
        "differs": float(np.abs(change).max()),
        "lower": int((change < -1e-9).sum()),
        "higher": int((change > 1e-9).sum()),
        "GiB": bench.free(),
    }


def settled(bench: Bench, gate: str, expert: str, n: int) -> Row:
    model = bench.model(gate, expert)
    law = bench.model("softmax", expert)  # both gates see the same data: those of a softmax truth
    count = 2 if bench.tiny else TRUTHS
    true = [truths.ground_truth(law, bench.atoms - 1, "dense", np.random.default_rng([2, k])) for k in range(count)]
    drawn = [truths.sample(law, truth, n, VARIANCE, np.random.default_rng([3, k])) for k, truth in enumerate(true)]
    x, y = (np.stack(part) for part in zip(*drawn, strict=True))
    known = np.stack([truths.split(law, truth, bench.atoms)[None] for truth in true]) if gate == "softmax" else None
    streams = [[np.random.default_rng([4, side, k]) for k in range(count)] for side in range(2)]
    begin = time.perf_counter()
    between = _timed(served._Asked, "give")
    found = settle(
        model,
        *bench.move(x, y),
        bench.atoms,
        streams=(streams[0], streams[1]),
        budget=60 if bench.tiny else bench.budget,
        noise_variance=VARIANCE,
        known=known,
        width=12 if bench.tiny else 128,
        box=BOX,
    )
    ends = {"settled": found.settled, "same": found.same_minimum, "apart": found.apart, "rss": found.rss / VARIANCE}
    traces = [[one.trace.tolist() for one in side] for side in (found.first, found.second)]
    seconds = time.perf_counter() - begin
    spent = sum(one.evaluations for side in (found.first, found.second) for one in side)
    return {
        "seconds": seconds,
        "rate": spent / seconds,
        "between": between() / seconds,
        "status": [int(one.fit.status[0]) for side in (found.first, found.second) for one in side],
        "smallest": [float(one.fit.min_eigenvalue[0]) for side in (found.first, found.second) for one in side],
        **{name: value.tolist() for name, value in ends.items()},
        "traces": traces,
        "GiB": bench.free(),
    }


def _timed(owner: type, name: str) -> Callable[[], float]:
    """Add up the seconds of a method from now on, until what is returned is called for the sum."""
    plain, total = getattr(owner, name), 0.0

    def timed(*arguments: Any) -> None:
        nonlocal total
        begin = time.perf_counter()
        plain(*arguments)
        total += time.perf_counter() - begin

    def stop() -> float:
        setattr(owner, name, plain)
        return total

    setattr(owner, name, timed)
    return stop


def agreed_after(row: Row, n: int, evaluations: float) -> tuple[int, int]:
    """Return in how many data sets the searches were settled, and at one minimum, after so many evaluations each."""
    apart = []
    for pair in zip(*row["traces"], strict=True):
        lowest = [min((loss for spent, loss in trace if spent <= evaluations), default=np.nan) for trace in pair]
        apart.append(2.0 * n * abs(lowest[0] - lowest[1]) / VARIANCE)
    return int(np.sum(np.array(apart) <= np.log(n))), int(np.sum(np.array(apart) <= 0.1))


def tests(bench: Bench, left: float) -> Row:
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-m", "gpu", "-n", "4", "-q", "--tb=short", "tests"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, cwd=Path(__file__).parents[1])
    except subprocess.TimeoutExpired as error:
        return {"tail": f"cut off after {left:.0f} s: {str(error.stdout)[-2000:]}"}
    return {"code": done.returncode, "tail": (done.stdout or done.stderr)[-4000:]}


STUDY = """from moestat import Study

study = Study("Fits and losses", experiment="regression", seed=1, settings={settings}, grid=dict(n=[{n}]))
study.preset("quick", "Softmax gate, linear experts.", replicates=1)
study.arm("softmax", "softmax gate", fitted_gate="softmax", expert="linear")
study.rate("L3")
"""


def study(bench: Bench, n: int, left: float) -> Row:
    settings = dict(d=bench.d, n_true=bench.atoms - 1, n_fitted=bench.atoms, truth_gate="softmax", regime="dense")
    settings |= dict(noise_variance=VARIANCE, box=BOX, start_radius=0.05)
    if bench.tiny:
        settings |= dict(evaluation_log2=10, fisher_log2=10)
    first, more, jobs = (2, 2, 1) if bench.tiny else (256, 2048, 8)
    device = "cuda" if bench.cuda else "cpu"
    row: Row = {"fits": more, "jobs": jobs}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fits_and_losses.py"
        file.write_text(STUDY.format(settings=settings, n=n))
        command = [sys.executable, "-m", "moestat.study", str(file), "--out", folder, "--device", device, "-q"]
        command += ["--jobs", str(jobs), "--block", str(max(1, first // jobs))]
        own = os.environ | {"MOESTAT_CACHE": str(cache.folder())}  # where kernels are, compiled
        for count in (first, first + more):  # at first everything is compiled
            begin = time.perf_counter()
            count_of = ["--replicates", str(count)]
            subprocess.run([*command, *count_of], check=True, timeout=left, capture_output=True, text=True, env=own)
            row["seconds"] = time.perf_counter() - begin
    return row | {"rate": more / row["seconds"]}


def cores(bench: Bench) -> dict[str, tuple[str, str, int, bool]]:
    """Return the arguments of the units that a core does, by their names."""
    every = [(*model, n, own) for n in bench.sizes for model in bench.models for own in (True, False)]
    return {
        f"core {gate} {expert} {n} {'own' if own else 'shared'}": (gate, expert, n, own)
        for gate, expert, n, own in every
    }


def units(
    bench: Bench, known: dict[str, Row], beside: dict[str, Future], end: float
) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Name every unit, and say how it is done."""
    yield "peak", lambda: peak(bench)
    for n in bench.sizes:
        for gate, expert in bench.models:
            for own in (True, False):
                batch = min(256, bench.batches[0])  # array code needs room
                name = f"evaluation {gate} {expert} {n} {batch} {'own' if own else 'shared'}"
                yield name, lambda a=(gate, expert, n, batch, own): evaluation(bench, *a)  # type: ignore[misc]
        for name, (*model, size, own) in cores(bench).items():
            if size != n:
                continue
            yield name, lambda one=name: beside[one].result(timeout=max(1.0, end - time.time()))  # type: ignore[misc]
            for batch in bench.batches:
                case = (*model, n, batch, own)
                yield (
                    name.replace("core", "fits").replace(f" {n} ", f" {n} {batch} "),
                    lambda a=case, b=name: fits(bench, *a, known[b]),
                )  # type: ignore[misc]
        if bench.cuda and n == bench.sizes[0]:
            yield "tests", lambda: tests(bench, max(1.0, end - time.time()))
        yield f"study {n}", lambda n=n: study(bench, n, max(1.0, end - time.time()))  # type: ignore[misc]
        for gate, expert in bench.models:
            yield f"settle {gate} {expert} {n}", lambda a=(gate, expert, n): settled(bench, *a)  # type: ignore[misc]


def read(path: Path) -> dict[str, Row]:
    """Return what is there, by unit; a line that was cut off is left out."""
    known = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            row = json.loads(line)
            known[row.pop("unit")] = row
    return known


def report(rows: dict[str, Row]) -> str:
    """Put what is there into tables."""
    top = rows.get("peak", {})
    lines = [" ".join(f"{name} {value:.4g}" for name, value in top.items() if isinstance(value, float))]
    lines += ["", "evaluation                             ms plain kernels    loss  Tflop/s  share  differs"]
    for name, row in rows.items():
        if name.startswith("evaluation "):
            share = row["tflops"] / top["float64"] if top else np.nan
            lines.append(
                f"{name[11:]:38s} {1e3 * row['plain']:8.2f} {1e3 * row['kernels']:7.2f} "
                f"{1e3 * row['loss_kernels']:7.2f} {row['tflops']:8.3f} {share:6.1%} {row['differs_kernels']:8.1e}"
            )
    lines += [
        "",
        "fits                                    a second   ratio  share  steps  most  differs  lower  higher",
    ]
    for name, row in rows.items():
        if name.startswith("core "):
            lines.append(f"{name[5:] + ', one core':38s} {row['rate']:9.3g}               {row['steps']:6.0f}")
        elif name.startswith("fits "):
            share = row["tflops"] / top["float64"] if top else np.nan
            lines.append(
                f"{name[5:]:38s} {row['rate']:9.3g} {row['ratio']:7.2f} {share:6.1%} {row['steps']:6.0f} "
                f"{row['most_steps']:5d} {row['differs']:8.1e} {row['lower']:6d} {row['higher']:7d}"
            )
    for name, row in rows.items():
        if name.startswith("study "):
            lines.append(f"{name + ', ' + str(row['jobs']) + ' processes':38s} {row['rate']:9.3g}")
    lines += ["", "searches of ten data sets     evaluations  settled  same minimum  seconds  a second  between"]
    for name, row in rows.items():
        if name.startswith("settle "):
            n = int(name.split()[-1])
            spent = row["traces"][0][0][-1][0]
            for budget in (b for b in (2500, 5000, 10_000, 20_000, 40_000, 80_000) if b < spent):
                within, one = agreed_after(row, n, budget)
                lines.append(f"{name[7:]:30s} {budget:10d} {within:8d} {one:13d}")
            lines.append(
                f"{name[7:]:30s} {spent:10.0f} {sum(row['settled']):8d} {sum(row['same']):13d} {row['seconds']:8.0f} "
                f"{row.get('rate', np.nan):9.0f} {row.get('between', np.nan):8.1%}"
            )
    if "tests" in rows:
        lines += ["", rows["tests"]["tail"].strip().splitlines()[-1]]
    return "\n".join(lines)


def write_tables(rows: dict[str, Row], folder: Path) -> None:
    """Write the files that the tables of ``README.md`` are made of."""
    head = ["gate, experts", "n", "_fits", "data", "one core", "GPU", "GPU over core", "steps a fit"]
    fits = [[*head, "_of the float64 peak"]]
    searches = [["gate, experts", "n", "data sets", "evaluations a search", "settled", "same minimum", "s a data set"]]
    for name, row in rows.items():
        what, *words = name.split()
        if what == "fits":
            gate, expert, n, batch, own = words
            core, share = rows[f"core {gate} {expert} {n} {own}"], row["tflops"] / rows["peak"]["float64"]
            data = "one for each" if own == "own" else "one for all"
            fits.append(
                [f"{gate}, {expert}", n, batch, data, core["rate"], row["rate"], row["ratio"], row["steps"], share]
            )  # type: ignore[list-item]
        elif what == "settle":
            gate, expert, n = words
            spent = np.mean([trace[-1][0] for side in row["traces"] for trace in side])
            count = len(row["settled"])
            ends = [count, round(spent, -3), sum(row["settled"]), sum(row["same"]), row["seconds"] / count]
            searches.append([f"{gate}, {expert}", n, *ends])  # type: ignore[list-item]
    for name, table in (("gpu_fits", fits), ("gpu_searches", searches)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            file.write(f"# processor: {rows['peak']['gpu']}; load: 1\n")
            csv.writer(file, lineterminator="\n").writerows(
                [[f"{cell:.4g}" if isinstance(cell, float) else cell for cell in line] for line in table]
            )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=420, help="no unit begins later")
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 1000, 100_000], help="samples of a data set")
    parser.add_argument("--batches", type=int, nargs="+", default=[1024], help="fits of a batch on the GPU")
    parser.add_argument("--evaluations", type=int, default=15_000, help="Newton evaluations of each search")
    parser.add_argument("--device", choices=("cpu", "auto", "cuda"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="d = 2, n = 100, two short fits of two models")
    parser.add_argument("--report", action="store_true", help="print the tables of what is there, and compute nothing")
    parser.add_argument("--output", type=Path, help="file of the results; with --report those published, if absent")
    arguments = parser.parse_args(words)
    if not (arguments.output or arguments.report):
        parser.error("--output FILE says where the results go; lines that are there are not computed again")
    path, end, failed = arguments.output or RESULTS, time.time() + arguments.seconds, 0
    known = read(path)
    if not arguments.report:
        bench = Bench(arguments)
        missing = {name: case for name, case in cores(bench).items() if name not in known}
        workers = get_context("spawn")
        with ProcessPoolExecutor(4, mp_context=workers) as pool, path.open("a") as file:
            beside = {name: pool.submit(core, arguments, *case) for name, case in missing.items()}
            file.write("\n" * bool(known))  # after a line that was cut off
            for name, unit in units(bench, known, beside, end):
                if name in known:
                    continue
                if time.time() > end:
                    print(f"out of time before: {name}", flush=True)
                    pool.shutdown(wait=False, cancel_futures=True)
                    for worker in active_children():  # what it has begun would be waited for
                        worker.terminate()
                    break
                begin = time.time()
                try:
                    known[name] = unit()
                except Exception as error:  # the others are worth having all the same
                    more = str(getattr(error, "stderr", None) or "")[-2000:]
                    print(f"{name}: {type(error).__name__}: {error} {more}", flush=True)
                    failed += 1
                else:
                    machine = {"machine": origin.here()} if name == "peak" else {}
                    file.write(json.dumps({"unit": name, **known[name], **machine}) + "\n")
                    file.flush()
                    print(f"{name}: {time.time() - begin:.1f} s", flush=True)
                    continue
                bench.free()  # now that the error is gone, whose frames held arrays
    if path == RESULTS:
        write_tables(known, RESULTS.parent)
    print(report(known))
    return failed


if __name__ == "__main__":
    with threadpool_limits(1):
        raise SystemExit(main())
