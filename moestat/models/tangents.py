r"""Derivatives of a user's gate or expert in the parameters of its atoms, and what kind of gate it is.

A function of atoms takes x (n, d) and parameters (N, k) and returns (n, N). Where column i depends on atom i alone, but
for a common factor, one call with every atom and its 2k neighbours gives all central differences at once:

* ``"atomwise"``: column i is u(x, atom i), as of experts and of sigmoid gates;
* ``"ratio"``: it is :math:`u_i / \sum_j u_j`, as of softmax, cosine and normalised sigmoid gates. Among the weights of
  the atoms and their neighbours those of the atoms themselves have the sum :math:`\sum_j u_j` in common units, so that
  their ratios are the u of all, in units of that sum;
* ``"general"``: anything else (top-k, hierarchies). Each coordinate of each atom is moved by itself, or PyTorch
  differentiates the function, where it is installed and the function runs on its tensors.

Which kind it is, :mod:`moestat.models.probes` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from moestat.errors import InputError

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""f(x (n, d), parameters (N, k) of all atoms) -> (n, N)."""
Kind = Literal["atomwise", "ratio", "general"]

STEP = 6e-6  #: Of central differences, relative to parameters above 1: about the cube root of rounding.
COARSE = 1.5e-8  #: Of one-sided differences, on the way of a descent.
CURVED = 1e-4  #: The same of second differences.
JUMP = 1e-4  #: Values whose two differences disagree by more have jumped between the two points: the smaller counts.
KINK = 3e-6  #: Second differences above this are those of a kink or a jump, and count as zero: all is of one piece.
_WORDS = {"gate": "one weight", "expert": "one output"}


def called(function: Function, what: str, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return the values (n, N) of a function of atoms; InputError for what it cannot return."""
    given_x, given_parameters = x.view(), parameters.view()
    given_x.flags.writeable = given_parameters.flags.writeable = False
    try:
        values = np.asarray(function(given_x, given_parameters))
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
    slope = _central(here, high, low)
    slope /= 2.0 * h.T
    if ratio:
        total = here.sum(axis=2, keepdims=True)
        here = here / total
        slope /= total
    return here[:, 0], slope


def _cuts(n_atoms: int, size: int) -> list[int]:
    return [n_atoms, n_atoms * (1 + size)]


def _central(here: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return the differences over two steps; where the function jumps in one of them, twice that of the other."""
    slope: np.ndarray = high - low
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
    here, bend = values[:, :1], values[:, 1 : 1 + len(up)] + values[:, 1 + len(up) :]
    bend -= 2.0 * here
    if np.abs(bend).max(initial=0.0) > KINK:
        bend[np.abs(bend) > KINK * (1.0 + np.abs(here))] = 0.0
    if ratio:
        bend /= here.sum(axis=2, keepdims=True)
    out = np.empty((len(x), size, size, n_atoms))
    for a in range(size):
        out[:, a, a] = bend[:, a] / h[:, a] ** 2
    for number, (a, b) in enumerate(pairs, start=size):
        mixed = bend[:, number] - bend[:, a]
        mixed -= bend[:, b]
        mixed /= 2.0 * h[:, a] * h[:, b]
        out[:, a, b] = out[:, b, a] = mixed
    return out


def one_by_one(
    gate: Function, x: np.ndarray, parameters: np.ndarray, outputs: np.ndarray, *, coarse: bool = False
) -> np.ndarray:
    """Return the derivatives (n, k, N) of sum_j w_j E_j in the gate's parameters, by 2 N k calls; coarse: by half."""
    n_atoms, size = parameters.shape
    h = (COARSE if coarse else STEP) * np.maximum(1.0, np.abs(parameters)).reshape(-1)
    here, ends = called(gate, "gate", x, parameters), np.empty((1 if coarse else 2, h.size, *outputs.shape))
    for sign, end in zip((1.0, -1.0), ends, strict=False):
        for place, move in enumerate(sign * np.diag(h)):
            end[place] = called(gate, "gate", x, parameters + move.reshape(n_atoms, size))
    slopes = 2.0 * (ends[0] - here) if coarse else _central(here, *ends)
    slopes /= 2.0 * h[:, None, None]
    slope = np.einsum("anj,nj->na", slopes, outputs)
    return np.swapaxes(slope.reshape(len(x), n_atoms, size), 1, 2)


def second_of_all(
    gate: Function, x: np.ndarray, parameters: np.ndarray, outputs: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of r (n,) times the second derivatives of sum_j w_j E_j in all of a gate's parameters (N k, N k).

    And the first derivatives of the weights (N k, n, N). It takes about (N k)^2 calls.
    """
    flat = parameters.reshape(-1)
    h = CURVED * np.maximum(1.0, np.abs(flat))
    here = called(gate, "gate", x, parameters)
    value = np.einsum("nj,nj->n", here, outputs)

    def moved(*places: int) -> tuple[np.ndarray, np.ndarray]:
        move = np.zeros_like(flat)
        move[list(places)] = h[list(places)]
        ends = [called(gate, "gate", x, (flat + sign * move).reshape(parameters.shape)) for sign in (1.0, -1.0)]
        bend = np.einsum("nj,nj->n", ends[0] + ends[1], outputs) - 2.0 * value
        bend[np.abs(bend) > KINK * (1.0 + np.abs(value))] = 0.0
        return bend, _central(here, *ends)

    alone = [moved(a) for a in range(len(flat))]
    slopes = np.array([slope for _, slope in alone])
    total = np.diag([r @ bend / h[a] ** 2 for a, (bend, _) in enumerate(alone)])
    for a in range(len(flat)):
        for b in range(a):
            mixed = r @ (moved(a, b)[0] - alone[a][0] - alone[b][0]) / (2.0 * h[a] * h[b])
            total[a, b] = total[b, a] = mixed
    return total, slopes / (2.0 * h[:, None, None])


def by_torch(gate: Function, x: np.ndarray, parameters: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the derivatives of :func:`one_by_one` by reverse-mode differentiation, sample by sample in one batch."""
    import torch

    def mean(p: torch.Tensor, row: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = (gate(row[None], p)[0] * e).sum()  # type: ignore[arg-type]
        return value

    given = (torch.from_numpy(np.array(part)) for part in (parameters, x, outputs))
    gradient = torch.func.vmap(torch.func.grad(mean), in_dims=(None, 0, 0))(*given)
    return np.swapaxes(gradient.numpy(), 1, 2)


def given(function: Function, what: str, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return derivatives by a function of the user's: (n, N, N, k) of a gate, (n, N, e) of an expert."""
    n, (atoms, size) = len(x), parameters.shape
    shape = (n, atoms, atoms, size) if what == "gate" else (n, atoms, size)
    found = np.asarray(function(x, parameters), dtype=np.float64)
    if found.shape != shape:
        raise InputError(f"{what}_derivative returns an array of shape {shape}; this one returned {found.shape}")
    return found
