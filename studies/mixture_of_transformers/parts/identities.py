"""What the arguments on "mixture-of-transformers" (``arguments.py``) say, computed on drawn or enumerated instances.

Plain NumPy, sharing nothing with the models of the package. In the first three functions a sample is a fixed vector,
the sum of its tokens as the attention weights them, which stage III does not train.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, stats

DRAWS, STEPS, RATE = 3, 20_000, 0.5


def _separable(rng: np.random.Generator, count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that one direction separates with a margin of 1, and their labels."""
    x = rng.standard_normal((count, 4))
    y = np.sign(x[:, 0])
    x[:, 0] += y
    return x, y


def steps_and_loss() -> dict[str, float]:
    """Follow eq. (10): the largest step over eta R L, the power of t that L falls with, the weights over their bound.

    Two experts, routes drawn anew at every step; R is the largest norm of a sample.
    """
    rng, z = np.random.default_rng(1), np.linspace(-30.0, 30.0, 601)
    slopes = 1 / (1 + np.exp(z)) / np.logaddexp(0, -z)
    rows = []
    for _ in range(DRAWS):
        x, y = _separable(rng)
        size = float(np.linalg.norm(x, axis=1).max())
        w, losses, ratio = 0.1 * rng.standard_normal((2, 4)), np.empty(STEPS), 0.0
        first = float(np.linalg.norm(w, axis=1).max())
        for t in range(STEPS):
            routed = np.eye(2)[rng.integers(0, 2, 12)]  # (samples, experts)
            margins = y * np.sum((routed @ w) * x, axis=1)
            losses[t] = np.mean(np.logaddexp(0, -margins))
            step = RATE * (routed.T @ (x * (y / (1 + np.exp(margins)))[:, None])) / 12
            ratio = max(ratio, float(np.linalg.norm(step, axis=1).max() / (RATE * size * losses[t])))
            w += step
        late = np.polyfit(np.log(np.arange(STEPS // 10, STEPS)), np.log(losses[STEPS // 10 :]), 1)[0]
        reached = float(np.linalg.norm(w, axis=1).max()) / (first + RATE * size * losses.sum())
        rows.append((ratio, float(late), reached))
    found = np.array(rows)
    return {
        "largest |l'| over l": float(slopes.max()),
        "largest step over eta R L": float(found[:, 0].max()),
        "order of L in t": float(found[:, 1].min()),
        "weights over |W_0| + eta R sum L": float(found[:, 2].max()),
    }


def both_fall_like_one_over_t() -> dict[str, float]:
    """Follow eq. (10) for one expert and for a ReLU network with fixed signs: orders of L in t, 1/L over its bounds.

    The lower bound is that of the steps: 1/L grows by at most 2 c a step, c = eta R^2, once c L <= 1. The upper is that
    of a convex loss: L <= 1/t + |(log t / margin) u - w_0|^2 / (2 eta t).
    """
    rng, t = np.random.default_rng(2), np.arange(STEPS)
    x, y = _separable(rng)
    size, eta = float(np.linalg.norm(x, axis=1).max()), 1 / float(np.linalg.norm(x, axis=1).max()) ** 2
    w, hidden = 0.1 * rng.standard_normal(4), 0.1 * rng.standard_normal((8, 4))
    first, signs, losses = w.copy(), np.repeat([1.0, -1.0], 4), np.empty((2, STEPS))
    for k in t:
        active = (x @ hidden.T > 0) * signs  # (samples, neurons)
        for row, margins in enumerate((y * (x @ w), y * np.sum(active * (x @ hidden.T), axis=1))):
            losses[row, k] = np.mean(np.logaddexp(0, -margins))
            pull = eta / 12 * y / (1 + np.exp(margins))
            if row:
                hidden += (active * pull[:, None]).T @ x
            else:
                w += pull @ x
    c, tail = eta * size**2, slice(STEPS // 10, None)
    orders = [float(np.polyfit(np.log(t[tail]), np.log(one[tail]), 1)[0]) for one in losses]
    toward = np.log(t[tail])[:, None] * np.eye(4)[0] - first
    above = 1 / t[tail] + np.sum(toward**2, axis=1) / (2 * eta * t[tail])
    slowest = 1 / losses[0] / (max(1 / losses[0, 0], c * math.exp(c)) + 2 * c * t)
    return {
        "order of an expert's L in t": orders[0],
        "order of a ReLU network's L in t": orders[1],
        "1/L over what steps allow": float(slowest.max()),
        "L over what convexity allows": float(np.max(losses[0, tail] / above)),
    }


def no_modulus() -> dict[str, float]:
    """Follow eq. (10) for one expert: |grad|^2 / (2 L) over R^2 L / 2, and by which factor it falls."""
    rng = np.random.default_rng(3)
    x, y = _separable(rng)
    size, w, moduli, losses = float(np.linalg.norm(x, axis=1).max()), np.zeros(4), np.empty(STEPS), np.empty(STEPS)
    for t in range(STEPS):
        margins = y * (x @ w)
        gradient = (y / (1 + np.exp(margins))) @ x / 12
        losses[t] = np.mean(np.logaddexp(0, -margins))
        moduli[t] = gradient @ gradient / (2 * losses[t])
        w += RATE * gradient
    return {
        "modulus over R^2 L / 2": float(np.max(moduli / (size**2 * losses / 2))),
        "last modulus over the first": float(moduli[-1] / moduli[0]),
    }


def _summed(x: np.ndarray, kq: np.ndarray) -> np.ndarray:
    """Return what eq. (4) multiplies W by, sum_l X softmax(X' W_KQ X_l), of samples (n, d, L): (n, d)."""
    scores = np.swapaxes(x, 1, 2) @ kq @ x  # (n, keys, queries)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (x @ (p / p.sum(axis=1, keepdims=True)).sum(axis=2)[:, :, None])[:, :, 0]


def _drawn(rng: np.random.Generator, noise: np.ndarray, y: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Return samples of class 1 of 2, (n, d, L), from noise tokens (n, d, L - 3) and signs: c, v and v' are units."""
    c, v, other = np.eye(noise.shape[1])[:3]
    signals = np.stack([np.broadcast_to(c, (len(y), len(c))), np.outer(y, v), np.outer(eps, other)], axis=2)
    return np.concatenate([signals, noise], axis=2)


def noise_floor() -> dict[str, float]:
    """Send far noise to drawn mixtures; and draw from Definition 1, for the smallest share of wrong signs over W.

    The first: of draws of Theta, W, W_KQ (3 experts, L = 5, d = 4) and noise tokens whose mean is s w, the share in
    which both labels, with one of the two eps, get one expert and one sign of f. The second (sigma_xi = 2,
    W_KQ = a v v', a = 1, 10 and 100): the smallest share of samples with y f <= 0, over 200 drawn W, v and the W that
    descent comes to.
    """
    rng, draws, far, signs = np.random.default_rng(9), 400, 1e4, np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])
    same = 0
    for _ in range(draws):
        theta, w = rng.standard_normal((2, 3, 4))
        kq = rng.standard_normal((3, 4, 4))
        kq *= 2 / np.linalg.norm(kq, ord=2, axis=(1, 2), keepdims=True)
        toward = rng.standard_normal(4)
        apart = 0.1 * rng.standard_normal((4, 2))
        tokens = far * toward[:, None] / np.linalg.norm(toward) + apart - apart.mean(axis=1, keepdims=True)
        x = _drawn(rng, np.broadcast_to(tokens, (4, 4, 2)), *signs.T)
        expert = np.argmax(x.sum(axis=2) @ theta.T + rng.random(3), axis=1)
        f = np.array([_summed(one[None], kq[m])[0] @ w[m] for one, m in zip(x, expert, strict=True)])
        one_sign = [f[eps] * f[eps + 1] > 0 for eps in (0, 2)]  # of y = 1 and -1
        same += len(set(expert)) == 1 and any(one_sign)
    wrong = []
    for a in (1.0, 10.0, 100.0):
        y, eps = rng.choice([-1.0, 1.0], (2, 20_000))
        kq = a * np.outer(np.eye(4)[1], np.eye(4)[1])
        z = y[:, None] * _summed(_drawn(rng, rng.standard_normal((20_000, 4, 2)), y, eps), kq)
        w = np.eye(4)[1]
        for _ in range(500):
            w = w + 0.1 * np.mean(z / (1 + np.exp(np.minimum(z @ w, 50)))[:, None], axis=0)
        over = np.vstack([rng.standard_normal((200, 4)), np.eye(4)[1], w])
        wrong.append(float(np.mean(z @ over.T <= 0, axis=0).min()))
    return {"share of far noise that decides alone": same / draws, "smallest share of wrong signs": min(wrong)}


def bound_without_attention_diverges() -> dict[str, float]:
    """Return the loss of eq. (7) at zero weights over eps^(1 - L sigma_xi), L = 64 tokens, at two eps."""
    return {f"log 2 over the bound at eps = {eps:g}": math.log(2) / eps ** (1 - 64 * 0.1) for eps in (1e-2, 1e-4)}


def router_noise() -> dict[str, float]:
    """Move the scores of experts under noise of width w: max |p - p'| over (kappa M)^2, 2 kappa and kappa M^2 times it.

    The first at M = 2, w = 8; of the others the largest over drawn scores, M from 2 to 16 and w from 0.5 to 8, the
    last with the sum of |p - p'|, the largest norm that may be meant.
    """
    rng = np.random.default_rng(5)

    def chosen(h: np.ndarray, width: float) -> np.ndarray:
        """Return the probability of each expert to be the argmax of h + Unif[0, w]."""
        r = (np.arange(4000) + 0.5) * width / 4000
        below = np.clip((h[:, None, None] + r[None, :, None] - h[None, None, :]) / width, 0, 1)
        below[np.arange(len(h)), :, np.arange(len(h))] = 1.0
        return below.prod(axis=2).mean(axis=1)

    printed = np.abs(chosen(np.array([0.05, -0.05]), 8.0) - 0.5).max() / ((2 / 8) ** 2 * 0.05)
    largest = np.zeros(2)
    for experts in (2, 4, 16):
        for width in (0.5, 2.0, 8.0):
            h = width * 0.2 * rng.random(experts)
            moved = 0.05 * rng.choice([-1.0, 1.0], experts)
            change = np.abs(chosen(h + moved, width) - chosen(h, width))
            largest = np.maximum(largest, [change.max() * width / 0.1, change.sum() * width / (0.05 * experts**2)])
    return {
        "max |p - p'| over (kappa M)^2 d": float(printed),
        "max |p - p'| over 2 kappa d": float(largest[0]),
        "sum |p - p'| over kappa M^2 d": float(largest[1]),
    }


def router_gradients() -> dict[str, float]:
    """Enumerate the router's expected gradient at Theta = 0: along v_n by N, and beside that along c_n.

    L = 3 tokens, d = 2 N and N^2, W at its start, attention 1/3: f = W' (c_n + y v_n + eps v_n'). Every route has 1/M.
    """
    rng, experts, scale, sizes = np.random.default_rng(6), 16, 0.3, np.array([8, 16, 32, 64])
    largest, beside = np.empty((2, len(sizes))), np.empty((2, len(sizes)))
    for place in np.ndindex(largest.shape):
        n = int(sizes[place[1]])
        d = n**2 if place[0] else 2 * n
        a, b = scale / math.sqrt(d) * rng.standard_normal((2, experts, n))  # W' c_n and W' v_n
        along = np.zeros((2, experts, n))  # c, v
        for y in (-1.0, 1.0):
            for eps in (-1.0, 1.0):
                f = a[:, :, None] + y * b[:, :, None] + eps * b[:, None, :]  # (m, n, n')
                pull = -y * f / (1 + np.exp(y * f / experts)) / experts**2 * (1 - np.eye(n)) / (4 * n * (n - 1))
                pull = pull - pull.sum(axis=0) / experts  # 1{i = m} - pi_i
                along += np.stack([pull.sum(axis=2), y * pull.sum(axis=2) + eps * pull.sum(axis=1)])
        size = np.sqrt(np.mean(along**2, axis=(1, 2)))
        largest[place] = size[1] * n**2 * experts**2 / math.sqrt(scale)
        beside[place] = size[1] / size[0]
    orders = np.polyfit(np.log(sizes), np.log(largest.T), 1)[0]
    return {
        "order in N of the gradient along v_n over its bound": float(orders[0]),
        "that order with d = N^2": float(orders[1]),
        "gradient along v_n over that along c_n": float(np.mean(beside)),
    }


def attention_growth() -> dict[str, float]:
    """Sum eq. (14) over all 4 N (N - 1) kinds of samples: the growth of v_n' W_KQ v_n, its mean over experts, by N.

    The last number is the smallest over N with the loss as a sum over these samples.

    L = 3 tokens, d = 2 N, M = 2 N experts, W = W_0 + sqrt(sigma_0) v_n and W_KQ at its start; samples go to one of the
    two experts of their class.
    """
    rng, scale, over, sizes = np.random.default_rng(8), 0.1, [], np.array([4, 8, 16])
    for n in sizes:
        d, tokens, grown = 2 * n, np.eye(2 * n), np.zeros((2, n))  # c_n, then v_n, are the unit vectors
        w = scale / math.sqrt(d) * rng.standard_normal((2, n, d))
        w[:, np.arange(n), n + np.arange(n)] += math.sqrt(scale)
        kq = scale / math.sqrt(d) * rng.standard_normal((2, n, d, d))
        for own, other in zip(*np.nonzero(1 - np.eye(n)), strict=True):
            for y, eps in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                at = rng.integers(2)
                x = np.stack([tokens[own], y * tokens[n + own], eps * tokens[n + other]], axis=1)  # (d, L)
                p = np.exp(x.T @ kq[at, own] @ x)  # columns: queries
                p /= p.sum(axis=0)
                reads = x.T @ w[at, own]
                slope = 1 / (1 + np.exp(y * (reads @ p).sum()))
                moved = sum((np.diag(q) - np.outer(q, q)) @ reads * x[n + own, query] for query, q in enumerate(p.T))
                grown[at, own] += y * slope * (x[n + own] @ moved) / (4 * n * (n - 1))
        over.append(grown.mean() * 2 * n / math.sqrt(scale))
    return {
        "growth times M / sqrt(sigma_0)": float(max(over)),
        "order of that in N": float(np.polyfit(np.log(sizes), np.log(over), 1)[0]),
        "growth of the sum over N sqrt(sigma_0) / M": float(np.min(4 * (sizes - 1) * over)),
    }


SIZES = (2, 4, 8, 16, 32, 64)


def every_class_has_an_expert() -> dict[str, float]:
    """Return the smallest probability over N that N log(N / 0.1) experts have every class, by inclusion-exclusion."""
    found = []
    for n in SIZES:
        experts = math.ceil(n * math.log(n / 0.1))
        found.append(sum((-1) ** j * math.comb(n, j) * (1 - j / n) ** experts for j in range(n)))
    return {"smallest probability": min(found)}


def favourites_are_clear() -> dict[str, float]:
    """Return the smallest probability over N that N experts lead by the factor 1 - 0.1 / (3 N^3), by quadrature."""
    found = []
    for n in SIZES:
        factor = 1 - 0.1 / (3 * n**3)

        def density(x: float, n: int = n, factor: float = factor) -> float:
            return n * stats.norm.pdf(x) * stats.norm.cdf(factor * x) ** (n - 1)

        one = integrate.quad(density, 0, 12, epsabs=1e-12)[0] + 0.5**n  # all negative: the first always leads
        found.append(one**n)
    return {"smallest probability": min(found)}


def router_weights_sum_to_zero() -> dict[str, float]:
    """Take steps of eq. (6) with drawn outputs and routes: the largest entry of the sum of Theta over experts."""
    rng, theta = np.random.default_rng(7), np.zeros((5, 6))
    for _ in range(100):
        x, expert, pull = rng.standard_normal((30, 6)), rng.integers(0, 5, 30), rng.standard_normal(30)
        pi = np.exp(x @ theta.T)
        pi /= pi.sum(axis=1, keepdims=True)
        theta -= 0.5 / 30 * ((np.eye(5)[expert] - pi) * (pull * pi[np.arange(30), expert])[:, None]).T @ x
    return {"sum over the largest weight": float(np.abs(theta.sum(axis=0)).max() / np.abs(theta).max())}
