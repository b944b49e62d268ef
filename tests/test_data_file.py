"""Results say which data they are of: the checksum is found, checked, and told apart."""

import hashlib

import pytest

from moestat.data_file import DataFileError, check, digest, with_digest


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("ab" * 100)
    return path


def test_the_digest_of_a_file(path):
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text("abc" * 100)
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest(), "a changed file is read again"


def test_the_digest_of_a_folder(tmp_path):
    found = set()
    for name, text in (("a", "1"), ("b", "2"), ("a", "2"), ("c", "")):
        (tmp_path / name).write_text(text)
        found.add(digest(tmp_path))
    assert len(found) == 4, "names and contents count"
    assert digest(tmp_path) in found


def test_the_digest_becomes_a_setting(path):
    right = digest(path)
    for stated in ({}, {"file_sha256": ""}, {"file_sha256": right}):
        assert with_digest({"file": str(path)} | stated) == {"file": str(path), "file_sha256": right}
    assert with_digest({"data": str(path)}, "data") == {"data": str(path), "data_sha256": right}
    assert with_digest({"length": 3}) == {"length": 3, "file_sha256": ""}
    for given in (None, [], {"file": 3}):
        assert with_digest(given) == given, "left to the validation"


def test_other_data_are_refused(path, tmp_path):
    check(path, digest(path))
    with pytest.raises(DataFileError, match=r"own.txt: csv_sha256 is 'x', .* other, changed or truncated data"):
        check(path, "x", "csv")
    with pytest.raises(DataFileError, match="file_sha256 is 'x'"):
        with_digest({"file": str(path), "file_sha256": "x"})
    with pytest.raises(DataFileError, match="none: there is no such file or folder"):
        digest(tmp_path / "none")
