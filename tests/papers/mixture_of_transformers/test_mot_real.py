"""The experiments that train mixtures of transformers on images and texts."""

import csv

import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.papers.mixture_of_transformers import mot_images, mot_text
from moestat.papers.mixture_of_transformers.image_data import ImageDataError
from moestat.status import Status
from moestat.training.labelled_text import LabelledTextError

pytest.importorskip("torch")

TINY = {"width": 8, "depth": 1, "heads": 2, "hidden": 16, "experts": 3, "batch": 64, "stage_one": 1, "stage_two": 3}
TINY |= {"epochs": 4, "rate": 3e-3}
IMAGES = TINY | {"patch": 2, "train": 300, "test": 100}
TEXTS = TINY | {"train": 300, "test": 100}


def cell(module, **settings):
    resolved = module.Settings(**settings).model_dump(mode="json")
    return Cell(module.__name__, 3, "arm", {}, resolved)


def run(module, replicates=(0,), **settings):
    return module.run(cell(module, **settings), list(replicates))


def test_images_variables_and_dimensions():
    pytest.importorskip("sklearn")
    found = run(mot_images, [0, 2], **IMAGES)
    assert (found["status"] == Status.CONVERGED).all() and found["iterations"].values.tolist() == [20, 20]
    assert found["test_error"].dims == ("replicate", "epoch") and found["test_error"].shape == (2, 4)
    assert found["routing"].dims == ("replicate", "class", "expert") and found["routing"].shape == (2, 10, 3)
    np.testing.assert_allclose(found["routing"].sum("expert"), 1.0)
    assert found["class"].values.tolist() == list("0123456789")
    by_stage = found["test_error"].sel(epoch=[1, 3, 4]).values
    np.testing.assert_array_equal(found["error_by_stage"].values, by_stage)
    assert (found["error"] == by_stage[:, -1]).all()
    assert found["stage_end"].values.tolist() == [1, 3, 4] and found["stage"].values.tolist() == ["I", "II", "III"]
    assert ((found["experts_used"] >= 1) & (found["experts_used"] <= 3)).all()
    assert ((found["mutual_information"] >= 0) & (found["mutual_information"] <= np.log2(3))).all()


def test_replicates_do_not_depend_on_the_block():
    pytest.importorskip("sklearn")
    together = run(mot_images, [0, 1], **IMAGES)
    assert run(mot_images, [1], **IMAGES).identical(together.sel(replicate=[1]))


def test_a_transformer_learns_digits_and_has_one_expert():
    pytest.importorskip("sklearn")
    larger = {"width": 16, "epochs": 12, "train": 0, "test": 0, "batch": 32}
    found = run(mot_images, **IMAGES | larger | {"model": "transformer", "schedule": "joint"})
    assert found["error"].item() < 0.6, "chance is 0.9"
    assert found["routing"].sizes["expert"] == 1 and found["mutual_information"].item() == 0
    clean = {"foreign": 0.0, "corrupted": 0.0}
    easier = run(mot_images, **IMAGES | larger | clean | {"model": "transformer", "schedule": "joint"})
    assert easier["error"].item() < found["error"].item() - 0.1


def test_arms_see_the_same_texts_and_replicates_others():
    def inputs(settings, replicate):
        return mot_text._problem(cell(mot_text, **settings), mot_text.Settings(**settings), replicate).inputs

    here = inputs(TEXTS, 0)
    rival = inputs(TEXTS | {"schedule": "joint", "model": "no_attention", "experts": 2}, 0)
    other = inputs(TEXTS, 1)
    for part in (0, 1):
        np.testing.assert_array_equal(here[part], rival[part])
        assert not np.array_equal(here[part], other[part])


def test_a_model_starts_where_it_starts_in_the_other_schedule():
    """In the first epoch stage I differs from joint training in the attention alone, so the losses are close."""
    staged, joint, other = (
        run(mot_text, [replicate], **TEXTS | {"schedule": schedule, "rate": 1e-6})["train_loss"].values[0, 0]
        for replicate, schedule in ((0, "staged"), (0, "joint"), (1, "joint"))
    )
    assert abs(staged - joint) < 1e-3 < abs(joint - other)


