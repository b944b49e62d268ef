"""The error of fitted experts alone, to the nearest of all representations of the truth.

Orders such as those of Table 1 of "sigmoid-attention" are about experts. Where a fit represents the truth with an
expert split in two, each part is away from eta*. So fitted experts are compared with those of the representation that
equation (12) is least for: their parameters, and, as in equation (10), their outputs. For the order of a rate the two
are one where E(x, eta) has a derivative in eta that is not 0. A squared expert that vanishes has none at eta = 0, and
its output is of second order there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import scipy  # its submodules are imported when they are used
import xarray as xr

from moestat.cache import cached
from moestat.errors import InputError
from moestat.experiment import Source
from moestat.losses.minimisers import nearest_minimiser
from moestat.models.experts import activation, expert_features
from moestat.models.regression import Model
from studies.sigmoid_attention.parts.regression_problem import Settings, embed

ERRORS_VERSION = 1  # of cached errors: to be raised when their numbers change
SUP_LOG2 = 9  # a supremum over the cube is taken over its corners and 2**SUP_LOG2 Sobol points
STORED = "expert_{}"  # the name that a part of the error has among the results of a study
LABELS = {
    "output": "error of the experts' outputs to the nearest representation",
    "eta": "error of the experts' parameters to the nearest representation",
    "eta_vanished": "the same, of experts that vanish there",
    "eta_others": "the same, of the others",
}
PARTS = tuple(LABELS)


def expert_errors(source: Source, arm: str) -> xr.Dataset:
    """Return :func:`errors_of` the fits of an arm, each (n, replicate).

    ``source``: results of the experiment ``regression``, with the settings of the arms and the fitted parameters
    ``theta``, or with the errors of their experts in the place of these; ``arm``: its fitted model must contain the
    truth.
    """
    ds = source.dataset
    dims, coords = ("n", "replicate"), {name: ds[name].values for name in ("n", "replicate")}
    if arm in _stored(ds):
        stored = {name: ds[STORED.format(name)].sel(arm=arm).transpose(*dims).values for name in PARTS}
        return xr.Dataset({name: (dims, values) for name, values in stored.items()}, coords=coords)
    known = json.loads(ds.attrs.get("settings", "{}"))
    if "theta" not in ds.data_vars or arm not in known:
        what = f"no parameters, or not the settings, of the arm {arm!r}"
        raise InputError(f"{source.path} holds {what}: {source.command}")
    settings = Settings(n=int(ds["n"].values[0]), **known[arm])
    model = settings.problem.fitted
    if not settings.problem.contains_truth:
        raise InputError(f"{source.path}: the fitted model of the arm {arm!r} does not contain the truth")
    kept = (*dims, "atom", "coordinate")
    theta = ds["theta"].sel(arm=arm)
    theta = theta.squeeze([d for d in theta.dims if d not in kept and theta.sizes[d] == 1], drop=True).transpose(*kept)
    own = theta.values[:, :, : settings.n_fitted, : model.atom_size]
    seed, replicates = int(ds.attrs["seed"]), [int(r) for r in theta["replicate"].values]

    def compute() -> dict[str, np.ndarray]:
        errors = {name: np.empty(own.shape[:2]) for name in PARTS}
        for column, replicate in enumerate(replicates):
            problem = settings.problem_of(replicate % settings.truths)
            truth = embed(problem.true_parameters(seed), problem.truth, model)
            for name, found in errors_of(own[:, column], truth, model).items():
                errors[name][:, column] = found
        return errors

    # every report reads its sources anew, and the infima of a large study take minutes
    identity = {
        "theta": hashlib.sha256(np.ascontiguousarray(own).tobytes()).hexdigest(),
        "settings": known[arm],
        "replicates": replicates,
        "seed": seed,
        "code": ERRORS_VERSION,
    }
    errors = cached("expert-errors", identity, compute)
    return xr.Dataset({name: (dims, errors[name]) for name in PARTS}, coords=coords)


def with_errors(source: Source, arms: Sequence[str]) -> xr.Dataset:
    """Return results with the errors of the experts of some arms as variables, each (arm, n, replicate).

    Where the parameters are gone, so that they cannot be computed, the errors that are there stay.
    """
    ds = source.dataset
    if "theta" not in ds or not arms:
        return ds
    found = {arm: expert_errors(source, arm) for arm in dict.fromkeys([*_stored(ds), *arms])}
    return ds.assign(
        {
            STORED.format(name): xr.concat([errors[name] for errors in found.values()], "arm")
            .assign_coords(arm=list(found))
            .reindex(arm=ds["arm"].values)
            .assign_attrs(derived=1, long_name=LABELS[name])
            for name in PARTS
        }
    )


def _stored(ds: xr.Dataset) -> list[str]:
    """Return the arms whose errors are there."""
    if STORED.format(PARTS[0]) not in ds:
        return []
    errors = ds[STORED.format(PARTS[0])]
    return [str(arm) for arm in errors["arm"].values if errors.sel(arm=arm).notnull().any()]


def errors_of(fitted: np.ndarray, truth: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    """Return the errors of the fitted experts to the nearest minimiser, sums over fitted atoms.

    All are 0 on every representation of the truth with N atoms, superfluous ones split off or vanished; that of the
    parameters is at most the whole equation (12), :func:`moestat.losses.minimisers.L3_infimum`.

    ``fitted`` (R, N, P): measures that are not finite get NaN; ``truth`` (N*, P).

    Name -> array (R,): ``output``, the sum of sup_x |E(x, eta) - E(x, eta*)| over the cube [-1, 1]^d, equation (10);
    ``eta``, the eta block of equation (12), the sum of ||deta||, and its two parts: of the atoms whose expert vanishes
    in the minimiser (``eta_vanished``, 0 where none does) and of the others.
    """
    # the features (d + 1, K) of the corners of the cube and of Sobol points in it
    corners = 2.0 * ((np.arange(2**model.d)[:, None] >> np.arange(model.d)) & 1) - 1.0
    inside = 2.0 * scipy.stats.qmc.Sobol(model.d, scramble=False).random_base2(SUP_LOG2) - 1.0
    points = np.asarray(expert_features(np.concatenate([corners, inside])))

    def outputs(atoms: np.ndarray) -> np.ndarray:
        """Return E(x, eta) for every atom at the points, (K, N)."""
        return np.asarray(activation(model.expert, points.T @ atoms[:, model.eta].T, power=model.power)[0])

    def one(atoms: np.ndarray) -> tuple[float, ...]:
        if not (np.isfinite(atoms).all() and np.isfinite(truth).all()):
            return (float("nan"),) * len(PARTS)
        _, measure = nearest_minimiser(atoms, truth, model)
        difference = atoms[:, None, :] - measure
        cell = np.argmin(np.sum(difference[..., 1:] ** 2, axis=-1), axis=1)
        own = np.linalg.norm(difference[np.arange(len(atoms)), cell][:, model.eta], axis=1)
        vanished = np.abs(measure[cell][:, model.eta]).max(axis=1) == 0
        error = np.abs(outputs(atoms) - outputs(measure[cell])).max(axis=0)
        return float(error.sum()), float(own.sum()), float(own[vanished].sum()), float(own[~vanished].sum())

    return dict(zip(PARTS, np.array([one(atoms) for atoms in fitted]).T, strict=True))
