"""Decoders trained as one: the training of each alone, by other code; L_R by hand; seeds that do not see each other."""

from dataclasses import asdict

import numpy as np
import pytest
from cells import a_claim, cell_of, computed

torch = pytest.importorskip("torch")

import xarray as xr  # noqa: E402

from moestat.training.corpus import load  # noqa: E402
from moestat.training.lm_training import bits, deterministic, evaluate, train  # noqa: E402
from studies.compete_smoe.parts import compete_readings, rules, stack  # noqa: E402
from studies.compete_smoe.parts.smoe_measures import routing  # noqa: E402

SMALL = dict(steps=12, every=6, batch=4, validation=256, test=1024, width=16, length=16, group=2)
RIVAL = dict(competes=True, probability=0.5)


@pytest.mark.parametrize(
    "settings",
    [
        RIVAL,
        RIVAL | dict(task=1.0, router_loss=5.0, over="sum"),
        RIVAL | dict(router_loss=5.0, output="competition"),
    ],
    ids=["printed", "summed", "winners"],
)
def test_a_seed_is_trained_as_by_the_training_of_one_model(settings):
    found = computed(compete_readings, (1,), **SMALL, **settings).isel(replicate=0)
    cell = cell_of(compete_readings, **SMALL, **settings)
    own = compete_readings.Settings.model_validate(dict(cell.settings))
    corpus = load()
    with deterministic("cpu"):
        model = compete_readings.model_of(cell, own, 1, corpus.vocabulary)
        batches = compete_readings.batches_of(cell, own, 1)
        trained = train(model, corpus, compete_readings.plan_of(own), batches=batches)
        test = evaluate(model, corpus.test, own.length, batch=own.batch, limit=own.test)
        routed = asdict(routing(model, corpus.test, own.length, batch=own.batch, limit=own.test))
    assert float(found["bpc"]) == pytest.approx(bits(test), rel=1e-4)
    assert found["valid_bpc"].values == pytest.approx(bits(trained.valid), rel=1e-4)
    assert found["train_bpc"].values == pytest.approx(bits(trained.train), rel=1e-4, nan_ok=True)
    for name, layers in routed.items():
        assert float(found[name]) == pytest.approx(layers.mean(), abs=0.02), name  # a near tie may fall otherwise


def test_a_seed_does_not_depend_on_who_is_asked_for_and_its_loss_moves_no_other():
    both = computed(compete_readings, (0, 1), **SMALL, **RIVAL)
    last = computed(compete_readings, (3, 1), **SMALL, **RIVAL)
    assert both["bpc"].values[1] == last["bpc"].values[1]
    assert last["replicate"].values.tolist() == [3, 1]
    assert len({*both["bpc"].values, *last["bpc"].values}) == 3
    alone = computed(compete_readings, (1,), **SMALL | dict(group=1), **RIVAL)
    assert float(alone["bpc"][0]) == pytest.approx(float(both["bpc"][1]), rel=1e-5)


def test_without_router_loss_and_with_the_task_as_it_is_competing_changes_nothing():
    plain = computed(compete_readings, (0,), **SMALL, router_loss=0.0, task=1.0)
    rival = computed(compete_readings, (0,), **SMALL, **RIVAL, router_loss=0.0, task=1.0)
    assert rival["bpc"].values == pytest.approx(plain["bpc"].values, rel=1e-6)
    assert rival["moved"].values == pytest.approx(plain["moved"].values, rel=1e-5)


@pytest.mark.parametrize("over", ["mean", "sum"])
@pytest.mark.parametrize("policy", ["winners", "all"])
def test_the_router_loss_by_hand(over, policy):
    rng = np.random.default_rng(5)
    scores, norms = rng.normal(size=(2, 2, 7, 4))
    wanted = []
    for rows, sizes in zip(scores, norms, strict=True):
        apart = []
        for s, n in zip(rows, sizes, strict=True):
            p, q = (np.where(v >= np.sort(v)[-2], np.exp(v), 0.0) for v in (s, n))
            p = np.exp(s) if policy == "all" else p
            apart.append(np.sum((p / p.sum() - q / q.sum()) ** 2) / (4 if over == "mean" else 1))
        wanted.append(np.mean(apart))
    how = stack.Objective(over=over, policy=policy)
    found = stack.router_loss(torch.tensor(scores), torch.tensor(norms), 2, how)
    assert found.numpy() == pytest.approx(wanted)


def test_a_plain_step_of_the_router_is_the_gradient():
    settings = SMALL | dict(steps=1, every=1, warmup=1.0, router_loss=0.0, task=1.0)
    far = [float(computed(compete_readings, (0,), **settings, sgd=sgd)["moved"][0]) for sgd in (10.0, 20.0)]
    assert far[1] == pytest.approx(2 * far[0], rel=1e-3) and far[0] > 0


def test_an_outcome_decides_nothing_where_competition_is_not_delivered():
    rng = np.random.default_rng(7)
    dims = ("arm", "replicate")
    loss, noise = rng.normal(2.0, 0.01, (3, 12)), rng.normal(0.0, 0.01, (3, 12))
    loss[1] = loss[0] - 0.1 + noise[0]
    for gain, by_chance, delivered in [(0.1, 0.0, True), (0.0, 0.0, False), (-0.1, 0.0, False), (0.1, 0.1, False)]:
        rival = np.array([0.0, 1.0, 0.0])[:, None]
        ds = xr.Dataset(
            {
                "bpc": (dims, loss),
                "overlap": (dims, 0.2 + noise + gain * rival),
                "overlap_chance": (dims, 0.1 + by_chance * rival + np.zeros((3, 12))),
            },
            {"arm": ["smoe", "rival", "without"]},
        )
        found = rules.where_delivered(ds, a_claim(variable="bpc", arm="rival", versus="smoe"), without="without")
        assert found.value == pytest.approx(-0.1, abs=0.02) and bool(found.reasons) is not delivered
        learnt = rules.above_chance(ds, a_claim(variable="overlap", arm="rival", versus="without"))
        assert learnt.value == pytest.approx(gain - by_chance, abs=0.02)
