"""Records: what they hold, that they are read where there are no own results, and that a changed one is found."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from machine import inside, write_study

import moestat
from moestat.report import shipping
from moestat.runner import needs, origin, records, results, rounded
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
        if name != rounded.CHECKSUM:
            kept = rounded.kept(before[name].values) if name in rounded.names(after) else before[name].values
            assert kept.tobytes() == after[name].values.tobytes() or before[name].dtype == object, name
            assert before[name].attrs.keys() == after[name].attrs.keys()
    assert "error" in rounded.names(after)
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


@pytest.mark.parametrize("name", [results.PACKED, "claims.csv"])
def test_a_record_that_was_changed_is_refused_and_named(record, name):
    study, out = record
    with (own(out) / name).open("ab") as stream:
        stream.write(b" ")
    code, _, err = inside("report", study, "--out", out)
    assert code == 3 and f"{name} is not the one that was recorded" in err
    if name == results.PACKED:
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
    """Change all numbers of a record, its checksums with the factor 0, or add a variable, with valid digests."""
    dataset = results.read(own(out) / results.PACKED)
    if not factor:
        dataset[rounded.CHECKSUM] = dataset[rounded.CHECKSUM] + 1
    dataset["error"] = dataset["error"] * (factor or 1.0)
    dataset = dataset.assign({more: dataset["error"]}) if more else dataset
    content = {name: (own(out) / name).read_bytes() for name in records.FILES}
    content[results.PACKED] = records.packed(dataset)
    kept = json.loads(content["manifest.json"])
    kept["results_sha256"] = hashlib.sha256(content[results.PACKED]).hexdigest()
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
    tampered(out, 1 / (1 + 1e-12))
    tampered(out, 0)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 0 and "what lies beyond seven digits differs" in said, said + err
    tampered(out, 1.0001)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 3, "--seed", 2)
    assert code == 0 and said.count("less than 1 % of the spread over replicates: error differs by at most") == 3, err
    tampered(out, 1.5)
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 1 and "another result: error differs by at most" in said
    assert "1 of 1 have another result" in err


def test_a_record_is_not_replaced_by_other_numbers_unasked(record, tmp_path):
    study, out = record
    sums = next(out.glob("records/*/*/SHA256SUMS"))
    before = sums.read_text()
    code, said, err = inside("ship", study, "--out", out, "--to", out)
    assert code == 0 and "the same numbers as before, judged again" in said, err
    assert sums.read_text() == before  # to the last digit, though a record has seven of them
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
    assert [arm.name for arm in arms] == ["a"] and source.path.name in ("results.nc", "results.nc.xz")
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
        np.testing.assert_array_equal(kept["size"], rounded.kept(abs(whole["centre"]).mean("expert").values))
    assert asked[0] == ("study", "quick")
    assert inside(reader, "--out", tmp_path / "kept", "--quiet", "--no-report")[0] == 0
    assert moestat.load(reader, out=tmp_path / "kept")["x"].item() == pytest.approx(found, rel=1e-6)
    code, said, err = inside("verify", study, "--out", tmp_path / "kept", "--replicates", 2)
    assert code == 0 and "bit for bit" in said, said + err
    code, _, err = inside("ship", reader, "--out", tmp_path / "kept", "--to", tmp_path / "other")  # itself a record
    assert code == 0, err
    assert moestat.load(reader, out=tmp_path / "other")["file"].item() == "outputs/records/study/quick/results.nc.xz"
    code, said, err = inside("report", reader, "--out", tmp_path / "other")
    assert code == 0 and "Claims: " in said and (tmp_path / "other" / "records" / "summary").is_dir(), err
    code, _, err = inside("verify", reader, "--out", tmp_path / "other")
    assert code == 2 and "reads the results of others; verify study" in err


def test_whole_results_are_fetched_compared_and_read_in_place_of_the_record(shipped, record, tmp_path):
    study, folder, _ = shipped
    _, out = record
    package, run = tmp_path / "package", moestat.load(folder / "run" / "study" / "quick")
    code, said, err = inside("ship", study, "--out", folder / "run", "--to", out, "--whole", package)
    assert code == 0 and "study-quick.nc" in said, err
    code, said, err = inside("fetch", study, "--out", out, "--from", package)
    assert code == 0 and (own(out) / results.WHOLE).is_file(), err
    for name, array in moestat.load(study, out=out).data_vars.items():
        assert array.dtype == object or array.values.tobytes() == run[name].values.tobytes(), name
    code, said, err = inside("verify", study, "--out", out, "--replicates", 1)
    assert code == 0 and "equal, bit for bit" in said, said + err
    assert inside("ship", study, "--out", out, "--to", out)[0] == 0 and (own(out) / results.WHOLE).is_file()
    (own(out) / results.WHOLE).write_bytes(b"x")
    with pytest.raises(moestat.errors.StaleError, match="whole.nc was changed"):
        moestat.load(study, out=out)
    (own(out) / results.WHOLE).unlink()
    (package / "study-quick.nc").write_bytes(b"x")
    code, _, err = inside("fetch", study, "--out", out, "--from", package)
    assert code == 1 and "is not what the record in" in err and not (own(out) / results.WHOLE).exists()
    code, _, err = inside("fetch", study, "--out", out, "--from", tmp_path / "none")
    assert code == 2 and "none/study-quick.nc: cannot be read" in err


def test_a_package_on_a_web_server_is_fetched_once_its_checksum_fits(shipped, record, tmp_path):
    pytest.importorskip("pooch")
    study, folder, _ = shipped
    _, out = record
    assert inside("ship", study, "--out", folder / "run", "--to", out, "--whole", tmp_path)[0] == 0
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        code, _, err = inside("fetch", study, "--out", out, "--from", address)
        assert code == 0, err
        there = (own(out) / results.WHOLE).read_bytes()
        (tmp_path / "study-quick.nc").write_bytes(b"other")
        code, _, err = inside("fetch", study, "--out", out, "--from", address)
        server.shutdown()
    assert code == 1 and "cannot be fetched" in err and (own(out) / results.WHOLE).read_bytes() == there


def test_records_of_an_installed_package_are_read_and_reported_where_the_user_is(record, tmp_path, monkeypatch):
    study, out = record
    monkeypatch.setattr(records, "INSTALLED", out)
    mine = tmp_path / "mine"
    assert moestat.load(study, out=mine).sizes["replicate"] == 6
    code, _, err = inside("report", study, "--out", mine)
    assert code == 0 and (mine / "records" / "study" / "quick" / "report" / "report.html").is_file(), err
    assert not (own(out) / "report").exists()


def test_a_variable_is_kept_in_64_bits_where_a_claim_would_be_told_otherwise(tmp_path):
    study = load.read(str(write_study(tmp_path, **SMALL))).study
    claim = study.claims[0]
    values = np.random.default_rng(2).standard_normal((2, 3))
    whole = xr.Dataset(dict.fromkeys((claim.variable, "other", "status"), (("arm", "replicate"), values)))
    found = shipping._rounded(whole, study, lambda ds: dict.fromkeys([claim.id], ds[claim.variable].values.tobytes()))
    assert found[claim.variable].dtype == np.float64 and rounded.names(found) == ["other", "status"]


@given(st.lists(st.floats(width=64), min_size=6, max_size=6), st.integers(0, 5))
def test_a_checksum_tells_any_other_number(numbers, at):
    """A difference is missed once in 2**32."""
    values = np.array(numbers).reshape(2, 3)
    other = values.copy()
    other.flat[at] = np.nextafter(other.flat[at], 0.0)
    sums = []
    for now in (values, other):
        sums.append(rounded.checksum([(now, rounded._weights("x", now.shape))]))
    assert (sums[0] == sums[1]) == (np.isnan(values.flat[at]) or values.flat[at] == 0.0)


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


def test_what_a_run_shows_is_never_left_out(tmp_path):
    study = load.read(str(write_study(tmp_path, **SMALL))).study
    shape = {"arm": 2, "n": 2, "replicate": 3}
    whole = xr.Dataset({name: (tuple(shape), np.ones(tuple(shape.values()))) for name in ("error", "status")})
    whole = whole.assign_coords(arm=["mean", "median"], n=[10, 40], replicate=range(3))
    whole = whole.assign(a=(("arm", "own"), np.ones((2, 9))), b=(("arm", "own"), np.ones((2, 9))))
    small = shipping._smaller(whole, ["a", "b"], study.model_copy(update={"summaries": ["b"]}), "quick")
    assert set(whole) - set(small) == {"a"}
