"""A shard that is torn, or has a single bit flipped, is never read: it is set aside by name and computed again."""

from __future__ import annotations

import numpy as np
import pytest
from machine import inside, results, shards, write_study

from moestat.runner import shard


@pytest.fixture(scope="module")
def content() -> bytes:
    values = {
        "status": shard.Variable(("replicate",), np.zeros(3, dtype=np.int64)),
        "loss": shard.Variable(("replicate", "step"), np.arange(6.0).reshape(3, 2)),
        "message": shard.Variable(("replicate",), np.array(["", "é", "a\nb"], dtype=object)),
    }
    return shard.encode(
        cell='{"seed":1,"settings":{}}',
        arm="x",
        coords={"n": 10},
        code={"toy": "abc"},
        replicates=range(3, 6),
        status=[0, 0, 0],
        variables=values,
        attrs={"policy": "near"},
        seconds=0.5,
        created=0.0,
        device="cpu",
    )


def test_a_shard_gives_back_what_it_was_given(content):
    header, payload = shard.verified(content)
    assert header.replicates == (3, 4, 5) and header.attrs == {"policy": "near"} and header.coords == {"n": 10}
    variables = shard.variables(header, payload)
    assert variables["loss"].values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert variables["message"].values.tolist() == ["", "é", "a\nb"]


def test_every_truncation_is_detected(content):
    for length in range(len(content)):
        with pytest.raises(shard.DamagedShardError):
            shard.verified(content[:length])


def test_every_flipped_bit_is_detected(content):
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            with pytest.raises(shard.DamagedShardError):
                shard.verified(bytes(flipped))


def test_appended_bytes_are_detected(content):
    with pytest.raises(shard.DamagedShardError):
        shard.verified(content + b"\0")


def damage(path, way, random):
    raw = bytearray(path.read_bytes())
    if way == "truncated":
        raw = raw[: int(random.integers(0, len(raw)))]
    elif way == "flipped":
        raw[int(random.integers(0, len(raw)))] ^= 1 << int(random.integers(0, 8))
    elif way == "zeroed":
        raw = bytearray(len(raw))
    else:
        raw = bytearray(b"garbage")
    path.write_bytes(raw)


def test_damaged_shards_are_quarantined_reported_and_computed_again(tmp_path):
    study, random = write_study(tmp_path), np.random.default_rng(5)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    whole = results(tmp_path)
    ways = ["truncated", "flipped", "zeroed", "garbage"]
    names = []
    for number, path in enumerate(shards(tmp_path)):
        if number % 5 != 4:
            damage(path, ways[number % 4], random)
            names.append(f"{path.parent.name}-{path.name}")
    code, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "study/quick/quarantine").iterdir()) == sorted(names)
    told = [line for line in err.splitlines() if "damaged shard" in line]
    assert len(told) == len(names) and all(any(name in line for line in told) for name in names)
    assert results(tmp_path).identical(whole)


def test_the_same_shard_damaged_twice_keeps_both_files(tmp_path):
    study, random = write_study(tmp_path, replicates=1), np.random.default_rng(6)
    for _ in range(3):
        assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
        damage(shards(tmp_path)[0], "truncated", random)
    assert inside("status", study, "--out", tmp_path)[0] == 0
    assert len(list((tmp_path / "study/quick/quarantine").iterdir())) == 3


def test_collect_tells_of_damage_and_of_what_is_missing(tmp_path):
    study = write_study(tmp_path)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    shards(tmp_path)[0].write_bytes(b"")
    code, _, err = inside("collect", study, "--out", tmp_path, "--no-report")
    assert code == 1
    assert "damaged shard" in err and "2 replicates are missing" in err and "--preset quick" in err


def test_a_shard_of_another_format_is_refused_and_left_alone(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    path = shards(tmp_path)[0]
    body = path.read_bytes().split(b"\n", 1)[1]
    newer = b"moestat-shard 7 " + shard._checksum(b"7", body) + b"\n" + body
    path.write_bytes(newer)
    code, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    assert code == 1 and "format 7" in err and err.count("\n") == 1
    assert path.read_bytes() == newer


@pytest.mark.slow
def test_many_random_damages(tmp_path):
    study, random = write_study(tmp_path), np.random.default_rng(7)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    whole = results(tmp_path)
    for trial in range(100):
        chosen = random.choice(shards(tmp_path), size=3, replace=False)
        for path in chosen:
            damage(path, ["truncated", "flipped"][trial % 2], random)
        code, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--no-report")
        assert code == 0 and err.count("damaged shard") == 3
        assert results(tmp_path).identical(whole)
