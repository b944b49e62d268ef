"""Trainings other than the default one: the published code's, norms after, dropout, own routers, kept models."""

import sys
from functools import partial

import numpy as np
import pytest
from cells import cell_of

torch = pytest.importorskip("torch")

from moestat.training import corpus as corpora  # noqa: E402
from moestat.training import lm_training  # noqa: E402
from studies.compete_smoe.parts import compete_lm, kept_models, routers, smoe, variants  # noqa: E402
from studies.compete_smoe.parts.expert_bank import ExpertBank  # noqa: E402

SMALL = {"blocks": 2, "width": 16, "length": 16, "experts": 4}
SMALL |= {"batch": 4, "steps": 6, "every": 3, "validation": 256, "test": 512}
PUBLISHED = {"reading": "published", "norm": "after", "dropout": 0.1, "schedule": "constant", "clip": 0.0}
PUBLISHED |= {"router": "compete_smoe", "competition_output": "competition", "probability": 1.0, "router_weight": 0.05}


cell = partial(cell_of, compete_lm, **SMALL)


def model(**settings):
    return compete_lm.model_of(cell(), compete_lm.Settings(**SMALL | settings), 0, 30)


def layer(**how):
    bank = ExpertBank(5, 7, 6, np.random.default_rng(0))
    made = smoe.SMoE(bank, routers.make("smoe", 5, 6, np.random.default_rng(1)), **how).double()
    return made, torch.from_numpy(np.random.default_rng(2).standard_normal((23, 5))).requires_grad_()


# --- the default is what it was --------------------------------------------------------------------------------------


# --- the published code ----------------------------------------------------------------------------------------------
def test_the_published_router_loss():
    """The softmax of all scores against that of the K largest norms; it moves the experts and what is before them."""
    made, z = layer(competition=smoe.Competition(smoe.schedule(1.0), key=0, output="competition", reading="published"))
    made.begin_step(0, 1)
    made(z)
    norms = torch.linalg.vector_norm(made.experts.every(z), dim=-1).t()
    wanted = ((made.router(z).softmax(1) - smoe.policy(norms, 2)) ** 2).mean()
    torch.testing.assert_close(made.auxiliary, wanted)
    made.auxiliary.backward()
    assert z.grad.abs().sum() > 0 and made.experts.second.grad.abs().sum() > 0
    ours, x = layer(competition=smoe.Competition(smoe.schedule(1.0), key=0, output="competition"))
    ours.begin_step(0, 1)
    ours(x)
    ours.auxiliary.backward()
    assert x.grad is None and ours.experts.second.grad is None


@pytest.mark.parametrize(("kind", "dimension"), [("xmoe", 8), ("stable_moe", 5)])
def test_the_published_rivals_are_inner_products_with_unit_embeddings(kind, dimension):
    router = routers.make(kind, 5, 6, np.random.default_rng(0), reading="published")
    assert router.embeddings.shape == (dimension, 6) and not hasattr(router, "begin_step")
    z = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(router(2 * z), 2 * router(z))  # tokens are not normalised, nothing is a temperature
    before = router(z)
    with torch.no_grad():
        router.embeddings.mul_(3.0)
    torch.testing.assert_close(router(z), before)


def test_norms_after_and_dropout():
    ids = torch.arange(16)[None]
    after = model(norm="after", dropout=0.5)
    same = model(norm="after").state_dict()
    ours = {name.replace("inside.", ""): value for name, value in after.state_dict().items()}
    assert all(torch.equal(value, same[name]) for name, value in ours.items()), "the same first weights"
    out = after.eval()(ids)
    torch.testing.assert_close(out.mean(-1), torch.zeros(1, 16), atol=1e-5, rtol=0)  # normalised, and not once more
    torch.testing.assert_close(out.var(-1, unbiased=False), torch.ones(1, 16), atol=1e-2, rtol=0)
    dropout = next(m for m in after.modules() if isinstance(m, variants.Dropout)).train()
    dropout.inside = torch.nn.Identity()
    ones = torch.ones(200, 100)
    dropout.begin_step(3, 9)
    first, again = dropout(ones), dropout(ones)
    assert torch.equal(first, again) and set(first.unique().tolist()) == {0.0, 2.0}
    assert abs(first.mean().item() - 1) < 0.05  # seven standard deviations
    dropout.begin_step(4, 9)
    assert not torch.equal(dropout(ones), first)
    assert torch.equal(dropout.eval()(ones), ones)


# --- a router of one's own -------------------------------------------------------------------------------------------
OWN = """
import torch


class Steep(torch.nn.Module):
    def __init__(self, width, experts, rng):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(rng.standard_normal((width, experts))))

    def forward(self, z):
        return z @ self.weight


def broken(width, experts, rng):
    return 3


class Wide(Steep):
    def forward(self, z):
        return super().forward(z)[:, :-1]
"""


@pytest.fixture
def own_routers(tmp_path, monkeypatch):
    (tmp_path / "my_routers.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_routers", None)


@pytest.mark.usefixtures("own_routers")
def test_a_router_of_ones_own_is_trained_and_competes_where_asked():
    settings = {"router": "my_routers:Steep"}
    made = cell(**settings)
    assert made.settings["own_code"]
    alone = compete_lm.run(made, [0])
    competing = compete_lm.run(cell(**settings, competes=True, probability=1.0), [0])
    assert alone["competitions"].item() == 0 and competing["competitions"].item() == 1
    assert np.isfinite([alone["bpc"].item(), competing["bpc"].item()]).all()


@pytest.mark.usefixtures("own_routers")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("my_routers:Steeep", "cannot be imported: AttributeError"),
        ("my_routers:OWN", "cannot be imported"),
        ("my_routers:broken", "returned a int; it must return a torch.nn.Module"),
        ("my_routers:Wide", r"gives scores \(3, 3\) for tokens \(3, 16\); needed is \(3, 4\)"),
    ],
)
def test_an_own_router_that_cannot_be_used_is_refused_with_a_sentence(path, message):
    with pytest.raises(ValueError, match=message):
        routers.make(path, 16, 4, np.random.default_rng(0))


# --- kept models -----------------------------------------------------------------------------------------------------
def test_a_kept_model_gives_the_losses_that_were_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))
    made = cell(**PUBLISHED, keep_model=True)
    found = compete_lm.run(made, [1])
    path = kept_models.path_of(made, 1)
    assert str(path) in capsys.readouterr().err
    decoder, symbols, content = kept_models.load(path)
    assert content["replicate"] == 1 and len(symbols) == decoder.shape.vocabulary
    loss = lm_training.evaluate(decoder, corpora.load().test, 16, batch=4, limit=512)
    assert lm_training.bits(loss) == pytest.approx(found["bpc"].item(), rel=1e-6)
    path.write_bytes(b"no model")
    with pytest.raises(ValueError, match="is not a model that moestat kept"):
        kept_models.load(path)


# --- cautions and rules ----------------------------------------------------------------------------------------------
