"""Records: what they hold, that they are read where there are no own results, and that a changed one is found."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from machine import inside, write_study

import moestat
from moestat.report import shipping
from moestat.runner import needs, origin, records
from moestat.runner import results as stored
from moestat.study import load, seal

SMALL = {"grid": "n = [10, 40]", "settings": "experts = 40", "replicates": 6}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A study, a folder of its results, and one of its record; nothing may be changed."""
    folder = tmp_path_factory.mktemp("shipped")
    study = write_study(folder, **SMALL)
    assert inside(study, "--out", folder / "run", "--jobs", 1, "--quiet", "--no-report")[0] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipping, "BULKY", 5_000)
        code, out, err = inside("ship", study, "--out", folder / "run", "--to", folder / "kept")
    assert code == 0, err
    return study, folder, out


@pytest.fixture
def record(shipped, tmp_path):
    """A study, and an outputs folder of its own with nothing but the record."""
    study, folder, _ = shipped
    shutil.copytree(folder / "kept", tmp_path / "kept")
    return study, tmp_path / "kept"


def own(out: Path) -> Path:
    return out / "records" / "study" / "quick"


def test_a_record_holds_every_number_but_what_nothing_shows(shipped):
    study, folder, said = shipped
    before = moestat.load(folder / "run" / "study" / "quick")
    after = moestat.load(study, out=folder / "kept")
    assert "without centre" in said and set(before) - set(after) == {"centre"}
    for name in after.variables:
        assert before[name].values.tobytes() == after[name].values.tobytes() or before[name].dtype == object, name
        assert before[name].attrs.keys() == after[name].attrs.keys()
    assert after["message"].values.tolist() == before["message"].values.tolist()
    assert "left out of this record: centre" in after.attrs["notes"]


def test_a_record_names_no_place_of_the_machine(shipped):
    _, folder, _ = shipped
    place = own(folder / "kept")
    assert {path.name for path in place.iterdir()} == {*records.FILES, records.SUMS}
    for path in place.iterdir():
        content = path.read_bytes()
        assert str(folder).encode() not in content and str(Path.home()).encode() + b"/" not in content, path.name
    kept = json.loads((place / "manifest.json").read_text())
    assert kept["origins"][0]["cpu"] and "host" not in kept["origins"][0]
    assert seal.read(place).digest == seal.read(folder / "run" / "study" / "quick").digest
    assert subprocess.run(["sha256sum", "-c", "--quiet", records.SUMS], cwd=place).returncode == 0


def test_claims_and_reports_are_read_from_a_record_and_leave_it_as_it_is(record):
    study, out = record
    before = {path.name: path.read_bytes() for path in own(out).iterdir()}
    code, said, err = inside("--claims", study, "--out", out)
    assert code == 0 and "0 not run" in said, err
    code, said, err = inside("report", study, "--out", out)
    assert code == 0 and (own(out) / "report" / "report.html").is_file(), err
    assert {path.name: path.read_bytes() for path in own(out).iterdir() if path.is_file()} == before
    assert not (out / "study").exists()
    assert inside("export", study, "--out", out, "--write", out / "l.csv")[0] == 0


def test_own_results_come_first_and_leave_the_record_alone(record):
    study, out = record
    before = {path: path.read_bytes() for path in own(out).iterdir()}
    code, _, err = inside(study, "--out", out, "--jobs", 1, "--no-report", "--replicates", 2)
    assert code == 0 and "is a record of these results; to read it without computing" in err
    assert moestat.load(study, out=out).sizes["replicate"] == 2
    assert {path: path.read_bytes() for path in own(out).iterdir()} == before
    shutil.rmtree(out / "study")
    assert moestat.load(study, out=out).sizes["replicate"] == 6


@pytest.mark.parametrize("name", [stored.NAME, "claims.csv"])
def test_a_record_that_was_changed_is_refused_and_named(record, name):
    study, out = record
    with (own(out) / name).open("ab") as stream:
        stream.write(b" ")
    code, _, err = inside("report", study, "--out", out)
    assert code == 3 and f"{name} is not the one that was recorded" in err
    if name == stored.NAME:
        with pytest.raises(moestat.errors.StaleError, match="git checkout"):
            moestat.load(study, out=out)


def test_verify_computes_a_stated_sample_again(record):
    study, out = record
    kept = {path.name: path.read_bytes() for path in own(out).iterdir()}
    code, said, err = inside("verify", study, "--out", out, "--replicates", 2, "--seed", 5)
    assert code == 0 and {path.name: path.read_bytes() for path in own(out).iterdir()} == kept, err
    assert "2 of 24 replicates drawn with seed 5" in said and said.count("equal, bit for bit") == 2
    assert "2 of 2 replicates are equal to the record" in said
    assert inside("verify", study, "--out", out, "--replicates", 2, "--seed", 5)[1] == said
    code, _, err = inside("verify", study, "--out", out, "--preset", "paper")
    assert code == 2


