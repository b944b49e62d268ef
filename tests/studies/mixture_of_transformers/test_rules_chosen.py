"""Rules that look at the best constant, at the first step that is as stated, at stages and chosen epochs."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from studies.mixture_of_transformers.parts.rules_chosen import at_first, best_of

from moestat.claims.selection import NoAnswerError
from studies.mixture_of_transformers.parts import rules_epochs


def claim(**more):
    return a_claim(variable="share", **({} if "at_most" in more else {"at_least": 0.95}) | more)


def sweep(peak=1):
    """Shares at three rates in two arms: the best is the rate ``peak`` of the arm "many"."""
    noise = np.random.default_rng(0).normal(0, 0.02, (2, 3, 12))
    mean = np.array([[0.3, 0.4, 0.2], [0.5, 0.5, 0.5]])
    mean[1, peak] = 0.8
    share = mean[:, :, None] + noise
    coords = {"arm": ["few", "many"], "rate": [1.0, 10.0, 100.0], "replicate": np.arange(12)}
    return xr.Dataset({"share": (("arm", "rate", "replicate"), share)}, coords=coords)


def test_the_best_constant_is_chosen_by_the_other_half():
    ds = sweep()
    found = best_of(ds, claim(), over="rate", arms=["few", "many"])
    assert found.value == pytest.approx(float(ds.share[1, 1].mean())) and found.high < 0.95
    assert found.note == "12 of 12 replicates; many at rate 10" and not found.reasons
    odd = ds.copy(deep=True)
    odd["share"][0, 2, 1::2] = 0.99  # the odd half chooses it for the even one, where it is bad
    assert best_of(odd, claim(), over="rate", arms=["few", "many"]).value == pytest.approx(
        (float(ds.share[0, 2, ::2].sum()) + float(ds.share[1, 1, 1::2].sum())) / 12
    )
    low = best_of(ds, claim(at_most=0.1), over="rate", arms=["few", "many"], lower=True)
    assert low.value == pytest.approx(float(ds.share[0, 2].mean())) and low.reasons


def test_a_variable_at_the_first_step_at_which_another_is_far_enough():
    epoch = np.array([0, 1, 2, 4])
    own = np.array([[0.2, 0.3, 0.5, 0.9], [0.2, 0.45, 0.6, 0.8]])
    other = np.array([[0.20, 0.19, 0.08, 0.01], [0.20, 0.10, 0.05, 0.01]])
    ds = xr.Dataset(
        {
            "own": (("arm", "replicate", "epoch"), np.stack([own, own])),
            "share": (("arm", "replicate", "epoch"), np.stack([other, 2 * other])),
        },
        coords={"arm": ["a", "b"], "epoch": epoch, "replicate": [0, 1]},
    )
    found = at_first(ds, claim(arm="a"), when="own", least=0.4)
    assert found.value == pytest.approx(0.09) and found.note == "2 of 2 replicates; steps 1 to 2"
    ratio = at_first(ds, claim(arm="b", versus="a"), when="own", least=0.4)
    assert ratio.value == pytest.approx(np.log(2))
    with pytest.raises(NoAnswerError, match="own does not get to 0.85 in 1 of 2 replicates of a"):
        at_first(ds, claim(arm="a"), when="own", least=0.85)


def courses(**arms: np.ndarray) -> xr.Dataset:
    """Return a run of some arms with courses (replicates, epochs) and stages that end at epochs 2, 4 and 5."""
    values = np.stack(list(arms.values()))
    return xr.Dataset(
        {
            "test_error": (("arm", "replicate", "epoch"), values),
            "stage_end": (("arm", "stage"), np.tile([2, 4, 5], (len(arms), 1))),
        },
        coords={
            "arm": list(arms),
            "replicate": np.arange(values.shape[1]),
            "epoch": np.arange(1, values.shape[2] + 1),
            "stage": ["I", "II", "III"],
        },
    )


course = partial(a_claim, variable="test_error", arm="mot", versus="transformer")


def test_the_mean_over_a_stage_takes_its_epochs_alone():
    """Stage I is epochs 1 and 2, stage II 3 and 4, stage III 5; the rest may be anything."""
    rng = np.random.default_rng(0)
    transformer = rng.normal(size=(6, 5))
    mot = transformer + np.array([3.0, 1.0, -1.0, -2.0, 100.0])
    ds = courses(transformer=transformer, mot=mot)
    for stage, expected in (("I", 2.0), ("II", -1.5), ("III", 100.0)):
        found = rules_epochs.stage_mean(ds, course(), stage=stage)
        assert found.value == pytest.approx(expected)
        assert found.low <= found.value <= found.high
    assert "epochs 3 to 4" in rules_epochs.stage_mean(ds, course(), stage="II").note
    with pytest.raises(NoAnswerError, match="no stage 'IV'"):
        rules_epochs.stage_mean(ds, course(), stage="IV")
