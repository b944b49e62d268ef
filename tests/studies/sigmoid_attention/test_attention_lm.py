"""The experiment that trains and times language models with two kinds of attention, and its study file."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from cells import cell_of

from moestat.status import Status
from studies.sigmoid_attention.parts import attention_lm

pytest.importorskip("torch")

from moestat.training import lm_training

SMALL = {"blocks": 1, "width": 16, "heads": 2, "hidden": 24, "length": 16, "batch": 4, "steps": 40, "every": 20}
SMALL |= {"validation": 256, "windows": (8, 16), "tokens": 64, "rounds": 1}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text with some order, and its checksum."""
    path = tmp_path_factory.mktemp("text") / "own.txt"
    words = np.random.default_rng(0).choice(["the ", "cat ", "sat ", "on ", "a ", "mat.\n"], 1500)
    path.write_text("".join(words))
    return {"file": str(path), "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def cell(text, **settings):
    return cell_of(attention_lm, **SMALL | text | settings)


def test_losses(text):
    found = attention_lm.run(cell(text, attention="sigmoid"), [0, 4])
    assert (found["status"] == Status.CONVERGED).all()
    assert found["valid_bpc"].dims == ("replicate", "step") and found["step"].values.tolist() == [0, 20, 40]
    symbols = len(set(Path(text["file"]).read_text()))
    np.testing.assert_allclose(found["valid_bpc"][:, 0], np.log2(symbols), atol=0.1)
    assert (found["test_bpc"] < found["valid_bpc"][:, 0] - 1).all()
    assert found["train_bpc"][0, 1] != found["train_bpc"][1, 1]
    assert set(found["iterations"].values) == {40} and (found["parameters"] > 0).all()


def test_arms_share_first_weights_and_batches(text, monkeypatch):
    seen = []

    def stop(model, corpus, plan, *, batches, **options):
        seen.append([p.detach().numpy().tobytes() for p in model.parameters()] + [batches.integers(1 << 60)])
        raise InterruptedError

    monkeypatch.setattr(lm_training, "train", stop)
    for attention, replicate in (("softmax", 0), ("sigmoid", 0), ("softmax", 1)):
        with pytest.raises(InterruptedError):
            attention_lm.run(cell(text, attention=attention), [replicate])
    first, second, other = seen
    assert first == second
    assert first[0] != other[0] and first[-1] != other[-1]
