"""What computed a number: the processor, the kernels of BLAS and of least squares, the versions, of one process.

Every shard carries it. Two origins that differ may round differently, so that a fit with many minima ends in another
one; a run that goes on elsewhere, results of several origins, and a replay that differs say so.
"""

from __future__ import annotations

import functools
import platform
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from moestat import __version__
from moestat.fit import kernel

VERSIONS = ("moestat", "commit", "python", "platform", "numpy", "scipy", "numba", "torch")
ROUNDING = ("kernel", "blas", "simd", "numpy", "scipy", "numba", "torch", "device")
"""What two results must share to agree to the last bit; the model of the processor says no more than these."""


def here() -> dict[str, Any]:
    """Return the origin of what this process computes.

    It has ``host``, ``cpu``, ``blas`` (a text for each library that is loaded), ``simd`` (what NumPy's own loops use),
    ``kernel`` (of the least-squares fits, "" if none was asked for), and the versions of what is loaded.
    """
    return {**_fixed("torch" in sys.modules, "scipy.linalg" in sys.modules), "kernel": kernel.used()}


@functools.cache
def _fixed(torch: bool, linalg: bool) -> dict[str, Any]:
    """What does not change while a process has loaded the same libraries."""
    from threadpoolctl import threadpool_info

    rows = [row for row in threadpool_info() if row.get("user_api") == "blas"]
    keys = ("internal_api", "version", "architecture")
    facts: dict[str, Any] = {
        "host": socket.gethostname(),
        "cpu": processor(),
        "blas": sorted({" ".join(str(row[key]) for key in keys if row.get(key)) for row in rows}),
        "simd": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
        "moestat": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in ("numpy", "scipy", "numba", *(["torch"] if torch else [])):
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    return facts


@functools.cache
def commit() -> str:
    """Return the commit of this package, with ``-dirty`` behind it where its files differ; without git its version."""
    git = ["git", "-C", str(Path(__file__).resolve().parents[1])]
    run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=20)
    try:
        # else the repository is another one, around an installation
        run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True)
        name = run([*git, "rev-parse", "--short=12", "HEAD"], check=True).stdout.strip()
        return name + "-dirty" * bool(run([*git, "diff", "--quiet", "HEAD", "--", "."]).returncode)
    except (OSError, subprocess.SubprocessError):
        return __version__


def processor() -> str:
    """Return the model of the processor, as the operating system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say in what two origins differ that may change a last digit; what one of them does not know is no difference."""
    texts = []
    for key in ROUNDING:
        before, after = _texts(old.get(key)), _texts(new.get(key))
        if not (before <= after or after <= before):  # else one knows less, or has loaded a library more
            texts.append(f"{key} {' and '.join(sorted(before))} -> {' and '.join(sorted(after))}")
    return texts


def _texts(value: Any) -> set[str]:
    return {str(entry) for entry in (value if isinstance(value, list) else [value]) if entry}


def text(facts: Mapping[str, Any]) -> str:
    """Return an origin on one line: the machine, what chose its kernels, the versions."""
    parts = [facts.get("host", "an unknown machine"), *(facts.get(key, "") for key in ("cpu", "device", "kernel"))]
    parts += facts.get("blas", [])
    parts += [f"{key} {facts[key]}" for key in VERSIONS if facts.get(key)]
    return ", ".join(str(part) for part in parts if part)


def groups(entries: Iterable[Any]) -> list[tuple[dict[str, Any], int]]:
    """Return the origins of some shards that may differ in a last digit, each with the number of its replicates.

    Shards that know less than others (computed without a fit, say) are counted with the first that fits.
    """
    merged: list[tuple[dict[str, Any], int]] = []
    for entry in sorted(entries, key=lambda e: -len(e.provenance)):
        facts = {key: value for key, value in entry.provenance.items() if value}
        at = next((at for at, (known, _) in enumerate(merged) if not differences(known, facts)), len(merged))
        known, count = (*merged[at : at + 1], ({}, 0))[0]
        merged[at : at + 1] = [(facts | known, count + len(entry.replicates))]
    return merged


def remarks(entries: Iterable[Any]) -> list[str]:
    """Say that results have several origins, in one sentence, or nothing."""
    (first, count), *others = groups(entries) or [({}, 0)]
    ways = [f"{count} replicates by {text(first)}"]
    ways += [f"{count} with {', '.join(differences(first, facts))}" for facts, count in others[:3]]
    told = f"these results were computed in {len(others) + 1} ways, which may round differently: {'; '.join(ways)}"
    return [told] * bool(others)


def versions(entries: Iterable[Any]) -> dict[str, str]:
    """Return the versions of the processes that computed some shards, without any of this one; "and" joins several."""
    made = [entry.provenance for entry in entries] or [here()]
    known = {key: sorted({str(facts[key]) for facts in made if facts.get(key)}) for key in VERSIONS}
    return {key: " and ".join(numbers) for key, numbers in known.items() if numbers}
