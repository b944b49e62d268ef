"""A shard that is torn, flipped, or made up by somebody is never read: it is set aside by name and computed again."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import inside, results, shards, write_study

from moestat.runner import shard

VALUES = {
    "status": shard.Variable(("replicate",), np.zeros(3, dtype=np.int64)),
    "loss": shard.Variable(("replicate", "step"), np.arange(6.0).reshape(3, 2)),
    "message": shard.Variable(("replicate",), np.array(["", "é", "a\nb"], dtype=object)),
}
CONTENT = shard.encode(
    cell='{"seed":1,"settings":{}}',
    arm="x",
    coords={"n": 10},
    code={"toy": "abc"},
    replicates=range(3, 6),
    status=[0, 0, 0],
    variables=VALUES,
    attrs={"policy": "near"},
    seconds=0.5,
    created=0.0,
    device="cpu",
)


def run(study, out, *words):
    code, _, err = inside(study, "--out", out, "--jobs", 1, "--no-report", *words)
    return code, err


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A study that was run, its folder and its results; whatever a test damages there is computed again."""
    folder = tmp_path_factory.mktemp("torn")
    study = write_study(folder, replicates=2)
    assert run(study, folder, "--quiet")[0] == 0
    return study, folder, results(folder)


# --- its bytes -----------------------------------------------------------------------------------------------------


def test_a_shard_gives_back_what_it_was_given():
    header, variables = shard.decode(CONTENT)
    assert header.replicates == [3, 4, 5] and header.attrs == {"policy": "near"} and header.coords == {"n": 10}
    assert variables["loss"].values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert variables["message"].values.tolist() == ["", "é", "a\nb"]


def test_no_part_of_a_shard_is_one_and_none_with_a_flipped_bit():
    parts = [CONTENT[:length] for length in range(len(CONTENT))] + [CONTENT + b"\0"]
    flipped = [(place, bit) for place in range(len(CONTENT)) for bit in range(8)]
    for place, bit in flipped:
        parts.append(CONTENT[:place] + bytes([CONTENT[place] ^ 1 << bit]) + CONTENT[place + 1 :])
    for part in parts:
        with pytest.raises(shard.DamagedShardError):
            shard.decode(part)


PATHS = [()] + [(key,) for key in ("cell", "arm", "coords", "code", "replicates", "status", "made", "attrs", "arrays")]
PATHS += [("arrays", 1, key) for key in ("name", "dims", "type", "shape", "texts", "attrs", "coord")]
PATHS += [("made", "seconds"), ("arrays", 2, "texts"), ("arrays", 2, "shape"), ("replicates", 0), ("status", 0)]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["|O", "f8,f8"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(PATHS), JUNK)
def test_a_header_with_anything_in_a_place_is_whole_or_refused(path, junk):
    """With the right checksum: what is accepted gives arrays of the right replicates, and nothing else happens."""
    _, line, payload = CONTENT.split(b"\n", 2)
    raw = here = json.loads(line)
    for part in path[:-1]:
        here = here[part]
    if path:
        here[path[-1]] = junk
    try:
        header, variables = shard.decode(shard.sealed(json.dumps(raw if path else junk).encode() + b"\n" + payload))
    except shard.DamagedShardError:
        return
    assert len(header.replicates) == len(header.status) == 3
    for variable in variables.values():
        assert variable.values.ndim == len(variable.dims) and variable.values.dtype.kind in "biufcO"
        assert "replicate" not in variable.dims or variable.values.shape[variable.dims.index("replicate")] == 3


# --- its file ------------------------------------------------------------------------------------------------------


def crafted(**changes):
    """Return what changes the header of a shard and gives it the right checksum."""

    def change(content: bytes) -> bytes:
        _, line, payload = content.split(b"\n", 2)
        raw = json.loads(line)
        for key, value in changes.items():
            next((item for item in raw["arrays"] if item["name"] == key), raw).update(value)
        return shard.sealed(json.dumps(raw).encode() + b"\n" + payload)

    return change


DAMAGES = {
    "truncated": lambda content: content[:-9],
    "empty": lambda content: b"",
    "zeroed": lambda content: bytes(len(content)),
    "no header": lambda content: shard.sealed(b""),
    "no JSON": lambda content: shard.sealed(b"{\n"),
    "deep": lambda content: shard.sealed(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "a cell without settings": crafted(header={"cell": "{}"}),
    "very many replicates": crafted(header={"replicates": [0, 2**60, 2**61]}),
    "replicates twice": crafted(header={"replicates": [0, 0]}),
    "an array that is larger": crafted(error={"shape": [2**40]}),
    "texts that are numbers": crafted(message={"texts": [1, 2]}),
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


def test_the_same_shard_damaged_twice_keeps_both_files(tmp_path):
    study = write_study(tmp_path, replicates=1)
    for _ in range(3):
        assert run(study, tmp_path, "--quiet")[0] == 0
        shards(tmp_path)[0].write_bytes(b"garbage")
    assert inside("status", study, "--out", tmp_path)[0] == 0
    assert len(list((tmp_path / "study/quick/quarantine").rglob("*.shard"))) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing", "huge"])
def test_what_is_no_file_is_set_aside_and_not_waited_for(computed, kind):
    study, folder, whole = computed
    path = shards(folder)[0].with_name("0000000-0000009.0.shard")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        path.write_bytes(b"moestat-shard ")
        os.truncate(path, 10**13)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    told = {"nothing": "", "huge": "the file has 10000000000000 bytes"}.get(kind, "it is no regular file")
    code, err = run(study, folder)
    path.unlink(missing_ok=True)
    assert code == 0 and told in err and results(folder).identical(whole)


def test_a_shard_of_another_format_is_refused_and_left_alone(tmp_path):
    study = write_study(tmp_path, replicates=1)
    run(study, tmp_path, "--quiet")
    path = shards(tmp_path)[0]
    newer = shard.sealed(path.read_bytes().split(b"\n", 1)[1], b"7")
    path.write_bytes(newer)
    code, err = run(study, tmp_path)
    assert code == 1 and "format 7" in err and err.count("\n") == 1
    assert path.read_bytes() == newer
