"""No number of an experiment moves without a new VERSION: a tiny replicate of each is computed again."""

import copy
import importlib
import json

import numpy as np
import pytest
import stored_numbers
from test_studies import WRITTEN, skip_without_libraries

from moestat.runner import experiments

STORED = json.loads(stored_numbers.FILE.read_text(encoding="utf-8"))
MODULES = stored_numbers.modules()
ADVICE = "if it is meant, raise VERSION of the experiment, and write its entry with: python tests/stored_numbers.py"


def moved(wanted, found, rtol):
    """Return the variables that are not what is stored."""
    names = [
        name
        for name in wanted.keys() & found.keys()
        if wanted[name]["shape"] != found[name]["shape"]
        or not np.allclose(*(np.array(x[name]["values"], float) for x in (found, wanted)), rtol, 1e-12, equal_nan=True)
    ]
    return sorted({*names, *(wanted.keys() ^ found.keys())})


def test_every_experiment_has_an_entry():
    assert set(STORED) == set(MODULES) == {*experiments.own_experiments(), "moestat.printed"}, ADVICE


@pytest.mark.parametrize("name", MODULES)
def test_no_number_moves_without_a_new_version(name):
    skip_without_libraries(WRITTEN[name])
    entry = STORED[name]
    assert entry["version"] == importlib.import_module(MODULES[name]).VERSION, ADVICE
    for place in entry["cells"]:
        found = stored_numbers.computed(MODULES[name], place)
        assert not moved(place["variables"], found, stored_numbers.tolerance_of(name)), ADVICE


def test_the_command_writes_what_is_new_or_has_a_higher_version_and_nothing_else():
    kept = copy.deepcopy(STORED)
    assert not dict(stored_numbers.rewritten(kept))
    del kept["attention_is_moe"]
    kept["dichotomy"]["version"] = 0
    kept["regression"]["version"] = 99
    assert dict(stored_numbers.rewritten(kept)) == {name: STORED[name] for name in ("attention_is_moe", "dichotomy")}


def test_a_number_that_moves_is_found():
    (place, *_), name = STORED["regression"]["cells"], "L3"
    other = copy.deepcopy(place["variables"])
    other[name]["values"][0] *= 1 + 2e-9
    assert moved(place["variables"], other, stored_numbers.TOLERANCE) == [name]
    del other["L1"]
    assert moved(place["variables"], other, stored_numbers.TOLERANCE) == ["L1", name]
