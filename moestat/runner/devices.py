"""What computes: the device an experiment may use, the GPUs that are visible, the number of processes."""

from __future__ import annotations

import os

from moestat import extras
from moestat.errors import InputError
from moestat.runner.plan import Plan

BY_NAME = 'pip install "moestat[cuda13]" or "moestat[cuda12]"'
"""How :mod:`moestat.arrays` says that CuPy is installed."""


def resolve_device(asked: str, plan: Plan) -> str:
    """Return the device to compute on; ``auto`` is the first that the experiment's ``DEVICES`` name and is there."""
    from moestat.arrays import DeviceError
    from moestat.arrays import resolve_device as resolve

    able = getattr(plan.experiment, "DEVICES", None)
    if asked == "auto" and (not able or able[0] == "cpu" or len(able) == 1):
        asked = able[0] if able else "cpu"
    if able is not None and asked not in ("auto", *able):
        raise InputError(f"--device is {asked}; experiment {plan.module_name} computes on {', '.join(able)}")
    try:
        return resolve(asked)
    except (DeviceError, ValueError) as error:
        # its sentence is of the code that results depend on, which does not know where moestat runs from
        text = str(error).replace(BY_NAME, f"{extras.command('cuda13')} (or cuda12)")
        raise InputError(f"--device: {text}") from None


def for_gpu(plan: Plan) -> bool:
    """Whether an experiment computes on a GPU alone."""
    return getattr(plan.experiment, "DEVICES", None) == ("cuda",)


def default_jobs() -> int:
    """Return the number of processors that this process may use."""
    import joblib

    return int(joblib.cpu_count())


def visible_gpus() -> tuple[str, ...]:
    """Return the GPUs that may be used, as ``CUDA_VISIBLE_DEVICES`` names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return tuple(part.strip() for part in named.split(",") if part.strip())
    import cupy

    return tuple(str(number) for number in range(cupy.cuda.runtime.getDeviceCount()))
