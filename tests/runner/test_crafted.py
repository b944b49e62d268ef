"""Files that somebody made: a valid checksum shows that they are as he wrote them. A sentence, never a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile

import numpy as np
import pytest
import xarray as xr
from machine import command, environment, inside, results, shards, write_study

import moestat
from moestat import cache
from moestat.errors import StaleError, UserError
from moestat.runner import lock, shard


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crafted")
    study = write_study(folder, replicates=2)
    assert inside(study, "--out", folder, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    return study, folder, results(folder)


def array(raw: dict, name: str) -> dict:
    return next(item for item in raw["arrays"] if item["name"] == name)


def crafted(content: bytes, change) -> bytes:
    """Change the header of a shard, or its bytes, and give it the right checksum."""
    _, line, payload = content.split(b"\n", 2)
    raw = json.loads(line)
    made = change(raw)
    if isinstance(made, bytes):
        line, payload = made, b""
    else:
        line = json.dumps(raw).encode()
    body = line + b"\n" + payload if payload or not isinstance(made, bytes) else line
    return b"moestat-shard 1 " + shard._checksum(b"1", body) + b"\n" + body


HEADERS = {
    "no header": lambda raw: b"",
    "no JSON": lambda raw: b"{\n",
    "a list": lambda raw: b"[]\n",
    "deep": lambda raw: b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "no cell": lambda raw: raw.pop("cell"),
    "a cell of no JSON": lambda raw: raw.update(cell="x"),
    "a cell without settings": lambda raw: raw.update(cell="{}"),
    "a cell that is a number": lambda raw: raw.update(cell=3),
    "coordinates that are tables": lambda raw: raw.update(coords={"n": {}}),
    "code that is a list": lambda raw: raw.update(code=[1]),
    "negative replicates": lambda raw: raw.update(replicates=[[-1, 0]]),
    "reversed replicates": lambda raw: raw.update(replicates=[[1, 0]]),
    "replicates twice": lambda raw: raw.update(replicates=[[0, 0], [0, 0]]),
    "very many replicates": lambda raw: raw.update(replicates=[[0, 2**60]]),
    "other replicates": lambda raw: raw.update(replicates=[[0, 4]]),
    "replicates of text": lambda raw: raw.update(replicates=[["a", "b"]]),
    "an unknown status": lambda raw: raw.update(status=[0, 77]),
    "a status of text": lambda raw: raw.update(status=["0", "0"]),
    "no provenance": lambda raw: raw.update(made=[]),
    "no seconds": lambda raw: raw["made"].pop("seconds"),
    "endless seconds": lambda raw: raw["made"].update(seconds=float("inf")),
    "attributes that are lists": lambda raw: raw.update(attrs={"x": []}),
    "an array of objects": lambda raw: array(raw, "error").update(type="|O"),
    "an array of no type": lambda raw: array(raw, "error").update(type="zzz"),
    "an array of structures": lambda raw: array(raw, "error").update(type="f8,f8"),
    "an array that is larger": lambda raw: array(raw, "error").update(shape=[2**40]),
    "an array of negative size": lambda raw: array(raw, "error").update(shape=[-2]),
    "an array outside": lambda raw: array(raw, "error").update(at=[10**9, 16]),
    "an array of other replicates": lambda raw: array(raw, "error").update(shape=[1], at=[0, 8]),
    "an array twice": lambda raw: raw["arrays"].append(raw["arrays"][0]),
    "texts that are more": lambda raw: array(raw, "message").update(shape=[3], dims=["other"]),
    "texts that are numbers": lambda raw: array(raw, "message").update(at=array(raw, "error")["at"]),
    "dimensions that are numbers": lambda raw: array(raw, "error").update(dims=[1]),
    "a coordinate of text": lambda raw: array(raw, "error").update(coord="yes"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_crafted_shard_is_set_aside_and_computed_again(computed, what):
    study, folder, whole = computed
    path = shards(folder)[0]
    path.write_bytes(crafted(path.read_bytes(), HEADERS[what]))
    code, _, err = inside(study, "--out", folder, "--jobs", 1, "--no-report")
    assert code == 0 and "Traceback" not in err, err
    assert len([line for line in err.splitlines() if "set aside a damaged shard" in line]) == 1
    assert results(folder).identical(whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing"])
def test_what_is_no_file_is_set_aside_and_not_waited_for(computed, kind):
    study, folder, whole = computed
    path = shards(folder)[0].with_name("0000000-0000009.0.shard")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    code, _, err = inside(study, "--out", folder, "--jobs", 1, "--no-report")
    assert code == 0 and (kind == "nothing" or "it is no regular file" in err)
    path.unlink(missing_ok=True)
    assert results(folder).identical(whole)


@pytest.mark.parametrize("verb", ["run", "collect", "report", "load"])
def test_results_with_flipped_bits_are_made_again_or_one_sentence(computed, verb):
    study, folder, whole = computed
    path = folder / "study/quick/results.nc"
    path.write_bytes(path.read_bytes().replace(b"FHDB\0", b"FHDB\1"))  # the blocks in which HDF5 keeps what there is
    with pytest.raises(RuntimeError):  # no OSError: only its metadata are damaged
        xr.load_dataset(path, engine="h5netcdf")
    words = (study, "--out", folder, "--no-report")
    if verb in ("run", "collect"):
        assert inside(*(["collect"] if verb == "collect" else []), *words)[0] == 0
        assert results(folder).identical(whole)
    elif verb == "report":
        code, _, err = inside("report", *words)
        assert code == 3 and "was changed after it was written" in err and len(err.splitlines()) == 1
    else:
        for where in (study, path):
            with pytest.raises(StaleError, match="make it again with the subcommand collect"):
                moestat.load(where, out=folder)
        (path.parent / "manifest.json").unlink()  # nothing says any more what the file was
        with pytest.raises(UserError, match="cannot be read as netCDF"):
            moestat.load(path)
    assert inside("collect", *words)[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"request": 3}',
        '{"request": {"replicates": -5, "seed": -1, "block": 0}}',
        '{"request": {"block": true}}',
    ]
    + ['{"request": {"replicates": 1e400}}', '{"request": {"settings": {"x": {}}}}', "null", "\ufeff{}"],
)
@pytest.mark.parametrize("verb", ["status", "collect"])
def test_a_crafted_manifest_is_as_good_as_none(computed, content, verb):
    study, folder, _ = computed
    (folder / "study/quick/manifest.json").write_text(content)
    code, out, err = inside(verb, study, "--out", folder, *(["--no-report"] if verb == "collect" else []))
    assert "Traceback" not in err and (code == 0 or (code == 2 and "settings" in content)), err


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"pid": -1}',
        '{"pid": 1e400, "host": 3}',
        f'{{"pid": {10**30}, "host": "HOST"}}',
        '{"pid": true, "host": "HOST"}',
    ],
)
def test_a_crafted_lock_is_one_of_nobody(computed, tmp_path, content):
    study, folder, _ = computed
    for root in (tmp_path, folder / "study/quick"):
        (root / "locks").mkdir(exist_ok=True)
        (root / "locks/all.json").write_text(content.replace("HOST", os.uname().nodename))
    assert "Traceback" not in inside("status", study, "--out", folder)[2]
    with lock.Lock(tmp_path, heartbeat=0.02, patience=0.05):
        pass
    (folder / "study/quick/locks/all.json").unlink()


# --- the cache -----------------------------------------------------------------------------------------------------


def entry(archive: bytes) -> bytes:
    import hashlib

    return cache._MAGIC + b" " + hashlib.sha256(archive).hexdigest().encode() + b"\n" + archive


def packed(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def huge() -> bytes:
    """An archive that says it holds 8 TiB."""
    stream, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(stream, "w") as archive:
        identity = io.BytesIO()
        np.save(identity, np.asarray(cache._canonical("kind", {"a": 1})))
        archive.writestr("identity.npy", identity.getvalue())
        archive.writestr("array/x.npy", header.getvalue() + b"\0" * 64)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"no archive", packed(x=np.zeros(3)), packed(identity=np.asarray("other")), huge(), packed(bomb=np.zeros(10**6))],
    ids=["no archive", "no identity", "another identity", "a huge array", "packed"],
)
def test_a_crafted_cache_entry_is_computed_again(tmp_path, monkeypatch, content):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))
    place = cache.path("kind", {"a": 1})
    place.parent.mkdir()
    place.write_bytes(entry(content))
    with pytest.warns(cache.CacheWarning, match="is corrupt"):
        assert cache.cached("kind", {"a": 1}, lambda: {"x": np.ones(2)})["x"].tolist() == [1, 1]
    assert cache.cached("kind", {"a": 1}, lambda: {})["x"].tolist() == [1, 1]


# --- study files, terminals and spreadsheets --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: "x = " + "[" * 50_000 + "]" * 50_000 + "\n" + text, "the file is not valid Python"),
        (lambda text: "a" + ".a" * 50_000 + "\n" + text, "study.py"),
        (lambda text: text.replace("a textbook", "a\\u0000b", 1), "source holds a NUL character"),
        (
            lambda text: text + 'study.figure("a")\nstudy.figure("figure")\n',
            "allowed are different names",
        ),
    ],
)
def test_a_study_file_that_cannot_be_is_one_sentence(tmp_path, change, told):
    study = write_study(tmp_path)
    study.write_text(change(study.read_text()))
    code, _, err = inside(study, "--dry-run")
    assert code == 2 and told in err and len(err.splitlines()) == 1


def test_a_mark_before_the_text_is_passed_over(tmp_path):
    study = write_study(tmp_path)
    study.write_bytes(b"\xef\xbb\xbf" + study.read_bytes())
    assert inside(study, "--dry-run")[0] == 0


@pytest.mark.parametrize("name", ["..", ".", ".hidden", " x", "x ", "-x"])
def test_a_study_file_whose_name_is_no_folder_is_refused(tmp_path, name):
    study = write_study(tmp_path, name=name)
    code, _, err = inside(study, "--out", tmp_path / "out" / "below", "--jobs", 1)
    assert code == 2 and "the name of a study file" in err and not (tmp_path / "out").exists()


def test_a_folder_that_reads_as_markup_is_a_folder(tmp_path):
    study, out = write_study(tmp_path, replicates=1), tmp_path / "x" / "[" / "red]"
    code, told, err = inside("status", study, "--out", tmp_path / "x/[/red]")
    assert code == 0 and "Traceback" not in err
    assert inside(study, "--out", out, "--jobs", 1, "--quiet", "--no-report")[0] == 0


@pytest.mark.parametrize("how", ["ascii", "closed"])
def test_a_terminal_without_letters_or_without_streams_is_no_reason_to_stop(tmp_path, how):
    study = write_study(tmp_path, replicates=1)
    study.write_text(study.read_text().replace("The mean of", "Möbius 😀"))
    words = command(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    if how == "closed":
        words = ["sh", "-c", 'exec "$@" 2>&- >&-', "sh", *words]
    run = subprocess.run(words, env=environment(PYTHONIOENCODING="ascii"), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert results(tmp_path)["status"].size == 4
    assert "M\\xf6bius" in inside_ascii("--list", tmp_path) if how == "ascii" else True


def inside_ascii(word: str, folder) -> str:
    (folder / "studies").mkdir()
    (folder / "study.py").rename(folder / "studies/study.py")
    run = subprocess.run(
        command(word), env=environment(PYTHONIOENCODING="ascii"), cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
