"""E h over strata of a Sobol sequence, the points that the study uses: against integrals over the whole square."""

import numpy as np
import pytest
from scipy.stats import qmc

from moestat.losses.competition_bound import information, stratified_hellinger
from moestat.models.competition import Competition
from moestat.papers.compete_smoe.competition_designs import true_mixture


def sobol(log2):
    return 2.0 * qmc.Sobol(2, scramble=True, rng=np.random.default_rng(20240204)).random_base2(log2) - 1.0


def test_a_stratum_that_is_the_whole_sample_is_seen_everywhere():
    """Tied experts change places: h = sqrt(1 - exp(-g^2 / (2 v))) at every input, integrated by midpoints."""
    model, truth = true_mixture("tied")
    moved = truth.copy()
    moved[1, :2] *= 1.001
    ticks = (np.arange(400) + 0.5) / 200 - 1
    g = 0.8 * ticks[:, None] - 0.6 * ticks
    expected = np.sqrt(1 - np.exp(-(g**2) / (2 * 0.25))).mean()
    h, share = stratified_hellinger(model, moved, truth, sobol(15), 64)
    # 64 points at random would have a standard error of 0.03
    assert share == 1 and h == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("expert", ["affine", "tanh"])
def test_the_order_of_the_sample_does_not_matter_where_all_experts_win(expert):
    """The direction of the least information, and E h along it, are those of the same points in a random order."""
    rng = np.random.default_rng(1)
    model, x = Competition(2, expert, 4), sobol(13)
    truth = np.column_stack([rng.standard_normal((4, 3)), rng.uniform(0.2, 0.5, 4)])
    found = []
    for points in (x, rng.permutation(x)):
        weakest = information(model, truth, points, 64, np.random.default_rng(2)).weakest
        found.append(stratified_hellinger(model, truth + 0.01 * weakest, truth, points, 64)[0])
    assert found[0] == pytest.approx(found[1], rel=0.5)
