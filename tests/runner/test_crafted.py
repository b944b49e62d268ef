"""Study files and terminals that are not as they should be: never a traceback."""

from __future__ import annotations

import subprocess

import pytest
from machine import command, environment, inside, results, write_study


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: "x = " + "[" * 50_000 + "]" * 50_000 + "\n" + text, "the file is not valid Python"),
        (lambda text: "a" + ".a" * 50_000 + "\n" + text, "study.py"),
        (lambda text: text.replace("a textbook", "a\\u0000b", 1), "source holds a NUL character"),
        (lambda text: text + 'study.figure("a")\nstudy.figure("figure")\n', "allowed are different names"),
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


@pytest.mark.parametrize("name", ["..", ".hidden", "x "])
def test_a_study_file_whose_name_is_no_folder_is_refused(tmp_path, name):
    study = write_study(tmp_path, name=name)
    code, _, err = inside(study, "--out", tmp_path / "out" / "below", "--jobs", 1)
    assert code == 2 and "the name of a study file" in err and not (tmp_path / "out").exists()


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
