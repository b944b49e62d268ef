"""Results say which data they are of: the checksum is found, checked, and told apart."""

import hashlib

import pytest

from moestat.data_file import DataFileError, check, digest, with_digest


def test_the_digest_of_a_file_and_of_a_folder(tmp_path):
    found = set()
    for name, text in (("a", "1"), ("b", "2"), ("a", "2"), ("c", "")):
        (tmp_path / name).write_text(text)
        assert digest(tmp_path / name) == hashlib.sha256(text.encode()).hexdigest(), "a changed file is read again"
        found.add(digest(tmp_path))
    assert len(found) == 4, "names and contents count"
    assert digest(tmp_path) in found


def test_the_digest_becomes_a_setting_and_other_data_are_refused(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("ab" * 100)
    right = digest(path)
    for stated in ({}, {"data_sha256": ""}, {"data_sha256": right}):
        assert with_digest({"data": str(path)} | stated, "data") == {"data": str(path), "data_sha256": right}
    assert with_digest({"length": 3}) == {"length": 3, "file_sha256": ""}
    for given in (None, [], {"file": 3}):
        assert with_digest(given) == given, "left to the validation"
    check(path, right)
    with pytest.raises(DataFileError, match=r"own.txt: csv_sha256 is 'x', .* other, changed or truncated data"):
        check(path, "x", "csv")
    with pytest.raises(DataFileError, match="file_sha256 is 'x'"):
        with_digest({"file": str(path), "file_sha256": "x"})
    with pytest.raises(DataFileError, match="none: there is no such file or folder"):
        digest(tmp_path / "none")
