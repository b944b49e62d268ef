from functools import partial

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from cells import cell_of, computed

from studies.mixture_of_transformers.parts import mot
from studies.mixture_of_transformers.parts.mot import Settings

SMALL = {"samples": 60, "test_samples": 50, "dimension": 10, "experts": 5, "expert_slots": 6, "records_per_decade": 3}
STAGES = {"specialise_steps": 12, "attention_steps": 6, "tuning_steps": 100}


cell = partial(cell_of, mot, seed=7, **SMALL | STAGES)


run = partial(computed, mot, seed=7, **SMALL | STAGES)


@pytest.mark.parametrize("model", ["mot", "multi-head"])
def test_training_and_measures_need_the_array_api_standard_alone(model):
    settings = STAGES | {"model": model, "records_per_decade": 2}
    s, c = Settings(**SMALL | settings), cell(**settings)
    ours, strict = mot._train(c, s, [0], anp), mot._train(c, s, [0], array_api_strict)
    for name in ours:
        np.testing.assert_allclose(strict[name], ours[name], rtol=1e-9, atol=1e-12)
