r"""Derivatives of a user's gate or expert in the parameters of its atoms, and what kind of gate it is.

A function of atoms takes x (n, d) and parameters (N, k) and returns (n, N). Where column i depends on atom i alone, but
for a common factor, one call with every atom and its 2k neighbours gives all central differences at once:

* ``"atomwise"``: column i is u(x, atom i), as of experts and of sigmoid gates;
* ``"ratio"``: it is :math:`u_i / \sum_j u_j`, as of softmax, cosine and normalised sigmoid gates. Among the weights of
  the atoms and their neighbours those of the atoms themselves have the sum :math:`\sum_j u_j` in common units, so that
  their ratios are the u of all, in units of that sum;
* ``"general"``: anything else (top-k, hierarchies). Each coordinate of each atom is moved by itself, or PyTorch
  differentiates the function, where it is installed and the function runs on its tensors.

The kind is found by calling the function at random parameters.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Literal

import numpy as np

from moestat.errors import InputError

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""f(x (n, d), parameters (N, k) of all atoms) -> (n, N)."""
Kind = Literal["atomwise", "ratio", "general"]

STEP = 6e-6  #: Of central differences, relative to parameters above 1: about the cube root of rounding.
CURVED = 1e-4  #: The same of second differences.
JUMP = 1e-4  #: Values whose two differences disagree by more have jumped between the two points: the smaller counts.
_WORDS = {"gate": "one weight", "expert": "one output"}


