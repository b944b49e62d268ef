"""Score fitted parameters that somebody has saved: losses of a whole study from plain arrays.

    losses = rescore(parameters, truth, n=sizes, model=SoftmaxGaussian(1))
    print(rates.fit(losses["D2"], over="n"))

Whatever fitted them: a script, another package, a study of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.arrays import to_numpy
from moestat.doors import as_float64, takes_float64
from moestat.losses import function, voronoi
from moestat.losses.divergences import expected_hellinger
from moestat.losses.measures import competition_losses, gaussian_gate_losses, softmax_losses
from moestat.losses.regression import regression_losses
from moestat.models.competition import Competition
from moestat.models.gates import unpack_symmetric
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian

KINDS = ("over", "exact")


def rescore(
    parameters: Any,
    truth: Any,
    *,
    n: Sequence[float] | np.ndarray,
    model: SoftmaxGaussian | GaussianGate | Competition | Model,
    x: Any = None,
) -> xr.Dataset:
    """Return the losses of fitted parameters, ready for :func:`moestat.rates.fit`.

    Parameters
    ----------
    parameters : array (S, R, N, P)
        Of R replicates at each of the S sample sizes ``n``, N atoms of P coordinates in the order of the model's class.
        Fits that are missing or failed are NaN.
    truth : array (N*, P)
        For a regression model also (K, N*, P), a list of measures: the losses are infima over it, and there are no
        blocks.
    x : array (m, d), optional
        Inputs over which the error of the fitted density (``hellinger``, ``hellinger_squared``) or regression function
        (``rmse``) is averaged; without them it is left out.

    Returns
    -------
    xarray.Dataset
        Dimensions n and replicate. For Gaussian models all of :func:`moestat.losses.measures.softmax_losses`,
        :func:`~moestat.losses.measures.gaussian_gate_losses` or
        :func:`~moestat.losses.measures.competition_losses`; for regression models those of
        :func:`moestat.losses.regression.regression_losses` and the blocks of :func:`moestat.losses.voronoi.blocks`,
        NaN where there is no cell of their kind. ``usable`` says which fits could be scored: the others (numbers that
        are not finite, variances, weights or covariances that are not positive) are NaN in every loss.

    Examples
    --------
    >>> truth = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
    >>> sizes = [100, 400, 1600, 6400]
    >>> noise = np.random.default_rng(0).normal(size=(10, 2, 5)) * [0.1, 0.1, 0.1, 0.1, 0.01]
    >>> fitted = truth + noise / np.sqrt(sizes)[:, None, None, None]
    >>> losses = rescore(fitted, truth, n=sizes, model=SoftmaxGaussian(1))
    >>> from moestat import rates
    >>> round(rates.fit(losses["D1"], over="n").slope, 1)
    -0.5
    """
    fitted, target = (to_numpy(as_float64(a, name)) for a, name in ((parameters, "parameters"), (truth, "truth")))
    sizes = to_numpy(as_float64(n, "n"))
    if fitted.ndim != 4 or fitted.shape[-1] != model.atom_size:
        wanted = f"(sizes, replicates, atoms, {model.atom_size}), as the model's atoms have so many coordinates"
        raise ValueError(f"parameters has shape {fitted.shape}; it must be {wanted}")
    if sizes.shape != fitted.shape[:1]:
        raise ValueError(f"n has shape {sizes.shape}; parameters holds fits at {fitted.shape[0]} sizes")
    if isinstance(model, Model) and model.mirror:
        raise ValueError(f"{model.mirror}; there is no loss for that")
    for name, numbers in (("truth", target), ("n", sizes)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    if 0 in fitted.shape[-2:]:
        raise ValueError(f"parameters has shape {fitted.shape}; there is no atom to score")
    losses = score(fitted, target, model, x=x)
    whole = np.asarray(n).dtype.kind in "iu"
    return xr.Dataset(
        {name: (("n", "replicate"), values) for name, values in losses.items()},
        coords={"n": np.asarray(n) if whole else sizes, "replicate": np.arange(fitted.shape[1])},
    )


@takes_float64("fitted", "truth", "x")
def score(
    fitted: np.ndarray, truth: np.ndarray, model: SoftmaxGaussian | GaussianGate | Competition | Model, *, x: Any = None
) -> dict[str, np.ndarray]:
    """Return the losses of parameters (..., N, P) as arrays (...); otherwise as :func:`rescore`."""
    usable = np.all(np.isfinite(fitted), axis=(-2, -1))
    gaussian = not isinstance(model, Model)
    if gaussian:
        usable &= np.all(np.where(np.isfinite(fitted[..., -1]), fitted[..., -1], 0.0) > 0, axis=-1)
    if isinstance(model, GaussianGate):
        known = np.where(usable[..., None, None], fitted, 0.0)
        least = np.linalg.eigvalsh(unpack_symmetric(known[..., model.spread], model.d))[..., 0]
        usable &= np.all((least > 0) & (known[..., 0] > 0), axis=-1)
    if not usable.any():
        raise ValueError(
            "parameters holds no usable fit: all have numbers that are not finite, or variances or weights <= 0"
        )
    good = fitted[usable]
    losses: dict[str, np.ndarray]
    if isinstance(model, SoftmaxGaussian):
        losses = softmax_losses(good, truth, model)
    elif isinstance(model, GaussianGate):
        losses = gaussian_gate_losses(good, truth, model)
    elif isinstance(model, Competition):
        losses = competition_losses(good, truth, model)
    else:
        losses = regression_losses(good, truth, model)
        losses |= voronoi.blocks(good, truth, model) if truth.ndim == 2 else {}
    if x is not None:
        if x.ndim != 2 or x.shape[1] != model.d:
            raise ValueError(f"x has shape {x.shape}; it must be (points, {model.d})")
        if not len(x) or not np.isfinite(x).all():
            raise ValueError("x must hold at least one point, and only finite numbers")
        if isinstance(model, Model):
            measures = truth if truth.ndim == 3 else truth[None]
            values = np.stack([model.predict(g, x) for g in measures])
            losses["rmse"] = function.rmse(model, good, values, x).min(axis=0)
        else:
            losses["hellinger"], losses["hellinger_squared"] = expected_hellinger(model, good, truth, x)
    for name in losses:
        for kind in KINDS:
            if name.endswith(f"_{kind}") and not name.startswith("cells"):
                losses[name] = np.where(losses[f"cells_{kind}"] > 0, losses[name], np.nan)
    out = {"usable": usable}
    for name, values in losses.items():
        out[name] = np.full(usable.shape, np.nan)
        out[name][usable] = values
    return out