def test_verify_certifies_in_the_manifest_of_the_record_when_it_is_asked_to(record):
    study, out = record
    kept = {path.name: path.read_bytes() for path in own(out).iterdir()}
    code, said, err = inside("verify", study, "--out", out, "--replicates", 2, "--certify")
    assert code == 0 and f"certified at {origin.commit()}" in " ".join(said.split()), err
    records.check(own(out))
    manifest = json.loads((own(out) / "manifest.json").read_text())
    wanted = {"date": "", "commit": origin.commit(), "replicates": 2, "equal": 2}
    assert manifest.pop("verified") | {"date": ""} == wanted
    assert manifest == json.loads(kept["manifest.json"]) and manifest["versions"]["commit"] == origin.commit()
    code, _, err = inside("ship", study, "--out", out, "--to", out)
    assert code == 0 and "verified" in json.loads((own(out) / "manifest.json").read_text()), err
    certified = (own(out) / "manifest.json").read_bytes()
    tampered(out, 1.5)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1, "--certify")
    assert code == 1 and "no replicate is equal, so nothing is certified" in err
    assert json.loads((own(out) / "manifest.json").read_text())["verified"] == json.loads(certified)["verified"]


def tampered(out: Path, factor: float, more: str = "") -> None:
    """Change all numbers of a record, or add a variable to it, with valid digests."""
    with xr.open_dataset(own(out) / stored.NAME, engine="h5netcdf") as dataset:
        dataset = dataset.load()
    dataset["error"] = dataset["error"] * factor
    dataset = dataset.assign({more: dataset["error"]}) if more else dataset
    content = {name: (own(out) / name).read_bytes() for name in records.FILES}
    content[stored.NAME] = records.packed(dataset)
    kept = json.loads(content["manifest.json"])
    kept["results_sha256"] = hashlib.sha256(content[stored.NAME]).hexdigest()
    content["manifest.json"] = json.dumps(kept).encode()
    records.write(own(out), content)


def test_what_is_not_computed_any_more_is_passed_over_and_named(record):
    study, out = record
    tampered(out, 1.0, more="older")
    code, said, err = inside("verify", study, "--out", out, "--replicates", 2)
    assert code == 0 and "2 of 2 replicates are equal to the record, bit for bit" in said + err
    assert "not compared, since it is not computed any more: older" in said + err


def test_numbers_that_the_code_does_not_give_are_found_and_another_machine_may_differ(record, monkeypatch):
    study, out = record
    here = origin.here()
    tampered(out, 1 + 1e-12)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 1 and "rounding, or less than 1 % of the spread over replicates: error differs by at most" in said
    assert "0 of 1 replicates are equal" in err and "the code gives other numbers now" in err
    monkeypatch.setattr(origin, "here", lambda: here | {"blas": ["another blas"], "cpu": "another processor"})
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 0, err
    assert "the others differ by what moves no verdict" in said and said.count("computed by") == 2
    assert here["cpu"] in said and "another processor" in said
    tampered(out, 1.0001)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 3, "--seed", 2)
    assert code == 0 and said.count("less than 1 % of the spread over replicates: error differs by at most") == 3, err
    tampered(out, 1.5)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 1 and "another result: error differs by at most" in said
    assert "1 of 1 have another result" in err


