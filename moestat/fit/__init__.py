"""Solvers: they know residuals and likelihoods, not papers.

:func:`least_squares` and :func:`maximum_likelihood` are the doors for data of one's own. The first refuses
what :func:`moestat.fit.newton.least_squares`, which the experiments call, fits as far as it goes: there a data set that
is not finite must not stop the others of its batch, and ends with a status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from moestat.arrays import Array
    from moestat.doors import RNGLike
    from moestat.fit.mixture import MixtureFit
    from moestat.fit.newton import Fit
    from moestat.models.general import FunctionModel
    from moestat.models.regression import Model


def least_squares(
    model: Model | FunctionModel,
    x: Array,
    y: Array,
    starts: Array | int | None = None,
    *,
    atoms: int | None = None,
    search: Literal["local", "global"] = "local",
    rng: RNGLike = 0,
    **settings: Any,
) -> Fit:
    """Fit a mixture of experts by least squares, whatever its gate and experts are (:func:`moestat.Model`).

    Parameters
    ----------
    x, y : arrays (B, n, d) and (B, n), or (n, d) and (n,) for one data set
        Lists and numbers of any real type, without axes of length 0.
    starts : array (N, P), (S, N, P) or (B, S, N, P), or int, default 8
        Where fits start: one start, the same S for all data sets, or S of each; or how many starts of ``atoms`` = N
        atoms are drawn at random, in the scale of the data.
    search : {"local", "global"}, default "local"
        "local" fits every start to the end and keeps the best. "global" has many more starts compete, and replaces
        atoms of the best (:mod:`moestat.fit.global_search`, :mod:`moestat.fit.general_search`): slower, and the
        estimator that theorems are about. Its ``start_losses`` are those of all fits that came to their end, NaN where
        a data set has fewer, and ``start`` is the position of the best among them.
    rng : what numpy.random.default_rng takes, default 0
        For random starts and the search. Equal seeds give equal fits.
    **settings
        Those of :func:`moestat.fit.newton.least_squares`: ``box`` (5 by default: the largest absolute value of a
        parameter), ``max_iterations``, ``tolerance``, ...; and ``budget`` of a global search.

    Raises
    ------
    moestat.errors.InputError
        If an argument is empty, has another shape, or holds what is not finite or is masked; or if the model is not
        finite at any start.
    """
    from moestat.fit import entrance

    return entrance.least_squares(model, x, y, starts, atoms, search, rng, settings)


def maximum_likelihood(x: Any, y: Any, *, experts: int, gate: str = "softmax", **settings: Any) -> MixtureFit:
    """Fit a Gaussian mixture of linear experts to one data set: :func:`moestat.fit.mixture.maximum_likelihood`."""
    from moestat.fit import mixture

    return mixture.maximum_likelihood(x, y, experts=experts, gate=gate, **settings)
