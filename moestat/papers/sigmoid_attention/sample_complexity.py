"""The table of sample complexities (sigmoid-attention, Table 1), filled from results that other studies left.

One cell reads one series (an arm and a loss of a study that was run before) and says how fast it falls and how many
times the samples halve it. Nothing is simulated here. A cell is identified by a digest of the very numbers that it
reads, so a table never outlives its inputs: when those change, its cells are other cells.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat import rates
from moestat.arrays import Device
from moestat.experiment import Cell, SettingsModel
from moestat.status import Status

EXPONENTS = {"eps^-2": -0.5, "eps^-4": -0.25, "exp(eps^(-1/tau))": 0.0}
"""Orders of Table 1 and the slope of the error against n that each of them means; 0: slower than any power."""


class Settings(SettingsModel):
    """Where a row of the table comes from, and what the paper says about it."""

    study: str = Field(min_length=1, description="the study whose results are read")
    source_preset: str = Field("quick", description="the preset of that study")
    source_arm: str = Field(min_length=1, description="its arm")
    loss: str = Field("over_atom", description="the variable of its results that is taken as the error")
    order: Literal["eps^-2", "eps^-4", "exp(eps^(-1/tau))"] = Field(description="samples for an error eps, as printed")
    results: str = Field("", description="the folder of all results; empty: the one that this study writes to")
    inputs: str = Field("", description="digest of the numbers read; found by itself, and part of the cell's identity")

    @model_validator(mode="after")
    def _readable(self) -> Settings:
        present = digest(series(self), series(self, converged_only=True))
        if self.inputs and self.inputs != present:
            raise ValueError(
                f"{file_of(self)} holds other numbers than those this cell was planned for; plan the table again"
            )
        object.__setattr__(self, "inputs", present)
        return self


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Read one series and fit its rate.

    Returns
    -------
    xarray.Dataset
        One value per cell: ``slope``, ``slope_low``, ``slope_high`` (95 % interval over the replicates of the
        source), ``halving``, ``halving_low``, ``halving_high`` (times the samples that halve the error, 2^(-1/slope);
        infinite where the error does not fall), ``predicted_slope``, ``error_first``, ``error_last`` (geometric
        means), ``source_replicates``, and the interval without replicates that did not converge, ``converged_low``
        and ``converged_high`` (NaN where too few are left). Repeated for every replicate, as text: ``order``,
        ``reasons`` (why the rate is not to be trusted), ``source_file``, ``source_sha256`` and ``source_date``.
    """
    settings = Settings(**cell.settings)
    losses = series(settings)
    fit = rates.fit(losses, over="n", draws=0)
    converged = rates.fit(series(settings, converged_only=True), over="n", draws=0)
    path = file_of(settings)
    source, sha256 = _read(path)
    logs = np.log(losses.where(losses > 0).sortby("n").values)
    means = np.exp(np.nanmean(logs, axis=1))
    cell_values: dict[str, Any] = {
        "slope": fit.slope,
        "slope_low": fit.low,
        "slope_high": fit.high,
        "halving": halving(fit.slope),
        "halving_low": halving(fit.low),
        "halving_high": halving(fit.high),
        "predicted_slope": EXPONENTS[settings.order],
        "error_first": float(means[0]),
        "error_last": float(means[-1]),
        "converged_low": converged.low,
        "converged_high": converged.high,
        "source_replicates": fit.complete,
    }
    texts = {
        "message": "Read from the results of another study.",
        "order": settings.order,
        "reasons": " ".join(fit.reasons),
        "source_file": path.as_posix(),
        "source_sha256": sha256,
        "source_date": str(source.attrs.get("date", "unknown")),
    }
    done = np.full(len(replicates), int(Status.CONVERGED), dtype=np.int64)
    dataset = xr.Dataset(cell_values, coords={"replicate": np.asarray(replicates, dtype=np.int64)})
    dataset["status"] = ("replicate", done)
    for name, text in texts.items():
        dataset[name] = ("replicate", np.full(len(done), text))
    dataset["iterations"] = ("replicate", np.zeros(len(done), dtype=np.int64))
    return dataset


def halving(slope: float) -> float:
    """Return how many times the samples halve an error that falls like n**slope.

    >>> halving(-0.5), halving(-0.25), halving(0.1)
    (4.0, 16.0, inf)
    """
    if np.isnan(slope):
        return float("nan")
    if slope >= 0:
        return float("inf")
    return float(np.exp2(min(-1.0 / slope, 1023.0)))


def folder_of_all(settings: Settings) -> str:
    """Return the folder of all results: the one named, the one of the present run, or ``outputs``."""
    return settings.results or os.environ.get("MOESTAT_OUTPUTS", "outputs")


def file_of(settings: Settings) -> Path:
    """Return the file that a row reads."""
    return Path(folder_of_all(settings)) / settings.study / settings.source_preset / "results.nc"


def series(settings: Settings, *, converged_only: bool = False) -> xr.DataArray:
    """Return the errors (n, replicate) that a row rests on, NaN for replicates without values (or not converged).

    Raises
    ------
    ValueError
        If the study has not been run, or its results lack the arm or the loss; the message says what to run.
    """
    path = file_of(settings)
    command = (
        f"python -m moestat.study {settings.study} --preset {settings.source_preset} --out {folder_of_all(settings)}"
    )
    if not path.is_file():
        raise ValueError(
            f"the study {settings.study!r} has not been run at preset {settings.source_preset!r}: there is no {path}. "
            f"Run it first: {command}"
        )
    source, _ = _read(path)
    arms = [str(arm) for arm in source["arm"].values]
    if settings.source_arm not in arms:
        raise ValueError(f"{path} holds no arm {settings.source_arm!r}; run it with that arm: {command}")
    if settings.loss not in source.data_vars:
        raise ValueError(f"{path} holds no variable {settings.loss!r}; it comes from another version: {command}")
    part = source[[settings.loss, "status"]].sel(arm=settings.source_arm)
    part = part.squeeze([d for d in part.dims if d not in ("n", "replicate") and part.sizes[d] == 1], drop=True)
    usable = [int(status) for status in Status if status.has_value]
    computed = part["status"].isin(usable)
    if not bool(computed.any()):
        raise ValueError(f"the arm {settings.source_arm!r} of {path} has no values; finish its run: {command}")
    inside = computed.any("replicate")
    counted = part["status"] == int(Status.CONVERGED) if converged_only else computed
    losses = part[settings.loss].where(counted).isel(n=np.flatnonzero(inside.values)).transpose("n", "replicate")
    return losses.astype(np.float64).reset_coords(drop=True)


def _read(path: Path) -> tuple[xr.Dataset, str]:
    """Return results and the SHA-256 of their file, once per version of the file: many rows share one."""
    state = path.stat()
    return _read_version(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read_version(path: Path, changed: int, size: int) -> tuple[xr.Dataset, str]:
    content = path.read_bytes()
    with xr.open_dataset(io.BytesIO(content), engine="h5netcdf") as source:
        return source.load(), hashlib.sha256(content).hexdigest()


def digest(*arrays: xr.DataArray) -> str:
    """Return a digest of series: sizes, replicates and values."""
    parts = [
        part
        for losses in arrays
        for part in (losses["n"].values.astype(np.float64), losses["replicate"].values.astype(np.int64), losses.values)
    ]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]
