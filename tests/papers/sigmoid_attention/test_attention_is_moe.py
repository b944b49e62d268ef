from functools import partial

import pytest
from cells import computed

from moestat.papers.sigmoid_attention import attention_is_moe

run = partial(computed, attention_is_moe, seed=5, most_tokens=6, most_width=5)


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
