import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.papers.expert_count import expert_knowledge


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_errors_by_cluster(xp):
    rng = np.random.default_rng(0)
    cluster, wrong = rng.integers(0, 3, (2, 60)), rng.random((2, 60, 4)) < 0.3
    error = np.asarray(expert_knowledge.error_by_cluster(xp.asarray(wrong), xp.asarray(cluster), 3))
    for b, m, k in np.ndindex(2, 4, 3):
        assert error[b, m, k] == pytest.approx(np.mean(wrong[b, cluster[b] == k, m]))


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_what_experts_know(xp):
    error = xp.asarray([[0.0, 0.5, 0.4], [0.2, 0.2, 0.2]])
    load = xp.asarray([0.75, 0.25])
    assert float(expert_knowledge.best_cluster_error(error)) == pytest.approx(0.1)
    assert float(expert_knowledge.specialisation(error, load)) == pytest.approx(0.75 * 0.45)
    own, others = expert_knowledge.own_cluster(error, xp.asarray([1, 0]))
    np.testing.assert_allclose(np.asarray(own), [0.5, 0.2])
    np.testing.assert_allclose(np.asarray(others), [0.2, 0.2])


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_profession_is_the_closest_label(xp):
    labels = np.eye(6)[:3]
    weights = np.zeros((2, 4, 2, 2, 6))
    weights[0, 0, 1, 1, 2] = 1.0  # expert 0 of member 0 is closest to v_3, in its second patch
    weights[0, 1, 0, 0, 1] = 1.0
    weights[0, 2, 0, 0, 0] = -3.0  # a negative product does not count
    weights[0, 2, 1, 0, 1] = 0.1
    professions = np.asarray(expert_knowledge.profession(xp.asarray(weights), xp.asarray(np.stack([labels, labels]))))
    np.testing.assert_array_equal(professions[0], [2, 1, 1, 0])
    np.testing.assert_array_equal(np.asarray(expert_knowledge.clusters_with_expert(xp.asarray(professions), 3)), [3, 1])
