"""Compare two folders of outputs, study by study: which numbers are equal to the bit, and which are not.

    python benchmarks/compare_outputs.py OLD NEW [--preset quick]

For a change that must not reach a number: keep the outputs of the old code, run the studies again with the new code,
and compare. Measurements of the machine (attribute ``measurement``) and messages are left out. The exit code is 1 if a
number differs, so that a difference that is meant must be named with --expect STUDY.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr


def differences(old: xr.Dataset, new: xr.Dataset) -> dict[str, str]:
    """Return variable -> how it differs between two collected datasets."""
    out = {}
    for name in sorted(set(old.variables) | set(new.variables)):
        if name not in new.variables:
            out[name] = "is gone"
        elif name not in old.variables:
            out[name] = "is new"
        else:
            a, b = old[name], new[name]
            if name == "message" or a.attrs.get("measurement") or b.attrs.get("measurement"):
                continue
            if a.dims != b.dims or a.shape != b.shape:
                out[name] = f"has the shape {dict(b.sizes)} and had {dict(a.sizes)}"
            elif a.dtype.kind in "fc" and not np.array_equal(a.values, b.values, equal_nan=True):
                size = np.abs(a.values - b.values) / np.maximum(np.abs(a.values), 1e-300)
                share = float(np.mean(~((a.values == b.values) | (np.isnan(a.values) & np.isnan(b.values)))))
                out[name] = f"differs in {100 * share:.3g} % of its values, by {np.nanmax(size):.2g} of them at most"
            elif a.dtype.kind not in "fc" and not np.array_equal(a.values, b.values):
                out[name] = "differs"
    return out


def verdicts(old: Path, new: Path) -> list[str]:
    """Return the claims whose verdict is another one."""
    if not (old.is_file() and new.is_file()):
        return []
    a, b = (pd.read_csv(path).set_index("claim")["verdict"] for path in (old, new))
    both = a.index.intersection(b.index)
    return [f"{claim}: {a[claim]} -> {b[claim]}" for claim in both if a[claim] != b[claim]]


def main() -> int:
    """Print one line per study, and what differs below it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--preset", default="quick")
    parser.add_argument(
        "--expect", action="append", default=[], metavar="STUDY", help="a study that is meant to differ"
    )
    arguments = parser.parse_args()
    surprises = 0
    for folder in sorted(p.parent.parent for p in arguments.new.glob(f"*/{arguments.preset}/results.nc")):
        places = [root / folder.name / arguments.preset for root in (arguments.old, arguments.new)]
        if not (places[0] / "results.nc").is_file():
            print(f"{folder.name}: new")
            continue
        old, new = (xr.open_dataset(place / "results.nc", engine="h5netcdf").load() for place in places)
        common = min(old.sizes["replicate"], new.sizes["replicate"])  # a replicate does not depend on their number
        cut = [ds.isel(replicate=slice(common)) for ds in (old, new)]
        lines = [f"{name} {how}" for name, how in differences(*cut).items()]
        if old.sizes["replicate"] == new.sizes["replicate"]:
            lines += verdicts(*(place / "claims.csv" for place in places))
        surprises += bool(lines) and folder.name not in arguments.expect
        word = "as meant" if folder.name in arguments.expect else "DIFFERS"
        print(f"{folder.name}: {word if lines else 'equal to the bit'}")
        for line in lines:
            print(f"    {line}")
    return int(surprises > 0)


if __name__ == "__main__":
    raise SystemExit(main())
