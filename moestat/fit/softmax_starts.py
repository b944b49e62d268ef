"""New starts for over-fitted mixtures of experts with softmax gates, for one-dimensional inputs.

The likelihood of a mixture with more experts than the truth has many maxima, which differ in what the spare expert
fits. Two ways lead from a point that is known to others:

*Insert* (:func:`inserted_starts`): splits rarely come near the few samples that a spare expert fits. Hundreds of
candidates for one more expert are tried, each a line through two samples of which the others fit one badly, or near
another expert's line, with a variance, a slope of its gate and a few heights of it. The best of them go up by EM in the
new expert alone; the best few that differ are starts. Source: greedy insertion as in Verbeek, Vlassis, Kröse,
"Efficient greedy learning of Gaussian mixture models" (Neural Computation, 2003), here with softmax gates.

*Cut* (:func:`cut_starts`): an expert that is cut at one input is a maximum of its own for nearly every input, which no
step of EM and no candidate comes near, since both halves have nearly the line of the whole. With the gate's steepest
slope the two best lines are weighted regressions, so that all cuts are tried in one pass over sums of moments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp, softmax

from moestat.doors import takes_float64

POLISHED = ((4, 4), (10, 10))  #: One of so many candidates goes up by so many EM steps; of these, fewer by more.

# of inserted experts
_HEIGHTS = (-4.0, -2.0, -0.5, 1.0)  # log-odds of the new expert at the sample it goes through
_COPIES = 0.3  # share of candidates near another expert's line
_FAR = 0.25  # second sample of a line: in ranks of x, relative to n, at most
_SLOPES = (1.0, 80.0)  # slopes of the gate, relative to that of another expert
_WIDE = 20.0  # largest variance over the smallest
_FLOOR = 1e-3  # of the density, in the odds of a sample to be gone through
_CELLS = 1 << 17  # numbers per temporary array
_STEP = 3.0  # most that a step changes the log-odds in the middle
_SAME = 0.01  # log-likelihood units within which two candidates are the same one

# of cuts
_LEAST = 2.5  # weight of samples that a half keeps, at least: a line through two has no error
_CUT_STEEP = 0.75  # of the gate at a cut, relative to the box
_APART = 0.04  # of the samples, between two cuts of an expert that are kept


@takes_float64("x", "y", "theta", finite=True)
def inserted_starts(
    x: np.ndarray, y: np.ndarray, theta: np.ndarray, *, box: float, variances: tuple[float, float], number: int = 0,
    candidates: int, keep: int,
) -> np.ndarray:  # fmt: skip
    """Return the starts (B, keep, N + 1, 5) in which each of the fits (B, N, 5) has one more component, the best first.

    It is the last one. ``candidates`` are tried and ``keep`` kept per measure; each round, by its ``number``, has
    candidates of its own, the same for every measure.
    """
    _one_dimensional(x, "screening draws lines, for one-dimensional inputs")
    out = []
    for inputs, responses, others in zip(x[..., 0], y, theta, strict=True):
        rng = np.random.default_rng([20230504, number])
        new = _Screen(inputs, responses, others, box, variances).best(rng, candidates, keep)
        out.append(np.concatenate([np.broadcast_to(others, (len(new), *others.shape)), new[:, None]], axis=1))
    return np.stack(out)


def _one_dimensional(x: np.ndarray, why: str) -> None:
    if x.shape[-1] != 1:
        raise ValueError(f"x has {x.shape[-1]} dimensions; {why}")


class _Screen:
    """One data set and the experts that it is fitted by, in float32."""

    def __init__(
        self, x: np.ndarray, y: np.ndarray, others: np.ndarray, box: float, variances: tuple[float, float]
    ) -> None:
        order = np.argsort(x, kind="stable")
        self.x, self.y, self.others, self.box, self.variances = x[order], y[order], others, box, variances
        scores = others[:, 0] + self.x[:, None] * others[:, 1]
        off = self.y[:, None] - self.x[:, None] * others[:, 2] - others[:, 3]
        joint = scores - 0.5 * (off * off / others[:, 4] + np.log(2 * np.pi * others[:, 4]))
        self.total, self.joint = logsumexp(scores, axis=1), logsumexp(joint, axis=1)
        moments = np.stack([np.ones_like(x), self.x, self.x**2, self.y, self.x * self.y], axis=1)
        self.single = tuple(np.asarray(a, dtype=np.float32) for a in (self.x, self.y, self.total, self.joint, moments))

    def best(self, rng: np.random.Generator, count: int, keep: int) -> np.ndarray:
        """Return the atoms (keep, 5) that raise the likelihood most, the best first."""
        atoms, middle = self._draw(rng, count)
        value, height = np.full(count, -np.inf), np.zeros(count)
        for block in self._blocks(count):
            gate, joint = self._odds(atoms[block])
            for log_odds in _HEIGHTS:
                odds = np.float32(math.exp(log_odds))
                now = np.log((1 + odds * joint) / (1 + odds * gate)).sum(axis=1)
                better = now > value[block]
                value[block] = np.where(better, now, value[block])
                height[block] = np.where(better, log_odds, height[block])
        atoms[:, 0] = np.clip(atoms[:, 0] + height, -self.box, self.box)
        # the best of each few, not the best of all, which are often one place many times
        few = np.array_split(np.arange(count), max(count // POLISHED[0][0], 1))
        rows = np.array([some[np.argmax(value[some])] for some in few])
        atoms, middle = atoms[rows], self.x[middle[rows]]
        for share, steps in POLISHED:
            rows = np.argsort(-value[rows], kind="stable")[: max(count // share, 1)]
            atoms, middle = atoms[rows], middle[rows]
            atoms, value = self._polished(atoms, middle, steps)
            rows = np.arange(len(atoms))
        order = np.argsort(-value, kind="stable")
        chosen: list[int] = []
        for k in order:
            if not chosen or value[chosen[-1]] - value[k] > _SAME:
                chosen.append(int(k))
        chosen += [int(k) for k in order if int(k) not in set(chosen)]
        return atoms[[chosen[k % len(chosen)] for k in range(keep)]]

    def _draw(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw candidates (count, 5), of even odds at a sample, and that sample."""
        x, y, others, n = self.x, self.y, self.others, len(self.x)
        odds = 1.0 / np.maximum(np.exp(self.joint - self.total), _FLOOR)
        one = rng.choice(n, count, p=odds / odds.sum())
        away = np.exp(rng.uniform(0.0, math.log(max(_FAR * n, 2.0)), count)).astype(np.int64)
        two = np.clip(one + away * rng.choice([-1, 1], count), 0, n - 1)
        run = x[two] - x[one]
        slope = np.divide(y[two] - y[one], run, out=np.zeros(count), where=np.abs(run) > 1e-9)
        level = y[one] - slope * x[one]
        copied = others[rng.choice(len(others), count)]
        tilt = np.sqrt(copied[:, 4:]) * rng.standard_normal((count, 2)) / [max(np.ptp(x), 1e-9), 1.0]
        copy = rng.uniform(size=count) < _COPIES
        slope = np.where(copy, copied[:, 2] + tilt[:, 0], slope)
        level = np.where(copy, copied[:, 3] + tilt[:, 1] - tilt[:, 0] * x[one], level)
        slope = np.clip(slope, -0.9 * self.box, 0.9 * self.box)
        level = np.clip(np.where(copy, level, y[one] - slope * x[one]), -0.9 * self.box, 0.9 * self.box)
        variance = self.variances[0] * np.exp(rng.uniform(0.0, math.log(_WIDE), count))
        steep = np.exp(rng.uniform(math.log(_SLOPES[0]), math.log(_SLOPES[1]), count))
        steep = steep * rng.choice([-1.0, 1.0], count) + rng.choice(others[:, 1], count)
        steep = np.clip(steep, -self.box, self.box)
        atoms = np.stack([self.total[one] - steep * x[one], steep, slope, level, variance], axis=1)
        return atoms, one

    def _blocks(self, count: int) -> Iterator[slice]:
        size = max(_CELLS // len(self.x), 1)
        return (slice(first, first + size) for first in range(0, count, size))

    def _odds(self, atoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return odds of the atoms (C, 5) against the others (C, n), of the gate and of the responsibility."""
        x, y, total, joint, _ = self.single
        c, b, a, beta, v = (atoms[:, k : k + 1].astype(np.float32) for k in range(5))
        score = c + b * x
        off = y - beta - a * x
        density = score - off * off * (0.5 / v) - (0.5 * np.log(2 * np.pi * v)) - joint
        return np.exp(np.clip(score - total, -60, 40)), np.exp(np.clip(density, -60, 40))

    def _polished(self, atoms: np.ndarray, middle: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Go up by EM in the atoms (C, 5), each by itself; return them and their gains over the others alone."""
        value = np.empty(len(atoms))
        for block in self._blocks(len(atoms)):
            now, centre = atoms[block], middle[block]
            gate, joint = self._odds(now)
            best = np.log((1 + joint) / (1 + gate)).sum(axis=1)
            for _ in range(steps):
                trial = self._em_step(now, centre, gate / (1 + gate), joint / (1 + joint))
                gate, joint = self._odds(trial)
                new = np.log((1 + joint) / (1 + gate)).sum(axis=1)
                # one that has come too far stays where it was, and is done
                up = new > best
                now, best = np.where(up[:, None], trial, now), np.where(up, new, best)
            atoms[block], value[block] = now, best
        return atoms, value

    def _em_step(self, atoms: np.ndarray, middle: np.ndarray, pi: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the line and variance of the responsibilities r, and a Newton step of the gate."""
        moments = self.single[4]
        w, sx, sxx, sy, sxy = (r @ moments).astype(np.float64).T
        det = np.maximum(w * sxx - sx * sx, 1e-6 * w * w + 1e-12)
        a = np.clip((w * sxy - sx * sy) / det, -self.box, self.box)
        beta = np.clip((sxx * sy - sx * sxy) / det, -self.box, self.box)
        off = self.single[1] - beta[:, None].astype(np.float32) - a[:, None].astype(np.float32) * self.single[0]
        v = np.clip(np.sum(r * off * off, axis=1) / np.maximum(w, 1e-9), *self.variances)
        g = ((r - pi) @ moments[:, :2]).astype(np.float64)
        h0, h1, h2 = ((pi * (1 - pi)) @ moments[:, :3]).astype(np.float64).T + [[1e-3], [0.0], [1e-3]]
        det = h0 * h2 - h1 * h1
        dc, db = (h2 * g[:, 0] - h1 * g[:, 1]) / det, (h0 * g[:, 1] - h1 * g[:, 0]) / det
        size = np.maximum(np.abs(dc + db * middle) / _STEP, 1.0)
        c, b = (np.clip(old + step / size, -self.box, self.box) for old, step in zip(atoms.T, (dc, db), strict=False))
        return np.stack([c, b, a, beta, v], axis=1)


@takes_float64("x", "y", "theta")
def cut_starts(
    x: np.ndarray, y: np.ndarray, theta: np.ndarray, *, box: float, variances: tuple[float, float], keep: int
) -> np.ndarray:
    """Return the starts (B, keep, N + 1, 5) in which an expert of a fit (B, N, 5) is cut in two, the best first.

    The gates of the two halves differ in slope by three quarters of the box.
    """
    _one_dimensional(x, "an expert is cut at one input, of one dimension")
    return np.stack([_cuts(*of_one, box, variances, keep) for of_one in zip(x[..., 0], y, theta, strict=True)])


def _cuts(
    x: np.ndarray, y: np.ndarray, theta: np.ndarray, box: float, variances: tuple[float, float], keep: int
) -> np.ndarray:
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    c, b, a, beta, v = theta.T
    off = y[:, None] - x[:, None] * a - beta
    weight = softmax(c + x[:, None] * b - 0.5 * (off * off / v + np.log(v)), axis=1)
    powers = np.stack([np.ones_like(x), x, x * x, y, x * y, y * y], axis=-1)
    moments = np.cumsum(weight[..., None] * powers[:, None], axis=0)  # (n, N, 6)
    left, whole = moments[:-1], moments[-1]
    gain = _height(left, variances) + _height(whole - left, variances) - _height(whole, variances)
    enough = (left[..., 0] >= _LEAST) & (whole[:, 0] - left[..., 0] >= _LEAST)
    gain = np.where(enough, gain, -np.inf)
    apart = max(int(_APART * len(x)), 1)
    starts = []
    for _ in range(keep):
        at, k = np.unravel_index(np.argmax(gain), gain.shape)
        gain[max(at - apart, 0) : at + apart + 1, k] = -np.inf
        halves = np.array([_line(some, variances) for some in (left[at, k], whole[k] - left[at, k])])
        # with too few samples for another cut the halves are what the expert was
        halves = halves if enough[at, k] else np.tile(theta[k, 2:], (2, 1))
        starts.append(_cut(theta, int(k), 0.5 * (x[at] + x[at + 1]), halves, box))
    return np.stack(starts)


def _cut(theta: np.ndarray, k: int, at: float, halves: np.ndarray, box: float) -> np.ndarray:
    """Return the measure whose expert k is cut at an input into two of the lines and variances (2, 3)."""
    out = np.concatenate([theta, theta[k : k + 1]])
    out[[k, -1], 2:] = halves
    # the gates that rise more than the old one take over on the right, where they do so now among themselves
    right = np.append(theta[:, 1] > theta[k, 1], True)
    out[right, :2] += _CUT_STEEP * box * np.array([-at, 1.0])
    # measured against the middle one, they are within the box as far as can be
    out[:, :2] -= out[np.argsort(out[:, 1])[len(theta) // 2], :2]
    out[:, :4] = np.clip(out[:, :4], -box, box)
    return out


def _line(moments: np.ndarray, variances: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return slope, level and variance of the weighted regression with sums of moments (..., 6)."""
    w, sx, sxx, sy, sxy, syy = np.moveaxis(moments, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mx, my = sx / w, sy / w
        varied = np.maximum(sxx / w - mx * mx, 1e-12)
        a = (sxy / w - mx * my) / varied
        v = syy / w - my * my - a * a * varied
    return a, my - a * mx, np.clip(np.nan_to_num(v), *variances)


def _height(moments: np.ndarray, variances: tuple[float, float]) -> np.ndarray:
    """Return the weighted log-likelihood of the best line, up to a constant that halves and whole share."""
    w, sx, sxx, sy, sxy, syy = np.moveaxis(moments, -1, 0)
    a, beta, v = _line(moments, variances)
    squares = syy - 2 * a * sxy - 2 * beta * sy + a * a * sxx + 2 * a * beta * sx + beta * beta * w
    return -0.5 * (w * np.log(v) + squares / v)  # type: ignore[no-any-return]  # np.moveaxis says too little
