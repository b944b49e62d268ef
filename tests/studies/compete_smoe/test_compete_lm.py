"""Language models with sparse mixtures: pairing, competition, and trainings that differ."""

import sys

import numpy as np
import pytest
from cells import cell_of

torch = pytest.importorskip("torch")

from moestat.status import Status  # noqa: E402
from moestat.training import checkpoint, lm_training  # noqa: E402
from studies.compete_smoe.parts import compete_lm, decoders, routers  # noqa: E402

SIZES = {"blocks": 2, "width": 16, "length": 16, "experts": 4}
SMALL = SIZES | {"batch": 4, "steps": 6, "every": 3, "validation": 256, "test": 512}


def cell(module=compete_lm, **settings):
    return cell_of(module, **SMALL | settings)


def model_of(replicate=0, **settings):
    return compete_lm.model_of(cell(), compete_lm.Settings(**SMALL | settings), replicate, 30)


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
    assert all(np.isnan(found[name].item()) for name in ("bpc", "best_valid_bpc", "entropy", "overlap"))


def test_lambda_0_is_smoe_bit_for_bit_and_competition_is_not():
    smoe = numbers(compete_lm.run(cell(), [0]))
    assert numbers(compete_lm.run(cell(router="compete_smoe", probability=0.0), [0])).identical(smoe)
    competing = compete_lm.run(cell(router="compete_smoe", probability=1.0), [0])
    assert competing["competitions"].item() == 1.0
    assert competing["bpc"].item() != smoe["bpc"].item()
    # the same first weights: the untrained models agree
    assert competing["valid_bpc"][0, 0].item() == smoe["valid_bpc"][0, 0].item()


def test_arms_start_from_the_same_weights():
    ours, theirs = (model_of(router=router).state_dict() for router in ("smoe", "xmoe"))
    shared = set(ours) & set(theirs)
    assert {name for name in ours if "router" not in name} == shared
    assert all(torch.equal(ours[name], theirs[name]) for name in shared)
    assert not torch.equal(ours["embedding"], model_of(1).state_dict()["embedding"])


# --- other trainings: norms after, dropout, a router of one's own ----------------------------------------
def test_norms_after_and_dropout():
    ids, after = torch.arange(16)[None], model_of(norm="after", dropout=0.5)
    same = model_of(norm="after").state_dict()
    ours = {name.replace("inside.", ""): value for name, value in after.state_dict().items()}
    assert all(torch.equal(value, same[name]) for name, value in ours.items()), "the same first weights"
    out = after.eval()(ids)
    torch.testing.assert_close(out.mean(-1), torch.zeros(1, 16), atol=1e-5, rtol=0)  # normalised, and not once more
    torch.testing.assert_close(out.var(-1, unbiased=False), torch.ones(1, 16), atol=1e-2, rtol=0)
    dropout, ones = decoders.Dropout(torch.nn.Identity(), 0.5, key=7), torch.ones(200, 100)
    dropout.begin_step(3, 9)
    first = dropout(ones)
    assert torch.equal(first, dropout(ones)) and set(first.unique().tolist()) == {0.0, 2.0}
    assert abs(first.mean().item() - 1) < 0.05  # seven standard deviations
    dropout.begin_step(4, 9)
    assert not torch.equal(dropout(ones), first) and torch.equal(dropout.eval()(ones), ones)


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
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Steeep", "cannot be imported: AttributeError"),
        ("OWN", "cannot be imported"),
        ("broken", "returned a int; it must return a torch.nn.Module"),
        ("Wide", r"gives scores \(3, 3\) for tokens \(3, 16\); needed is \(3, 4\)"),
    ],
)
def test_an_own_router_that_cannot_be_used_is_refused_with_a_sentence(name, message):
    with pytest.raises(ValueError, match=message):
        routers.make(f"my_routers:{name}", 16, 4, np.random.default_rng(0))
