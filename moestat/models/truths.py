"""Ground truths, samples from them, and their over-specified representations.

Source: "sigmoid-attention", Appendix E.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal

import numpy as np

from moestat.arrays import to_numpy
from moestat.doors import RNGLike, as_float64, as_generator, takes_float64
from moestat.errors import InputError
from moestat.models.experts import HOMOGENEOUS
from moestat.models.gates import pack_symmetric
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.sentences import show

Regime = Literal["dense", "sparse"]
LawOfX = Callable[[np.random.Generator, int, int], np.ndarray]  #: ``law(rng, n, d)`` returns n points (n, d).
LawOfNoise = Callable[[np.random.Generator, int], np.ndarray]
"""``law(rng, n)`` returns n draws (n,) of mean 0 and variance 1."""


def ground_truth(model: Model, n_true: int, regime: Regime, rng: RNGLike, *, n_sparse: int = 2) -> np.ndarray:
    """Draw a ground truth (N*, P): every coordinate i.i.d. N(0, 1/d), A drawn as a full matrix and symmetrised.

    The draws do not depend on the score, gate or expert, so models that differ only in those share their truth.
    "sparse" sets (A, b, c) = 0 for the last ``n_sparse`` atoms, "dense" leaves the atoms as drawn.
    """
    if regime not in ("dense", "sparse"):
        raise ValueError(f"regime is {regime!r}; allowed are dense, sparse")
    if n_true < 1:
        raise ValueError(f"n_true is {n_true}; it must be at least 1")
    if regime == "sparse" and not 1 <= n_sparse <= n_true:
        raise ValueError(f"n_sparse is {n_sparse}; it must be between 1 and n_true = {n_true}")
    rng = as_generator(rng)
    d, scale = model.d, 1.0 / math.sqrt(model.d)
    matrices = scale * rng.standard_normal((n_true, d, d))
    b, c, a, beta = (scale * rng.standard_normal((n_true, size)) for size in (d, 1, d, 1))
    gate = [c]
    if model.score != "partial":
        gate.append(b)
    if model.score != "linear":
        gate.append(pack_symmetric(matrices))
    theta = np.concatenate([*gate, a, beta], axis=-1)
    if regime == "sparse":
        theta[n_true - n_sparse :, : model.gate_size] = 0.0
    return theta


def uniform(rng: RNGLike, n: int, d: int) -> np.ndarray:
    """Return n points (n, d), uniform on [-1, 1]^d."""
    return as_generator(rng).uniform(-1.0, 1.0, size=(n, d))


def standard_normal(rng: RNGLike, n: int) -> np.ndarray:
    """Return n standard normal draws (n,)."""
    return as_generator(rng).standard_normal(n)


def sample(
    model: Model | FunctionModel,
    theta: np.ndarray | Callable[[np.ndarray], np.ndarray],
    n: int,
    noise_variance: float,
    rng: RNGLike,
    *,
    law_of_x: LawOfX = uniform,
    law_of_noise: LawOfNoise = standard_normal,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n samples (n, d), (n,) of Y = f(X) + sqrt(noise_variance) times noise that is independent of X.

    ``theta`` is the truth: atoms (N, P), or any function f from points (n, d) to values (n,). An
    :class:`moestat.errors.InputError` refuses numbers that are not allowed, and a truth of another shape.
    """
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise InputError(f"n is {show(n)}; allowed are whole numbers from 1")
    real = isinstance(noise_variance, Real) and not isinstance(noise_variance, bool)
    if not (real and 0 <= float(noise_variance) < math.inf):
        raise InputError(f"noise_variance is {show(noise_variance)}; allowed are finite numbers from 0")
    rng = as_generator(rng)
    if callable(theta):
        x = law_of_x(rng, n, model.d)
        values = np.asarray(theta(x))
        if values.shape != (n,) or values.dtype.kind not in "biuf":
            raise InputError(f"the truth returned {values.dtype} {values.shape}; allowed are real numbers ({n},)")
        return x, values + math.sqrt(noise_variance) * law_of_noise(rng, n)
    theta = to_numpy(as_float64(theta, "theta"))
    shape = theta.shape
    if len(shape) != 2 or shape[0] < 1 or shape[1] != model.atom_size:
        wanted = f"(N, P) with P = {model.atom_size}, one row for each of N >= 1 atoms"
        raise InputError(f"theta has shape {shape}; allowed is {wanted}")
    x = law_of_x(rng, n, model.d)
    noise = law_of_noise(rng, n)
    return x, model.predict(theta, x) + math.sqrt(noise_variance) * noise


@takes_float64("theta")
def split(model: Model, theta: np.ndarray, n_fitted: int) -> np.ndarray:
    """Represent a truth exactly with more atoms: the last atom is replaced by several, (..., N, P).

    With m copies of the last atom (c, b, A, eta):

    * softmax: m equal atoms with c - log m, the same b, A and eta;
    * sigmoid, gate of the last atom constant (sparse regime): m equal atoms of weight sigmoid(c) / m, eta unchanged,
      so that the weights of the cell add up to the true weight;
    * sigmoid, homogeneous expert of degree p: m equal atoms with eta / m^(1/p), the gate unchanged;
    * sigmoid, GELU: the atom itself and m - 1 null atoms with its gate and eta = 0.

    A gate of the user's own is split like the sigmoid one where the gate is not constant, and an expert of the user's
    own, for which phi(0) must be 0, like GELU.
    """
    n_true = theta.shape[-2]
    if n_fitted < n_true:
        raise ValueError(f"n_fitted is {n_fitted}; it must be at least the number of true atoms, {n_true}")
    if n_fitted == n_true:
        return theta.copy()
    m = n_fitted - n_true + 1
    copies = np.repeat(theta[..., -1:, :], m, axis=-2)
    if model.gate == "softmax":
        copies[..., 0] -= math.log(m)
        return np.concatenate([theta[..., :-1, :], copies], axis=-2)
    constant = np.all(theta[..., -1, 1 : model.gate_size] == 0.0, axis=-1)[..., None] & (model.gate == "sigmoid")
    # sigmoid(c') = sigmoid(c) / m  <=>  exp(-c') = m exp(-c) + m - 1, evaluated without overflow
    c = copies[..., 0]
    shared = -np.logaddexp(math.log(m) - c, math.log(m - 1))
    scaled = copies.copy()
    if model.expert in HOMOGENEOUS:
        scaled[..., model.eta] /= m ** (1.0 / model.power)
    else:
        scaled[..., 1:, model.eta] = 0.0
    copies[..., 0] = shared
    return np.concatenate([theta[..., :-1, :], np.where(constant[..., None], copies, scaled)], axis=-2)
