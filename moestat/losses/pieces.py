"""How a population minimiser gets one atom more: one that vanishes, or one that another splits off.

The continua of minimisers are described in :mod:`moestat.losses.minimisers`; here are the finitely many members of them
that are tried for a fit, which adapt to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.losses.rays import merging, norm, null_projection
from moestat.models.gates import gate_values
from moestat.models.regression import Model

SHARES = np.concatenate([np.linspace(0.02, 0.98, 33), [0.5, 0.0, 1.0]])
"""Shares of a split that are tried for every fit, beside those that the fit itself suggests."""
CLOSE = 3
"""Fitted atoms, the nearest ones, that suggest how an atom under a softmax gate is split."""


@dataclass(frozen=True)
class Pieces:
    """Ways to give a measure one more atom: row ``j`` becomes ``first``, and ``second`` is appended.

    Attributes
    ----------
    j : int array (C,)
        -1 where no row changes.
    first, second : arrays (C, P)
    """

    j: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def measure(self, base: np.ndarray, k: int) -> np.ndarray:
        """Return the measure that choice k makes of ``base``."""
        out = np.concatenate([base, self.second[k : k + 1]])
        if self.j[k] >= 0:
            out[self.j[k]] = self.first[k]
        return out


def pieces_of(atoms: np.ndarray, base: np.ndarray, model: Model) -> Pieces:
    """Return the members of the continuum, with one atom more than ``base``, that are tried for a fit."""
    js: list[int] = []
    halves: list[tuple[np.ndarray, np.ndarray]] = []
    if model.gate != "softmax":
        # a vanishing atom at the place of a fitted one
        gone = atoms.copy()
        gone[:, model.eta] = null_projection(atoms[:, model.eta], merging(model))
        js += [-1] * len(atoms)
        halves.append((gone, gone))
    for j, atom in enumerate(base):
        halves.append(_halves(atoms, atom, model))
        js += [j] * len(halves[-1][0])
    first, second = (np.concatenate(side) for side in zip(*halves, strict=True))
    return Pieces(np.array(js, dtype=np.int64), first, second)


def _halves(atoms: np.ndarray, atom: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of atoms (C, P), (C, P) that together are ``atom``."""
    kind, eta, fitted = merging(model), atom[model.eta], atoms[:, model.eta]
    if model.gate == "softmax":
        return _softmax_halves(atoms, atom, model)
    out = []
    shares = np.concatenate([SHARES, _ray_shares(fitted, eta)])
    if kind == "linear":
        vectors = [t * eta for t in shares] + list(fitted) + list(eta - fitted)
        pairs = eta + fitted[:, None] - fitted[None, :]
        # two fitted atoms, one for each half: every point between the two places is as good, up to the cells
        vectors += [
            s * fitted[i] + (1 - s) * (pairs[i, k] - fitted[i])
            for i in range(len(fitted))
            for k in range(len(fitted))
            if i != k
            for s in (0.25, 0.5, 0.75)
        ]
        out += [(_with(atom, model, v), _with(atom, model, eta - v)) for v in vectors]
    elif kind == "relu" or model.expert == "polynomial":
        power = 1.0 / model.power
        out += [(_with(atom, model, t**power * eta), _with(atom, model, (1 - t) ** power * eta)) for t in shares]
    if model.gate == "sigmoid" and not atom[1 : model.gate_size].any():
        weight = gate_values("sigmoid", atom[:1])[0]
        for t in SHARES[(SHARES > 0) & (SHARES < 1)]:
            first, second = atom.copy(), atom.copy()
            first[0], second[0] = (np.log(w / (1 - w)) for w in (t * weight, (1 - t) * weight))
            out.append((first, second))
    pairs = np.array(out).reshape(-1, 2, model.atom_size)
    return pairs[:, 0], pairs[:, 1]


def _ray_shares(fitted: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return the shares t in [0, 1] that are best for one fitted expert at t eta, or for two at t eta and (1 - t) eta.

    With a the position of an expert along eta and p its distance from the ray, both in units of eta, the second is
    the minimum of sqrt((t - a_i)^2 + p_i^2) + sqrt((1 - t - a_k)^2 + p_k^2): by reflection, where the straight line
    from (a_i, p_i) to (1 - a_k, -p_k) crosses the axis.
    """
    size = float(eta @ eta)
    if size == 0:
        return np.empty(0)
    a = fitted @ eta / size
    p = norm(fitted / np.sqrt(size) - a[:, None] * (eta / np.sqrt(size)))
    total = p[:, None] + p[None, :]
    crossing = (a[:, None] * p[None, :] + (1.0 - a[None, :]) * p[:, None]) / np.where(total > 0, total, 1.0)
    shares = np.concatenate([a, 1.0 - a, crossing[total > 0]])
    inside: np.ndarray = np.clip(shares, 0.0, 1.0)
    return inside


def _softmax_halves(atoms: np.ndarray, atom: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of atoms that together are ``atom``; what the fit suggests comes from the nearest of its atoms."""
    kind, eta = merging(model), atom[model.eta]
    close = atoms[np.argsort(np.sum((atoms[:, 1:] - atom[1:]) ** 2, axis=1), kind="stable")[:CLOSE]]
    fitted = close[:, model.eta]
    own = np.exp(np.minimum(close[:, 0] - atom[0], 0.0))
    own = own[(own > 1e-6) & (own < 1 - 1e-6)]
    shares = np.concatenate([np.linspace(0.1, 0.9, 9), own, 1.0 - own])
    size = float(eta @ eta)
    along, steps = fitted @ eta / size if size > 0 else np.empty(0), np.linspace(0.0, 1.0, 9)
    sides: list[tuple[np.ndarray, np.ndarray]] = []
    for t in shares:
        vectors = [eta[None]]
        if kind == "linear":
            vectors += [fitted, (eta - (1 - t) * fitted) / t]
        elif kind == "relu" and size > 0:
            lengths = np.concatenate([steps / t, along, (1.0 - (1 - t) * fitted @ eta / size) / t])
            vectors.append(lengths[(lengths >= 0) & (lengths <= 1.0 / t), None] * eta)
        vector = np.concatenate(vectors)
        pair = np.repeat(atom[None], len(vector), axis=0), np.repeat(atom[None], len(vector), axis=0)
        for side, own, part in zip(
            pair, (vector, (eta - t * vector) / (1 - t)), (np.log(t), np.log1p(-t)), strict=True
        ):
            side[:, model.eta] = own
            side[:, 0] += part
        sides.append(pair)
    first, second = (np.concatenate(side) for side in zip(*sides, strict=True))
    return first, second


def _with(atom: np.ndarray, model: Model, eta: np.ndarray) -> np.ndarray:
    out = atom.copy()
    out[model.eta] = eta
    return out
