"""Whatever the contract accepts comes back from ``results.nc`` bit for bit; the rest is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import write_study

from moestat.errors import UserError
from moestat.runner import collect, contract, results, shard, store, worker
from moestat.runner.plan import make
from moestat.study import load

REPLICATES = 3
CODE = {"all definitions": "0" * 32}

TEXTS = st.text(st.characters(codec=None), max_size=4) | st.sampled_from(
    ["", "a\0b", "\ud800", "days since 2000", "😀"]
)
NAMES = st.sampled_from(["x", "a b", "é", "..", "a/b", "", ".", " x", "_x", "_nc4_non_coord_x", "a\nb", "arm", "n"])
NAMES |= st.text(max_size=3)
KEYS = NAMES | st.sampled_from(
    ["scale_factor", "add_offset", "_FillValue", "missing_value", "units", "calendar", "dtype", "coordinates", "CLASS"]
    + ["_Unsigned", "NAME", "bounds", "grid_mapping", "valid_range", "long_name", "_Encoding", "DIMENSION_LIST"]
)
NUMBERS = st.integers() | st.floats() | st.booleans() | st.sampled_from([2**53, 2**53 + 1, 2**63, -(2**63), 2**70])
VALUES = st.one_of(TEXTS, NUMBERS, st.none(), st.just({}), st.lists(NUMBERS, max_size=3), st.lists(TEXTS, max_size=3))
VALUES |= st.sampled_from([np.float32(1.5), np.int8(3), np.arange(3), np.array([0.5]), np.eye(2), b"x", 1j, ["a", 1]])
DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G", ">f8", ">i4", "U", "O"]


@st.composite
def arrays(draw, length):
    """Values of any type that NumPy has, at their extremes too."""
    kind = draw(st.sampled_from(DTYPES))
    if kind in "UO":
        texts = draw(st.lists(TEXTS if kind == "U" else TEXTS | st.none(), min_size=length, max_size=length))
        return np.array(texts, dtype=object) if kind == "O" else np.array(texts or [""])[:length]
    raw = draw(st.binary(min_size=32 * length, max_size=32 * length))
    if kind == "?":
        return np.frombuffer(raw, dtype="u1")[:length] > 127
    if kind in ("g", "G"):
        return np.full(length, 1 / 3, dtype=kind)
    return np.frombuffer(raw, dtype=kind)[:length].copy()


@st.composite
def datasets(draw):
    """What an experiment may return: variables, labels and attributes of all kinds, most of them harmless."""
    size = draw(st.integers(0, 2))
    per_replicate = draw(arrays(REPLICATES))
    own = draw(arrays(size).filter(lambda a: a.dtype != np.float16))  # pandas has no labels of this type
    name, other, dim = draw(NAMES), draw(NAMES), draw(NAMES | st.just("expert"))
    attrs = draw(st.dictionaries(KEYS, VALUES, max_size=2))
    variables = {
        "status": ("replicate", np.zeros(REPLICATES, dtype=np.int64)),
        name: ("replicate", per_replicate, attrs),
    }
    coords = {"replicate": np.arange(REPLICATES)}
    place = draw(st.sampled_from(["labels", "values", "none"]))
    if place == "labels":
        coords[dim] = (dim, own, draw(st.dictionaries(KEYS, VALUES, max_size=1)))
        variables["matrix"] = (("replicate", dim), np.arange(REPLICATES * size).reshape(REPLICATES, size))
    elif place == "values":
        variables[other] = ((dim,), own)
    return xr.Dataset(variables, coords=coords, attrs=draw(st.dictionaries(KEYS, VALUES, max_size=1)))


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trip")
    return make(load.read(write_study(folder, grid="n = [10]", replicates=REPLICATES)))


def collected(plan, folder, variables):
    """Write one shard of the first cell, so that the second is a gap, collect and return what readers see."""
    planned = plan.cells[0]
    content = shard.encode(planned.cell, range(REPLICATES), variables, CODE, {"seconds": 0.0})
    path = shard.write(folder, planned.digest, content, range(REPLICATES), CODE)
    scan = store.scan(folder, plan, CODE)
    dataset, _ = collect.collect(scan)
    results.write(folder, dataset)
    path.unlink()
    # older xarray makes spans of time of numbers with a unit of time, unless it is told
    plain = xr.load_dataset(folder / results.NAME, engine="h5netcdf", decode_timedelta=False)
    return results.read(folder / results.NAME), plain


def same(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays hold the same bits, whatever the container: gaps make floats of whole numbers."""
    if one.shape != two.shape:
        return False
    if one.dtype.kind in "OUT" or two.dtype.kind in "OUT":
        return one.size == 0 or one.astype(object).tolist() == two.astype(object).tolist()
    wide = np.promote_types(one.dtype, two.dtype)
    if wide.kind not in "fc":
        return bool(np.array_equal(one, two))
    one, two = (np.atleast_1d(a.astype(wide)).view(f"f{wide.itemsize // (1 + (wide.kind == 'c'))}") for a in (one, two))
    signs = [np.signbit(a[~np.isnan(a)]) for a in (one, two)]
    return np.array_equal(one, two, equal_nan=True) and np.array_equal(*signs)


