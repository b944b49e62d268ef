"""A study as an object: what it takes, where it says a mistake is, and how it is found, run and named."""

from pathlib import Path

import numpy as np
import pytest

import moestat
from moestat import Study
from moestat.errors import InputError
from moestat.study import load, starter
from moestat.study.rules import difference, function, mean, slope

HEAD = "from moestat import Study\n"
WHOLE = f"""{HEAD}study = Study("Widths", experiment="regression", seed=3, grid=dict(n=[100, 1000]))
study.preset("quick", replicates=2)
study.arm("relu")
"""


def refused(tmp_path, text, name="mine.py"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        load.read(tmp_path / name)
    return str(caught.value)


def test_calls_make_the_checked_study():
    settings, grid = dict(sizes=range(3), box=np.float64(0.5)), dict(n=np.array([100, 1000]))
    study = Study("Widths", experiment="regression", seed=3, settings=settings, grid=grid)
    study.preset("quick", replicates=np.int64(2))
    study.arm("relu", "ReLU experts", expert="relu", name="a setting")
    study.rate("L3", bound=-0.5)
    study.claim("a", "It falls.", slope("L3", "relu").within(-0.6, -0.4, predicted=-0.5), source="Thm 1")
    study.claim("b", "So it does.", slope("L3", "relu").at_most(0), source="Thm 1", because="it falls")
    less, rule = difference("L3", "relu", versus_variable="L1"), function("mine:rule", options=dict(k=1))
    study.ours("c", "It is low.", mean("L3", "relu", at=dict(n=100)).at_most(1), source="a check")
    study.ours("d", "It is less.", less.at_most(0), source="a check", at=dict(n=100))
    study.ours("e", "It holds.", rule.equivalent(1), source="a check", bearing="for")
    made = study.check()
    assert made.grid == {"n": [100, 1000]} and made.settings == {"sizes": [0, 1, 2], "box": 0.5}
    assert made.arms[0].settings == {"expert": "relu", "name": "a setting"} and made.arms[0].label == "ReLU experts"
    told = [(claim.kind, claim.origin, claim.bearing) for claim in made.claims]
    assert told[:3] == [("slope", "stated", "for"), ("slope", "implied", "for"), ("mean", "ours", "neutral")]
    assert told[3:] == [("difference", "ours", "neutral"), ("function", "ours", "for")]
    assert made.claims[0].predicted == -0.5 and made.claims[4].options == {"k": 1}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("study.arm('gelu', presets=['large'])", "arm 'gelu': presets names 'large', which is no preset of the study"),
        ("study.arm('relu')", "arm 'relu': name is that of an earlier arm"),
        ("study.arm('two words')", "arm 'two words': name is 'two words': string should match pattern"),
        ("study.rate('L3', bond=1)", "rate 'L3': bond is an unknown key; did you mean 'bound'?"),
        ("study.rate('L3', arms=['rellu'])", "names 'rellu', which is no arm of the study; did you mean 'relu'?"),
        ("study.claim('c', 's', source='x', kind='meen')", "claim 'c': kind is 'meen'; did you mean 'mean'?"),
        ("study.claim('c', 's', source='x', kind='mean')", "claim 'c': exactly one of within, equivalent, at_most,"),
        ("study.finding({'c': 'supported'}, 'It holds.')", "finding 1: when names 'c', which is no claim"),
        ("study.figure(panels=[dict(arm=['relu'])])", "figure 'figure': panels[0].arm is an unknown key"),
        ("study.preset('two', replicates=True)", "preset 'two': replicates is True: a truth value is no number"),
        ("study.preset('two', replicates=2, grid=dict(n=[5, 5]))", "preset 'two': grid.n has a value twice"),
        ("study.preset('quick', replicates=2)", "the preset 'quick' is there already"),
        ("study.arm('b', x=lambda: 1)", "<lambda> has no import path"),
        ("study.arm('b', x='\\0')", "arm 'b': settings.x holds a NUL character"),
        ("stduy.arm('b')", "NameError: name 'stduy' is not defined"),
        ("study.arm('b'", "the file is not valid Python"),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_name(tmp_path, call, told):
    said = refused(tmp_path, f"{WHOLE}\n# a comment\n{call}\n")
    (line,) = said.splitlines()
    assert line.startswith(load.shown_path(tmp_path / "mine.py") + ":7: ") and told in line


def test_in_a_loop_the_name_tells_which_and_eight_lines_are_enough(tmp_path):
    loop = "for i in range(11):\n    study.claim(f'c{i}', 's', source='x')\n"
    *lines, last = refused(tmp_path, WHOLE + loop).splitlines()
    assert [line.partition(": ")[2].split(":")[0] for line in lines] == [f"claim 'c{i}'" for i in range(8)]
    assert all(":6: " in line for line in lines) and last == "... and 3 more problems"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD, "this one has none"),
        ("study = 3\n", "this one has none"),
        (f"{HEAD}study = Study('x')\n", ":2: arms is []: list should have at least 1 item"),
        (f"{HEAD}study = Study('x', seed=1, presets=3)\n", ":2: presets is 3: input should be a valid dictionary"),
        (b"x = 'Gr\xfc\xdfe'\n", "the file is not valid Python: (unicode error) 'utf-8' codec can't decode byte 0xfc"),
    ],
)
def test_what_is_no_study_is_refused(tmp_path, text, told):
    assert told in refused(tmp_path, text)


