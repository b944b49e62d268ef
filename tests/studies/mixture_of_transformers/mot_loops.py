"""Algorithm 1 by loops over samples, experts and tokens, written from the paper's formulas."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from moestat.experiment import Cell
from studies.mixture_of_transformers.parts import mot

STEPS = (6, 10, 110)
"""T1, T2, T."""
SETTINGS = {"specialise_rate": 0.05, "attention_rate": 2.0, "router_rate": 5.0, "tuning_rate": 0.5}
SETTINGS |= {"samples": 24, "test_samples": 40, "dimension": 8, "experts": 3, "expert_slots": 3}
SETTINGS |= {"records_per_decade": 3, "specialise_steps": STEPS[0], "attention_steps": STEPS[1] - STEPS[0]}
SETTINGS |= {"tuning_steps": STEPS[2] - STEPS[1]}


class Drawn(NamedTuple):
    """The experiment's last record, and the draws that it was made from."""

    settings: mot.Settings
    found: Any
    directions: Any
    training: Any
    test: Any
    weight: np.ndarray
    kq: np.ndarray
    noise: Any


def drawn(**others):
    s = mot.Settings(**SETTINGS | others)
    cell = Cell("studies.mixture_of_transformers.parts.mot", 7, "arm", {}, s.model_dump(mode="json"))
    directions, training, test = mot._data(cell, s, 0)
    weight, kq = mot._start(cell, s, 0, directions)
    noise = mot._noise(s, [cell.generator(0, "perturbation: training", experts=3, n=s.samples)], s.samples, np)
    found = mot.run(cell, [0], device="cpu").isel(replicate=0, epoch=-1)
    return Drawn(s, found, directions, training, test, weight, kq, noise)


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


def attention(x, kq):
    """Return softmax(X' KQ X_l) as row l; without attention (None) the sum of the tokens is read, once."""
    return np.ones((1, len(x))) if kq is None else np.stack([softmax(x @ kq @ query) for query in x])


def output(x, weight, kq):
    """Return f of one sample by one expert, eq. (4)."""
    return sum(weight @ (x.T @ row) for row in attention(x, kq))


def by_key_query(x, p, weight, query):
    """Return the gradient in KQ of what one query reads, W' X p, eq. (14)."""
    return np.outer(x.T @ (np.diag(p) - np.outer(p, p)) @ x @ weight, query)


def gradients(x, y, weight, kq, theta, m):
    """Return those of one sample in W, KQ (eqs. 13, 14) and Theta (eq. 12)."""
    own = None if kq is None else kq[m]
    p, total, f = attention(x, own), x.sum(axis=0), output(x, weight[m], own)
    slope = -y / (1 + np.exp(y * f))
    pi = softmax(theta @ total)
    margin = y * f * pi[m]
    by_theta = -margin / (1 + np.exp(margin)) * np.outer((np.arange(len(pi)) == m) - pi, total)
    read = [] if own is None else zip(p, x, strict=True)
    of_kq = slope * sum(by_key_query(x, row, weight[m], query) for row, query in read)
    return slope * (x.T @ p.sum(axis=0)), of_kq, by_theta


def staged(step):
    """Return what a step of Algorithm 1 moves: normalised weights, attention, weights."""
    return ("normalised",) if step < STEPS[0] else ("attention",) if step < STEPS[1] else ("weights",)


def train(d: Drawn, moves: Callable[[int], tuple[str, ...]] = staged, *, attends: bool = True):
    """Return W, KQ and Theta at the end; all that a step moves is moved from the same place, the router always."""
    s, weight, kq = d.settings, d.weight, d.kq if attends else None
    theta = np.zeros_like(weight)
    for step in range(STEPS[2]):
        r = next(d.noise)[0]
        of_weight, of_kq, of_theta = np.zeros_like(weight), np.zeros_like(d.kq), np.zeros_like(theta)
        for k, (x, y) in enumerate(zip(d.training.x, d.training.y, strict=True)):
            m = int(np.argmax(theta @ x.sum(axis=0) + r[:, k]))
            one = gradients(x, y, weight, kq, theta, m)
            of_weight[m] += one[0] / s.samples
            of_kq[m] += one[1] / s.samples
            of_theta += one[2] / s.samples
        if "normalised" in moves(step):
            norm = np.linalg.norm(of_weight, axis=1, keepdims=True)
            weight = weight - s.specialise_rate * of_weight / np.where(norm > 0, norm, 1)
        if "weights" in moves(step):
            weight = weight - s.tuning_rate * of_weight
        if "attention" in moves(step):
            kq = kq - s.attention_rate * of_kq
        theta = theta - s.router_rate * of_theta
    return weight, kq, theta


def routed(d: Drawn, weight, kq, theta):
    """Return the experts of the test samples, and what these say of them."""
    expert = np.array([np.argmax(theta @ x.sum(axis=0)) for x in d.test.x])
    pairs = zip(d.test.x, expert, strict=True)
    return expert, np.array([output(x, weight[m], None if kq is None else kq[m]) for x, m in pairs])