@pytest.mark.parametrize("model", ["mixture", "no_attention", "shared_attention", "transformer"])
def test_text_classification_and_regression(model):
    found = run(mot_text, **TEXTS | {"model": model})
    assert found["status"].item() == Status.CONVERGED
    assert found["class"].values.tolist() == ["book", "car", "food", "hotel"], "the routing is by topic"
    assert 0 < found["error"].item() < 1
    numbers = run(mot_text, **TEXTS | {"model": model, "task": "regression"})
    assert numbers["status"].item() == Status.CONVERGED
    assert 0.2 < numbers["error"].item() < 1.5
    assert not np.array_equal(numbers["train_loss"], found["train_loss"])


def test_a_transformer_tells_the_topics_apart():
    plan = {"model": "transformer", "schedule": "joint", "label": "topic", "width": 16, "epochs": 10, "train": 800}
    found = run(mot_text, **TEXTS | plan)
    assert found["error"].item() < 0.15, "chance is 3/4"


# --- the user's data -------------------------------------------------------------------------------------------------


def reviews_csv(path, rows=60):
    rng = np.random.default_rng(8)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["review", "verdict", "stars"])
        for i in range(rows):
            word = ("fine", "bad")[i % 2]
            writer.writerow([f"it was {word}, {rng.integers(100)}", word, 5 - 3 * (i % 2) + rng.random()])
    return path


def test_texts_of_the_users(tmp_path):
    path = reviews_csv(tmp_path / "own.csv")
    own = TEXTS | {"data": str(path), "text": "review", "label": "verdict", "number": "stars", "epochs": 4}
    found = run(mot_text, **own)
    assert found["class"].values.tolist() == ["bad", "fine"] and found["status"].item() == Status.CONVERGED
    numbers = run(mot_text, **own | {"task": "regression", "ids": "bytes"})
    assert numbers["class"].values.tolist() == list(mot_text.FIFTHS)
    np.testing.assert_allclose(numbers["routing"].sum("expert"), 1.0)
    with pytest.raises(LabelledTextError, match=r"own.csv, row 1: there is no column 'polarity'"):
        run(mot_text, **own | {"label": "polarity"})


def test_other_data_are_another_cell(tmp_path):
    path = reviews_csv(tmp_path / "own.csv")
    before = mot_text.Settings(data=str(path))
    assert len(before.data_sha256) == 64
    assert mot_text.Settings(**before.model_dump()) == before
    reviews_csv(path, rows=50)
    assert mot_text.Settings(data=str(path)).data_sha256 != before.data_sha256
    with pytest.raises(ValidationError, match="data_sha256 is '[0-9a-f]{64}', but the checksum of the data is"):
        mot_text.Settings(**before.model_dump())


def test_images_of_the_users(tmp_path):
    rng = np.random.default_rng(2)
    arrays = {"x_train": rng.random((40, 6, 9, 2)), "x_test": rng.random((20, 6, 9, 2))}
    np.savez(tmp_path / "own.npz", y_train=np.arange(40) % 2 + 3, y_test=np.arange(20) % 2 + 3, **arrays)
    own = TINY | {"data": str(tmp_path / "own.npz"), "patch": 3}
    found = run(mot_images, **own)
    assert found["class"].values.tolist() == ["3", "4"] and found["status"].item() == Status.CONVERGED
    with pytest.raises(ValueError, match="patch is 4; it must divide the images' height and width, 6 x 9"):
        run(mot_images, **own | {"patch": 4})
    (tmp_path / "own.npz").write_bytes(b"PK")
    with pytest.raises(ImageDataError, match="own.npz: it is not a whole"):
        run(mot_images, **own)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 5}, "heads is 5; it must divide width, which is 48"),
        ({"stage_two": 20}, "stage_one, stage_two and epochs are 50, 20 and 600; they must grow"),
        ({"data": "nowhere.npz"}, "nowhere.npz: there is no such file or folder"),
        ({"model": "perceptron"}, "no_attention"),
        ({"foreign": 0.7, "corrupted": 0.4}, "foreign and corrupted are 0.7 and 0.4; together they must be at most 1"),
    ],
)
def test_settings_refuse(settings, message):
    with pytest.raises(ValidationError, match=message):
        mot_images.Settings(**settings)


def test_reviews_refuse_a_column_of_the_other_task():
    with pytest.raises(ValueError, match="the column 'score' of the reviews is for regression, not classification"):
        run(mot_text, **TEXTS | {"label": "score"})


def test_a_training_that_diverges_is_recorded():
    found = run(mot_text, **TEXTS | {"task": "regression", "rate": 1e30})
    assert found["status"].item() == Status.NOT_FINITE
