"""Solvers: they know residuals and likelihoods, not papers.

:func:`least_squares` and :func:`maximum_likelihood` are the doors for data of one's own. The first refuses
what :func:`moestat.fit.newton.least_squares`, which the experiments call, fits as far as it goes: there a data set that
is not finite must not stop the others of its batch, and ends with a status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moestat.arrays import Array
    from moestat.fit.mixture import MixtureFit
    from moestat.fit.newton import Fit
    from moestat.models.regression import Model


def least_squares(model: Model, x: Array, y: Array, starts: Array, **settings: Any) -> Fit:
    """Fit a regression mixture after a look at the data.

    Arguments are those of :func:`moestat.fit.newton.least_squares`: lists and numbers of any real type, without axes of
    length 0.

    Raises
    ------
    moestat.errors.InputError
        If an argument is empty, or holds what is not finite or is masked.
    """
    from moestat.doors import as_float64
    from moestat.errors import InputError
    from moestat.fit import newton

    axes = {"x": f"(B, n, d) with d = {model.d}", "y": "(B, n)", "starts": f"(B, S, N, P) with P = {model.atom_size}"}
    arrays = {name: as_float64(array, name) for name, array in {"x": x, "y": y, "starts": starts}.items()}
    for name, array in arrays.items():
        if 0 in array.shape:
            raise InputError(f"{name} has shape {tuple(array.shape)}; allowed is {axes[name]}, no length of which is 0")
        if not bool((abs(array) < float("inf")).all()):
            raise InputError(f"{name} holds a number that is not finite; allowed are finite numbers")
    return newton.least_squares(model, **arrays, **settings)


def maximum_likelihood(x: Any, y: Any, *, experts: int, gate: str = "softmax", **settings: Any) -> MixtureFit:
    """Fit a Gaussian mixture of linear experts to one data set: :func:`moestat.fit.mixture.maximum_likelihood`."""
    from moestat.fit import mixture

    return mixture.maximum_likelihood(x, y, experts=experts, gate=gate, **settings)
