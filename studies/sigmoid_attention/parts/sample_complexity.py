"""The table of sample complexities (sigmoid-attention, Table 1), read from the results of other studies.

A row is one series (an arm and a loss of a study that was run before): how fast it falls, and how many times the
samples halve it. Nothing is simulated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat import rates
from moestat.errors import InputError
from moestat.experiment import SettingsModel, Source
from moestat.rates.estimate import replicate_slopes
from moestat.sentences import listed
from moestat.status import Status
from moestat.study.spec import Arm
from studies.sigmoid_attention.parts.expert_error import expert_errors, with_errors

EXPONENTS = {"eps^-2": -0.5, "eps^-4": -0.25, "exp(eps^(-1/tau))": 0.0}
"""Orders of Table 1 and the slope of the error against n that each of them means; 0: slower than any power."""


class Row(SettingsModel):
    """Where a row of the table comes from, and what the paper says about it."""

    study: str = Field(min_length=1, description="the study whose results are read")
    source_arm: str = Field(min_length=1, description="its arm")
    loss: Literal["output", "eta", "eta_vanished", "eta_others"] = "output"
    """The error of the fitted experts, see :func:`~.expert_error.errors_of`; of their outputs as in equation (10)."""
    order: Literal["eps^-2", "eps^-4", "exp(eps^(-1/tau))"] = Field(description="samples for an error eps, as printed")
    window: tuple[float, float] | None = Field(None, description="sizes n that count for the rate, both ends included")


def table(sources: Mapping[str, Source], arms: Sequence[Arm]) -> xr.Dataset:
    """Read the series of every row and fit its rate.

    ``sources``: the results of the studies that are read, by study. ``arms``: the rows; their settings are those of
    :class:`Row`.

    By ``arm``: ``slope``, ``slope_low``, ``slope_high`` (95 % interval over the replicates of the source), ``halving``
    (times the samples that halve the error, 2^(-1/slope); infinite where the error does not fall), ``predicted_slope``,
    ``error_first``, ``error_last`` (geometric means); by ``arm`` and ``member``, a replicate of the source, ``slopes``
    and ``slopes_converged`` (NaN in incomplete replicates, or where one did not converge); as text ``reasons`` (why the
    rate is not to be trusted) and ``turn`` (how the line bends).
    """
    rows = [_row(sources, Row.model_validate(arm.settings)) for arm in arms]
    ds = xr.Dataset()
    for name, first in rows[0].items():
        values = [row[name] for row in rows]
        if isinstance(first, np.ndarray):  # sources have different numbers of replicates
            longest = max(map(len, values))
            ds[name] = (("arm", "member"), [np.pad(v, (0, longest - len(v)), constant_values=np.nan) for v in values])
        else:
            ds[name] = ("arm", np.array(values, dtype=object if isinstance(first, str) else None))
    return ds


def condensed(source: Source, arms: Sequence[Arm]) -> xr.Dataset:
    """Return the results of a source with the errors that :func:`table` would compute from its fitted parameters.

    ``arms``: the rows; those of other studies, and of arms that the source does not have, say nothing.
    """
    rows, ds = [Row.model_validate(arm.settings) for arm in arms], source.dataset
    wanted = {row.source_arm for row in rows if row.study == ds.attrs["study"]}
    return with_errors(source, [arm for arm in map(str, ds["arm"].values) if arm in wanted])


def _row(sources: Mapping[str, Source], row: Row) -> dict[str, Any]:
    if row.study not in sources:
        raise InputError(f"a row reads the study {row.study!r}, which needs does not name; it names {listed(sources)}")
    losses, converged = _series(sources[row.study], row)
    fit = rates.fit(losses, over="n")
    means = np.exp(np.nanmean(np.log(losses.where(losses > 0).sortby("n").values), axis=1))
    return {
        "slope": fit.slope,
        "slope_low": fit.low,
        "slope_high": fit.high,
        "halving": halving(fit.slope),
        "predicted_slope": EXPONENTS[row.order],
        "error_first": float(means[0]),
        "error_last": float(means[-1]),
        "slopes": _own_slopes(losses),
        "slopes_converged": _own_slopes(converged),
        "reasons": " ".join(fit.reasons),
        "turn": fit.turn,
    }


def _own_slopes(losses: xr.DataArray) -> np.ndarray:
    """Return the slope of every replicate of errors (n, replicate), NaN where one is missing or not positive."""
    ordered = losses.sortby("n")
    logs = np.log(ordered.where(ordered > 0).values)
    slopes: np.ndarray = replicate_slopes(np.log(ordered["n"].values.astype(np.float64)), logs)
    return slopes


def halving(slope: float) -> float:
    """Return how many times the samples halve an error that falls like n**slope.

    >>> halving(-0.5), halving(-0.25), halving(0.1)
    (4.0, 16.0, inf)
    """
    if np.isnan(slope):
        return float("nan")
    return float("inf") if slope >= 0 else float(np.exp2(min(-1.0 / slope, 1023.0)))


def _series(source: Source, row: Row) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the errors (n, replicate) that a row rests on, NaN for replicates without values; and of those alone
    that converged.
    """
    ds, again = source.dataset, source.command
    if row.source_arm not in [str(arm) for arm in ds["arm"].values]:
        raise InputError(f"{source.path} holds no arm {row.source_arm!r}; run it with that arm: {again}")
    status = ds["status"].sel(arm=row.source_arm)
    status = status.squeeze([d for d in status.dims if d not in ("n", "replicate") and status.sizes[d] == 1], drop=True)
    computed = status.isin([int(one) for one in Status if one.has_value])
    if not bool(computed.any()):
        raise InputError(f"the arm {row.source_arm!r} of {source.path} has no values; finish its run: {again}")
    inside = computed.any("replicate")
    if row.window:
        inside &= (status["n"] >= row.window[0]) & (status["n"] <= row.window[1])
    errors = expert_errors(source, row.source_arm)[row.loss]
    found = [
        errors.where(counted).isel(n=np.flatnonzero(inside.values)).transpose("n", "replicate").reset_coords(drop=True)
        for counted in (computed, status == int(Status.CONVERGED))
    ]
    return found[0], found[1]
