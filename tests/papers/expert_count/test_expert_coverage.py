import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.papers.expert_count import expert_coverage
from moestat.papers.expert_count.expert_coverage import Settings


def run(replicates, **settings):
    resolved = Settings(**settings).model_dump(mode="json")
    cell = Cell("moestat.papers.expert_count.expert_coverage", 3, "arm", {}, resolved)
    return expert_coverage.run(cell, replicates)


def test_counts_of_experts():
    assert [Settings(clusters=k, dimension=64).experts for k in (4, 16)] == [18, 93]
    assert Settings(clusters=8, count="linear", factor=1.5).experts == 12
    with pytest.raises(ValidationError, match="16 clusters need at least 32"):
        Settings(clusters=16, dimension=20)


def test_coverage_is_that_of_independent_uniform_professions():
    ds = run(range(600), clusters=4, count="linear", factor=1.5)
    # 6 experts on 4 clusters: inclusion and exclusion; 600 draws are within 5 standard errors but for one in 10^6
    exact = sum((-1) ** j * c * (1 - j / 4) ** 6 for j, c in enumerate((1, 4, 6, 4)))
    assert float(ds.covered.mean()) == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 600))
    assert np.array_equal(ds.covered, ds.clusters_with_expert == 4)
    assert (ds.experts == 6).all()
    alone = run([7], clusters=4, count="linear", factor=1.5)
    assert alone.identical(ds.sel(replicate=[7]))
