r"""A mixture of experts made of any two functions: :math:`f(x) = \sum_i w_i(x)\, E(x, \eta_i)`.

A gate of the user's own sees the parameters of all atoms, so that weights may be normalised, ranked or grouped. An atom
is a row of P = k + e numbers: the gate's parameters first, then the expert's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from moestat.arrays import to_numpy
from moestat.doors import takes_float64
from moestat.errors import InputError
from moestat.models import gates, probes, regression, tangents
from moestat.models.gates import Score
from moestat.models.named import NamedExpert, NamedGate
from moestat.models.tangents import Function
from moestat.sentences import show

CACHE = 2**15  #: Numbers of a call's values that stay in a processor's cache; the rows of a chunk follow from it.

TORCH = 8000  #: Samples times parameters of a gate from which PyTorch is faster than differences.


def Model(
    gate: str | Function,
    expert: str | Function = "linear",
    *,
    d: int,
    gate_size: int | None = None,
    expert_size: int | None = None,
    score: Score = "linear",
    power: int = 1,
    gate_derivative: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    expert_derivative: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    blocks: Mapping[str, Sequence[int] | slice] | None = None,
    invariances: Sequence[Callable[[np.ndarray], np.ndarray]] = (),
) -> regression.Model | FunctionModel:
    r"""Return the model :math:`f(x) = \sum_i w_i(x) E(x, \eta_i)`, whose gate and expert are names or functions.

    Two names give a :class:`moestat.models.regression.Model`, which is faster; otherwise see :class:`FunctionModel`.

    Parameters
    ----------
    gate : "softmax", "sigmoid", "module:function", or a function
        A function takes x (n, d) and the parameters (N, k) of all N atoms, NumPy arrays of float64 that it must not
        change, and returns the weights (n, N). It must work for any n and N, and do the same for a sample whatever the
        others are. All of NumPy may be used. If it uses operators, indexing, methods, and functions of
        ``moestat.arrays.namespace(x)`` alone, it also runs on PyTorch's tensors, which differentiate gates that couple
        atoms otherwise than by a common factor (top-k, hierarchies) faster where PyTorch is installed.
    expert : "linear", "relu", "gelu", "polynomial", "module:function", or a function
        A function takes x (n, d) and parameters (N, e), a row for each atom, and returns outputs (n, N), column i of
        atom i alone. A name is one of phi(a'x + beta), with e = d + 1.
    d : int
        Dimension of x.
    gate_size, expert_size : int
        The numbers k and e of parameters of an atom, where gate and expert are functions.
    score : {"full", "partial", "linear"}, default "linear"
        Of a gate that is a name, see :mod:`moestat.models.gates`.
    power : int, default 1
        Degree of the expert "polynomial".
    gate_derivative, expert_derivative : function, optional
        Derivatives instead of central differences: of x and parameters to (n, N, N, k), of weight j in coordinate l of
        atom i at ``[:, j, i, l]``, and to (n, N, e), of output i in its own parameters.
    blocks : mapping, optional
        Names of coordinates of an atom that losses take together, ``{"direction": slice(0, 2), "bias": [2]}``. The
        gate's and the expert's by default.
    invariances : sequence of functions of atoms (N, P) to atoms (N, P)
        Each leaves f as it is and brings atoms to a standard form, such as directions of length one: losses compare
        what all of them return. Shifts that all atoms can have in common, as of a softmax, are found, not named.

    Raises
    ------
    moestat.errors.InputError
        If a name is none, or a function does not return what it must, mixes samples, or has wrong derivatives.
    """
    if isinstance(gate, str) and isinstance(expert, str):
        for name, value in (("gate_size", gate_size), ("expert_size", expert_size), ("blocks", blocks)):
            if value is not None:
                raise InputError(f"{name} belongs to a gate or an expert that is a function; both are names here")
        return _of_names(gate, score, expert, d, power)
    if not isinstance(d, int) or d < 1:
        raise InputError(f"d is {show(d)}; allowed are whole numbers from 1")
    if isinstance(gate, str):
        _of_names(gate, score, "linear", d, 1)  # refuses what is no gate
        gate, gate_size = NamedGate(gate, score), gates.score_size(score, d)
    if isinstance(expert, str):
        _of_names("sigmoid", score, expert, d, power)
        named = NamedExpert(expert, power)
        expert, expert_size, expert_derivative = named, d + 1, named.derivative
    sizes = {"gate_size": gate_size, "expert_size": expert_size}
    for (name, size), function in zip(sizes.items(), (gate, expert), strict=True):
        what = name.removesuffix("_size")
        if not callable(function):
            raise InputError(f"{what} is {show(function)}; allowed are a name and a function of x and parameters")
        if not isinstance(size, int) or size < 1:
            raise InputError(f"{name} is {show(size)}; where {what} is a function, it is its number of parameters")
    assert gate_size is not None and expert_size is not None
    return FunctionModel(
        gate, gate_size, expert, expert_size, d, gate_derivative, expert_derivative, blocks or {}, tuple(invariances)
    )


def _of_names(*given: Any) -> regression.Model:
    try:
        return regression.Model(*given)
    except ValueError as error:
        path = "an import path 'module:function'"
        raise InputError(str(error).replace(f" and {path}", f", {path} and a function")) from None


@dataclass(frozen=True, eq=False, repr=False)
class FunctionModel:
    """A mixture of experts made of functions; made by :func:`Model`, which describes the fields. It can be pickled."""

    gate: Function
    gate_size: int
    expert: Function
    expert_size: int
    d: int
    gate_derivative: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    expert_derivative: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    blocks: Mapping[str, Any] = field(default_factory=dict)
    invariances: tuple[Callable[[np.ndarray], np.ndarray], ...] = ()
    kind: str = field(init=False)  #: How the gate couples atoms, see :mod:`moestat.models.tangents`.
    exchangeable: bool = field(init=False)  #: Whether f stays as it is when atoms change places.
    piecewise: bool = field(init=False)  #: Whether weights jump as parameters move, as those of a top-k gate do.
    torch: bool = field(init=False)  #: Whether PyTorch differentiates the gate.
    shifts: tuple[int, ...] = field(init=False)  #: Coordinates to which a number may be added in all atoms at once.
    linear: bool = field(init=False)  #: Whether the expert is linear in its parameters.

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", self._places())
        with np.errstate(all="ignore"):
            for name, value in probes.found(self).items():
                object.__setattr__(self, name, value)
            probes.check(self)

    def __repr__(self) -> str:
        how = f"{self.kind}{', piecewise' * self.piecewise}{', atoms have places' * (not self.exchangeable)}"
        return (
            f"FunctionModel(gate={_name(self.gate)} ({self.gate_size} parameters; {how}), expert={_name(self.expert)} "
            f"({self.expert_size}), d={self.d}; derivatives: gate {self.derivatives['gate']}, expert "
            f"{self.derivatives['expert']})"
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("a_matrix", "b", "c", "eta", "score"):
            raise AttributeError(f"a model made of functions has no {name!r}; its losses are in moestat.losses.general")
        raise AttributeError(f"'FunctionModel' object has no attribute {name!r}")

    @property
    def atom_size(self) -> int:
        """Number P = k + e of coordinates of an atom."""
        return self.gate_size + self.expert_size

    @property
    def derivatives(self) -> dict[str, str]:
        """How gate and expert are differentiated, in words."""
        once = "central differences, one call for all"
        gate = "PyTorch" if self.torch else once if self.kind != "general" else "central differences, one by one"
        return {
            "gate": "given" if self.gate_derivative else gate,
            "expert": "given" if self.expert_derivative else once,
        }

    @property
    def rows(self) -> int:
        """Number of samples that are differentiated at once; sums over samples depend on it."""
        if self.torch:
            return 4096
        return int(np.clip(CACHE // (4 * (2 * max(self.gate_size, self.expert_size) + 1)), 128, 1024))

    @takes_float64("theta", "x")
    def predict(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the regression function (..., n) of atoms (..., N, P) at samples (..., n, d); batches broadcast."""
        theta, x = to_numpy(theta), to_numpy(x)
        gates.check_shapes(theta, x, self.atom_size, self.d)
        shape = np.broadcast_shapes(theta.shape[:-2], x.shape[:-2])
        atoms = np.broadcast_to(theta, (*shape, *theta.shape[-2:])).reshape(-1, *theta.shape[-2:])
        points = np.broadcast_to(x, (*shape, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
        values = [self._value(one, part) for one, part in zip(atoms, points, strict=True)]
        return np.array(values).reshape(*shape, x.shape[-2])

    def _value(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        parts = []
        for rows in (x[first : first + 4096] for first in range(0, len(x), 4096)):
            w = tangents.called(self.gate, "gate", rows, theta[:, : self.gate_size])
            e = tangents.called(self.expert, "expert", rows, theta[:, self.gate_size :])
            parts.append(np.einsum("ni,ni->n", w, e))
        return np.concatenate(parts)

    @takes_float64("theta", "x")
    def tangents(self, theta: np.ndarray, x: np.ndarray, *, tau: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return f (n,) of atoms (N, P), and its derivatives (N P, n), atoms in turn; ``tau`` has no meaning here."""
        theta, x = to_numpy(theta), to_numpy(x)
        gates.check_shapes(theta, x, self.atom_size, self.d)
        f, slopes = self.slopes(theta, x)
        return f, np.swapaxes(slopes, 1, 2).reshape(len(x), -1).T

    def slopes(self, theta: np.ndarray, x: np.ndarray, *, coarse: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return f (n,) and its derivatives (n, P, N); coarse ones of a general gate are one-sided differences."""
        k = self.gate_size
        gate, expert = np.ascontiguousarray(theta[:, :k]), np.ascontiguousarray(theta[:, k:])
        if self.expert_derivative is None:
            outputs, turn = tangents.at_once(self.expert, "expert", x, expert)
        else:
            outputs = tangents.called(self.expert, "expert", x, expert)
            turn = np.swapaxes(tangents.given(self.expert_derivative, "expert", x, expert), 1, 2)
        out = np.empty((len(x), self.atom_size, len(theta)))
        if self.kind != "general" and self.gate_derivative is None:
            w, slope = tangents.at_once(self.gate, "gate", x, gate, ratio=self.kind == "ratio")
            f = np.einsum("ni,ni->n", w, outputs)
            change = outputs - f[:, None] if self.kind == "ratio" else outputs
            np.multiply(slope, change[:, None, :], out=out[:, :k])
        else:
            w = tangents.called(self.gate, "gate", x, gate)
            f = np.einsum("ni,ni->n", w, outputs)
            if self.gate_derivative is not None:
                given = tangents.given(self.gate_derivative, "gate", x, gate)
                out[:, :k] = np.einsum("njil,nj->nli", given, outputs)
            elif self.torch and len(x) * gate.size >= TORCH:
                out[:, :k] = tangents.by_torch(self.gate, x, gate, outputs)
            else:
                out[:, :k] = tangents.one_by_one(self.gate, x, gate, outputs, coarse=coarse and not self.piecewise)
        np.multiply(turn, w[:, None, :], out=out[:, k:])
        return f, out

    def curvature(self, theta: np.ndarray, x: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the sum over samples of r (n,) times the second derivatives of f (N P, N P), atoms in turn."""
        k, size, n_atoms = self.gate_size, self.atom_size, len(theta)
        gate, expert, ratio = theta[:, :k].copy(), theta[:, k:].copy(), self.kind == "ratio"
        e, turn = tangents.at_once(self.expert, "expert", x, expert)
        by_r, own = r[:, None], np.arange(n_atoms)
        out = np.zeros((n_atoms, size, n_atoms, size))
        if self.kind == "general":
            w = tangents.called(self.gate, "gate", x, gate)
            both, slopes = tangents.second_of_all(self.gate, x, gate, e, r)
            mixed = np.einsum("anj,nbj->ajb", slopes * by_r, turn)
            out[:, k:, :, :k] = mixed.reshape(n_atoms, k, n_atoms, -1).transpose(2, 3, 0, 1)
            out[:, :k, :, :k] = both.reshape(n_atoms, k, n_atoms, k)
        else:
            w, u = tangents.at_once(self.gate, "gate", x, gate, ratio=ratio)
            change = e - np.einsum("ni,ni->n", w, e)[:, None] if ratio else e
            curved = tangents.second(self.gate, "gate", x, gate, ratio=ratio)
            if ratio:
                slopes, turns = (np.swapaxes(part, 1, 2).reshape(len(x), -1) for part in (u, turn * w[:, None]))
                both = (slopes * np.repeat(change * by_r, k, axis=1)).T @ slopes
                out[:, :k, :, :k] = -(both + both.T).reshape(n_atoms, k, n_atoms, k)
                out[:, k:, :, :k] = -(turns.T @ (slopes * by_r)).reshape(n_atoms, size - k, n_atoms, k)
            out[own, :k, own, :k] += np.einsum("ni,nabi->iab", change * by_r, curved)
            out[own, k:, own, :k] += np.einsum("nai,nbi->iab", turn * by_r[:, None], u)
        out[:, :k, :, k:] = out[:, k:, :, :k].transpose(2, 3, 0, 1)
        if not self.linear:
            curved = tangents.second(self.expert, "expert", x, expert)
            out[own, k:, own, k:] += np.einsum("ni,nabi->iab", w * by_r, curved)
        return out.reshape(n_atoms * size, -1)

    @takes_float64("theta", "reference")
    def align(self, theta: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return atoms (..., N, P) in their standard form, shifted towards reference atoms (N*, P) where f allows it.

        The shift is the one, among those that put one atom upon one of the reference, for which the sum of squared
        distances of the reference's atoms to the nearest ones is least.
        """
        theta = self.standard(theta)
        if not self.shifts:
            return theta
        reference, places = self.standard(reference), list(self.shifts)
        flat = theta.reshape(-1, *theta.shape[-2:]).copy()
        for atoms in flat:
            moves = (reference[:, None, places] - atoms[None, :, places]).reshape(-1, len(places))
            for _ in range(3):  # then to the mean over the atoms that are nearest
                moved = np.repeat(atoms[None], len(moves), axis=0)
                moved[:, :, places] += moves[:, None, :]
                square = np.sum((reference[None, :, None] - moved[:, None]) ** 2, axis=-1)  # (moves, N*, N)
                nearest = square.argmin(axis=-1)
                found = np.take_along_axis(moved, nearest[..., None], axis=1)
                total = square.min(axis=-1).sum(axis=-1)
                best = int(np.argmin(total))
                moves = moves[best : best + 1] + np.mean(reference - found[best], axis=0)[places]
            atoms[:, places] += moves[0]
        return flat.reshape(theta.shape)

    @takes_float64("theta")
    def standard(self, theta: np.ndarray) -> np.ndarray:
        """Return atoms (..., N, P) in the form that the invariances give them."""
        theta = to_numpy(theta)
        flat = [self._form(atoms) for atoms in theta.reshape(-1, *theta.shape[-2:])]
        return np.array(flat).reshape(theta.shape)

    def _form(self, atoms: np.ndarray) -> np.ndarray:
        for number, function in enumerate(self.invariances):
            found = np.asarray(function(atoms.copy()), dtype=np.float64)
            if found.shape != atoms.shape:
                told = f"{found.shape} for atoms {atoms.shape}"
                raise InputError(f"invariance {number} returned {told}; it returns as many atoms as it is given")
            atoms = found
        return atoms

    def _places(self) -> dict[str, np.ndarray]:
        """Return the blocks' coordinates."""
        k, size = self.gate_size, self.atom_size
        given = self.blocks or {"gate": slice(0, k), "expert": slice(k, size)}
        try:
            return {name: np.atleast_1d(np.arange(size)[place]) for name, place in given.items()}
        except (IndexError, TypeError, AttributeError) as error:
            told = f"a mapping of names to slices or lists of coordinates from 0 to {size - 1}"
            raise InputError(f"blocks is {show(given)}; allowed is {told}") from error


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or function)
