from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.experiment import Cell
from moestat.models import patches
from studies.expert_count.parts import expert_coverage
from studies.expert_count.parts.expert_coverage import Settings

run = partial(computed, expert_coverage)


def test_counts_of_experts():
    assert [Settings(clusters=k, dimension=64).experts for k in (4, 16)] == [18, 93]
    assert Settings(clusters=8, count="linear", factor=1.5).experts == 12


def test_coverage_is_that_of_independent_uniform_professions():
    ds = run(range(600), clusters=4, count="linear", factor=1.5)
    # 6 experts on 4 clusters: inclusion and exclusion; 600 draws are within 5 standard errors but for one in 10^6
    exact = sum((-1) ** j * c * (1 - j / 4) ** 6 for j, c in enumerate((1, 4, 6, 4)))
    assert float(ds.covered.mean()) == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 600))
    assert np.array_equal(ds.covered, ds.clusters_with_expert == 4)
    assert (ds.experts == 6).all()
    alone = run([7], clusters=4, count="linear", factor=1.5)
    assert alone.identical(ds.sel(replicate=[7]))


def test_leads_and_reaches_are_those_of_lemma_6_by_loops():
    """With one neuron and two signals both fail at times."""
    asked = {"clusters": 2, "count": "linear", "factor": 2.0, "dimension": 9, "neurons": 1}
    cell = Cell("studies.expert_count.parts.expert_coverage", 3, "arm", {}, {})
    ds = run(range(300), delta=0.99, **asked)
    share = 0.99 / (3 * 4 * 1 * 4)
    leads, reaches = [], []
    for replicate in range(300):
        signals = patches.dictionary(cell.generator(replicate, "directions", clusters=2, dimension=9), 2, 9).labels
        weights = cell.generator(replicate, "start", dimension=9, neurons=1).standard_normal((1, 4, 1, 1, 9))[0, :, 0]
        along = [sorted((float(np.dot(w, v)) for w in own for v in signals), reverse=True) for own in weights]
        leads.append(all(second <= (1 - share) * first for first, second in along))
        reaches.append(all(first >= 0.01 for first, _ in along))
    assert ds.leads.values.tolist() == leads and ds.reaches.values.tolist() == reaches
    assert 0 < sum(leads) < 300 and 0 < sum(reaches) < 300
