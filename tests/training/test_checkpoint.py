"""Checkpoints: a run that was stopped continues to the same numbers, bit for bit; damaged files are named."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.training.checkpoint import Checkpoints, CheckpointWarning  # noqa: E402  needs torch


def training(folder: Path, every: float) -> dict:
    """Train a small model; return what must not depend on interruptions, in a form that shows every bit."""
    from moestat.training.corpus import Corpus
    from moestat.training.decoder import Decoder, Shape
    from moestat.training.lm_plan import Plan
    from moestat.training.lm_training import deterministic, train

    text = np.random.default_rng(0).integers(0, 4, 4000).cumsum() % 11
    corpus = Corpus("walk", "character", tuple("abcdefghijk"), *np.split(text.astype(np.uint8), [3000, 3500]))
    shape = Shape(11, 16, 2, 16, 2, 16, attention="sigmoid", positions="alibi", norm="rms", query_key_norm=True)
    model = Decoder(shape, generator=np.random.default_rng(1))
    plan = Plan(steps=100, batch=4, length=16, rate=1e-2, every=50, keep_best=True)
    with deterministic("cpu"):
        found = train(
            model, corpus, plan, batches=np.random.default_rng(2), checkpoints=Checkpoints(folder, every=every)
        )
    return {
        "resumed_at": found.resumed_at,
        "valid": [x.hex() for x in found.valid],
        "train": [x.hex() for x in found.train],
        "best_step": found.best_step,
        "weights": [p.detach().numpy().tobytes().hex() for p in model.parameters()],
    }


def steps(folder: Path) -> list[int]:
    return sorted(int(file.name[5:15]) for file in folder.glob("step-*.checkpoint"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return training(tmp_path_factory.mktemp("whole") / "none", every=1e9)


class Stopped(Exception):
    """What ends a training run after its second checkpoint."""


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(tmp_path, monkeypatch, undisturbed):
    save = Checkpoints.save

    def save_two(self, step, state):
        save(self, step, state)
        if len(steps(tmp_path)) == 2:
            raise Stopped

    monkeypatch.setattr(Checkpoints, "save", save_two)
    with pytest.raises(Stopped):
        training(tmp_path, every=0)
    monkeypatch.undo()
    before, last = steps(tmp_path)[-2:]
    file = tmp_path / f"step-{last:010d}.checkpoint"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.warns(CheckpointWarning, match="its checksum does not match") as caught:
        continued = training(tmp_path, every=1e9)
    assert str(file) in str(caught[0].message)
    assert continued["resumed_at"] == before
    assert continued | {"resumed_at": 0} == undisturbed


STATE = {"weights": torch.arange(4.0), "generator": {"state": 2**100}, "curve": [1.5, float("nan")]}


def same(state: dict) -> bool:
    np.testing.assert_equal(state["curve"], STATE["curve"])
    return torch.equal(state["weights"], STATE["weights"]) and state["generator"] == STATE["generator"]


def test_the_last_two_are_kept_and_the_newest_is_used(tmp_path):
    kept = Checkpoints(tmp_path / "run")
    assert kept.latest() is None
    for step in (5, 50, 1000):
        kept.save(step, STATE)
    assert steps(tmp_path / "run") == [50, 1000]
    step, state = Checkpoints(tmp_path / "run").latest()
    assert step == 1000 and same(state)
    kept.remove()
    assert kept.latest() is None and not (tmp_path / "run").exists()


@pytest.mark.parametrize("damage", [b"", b"moestat-checkpoint-1 ", b"something else\n" + b"x" * 100, "cut off"])
def test_files_that_are_no_checkpoints_are_named(tmp_path, damage):
    kept = Checkpoints(tmp_path)
    kept.save(7, STATE)
    kept.save(8, STATE)
    newest = tmp_path / "step-0000000008.checkpoint"
    damage = newest.read_bytes()[:-1] if damage == "cut off" else damage
    newest.write_bytes(damage)
    with pytest.warns(CheckpointWarning, match=str(newest)):
        step, state = kept.latest()
    assert step == 7 and same(state)
    (tmp_path / "step-0000000007.checkpoint").write_bytes(damage)
    with pytest.warns(CheckpointWarning):
        assert kept.latest() is None


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    kept = Checkpoints(tmp_path / "file" / "run", every=0.0)
    assert kept.due()
    with pytest.warns(CheckpointWarning, match="no checkpoint can be written"):
        kept.save(1, STATE)
    assert not kept.due(), "it is said once"
    assert kept.latest() is None and not Checkpoints(tmp_path).due()
