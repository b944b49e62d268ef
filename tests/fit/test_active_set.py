"""The driver of batched solvers, against a slow loop that treats every member by itself."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.fit import active_set


class Pair(NamedTuple):
    value: Any
    double: Any


@dataclass(frozen=True)
class Batch(active_set.Rows):
    members: Any
    state: dict
    at: Pair
    rounds: Any


@dataclass(frozen=True)
class Result:
    at: Pair
    rounds: Any


def halvings(xp, start):
    """Halve every number until it is below 1, and count how often; record the sizes of the batches that stepped."""
    sizes = []

    def examine(batch):
        return batch, batch.at.value < 1.0

    def step(batch):
        sizes.append(batch.members.shape[0])
        value = 0.5 * batch.at.value
        assert bool(xp.all(batch.state["start"] >= 2.0 * value))  # rows stay together
        return replace(batch, at=Pair(value, 2.0 * value), rounds=batch.rounds + 1)

    def result(batch, rows):
        part = batch.take(rows)
        return Result(part.at, part.rounds)

    start = xp.asarray(np.array(start, dtype=float))
    members = xp.arange(start.shape[0], dtype=xp.int64)
    batch = Batch(members, {"start": start}, Pair(start, 2.0 * start), xp.zeros_like(members))
    return active_set.run(batch, examine, result, step), sizes


@pytest.mark.parametrize("xp", [np, strict])
@settings(max_examples=20)
@given(start=st.lists(st.floats(0.0, 1000.0), max_size=7))
def test_every_member_ends_as_alone_in_its_own_place_and_works_no_longer(xp, start):
    result, sizes = halvings(xp, start)
    counts = []
    for value, end in zip(start, np.asarray(result.at.value), strict=True):
        counts.append(0)
        while value >= 1.0:
            value, counts[-1] = 0.5 * value, counts[-1] + 1
        assert end == value
    assert np.asarray(result.rounds).tolist() == counts
    np.testing.assert_array_equal(np.asarray(result.at.double), 2.0 * np.asarray(result.at.value))
    assert sizes == [sum(count > k for count in counts) for k in range(max(counts, default=0))]
