"""Replay and verify: a replicate computed again from its identity alone, and compared with what is stored of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from machine import inside, rewrite, shards, write_study

from moestat.runner.difference import close, difference
from moestat.runner.replay import SPREAD, _spread
from moestat.runner.shard import Variable


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    study = write_study(folder, settings="raise_at = [5]", grid='n = [10, 40]\nkind = ["mean", "median"]', replicates=7)
    text = study.read_text().replace('"median", kind="median"', '"median", shift=1.0')
    study.write_text(text.replace('"error", "mean"', '"error", "mean", at=dict(kind="mean")'))
    inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")
    return study, folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("median", 40, "mean", 6), "iterations               3"),
        (("mean", 10, "mean", 5), "replicate 5 cannot be computed"),  # it fails again in the same way
    ],
)
def test_a_replicate_is_equal_to_the_stored_one(computed, words, told):
    study, out = computed
    code, said, err = inside("replay", study, *words, "--out", out)
    assert code == 0 and told in said and "equal to the stored replicate, bit for bit" in said, err


def test_a_replicate_that_was_never_run_can_be_replayed(computed):
    study, out = computed
    for words in ((1000,), (3, "--seed", 8)):
        code, said, err = inside("replay", study, "mean", 10, "mean", *words, "--out", out)
        assert code == 0 and "no stored replicate" in said, err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mean", 10, "mean"), "replay study ARM N KIND REPLICATE"),
        (("maen", 10, "mean", 1), "did you mean 'mean'?"),
        (("mean", 10, "mode", 1), "kind is 'mode'"),
    ],
)
def test_a_wrong_place_is_explained(computed, words, told):
    study, out = computed
    code, _, err = inside("replay", study, *words, "--out", out)
    assert code == 2 and told in err and len(err.strip().splitlines()) == 1


def test_a_stored_replicate_that_differs_is_told_with_both_machines_and_the_size(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")

    def change(made, variables):
        made["blas"] = ["openblas 0.1 Zen"]
        variables["error"] = Variable(("replicate",), variables["error"].values + 1e-9)

    for path in shards(tmp_path):
        rewrite(path, change)
    assert inside("collect", study, "--out", tmp_path, "--no-report", "--quiet")[0] == 0
    code, told, err = inside("replay", study, "mean", 10, 0, "--out", tmp_path)
    assert code == 1 and "error differs by at most 1e-09" in err and "<- differs" in told
    assert "stored was computed by" in told and "openblas 0.1 Zen" in told and "here it was computed by" in told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (1.0, 1.0 + 2**-52, "differs by at most 2.22e-16"),
        (1 + 1j, 1 + 2j, "differs by at most 1"),
        (0.0, -0.0, "differs by at most 0"),
        ([1.0, np.nan], [np.nan, 1.0], "NaN in the other at 2 of 2"),
        ([1.0], [1.0, 2.0], "shape"),
        (["a", "b"], ["a", "c"], "stored 'b', now 'c'"),
    ],
)
def test_a_difference_is_told(old, new, told):
    assert told in difference(np.asarray(old), np.asarray(new)) and not difference(np.asarray(old), np.asarray(old))


@pytest.mark.parametrize(
    ("old", "new", "resolved", "near"),
    [
        (1.0, 1.001, (0.0, np.inf), False),
        (1.0, 1.0 + 1e-7, (0.0, np.inf), True),
        (3e-17, 1e-16, (1e-14, np.inf), True),
        (2e12, 5e11, (0.0, 1e10), True),
        (np.nan, 1.0, (0.0, np.inf), False),
        (True, False, (0.0, np.inf), False),
        ("a", "b", (0.0, np.inf), False),
    ],
)
def test_what_cannot_be_told_apart_is_close(old, new, resolved, near):
    assert close(np.asarray(old), np.asarray(new), resolved) is near


def test_a_hundredth_of_the_spread_of_each_place_moves_nothing():
    stored = xr.DataArray([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [np.nan, 1.0]], dims=("replicate", "eps"))
    apart, spread = SPREAD * _spread(stored), np.std([1.0, 2.0, 3.0])
    for step, near in ((0.009, True), (0.011, False)):
        assert close(np.array([2.0, 1.0]), np.array([2.0 + step * spread, 1.0]), apart=apart) is near
    assert not close(np.array([2.0, 1.0]), np.array([2.0, 1.001]), apart=apart)
    assert not _spread(stored[:2]).any(), "two replicates tell no spread"
