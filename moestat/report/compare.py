"""Two runs side by side: what they are, their settings, code and machine, their numbers, rates and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from moestat import versions
from moestat.errors import InputError, UserError
from moestat.report import all_settings, csv_text
from moestat.rounding import estimate, number
from moestat.runner import manifest_file, own_labels, results
from moestat.sentences import listed, show

COLUMNS = {
    "rates.csv": (("slope", "ci_low", "ci_high"), ("arm", "loss", "over")),
    "claims.csv": (("estimate", "ci_low", "ci_high"), ("claim", "verdict")),
}
"""Table -> its columns that are compared, of numbers and of texts."""
MOST = 12
"""Lines of one part that are shown; the last one counts the others."""


@dataclass(frozen=True)
class Run:
    """A collected run: its dataset, and what lies beside it."""

    path: Path
    dataset: xr.Dataset
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the report, empty where there is none.

        Raises
        ------
        UserError
            If it cannot be read, or lacks a column.
        """
        path, numbers, texts = self.path / name, *COLUMNS[name]
        if not path.exists():
            return pd.DataFrame()
        try:
            table = csv_text.frame(path)
            return table.assign(**{key: pd.to_numeric(table[key]) for key in numbers}).astype(dict.fromkeys(texts, str))
        except pd.errors.EmptyDataError:
            return pd.DataFrame()
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path} is no table of a report ({error}); make it again with the subcommand report"
            ) from None


def read(path: Path) -> Run:
    """Read the run of a folder ``<outputs>/<study>/<preset>``, or of its ``results.nc``.

    Raises
    ------
    InputError
        If there are no results.
    """
    folder = path.parent if path.name == results.NAME else path
    if not (folder / results.NAME).is_file():
        raise InputError(f"there is no {folder / results.NAME}; name the folder <outputs>/<study>/<preset> of a run")
    return Run(folder, results.read(folder / results.NAME), manifest_file.read(folder))


def differences(a: Run, b: Run) -> dict[str, list[str]]:
    """Return what differs between two runs: heading -> lines, none where nothing differs."""
    b = replace(b, dataset=own_labels.adopt(b.dataset, a.dataset))
    parts = {
        "Runs": _attributes(a, b),
        "Settings": _settings(a, b),
        "Code": _code(a, b),
        "Machine": _machine(a, b),
        "Sizes": _sizes(a, b),
        "Numbers": _numbers(a.dataset, b.dataset),
        "Rates": _rates(a, b),
        "Verdicts": _verdicts(a, b),
    }
    return {heading: _few(list(lines)) for heading, lines in parts.items()}


def _few(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], f"... and {len(lines) - MOST + 1} more"]


def _attributes(a: Run, b: Run) -> Iterator[str]:
    for key in ("study", "preset", "experiment", "seed", "set", "rules_sealed", "date"):
        yield from _change(key.replace("_", " "), a.dataset.attrs.get(key, ""), b.dataset.attrs.get(key, ""))


def _change(what: str, old: Any, new: Any) -> Iterator[str]:
    old, new = (np.asarray(value).item() if np.ndim(value) == 0 else value for value in (old, new))
    if old != new:
        texts = [show(value, 200) if value != "" else "(none)" for value in (old, new)]
        yield f"{what}: {texts[0]} -> {texts[1]}"


def _settings(a: Run, b: Run) -> Iterator[str]:
    before, after = all_settings.of_dataset(a.dataset), all_settings.of_dataset(b.dataset)
    if not before or not after:
        if before != after:
            yield "one of the runs was collected by an older moestat, which kept no settings"
        return
    for arm in dict.fromkeys([*before, *after]):
        if arm not in before or arm not in after:
            yield f"arm {arm}: only in {'A' if arm in before else 'B'}"
            continue
        for key in dict.fromkeys([*before[arm], *after[arm]]):
            yield from _change(f"{arm}: {key}", before[arm].get(key, ""), after[arm].get(key, ""))


def _code(a: Run, b: Run) -> Iterator[str]:
    old, new = a.manifest.get("code"), b.manifest.get("code")
    if old and new:
        yield from versions.changes(old, new)
    else:
        yield from _change("code", a.dataset.attrs.get("code", ""), b.dataset.attrs.get("code", ""))


def _machine(a: Run, b: Run) -> Iterator[str]:
    old, new = ([str(name) for name in run.dataset.attrs.get("versions", "").split(", ")] for run in (a, b))
    if gone := [name for name in old if name not in new]:
        yield f"A: {', '.join(gone)}"
    if more := [name for name in new if name not in old]:
        yield f"B: {', '.join(more)}"
    for key in ("kernel", "blas", "cpu", "device"):
        values = [sorted({str(o[key]) for o in run.manifest.get("origins", []) if o.get(key)}) for run in (a, b)]
        yield from _change(key, *(", ".join(v) for v in values))


