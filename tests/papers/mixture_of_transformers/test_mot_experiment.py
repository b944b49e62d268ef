import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.losses import routing
from moestat.papers.mixture_of_transformers import mot, mot_initialisation, mot_summaries
from moestat.papers.mixture_of_transformers.mot import Settings
from moestat.status import Status

SMALL = {"samples": 60, "test_samples": 50, "dimension": 10, "experts": 5, "expert_slots": 6, "records_per_decade": 3}
STAGES = {"specialise_steps": 12, "attention_steps": 6, "tuning_steps": 100}
IDEAL = {"start": "ideal", "experts": 4, "specialise_steps": 0, "attention_steps": 0}


def cell(seed=7, **settings):
    resolved = Settings(**SMALL | STAGES | settings).model_dump(mode="json")
    return Cell("moestat.papers.mixture_of_transformers.mot", seed, "arm", {}, resolved)


def run(replicates=(0,), **settings):
    return mot.run(cell(**settings), list(replicates), device="cpu")


@pytest.mark.parametrize("model", ["mot", "no-attention", "shared-attention", "multi-head"])
@pytest.mark.parametrize("training", ["stages", "joint"])
def test_the_dataset_is_what_the_contract_says(model, training):
    ds = run([3, 1], model=model, training=training)
    assert list(ds.replicate.values) == [3, 1]
    assert ds.epoch.values[0] == 0 and {12, 18, 118} <= set(ds.epoch.values)
    assert np.all(ds.status == Status.CONVERGED) and list(ds.message.values) == ["All 118 steps were taken."] * 2
    np.testing.assert_array_equal(ds.after_test_loss.sel(stage="II"), ds.test_loss.sel(epoch=18))
    np.testing.assert_array_equal(ds.tuning_test_loss.sel(tuning=100), ds.test_loss.sel(epoch=118))
    assert np.all(np.isfinite(ds.train_error) & (ds.test_error <= 1))
    if model == "multi-head":
        assert np.all(np.isnan(ds.dispatch)) and np.all(np.isnan(ds.gap))
    else:
        assert np.all(np.isnan(ds.on_labels.sel(expert=5)))
        np.testing.assert_allclose(ds.dispatch.sum(["expert", "class"]), 1)
        np.testing.assert_allclose(ds.entropy, routing.dispatch_entropy(ds.dispatch.isel(expert=slice(5)).values))
    if model == "no-attention":
        assert np.all(np.isnan(ds.attention))
    else:
        known = ds.attention.dropna("epoch", how="any")
        assert known.size and np.allclose(known.sum("key"), 1)


@pytest.mark.parametrize("model", ["mot", "multi-head"])
def test_numbers_do_not_depend_on_the_block_of_replicates(model):
    together, apart = run([0, 1, 2], model=model), run([2], model=model)
    for name in together.data_vars:
        np.testing.assert_array_equal(together[name].sel(replicate=2), apart[name].sel(replicate=2))


def test_a_batch_gives_the_same_numbers_as_its_members():
    s, c = Settings(**SMALL | STAGES), cell()
    both, one = mot._train(c, s, [0, 1], anp), mot._train(c, s, [1], anp)
    for name in both:
        np.testing.assert_array_equal(both[name][1], one[name][0])


@pytest.mark.parametrize("model", ["mot", "shared-attention", "multi-head"])
def test_training_and_measures_need_the_array_api_standard_alone(model):
    settings = STAGES | {"model": model, "records_per_decade": 2}
    s, c = Settings(**SMALL | settings), cell(**settings)
    ours, strict = mot._train(c, s, [0], anp), mot._train(c, s, [0], array_api_strict)
    for name in ours:
        np.testing.assert_allclose(strict[name], ours[name], rtol=1e-9, atol=1e-12)


def test_a_longer_stage_repeats_a_shorter_one():
    short, long = run(), run(tuning_steps=1000)
    np.testing.assert_array_equal(short.test_loss.sel(epoch=[12, 18]), long.test_loss.sel(epoch=[12, 18]))
    np.testing.assert_array_equal(short.test_loss.sel(epoch=118), long.test_loss.sel(epoch=118))


def test_cells_share_data_and_starts():
    few, many = run(experts=3), run(experts=5)
    np.testing.assert_allclose(
        few.on_labels.sel(epoch=0, expert=[0, 1, 2]), many.on_labels.sel(epoch=0, expert=[0, 1, 2])
    )
    # before the first step all samples are sent to the first expert, which is the same one
    np.testing.assert_array_equal(few.test_loss.sel(epoch=0), many.test_loss.sel(epoch=0))
    # models of experts start from the same weights, and shared attention from the first expert's
    flat, shared = run(model="no-attention"), run(model="shared-attention")
    np.testing.assert_array_equal(flat.on_labels.sel(epoch=0), many.on_labels.sel(epoch=0))
    np.testing.assert_allclose(shared.test_loss.sel(epoch=0), many.test_loss.sel(epoch=0))


