"""The experiments that train mixtures of transformers on images and texts."""

import csv
import functools

import numpy as np
import pytest
from cells import cell_of
from cells import computed as run

from moestat.bounded import DataFileError
from moestat.status import Status
from moestat.training.labelled_text import LabelledTextError
from studies.mixture_of_transformers.parts import mot_images, mot_real, mot_text
from studies.mixture_of_transformers.parts.mot_text import PAD, UNKNOWN, WordIds, words

torch = pytest.importorskip("torch")

TINY = {"width": 8, "depth": 1, "heads": 2, "hidden": 16, "experts": 3, "batch": 64, "stage_one": 1, "stage_two": 3}
TINY |= {"epochs": 4, "rate": 3e-3}
TEXTS = TINY | {"train": 300, "test": 100}


def posed(module, settings, replicate=0):
    """Return the settings, the streams and the problem of a replicate."""
    parsed, streams = module.Settings(**settings), functools.partial(cell_of(module, **settings).generator, replicate)
    return parsed, streams, module.problem(parsed, streams)


def test_arms_see_the_same_texts_and_replicates_others():
    here, rival, other = (
        posed(mot_text, settings, replicate)[2].inputs
        for settings, replicate in [
            (TEXTS, 0),
            (TEXTS | {"schedule": "joint", "model": "no_attention", "experts": 2}, 0),
            (TEXTS, 1),
        ]
    )
    for part in (0, 1):
        np.testing.assert_array_equal(here[part], rival[part])
        assert not np.array_equal(here[part], other[part])


def test_words_and_ids():
    assert words("Don't stop, NOW!") == ["don't", "stop", ",", "now", "!"]
    ids = WordIds(["b a b", "a b c"], size=4)
    assert ids.ids == {"b": 2, "a": 3} and ids.size == 4
    assert ids(["a b zzz", "b", "a a a a a"], 4).tolist() == [[3, 2, UNKNOWN, PAD], [2, 0, 0, 0], [3, 3, 3, 3]]


def test_the_control_is_linear_in_the_pixels_and_in_the_counts_of_words():
    model = mot_real.start(*posed(mot_images, TINY | {"model": "linear", "patch": 2}))
    torch.nn.init.normal_(model.experts[0].theta)
    one, two = torch.randn(2, 5, 16, 4)
    torch.testing.assert_close(model(one + two).output, model(one).output + model(two).output)
    model = mot_real.start(*posed(mot_text, TEXTS | {"model": "linear"}))
    torch.nn.init.normal_(model.experts[0].theta)
    ids = torch.from_numpy(posed(mot_text, TEXTS)[2].inputs[0])
    torch.testing.assert_close(model(ids).output, model(ids.flip(1)).output)  # the order of the words does not count
    found = run(mot_text, **TEXTS | {"model": "linear", "schedule": "joint"})
    assert found["train_loss"][0, -1] < found["train_loss"][0, 0] and found.sizes["expert"] == 1


def test_texts_of_the_users(tmp_path):
    path, rng = tmp_path / "own.csv", np.random.default_rng(8)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["review", "verdict", "stars"])
        for i in range(60):
            word = ("fine", "bad")[i % 2]
            writer.writerow([f"it was {word}, {rng.integers(100)}", word, 5 - 3 * (i % 2) + rng.random()])
    own = TEXTS | {"data": str(path), "text": "review", "label": "verdict", "number": "stars"}
    found = run(mot_text, **own)
    assert found["class"].values.tolist() == ["bad", "fine"] and found["status"].item() == Status.CONVERGED
    numbers = run(mot_text, **own | {"task": "regression"})
    assert numbers["class"].values.tolist() == list(mot_text.FIFTHS)
    np.testing.assert_allclose(numbers["routing"].sum("expert"), 1.0)
    with pytest.raises(LabelledTextError, match=r"own.csv, row 1: there is no column 'polarity'"):
        run(mot_text, **own | {"label": "polarity"})


def test_images_of_the_users(tmp_path):
    rng, own = np.random.default_rng(2), TINY | {"data": str(tmp_path / "own.npz"), "patch": 3}
    arrays = {"x_train": rng.random((40, 6, 9, 2)), "x_test": rng.random((20, 6, 9, 2))}
    np.savez(tmp_path / "own.npz", y_train=np.arange(40) % 2 + 3, y_test=np.arange(20) % 2 + 3, **arrays)
    found = run(mot_images, **own | {"flips_and_crops": True})
    assert found["class"].values.tolist() == ["3", "4"] and found["status"].item() == Status.CONVERGED
    with pytest.raises(ValueError, match="patch is 4; it must divide the images' height and width, 6 x 9"):
        run(mot_images, **own | {"patch": 4})
    (tmp_path / "own.npz").write_bytes(b"PK")
    with pytest.raises(DataFileError, match="own.npz: it is not a whole"):
        run(mot_images, **own)


def test_a_training_that_diverges_is_recorded():
    found = run(mot_text, **TEXTS | {"task": "regression", "rate": 1e30})
    assert found["status"].item() == Status.NOT_FINITE
