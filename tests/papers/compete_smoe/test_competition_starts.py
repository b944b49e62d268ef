import numpy as np
import pytest

from moestat.models import gaussian
from moestat.models.competition import EXPERTS, Competition
from moestat.papers.compete_smoe.competition_designs import near_starts, random_starts, true_mixture


def test_starts_fit_the_family_and_are_never_the_truth():
    rng = np.random.default_rng(1)
    model, truth = true_mixture("mean")
    x = rng.uniform(-1, 1, (300, model.d))
    y = gaussian.sample(model, truth, x, rng)
    near = near_starts(truth, 4, 50, 0.1, rng)
    # standard deviation of 50 x 16 normals: five standard errors
    assert np.std(near[..., :-1] - truth[:, :-1]) == pytest.approx(0.1, rel=5 / np.sqrt(2 * 800))
    assert not np.any(near == truth) and np.all(near[..., -1] > 0)
    for expert in EXPERTS:
        family = Competition(4, expert, 2)
        drawn = random_starts(family, x, y, 5, 3, rng)
        assert drawn.shape == (3, 5, family.atom_size) and np.all(np.isfinite(drawn)) and np.all(drawn[..., -1] > 0)
    with pytest.raises(ValueError, match="radius is 0.0; it must be positive"):
        near_starts(truth, 4, 1, 0.0, rng)
    with pytest.raises(ValueError, match="atoms is 3; starts near 4 true atoms"):
        near_starts(truth, 3, 1, 0.1, rng)
    with pytest.raises(ValueError, match="design is 'none'; allowed are continuous, variance, sign, mean"):
        true_mixture("none")