def test_the_data_are_those_of_definition_1():
    s = Settings(**SMALL | STAGES, token_noise=0.7)
    directions, training, _ = mot._data(cell(), s, 0)
    rows = np.arange(60)
    v, c, other = (training.x[rows, training.position[:, i]] for i in range(3))
    np.testing.assert_allclose(c, directions.centres[training.cluster])
    np.testing.assert_allclose(v, training.y[:, None] * directions.labels[training.cluster])
    np.testing.assert_allclose(np.abs(np.sum(other * directions.labels[training.other], axis=-1)), 1)
    assert np.all(training.other != training.cluster)


def test_the_ideal_state_is_what_the_propositions_promise():
    ds = run([0, 1], **IDEAL)
    np.testing.assert_array_equal(ds.matched, 1)
    np.testing.assert_array_equal(ds.unequal, 0)
    np.testing.assert_allclose(ds.gap.sel(epoch=0), 1)
    np.testing.assert_allclose(ds.centre_signal.sel(epoch=0), 0, atol=1e-12)
    assert np.all(ds.self_attention > 0.9)
    # two experts of a class share its samples
    dispatch = run([0], **IDEAL | {"experts": 5}).after_dispatch.sel(stage="start", replicate=0)
    assert np.all(dispatch.sel({"class": 0, "expert": [0, 4]}) > 0)


def test_gradient_descent_falls_like_one_over_t_and_normalised_steps_geometrically():
    long = IDEAL | {"tuning_steps": 2000, "records_per_decade": 10, "tuning_rate": 10.0, "samples": 200}
    plain = run([0], **long)
    assert -1.1 < plain.last_slope.item() < -0.9 and plain.aic_gain.item() > 50
    normalised = run([0], **long | {"tuning_rule": "normalised", "tuning_rate": 0.01})
    assert normalised.aic_gain.item() < -50 and normalised.r2_geometric.item() > 0.99
    assert normalised.time_exponent.item() < 0.3


def test_learning_lowers_the_loss_in_every_stage():
    ds = run([0], samples=300, test_samples=300, specialise_steps=300, attention_steps=60, token_noise=0.2)
    loss = ds.after_train_loss.sel(replicate=0).values
    assert np.all(np.diff(loss) < 0)
    attention = ds.after_self_attention.sel(replicate=0)
    assert attention.sel(stage="II") > attention.sel(stage="I") + 0.05


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
    values, _ = mot_summaries.stage_lengths(epochs, (10, 20, 20), out, 1.0, 0.1, 0.4)
    np.testing.assert_array_equal(values["steps_to_gap"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_loss"], [np.nan, 4])
    np.testing.assert_array_equal(values["steps_to_attention"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_quarter"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_gap_reached"], [True, False])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dimension": 7}, "dimension is 7; 4 classes need at least 8"),
        ({"experts": 7}, "experts is 7; expert_slots = 6 must be at least that"),
        ({"start": "ideal", "model": "multi-head"}, "start = 'ideal' needs experts of their own"),
        ({"start": "specialised"}, "specialise_steps must be 0"),
        (IDEAL | {"attention_steps": 5}, "attention_steps must be 0"),
        ({"tuning_steps": 50}, "tuning_steps is 50; allowed are 0 and at least 100"),
        ({"specialise_steps": 0, "attention_steps": 0, "tuning_steps": 0}, "all three stages have 0 steps"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(wrong, message):
    with pytest.raises(ValidationError, match=message):
        Settings(**SMALL | STAGES | wrong)


def test_a_run_that_overflows_is_recorded_as_data():
    ds = run([0], tuning_rate=1e308, tuning_rule="adam")
    assert ds.status.item() == Status.NOT_FINITE


def test_initialisation_agrees_with_its_exact_probabilities():
    settings = mot_initialisation.Settings(classes=4, rule="N log N", draws=2000).model_dump(mode="json")
    ds = mot_initialisation.run(Cell("e", 3, "a", {}, settings), [0, 1])
    assert ds.M.item() == 6 and ds.bound_all_covered.item() < ds.exact_all_covered.item()
    # two shares in two replicates: false alarm below 1e-5
    assert np.all(ds.simulation_error < 4.9)
    assert np.all(ds.gap_holds > 0.99)
