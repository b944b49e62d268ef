"""The error of fitted experts in the results of a study: fitted parameters against all representations of the truth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import xarray as xr

from moestat.cache import cached
from moestat.errors import InputError
from moestat.experiment import Source
from studies.sigmoid_attention.parts.expert_error import PARTS
from studies.sigmoid_attention.parts.expert_error import expert_errors as errors_of
from studies.sigmoid_attention.parts.regression_problem import embed
from studies.sigmoid_attention.parts.regression_settings import Settings


def expert_errors(source: Source, arm: str) -> xr.Dataset:
    """Return :func:`.expert_error.expert_errors` of the fits of an arm, each (n, replicate).

    ``source``: results of the experiment ``regression``, with the settings of the arms and the fitted parameters
    ``theta``, or with the errors of their experts in the place of these; ``arm``: its fitted model must contain the
    truth.
    """
    ds = source.dataset
    if arm in _stored(ds):
        return xr.Dataset({name: _of_fits(ds[STORED.format(name)].sel(arm=arm)) for name in PARTS})
    known = json.loads(ds.attrs.get("settings", "{}"))
    if "theta" not in ds.data_vars or arm not in known:
        raise InputError(
            f"{source.path} holds no parameters, or not the settings, of the arm {arm!r}: {source.command}"
        )
    settings = Settings(n=int(ds["n"].values[0]), **known[arm])
    model = settings.problem.fitted
    if not settings.problem.contains_truth:
        raise InputError(f"{source.path}: the fitted model of the arm {arm!r} does not contain the truth")
    theta = ds["theta"].sel(arm=arm)
    theta = theta.squeeze([d for d in theta.dims if d not in KEPT and theta.sizes[d] == 1], drop=True).transpose(*KEPT)
    own = theta.values[:, :, : settings.n_fitted, : model.atom_size]
    seed, replicates = int(ds.attrs["seed"]), [int(r) for r in theta["replicate"].values]

    def compute() -> dict[str, np.ndarray]:
        errors = {name: np.empty(own.shape[:2]) for name in PARTS}
        for column, replicate in enumerate(replicates):
            problem = settings.problem_of(replicate % settings.truths)
            truth = problem.true_parameters(seed)
            found = errors_of(own[:, column], embed(truth, problem.truth, model), model)
            for name in PARTS:
                errors[name][:, column] = found[name]
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
    coords = {name: ds[name].values for name in ("n", "replicate")}
    return xr.Dataset({name: (("n", "replicate"), errors[name]) for name in PARTS}, coords=coords)


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


def _of_fits(errors: xr.DataArray) -> xr.DataArray:
    """Return the errors of one arm as (n, replicate), and nothing else."""
    plain = errors.drop_vars([name for name in errors.coords if name not in FITS])
    return plain.transpose(*FITS).drop_attrs()


ERRORS_VERSION = 1  # of cached errors: to be raised when their numbers change
FITS = ("n", "replicate")
KEPT = (*FITS, "atom", "coordinate")  # the dimensions of the fitted parameters of one arm
STORED = "expert_{}"  # the name that a part of the error has among the results of a study
LABELS = {
    "output": "error of the experts' outputs to the nearest representation",
    "eta": "error of the experts' parameters to the nearest representation",
    "eta_vanished": "the same, of experts that vanish there",
    "eta_others": "the same, of the others",
}
