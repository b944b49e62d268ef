import numpy as np

from moestat.fit.contest import SAME, distinct


def test_the_best_distinct_points_of_each_replicate_go_on():
    owner = np.array([1, 0, 0, 1, 0, 0, 2, 2])
    units = np.array([3.0, 5.0, 0.0, 3.0 + SAME / 2, SAME / 2, 2.0, np.inf, np.inf])
    rows, twin = distinct(owner, units / 100, 100, 2)
    np.testing.assert_array_equal(rows, [2, 5, 0, 6])
    # the second of replicate 1 and the fifth of replicate 0 are at known points; the worst has no room; inf is no point
    np.testing.assert_array_equal(twin, [0, -1, 2, 0, 2, 5, 6, -1])


def test_one_point_goes_on_though_all_are_alike():
    rows, twin = distinct(np.zeros(3, dtype=int), np.full(3, 0.7), 50, 2)
    assert rows.tolist() == [0] and twin.tolist() == [0, 0, 0]
