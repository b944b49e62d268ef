"""Language models with sparse mixtures: pairing, competition, measures, fine-tuning."""

import numpy as np
import pytest
from cells import cell_of

torch = pytest.importorskip("torch")

from moestat.status import Status  # noqa: E402
from moestat.training import checkpoint, lm_training  # noqa: E402
from moestat.training import corpus as corpora  # noqa: E402
from moestat.training.labelled_text import LabelledTextError  # noqa: E402
from studies.compete_smoe.parts import compete_finetune, compete_lm  # noqa: E402
from studies.compete_smoe.parts.classifier import Classifier, as_symbols  # noqa: E402
from studies.compete_smoe.parts.expert_bank import ExpertBank  # noqa: E402

SIZES = {"blocks": 2, "width": 16, "length": 16, "experts": 4}
SMALL = SIZES | {"batch": 4, "steps": 6, "every": 3, "validation": 256, "test": 512}


def cell(module=compete_lm, **settings):
    return cell_of(module, **SMALL | settings)


def numbers(ds):
    """Return what does not measure the machine."""
    return ds.drop_vars([name for name in ds.data_vars if ds[name].attrs.get("measurement")])


@pytest.mark.parametrize(
    "settings",
    [
        {"router": "compete_smoe", "probability": 0.5, "architecture": "glam"},
        {"router": "stable_moe", "stage_one": 0.5},
        {"router": "xmoe", "balance": 0.01},
    ],
)
def test_an_interrupted_replicate_continues_to_the_same_bits(settings, tmp_path, monkeypatch):
    """Coins, frozen routers and the best weights are those of a run that nobody disturbed."""
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))
    whole = numbers(compete_lm.run(cell(**settings), [0]))
    real, steps = lm_training._step, []

    def killed(run, *rest):
        if run.step == 4:
            raise KeyboardInterrupt
        return real(run, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoints, "due", lambda self: True)
        patch.setattr(lm_training, "_step", killed)
        with pytest.raises(KeyboardInterrupt):
            compete_lm.run(cell(**settings), [0])
    monkeypatch.setattr(lm_training, "_step", lambda run, *rest: steps.append(run.step) or real(run, *rest))
    assert numbers(compete_lm.run(cell(**settings), [0])).identical(whole)
    assert steps == [4, 5], "only what was left should have been computed"


def test_a_training_that_diverges_is_data():
    found = compete_lm.run(cell(rate=1e9, router="compete_smoe", probability=1.0), [0]).isel(replicate=0)
    assert found["status"].item() == Status.NOT_FINITE and found["iterations"].item() == 3
    assert all(np.isnan(found[name].item()) for name in ("bpc", "perplexity", "best_valid_bpc", "entropy", "overlap"))
    tuned = compete_finetune.run(cell(compete_finetune, rate=1e9, **TUNING), [0]).isel(replicate=0)
    assert tuned["status"].item() == Status.NOT_FINITE and tuned["iterations"].item() == 3
    assert np.isnan(tuned["bpc"].item()) and np.isnan(tuned["accuracy"].item()) and tuned["tune_loss"].isnull().all()


def test_lambda_0_is_smoe_bit_for_bit_and_competition_is_not():
    smoe = numbers(compete_lm.run(cell(), [0]))
    assert numbers(compete_lm.run(cell(router="compete_smoe", probability=0.0), [0])).identical(smoe)
    competing = compete_lm.run(cell(router="compete_smoe", probability=1.0), [0])
    assert competing["competitions"].item() == 1.0
    assert competing["bpc"].item() != smoe["bpc"].item()
    # the same first weights: the untrained models agree
    assert competing["valid_bpc"][0, 0].item() == smoe["valid_bpc"][0, 0].item()


def test_arms_start_from_the_same_weights():
    plain, cosine = (
        compete_lm.model_of(cell(), compete_lm.Settings(**SMALL, router=r), 0, 30) for r in ("smoe", "xmoe")
    )
    ours, theirs = plain.state_dict(), cosine.state_dict()
    shared = set(ours) & set(theirs)
    assert {name for name in ours if "router" not in name} == shared
    assert all(torch.equal(ours[name], theirs[name]) for name in shared)
    other = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL), 1, 30).state_dict()
    assert not torch.equal(ours["embedding"], other["embedding"])


# --- fine-tuning ------------------------------------------------------------------------------------------------------
TUNING = {"reviews": 60, "tune_steps": 12, "reviews_label": "topic"}


def test_only_experts_and_new_layers_learn():
    model = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL), 0, 30)
    classifier = Classifier(model, 3, np.random.default_rng(0))
    learn = {name for name, p in classifier.named_parameters() if p.requires_grad}
    banks = {name for name, m in classifier.named_modules() if isinstance(m, ExpertBank)}
    assert {name for name in learn if name.startswith("decoder.")} == {
        f"{bank}.{part}" for bank in banks for part in ("first", "first_bias", "second", "second_bias")
    }
    assert len(learn) == len(banks) * 4 + 4


def test_texts_in_the_symbols_of_a_corpus(tmp_path):
    path = tmp_path / "abc.txt"
    path.write_text("ab ba " * 200)
    corpus = corpora.load(path)
    found = as_symbols(["ab", "aXb", "a" * 9], corpus, 4)
    assert found.lengths.tolist() == [2, 3, 4]
    written = ["".join(corpus.symbols[i] for i in row[:n]) for row, n in zip(found.ids, found.lengths, strict=True)]
    assert written == ["ab", "a b", "aaaa"]
    path.write_text("ab" * 500)
    with pytest.raises(LabelledTextError, match="neither a blank"):
        as_symbols(["ab"], corpora.load(path), 4)


from moestat.experiment import Cell  # noqa: E402
from studies.compete_smoe.parts import compete_collapse, compete_lm  # noqa: E402
from studies.compete_smoe.parts.compete_collapse import Settings  # noqa: E402
from studies.compete_smoe.parts.smoe import SMoE  # noqa: E402
from studies.compete_smoe.parts.smoe_measures import alike, likeness  # noqa: E402

TINY = {"blocks": 3, "width": 8, "length": 8, "batch": 2, "steps": 6, "every": 3, "validation": 64, "test": 64}


def cell_collapse(**settings):
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
    run, settings = cell_collapse(experts=4)
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
    run, settings = cell_collapse(router="compete_smoe", probability=0.5)
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
    run, settings = cell_collapse()
    found = compete_collapse.run(run, [0])
    again = compete_lm.run(
        Cell(compete_lm.__name__, 3, "arm", {}, compete_lm.Settings(**TINY).model_dump(mode="json")), [0]
    )
    assert float(found["bpc"][0]) == float(again["bpc"][0])
    assert float(found["usage_entropy"][0]) == pytest.approx(float(again["usage_entropy"][0]))
