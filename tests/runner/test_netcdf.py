"""Results are read as xarray reads them."""

import numpy as np
import pytest
import xarray as xr

from moestat.runner import netcdf, records


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_as_xarray_reads_it(tmp_path, packed):
    rng, dims = np.random.default_rng(0), ("arm", "n", "replicate")
    texts = np.array(["", "an \N{GREEK SMALL LETTER ALPHA}", "longer than the others"] * 8, dtype=object)
    ds = xr.Dataset(
        {
            "loss": (dims, rng.normal(size=(2, 3, 40)), {"units": "1", "valid_range": [0.0, np.inf], "binary": 1}),
            "status": (dims, rng.integers(-1, 3, (2, 3, 40))),
            "hit": (("arm", "n"), np.array([[True, False, True]] * 2)),
            "message": (("arm", "entry"), np.stack([texts, texts[::-1]])),
            "root": ("arm", np.array([1 + 2j, -0.5j])),
            "none": (("arm", "empty"), np.zeros((2, 0))),
            "square": (("arm", "arm_too"), np.eye(2)),
            "one": ((), 0.1),
            "word": ((), "a word"),
        },
        coords={"arm": ["a", "b"], "n": [10, 100, 1000], "label": ("arm", np.array(["A", "B b"], dtype=object))},
        attrs={"title": "a title", "seed": 7, "level": 0.95, "list": [1, 2], "lines": "one\ntwo", "empty": ""},
    )
    path = tmp_path / "results.nc"
    path.write_bytes(records.netcdf(ds) if packed else bytes(ds.to_netcdf(engine="h5netcdf")))
    with xr.open_dataset(path, engine="h5netcdf", decode_times=False, decode_timedelta=False) as opened:
        wanted = opened.load()
    found = netcdf.load(path)
    assert found.identical(wanted)
    assert {name: v.dtype for name, v in found.variables.items()} == {n: v.dtype for n, v in wanted.variables.items()}
    assert {key: type(value) for key, value in found.attrs.items()} == {k: type(v) for k, v in wanted.attrs.items()}
