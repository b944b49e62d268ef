"""What computed: every shard says so, and so does a run that goes on otherwise."""

from __future__ import annotations

import json

import numpy as np
from machine import inside, results, rewrite, shards, write_study

from moestat.runner import origin, shard

HERE = {"host": "a", "kernel": "numba 1, 512-bit vectors", "blas": ["openblas 1 Haswell"], "numpy": "2.4.6", "cpu": "x"}


def test_a_shard_names_the_machine_and_the_kernels_that_computed_it(tmp_path):
    study = write_study(tmp_path, replicates=1)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    for path in shards(tmp_path):
        made = shard.read(path)[0].provenance
        assert made["cpu"] and made["numpy"] == np.__version__ and made["host"]
        assert made["blas"] == origin.here()["blas"]
    kept = json.loads((tmp_path / "study/quick/manifest.json").read_text())
    assert [row["replicates"] for row in kept["origins"]] == [4] and kept["versions"]["numpy"] == np.__version__


def test_a_run_that_goes_on_with_another_kernel_says_so(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    before = results(tmp_path)
    for path in shards(tmp_path):
        rewrite(path, lambda made, _: made.update(kernel="numba 0.1, 512-bit vectors", blas=["openblas 0.1 Zen"]))
    code, out, err = inside(study, "--out", tmp_path, "--jobs", 1, "--replicates", 2, "--no-report")
    assert code == 0
    notes = json.loads((tmp_path / "study/quick/manifest.json").read_text())["notes"]
    assert any("computed in 2 ways" in note and "4 with " in note for note in notes), notes
    assert results(tmp_path).isel(replicate=[0]).identical(before)


def test_origins_differ_in_what_may_change_a_last_digit():
    for same in ({}, {"host": "b", "cpu": "y"}, {"kernel": ""}, {"blas": ["mkl 1", "openblas 1 Haswell"]}):
        assert origin.differences(HERE, HERE | same) == []
    other = {"kernel": "numpy 2", "numpy": "2.5", "blas": ["openblas 1 Zen"]}
    told = origin.differences(HERE, HERE | other)
    assert sorted(told) == [
        "blas openblas 1 Haswell -> openblas 1 Zen",
        "kernel numba 1, 512-bit vectors -> numpy 2",
        "numpy 2.4.6 -> 2.5",
    ]
