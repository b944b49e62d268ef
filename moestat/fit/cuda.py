"""The kernels of ``cuda_kernels.cu``, compiled by CuPy for the GPU at hand and for a family of models."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from moestat.models.regression import Model

GATES = ("softmax", "sigmoid")  #: In the order of the source's numbers.
EXPERTS = ("relu", "linear", "gelu", "polynomial")
THREADS = 128  #: Of a block.
MEMBERS = 65_535  #: At most, of a launch: CUDA takes no more blocks along the second axis of a grid.
Kernel = Any
"""``kernel(grid, block, arguments)``."""


def source() -> str:
    """Return the source of the kernels, which wants N, GATE, EXPERT and POWER defined for all but ``damp``."""
    return files("moestat.fit").joinpath("cuda_kernels.cu").read_text("utf-8")


def definitions(model: Model, n_atoms: int) -> str:
    """Return the lines that define what the source wants of a model with built-in gate and expert."""
    gate, expert = GATES.index(model.gate), EXPERTS.index(model.expert)
    named = {"N": n_atoms, "GATE": gate, "EXPERT": expert, "POWER": model.power}
    return "".join(f"#define {name} {value}\n" for name, value in named.items())


def serves(model: Model) -> bool:
    """Return whether there are kernels for a model: those of the user's own gates and experts are plain array code."""
    return model.gate in GATES and model.expert in EXPERTS


@cache
def kernel(name: str, definitions: str = "") -> Kernel:
    """Return a kernel, which is compiled at its first call and kept by CuPy for other processes."""
    import cupy

    return cupy.RawKernel(definitions + source(), name)


def launch(kernel: Kernel, count: int, members: int, *arguments: Any) -> None:
    """Launch a kernel with a thread for each of ``count`` places of every member."""
    kernel(((count + THREADS - 1) // THREADS, members), (THREADS,), arguments)
