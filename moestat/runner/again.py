"""Cells computed a second time, in a folder of their own, by other kernels than the first time."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from moestat.errors import UserError
from moestat.fit import kernel
from moestat.runner import experiments, origin, pool, worker
from moestat.runner.cells import PlannedCell
from moestat.runner.plan import Plan

PLAIN_BLAS = {"x86_64": "Nehalem", "AMD64": "Nehalem"}
"""Kernels without fused arithmetic, which every OpenBLAS for a processor has."""


def other_kernels() -> dict[str, str]:
    """Return the environment in which a process computes with other kernels than this one does.

    The least-squares fits take plain NumPy in place of the compiled code (or compiled code, where this process takes
    NumPy), OpenBLAS the kernels of an old processor, and NumPy's own loops their baseline.
    """
    changes = {kernel.VARIABLE: "" if os.environ.get(kernel.VARIABLE) == "numpy" else "numpy"}
    if platform.machine() in PLAIN_BLAS:
        changes["OPENBLAS_CORETYPE"] = PLAIN_BLAS[platform.machine()]
    if features := origin.simd():
        changes["NPY_DISABLE_CPU_FEATURES"] = features
    return changes


def compute(
    plan: Plan, cells: Sequence[PlannedCell], folder: Path, *, device: str, jobs: int, environment: Mapping[str, str]
) -> None:
    """Compute all replicates of some cells into the shards of an empty folder, with what cells share anew.

    Parameters
    ----------
    plan : Plan
    cells : sequence of PlannedCell
    folder : Path
    device : str
    jobs : int
        Processes.
    environment : mapping
        What their environment differs in; they read it before NumPy is imported.

    Raises
    ------
    UserError
        If a process dies, or the disk is in the way.
    """
    context = worker.Context(
        module_name=plan.module_name,
        search_path=tuple(experiments.search_path(plan.study_file)),
        root=str(folder),
        cache=str(folder / "cache"),
        device=device,
        parent=os.getpid(),
    )
    digests = {planned.digest for planned in cells}
    blocks = [block for block in plan.blocks() if block.planned.digest in digests]
    tasks = [
        worker.Task(number, context, block.planned.cell, block.planned.digest, block.replicates)
        for number, block in enumerate(blocks)
    ]
    for outcome in pool.in_processes(tasks, jobs, environment):
        if outcome.disk:
            raise UserError(outcome.disk)
