"""What a model of functions is found to be when it is made, by calling its functions at random parameters."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from moestat.errors import InputError
from moestat.models.tangents import STEP, Function, Kind, at_once, by_torch, called, given, one_by_one

if TYPE_CHECKING:
    from moestat.models.general import FunctionModel

SAME = 1e-5  #: By so much of the function, or of 1, it may change under an invariance: losses are read to fewer digits.
ATOMS = 12  #: Of the first call: a number that groups of two, three, four and six divide.


def drawn(seed: int, d: int, *sizes: int, n: int = 64) -> tuple[np.ndarray, ...]:
    """Return n points, uniform on [-1, 1]^d, and standard normal parameters of four atoms for each of the sizes."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, d)), *(rng.standard_normal((4, size)) for size in sizes)


def found(model: FunctionModel) -> dict[str, Any]:
    """Return the fields of a model that are found, once both functions return what they must."""
    k, e, d = model.gate_size, model.expert_size, model.d
    for what, function, size in (("gate", model.gate, k), ("expert", model.expert, e)):
        rng = np.random.default_rng(0)
        x, atoms = rng.uniform(-1, 1, (5, d)), rng.standard_normal((ATOMS, size))
        if not np.isfinite(called(function, what, x, atoms)).any():
            raise InputError(f"the {what} returned no finite number for standard normal parameters and x in [-1, 1]^d")
    if kind_of(model.expert, "expert", e, d)[0] != "atomwise":
        raise InputError("column i of an expert's outputs depends on row i of the parameters alone; not of this one")
    kind, exchangeable = kind_of(model.gate, "gate", k, d)
    return {
        "kind": kind,
        "exchangeable": exchangeable,
        "piecewise": jumps(model.gate, k, d),
        "torch": kind == "general" and model.gate_derivative is None and torch_runs(model.gate, k, d),
        "shifts": tuple(coordinate for coordinate in range(k) if shiftable(model.gate, coordinate, k, d)),
        "linear": is_linear(model.expert, e, d),
    }


def check(model: FunctionModel) -> None:
    """Refuse derivatives that are wrong or cannot be trusted, what mixes samples, and invariances that are none."""
    k, e, d = model.gate_size, model.expert_size, model.d
    for what, function, size, derivative in (
        ("gate", model.gate, k, model.gate_derivative),
        ("expert", model.expert, e, model.expert_derivative),
    ):
        x, atoms = drawn(5, d, size)
        if derivative is None:
            apart = apart_by(function, what, size, d)
            if apart > 1e-6:
                raise InputError(
                    f"differences of the {what} with steps of {STEP:g} and ten times that are {apart:.1g} apart: "
                    f"compute it in float64 and without random numbers, or give {what}_derivative"
                )
            continue
        if what == "expert":
            expected = np.swapaxes(at_once(function, what, x, atoms)[1], 1, 2)
        else:
            columns = [one_by_one(function, x, atoms, np.tile(row, (len(x), 1))) for row in np.eye(4)]
            expected = np.swapaxes(np.stack(columns, axis=1), 2, 3)
        values = given(derivative, what, x, atoms)
        off = np.abs(values - expected) / (1.0 + np.abs(expected))
        if not np.nanquantile(off, 0.95) < 1e-6:  # kinks are few
            place = np.unravel_index(int(np.nanargmax(off)), off.shape)
            told = f"{values[place]:.6g} where differences give {expected[place]:.6g}"
            raise InputError(f"{what}_derivative is wrong: {told}")
    for what, function, size in (("gate", model.gate, k), ("expert", model.expert, e)):
        x, atoms = drawn(9, d, size)
        parts = [called(function, what, part, atoms) for part in (x[:9], x[9:])]
        if not _same(called(function, what, x, atoms), np.concatenate(parts)):
            raise InputError(
                f"the {what} returns other values for a sample where other samples are left out; allowed is what looks "
                "at each sample by itself"
            )
    x, atoms = drawn(8, d, model.atom_size)
    here, there = model.predict(atoms, x), model.predict(model.standard(atoms), x)
    if not np.allclose(here, there, rtol=SAME, atol=SAME, equal_nan=True):
        raise InputError(
            f"the invariances change the function by up to {np.nanmax(np.abs(here - there)):.2g} at random atoms; "
            f"allowed is {SAME:g} of it. An eps that is added to a length does that; np.maximum(length, eps) does not"
        )


