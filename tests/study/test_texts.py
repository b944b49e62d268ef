"""Passages that several studies share."""

from pathlib import Path

import pytest

from moestat.errors import InputError
from moestat.study import load
from moestat.study.texts import filled

STUDIES = Path(__file__).parents[2] / "studies"


def test_a_shared_passage_stands_where_it_is_named(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "model.md").write_text("The model is {small}.\n", encoding="utf-8")
    raw = {"about": "{model.md} Ours.\n\n{model}", "notes": "{model.md}", "title": "{model.md}", "seed": 1}
    assert filled(raw, tmp_path) == raw | {
        "about": "The model is {small}. Ours.\n\n{model}",
        "notes": "The model is {small}.",
    }


def test_a_passage_that_is_not_there_is_named(tmp_path):
    text = (STUDIES / "compete_topk.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"mine\.toml: about places \{smoe_model\.md\}, but the text .* cannot be read"
    ):
        load.read(tmp_path / "mine.toml")


def test_every_shared_passage_is_used_and_none_stands_in_a_study_file():
    studies = {path: path.read_text(encoding="utf-8") for path in STUDIES.glob("*.toml")}
    for passage in (STUDIES / "texts").glob("*.md"):
        assert sum(f"{{{passage.name}}}" in text for text in studies.values()) > 1, passage
        assert not any(passage.read_text(encoding="utf-8").strip() in text for text in studies.values()), passage
