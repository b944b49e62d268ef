"""The rows of a batch: every fit is done once, rows stay full, and little is lost to idle ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from moestat.fit.slots import IDLE, Slots


def run(lengths, most):
    """Let fits of so many rounds, (data sets, starts), pass; return their order of ending, and what was paid for."""
    sets, starts = lengths.shape
    slots, left, order = Slots(sets, starts, most), lengths.reshape(-1).copy(), []
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
        np.testing.assert_array_equal(slots.sets[slots.data][active], slots.member[active] // starts)
        assert len(np.unique(slots.member[active])) == active.sum()
        assert len(slots.member) <= most
        rounds, rows = rounds + 1, rows + len(slots.member)
        left[slots.member[active]] -= 1
        done = active & (left[np.maximum(slots.member, 0)] == 0)
        order += slots.member[done].tolist()
        fresh = slots.leave(done)
        assert not (fresh & ~done).any()


@given(some.integers(1, 9), some.integers(1, 9), some.integers(1, 20), some.randoms(use_true_random=False))
def test_every_fit_is_done_once(sets, starts, most, random):
    lengths = np.array([[random.choice([1, 2, 3, 30]) for _ in range(starts)] for _ in range(sets)])
    assert sorted(run(lengths, most)[0]) == list(range(sets * starts))


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