def _sizes(a: Run, b: Run) -> Iterator[str]:
    for dim in dict.fromkeys([*a.dataset.sizes, *b.dataset.sizes]):
        old, new = a.dataset.sizes.get(dim, 0), b.dataset.sizes.get(dim, 0)
        if dim in a.dataset.coords and dim in b.dataset.coords and dim != "replicate":
            before, after = a.dataset[dim].values.tolist(), b.dataset[dim].values.tolist()
            gone, more = ([v for v in x if v not in y] for x, y in ((before, after), (after, before)))
            if gone or more:
                yield f"{dim}: only in A: {listed(gone, 8)}; only in B: {listed(more, 8)}"
        elif old != new:
            yield f"{dim}: {old} -> {new}"
    for key in ("missing", "failed"):
        yield from _change(key, a.dataset.attrs.get(f"count_{key}", 0), b.dataset.attrs.get(f"count_{key}", 0))


def _numbers(a: xr.Dataset, b: xr.Dataset) -> Iterator[str]:
    """Compare every variable at the cells and replicates that both runs have."""
    only = [name for name in a.data_vars if name not in b], [name for name in b.data_vars if name not in a]
    for where, names in zip("AB", only, strict=True):
        if names:
            yield f"only in {where}: {listed(names, 8)}"
    a, b = xr.align(a, b, join="inner")
    equal = 0
    for name in [name for name in a.data_vars if name in b]:
        x, y = a[name], b[name]
        if x.dims != y.dims or x.dtype.kind not in "fiub" or y.dtype.kind not in "fiub" or x.attrs.get("measurement"):
            continue
        old, new = x.values.astype(np.float64), y.values.astype(np.float64)
        other = ~((old == new) | (np.isnan(old) & np.isnan(new)))
        if old.shape != new.shape or not other.any():
            equal += 1
            continue
        size = np.maximum(np.abs(old), np.abs(new))
        finite = other & np.isfinite(size)  # a value that is infinite in one run alone has no size
        relative = np.max(np.abs(old[finite] - new[finite]) / size[finite]) if finite.any() else np.nan
        yield f"{name}: {int(other.sum())} of {other.size} differ, at most by {number(float(relative), 2)} of the value"
    if equal and a.sizes and all(a.sizes.values()):
        yield f"{equal} variables are equal bit for bit where both runs have them"


def _unreported(a: Run, b: Run, name: str) -> Iterator[str]:
    """Say which of two runs lacks a table that the other has: it was run without a report."""
    there = [(run.path / name).exists() for run in (a, b)]
    if any(there) and not all(there):
        where, run = ("A", a) if not there[0] else ("B", b)
        yield f"{where} has no report ({run.path / name} is missing); make it with the subcommand report"


def _rates(a: Run, b: Run) -> Iterator[str]:
    yield from _unreported(a, b, "rates.csv")
    for names, (old, new) in _pairs(a.table("rates.csv"), b.table("rates.csv"), ("arm", "loss", "over")):
        if new["slope"] == old["slope"] or pd.isna(old["slope"]) and pd.isna(new["slope"]):
            continue
        texts = [" ".join(estimate(row["slope"], row["ci_low"], row["ci_high"])) for row in (old, new)]
        apart = old["ci_high"] < new["ci_low"] or new["ci_high"] < old["ci_low"]
        yield f"{' '.join(names[:2])}: {texts[0]} -> {texts[1]}{'; the intervals are apart' if apart else ''}"


def _verdicts(a: Run, b: Run) -> Iterator[str]:
    unreported = list(_unreported(a, b, "claims.csv"))
    if unreported:
        yield from unreported
        return
    before, after = a.table("claims.csv"), b.table("claims.csv")
    for where, left, right in (("A", before, after), ("B", after, before)):
        have, other = (set(table["claim"]) if len(table) else set() for table in (left, right))
        if have - other:
            yield f"only in {where}: {listed(sorted(have - other), 8)}"
    for names, (old, new) in _pairs(before, after, ("claim",)):
        if old["verdict"] != new["verdict"]:
            texts = [" ".join(estimate(row["estimate"], row["ci_low"], row["ci_high"])) for row in (old, new)]
            yield f"{names[0]}: {old['verdict']} ({texts[0]}) -> {new['verdict']} ({texts[1]})"


def _pairs(
    a: pd.DataFrame, b: pd.DataFrame, keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[dict[str, Any], dict[str, Any]]]]:
    """Yield the rows of two tables that have the same names, each once."""
    rows = [
        {
            tuple(str(row.get(key)) for key in keys): {str(k): v for k, v in row.items()}
            for row in table.to_dict("records")
        }
        for table in (a, b)
    ]
    for names in rows[0]:
        if names in rows[1]:
            yield names, (rows[0][names], rows[1][names])
