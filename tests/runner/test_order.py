"""The numbers depend on the study alone: not on processes, blocks, order, or on how the work was split."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import inside, results, shards, write_study

from moestat.runner import run as run_module


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    study = write_study(folder, replicates=6, block=6)
    assert inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    return results(folder)


def test_two_processes(tmp_path, expected):
    code, _, err = inside(write_study(tmp_path), "--out", tmp_path, "--jobs", 2, "--block", 1, "--no-report")
    assert code == 0, err
    assert results(tmp_path).identical(expected) and len(shards(tmp_path)) == 24


STEPS = st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32), st.integers(1, 3))


@given(st.lists(STEPS, min_size=1, max_size=3))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_blocks_any_order_any_split(tmp_path_factory, expected, steps):
    """Runs with other blocks, in shuffled order, of some parts only, one after the other, then the whole."""
    folder = tmp_path_factory.mktemp("order")
    study, ordered = write_study(folder, replicates=6), run_module.pool.run
    for block, replicates, seed, parts in steps:

        def shuffled(workers, tasks, *rest, seed=seed):
            return ordered(workers, np.random.default_rng(seed).permutation(np.array(tasks, dtype=object)), *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_module.pool, "run", shuffled)
            words = ("--block", block, "--replicates", replicates, "--jobs", 1, "--no-report", "--quiet")
            assert inside(study, "--out", folder, *words, "--part", f"{1 + seed % parts}/{parts}")[0] == 0
    code, _, err = inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")
    assert code == 0, err
    assert results(folder).identical(expected)


def test_parts_that_are_merged_by_collect(tmp_path, expected):
    study = write_study(tmp_path, replicates=6, block=1)
    for part in (3, 1, 2):
        code, _, err = inside(study, "--out", tmp_path, "--part", f"{part}/3", "--jobs", 1, "--no-report")
        assert code == 0, err
        assert not (tmp_path / "study/quick/results.nc").exists()
        if part == 1:
            assert "8 of 24 replicates are still missing" in err
    assert "collect with: python -m moestat.study collect" in err
    code, out, err = inside("collect", study, "--out", tmp_path, "--no-report")
    assert code == 0, err
    assert results(tmp_path).identical(expected)


def test_the_computation_has_one_thread_everywhere(tmp_path):
    study = write_study(tmp_path, experiment="threads", replicates=2, block=1)
    (tmp_path / "threads.py").write_text(
        "import os\n"
        "import numpy, scipy.linalg, threadpoolctl, xarray\n"
        "from toy import Settings\n"
        "def run(cell, replicates, *, device):\n"
        "    most = max(pool['num_threads'] for pool in threadpoolctl.threadpool_info())\n"
        "    return xarray.Dataset({'threads': ('replicate', [most] * len(replicates)),\n"
        "        'pid': ('replicate', [os.getpid()] * len(replicates)),\n"
        "        'status': ('replicate', [0] * len(replicates))}, coords={'replicate': list(replicates)})\n"
    )
    import threadpoolctl

    with threadpoolctl.threadpool_limits(2):
        for jobs in (1, 2):
            code, _, err = inside(study, "--out", tmp_path / str(jobs), "--jobs", jobs, "--no-report")
            assert code == 0, err
            found = results(tmp_path / str(jobs))
            assert set(found["threads"].values.ravel()) == {1}
            assert (os.getpid() in found["pid"].values) == (jobs == 1)
