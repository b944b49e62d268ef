r"""The papers' own protocol: minibatch gradient descent, a fixed number of epochs, from a start near the truth.

It is an estimator of its own, not a way to compute least squares: with the published settings it ends about one
statistical scale above the minimum, or where it started. What the start radius and the batch size do to a measured
slope is the point of having it, so both are explicit. Source: "sigmoid-attention", Appendix E.1 (10 epochs, step 0.1,
start near the truth; the paper states neither the batch size nor the radius).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import array_api_compat
import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import RNGLike, as_generator, takes_float64
from moestat.fit import kernel
from moestat.models.regression import Model

LAUNCHED = 512
"""Rows of a step, over all replicates and starts, below which the processor computes: a GPU would do little but launch
some fifty kernels a step, half a million in ten epochs of n = 1e5 in batches of 100."""
_ROWS = 8192  # samples gathered at a time, rounded to whole minibatches; the numbers do not depend on it


@takes_float64("theta")
def perturb(theta: np.ndarray, radius: float, rng: RNGLike) -> np.ndarray:
    """Add independent N(0, radius^2) to every stored coordinate, (..., N, P).

    A is stored isometrically, so this is the law of the symmetric part of A + E with E a full matrix of independent
    N(0, radius^2): variance radius^2 on the diagonal and radius^2 / 2 off it. An antisymmetric part, which the
    regression function cannot see, does not exist here. Starts that differ in the radius alone share their direction.
    """
    if not radius >= 0:
        raise ValueError(f"radius is {radius}; it must be at least 0")
    return theta + radius * as_generator(rng).standard_normal(theta.shape)


@takes_float64("x", "y", "start")
def sgd(
    model: Model,
    x: Array,
    y: Array,
    start: Array,
    *,
    batch_size: int,
    order: Sequence[np.ndarray | np.random.Generator] | None = None,
    epochs: int = 10,
    step: float = 0.1,
) -> Array:
    """Run minibatch gradient descent on the squared error, all replicates and starts as one array program.

    A member that diverges comes back with entries that are not finite.

    Parameters
    ----------
    x, y : arrays (R, n, d), (R, n)
    start : array (R, K, N, P) or (R, N, P)
        K starts per replicate (start rules, say), which share the replicate's samples and their order.
    batch_size : int
        Samples per step: 1 to n; n is full-batch gradient descent. The last step of an epoch takes what is left.
    order : sequence of R orders, optional
        Per replicate either its permutations of 0..n-1, an int array (epochs, n), or a generator that draws one per
        epoch. A replicate's result depends on its own order only. Not needed for full batches.
    step : float, default 0.1
        Of the mean of r^2 over the minibatch, as in PyTorch's ``MSELoss``: it is taken times the mean of 2 r df/dtheta.
        In the isometric coordinates it is the step on the full matrix A, whose antisymmetric part does not move.
    """
    if x.ndim != 3 or y.shape != x.shape[:2] or start.ndim not in (3, 4) or start.shape[0] != x.shape[0]:
        shapes = ", ".join(str(tuple(part.shape)) for part in (x, y, start))
        raise ValueError(f"x, y, start have shapes {shapes}; they must be (R, n, d), (R, n), (R, K, N, P) or (R, N, P)")
    n = x.shape[1]
    if not 1 <= batch_size <= n:
        raise ValueError(f"batch_size is {batch_size}; allowed are 1 to n = {n}")
    if epochs < 0:
        raise ValueError(f"epochs is {epochs}; it must be at least 0")
    if not step > 0:
        raise ValueError(f"step is {step}; it must be positive")
    xp = namespace(x, y, start)
    theta = start if start.ndim == 4 else start[:, None, :, :]
    if array_api_compat.is_cupy_array(x) and batch_size < n and x.shape[0] * theta.shape[1] * batch_size < LAUNCHED:
        here = (to_numpy(part) for part in (x, y, start))
        return xp.asarray(sgd(model, *here, batch_size=batch_size, order=order, epochs=epochs, step=step))
    rate = step * 2.0  # the model's gradient is that of half the mean square
    # overflow is how divergence shows; it is left in the result for the caller to count
    with np.errstate(over="ignore", invalid="ignore"):
        if batch_size == n:
            gradient_at = on_all_samples(model, theta.shape[-2], x, y)
            for _ in range(epochs):
                theta = theta - rate * gradient_at(theta)[1]
            return xp.reshape(theta, start.shape)
        for part_x, part_y in _minibatches(x, y, batch_size, _orders(order, x.shape[0], n, epochs, batch_size)):
            _, gradient = model.gradient(theta, part_x[:, None, :, :], part_y[:, None, :])
            theta = theta - rate * gradient
    return xp.reshape(theta, start.shape)


def on_all_samples(model: Model, n_atoms: int, x: Array, y: Array) -> Callable[[Array], tuple[Array, Array]]:
    """Return half the mean squared residual on all samples x (R, n, d), y (R, n), as a function of theta (R, K, N, P).

    It returns values (R, K) and gradients, by compiled code where that is possible.
    """
    if not kernel.serves(x):
        return lambda theta: model.gradient(theta, x[:, None, :, :], y[:, None, :])
    from moestat.fit.compiled_problem import CompiledProblem  # needs numba, and half a second to import it

    problem = CompiledProblem(model, n_atoms, x, y)

    def compiled(theta: Array) -> tuple[Array, Array]:
        loss, gradient = problem.gradient(theta.reshape(-1, *theta.shape[-2:]))
        return loss.reshape(theta.shape[:2]), gradient.reshape(theta.shape)

    return compiled


def _orders(
    order: Sequence[np.ndarray | np.random.Generator] | None, replicates: int, n: int, epochs: int, batch_size: int
) -> Iterator[np.ndarray]:
    """Yield the permutations (R, n) of each epoch."""
    if order is None or len(order) != replicates:
        given = "not given" if order is None else f"given for {len(order)}"
        raise ValueError(
            f"the order of the samples is {given}; minibatches need one for each of {replicates} replicates"
        )
    for epoch in range(epochs):
        rows = []
        for r, own in enumerate(order):
            if isinstance(own, np.random.Generator):
                rows.append(own.permutation(n))
                continue
            if np.shape(own) != (epochs, n) or np.any(np.bincount(own[epoch], minlength=n) != 1):
                raise ValueError(f"the order of replicate {r} must be {epochs} permutations of 0..{n - 1}")
            rows.append(own[epoch])
        yield np.stack(rows)


def _minibatches(x: Array, y: Array, batch_size: int, orders: Iterator[np.ndarray]) -> Iterator[tuple[Array, Array]]:
    """Yield the samples (R, b, d), (R, b) of every step of every epoch."""
    xp = namespace(x, y)
    replicates, n, d = x.shape
    flat_x, flat_y = xp.reshape(x, (-1, d)), xp.reshape(y, (-1,))
    first = n * np.arange(replicates)[:, None]
    block = max(_ROWS // batch_size, 1) * batch_size
    for order in orders:
        for begin in range(0, n, block):
            rows = xp.asarray((order[:, begin : begin + block] + first).reshape(-1))
            size = min(block, n - begin)
            block_x = xp.reshape(xp.take(flat_x, rows, axis=0), (replicates, size, d))
            block_y = xp.reshape(xp.take(flat_y, rows, axis=0), (replicates, size))
            for k in range(0, size, batch_size):
                part = slice(k, min(k + batch_size, size))
                yield block_x[:, part, :], block_y[:, part]