def kind_of(function: Function, what: str, size: int, d: int) -> tuple[Kind, bool]:
    """Return the kind of a function of atoms, and whether its atoms may change places."""
    kinds: set[Kind] = set()
    exchangeable = True
    for scale in (1.0, 3.0):
        x, atoms, others = drawn(1, d, size, size)
        # five: groups of two, if a gate has such, then do not stay together
        atoms, others = scale * atoms, scale * np.concatenate([others, 0.5 * others[:1]])
        alone = called(function, what, x, atoms)
        exchangeable &= _same(called(function, what, x, atoms[[2, 0, 3, 1]]), alone[:, [2, 0, 3, 1]])
        try:
            first = called(function, what, x, np.concatenate([atoms, others]))[:, :4]
            last = called(function, what, x, np.concatenate([others, atoms]))[:, 5:]
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
    return (kinds.pop() if len(kinds) == 1 and exchangeable else "general"), exchangeable


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-13, equal_nan=True))


def jumps(gate: Function, size: int, d: int) -> bool:
    """Return whether the weights jump as parameters move: their change does then not shrink with the move."""
    x, atoms, move = drawn(2, d, size, size, n=4096)
    here = called(gate, "gate", x, atoms)
    far, near = (np.abs(called(gate, "gate", x, atoms + t * move) - here).max() for t in (1e-2, 1e-3))
    return bool(near > 0.5 * far > 0)


def torch_runs(gate: Function, size: int, d: int) -> bool:
    """Return whether PyTorch is installed, the gate runs on its tensors, and its derivatives are the differences."""
    if importlib.util.find_spec("torch") is None:
        return False
    x, atoms = drawn(3, d, size)
    outputs = x[:, :1] * np.arange(1.0, 5.0)
    try:
        found = by_torch(gate, x, atoms, outputs)
    except Exception:  # NumPy's own functions fail on tensors in many ways
        return False
    return bool(np.allclose(found, one_by_one(gate, x, atoms, outputs), rtol=1e-5, atol=1e-7))


def apart_by(function: Function, what: str, size: int, d: int) -> float:
    """Return how far differences of two steps are apart, relative to one and the slope; the median, kinks are few."""
    x, atoms, move = drawn(4, d, size, size)
    slopes = [
        (called(function, what, x, atoms + h * move) - called(function, what, x, atoms - h * move)) / (2.0 * h)
        for h in (STEP, 10.0 * STEP)
    ]
    off = np.abs(slopes[0] - slopes[1]) / (1.0 + np.abs(slopes[1]))
    return float(np.nanmedian(off)) if np.isfinite(off).any() else 0.0


def shiftable(gate: Function, coordinate: int, size: int, d: int) -> bool:
    """Return whether one number may be added to a coordinate of all atoms."""
    x, atoms = drawn(6, d, size)
    here = called(gate, "gate", x, atoms)
    atoms[:, coordinate] += 0.73
    return bool(np.allclose(called(gate, "gate", x, atoms), here, rtol=1e-9, atol=1e-12))


def is_linear(expert: Function, size: int, d: int) -> bool:
    """Return whether outputs are linear in the parameters."""
    x, a, b = drawn(7, d, size, size)
    both, first, second = (called(expert, "expert", x, part) for part in (2.0 * a + b, a, b))
    return bool(np.allclose(both, 2.0 * first + second, rtol=1e-9, atol=1e-10))
