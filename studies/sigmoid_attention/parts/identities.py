r"""The identities behind the verdicts by argument on "sigmoid-attention" (``arguments.py``), on drawn instances.

Everything is written out here, in plain NumPy, and shares nothing with the models, fits and losses of the package; the
scores of two atoms that hide b are those of :mod:`studies.sigmoid_attention.parts.constant_gate`. An expert of which
nothing is used has random numbers for its values: what holds for those holds for every expert. Derivatives are complex
steps, exact to rounding.
"""

from __future__ import annotations

import math

import numpy as np

from studies.sigmoid_attention.parts.constant_gate import flat_share, pair_scores, smallest_curvature

D, POINTS, DRAWS, STEP = 3, 200, 20, 1e-30
T = 2.0 ** -np.arange(3, 8)
"""Sizes along which orders are read off: above rounding for t^5, small enough for the leading term."""
Array = np.ndarray


def _sigma(s: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-s))


def _score(A: Array, b: Array, c: complex | Array, x: Array) -> Array:
    return np.einsum("nu,uv,nv->n", x, A, x) + x @ b + c


def _gate(rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Draw (A, b, c), A symmetric."""
    A = rng.standard_normal((D, D))
    return (A + A.T) / 2, rng.standard_normal(D), float(rng.uniform(0.3, 1.0))


def _order(values: Array, t: Array = T) -> float:
    """Return the power of t that the last two values fall with."""
    return float(math.log(values[-1] / values[-2]) / math.log(t[-1] / t[-2]))


def _worst(rows: list[dict[str, float]], least: tuple[str, ...] = ()) -> dict[str, float]:
    """Return the largest of each number over the draws, the smallest of those in ``least``."""
    return {name: (min if name in least else max)(row[name] for row in rows) for name in rows[0]}


def constant_gate() -> dict[str, float]:
    """At (A, b) = 0: the largest |sigma''(c) F_A - sigma'(c) F_bb|, over the size of F_A, for any expert."""
    rng, rows, zero = np.random.default_rng(1), [], np.zeros((D, D))
    for _ in range(DRAWS):
        x, expert, c = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(POINTS), float(rng.uniform(-1, 1))
        g = _sigma(np.asarray(c))
        first, second = g * (1 - g), g * (1 - g) * (1 - 2 * g)
        gaps, sizes = [], []
        for u, v in np.ndindex(D, D):
            unit = np.zeros((D, D), dtype=complex)
            unit[u, v] = 1j * STEP
            of_A = _sigma(_score(zero + unit, zero[0], c, x)).imag / STEP * expert
            slope = _sigma(_score(zero, 1j * STEP * np.eye(D)[u], c, x))
            of_bb = (slope * (1 - slope)).imag / STEP * x[:, v] * expert  # F_b = sigma' x E, and once more along b_u
            gaps.append(np.max(np.abs(second * of_A - first * of_bb)))
            sizes.append(np.max(np.abs(of_A)))
        rows.append({"deviation": float(max(gaps)), "size of F_A": float(min(sizes))})
    return _worst(rows, ("size of F_A",))


def opposite_gates() -> dict[str, float]:
    """At (A, b, c) and (-A, -b, -c): the largest difference of F_A, with b and without, for any expert."""
    rng, rows = np.random.default_rng(2), []
    for draw in range(DRAWS):
        x, expert = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(POINTS)
        A, b, c = _gate(rng)
        b = b * (draw % 2)  # the score without b is that of b = 0
        gaps, sizes = [], []
        for u, v in np.ndindex(D, D):
            unit = np.zeros((D, D), dtype=complex)
            unit[u, v] = 1j * STEP
            here, there = (_sigma(_score(k * A + unit, k * b, k * c, x)).imag / STEP * expert for k in (1, -1))
            gaps.append(np.max(np.abs(here - there)))
            sizes.append(np.max(np.abs(here)))
        rows.append({"deviation": float(max(gaps)), "size of F_A": float(min(sizes))})
    return _worst(rows, ("size of F_A",))


def mirror() -> dict[str, float]:
    """Two measures of two atoms with one expert, opposite gates each: difference of f, distance of the measures."""
    rng, rows = np.random.default_rng(3), []
    for draw in range(DRAWS):
        x, expert = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(POINTS)
        gates = [_gate(rng) for _ in range(2)]
        sides = [
            sum(_sigma(_score(k * A, k * b * (draw % 2), k * c, x)) * expert for k in (1, -1)) for A, b, c in gates
        ]
        apart = min(float(np.linalg.norm(gates[0][0] - k * gates[1][0])) for k in (1, -1))
        rows.append({"difference of f": float(np.max(np.abs(sides[0] - sides[1]))), "distance of A": apart})
    return _worst(rows, ("distance of A",))


def split() -> dict[str, float]:
    """An expert in two shares of one gate: ReLU and a polynomial by homogeneity, a GELU network by its outer factor."""
    rng, gaps, moved = np.random.default_rng(4), [], []
    for _ in range(DRAWS):
        x, eta, share = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(D + 1), float(rng.uniform(0.2, 0.8))
        h, g = x @ eta[:-1] + eta[-1], _sigma(_score(*_gate(rng), x))
        gaps.append(g * np.maximum(share * h, 0) + g * np.maximum((1 - share) * h, 0) - g * np.maximum(h, 0))
        root = share ** (1 / 2), (1 - share) ** (1 / 2)
        gaps.append(g * (root[0] * h) ** 2 + g * (root[1] * h) ** 2 - g * h**2)
        gelu = h * _normal(h)
        gaps.append(share * g * gelu + (1 - share) * g * gelu - g * gelu)
        moved.append(min(share, 1 - share) * float(np.linalg.norm(eta)))
    return {"difference of f": float(np.max(np.abs(gaps))), "distance of eta": min(moved)}


def _normal(h: Array) -> Array:
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(h)


def hidden_pair() -> dict[str, float]:
    """Orders in t of f and of L1 along two atoms of opposite b, for any expert; *flat* at w* = 1/2, App. E.1."""
    rng, found = np.random.default_rng(5), {}
    x, expert = rng.uniform(-1, 1, (POINTS, D)), rng.uniform(0.5, 1.5, POINTS)
    u = rng.standard_normal(D)
    h = x @ (u / np.linalg.norm(u))
    for name, share in (("equal", 0.5), ("flat", flat_share(0.5))):
        c, beta, alpha = pair_scores(0.5, share)
        f = [sum(_sigma(c[i] + t * beta[i] * h + t**2 * alpha[i] * h**2) for i in (0, 1)) - 0.5 for t in T]
        found[f"order of f, {name} shares"] = _order(np.array([np.sqrt(np.mean((row * expert) ** 2)) for row in f]))
        # eta is that of the true atom, |uu'| = |u| = 1, and A and b of the true atom are 0
        weights = abs(float(np.sum(_sigma(c))) - 0.5)
        L1 = np.array([weights + sum(t**4 * alpha[i] ** 2 + t**2 * beta[i] ** 2 for i in (0, 1)) for t in T])
        found[f"order of L1, {name} shares"] = _order(L1)
    return found


def trade() -> dict[str, float]:
    """Weight against size at two gates of A = 0, sum sigma(c_i) k_i^p = sigma(c*); also for ReLU, and for lambda."""
    rng, gaps, losses = np.random.default_rng(6), [], []
    for _ in range(DRAWS):
        x, eta, c = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(D + 1), float(rng.uniform(-0.5, 0.5))
        h, weight, sizes = x @ eta[:-1] + eta[-1], float(_sigma(np.asarray(c))), rng.uniform(1.1, 1.5, 2)
        relu, gelu = np.maximum(h, 0), h * _normal(h)
        experts = [(p, h**p, [(k * h) ** p for k in sizes]) for p in (1, 2, 3)]
        experts += [(1, relu, [np.maximum(k * h, 0) for k in sizes]), (1, gelu, [k * gelu for k in sizes])]
        for power, true, fitted in experts:  # the fitted of k eta, or k lambda
            each = weight / sizes**power / 2
            gaps.append(_sigma(np.log(each) - np.log1p(-each)) @ np.array(fitted) - weight * true)
            least = min(float(eta @ eta), 1.0)  # lambda = 1
            losses.append(float(abs(each.sum() - weight) + np.sum((sizes - 1) ** 2) * least))
    return {"difference of f": float(np.max(np.abs(gaps))), "L4": min(losses)}


def vanishing() -> dict[str, float]:
    """Two superfluous atoms with experts eta = t v, degree p: orders in t of f, and of L3 or L5 to the null atoms."""
    rng, found = np.random.default_rng(7), {}
    x, v = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal((2, D + 1))
    h, g = x @ v[:, :-1].T + v[:, -1], np.stack([_sigma(_score(*_gate(rng), x)) for _ in v], axis=1)
    for power in (1, 2, 3):
        change = [np.sqrt(np.mean(np.sum(g * (t * h) ** power, axis=1) ** 2)) for t in T]
        found[f"order of f, p = {power}"] = _order(np.array(change))
    return found | {"order of the loss": _order(np.array([np.sum(np.linalg.norm(t * v, axis=1)) for t in T]))}


def moved_shares() -> dict[str, float]:
    """Gates of two of three shares of a linear expert moved apart: orders in t of f, with b and without, and of L3."""
    rng, found = np.random.default_rng(8), {}
    x, eta, shares = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(D + 1), np.array([0.5, 0.3, 0.2])
    h, (A, b, c), (dA, db, dc) = x @ eta[:-1] + eta[-1], _gate(rng), _gate(rng)
    rates = np.array([1.0, -1.0, 0.0]) / shares
    for name, keep in (("with b", 1.0), ("without b", 0.0)):
        s, step = _score(A, keep * b, c, x), _score(dA, keep * db, dc, x)
        change = [sum(k * _sigma(s + t * r * step) for k, r in zip(shares, rates, strict=True)) - _sigma(s) for t in T]
        found[f"order of f, {name}"] = _order(np.array([np.sqrt(np.mean((g * h) ** 2)) for g in change]))
    size = np.sqrt(np.sum(dA**2)) + np.sqrt(np.sum(db**2)) + abs(dc)
    return found | {"order of L3": _order(T * size * np.sum(np.abs(rates)))}


def more_atoms() -> dict[str, float]:
    """Near a true atom of a linear expert above 0, to the power 1 or 3: the least atom over it, and how far two are.

    Where it is above 0 a ReLU is linear. Every other draw is of the score without b.
    """
    rng, atom, far = np.random.default_rng(14), [], []
    for draw in range(DRAWS):
        x, (A, b, c), p = rng.uniform(-1, 1, (POINTS, D)), _gate(rng), (1, 3)[draw // 2 % 2]
        eta, found = np.append(rng.uniform(-0.3, 0.3, D), 1.5), []
        for width in (0.0, 0.02, 0.02):  # of Theta around the true atom; the first is that atom
            dA, db, dc, moved = (rng.uniform(-width, width, size) for size in ((D, D), D, None, D + 1))
            score = _score(A + dA, draw % 2 * (b + db), c + dc, x)
            found.append(_sigma(score) * (x @ (eta + moved)[:-1] + (eta + moved)[-1]) ** p)
        truth, *near = found
        atom.append(min(np.min(one / truth) for one in near))
        far.append(np.linalg.norm(sum(near) - truth) / np.linalg.norm(truth))
    return {"least atom over the true one": float(min(atom)), "least distance over that of f* from 0": float(min(far))}


def curvature() -> dict[str, float]:
    """Score without b: the least form of second order over drawn weights of two to four atoms, over 1 - w*."""
    rng, found = np.random.default_rng(12), []
    for m in (2, 3, 4):
        total = rng.uniform(0.05, 0.95, (500, 1))
        weights = np.clip(total * rng.dirichlet(np.full(m, 0.5), 500), 1e-9, None)
        found.append(np.min(smallest_curvature(weights) / (1 - weights.sum(axis=1))))
    half = smallest_curvature(np.array([0.25, 0.25])) / 0.5
    return {"least form over 1 - w*": float(min(found)), "at two equal halves": float(half)}


def printed_sequence() -> dict[str, float]:
    """App. B.3 as printed, halves of the weight: difference of f for p = 1, and orders of f and L2r in t = 1/m else."""
    beta, weight, found = 0.7, 0.5, {}
    change = {p: np.abs(weight / 2 * ((beta + T) ** p + (beta - T) ** p) - weight * beta**p) for p in (1, 2, 3)}
    found["difference of f, p = 1"] = float(np.max(change[1]))
    found |= {f"order of f, p = {p}": _order(change[p]) for p in (2, 3)}
    return found | {"order of L2r, r = 2": _order(2 * T**2)}


def repaired_sequence() -> dict[str, float]:
    """Lemma 2 mended, (1 + t)^p + (1 - u)^p = 2: difference of f for any a*, p = 1, 2, 3, and the least L22 / t^2."""
    rng, gaps, losses = np.random.default_rng(9), [], []
    for _ in range(DRAWS):
        x, eta, weight = rng.uniform(-1, 1, (POINTS, D)), rng.standard_normal(D + 1), float(rng.uniform(0.3, 0.7))
        h = x @ eta[:-1] + eta[-1]
        for p in (1, 2, 3):
            for t in T:
                rest = (2 - (1 + t) ** p) ** (1 / p)
                gaps.append(weight / 2 * (((1 + t) * h) ** p + (rest * h) ** p) - weight * h**p)
                losses.append((t**2 + (1 - rest) ** 2) * float(eta @ eta) / t**2)
    return {"difference of f": float(np.max(np.abs(gaps))), "L2r over t^2, r = 2": float(min(losses))}


def two_truths() -> dict[str, float]:
    """Theorem 2, r = 2: two truths of one f, and the least sum of L2r from a third measure to both, over its bound.

    The truths have the constant gates w_j and experts eta_j, or w_j / k^p and k eta_j; the measures are drawn around
    both, an empty cell costs nothing, and the bound is half of the square of the least distance of an eta_i from a
    k eta_j: a sum of two squares is least half-way.
    """
    rng, weight, k, p = np.random.default_rng(10), 0.5, 1.4, 1
    x, gaps, found = rng.uniform(-1, 1, (POINTS, D)), [], {}
    for true in (1, 2):
        eta = np.array([[0.6, -0.3, 0.5, 0.4], [-0.2, 0.7, 0.1, -0.5]])[:true]
        h = x @ eta[:, :-1].T + eta[:, -1]
        gaps.append(np.sum(weight / k**p * (k * h) ** p - weight * h**p, axis=1))
        bound = np.min(np.linalg.norm(eta[:, None] - k * eta, axis=2)) ** 2 / 2
        sums = []
        for _ in range(6000):
            atoms = int(rng.integers(1, 4))
            own = eta[rng.integers(true, size=atoms)] * rng.uniform(0.9, 1.5, (atoms, 1))
            own, g = own + 0.05 * rng.standard_normal(own.shape), rng.uniform(0, 1, atoms) * weight
            sums.append(sum(_L22(own, g, size * eta, weight / size**p) for size in (1.0, k)))
        found[f"least sum of losses over its bound, N* = {true}"] = float(min(sums) / bound)
    return {"difference of f": float(np.max(np.abs(np.concatenate(gaps))))} | found


def _L22(own: Array, g: Array, eta: Array, weight: float) -> float:
    """Return L2r, r = 2, of atoms of constant gate to a truth; an empty cell and intercepts cost nothing."""
    far = np.linalg.norm(own[:, None] - eta, axis=2)
    cell, loss = far.argmin(axis=1), 0.0
    for j in range(len(eta)):
        mine = cell == j
        if mine.any():
            loss += abs(g[mine].sum() - weight) + np.sum(far[mine, j] ** 2)
    return float(loss)


def brackets() -> dict[str, float]:
    """App. B.1, M = 1, tau = 0.1, a linear expert of values in [-M, M]: printed brackets, and the mended ones."""
    M, tau, rng = 1.0, 0.1, np.random.default_rng(11)
    f = rng.uniform(-M, M, 10_000)
    zeta = np.clip(f + rng.uniform(-tau, tau, f.size), -M, M)
    low, high = np.maximum(zeta - tau, 0), np.maximum(zeta + tau, M)
    mended = np.maximum(zeta - tau, -M), np.minimum(zeta + tau, M)
    return {
        "share of f outside, printed": float(np.mean((f < low) | (f > high))),
        "median width over 2 tau, printed": float(np.median(high - low) / (2 * tau)),
        "distance outside, mended": float(np.max(np.maximum(mended[0] - f, f - mended[1]))),
        "largest width over 2 tau, mended": float(np.max(mended[1] - mended[0]) / (2 * tau)),
    }


def cover() -> dict[str, float]:
    """(14), linear experts, B = 2, a grid by Lipschitz constants: distance of drawn functions, growth of its size."""
    rng, box, tau, d = np.random.default_rng(13), 2.0, 0.1, 2
    x = rng.uniform(-1, 1, (POINTS, d))
    size = d * d + d + 1 + d + 1
    each = np.r_[
        np.full(d * d + d + 1, (d + 1) * box / 4), np.ones(d + 1)
    ]  # sigma' |E| for the gate, sigma <= 1 for eta

    def f(theta: Array) -> Array:
        A, b, c, eta = theta[: d * d].reshape(d, d), theta[d * d : -d - 2], theta[-d - 2], theta[-d - 1 :]
        return _sigma(_score(A, b, c, x)) * (x @ eta[:-1] + eta[-1])

    def number(eps: Array) -> Array:
        return np.array([np.sum(np.log(np.ceil(2 * box / (e / (each * size))))) for e in eps])

    step, far = 2 * tau / (each * size), []
    for _ in range(DRAWS):
        theta = rng.uniform(-box, box, size)
        centre = np.clip((np.floor(theta / step) + 0.5) * step, -box, box)
        far.append(np.max(np.abs(f(theta) - f(centre))) / tau)
    eps = np.array([1e-6, 1e-12])
    growth = float(np.diff(number(eps))[0] / np.log(eps[0] / eps[1]) / size)
    return {"largest distance to a centre over tau": float(max(far)), "log number per P log(1/eps)": growth}


def row_sums() -> dict[str, float]:
    """Sigmoid attention at scores of 0, n = 2048: the sum of the weights of a row with the bias -log n, and without."""
    n = 2048
    zero = np.zeros(n)
    return {
        "sum with the bias": float(_sigma(zero - np.log(n)).sum()),
        "sum without, over n": float(_sigma(zero).sum() / n),
    }
