"""Language models with sparse mixtures: pairing, competition, measures, fine-tuning."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from moestat.experiment import Cell  # noqa: E402
from moestat.papers.compete_smoe import compete_finetune, compete_lm  # noqa: E402
from moestat.papers.compete_smoe.classifier import Classifier, as_symbols  # noqa: E402
from moestat.papers.compete_smoe.expert_bank import ExpertBank  # noqa: E402
from moestat.papers.compete_smoe.smoe import SMoE  # noqa: E402
from moestat.papers.compete_smoe.smoe_measures import routing, winners_route  # noqa: E402
from moestat.status import Status  # noqa: E402
from moestat.study import load  # noqa: E402
from moestat.training import checkpoint, lm_training  # noqa: E402
from moestat.training import corpus as corpora  # noqa: E402
from moestat.training.labelled_text import LabelledTextError  # noqa: E402

SIZES = {"blocks": 2, "width": 16, "length": 16, "experts": 4}
SMALL = SIZES | {"batch": 4, "steps": 6, "every": 3, "validation": 256, "test": 512}
STUDIES = ["lm", "scale", "published", "topk", "schedule", "balance", "significance", "distillation", "finetune"]


def cell(module=compete_lm, **settings):
    resolved = module.Settings(**{**SMALL, **settings}).model_dump(mode="json")
    return Cell(module.__name__, 3, "arm", {}, resolved)


def numbers(ds):
    """Return what does not measure the machine."""
    return ds.drop_vars([name for name in ds.data_vars if ds[name].attrs.get("measurement")])


def test_variables_and_ranges():
    found = compete_lm.run(cell(router="compete_smoe", probability=0.5, architecture="glam"), [0, 3])
    assert (found["status"] == Status.CONVERGED).all()
    assert found["valid_bpc"].dims == ("replicate", "step")
    assert found["step"].values.tolist() == [0, 3, 6]
    assert found["entropy_by_layer"].sizes == {"replicate": 2, "layer": 2}
    np.testing.assert_allclose(found["entropy"], found["entropy_by_layer"].mean("layer"))
    np.testing.assert_allclose(2 ** found["bpc"], found["perplexity"])
    np.testing.assert_allclose(found["best_valid_bpc"], found["valid_bpc"].min("step"))
    assert ((found["entropy"] > 0) & (found["entropy"] <= math.log(4))).all()
    assert ((found["entropy_top_k"] > 0) & (found["entropy_top_k"] <= math.log(2) + 1e-6)).all()
    for name in ("overlap", "overlap_chance", "competitions"):
        assert ((found[name] > 0) & (found[name] <= 1)).all()
    assert (found["seconds_per_step"] > 0).all()
    assert {name for name in found.data_vars if found[name].attrs.get("measurement")} == {
        "seconds_per_step",
        "tokens_per_second",
    }


def test_replicates_do_not_depend_on_the_block():
    together = compete_lm.run(cell(router="compete_smoe", probability=0.5), [0, 1])
    alone = compete_lm.run(cell(router="compete_smoe", probability=0.5), [1])
    assert numbers(alone).identical(numbers(together.sel(replicate=[1])))


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


def test_the_form_of_a_gpu_trains_to_the_same_losses(monkeypatch):
    """In float64: padded slices and the norms of one batch, beside sorted slices and one expert after the other."""
    settings = compete_lm.Settings(**SMALL | {"steps": 20, "every": 5}, router="compete_smoe", probability=0.5)
    corpus, found = corpora.load(), []
    for padded in (False, True):
        if padded:
            monkeypatch.setattr(ExpertBank, "forward", ExpertBank.padded)
            norms = torch.no_grad()(lambda self, z: torch.linalg.vector_norm(self.every(z), dim=-1).t())
            monkeypatch.setattr(ExpertBank, "norms", norms)
        model = compete_lm.model_of(cell(), settings, 0, corpus.vocabulary).double()
        plan = compete_lm.plan_of(settings)
        found.append(lm_training.train(model, corpus, plan, batches=np.random.default_rng(0)).valid)
    np.testing.assert_allclose(*found, rtol=1e-10)


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


@pytest.mark.parametrize("frozen", ["smoe_fixed", "stable_moe"])
def test_frozen_routers_stay(frozen):
    settings = compete_lm.Settings(**SMALL, router=frozen, stage_one=0.3)
    before = compete_lm.model_of(cell(), settings, 0, corpora.load().vocabulary).state_dict()
    after = compete_lm.trained(cell(), settings, 0, "cpu", "")[0].state_dict()
    moved = [not torch.equal(before[name], after[name]) for name in before if "router" in name]
    assert moved == [frozen == "stable_moe"] * 2
    assert all(not torch.equal(before[name], after[name]) for name in before if "experts.first" in name)


def test_routing_against_a_layer_of_known_routing():
    """One layer whose router is made to know the competition, and then to avoid it."""
    model = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL, top_k=1), 0, 30)
    layers = [module for module in model.modules() if isinstance(module, SMoE)]
    text = np.random.default_rng(0).integers(0, 30, 400)

    layers[0].router, layers[1].router = Oracle(layers[0].experts, 1.0), Oracle(layers[1].experts, -1.0)
    found = routing(model, text, 16)
    np.testing.assert_allclose(found.overlap[:2], [1.0, 0.0])
    assert found.overlap_chance[0] >= 0.25  # of two equal choices: the sum of the squared shares
    assert (found.entropy[:2] < 0.1).all() and (found.entropy_top_k == 0).all()
    assert ((found.usage_entropy >= 0) & (found.usage_entropy <= math.log(4) + 1e-9)).all()
    np.testing.assert_allclose(
        found.router_loss[:2], [0.0, 2 / 4], atol=1e-12
    )  # of two policies that choose another expert


def test_winners_route_as_a_router_does_that_knows_them():
    model = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL, top_k=1), 0, 30).eval()
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, 30, (3, 16)))
    plain = model(tokens)
    with winners_route(model):
        won = model(tokens)
    assert torch.equal(model(tokens), plain) and not torch.allclose(won, plain)
    for layer in [module for module in model.modules() if isinstance(module, SMoE)]:
        layer.router = Oracle(layer.experts, 1.0)
    torch.testing.assert_close(model(tokens), won)


class Oracle(torch.nn.Module):
    """A router that knows the norms of the outputs."""

    def __init__(self, bank, sign):
        super().__init__()
        self.bank, self.sign = [bank], sign

    def forward(self, z):
        return self.sign * 1e3 * self.bank[0].norms(z)


def test_sizes():
    """GLaM has a dense block after each SMoE block; a size's numbers hold unless others are given."""
    shapes = {
        (style, size): compete_lm.model_of(cell(), compete_lm.Settings(architecture=style, **own), 0, 30).shape
        for style in ("switch", "glam")
        for size, own in {"micro": {}, "own": SIZES}.items()
    }
    found = {key: (shape.blocks, shape.width, shape.hidden, shape.length) for key, shape in shapes.items()}
    assert found == {
        ("switch", "micro"): (3, 64, 64, 64),
        ("glam", "micro"): (6, 64, 64, 64),
        ("switch", "own"): (2, 16, 16, 16),
        ("glam", "own"): (4, 16, 16, 16),
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_k": 5}, "at most experts"),
        ({"router": "best"}, "smoe"),
        ({"probability": 1.5}, "probability"),
        ({"width": 20}, "multiple of 8"),
        ({"form": "falling", "probability": 0.8}, "form 'falling' it must be at most 0.5"),
    ],
)
def test_settings_refuse(settings, message):
    with pytest.raises(ValidationError, match=message):
        compete_lm.Settings(**{**SMALL, **settings})


