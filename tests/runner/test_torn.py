"""A shard that is torn, flipped, or made up by somebody is never read: it is set aside by name and computed again."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from machine import inside, results, run, shards, write_study

from moestat.experiment import Cell
from moestat.runner import shard

VALUES = {
    "status": shard.Variable(("replicate",), np.zeros(3, dtype=np.int64)),
    "loss": shard.Variable(("replicate", "step"), np.arange(6.0).reshape(3, 2)),
    "message": shard.Variable(("replicate",), np.array(["", "é", "a\nb"], dtype=object)),
}
CELL = Cell("toy", 1, "x", {"n": 10}, {})
CONTENT = shard.encode(CELL, range(3, 6), VALUES, {"toy": "abc"}, {"seconds": 0.5})


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A study that was run, its folder and its results; whatever a test damages there is computed again."""
    folder = tmp_path_factory.mktemp("torn")
    study = write_study(folder, replicates=2)
    assert run(study, folder, "--quiet")[0] == 0
    return study, folder, results(folder)


def test_a_shard_gives_back_what_it_was_given_and_the_attributes_of_an_older_one():
    head, payload = CONTENT.split(b"\n", 1)[1].split(b"\n", 1)
    older = json.dumps(json.loads(head) | {"attrs": {"policy": "near", "size": 2}}).encode()
    header, variables = shard.decode(shard.sealed(older + b"\n" + payload))
    assert header.replicates == [3, 4, 5] and header.coords == {"n": 10}
    assert variables["loss"].values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert variables["message"].values.tolist() == ["", "é", "a\nb"]
    assert variables["policy"].values.item() == "near" and variables["size"].values.item() == 2


def test_no_part_of_a_shard_is_one_and_none_with_a_flipped_bit():
    parts = [CONTENT[:length] for length in range(len(CONTENT))] + [CONTENT + b"\0"]
    flipped = [(place, bit) for place in range(len(CONTENT)) for bit in range(8)]
    for place, bit in flipped:
        parts.append(CONTENT[:place] + bytes([CONTENT[place] ^ 1 << bit]) + CONTENT[place + 1 :])
    for part in parts:
        with pytest.raises(shard.DamagedShardError):
            shard.decode(part)


DAMAGES = {
    "truncated": lambda content: content[:-9],
    "empty": lambda content: b"",
    "zeroed": lambda content: bytes(len(content)),
    "no header": lambda content: shard.sealed(b""),
    "no JSON": lambda content: shard.sealed(b"{\n"),
    "deep": lambda content: shard.sealed(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
}


@pytest.mark.parametrize("way", DAMAGES)
def test_a_damaged_shard_is_quarantined_told_and_computed_again(computed, way):
    study, folder, whole = computed
    path = shards(folder)[0]
    path.write_bytes(DAMAGES[way](path.read_bytes()))
    code, _, err = inside("collect", study, "--out", folder, "--no-report")
    assert code == 1 and "2 replicates are missing" in err and "--preset quick" in err
    told = [line for line in err.splitlines() if "damaged shard" in line]
    assert len(told) == 1 and f"/{path.parent.name}/{path.name}" in told[0] and "quarantine/" in told[0]
    assert run(study, folder)[0] == 0 and results(folder).identical(whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing"])
def test_what_is_no_file_is_set_aside_and_not_waited_for(computed, kind):
    study, folder, whole = computed
    path = shards(folder)[0].with_name("0000000-0000009.0.shard")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    told = "" if kind == "nothing" else "it is no regular file"
    code, _, err = run(study, folder)
    path.unlink(missing_ok=True)
    assert code == 0 and told in err and results(folder).identical(whole)


def test_a_shard_of_another_format_is_refused_and_left_alone(tmp_path):
    study = write_study(tmp_path, replicates=1)
    run(study, tmp_path, "--quiet")
    path = shards(tmp_path)[0]
    newer = shard.sealed(path.read_bytes().split(b"\n", 1)[1], b"7")
    path.write_bytes(newer)
    code, _, err = run(study, tmp_path)
    assert code == 1 and "format 7" in err and err.count("\n") == 1
    assert path.read_bytes() == newer
