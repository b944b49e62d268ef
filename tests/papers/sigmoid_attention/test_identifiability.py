from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.papers.sigmoid_attention import identifiability

run = partial(computed, identifiability, seed=5)


@pytest.mark.parametrize(
    ("settings", "verdict", "gate_alone"),
    [
        ({"expert": "gelu", "score": "partial"}, 2, 0),
        ({"expert": "tanh"}, 1, 0),
        ({"expert": "polynomial", "power": 2, "score": "partial"}, 1, 1),
        ({"expert": "relu", "score": "partial", "outer_scale": True}, 0, 1),
    ],
)
def test_verdicts_are_codes(settings, verdict, gate_alone):
    ds = run([0], **settings)
    assert ds.verdict.item() == verdict and ds.short_of_strong.item() == 2 - verdict
    assert ds.short_but_for_gate.item() == gate_alone
    assert ds.rate.item() == (-0.25 if verdict == 2 else 0)
    assert ds.opposite.item() == 1  # sigma(s) + sigma(-s) = 1, whatever the expert
    positive = int(np.sum(ds.singular_values.values > 1e-12))
    assert positive == ds["rank"].item() < ds.functions.item()
