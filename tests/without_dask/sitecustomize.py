"""Hides dask from a process: where it is installed, xarray imports it, for 0.6 s, with the first dataset."""

import sys

sys.modules["dask"] = sys.modules["distributed"] = None  # type: ignore[assignment]  import fails, and find_spec is None
