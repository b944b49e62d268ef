"""The numbers depend on the study alone: not on processes, blocks, order, splits, or on how a study grew."""

from __future__ import annotations

import os

import numpy as np
import pytest
import threadpoolctl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import inside, logged, own, results, said, shards, write_study

from moestat.runner import plan as plans
from moestat.runner import run as run_module
from moestat.runner.request import Request


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    study = write_study(folder, replicates=6, block=6)
    assert inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    return results(folder)


def test_two_processes(tmp_path, expected):
    said(write_study(tmp_path), "--out", tmp_path, "--jobs", 2, "--block", 1, "--no-report")
    assert results(tmp_path).identical(expected) and len(shards(tmp_path)) == 24


STEPS = st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32), st.integers(1, 3))


def test_arms_that_share_draws_follow_each_other():
    plan = plans.of(Request("sigmoid_vs_softmax", "quick", block=4))
    blocks = [(planned.cell.coords["n"], replicates, planned.cell.arm) for planned, replicates in plan.blocks()]
    arms = list(dict.fromkeys(arm for *_, arm in blocks))
    sizes = sorted({n for n, *_ in blocks}, reverse=True)
    assert blocks == [(n, r, a) for n in sizes for r in (range(4), range(4, 8), range(8, 10)) for a in arms]


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
    said(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")
    assert results(folder).identical(expected)


def test_parts_that_are_merged_by_collect(tmp_path, expected):
    study = write_study(tmp_path, replicates=6, block=1)
    for part in (3, 1, 2):
        code, _, err = inside(study, "--out", tmp_path, "--part", f"{part}/3", "--jobs", 1, "--no-report")
        assert code == 0 and not (tmp_path / "study/quick/results.nc").exists()
        if part == 1:
            assert "8 of 24 replicates are still missing" in err
    assert "collect with: python -m moestat.study collect" in err
    said("collect", study, "--out", tmp_path, "--no-report")
    assert results(tmp_path).identical(expected)


def test_the_computation_has_one_thread_everywhere(tmp_path):
    body = """\
seen = {"threads": max(p["num_threads"] for p in threadpoolctl.threadpool_info()), "pid": os.getpid(), "status": 0}
values = {name: ("replicate", [value] * len(replicates)) for name, value in seen.items()}
return xarray.Dataset(values, coords={"replicate": list(replicates)})"""
    experiment = own(tmp_path, "threads", body, "import numpy, scipy.linalg, threadpoolctl")
    study = write_study(tmp_path, experiment=experiment, replicates=2, block=1)
    with threadpoolctl.threadpool_limits(2):
        for jobs in (1, 2):
            said(study, "--out", tmp_path / str(jobs), "--jobs", jobs, "--no-report")
            found = results(tmp_path / str(jobs))
            assert set(found["threads"].values.ravel()) == {1}
            assert (os.getpid() in found["pid"].values) == (jobs == 1)


ARM = 'study.arm("shifted", shift=3.0)\n'


@pytest.fixture
def grown(tmp_path, monkeypatch):
    """Run a study and return how many replicates were computed for it."""
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))

    def grown(*words, **study) -> int:
        seen = len(logged(log))
        path = write_study(tmp_path, **study)
        said(path, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet", *words)
        return len(logged(log)) - seen

    return grown


def test_more_of_everything_computes_only_what_is_new(tmp_path, grown):
    assert grown() == 24
    assert grown() == 0
    assert grown(replicates=9) == 12
    assert grown(replicates=9, grid="n = [10, 20, 40]") == 18
    assert grown(replicates=9, grid="n = [10, 20, 40]", more=ARM) == 27
    assert grown(replicates=9, grid="n = [10, 20, 40]", more=ARM, block=5) == 0
    whole_of_it = results(tmp_path)
    whole = write_study(tmp_path, name="whole", replicates=9, grid="n = [10, 20, 40]", more=ARM)
    assert inside(whole, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    assert results(tmp_path, "whole").identical(whole_of_it)


def test_fewer_are_a_view_of_what_is_there_and_a_renamed_arm_keeps_its_results(tmp_path, grown):
    grown(replicates=9)
    assert grown(replicates=4, grid="n = [40]") == 0
    assert dict(results(tmp_path).sizes) == {"arm": 2, "n": 1, "replicate": 4, "expert": 2}
    assert grown(replicates=9) == 0, "what is not asked for is kept"
    path = write_study(tmp_path, replicates=9)
    path.write_text(path.read_text().replace('arm("median"', 'arm("middle"'))
    assert inside(path, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    assert len(logged(tmp_path / "log")) == 36


def test_several_values_of_a_setting_are_an_axis(tmp_path, grown):
    assert grown("--set", "shift=0,1,2") == 72
    ds = results(tmp_path)
    assert ds["shift"].values.tolist() == [0, 1, 2] and ds["error"].dims == ("arm", "n", "shift", "replicate")
    assert (ds["error"].diff("shift").round(9) == 1).all()
    assert grown("--set", "shift=0") == 0, "the same cells"
    assert grown("--set", "raise_at=[90,91]", "--out", tmp_path / "other") == 24, "a list where the setting takes one"
    code, _, err = inside(write_study(tmp_path), "--set", "kind=mean,median", "--dry-run")
    assert code == 2 and "the arms" in err and "differ in kind" in err
    code, _, err = inside(write_study(tmp_path), "--set", "experts=1,two", "--dry-run")
    assert code == 2 and "--set experts" in err
