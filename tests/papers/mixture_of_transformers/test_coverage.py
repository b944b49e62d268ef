import itertools

import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.coverage import enough_experts, near_tie, occupancy


@pytest.mark.parametrize(("classes", "experts"), [(2, 1), (3, 4), (4, 6)])
def test_occupancy_counts_all_assignments(classes, experts):
    counted = np.zeros(classes + 1)
    for assignment in itertools.product(range(classes), repeat=experts):
        counted[len(set(assignment))] += 1
    np.testing.assert_allclose(occupancy(classes, experts), counted / classes**experts, atol=1e-14)


def test_lemma_8_holds_with_constant_1_and_n_log_n_tends_to_1_over_e():
    for n in (2, 5, 30, 200):
        for delta in (0.5, 0.1, 0.01):
            m = int(np.ceil(n * np.log(n / delta)))
            assert occupancy(n, m)[-1] >= 1 - delta
            least = enough_experts(n, delta)
            assert least <= m and occupancy(n, least)[-1] >= 1 - delta > occupancy(n, least - 1)[-1]
    assert occupancy(400, int(np.ceil(400 * np.log(400))))[-1] == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize(("classes", "share"), [(2, 0.3), (4, 0.05), (8, 0.9)])
def test_near_ties_against_simulation(classes, share):
    rng = np.random.default_rng(0)
    top = np.sort(rng.standard_normal((200_000, classes)), axis=1)[:, -2:]
    simulated = np.mean(top[:, 0] > (1 - share) * top[:, 1])
    exact = near_tie(classes, share)
    # false alarm below 1e-6 (4.9 standard errors)
    assert abs(simulated - exact) < 4.9 * np.sqrt(exact * (1 - exact) / 200_000)