def test_the_docstring_below_its_first_paragraph_says_what_a_study_is_about(tmp_path):
    (tmp_path / "mine.py").write_text('"""Widths.\n\nTen data sets.\n\nRead it *so*.\n"""\n' + WHOLE)
    assert load.read(tmp_path / "mine.py").study.about == "Ten data sets.\n\nRead it *so*."


def test_studies_are_found_by_name_in_folders_of_papers_and_nothing_else_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies" / "a_paper").mkdir(parents=True)
    (tmp_path / "studies" / "first.py").write_text(WHOLE)
    (tmp_path / "studies" / "a_paper" / "second.py").write_text(WHOLE)
    (tmp_path / "studies" / "gate.py").write_text("raise ValueError('no study is imported')\n")
    (tmp_path / "lies_here.py").write_text(WHOLE)
    known = load.known_studies()
    assert {"first", "second"} <= known.keys() and not {"gate", "lies_here"} & known.keys()
    assert load.find("second") == tmp_path / "studies" / "a_paper" / "second.py"
    with pytest.raises(InputError, match="no study 'secnd'; did you mean 'second'"):
        load.find("secnd")
    with pytest.raises(InputError, match="but a file of that name; give its path: lies_here.py"):
        load.find("lies_here")


def test_a_module_may_name_functions_and_modules_beside_it(tmp_path):
    (tmp_path / "gates_beside.py").write_text("def swish(h):\n    return h\n")
    beside = "import gates_beside\nstudy.arm('b', fitted_gate=gates_beside.swish, other=gates_beside)\n"
    (tmp_path / "mine.py").write_text(WHOLE + beside)
    arm = load.read(tmp_path / "mine.py").study.arms[1]
    assert arm.settings == {"fitted_gate": "gates_beside:swish", "other": "gates_beside"}


def test_an_edit_within_the_same_second_is_seen(tmp_path):
    path = tmp_path / "mine.py"
    for seed in (3, 4):
        path.write_text(WHOLE.replace("seed=3", f"seed={seed}"))
        assert load.read(path).study.seed == seed


def test_an_object_runs_under_its_name_and_what_is_added_to_it_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toy = dict(d=1, n_true=1, n_fitted=1, n=50)
    study = Study("Small", name="small_one", seed=1, experiment="regression", settings=toy)
    study.preset("quick", replicates=2)
    study.arm("relu")
    options = {"jobs": 1, "quiet": True, "report": False}
    assert study.run(**options).sizes["arm"] == 1
    study.arm("gelu", expert="gelu")
    assert moestat.run(study, **options).sizes["arm"] == 2
    assert Path("outputs/small_one/quick/results.nc").is_file()
    assert study.load().sizes["arm"] == moestat.load(study).sizes["arm"] == 2


def test_a_study_without_a_name_asks_for_one():
    cell: dict = {}
    exec(compile(HEAD + 'study = Study("x", seed=1, experiment="regression")\n', "<cell>", "exec"), cell)
    with pytest.raises(InputError, match=r"give it one for its results: Study\(..., name='my_study'\)"):
        cell["study"].run()
    with pytest.raises(InputError, match="the study 'study', line 2: arms is"):
        cell["study"].check()


def test_the_first_study_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [arm.name for arm in load.read(starter.write("mine")).study.arms] == ["relu", "gelu"]
    for name, told in (("mine", "exists already"), ("two words", "allowed are"), ("nowhere/mine", "is no folder")):
        with pytest.raises(InputError, match=told):
            starter.write(name)
