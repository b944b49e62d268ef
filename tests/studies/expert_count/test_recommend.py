import numpy as np
import pytest

from studies.expert_count.parts.recommend import expert_count_range, recommend


def test_the_rule_is_one_standard_error_of_the_best():
    rng = np.random.default_rng(0)
    score = np.array([0.80, 0.905, 0.91, 0.90, 0.86])[:, None] + 0.02 * rng.standard_normal((5, 10))
    found = recommend([4, 8, 16, 32, 64], score, clusters=4)
    mean = score.mean(axis=1)
    top = np.argmax(mean)
    for i, row in enumerate(score):
        assert found.within[i] == (mean[top] - mean[i] <= np.std(score[top] - row, ddof=1) / np.sqrt(10))
    np.testing.assert_allclose(found.se, score.std(axis=1, ddof=1) / np.sqrt(10))
    assert found.best == [4, 8, 16, 32, 64][top] and found.within[top] and not found.within[0]
    assert found.share_best.sum() == pytest.approx(1)
    assert found.coverage == pytest.approx(4 * np.log(4))


def test_a_quiet_best_does_not_hide_the_noise_of_the_others():
    noisy = np.array([0.7, 1.0, 0.7, 1.0, 0.9])
    found = recommend([4, 8], np.stack([noisy, np.full(5, 0.9)]), clusters=4)
    assert found.best == 8 and list(found.within) == [True, True]


def test_the_text_names_gaps_and_edges():
    score = np.array([[0.9, 0.94], [0.5, 0.5], [0.905, 0.93]])
    text = str(recommend([4, 8, 16], score, clusters=4))
    assert "M = 4 to 16, but for 8" in text and "the edge of the candidates" in text and "K log K = 5.5" in text


@pytest.mark.parametrize(
    ("score", "message"), [(np.zeros((3, 2)), "with 2 candidates"), (np.full((2, 3), np.nan), "no replicate")]
)
def test_scores_that_do_not_fit_are_refused(score, message):
    with pytest.raises(ValueError, match=message):
        recommend([4, 8], score, clusters=4)


SMALL = {"samples": 100, "steps": 4, "replicates": 3, "settings": {"test_samples": 100, "neurons": 2}}


def test_it_simulates_and_does_not_depend_on_processes(monkeypatch):
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")  # compiling takes longer than these few steps
    one, two = (expert_count_range(candidates=(3, 2), jobs=jobs, device="cpu", **SMALL) for jobs in (1, 2))
    np.testing.assert_array_equal(one.experts, [2, 3])
    np.testing.assert_array_equal(one.mean, two.mean)
    assert one.mean.min() > 0.2 and one.mean.max() <= 1
    more = expert_count_range(candidates=(2,), device="cpu", **SMALL)
    assert more.mean[0] == one.mean[0]  # a candidate's numbers do not depend on the others


@pytest.mark.parametrize(
    ("wrong", "message"), [({"stop": "first"}, "'last' and 'best'"), ({"candidates": ()}, "empty")]
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        expert_count_range(**SMALL | wrong)
