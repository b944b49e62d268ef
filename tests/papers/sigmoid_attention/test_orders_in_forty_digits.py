"""Orders of f and of the losses along the paths of Theorems 1 and 3 and Lemma 2, in forty digits from the formulas."""

import numpy as np
import pytest

from moestat.papers.sigmoid_attention.gate_pairs import flat_share

mp = pytest.importorskip("mpmath")

D = 2
PHI = {"gelu": lambda h: h * mp.ncdf(h), "relu": lambda h: max(h, mp.mpf(0))} | {
    f"power {p}": (lambda h, p=p: h**p) for p in (1, 2, 3)
}


def sigma(s):
    return 1 / (1 + mp.exp(-s))


def logit(w):
    return mp.log(w / (1 - w))


def numbers(rng, *shape):
    return (
        mp.matrix(rng.standard_normal(shape).tolist())
        if len(shape) > 1
        else [mp.mpf(v) for v in rng.normal(size=shape)]
    )


def atom(rng):
    m = numbers(rng, D, D)
    return {"A": (m + m.T) / 2, "b": numbers(rng, D), "c": numbers(rng, 1)[0], "eta": numbers(rng, D + 1)}


def f(measure, phi, x):
    total = mp.mpf(0)
    for g in measure:
        s = g["c"] + sum(g["b"][i] * x[i] for i in range(D))
        s += sum(g["A"][i, j] * x[i] * x[j] for i in range(D) for j in range(D))
        total += sigma(s) * PHI[phi](sum(g["eta"][i] * x[i] for i in range(D)) + g["eta"][D])
    return total


def size(v):
    return mp.sqrt(sum(u * u for u in v))


def apart(g, t):
    blocks = [[u - v for u, v in zip(g[k], t[k], strict=True)] for k in ("A", "b", "eta")]
    return [*map(size, blocks), abs(g["c"] - t["c"]), size(blocks[2][:D]), abs(blocks[2][D])]


def loss(measure, truth, name, r=1):
    cells = [[] for _ in truth]
    for g in measure:
        far = [sum(v**2 for v in apart(g, t)[:3]) for t in truth]
        cells[far.index(min(far))].append(g)
    total = mp.mpf(0)
    for cell, t in zip(cells, truth, strict=True):
        over = len(cell) > 1
        total += abs(sum(sigma(g["c"]) for g in cell) - sigma(t["c"])) if over else 0
        for g in cell:
            a_matrix, b, eta, c, slope, beta = apart(g, t)
            if name == "L1":
                total += a_matrix**2 + b**2 + eta**2 if over else a_matrix + b + eta + c
            else:
                total += a_matrix**r + b**r + slope**r + beta**r + (0 if over else c**r)
    return total


def setting(seed=3):
    rng = np.random.default_rng(seed)
    truth = [atom(rng), atom(rng)]
    truth[1] |= {"A": mp.zeros(D), "b": [mp.mpf(0)] * D, "c": mp.mpf(0)}  # a constant gate of weight 1/2
    points = [[mp.mpf(v) for v in rng.uniform(-1, 1, D)] for _ in range(25)]
    return truth, points, rng


def order(of):
    near, far = of(mp.mpf("0.001")), of(mp.mpf("0.002"))
    return float(mp.log(far / near, 2))


def change(path, truth, phi, points):
    return lambda t: size([f(path(t), phi, x) - f(truth, phi, x) for x in points])


def opposite(truth, share):
    """b_i = +-t u / sigma'_i with A_i of order t^2 from the conditions of second and third order."""
    u = [mp.mpf(3) / 5, mp.mpf(4) / 5]
    weights = [share / 2, (1 - share) / 2]
    first = [g * (1 - g) for g in weights]
    second = [s * (1 - 2 * g) for s, g in zip(first, weights, strict=True)]
    third = [s * (1 - 6 * s) for s in first]
    beta = [1 / first[0], -1 / first[1]]
    if share == mp.mpf(1) / 2:
        alpha = [-s * b**2 / (2 * p) for p, s, b in zip(first, second, beta, strict=True)]
    else:
        rows = mp.matrix([first, [s * b for s, b in zip(second, beta, strict=True)]])
        right = [-sum(s * b**2 for s, b in zip(second, beta, strict=True)) / 2]
        right += [-sum(s * b**3 for s, b in zip(third, beta, strict=True)) / 6]
        alpha = list(mp.lu_solve(rows, mp.matrix(right)))

    def path(t):
        outer = mp.matrix(D)
        for i in range(D):
            for j in range(D):
                outer[i, j] = u[i] * u[j]
        ends = zip(weights, beta, alpha, strict=True)
        pair = [truth[1] | {"c": logit(g), "b": [t * b * v for v in u], "A": t**2 * a * outer} for g, b, a in ends]
        return [truth[0], *pair]

    return path


@pytest.mark.parametrize(("phi", "share", "power"), [("gelu", 0.5, 4), ("relu", 0.5, 4), ("gelu", None, 5)])
def test_opposite_b_moves_f_by_more_than_the_power_of_L1(phi, share, power):
    """By t^4, and at unequal shares of the weight 1/2 by t^5, where L1 moves by t^2."""
    with mp.workdps(40):
        truth, points, _ = setting()
        path = opposite(truth, mp.mpf(flat_share(0.5) if share is None else share))
        assert order(change(path, truth, phi, points)) == pytest.approx(power, abs=0.03)
        assert order(lambda t: loss(path(t), truth, "L1")) == pytest.approx(2, abs=1e-3)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_a_vanishing_atom_and_the_printed_and_corrected_sequences(power):
    """As eta vanishes like t, f moves by t^p; along the sequence of Lemma 2 by t^2, and when corrected not at all."""
    with mp.workdps(40):
        truth, points, rng = setting()
        phi, other = f"power {power}", atom(rng)
        vanishing = lambda t: [*truth, other | {"eta": [t * v for v in other["eta"]]}]  # noqa: E731
        assert order(change(vanishing, truth, phi, points)) == pytest.approx(power, abs=1e-6)
        truth[1]["eta"] = [mp.mpf(0)] * D + [mp.mpf(1)]
        quarter = logit(mp.mpf(1) / 4)

        def printed(t):
            return [truth[0], *(truth[1] | {"c": quarter, "eta": [0] * D + [1 + e * t]} for e in (1, -1))]

        moved = change(printed, truth, phi, points)
        assert order(moved) == pytest.approx(2, abs=1e-3) if power > 1 else moved(mp.mpf("0.1")) < 1e-35
        for r in (1, 2, 4):
            assert order(lambda t, r=r: loss(printed(t), truth, "L2r", r)) == pytest.approx(r, abs=1e-6)
        truth[1]["eta"] = numbers(rng, D + 1)

        def corrected(t):
            factors = (1 + t, mp.root(2 - (1 + t) ** power, power))
            return [truth[0], *(truth[1] | {"c": quarter, "eta": [k * v for v in truth[1]["eta"]]} for k in factors)]

        assert change(corrected, truth, phi, points)(mp.mpf("0.1")) < 1e-35
        assert loss(corrected(mp.mpf("0.1")), truth, "L2r", 4) > 1e-5
