from functools import partial

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from cells import cell_of, computed

from moestat.experiment import Cell
from studies.mixture_of_transformers.parts import mot, mot_initialisation, mot_measures
from studies.mixture_of_transformers.parts.mot import Settings

SMALL = {"samples": 60, "test_samples": 50, "dimension": 10, "experts": 5, "expert_slots": 6, "records_per_decade": 3}
STAGES = {"specialise_steps": 12, "attention_steps": 6, "tuning_steps": 100}


cell = partial(cell_of, mot, seed=7, **SMALL | STAGES)


run = partial(computed, mot, seed=7, **SMALL | STAGES)


@pytest.mark.parametrize("model", ["mot", "shared-attention", "multi-head"])
def test_training_and_measures_need_the_array_api_standard_alone(model):
    settings = STAGES | {"model": model, "records_per_decade": 2}
    s, c = Settings(**SMALL | settings), cell(**settings)
    ours, strict = mot._train(c, s, [0], anp), mot._train(c, s, [0], array_api_strict)
    for name in ours:
        np.testing.assert_allclose(strict[name], ours[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law", ["uniform", "normal", "gumbel", "none"])
def test_perturbations_have_the_law_and_scale_they_are_named_after(law):
    s = Settings(**SMALL | STAGES, perturbation=law, perturbation_scale=2.0)
    draws = mot._noise(s, [np.random.default_rng(0)], 4000, np)
    r = next(draws)
    assert r.shape == (1, 5, 4000)
    mean, sd = {"uniform": (1, 2 / 12**0.5), "normal": (0, 2), "gumbel": (2 * 0.5772, 2 * 1.2825), "none": (0, 0)}[law]
    # 20000 draws: 6 standard errors of the mean and of the standard deviation, false alarm below 1e-8 (Gumbel: 1e-6)
    assert abs(r.mean() - mean) <= 6 * sd / 20_000**0.5
    assert abs(r.std() - sd) <= 8 * sd / 20_000**0.5
    assert law == "none" or np.any(next(draws) != r)


def test_stage_lengths_are_the_first_records_that_do():
    epochs = np.array([0, 1, 4, 10, 11, 14, 20])
    out = {
        "gap": np.array([[0, 0.2, 1.1, 0.9, 2, 2, 2], [0, 0, 0, 0.5, 3, 3, 3.0]]),
        "test_loss": np.array([[1, 0.5, 0.3, 0.2, 0.06, 0.05, 0.04], [1, 0.5, 0.09, 0.08, 0.08, 0.08, 0.05]]),
        "train_loss": np.array([[1, 0.5, 0.3, 0.2, 0.06, 0.05, 0.04], [1, 0.5, 0.09, 0.08, 0.08, 0.08, 0.05]]),
        "self_attention": np.array([[0.9, 0, 0, 0.2, 0.3, 0.5, 0.6], [0.2] * 7]),
    }
    values, _ = mot_measures.stage_lengths(epochs, (10, 20, 20), out, 1.0, 0.1, 0.4)
    np.testing.assert_array_equal(values["steps_to_gap"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_loss"], [np.nan, 4])
    np.testing.assert_array_equal(values["steps_to_attention"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_quarter"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_gap_reached"], [True, False])


def test_initialisation_agrees_with_its_exact_probabilities():
    settings = mot_initialisation.Settings(classes=4, rule="N log N", draws=2000).model_dump(mode="json")
    ds = mot_initialisation.run(Cell("e", 3, "a", {}, settings), [0, 1])
    assert ds.M.item() == 6 and ds.bound_all_covered.item() < ds.exact_all_covered.item()
    # two shares in two replicates: false alarm below 1e-5
    assert np.all(ds.simulation_error < 4.9)
    assert np.all(ds.gap_holds > 0.99)
