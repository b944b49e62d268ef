"""Table 2 by arithmetic: errors against simulated examinations, the number of runs against SciPy's test."""

import numpy as np
import pytest
from scipy import stats

from moestat.claims.verdicts import judge
from moestat.experiment import Cell
from moestat.papers.sigmoid_attention import printed_table
from moestat.papers.sigmoid_attention.printed_table import runs_needed
from moestat.study import load

STUDY = load.read("sigmoid_attention_table").study


def results():
    """Return the results of the study without a run folder."""
    import xarray as xr

    parts = []
    for arm in STUDY.arms:
        resolved = printed_table.Settings(**arm.settings).model_dump(mode="json")
        cell = Cell("moestat.papers.sigmoid_attention.printed_table", 1, arm.name, {}, resolved)
        parts.append(printed_table.run(cell, [0]).expand_dims(arm=[arm.name]))
    return xr.concat(parts, "arm")


def test_the_error_of_an_accuracy_is_that_of_simulated_examinations():
    """4000 pairs of examinations: the standard deviation of their difference is known to 1.1 %, 4 errors are 4.5 %."""
    rng = np.random.default_rng(0)
    difference = 100 * (rng.binomial(1838, 0.55, 4000) - rng.binomial(1838, 0.571, 4000)) / 1838
    piqa = results().sel(arm="piqa", replicate=0)
    assert float(piqa.error) == pytest.approx(difference.std(), rel=0.045)
    assert float(piqa.difference) == pytest.approx(-2.1)
    assert float(piqa.low) == pytest.approx(-2.1 - 1.96 * float(piqa.error), abs=1e-3)


def test_ten_runs_would_be_the_fewest():
    """SciPy's Welch test on summaries is the second way."""
    assert runs_needed(45.0, 39.0, 53.0) == 10 == float(results().sel(arm="throughput", replicate=0).runs)
    p = [stats.ttest_ind_from_stats(486, 53, k, 441, 39, k, equal_var=False).pvalue for k in (9, 10)]
    assert p[0] > 0.05 > p[1]


def test_no_printed_difference_is_beyond_its_error():
    verdicts = {v.claim: v for v in judge(results(), STUDY, "quick")}
    assert verdicts["most-tasks"].verdict == "supported"
    assert verdicts["throughput"].verdict == "inconclusive"
    for claim in ("accuracies-within-errors", "columns-do-not-matter", "throughput-within-errors"):
        assert verdicts[claim].verdict == "no counterexample"