def test_a_record_is_not_replaced_by_other_numbers_unasked(record, tmp_path):
    study, out = record
    code, said, err = inside("ship", study, "--out", out, "--to", out)
    assert code == 0 and "the same numbers as before, judged again" in said, err
    tampered(out, 2.0)
    run = tmp_path / "run"
    assert inside(study, "--out", run, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    code, _, err = inside("ship", study, "--out", run, "--to", out)
    assert code == 1 and "is a record with other numbers (error)" in err and "--replace" in err
    code, said, err = inside("ship", study, "--out", run, "--to", out, "--replace")
    assert code == 0 and "replaced; other numbers in error" in said, err


@pytest.mark.parametrize(
    ("words", "message"), [(["--set", "shift=1.0"], "was run with --set shift"), (["--part", "1/2"], "there is no")]
)
def test_what_is_no_complete_run_of_the_preset_is_no_record(tmp_path, words, message):
    study = write_study(tmp_path)
    inside(study, "--out", tmp_path, "--jobs", 1, "--quiet", "--no-report", *words)
    code, _, err = inside("ship", study, "--out", tmp_path, "--to", tmp_path)
    assert code in (2, 3) and message in err and not (tmp_path / "records").exists()


READS = """\
from moestat import Study
from moestat.study.rules import mean

study = Study("What another study found", reads="condensing_reader:table", needs=["study"], seed=0)
study.arm("a")
study.preset("quick", replicates=1)
study.claim("m", "It is small.", mean("x", "a").at_most(9.0), source="s")
"""


CONDENSED = """\
import numpy as np, xarray as xr

def size(ds):
    return ds["size"] if "size" in ds else abs(ds["centre"]).mean("expert")

def table(sources, arms):
    values = [[float(size(sources["study"].dataset).mean())] for _ in arms]
    paths = np.array([[str(sources["study"].path)] for _ in arms], dtype=object)
    return xr.Dataset({"x": (("arm", "replicate"), np.array(values)), "file": (("arm", "replicate"), paths)})

def condensed(source, arms):
    assert [arm.name for arm in arms] == ["a"] and source.path.name == "results.nc"
    return source.dataset.assign(size=size(source.dataset).assign_attrs(derived=1))
"""


def test_a_record_keeps_what_its_reader_makes_of_bulky_variables_in_their_place(tmp_path, monkeypatch):
    study = write_study(tmp_path, **SMALL)
    (tmp_path / "condensing_reader.py").write_text(CONDENSED)
    reader = tmp_path / "summary.py"
    reader.write_text(READS)
    monkeypatch.setattr(shipping, "BULKY", 5_000)
    asked = []
    monkeypatch.setattr(needs, "readers", lambda *of: asked.append(of) or [(load.read(str(reader)), "quick")])
    out = tmp_path / "run"
    assert inside(study, "--out", out, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    assert inside(reader, "--out", out, "--quiet", "--no-report")[0] == 0
    whole, found = moestat.load(study, out=out), moestat.load(reader, out=out)["x"].item()
    for place in (out, tmp_path / "kept"):  # the second time the record is judged again
        code, said, err = inside("ship", study, "--out", place, "--to", tmp_path / "kept")
        assert code == 0 and "without centre" in said, err
        kept = moestat.load(study, out=tmp_path / "kept")
        assert "centre" not in kept and "centre" in whole
        np.testing.assert_array_equal(kept["size"], abs(whole["centre"]).mean("expert"))
    assert asked[0] == ("study", "quick")
    assert inside(reader, "--out", tmp_path / "kept", "--quiet", "--no-report")[0] == 0
    assert moestat.load(reader, out=tmp_path / "kept")["x"].item() == found
    code, said, err = inside("verify", study, "--out", tmp_path / "kept", "--replicates", 2)
    assert code == 0 and "bit for bit" in said, said + err
    code, _, err = inside("ship", reader, "--out", tmp_path / "kept", "--to", tmp_path / "other")  # itself a record
    assert code == 0, err
    assert moestat.load(reader, out=tmp_path / "other")["file"].item() == "outputs/records/study/quick/results.nc"
    code, said, err = inside("report", reader, "--out", tmp_path / "other")
    assert code == 0 and "Claims: " in said and (tmp_path / "other" / "records" / "summary").is_dir(), err
    code, _, err = inside("verify", reader, "--out", tmp_path / "other")
    assert code == 2 and "reads the results of others; verify study" in err


def test_packing_keeps_every_bit():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((50, 60))
    values[0], values[1] = np.nan, -0.0
    texts = np.array([["", "ä", "two words"] * 20] * 50, dtype=object)
    flags = rng.random((50, 60)) < 0.5
    numbers = rng.integers(-(2**60), 2**60, (50, 60))
    whole = xr.Dataset({n: (("a", "b"), v) for n, v in {"x": values, "t": texts, "f": flags, "k": numbers}.items()})
    shipping._refuse_changed(whole, records.packed(whole))
    assert len(records.packed(whole)) < len(bytes(whole.to_netcdf(engine="h5netcdf")))


def test_axes_that_an_older_record_keeps_in_another_order_come_back(tmp_path):
    dataset = xr.Dataset({"loss": (("arm", "epoch"), np.arange(6.0).reshape(2, 3), {"units": "nat"})})
    turned = dataset.transpose("epoch", "arm")
    turned["loss"].attrs[stored.AXES] = "arm epoch"
    (tmp_path / stored.NAME).write_bytes(records.packed(turned))
    xr.testing.assert_identical(stored.read(tmp_path / stored.NAME), dataset)


def test_what_a_run_shows_is_never_left_out(tmp_path):
    study = load.read(str(write_study(tmp_path, **SMALL))).study
    shape = {"arm": 2, "n": 2, "replicate": 3}
    whole = xr.Dataset({name: (tuple(shape), np.ones(tuple(shape.values()))) for name in ("error", "status")})
    whole = whole.assign_coords(arm=["mean", "median"], n=[10, 40], replicate=range(3))
    whole = whole.assign(a=(("arm", "own"), np.ones((2, 9))), b=(("arm", "own"), np.ones((2, 9))))
    small = shipping._smaller(whole, ["a", "b"], study.model_copy(update={"summaries": ["b"]}), "quick")
    assert set(whole) - set(small) == {"a"}
