"""The rows of a batch: every fit is done once, rows stay full, and little is lost to idle ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from moestat.fit.slots import IDLE, Slots


def run(lengths, most):
    """Let fits of so many rounds, a list for each data set, pass; return their order of ending, and what was paid."""
    starts = np.array([len(own) for own in lengths])
    slots, left, order = Slots(starts, most), np.concatenate(lengths), []
    of = np.repeat(np.arange(len(starts)), starts)
    rounds = rows = layouts = 0
    while True:
        before = slots.member.copy()
        old = slots.lay_out()
        if old is not None:
            layouts += len(old)
            kept = before[old[old != IDLE]]
            np.testing.assert_array_equal(slots.member[old != IDLE], kept)  # whoever was there goes on
            assert sorted(kept) == sorted(before[before != IDLE])
        active = slots.active
        if not active.any():
            return order, rounds, rows, layouts
        np.testing.assert_array_equal(slots.sets[slots.data][active], of[slots.member[active]])
        assert len(np.unique(slots.member[active])) == active.sum()
        assert len(slots.member) <= most
        rounds, rows = rounds + 1, rows + len(slots.member)
        left[slots.member[active]] -= 1
        done = active & (left[np.maximum(slots.member, 0)] == 0)
        order += slots.member[done].tolist()
        fresh = slots.leave(done)
        assert not (fresh & ~done).any()


@given(
    some.lists(some.lists(some.sampled_from([1, 2, 3, 30]), max_size=9), min_size=1, max_size=9), some.integers(1, 20)
)
def test_every_fit_is_done_once(lengths, most):
    order = run([np.array(own, dtype=np.int64) for own in lengths], most)[0]
    assert sorted(order) == list(range(sum(map(len, lengths))))


def test_the_rows_of_a_data_set_stay_full_until_it_has_no_more_starts():
    lengths = np.full((1, 64), 5)
    lengths[0, ::7] = 50
    _, rounds, rows, _ = run(lengths, 8)
    assert rows <= 1.2 * lengths.sum() and rounds <= 1.2 * lengths.sum() / 8 + 50


def test_data_sets_that_are_done_make_room_for_others():
    lengths = np.random.default_rng(0).integers(10, 100, (64, 1))
    _, rounds, rows, layouts = run(lengths, 16)
    assert rows <= 1.15 * lengths.sum() and rounds <= 1.15 * lengths.sum() / 16 + 100
    assert layouts <= 64 + rows / 10
