"""How alike experts become, and one coin for all layers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.experiment import Cell  # noqa: E402
from moestat.papers.compete_smoe import compete_collapse, compete_lm  # noqa: E402
from moestat.papers.compete_smoe.compete_collapse import Settings  # noqa: E402
from moestat.papers.compete_smoe.smoe import SMoE  # noqa: E402
from moestat.papers.compete_smoe.smoe_measures import alike, likeness  # noqa: E402

TINY = {"blocks": 3, "width": 8, "length": 8, "batch": 2, "steps": 6, "every": 3, "validation": 64, "test": 64}


def cell(**settings):
    given = Settings(**TINY | settings)
    return Cell(compete_collapse.__name__, 3, "arm", {}, given.model_dump(mode="json")), given


def test_likeness_is_that_of_all_pairs():
    outputs = torch.from_numpy(np.random.default_rng(0).standard_normal((4, 5, 3)))
    found = likeness(outputs).numpy()
    for t in range(5):
        cosines = [
            float(torch.dot(a, b) / (a.norm() * b.norm())) for i, a in enumerate(outputs[:, t]) for b in outputs[:i, t]
        ]
        assert found[t] == pytest.approx(np.mean(cosines), rel=1e-12)
    scaled = outputs * torch.tensor([1.0, 2.0, 5.0, 0.1])[:, None, None]
    np.testing.assert_allclose(likeness(scaled).numpy(), found, rtol=1e-9)


def test_layers_with_one_expert_repeated_are_alike():
    run, settings = cell(experts=4)
    model = compete_lm.model_of(run, settings, 0, 20)
    text = np.random.default_rng(1).integers(0, 20, 64)
    before = alike(model, text, 8)
    assert before.shape == (3,) and (np.abs(before) < 0.9).all()
    bank = next(m for m in model.modules() if isinstance(m, SMoE)).experts
    with torch.no_grad():
        for part in (bank.first, bank.first_bias, bank.second, bank.second_bias):
            part.copy_(part[:1].expand_as(part).clone())
    after = alike(model, text, 8)
    assert after[0] == pytest.approx(1.0, abs=1e-6)


def test_coins_are_of_a_layer_or_of_all():
    run, settings = cell(router="compete_smoe", probability=0.5)
    model = compete_lm.model_of(run, settings, 0, 20)
    layers = [m for m in model.modules() if isinstance(m, SMoE)]

    def heads():
        return np.array([[layer.competition.heads(step, 60) for layer in layers] for step in range(60)])

    own = heads()
    assert 0 < (own.all(axis=1)).mean() < 0.4
    compete_collapse.share_coins(model)
    shared = heads()
    np.testing.assert_array_equal(shared, np.repeat(own[:, :1], 3, axis=1))


def test_without_competition_it_is_the_training_of_compete_lm():
    run, settings = cell()
    found = compete_collapse.run(run, [0])
    again = compete_lm.run(
        Cell(compete_lm.__name__, 3, "arm", {}, compete_lm.Settings(**TINY).model_dump(mode="json")), [0]
    )
    assert float(found["bpc"][0]) == float(again["bpc"][0])
    assert float(found["usage_entropy"][0]) == pytest.approx(float(again["usage_entropy"][0]))
