"""The identities behind the verdicts by argument on "expert-count" (``arguments.py``), on drawn instances.

Plain NumPy, sharing nothing with the models of the package. One expert without a router, P = K = 4 and J = 8, trained
by eq. (5) on samples of Definition 1, and the race of its patches in the limit of sigma_0 to 0.
"""

from __future__ import annotations

from functools import cache

import numpy as np

START = 1e-3  # sigma_0, below (1 - P^(-1/2))^5 = 1/32
K = P = 4
J, D, N, RATE = 8, 12, 400, START / 10
T_1 = round(START**0.5 / RATE)
ASKED = 1 - START**0.2


def _samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw patches (N, P, D) and labels; v_k is unit vector k, c_k is unit vector K + k."""
    k, y = rng.integers(0, K, N), rng.choice([-1.0, 1.0], N)
    other = (k + rng.integers(1, K, N)) % K
    x = np.zeros((N, P, D))
    rows = np.arange(N)
    x[rows, 0, k] = y * rng.uniform(0.5, 2, N)
    x[rows, 1, K + k] = rng.uniform(1, 2, N)
    x[rows, 2, other] = rng.choice([-1.0, 1.0], N) * rng.uniform(0.5, 3, N)
    x[:, 3:] = rng.standard_normal((N, P - 3, D)) / D**0.5
    order = np.argsort(rng.random((N, P)), axis=1)
    return np.take_along_axis(x, order[:, :, None], axis=1), y


def _trained(rng: np.random.Generator, *, equal: bool, experts: int = 1) -> tuple[float, float, float]:
    """Train one expert of some to T_1: the share of its gradient, the steps after T^(m) over T_1, and its growth.

    The router is off: of several experts each sees samples at random, with a gate of 1 / M. The share is that of the
    norm along the own signal in the patch where it is least, the largest after T^(m); the growth is the least <w, v> of
    the own signals, over (1 - sigma_0^0.2) eta times the steps after T^(m).
    """
    x, y = _samples(rng)
    w = (
        np.repeat(START * rng.standard_normal((1, J, D)), P, axis=0)
        if equal
        else START * rng.standard_normal((P, J, D))
    )
    own = np.arange(P), *np.unravel_index(np.argmax(w[:, :, :K].reshape(P, -1), axis=1), (J, K))
    after, largest = 0, 0.0
    for _ in range(T_1):
        s = np.einsum("npd,pjd->npj", x, w)
        slope = -y / (1 + np.exp(y * np.sum(s**3, axis=(1, 2)) / experts)) / N
        if experts > 1:
            slope *= (rng.integers(0, experts, N) == 0) / experts
        gradient = np.einsum("n,npj,npd->pjd", slope, 3 * s**2, x)
        norm = float(np.linalg.norm(gradient))
        if after or norm >= experts**2 * START**1.8:
            after += 1
            largest = max(largest, float(np.min(-gradient[own])) / norm)
        w -= RATE * gradient / norm
    return largest, after / T_1, float(w[own].min()) / (ASKED * RATE * after)


@cache  # of two arguments
def shares_of_patches() -> dict[str, float]:
    """Return Lemma 14's share of the norm in every patch: what it asks for, and what three trainings have."""
    rng = np.random.default_rng(14)
    share, after, growth = np.array([_trained(rng, equal=True) for _ in range(3)]).T
    of_two, after_of_two, _ = np.array([_trained(rng, equal=True, experts=2) for _ in range(3)]).T
    return {
        "share asked for": ASKED,
        "largest share in every patch": float(share.max()),
        "steps after T^(m) over T_1": float(after.min()),
        "least growth over that of Lemma 15": float(growth.min()),
        "largest share in every patch, two experts": float(of_two.max()),
        "steps after T^(m) over T_1, two experts": float(after_of_two.min()),
    }


def race_of_patches() -> dict[str, float]:
    """Return how far the last of P independent patches comes, in four trainings and in the limit, and its error there.

    In the limit x_p' = c x_p^2 with one clock for all patches, so that 1 / x_p falls by the same: where the first has
    come to sigma_0^0.5, another is at 1 / (1 / x_p(0) - 1 / x_1(0) + sigma_0^-0.5).
    """
    rng = np.random.default_rng(63)
    found = {"last patch over (63), largest of four": max(_trained(rng, equal=False)[2] for _ in range(4))}
    for scale in (1e-4, 1e-8):
        start = scale * np.max(rng.standard_normal((4000, P, J * K)), axis=2)
        reached = 1 / (1 / start - 1 / start.max(axis=1, keepdims=True) + scale**-0.5)
        found[f"last patch over sigma_0^0.5, {scale:g}"] = float(np.median(reached.min(axis=1))) / scale**0.5
    for name, equal in (("independent", False), ("equal", True)):
        errors = [_error_in_the_limit(rng, equal=equal) for _ in range(400)]
        found[f"median error in the limit, {name} patches"] = float(np.median(errors))
    return {name.replace("0.0001", "1e-4").replace("1e-08", "1e-8"): value for name, value in found.items()}


def _error_in_the_limit(rng: np.random.Generator, *, equal: bool) -> float:
    """Return the error of one expert on its own cluster for sigma_0 to 0, n to infinity, in units of its start.

    Products with signals are where the first of all, which is then without bound, leaves them; those with centres and
    noise are where they began.
    """
    shape = (1 if equal else P, J, K)
    label, centre = (np.broadcast_to(rng.standard_normal(shape), (P, J, K)) for _ in range(2))
    first = np.unravel_index(np.argmax(label), label.shape)
    with np.errstate(divide="ignore"):
        label = 1 / (1 / label - 1 / label[first])
    label = np.where(np.isfinite(label), label, 1e6)
    y, place = rng.choice([-1.0, 1.0], N), np.argsort(rng.random((N, P)), axis=1)
    own, other = first[2], (first[2] + rng.integers(1, K, N)) % K
    alpha, beta, gamma = rng.uniform(0.5, 2, N), rng.uniform(1, 2, N), rng.uniform(0.5, 3, N)
    f = np.sum((y * alpha * label[place[:, 0], :, own].T) ** 3, axis=0)
    f += np.sum((beta * centre[place[:, 1], :, own].T) ** 3, axis=0)
    f += np.sum((rng.choice([-1.0, 1.0], N) * gamma * label[place[:, 2], :, other].T) ** 3, axis=0)
    f += np.sum(rng.standard_normal((N, P - 3, J)) ** 3, axis=(1, 2))
    return float(np.mean(y * f <= 0))


def moves_of_routing() -> dict[str, float]:
    """Return the largest change of a routing probability over that of the scores, by sums over the noise.

    Tied experts, of which one is raised and the others are lowered, the worst case: the probability that it is chosen
    is the integral of the others' distribution function over its own noise.
    """
    r, move = (np.arange(20_000) + 0.5) / 20_000, 1e-3
    ratios = [
        abs(np.mean(np.clip(r + 2 * move, 0, 1) ** (m - 1)) - 1 / m) / move for m in (2, 4, 16, 64, 256)
    ]  # raised by 2 t against the others
    return {"largest |p - p'| over |h - h'|": float(max(ratios))}
