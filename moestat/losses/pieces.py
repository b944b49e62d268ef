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
    """Ways to give a measure one more atom: row ``j`` gets the first half, and the second is appended.

    Both halves have (A, b) of one row: ``gates`` of ``[*base, *fitted]``.

    Attributes
    ----------
    j : int array (C,)
        -1 where no row changes: the new atom vanishes.
    gates : int array (C,)
    c : array (C, 2)
    eta : array (C, 2, E)
    """

    j: np.ndarray
    gates: np.ndarray
    c: np.ndarray
    eta: np.ndarray

    def half(self, rows: np.ndarray, k: int | np.ndarray, which: int, model: Model) -> np.ndarray:
        """Return the first (0) or second (1) halves (..., P) of choices k, from ``rows``, ``[*base, *fitted]``."""
        out: np.ndarray = rows[self.gates[k]]
        out[..., 0], out[..., model.eta] = self.c[k, which], self.eta[k, which]
        return out

    def measure(self, rows: np.ndarray, n_base: int, k: int, model: Model) -> np.ndarray:
        """Return the measure that choice k makes of the first ``n_base`` of ``rows``."""
        out = np.concatenate([rows[:n_base], self.half(rows, np.array([k]), 1, model)])
        if self.j[k] >= 0:
            out[self.j[k]] = self.half(rows, np.array([k]), 0, model)[0]
        return out


def pieces_of(atoms: np.ndarray, base: np.ndarray, model: Model) -> Pieces:
    """Return the members of the continuum, with one atom more than ``base``, that are tried for a fit."""
    if model.gate == "softmax":
        j, c, eta = _softmax_halves(atoms, base, model)
        return Pieces(j, j, c, eta)
    # a vanishing atom at the place of a fitted one
    gone = null_projection(atoms[:, model.eta], merging(model))
    halves = [(np.repeat(atoms[:, :1], 2, axis=1), np.stack([gone, gone], axis=1))]
    halves += [_halves(atoms, atom, model) for atom in base]
    at, counts = len(base) + np.arange(len(atoms)), [len(c) for c, _ in halves[1:]]
    split = np.repeat(np.arange(len(base)), counts)
    c, eta = (np.concatenate(side) for side in zip(*halves, strict=True))
    return Pieces(np.concatenate([np.full(len(atoms), -1), split]), np.concatenate([at, split]), c, eta)


def _halves(atoms: np.ndarray, atom: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return c (C, 2) and eta (C, 2, E) of pairs of atoms that together are ``atom``."""
    kind, eta, fitted = merging(model), atom[model.eta], atoms[:, model.eta]
    out = [np.empty((0, 2, eta.size))]
    shares = np.concatenate([SHARES, _ray_shares(fitted, eta)])[:, None]
    if kind == "linear":
        # two fitted atoms, one for each half: every point between the two places is as good, up to the cells
        i, k = np.nonzero(~np.eye(len(fitted), dtype=bool))
        s, other = np.array([0.25, 0.5, 0.75])[:, None], eta + fitted[i] - fitted[k] - fitted[i]
        between = s * fitted[i, None] + (1 - s) * other[:, None]
        first = np.concatenate([shares * eta, fitted, eta - fitted, between.reshape(-1, eta.size)])
        out.append(np.stack([first, eta - first], axis=1))
    elif kind == "relu" or model.expert == "polynomial":
        # one by one: the powers of an array are rounded in another way on some machines
        root = np.array([[t ** (1.0 / model.power) for t in side.flat] for side in (shares, 1 - shares)])
        out.append(np.moveaxis(root[..., None] * eta, 0, 1))
    c = [np.full((len(out[-1]), 2), atom[0])]
    if model.gate == "sigmoid" and not atom[1 : model.gate_size].any():
        t = SHARES[(SHARES > 0) & (SHARES < 1), None]
        weight = np.concatenate([t, 1 - t], axis=1) * gate_values("sigmoid", atom[:1])[0]
        c.append(np.log(weight / (1 - weight)))
        out.append(np.broadcast_to(eta, (len(t), 2, eta.size)))
    return np.concatenate(c), np.concatenate(out)


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


def _softmax_halves(atoms: np.ndarray, base: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return j (C,), c (C, 2) and eta (C, 2, E) of pairs of atoms that together are atom j of ``base``.

    What the fit suggests comes from the nearest of its atoms.
    """
    kind, eta = merging(model), base[:, None, None, model.eta]
    apart = np.sum((atoms[:, 1:] - base[:, None, 1:]) ** 2, axis=-1)
    close = atoms[np.argsort(apart, axis=1, kind="stable")[:, :CLOSE]]
    fitted = close[:, None, :, model.eta]
    own = np.exp(np.minimum(close[..., 0] - base[:, :1], 0.0))
    usable = (own > 1e-6) & (own < 1 - 1e-6)
    own = np.where(usable, own, 0.5)
    grid = np.broadcast_to(np.linspace(0.1, 0.9, 9), (len(base), 9))
    share = np.concatenate([grid, own, 1.0 - own], axis=1)[..., None]
    kept = np.concatenate([grid > 0, usable, usable], axis=1)[..., None]
    t = share[..., None]
    vectors, wanted = [np.broadcast_to(eta, (*share.shape[:2], 1, eta.shape[-1]))], [kept]
    if kind == "linear":
        both = (eta - (1 - t) * fitted) / t
        vectors += [np.broadcast_to(fitted, both.shape), both]
        wanted += [np.broadcast_to(kept, both.shape[:-1])] * 2
    elif kind == "relu":
        column = np.swapaxes(eta, -1, -2)
        square = (eta @ column)[..., 0]
        size = np.where(square > 0, square, np.inf)  # an expert that is zero has no lengths
        along = (((1 - t) * fitted) @ column)[..., 0]
        whole = np.broadcast_to((fitted @ column)[..., 0] / size, along.shape)
        length = np.concatenate([np.linspace(0.0, 1.0, 9) / share, whole, (1.0 - along / size) / share], axis=-1)
        vectors.append(length[..., None] * eta)
        wanted.append(kept & (length >= 0) & (length <= 1.0 / share) & (square > 0))
    vector, keep = np.concatenate(vectors, axis=2), np.concatenate(wanted, axis=2)
    pairs = np.stack([vector, (eta - t * vector) / (1 - t)], axis=3)
    c = base[:, :1, None] + np.concatenate([np.log(share), np.log1p(-share)], axis=-1)
    j, at, _ = np.nonzero(keep)
    return j, c[j, at], pairs[keep]
