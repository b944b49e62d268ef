"""A cheap experiment: the mean of n normal draws. It can be told to be slow, to raise, to die, to not converge."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.experiment import Cell, SettingsModel
from moestat.status import Status


class Settings(SettingsModel):
    n: int = Field(ge=1)
    kind: Literal["mean", "median"] = "mean"
    shift: float = 0.0
    experts: int = Field(2, ge=1)
    seconds: float = 0.0
    raise_at: tuple[int, ...] = ()
    stall_at: tuple[int, ...] = ()
    die_at: tuple[int, ...] = ()
    share: str = ""


def prerequisites(cell: Cell) -> list[dict]:
    share = cell.settings["share"]
    return [{"share": share, "seed": cell.study_seed}] if share else []


def prepare(prerequisite: dict, *, device: str) -> None:
    folder = os.environ["MOESTAT_CACHE"]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "prepared.log"), "a") as stream:
        stream.write(f"{prerequisite['share']}\n")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    settings = Settings(**cell.settings)
    log = os.environ.get("TOY_LOG")
    if log:
        with open(log, "a") as stream:
            stream.write(f"{cell.digest[:20]} {' '.join(map(str, replicates))}\n")
    estimates, raw, status, messages = [], [], [], []
    for replicate in replicates:
        if replicate in settings.raise_at:
            raise ArithmeticError(f"replicate {replicate} cannot be computed")
        if replicate in settings.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(settings.seconds)
        x = cell.generator(replicate, "data", n=settings.n).standard_normal((settings.n, settings.experts))
        centre = x.mean(axis=0) if settings.kind == "mean" else np.median(x, axis=0)
        estimates.append(float(np.abs(centre).max()) + settings.shift)
        raw.append(centre)
        stalled = replicate in settings.stall_at
        status.append(Status.STALLED if stalled else Status.CONVERGED)
        messages.append(status[-1].sentence if stalled else "")
    return xr.Dataset(
        {
            "error": ("replicate", np.array(estimates)),
            "centre": (("replicate", "expert"), np.array(raw)),
            "status": ("replicate", np.array([int(s) for s in status])),
            "message": ("replicate", np.array(messages, dtype=object)),
            "iterations": ("replicate", np.full(len(replicates), 3)),
            "theory": np.sqrt(1.0 / settings.n),
        },
        coords={"replicate": list(replicates), "expert": np.arange(settings.experts)},
        attrs={"policy": f"the {settings.kind}"},
    )
