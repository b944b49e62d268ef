"""The user's own files behind a module: which ones count, by what, and whether memory holds what the disk does."""

from __future__ import annotations

import importlib
import sys
import zipfile

import pytest

from moestat import own_files, versions

FILES = {
    "mine.py": "import numpy as np\nfrom near.first import value\n\ndef run():\n    import later\n    return value()\n",
    "near/__init__.py": "",
    "near/first.py": "from . import second\nfrom .second import two as value\n",
    "near/second.py": "import importlib\ndef two():\n    return 2\n",
    "later.py": "from near import *\n",
    "unused.py": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_all_that_is_imported_counts_at_any_depth_and_nothing_is_imported_for_it(folder):
    assert set(own_files.hashes("mine")) == set(FILES) - {"unused.py", "near/__init__.py"} | {"near.py"}
    assert not {"mine", "near", "later"} & set(sys.modules)
    assert own_files.hashes("moestat.runner.run") == own_files.hashes("numpy.linalg") == own_files.hashes("json") == {}


@pytest.mark.parametrize("name", ["mine.py", "later.py", "near/second.py"])
def test_a_file_counts_by_its_lines_without_the_blanks_at_their_ends(folder, name):
    before, path = own_files.hashes("mine"), folder / name
    path.write_bytes(path.read_bytes().replace(b"\n", b" \t\r\n") + b"\r\n\r\n")
    assert own_files.hashes("mine") == before
    path.write_text(path.read_text() + "# a remark\n")
    assert versions.changes(before, own_files.hashes("mine")) == [f"the code of {name}"]
    (folder / "near/second.py").write_text("import unused\n")
    assert "unused.py is new" in versions.changes(before, own_files.hashes("mine"))


@pytest.mark.filterwarnings("ignore")
def test_code_that_cannot_be_read_is_refused(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "made_at_run_time", type(sys)("made_at_run_time"))
    with zipfile.ZipFile(folder / "a.zip", "w") as stream:
        stream.writestr("packed/__init__.py", "VALUE = 1\n")
    monkeypatch.syspath_prepend(str(folder / "a.zip"))
    for module in ("no_such_module", "made_at_run_time", "packed"):
        with pytest.raises(own_files.NoCodeError, match=module):
            own_files.hashes(module)


def test_an_edit_after_the_import_is_found_until_a_reload(folder):
    module = importlib.import_module("later")
    own_files.remember()
    assert own_files.edited(["later.py"]) == []
    (folder / "later.py").write_text(FILES["later.py"] + "MORE = 1\n")
    assert own_files.edited(["later.py", "unused.py"]) == ["later.py"]
    importlib.reload(module)
    assert own_files.edited(["later.py"]) == []


def test_versions_of_an_older_moestat_can_be_read_and_compared_with_nothing_of_today():
    old, now = {"all definitions": "a" * 32, "a.b": "a" * 32, "numpy": "2"}, {"regression": "1"}
    assert versions.changes(old, now) == [versions.OLDER]
    assert versions.since(old, now) == [] == versions.since({}, now)
    assert versions.since(now, {"regression": "2"}) == ["version of regression 1 -> 2"]
    assert versions.text(old) == "a" * 16 and versions.text(now | {"mine.py": "0f"}) == "regression 1, mine.py 0f"
