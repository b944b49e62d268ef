"""Gates, experts and ground truths: values, derivatives, samplers.

:func:`sample` is the door for numbers of one's own. It refuses what :func:`moestat.models.truths.sample`, which the
experiments call, leaves to the arithmetic: the version of their code, and every record with it, hangs on that one.
"""

from __future__ import annotations

from typing import Any


def sample(model: Any, theta: Any, n: Any, noise_variance: Any, rng: Any, **laws: Any) -> Any:
    """Draw n samples of a regression, after a look at the numbers; see :func:`moestat.models.truths.sample`.

    Parameters
    ----------
    model : moestat.models.regression.Model
    theta : array (N, P)
        The truth, one row per atom.
    n : int
        At least 1.
    noise_variance : float
        Finite, at least 0.
    rng : numpy.random.Generator
    **laws
        ``law_of_x``, ``law_of_noise``.

    Returns
    -------
    x : array (n, d)
    y : array (n,)

    Raises
    ------
    moestat.errors.InputError
        If a number is not allowed, or the truth has another shape.
    """
    from math import inf
    from numbers import Integral, Real

    from moestat.errors import InputError
    from moestat.models import truths
    from moestat.sentences import show

    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise InputError(f"n is {show(n)}; allowed are whole numbers from 1")
    real = isinstance(noise_variance, Real) and not isinstance(noise_variance, bool)
    if not (real and 0 <= float(noise_variance) < inf):
        raise InputError(f"noise_variance is {show(noise_variance)}; allowed are finite numbers from 0")
    shape = tuple(getattr(theta, "shape", ()))
    if len(shape) != 2 or shape[0] < 1 or shape[1] != model.atom_size:
        raise InputError(
            f"theta has shape {shape}; allowed is (N, P) with P = {model.atom_size}, one row for each of N >= 1 atoms"
        )
    return truths.sample(model, theta, int(n), float(noise_variance), rng, **laws)
