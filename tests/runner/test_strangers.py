"""Folders of results that somebody else made: reading them runs none of his code, and reads no other file of ours."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import sys
import zlib

import h5py
import numpy as np
import pytest
import xarray as xr
from machine import inside, results, write_study

import moestat
from moestat.errors import InputError, StaleError, UserError
from moestat.runner import hdf5, labels, overview, records
from moestat.runner.request import Request
from moestat.study import seal

SECRET = b"TOP-SECRET-" * 100
EVIL = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef rule(ds, claim):\n    return 1\n"


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    study = write_study(folder, replicates=2)
    assert inside(study, "--out", folder / "out", "--jobs", 1, "--quiet")[0] == 0
    return study, folder / "out"


@pytest.fixture
def folder(computed, tmp_path):
    """A copy of the results to be tampered with: the study file, and the folder of its preset."""
    shutil.copytree(computed[1], tmp_path / "out")
    return computed[0], tmp_path / "out/study/quick"


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module of the stranger that can be imported, and tells that it was."""
    place = tmp_path / "evil"
    place.mkdir()
    (place / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(place)
    yield place
    assert not (place / "ran").exists() and "evil" not in sys.modules


def manifest(root, **changes):
    path = root / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edited(root, change):
    """Change results.nc, and let the manifest say that this is how it was written."""
    path = root / "results.nc"
    with h5py.File(path, "r+") as file:
        after = change(file)
    if callable(after):  # what h5py does not write
        path.write_bytes(after(path.read_bytes()))
    manifest(root, results_sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def one_sentence(*words, told, code=1):
    """Run a command that must end with one sentence."""
    got, _, err = inside(*words)
    assert got == code and told in err and len(err.splitlines()) == 1, err


def test_merge_imports_nothing_that_a_manifest_names(folder, evil):
    study, root = folder
    theirs = write_study(evil, name="theirs", experiment="evil")
    other = root.with_name("other")
    shutil.copytree(root, other)
    manifest(other, study="theirs", file=str(theirs), experiment="evil")
    words = ("--out", evil / "merged")
    one_sentence("merge", study, root, other, *words, told="results of the study 'theirs', by its manifest", code=2)
    manifest(other, study="study")
    one_sentence("merge", study, root, other, *words, told="results of the experiment 'evil', by its manifest", code=2)
    one_sentence("merge", root, root, other, *words, told="merge takes the study before the folders", code=2)
    assert not (evil / "merged").exists()


@pytest.mark.parametrize("value", ["evil:gate", ["../secret"]])
def test_a_manifest_asks_for_no_setting_that_names_code_or_a_file(folder, evil, value):
    _, root = folder
    manifest(root, request={"settings": {"gate": value}})
    with pytest.raises(InputError, match="manifest.json asks for --set gate = .*; if these results are yours, give it"):
        overview.recorded(Request("study"), root)
    manifest(root, request={"settings": {"kind": "median", "shift": 0.5}})
    assert overview.recorded(Request("study"), root).settings == {"kind": "median", "shift": 0.5}


def test_a_sealed_rule_that_the_study_does_not_name_is_not_imported(folder, evil):
    study, root = folder
    kept = json.loads((root / "rules.json").read_text())
    kept["claims"]["mean-rate"]["claim"] |= {"kind": "function", "function": "evil:rule", "over": ""}
    kept["claims"]["gone"] = kept["claims"]["mean-rate"]
    (root / "rules.json").write_text(json.dumps(kept))
    digest = seal.read(root).digest
    edited(root, lambda file: file.attrs.__setitem__("rules", digest))
    assert inside("report", study, "--out", root.parents[1])[0] == 0
    assert (root / "claims.csv").read_text().endswith(",edited\n")


@pytest.mark.parametrize("name", ["moestat.study.__main__.x", "evil.x"])
def test_the_experiment_that_results_name_is_not_imported(folder, evil, name):
    _, root = folder
    edited(root, lambda file: file.attrs.__setitem__("experiment", name))
    assert moestat.load(root)["iterations"].attrs["long_name"] == labels.texts_of("")["iterations"][0]


def scale(file, name, shape=(8,), kind="f8", **how):
    """A variable that is its own dimension, so that readers of netCDF take it."""
    data = file.create_dataset(name, shape, kind, **how)
    data.make_scale(name)
    return data


def deflated(file):
    """A piece of 50 MB, where the variable says that it has eight values."""
    content = zlib.compress(bytes(50_000_000))
    scale(file, "bomb", chunks=(8,), compression="gzip").id.write_direct_chunk((0,), content)


def a_text_often(file, count=200_000):
    """So many texts that are one and the same megabyte of the file."""
    data = scale(file, "bomb", (count,), h5py.string_dtype())
    data[0] = "x" * 1_000_000
    at = data.id.get_offset()
    return lambda content: content[:at] + content[at : at + 16] * count + content[at + 16 * count :]


def filtered(file, *filters):
    """A variable that is packed in a way of its own."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((8,))
    for name, *how in filters:
        getattr(plan, f"set_{name}")(*how)
    h5py.h5d.create(file.id, b"bomb", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((8,)), plan)
    file["bomb"].make_scale("bomb")


def virtual(file, source):
    layout = h5py.VirtualLayout((8,), "f8")
    layout[...] = h5py.VirtualSource(str(source), "x", (8,))
    file.create_virtual_dataset("bomb", layout)
    file["bomb"].make_scale("bomb")


OTHERWISE, TOO_MUCH = "packs 'bomb' in another way than results are packed", "would unpack to more than"
HDF5 = {
    "external storage": (
        lambda file, secret: scale(file, "bomb", external=[(str(secret), 0, h5py.h5f.UNLIMITED)]),
        "keeps 'bomb' in another file",
    ),
    "a virtual dataset": (virtual, "keeps 'bomb' in another file"),
    "an external link": (
        lambda file, secret: file.__setitem__("bomb", h5py.ExternalLink(str(secret), "x")),
        "has a link to somewhere else ('bomb')",
    ),
    "a cycle of groups": (
        lambda file, _: file.create_group("bomb").__setitem__("up", file["/"]),
        "holds something else than variables ('bomb')",
    ),
    "800 GB": (lambda file, _: scale(file, "bomb", (10**11,), chunks=(10**6,), compression="gzip"), TOO_MUCH),
    "a piece that is larger than the whole": (
        lambda file, _: scale(file, "bomb", maxshape=(None,), chunks=(10**8,)),
        TOO_MUCH,
    ),
    "a packed piece": (lambda file, _: deflated(file), "unpacks to more than it says with 'bomb'"),
    "one text many times": (lambda file, _: a_text_often(file), TOO_MUCH),
    "one text for all": (lambda file, _: scale(file, "bomb", (9,), h5py.string_dtype(), fillvalue="x" * 9), OTHERWISE),
    "texts of an attribute": (
        lambda file, _: file["error"].attrs.create("texts", [""] * 1000, dtype=h5py.string_dtype()),
        "more than 20 texts in one of the attributes of 'error'",
    ),
    "packed, then shuffled": (lambda file, _: filtered(file, ("deflate", 1), ("shuffle",)), OTHERWISE),
    "a plug-in": (lambda file, _: filtered(file, ("filter", 32001, h5py.h5z.FLAG_OPTIONAL, (1,))), OTHERWISE),
    "references": (lambda file, _: scale(file, "bomb", kind=h5py.regionref_dtype), "something else than numbers and"),
}


@pytest.mark.parametrize("what", HDF5)
def test_results_that_reach_out_of_their_file_or_blow_up_are_refused(folder, tmp_path, what):
    study, root = folder
    secret = tmp_path / "secret"
    if what == "a virtual dataset":
        os.mkfifo(secret)  # it would be waited for
    else:
        secret.write_bytes(SECRET)
    make, told = HDF5[what]
    edited(root, lambda file: make(file, secret))
    for path in (root, root / "results.nc"):
        with pytest.raises(UserError) as error:
            moestat.load(path)
        assert told in str(error.value) and "TOP-SECRET" not in str(error.value)
    for words in (("report",), ("ship", "--to", tmp_path / "kept")):
        one_sentence(words[0], study, "--out", root.parents[1], *words[1:], told=told)
    assert not list((tmp_path / "kept").rglob("*.nc"))


def test_what_results_and_records_hold_passes(folder):
    _, root = folder
    hdf5.check(root / "results.nc")
    packed = root.parent / "packed" / "results.nc.xz"
    packed.parent.mkdir()
    packed.write_bytes(records.packed(moestat.load(root).assign(more=("k", np.zeros(100_000)))))
    assert moestat.load(packed)["more"].size == 100_000  # it unpacks to more than its size, and says so


def test_pipes_are_not_read_and_a_wrong_type_in_a_manifest_is_one_sentence(folder):
    study, root = folder
    words = ("report", study, "--out", root.parents[1])
    for name, value in {"request": [1], "origins": [1], "results_sha256": 3}.items():
        kept = (root / "manifest.json").read_text()
        manifest(root, **{name: value})
        one_sentence(*words, told=f"manifest.json: {name}{'[0] is 1' if name == 'origins' else f' is {value}'}")
        (root / "manifest.json").write_text(kept)
    for name in ("rules.json", "manifest.json", "results.nc"):
        (root / name).unlink()
        os.mkfifo(root / name)
        if name != "results.nc":
            one_sentence(*words, told=f"{name}: cannot be read (it is no regular file)")
    with pytest.raises(UserError, match="results.nc: cannot be read .it is no regular file"):
        moestat.load(root / "results.nc")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "value"), [("error", 0.5), ("n", 11), ("arm", "other")])
def test_a_value_that_was_changed_in_a_copy_without_a_manifest_is_named(folder, tmp_path, name, value, packed):
    whole, copy = moestat.load(folder[1]), tmp_path / "copy.nc"
    content = lzma.decompress(records.packed(whole)) if packed else (folder[1] / "results.nc").read_bytes()
    copy.write_bytes(content)
    assert moestat.load(copy).identical(whole)
    with h5py.File(copy, "r+") as file:
        values = file[name][()]
        values.flat[-1] = value
        file[name][...] = values
    with pytest.raises(StaleError, match=f"copy.nc was changed after it was written, in {name}; make it again"):
        moestat.load(copy)


@pytest.mark.parametrize("content", ["{", "[" * 100_000, '{"results_sha256": 3}'])
def test_results_whose_manifest_cannot_be_read_are_not_believed(folder, content):
    study, root = folder
    with h5py.File(root / "results.nc", "r+") as file:
        file["error"][...] = 0.0
    (root / "manifest.json").write_text(content)
    with pytest.raises(UserError, match="manifest.json"):
        moestat.load(root)
    assert inside("collect", study, "--out", root.parents[1], "--no-report")[0] == 0  # of one's own it is made again
    assert (moestat.load(root)["error"] != 0).all()


@pytest.mark.parametrize("name", ["all.lock", "all.txt", "part-1-of-2.lock"])
def test_a_link_among_the_locks_empties_no_file(folder, tmp_path, name):
    study, root = folder
    (tmp_path / "thesis").write_text("mine")
    (root / "locks").mkdir(exist_ok=True)
    (root / "locks" / name).unlink(missing_ok=True)
    (root / "locks" / name).symlink_to(tmp_path / "thesis")
    one_sentence(study, "--out", root.parents[1], "--jobs", 1, told=f"{name} is a link to somewhere else")
    assert (tmp_path / "thesis").read_text() == "mine"


def test_results_with_flipped_bits_are_one_sentence_and_made_again(folder):
    study, root = folder
    path, whole = root / "results.nc", results(root.parents[1])
    path.write_bytes(path.read_bytes().replace(b"FHDB\0", b"FHDB\1"))  # the blocks in which HDF5 keeps what there is
    with pytest.raises(RuntimeError):  # no OSError: only its metadata are damaged
        xr.load_dataset(path, engine="h5netcdf")
    for where in (study, path):
        with pytest.raises(StaleError, match="make it again with the subcommand collect"):
            moestat.load(where, out=root.parents[1])
    (root / "manifest.json").unlink()  # nothing says any more what the file was
    with pytest.raises(UserError, match="cannot be read as netCDF"):
        moestat.load(path)
    assert inside("collect", study, "--out", root.parents[1], "--no-report")[0] == 0
    assert results(root.parents[1]).identical(whole)
