import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.papers.sigmoid_attention import attention_is_moe
from moestat.papers.sigmoid_attention.attention import AttentionLayer
from moestat.papers.sigmoid_attention.attention_is_moe import Settings


def run(replicates, **settings):
    resolved = Settings(most_tokens=6, most_width=5, **settings).model_dump(mode="json")
    cell = Cell("moestat.papers.sigmoid_attention.attention_is_moe", 5, "arm", {}, resolved)
    return attention_is_moe.run(cell, list(replicates), device="cpu")


@pytest.mark.parametrize(
    "settings",
    [
        {"gate": "sigmoid", "heads": 2},
        {"gate": "softmax", "heads": 3, "biases": True},
        {"gate": "sigmoid", "causal": True, "language_model": True},
    ],
)
def test_deviations_are_rounding(settings):
    ds = run(range(8), **settings)
    assert ds.share.max() <= 1 and ds.model_ulps.max() <= 64 and ds.relative.max() < 1e-12
    assert ds["rank"].max() <= 1
    assert (ds.slope.max() > 0) == settings.get("biases", False)


def test_a_wrong_reading_is_seen(monkeypatch):
    right = AttentionLayer.atoms

    def wrong(self, tokens, row, mask=None):
        return right(self, tokens, (row + 1) % tokens, mask)

    monkeypatch.setattr(AttentionLayer, "atoms", wrong)
    assert run(range(3)).share.min() > 1e6


def test_numbers_do_not_depend_on_the_block_of_replicates():
    together, alone = run(range(3)), run([2])
    for name in together.data_vars:
        np.testing.assert_array_equal(together[name].sel(replicate=[2]), alone[name])


def test_a_softmax_with_log_n_is_refused():
    with pytest.raises(ValidationError, match="does not see a common shift"):
        Settings(gate="softmax", language_model=True)
