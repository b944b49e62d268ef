"""Replay: any replicate can be computed again from its identity alone, and is equal to the stored one."""

from __future__ import annotations

import pytest
from machine import inside, shards, write_study

from moestat.runner import shard


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    study = write_study(folder, settings="raise_at = [5]", grid='n = [10, 40]\nkind = ["mean", "median"]', replicates=7)
    text = study.read_text().replace('"median", kind="median"', '"median", shift=1.0')
    study.write_text(text.replace('"error", "mean"', '"error", "mean", at=dict(kind="mean")'))
    inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")
    return study, folder


@pytest.mark.parametrize("words", [("mean", 10, "median", 3), ("median", "n=40", "kind=mean", 6)])
def test_a_replicate_is_equal_to_the_stored_one(computed, words):
    study, out = computed
    code, told, err = inside("replay", study, *words, "--out", out)
    assert code == 0, err
    assert "status: CONVERGED. The stopping criterion was met." in told and "iterations               3" in told
    assert "equal to the stored replicate, bit for bit" in told


def test_a_failed_replicate_fails_again_in_the_same_way(computed):
    study, out = computed
    code, told, _ = inside("replay", study, "mean", 10, "mean", 5, "--out", out)
    assert code == 0 and "status: RAISED" in told and "replicate 5 cannot be computed" in told and "bit for bit" in told


def test_a_replicate_that_was_never_run_can_be_replayed(computed):
    study, out = computed
    code, told, _ = inside("replay", study, "mean", 10, "mean", 1000, "--out", out)
    assert code == 0 and "no stored replicate" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mean", 10, "mean"), "replay study ARM N KIND REPLICATE"),
        (("maen", 10, "mean", 1), "did you mean 'mean'?"),
        (("mean", 11, "mean", 1), "on the grid are 10, 40"),
        (("mean", 10, "mode", 1), "kind is 'mode'"),
        (("mean", 10, "mean", -1), "-1"),
        (("mean", "m=10", "mean", 1), "no axis 'm'"),
        (("mean", "n=10", "n=40", 1), "n was given twice"),
    ],
)
def test_a_wrong_place_is_explained(computed, words, told):
    study, out = computed
    code, _, err = inside("replay", study, *words, "--out", out)
    assert code == 2 and told in err and len(err.strip().splitlines()) == 1


def test_a_stored_replicate_that_was_tampered_with_is_told(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    for path in shards(tmp_path):
        header, variables = shard.read(path)
        variables["error"].values.setflags(write=False)
        changed = variables | {"error": shard.Variable(("replicate",), variables["error"].values + 1e-9)}
        content = shard.encode(
            cell=header.cell,
            arm=header.arm,
            coords=header.coords,
            code=header.code,
            replicates=header.replicates,
            status=header.status,
            variables=changed,
            attrs=header.attrs,
            seconds=0.0,
            created=0.0,
            device="cpu",
        )
        path.write_bytes(content)
    code, told, err = inside("replay", study, "mean", 10, 0, "--out", tmp_path)
    assert code == 1 and "error differs by at most 1e-09" in err and "<- differs" in told