def called(function: Function, what: str, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return the values (n, N) of a function of atoms; InputError for what it cannot return."""
    try:
        values = np.asarray(function(x, parameters))
    except Exception as error:  # the user's function can fail in any way
        given = f"x {x.shape} and parameters {parameters.shape}"
        raise InputError(f"the {what} raised {type(error).__name__} for {given}: {error}") from error
    shape = (len(x), len(parameters))
    article = "an" if what == "expert" else "a"
    if values.shape != shape:
        raise InputError(
            f"{article} {what} returns {_WORDS[what]} per sample and atom: (n, N) = {shape}; this one returned "
            f"{values.shape}"
        )
    if values.dtype != np.float64:
        if values.dtype.kind not in "biuf":
            raise InputError(f"{article} {what} returns real numbers; this one returned {values.dtype}")
        values = values.astype(np.float64)
    return values


def kind_of(gate: Function, size: int, d: int) -> tuple[Kind, bool]:
    """Return the kind of a gate, and whether its atoms may change places, by random calls."""
    rng = np.random.default_rng(0)
    kinds: set[Kind] = set()
    exchangeable = True
    for scale in (1.0, 3.0):
        x, atoms, others = rng.uniform(-1, 1, (64, d)), *(scale * rng.standard_normal((2, 4, size)))
        alone = called(gate, "gate", x, atoms)
        exchangeable &= _same(called(gate, "gate", x, atoms[[2, 0, 3, 1]]), alone[:, [2, 0, 3, 1]])
        try:
            first = called(gate, "gate", x, np.concatenate([atoms, others]))[:, :4]
            last = called(gate, "gate", x, np.concatenate([others, atoms]))[:, 4:]
        except InputError:  # a gate of a fixed number of atoms
            first = last = np.full_like(alone, np.nan)
        with np.errstate(all="ignore"):
            shares = [part / part.sum(axis=1, keepdims=True) for part in (first, last)]
        if _same(first, alone) and _same(last, alone):
            kinds.add("atomwise")
        elif _same(alone.sum(axis=1), np.ones(64)) and all(_same(share, alone) for share in shares):
            kinds.add("ratio")
        else:
            kinds.add("general")
    return (kinds.pop() if len(kinds) == 1 else "general"), exchangeable


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-13))


def jumps(gate: Function, size: int, d: int) -> bool:
    """Return whether the weights jump as parameters move: their change does then not shrink with the move."""
    rng = np.random.default_rng(1)
    x, (atoms, move) = rng.uniform(-1, 1, (4096, d)), rng.standard_normal((2, 4, size))
    here = called(gate, "gate", x, atoms)
    far, near = (np.abs(called(gate, "gate", x, atoms + t * move) - here).max() for t in (1e-2, 1e-3))
    return bool(near > 0.5 * far > 0)


def at_once(
    function: Function, what: str, x: np.ndarray, parameters: np.ndarray, *, ratio: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n, N) and derivatives (n, k, N) in the atoms' own parameters, by one call.

    Of a ratio these are the values and the derivatives of u_i, in units of their sum.
    """
    n_atoms, size = parameters.shape
    h = STEP * np.maximum(1.0, np.abs(parameters))
    moves = np.eye(size)[:, None, :] * h  # (k, N, k)
    moved = np.concatenate([parameters[None], parameters + moves, parameters - moves]).reshape(-1, size)
    values = called(function, what, x, moved)
    here, high, low = (part.reshape(len(x), -1, n_atoms) for part in np.split(values, _cuts(n_atoms, size), axis=1))
    slope = _central(here, high, low) / (2.0 * h.T)
    if ratio:
        total = here.sum(axis=2, keepdims=True)
        here, slope = here / total, slope / total
    return here[:, 0], slope


def _cuts(n_atoms: int, size: int) -> list[int]:
    return [n_atoms, n_atoms * (1 + size)]


def _central(here: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return the differences over two steps; where the function jumps in one of them, twice that of the other."""
    slope = high - low
    bend = high + low
    bend -= 2.0 * here
    np.abs(bend, out=bend)
    if bend.max(initial=0.0) > JUMP:
        up, down = high - here, here - low
        smaller = np.where(np.abs(up) < np.abs(down), up, down)
        slope = np.where(bend > JUMP * (1.0 + np.abs(here)), 2.0 * smaller, slope)
    return slope


def second(function: Function, what: str, x: np.ndarray, parameters: np.ndarray, *, ratio: bool = False) -> np.ndarray:
    """Return the second derivatives (n, k, k, N) in the atoms' own parameters; of a ratio those of :func:`at_once`."""
    n_atoms, size = parameters.shape
    h = CURVED * np.maximum(1.0, np.abs(parameters))
    unit = np.eye(size)
    pairs = [(a, b) for a in range(size) for b in range(a)]
    up = np.concatenate([unit, *(unit[None, a] + unit[None, b] for a, b in pairs)])
    signs = np.concatenate([np.zeros((1, size)), up, -up])
    values = called(function, what, x, (parameters + signs[:, None, :] * h).reshape(-1, size))
    values = values.reshape(len(x), len(signs), n_atoms)
    if ratio:
        values = values / values[:, :1].sum(axis=2, keepdims=True)
    bend = values[:, 1 : 1 + len(up)] + values[:, 1 + len(up) :] - 2.0 * values[:, :1]
    bend = np.where(np.abs(bend) > JUMP * (1.0 + np.abs(values[:, :1])), 0.0, bend)
    out = np.empty((len(x), size, size, n_atoms))
    for a in range(size):
        out[:, a, a] = bend[:, a] / h[:, a] ** 2
    for number, (a, b) in enumerate(pairs, start=size):
        mixed = (bend[:, number] - bend[:, a] - bend[:, b]) / (2.0 * h[:, a] * h[:, b])
        out[:, a, b] = out[:, b, a] = mixed
    return out


def one_by_one(gate: Function, x: np.ndarray, parameters: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the derivatives (n, k, N) of sum_j w_j E_j in the gate's parameters, by 2 N k calls."""
    n_atoms, size = parameters.shape
    here = called(gate, "gate", x, parameters)
    out = np.empty((len(x), size, n_atoms))
    for i in range(n_atoms):
        for k in range(size):
            h = STEP * max(1.0, abs(parameters[i, k]))
            moved = parameters.copy()
            moved[i, k] += h
            high = called(gate, "gate", x, moved)
            moved[i, k] -= 2.0 * h
            slope = _central(here, high, called(gate, "gate", x, moved))
            np.einsum("nj,nj->n", slope / (2.0 * h), outputs, out=out[:, k, i])
    return out


def by_torch(gate: Function, x: np.ndarray, parameters: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the derivatives of :func:`one_by_one` by reverse-mode differentiation, sample by sample in one batch."""
    import torch

    def mean(p: torch.Tensor, row: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = (gate(row[None], p)[0] * e).sum()  # type: ignore[arg-type, call-overload]
        return value

    given = (torch.from_numpy(np.array(part)) for part in (parameters, x, outputs))
    gradient = torch.func.vmap(torch.func.grad(mean), in_dims=(None, 0, 0))(*given)
    return np.swapaxes(gradient.numpy(), 1, 2)


def torch_runs(gate: Function, size: int, d: int) -> bool:
    """Return whether PyTorch is installed, the gate runs on its tensors, and its derivatives are the differences."""
    if importlib.util.find_spec("torch") is None:
        return False
    rng = np.random.default_rng(2)
    x, atoms, outputs = rng.uniform(-1, 1, (64, d)), rng.standard_normal((4, size)), rng.standard_normal((64, 4))
    try:
        found = by_torch(gate, x, atoms, outputs)
    except Exception:  # NumPy's own functions fail on tensors in many ways
        return False
    return bool(np.allclose(found, one_by_one(gate, x, atoms, outputs), rtol=1e-5, atol=1e-7))


def unreliable(function: Function, what: str, size: int, d: int) -> str:
    """Return how far differences of two steps are apart, where that is too far for float64, or ""."""
    rng = np.random.default_rng(3)
    x, atoms, move = rng.uniform(-1, 1, (64, d)), *rng.standard_normal((2, 4, size))
    slopes = [
        (called(function, what, x, atoms + h * move) - called(function, what, x, atoms - h * move)) / (2.0 * h)
        for h in (STEP, 10.0 * STEP)
    ]
    with np.errstate(invalid="ignore"):
        off = np.abs(slopes[0] - slopes[1]) / (1.0 + np.abs(slopes[1]))
    apart = float(np.nanmedian(off)) if np.isfinite(off).any() else 0.0  # kinks and jumps are few
    return f"{apart:.1g}" if apart > 1e-6 else ""
