"""The gradient with samples sorted by expert is that of the tiles."""

import numpy as np
import pytest

from moestat.papers.expert_count import cubic_experts
from moestat.papers.expert_count.sorted_experts import SortedExperts


@pytest.mark.parametrize("own", [3, 1])
@pytest.mark.parametrize("used", [5, 1])
def test_gradient_is_that_of_the_tiles(own, used):
    rng = np.random.default_rng(0)
    n, experts = 200, 7
    x, y = rng.standard_normal((n, 3, 6)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    features = np.asarray(cubic_experts.router_features(x[None], "patches" if own > 1 else "shared"))[0]
    mixture = SortedExperts(x, features, y, own)
    for _ in range(2):  # the arrays that are kept hold nothing of the step before
        weights, scores = rng.standard_normal((experts, own, 4, 6)), rng.standard_normal((n, experts))
        expert = rng.integers(0, used, n)
        got = mixture.gradient(weights, scores, expert)
        wanted = cubic_experts.gradient(*(a[None] for a in (weights, x, features, y, scores, expert)))
        for name in ("loss", "weights", "theta"):
            np.testing.assert_allclose(getattr(got, name), getattr(wanted, name)[0], rtol=1e-10, atol=1e-14)
        assert not got.weights[used:].any()
