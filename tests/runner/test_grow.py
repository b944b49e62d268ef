"""A study grows in place: more replicates, sizes or arms reuse everything that is still valid."""

from __future__ import annotations

import pytest
from machine import inside, logged, results, write_study

ARM = 'study.arm("shifted", shift=3.0)\n'


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a study and return how many replicates were computed for it."""
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))

    def run(*words, **study) -> int:
        seen = len(logged(log))
        path = write_study(tmp_path, **study)
        code, _, err = inside(path, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet", *words)
        assert code == 0, err
        return len(logged(log)) - seen

    return run


def test_more_of_everything_computes_only_what_is_new(tmp_path, run):
    assert run() == 24
    assert run() == 0
    assert run(replicates=9) == 12
    assert run(replicates=9, grid="n = [10, 20, 40]") == 18
    assert run(replicates=9, grid="n = [10, 20, 40]", more=ARM) == 27
    assert run(replicates=9, grid="n = [10, 20, 40]", more=ARM, block=5) == 0
    grown = results(tmp_path)
    whole = write_study(tmp_path, name="whole", replicates=9, grid="n = [10, 20, 40]", more=ARM)
    assert inside(whole, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    assert results(tmp_path, "whole").identical(grown)


def test_fewer_are_a_view_of_what_is_there_and_a_renamed_arm_keeps_its_results(tmp_path, run):
    run(replicates=9)
    assert run(replicates=4, grid="n = [40]") == 0
    assert dict(results(tmp_path).sizes) == {"arm": 2, "n": 1, "replicate": 4, "expert": 2}
    assert run(replicates=9) == 0, "what is not asked for is kept"
    path = write_study(tmp_path, replicates=9)
    path.write_text(path.read_text().replace('arm("median"', 'arm("middle"'))
    assert inside(path, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    assert len(logged(tmp_path / "log")) == 36


def test_several_values_of_a_setting_are_an_axis(tmp_path, run):
    assert run("--set", "shift=0,1,2") == 72
    ds = results(tmp_path)
    assert ds["shift"].values.tolist() == [0, 1, 2] and ds["error"].dims == ("arm", "n", "shift", "replicate")
    assert (ds["error"].diff("shift").round(9) == 1).all()
    assert run("--set", "shift=0") == 0, "the same cells"
    assert run("--set", "raise_at=[90,91]", "--out", tmp_path / "other") == 24, "a list where the setting takes one"
    code, _, err = inside(write_study(tmp_path), "--set", "kind=mean,median", "--dry-run")
    assert code == 2 and "the arms" in err and "differ in kind" in err
    code, _, err = inside(write_study(tmp_path), "--set", "experts=1,two", "--dry-run")
    assert code == 2 and "--set experts" in err
