"""Every exact number on the page of findings is what the code gives."""

from pathlib import Path

import numpy as np
import pytest

from moestat.papers.sigmoid_attention import dichotomy, gate_pairs, printed_table
from moestat.papers.sigmoid_attention.gate_pairs import CRITICAL, flat_share
from moestat.papers.sigmoid_attention.regression_settings import Settings
from moestat.study import load

PAGE = (Path(__file__).parents[3] / "docs/findings/sigmoid-attention.md").read_text(encoding="utf-8")
TABLE = load.read("sigmoid_attention_table").study


def ratio(arm):
    s = printed_table.Settings(**next(a.settings for a in TABLE.arms if a.name == arm))
    error = np.hypot(s.softmax_error, s.sigmoid_error) or printed_table._share_error(s, s.questions[0])
    return abs(s.sigmoid - s.softmax) / error


def linear_slope(samples_per_parameter, p=486):
    """The slope of sqrt(v p / (n - p - 1)) by a central difference."""
    n = samples_per_parameter * p
    return -0.5 * (np.log(n * 1.001 - p - 1) - np.log(n * 0.999 - p - 1)) / (np.log(1.001) - np.log(0.999))


NUMBERS = {
    "1 − 1/√3 = 0.4226": CRITICAL,
    "shares 0.3646 and 0.6354": flat_share(0.5),
    "(0.0067 for the box of these studies)": 1 / (1 + np.exp(dichotomy.Settings().box)),
    "the largest difference is 1.28 times": max(ratio(a.name) for a in TABLE.arms if a.name != "throughput"),
    "differ by 0.68 of their error": ratio("throughput"),
    "10 runs of each": printed_table.runs_needed(45.0, 39.0, 53.0),
    "−0.56 at n = 10p": -linear_slope(10),
    "there are 486 parameters": Settings(n=2).n_fitted * Settings(n=2).problem.fitted.atom_size,
}


@pytest.mark.parametrize("words", NUMBERS)
def test_a_number_on_the_page_is_that_of_the_code(words):
    assert words in " ".join(PAGE.split())
    numbers = [part.strip("−(),") for part in words.split() if any(c.isdigit() for c in part)]
    digits = {
        f"{NUMBERS[words]:.{len(one.partition('.')[2])}f}" for one in numbers if "/" not in one and "=" not in one
    }
    assert digits & set(numbers), (words, NUMBERS[words])


def test_what_else_the_page_says_in_numbers():
    assert linear_slope(2) == pytest.approx(-1, abs=0.01)
    higher = [a.settings["sigmoid"] > a.settings["softmax"] for a in TABLE.arms if a.name != "throughput"]
    assert sum(higher) == 4 and len(higher) == 6
    assert flat_share(0.5) + 0.6354 == pytest.approx(1, abs=1e-4)
    assert abs(gate_pairs.fourth_order(CRITICAL, 0.5)) < 1e-12
    for study in ("regression_rate", "sigmoid_regimes", "partial_quadratic"):
        assert load.read(study).study.settings["box"] == dichotomy.Settings().box