@pytest.mark.parametrize("name", [*(f"compete_{name}" for name in STUDIES), "router_entropy"])
def test_studies_judge_arms_that_exist(name):
    study = load.read(Path(__file__).parents[3] / "studies" / f"{name}.toml").study
    arms = {arm.name for arm in study.arms}
    for claim in study.claims:
        assert claim.arm in arms
        assert not claim.versus or claim.versus in arms
        assert set(claim.options.get("others", [])) <= arms


# --- fine-tuning ------------------------------------------------------------------------------------------------------
TUNING = {"reviews": 60, "tune_steps": 12, "reviews_label": "topic"}


def test_fine_tuning_is_paired_and_reproducible():
    found = compete_finetune.run(cell(compete_finetune, **TUNING), [0, 1])
    assert (found["status"] == Status.CONVERGED).all()
    assert found["tune_loss"].sizes == {"replicate": 2, "tune_step": 10}
    assert ((found["accuracy"] >= 0) & (found["accuracy"] <= 1)).all()
    alone = compete_finetune.run(cell(compete_finetune, **TUNING), [1])
    assert alone.identical(found.sel(replicate=[1]))
    other = compete_finetune.run(cell(compete_finetune, **TUNING, router="smoe_fixed"), [0])
    assert other["majority"].item() == found["majority"][0].item()


def test_only_experts_and_new_layers_learn():
    model = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL), 0, 30)
    classifier = Classifier(model, 3, np.random.default_rng(0))
    learn = {name for name, p in classifier.named_parameters() if p.requires_grad}
    banks = {name for name, m in classifier.named_modules() if isinstance(m, ExpertBank)}
    assert {name for name in learn if name.startswith("decoder.")} == {
        f"{bank}.{part}" for bank in banks for part in ("first", "first_bias", "second", "second_bias")
    }
    assert len(learn) == len(banks) * 4 + 4


def test_padding_does_not_change_a_text():
    model = compete_lm.model_of(cell(), compete_lm.Settings(**SMALL), 0, 30)
    classifier = Classifier(model, 3, np.random.default_rng(0))
    ids = torch.randint(30, (2, 16), generator=torch.Generator().manual_seed(0))
    alone = classifier(ids[:1, :5], torch.tensor([5]))
    padded = classifier(ids, torch.tensor([5, 16]))
    torch.testing.assert_close(padded[:1], alone)


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


def test_the_users_csv(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("text,label\n" + "".join(f"{'good' if i % 2 else 'awful'} {i},{i % 2}\n" for i in range(40)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    settings = TUNING | {"csv": str(path), "csv_sha256": digest}
    found = compete_finetune.run(cell(compete_finetune, **settings), [0])
    assert found["status"].item() == Status.CONVERGED
    assert compete_finetune.Settings(csv=str(path)).csv_sha256 == digest
    with pytest.raises(ValueError, match="csv_sha256 is 'x'"):
        compete_finetune.Settings(csv=str(path), csv_sha256="x")
    assert compete_lm.Settings(file=str(path)).file_sha256 == digest