FAST = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@FAST
@given(data=st.data())
def test_what_the_contract_accepts_comes_back_bit_for_bit(plan, tmp_path_factory, data):
    try:
        dataset = data.draw(datasets())
    except ValueError:  # xarray itself refuses
        return
    cell = plan.cells[0].cell
    try:
        variables = contract.check(dataset, cell, range(REPLICATES))
    except contract.ContractError as error:
        assert str(error).isprintable()
        return
    folder = tmp_path_factory.mktemp("one")
    for read in collected(plan, folder, variables):
        first = read.isel(arm=0, n=0)
        for name, array in dataset.variables.items():
            if name == "replicate":
                continue
            assert same(first[name].values, np.asarray(array.values)), name
            for key, value in array.attrs.items():
                assert np.array_equal(np.ravel(first[name].attrs[key]), np.ravel(value), equal_nan=_real(value)), key
        for key, value in dataset.attrs.items():
            assert same(first[key].values, np.asarray(value))


def _real(value) -> bool:
    return np.asarray(value).dtype.kind == "f"


def dataset(**changes):
    variables = {"status": ("replicate", [0, 0, 0]), "loss": ("replicate", [1.0, 2.0, 3.0])}
    return xr.Dataset(variables | changes, coords={"replicate": range(REPLICATES)})


def labelled(*labels):
    return dataset(expert=("expert", list(labels)), x=(("replicate", "expert"), np.ones((3, 2))))


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "returned a NoneType"),
        (xr.Dataset({"loss": 1.0}), "without the dimension and coordinate 'replicate'"),
        (dataset().isel(replicate=[1, 0, 2]), "the replicates 1, 0, 2, asked for were 0, 1, 2"),
        (dataset().drop_vars("status"), "without 'status'"),
        (dataset(status=("replicate", [0, 77, 0])), "status 77"),
        (dataset(n=("replicate", [1, 2, 3])), "names of the grid"),
        (dataset(x=(("replicate", "arm"), np.ones((3, 1)))), "names of the grid"),
        (dataset(x=("replicate", np.array([{}] * 3, dtype=object))), "Python objects"),
        (dataset(x=("replicate", np.array(["2020"] * 3, dtype="datetime64[ns]"))), "of type datetime64"),
        (dataset().assign_attrs(loss=3), "attribute 'loss'"),
        (dataset(loss=("replicate", np.ones(3), {"scale_factor": 2.0})), "'loss', which has an attribute"),
        (dataset(loss=("replicate", np.ones(3), {"units": "days since 2000-01-01"})), "'loss', which has an attribute"),
        (dataset(loss=("replicate", np.ones(3), {"x": {}})), "'loss', which has an attribute"),
        (dataset(loss=("replicate", np.ones(3), {"x": "a\0b"})), "'loss', which has an attribute"),
        (dataset(**{"a/b": ("replicate", [1, 2, 3])}), "is called 'a/b'"),
        (dataset(x=(("replicate", "a/b"), np.ones((3, 1)))), "is called 'a/b'"),
        (dataset(x=("replicate", [2**60, 1, 2])), r"beyond 2\*\*53"),
        (dataset(x=("replicate", np.ones(3, dtype="g"))), "at most 64 bits"),
        (dataset(x=("replicate", ["a", "a\0b", "b"])), "no character"),
        (dataset(message=("replicate", [1, 2, 3])), "one text per replicate"),
        (labelled(1, 1), "a label twice"),
        (labelled(1, np.nan), "no finite number"),
    ],
)
def test_what_breaks_the_contract_is_named(plan, returned, told):
    with pytest.raises(contract.ContractError, match=told):
        contract.check(returned, plan.cells[0].cell, range(REPLICATES))


def test_a_message_that_no_file_can_hold_is_written_readably():
    text = worker.describe(ValueError("a\0b \ud800"))
    assert text.startswith("ValueError: a\\0b \\ud800") and contract.readable(text) == text


def test_a_shard_with_an_attribute_that_would_change_values_is_not_collected(plan, tmp_path):
    values = shard.Variable(("replicate",), np.arange(3.0), {"scale_factor": 2.0})
    status = shard.Variable(("replicate",), np.zeros(3, dtype=np.int64))
    with pytest.raises(UserError, match="'loss' has an attribute that is 'scale_factor'.*compute its results again"):
        collected(plan, tmp_path, {"status": status, "loss": values})
