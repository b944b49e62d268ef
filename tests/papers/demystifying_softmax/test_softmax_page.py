"""What the page of findings counts in the records, where a mark cannot: pairs of arms, and of losses."""

from pathlib import Path

import numpy as np
import pytest

from moestat.runner import records, results

ROOT = Path(__file__).parents[3]
PAGE = " ".join((ROOT / "docs/findings/demystifying-softmax.md").read_text(encoding="utf-8").split())


def _of(preset, variable, arm, **at):
    folder = records.path(ROOT / "outputs", "softmax_gaussian", preset)
    return results.read(folder / results.NAME)[variable].sel(arm=arm, **at)


def test_how_near_both_kinds_of_starts_end():
    """Gains are log-likelihoods; fits of a data set differ in their starts alone."""
    gaps = {
        k: abs(_of("medium", "gain", f"{k}-random") - _of("medium", "gain", f"{k}-near")) for k in ("three", "four")
    }
    assert float(gaps["three"].max()) < 0.06 and int((gaps["three"] <= 0.1).sum()) == 80 == gaps["three"].size
    assert int((gaps["four"] <= 0.1).sum()) == 72 and float(gaps["four"].max()) == pytest.approx(1.70, abs=0.005)
    assert (
        "they are within 0.06 of each other in 80 of 80 for K = 3, and within 0.1 in 72 of 80 for K = 4, where" in PAGE
    )
    assert "where the largest gap is 1.70 (" in PAGE


def test_what_a_lower_bound_gains_where_the_search_has_settled():
    """A maximum over the larger box cannot be lower: where it is, beyond rounding, the search has missed it."""
    gain = _of("medium", "gain", "three-near-loose", n=10000) - _of("medium", "gain", "three-near", n=10000)
    settled = gain.values[_of("medium", "unsettled", "three-near-loose", n=10000).values == 0]
    assert settled.size == 10 and settled.mean() == pytest.approx(1.44, abs=0.005)
    assert np.sum(gain < -1e-3) == np.sum(settled < -1e-3) == 1 and settled.min() == pytest.approx(-0.15, abs=0.005)
    assert (
        "In the ten data sets in which they are settled it is 1.44 on average" in PAGE and "ends lower, by 0.15" in PAGE
    )


def test_with_two_experts_the_published_loss_is_d1():
    """To rounding, relative to the larger of 1 and the loss."""
    published, own = (_of("published", name, "exact-published") for name in ("published_loss", "D1"))
    same = (abs(published - own) <= 1e-12 * np.maximum(1, published)).sum("replicate")
    assert same.sel(n=100) == 91 and (same.sel(n=slice(300, None)) == 100).all()
    assert "is D1, to rounding, in each of the fits from n = 300 on and in 91 of 100 at n = 100" in PAGE
