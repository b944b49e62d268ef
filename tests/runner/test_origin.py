"""What computed: every shard says so, a run that goes on otherwise says so, and so does a replay that differs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from machine import inside, outside, results, shards, write_study

from moestat.runner import origin, shard
from moestat.runner.difference import difference
from moestat.runner.shard import Variable

HERE = {"host": "a", "kernel": "numba 1, 512-bit vectors", "blas": ["openblas 1 Haswell"], "numpy": "2.4.6", "cpu": "x"}


class Entry:
    """What is read of a shard here."""

    def __init__(self, replicates: int, **changes) -> None:
        self.replicates = tuple(range(replicates))
        self.provenance = HERE | changes


def rewrite(path, **changes) -> None:
    """Give a shard another origin (None: take it away, as an older moestat had not written it)."""
    header, variables = shard.read(path)
    made = {key: value for key, value in (dict(header.provenance) | changes).items() if value is not None}
    raw = path.read_bytes().split(b"\n", 2)
    document = json.loads(raw[1]) | {"made": made}
    body = json.dumps(document).encode() + b"\n" + raw[2]
    path.write_bytes(b"moestat-shard 1 " + shard._checksum(b"1", body) + b"\n" + body)


def test_a_shard_names_the_machine_and_the_kernels_that_computed_it(tmp_path):
    study = write_study(tmp_path, replicates=1)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    for path in shards(tmp_path):
        made = shard.read(path)[0].provenance
        assert made["cpu"] and made["numpy"] == np.__version__ and made["host"]
        assert any("openblas" in text or "mkl" in text or "blis" in text for text in made["blas"]) or not origin.blas()
    kept = json.loads((tmp_path / "study/quick/manifest.json").read_text())
    assert [row["replicates"] for row in kept["origins"]] == [4] and kept["versions"]["numpy"] == np.__version__


def test_the_versions_of_results_are_those_of_what_computed_them(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    for path in shards(tmp_path):
        rewrite(path, numpy="2.0.7", scipy=None, cpu=None, blas=None, simd=None)
    code, out, err = inside("collect", study, "--out", tmp_path, "--no-report")
    assert code == 0, err
    kept = json.loads((tmp_path / "study/quick/manifest.json").read_text())
    assert kept["versions"]["numpy"] == "2.0.7" and kept["collected_by"]["numpy"] == np.__version__
    assert not kept["notes"], "shards that know less are as good as before"


def test_a_run_that_goes_on_with_another_kernel_says_so(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    before = results(tmp_path)
    for path in shards(tmp_path):
        rewrite(path, kernel="numba 0.1, 512-bit vectors", blas=["openblas 0.1 Zen"])
    code, out, err = inside(study, "--out", tmp_path, "--jobs", 1, "--replicates", 2, "--no-report")
    assert code == 0
    notes = json.loads((tmp_path / "study/quick/manifest.json").read_text())["notes"]
    assert any("computed in 2 ways" in note for note in notes)
    assert results(tmp_path).isel(replicate=[0]).identical(before)


def test_a_run_that_goes_on_as_before_says_nothing(tmp_path):
    study = write_study(tmp_path, replicates=1)
    for replicates in (1, 2):
        code, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--replicates", replicates, "--no-report")
    assert code == 0 and "otherwise" not in err
    assert not json.loads((tmp_path / "study/quick/manifest.json").read_text())["notes"]


def test_a_replay_that_differs_names_both_machines_and_the_size(tmp_path):
    study = write_study(tmp_path, replicates=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    for path in shards(tmp_path):
        header, variables = shard.read(path)
        variables["error"] = Variable(("replicate",), np.nextafter(variables["error"].values, 9.0))
        variables["error"] = Variable(("replicate",), np.nextafter(variables["error"].values, 9.0))
        content = shard.encode(
            cell=header.cell,
            arm=header.arm,
            coords=header.coords,
            code=header.code,
            replicates=header.replicates,
            status=header.status,
            variables=variables,
            attrs=header.attrs | {"policy": "another"},
            seconds=0.0,
            created=0.0,
            device="cpu",
        )
        path.write_bytes(content)
        rewrite(path, host="elsewhere", cpu="another processor", blas=["openblas 0.1 Zen"])
    code, out, err = inside("replay", study, "mean", 10, 0, "--out", tmp_path)
    assert code == 1 and "2 units in the last place" in err and "policy stored 'another', now 'the mean'" in err
    assert "stored was computed by elsewhere, another processor" in out and "openblas 0.1 Zen" in out
    assert f"now it was computed by {origin.here()['host']}" in out


@pytest.mark.slow
def test_another_blas_kernel_is_seen(tmp_path):
    """The library is asked by its own variable to take other kernels, in a process of its own."""
    if not any("openblas" in text and "Haswell" in text for text in origin.blas()):
        pytest.skip("needs an OpenBLAS whose kernels can be chosen below those of this processor")
    study = write_study(tmp_path, replicates=1)
    code, _, err = outside(study, "--out", tmp_path, "--jobs", 1, "--no-report", OPENBLAS_CORETYPE="Nehalem")
    assert code == 0, err
    made = shard.read(shards(tmp_path)[0])[0].provenance
    assert all("Nehalem" in text for text in made["blas"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"host": "b", "cpu": "y"}, []),
        ({"kernel": ""}, []),
        ({"kernel": "numpy 2"}, ["kernel numba 1, 512-bit vectors -> numpy 2"]),
        ({"numpy": "2.5"}, ["numpy 2.4.6 -> 2.5"]),
        ({"blas": ["mkl 1", "openblas 1 Haswell"]}, []),
        ({"blas": ["openblas 1 Zen"]}, ["blas openblas 1 Haswell -> openblas 1 Zen"]),
    ],
)
def test_origins_differ_in_what_may_change_a_last_digit(changes, told):
    assert origin.differences(HERE, HERE | changes) == told


def test_results_of_several_origins_are_counted():
    rows = [Entry(3), Entry(2, kernel="numpy 2"), Entry(4, host="b"), Entry(1, kernel="")]
    assert [count for _, count in origin.groups(rows)] == [8, 2]
    (line,) = origin.remarks(rows)
    assert "in 2 ways" in line and "8 replicates by a, x" in line and "2 with kernel numba 1" in line
    assert origin.remarks(rows[2:]) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ([1.0], [1.0], ""),
        ([np.nan], [np.nan], ""),
        ([1.0], [np.nan], "NaN in the other at 1 of 1 places"),
        ([0.0], [-0.0], "sign of a zero"),
        (
            [1.0, 2.0],
            [1.0, np.nextafter(2.0, 3.0)],
            "4.44e-16 (relatively by 2.22e-16, 1 units in the last place) at 1",
        ),
        ([1, 2], [1, 5], "at most 3"),
        ([1.0], [np.inf], "by at most inf"),
        ([1 + 1j], [1 + 2j], "by at most 1 "),
        (["a", "b"], ["a", "c"], "stored 'b', now 'c'"),
        ([], [], ""),
    ],
)
def test_the_size_of_a_difference(old, new, told):
    text = difference(Variable(("replicate",), np.array(old)), Variable(("replicate",), np.array(new)))
    assert told in text if told else text == ""
