import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moestat.fit.active_set import merge, put, spread, take


@pytest.mark.parametrize("xp", [np, strict])
@given(where=st.lists(st.booleans(), min_size=1, max_size=8))
def test_what_is_put_is_where_it_was_taken(xp, where):
    where = np.array(where)
    old, new = np.arange(2.0 * len(where)).reshape(-1, 2), -1.0 - np.arange(2.0 * where.sum()).reshape(-1, 2)
    expected = old.copy()
    expected[where] = new
    result = put(*(xp.asarray(v) for v in (old, new, where)))
    np.testing.assert_array_equal(np.asarray(result), expected)
    positions = xp.asarray(np.flatnonzero(where))
    np.testing.assert_array_equal(np.asarray(take({"a": {"b": result}}, positions)["a"]["b"]), new)
    flags = np.arange(where.sum()) % 2 == 0
    expected_flags = np.zeros(len(where), dtype=bool)
    expected_flags[where] = flags
    np.testing.assert_array_equal(np.asarray(spread(xp.asarray(flags), xp.asarray(where))), expected_flags)


def test_merge_replaces_the_members_in_place():
    state = {"a": np.arange(3), "b": np.arange(3.0)}
    where = np.array([True, False, True])
    merged = merge(state, {"a": np.array([7, 8]), "b": np.array([7.0, 8.0])}, where)
    np.testing.assert_array_equal(merged["a"], [7, 1, 8])
