"""Search the pseudo-truths that come with the package, and write them into its folder.

    python tests/ship_pseudo_truths.py linear relu        # about four minutes each on an idle core
    python tests/ship_pseudo_truths.py --study regression_rate
    python tests/ship_pseudo_truths.py --study partial_quadratic --preset theorems

The problems are those of the main study at the paper's size (truth softmax, fit sigmoid, d = 8, N* = 8, N = 9, the
study's seed). The search is the one that a run would do itself, with three times the starts, twice the local starts,
and more rounds of replacements; it prints how often the best minimum was found. With ``--study`` they are those of a
preset of the study, ``paper`` if none is named, searched as the study does. What is written is checked on loading.
"""

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from moestat.fit.global_search import Budget
from moestat.runner import plan
from moestat.runner.request import Request
from studies.sigmoid_attention.parts import regression, regression_targets
from studies.sigmoid_attention.parts.regression_problem import Settings

SEED = 20260101
"""Of the study sigmoid_vs_softmax."""
BUDGET = replace(Budget().times(3.0), rounds=8)
LOCAL_STARTS = 8
POINTS_LOG2 = 14
SEARCH_SEED = 1


def ship(identity: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write the list of a problem into the package's folder, and return the file."""
    file = regression_targets.file_of(identity)
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
    return file


def search(expert: str) -> None:
    """Search one problem, print what was seen, and write the file."""
    chosen = {"truth_gate": "softmax", "fitted_gate": "sigmoid", "expert": expert, "pseudo_search": "global"}
    settings = Settings.model_validate({"n": 1000, **chosen})
    identity = regression_targets.prerequisite(settings.problem, SEED)
    assert identity is not None
    larger = identity | {"starts": LOCAL_STARTS, "points_log2": POINTS_LOG2}
    arrays = regression_targets.search(larger, budget=BUDGET, seed=SEARCH_SEED)
    print(
        f"{expert}: rmse {arrays['rmse']}, found {arrays['best_found']:.0f} times of {arrays['best_searched']:.0f}, "
        f"{arrays['best_distinct']:.0f} minima, chance of a lower one {arrays['best_lower_left']:.2f}"
    )
    print(ship(identity, arrays))


def keep(study: str, preset: str) -> None:
    """Write the files of all problems of a study's preset, as the study itself searches them."""
    identities = {
        json.dumps(identity, sort_keys=True): identity
        for planned in plan.of(Request(study, preset)).cells
        for identity in regression.prerequisites(planned.cell)
    }
    for identity in identities.values():
        print(ship(identity, regression_targets.compute_pseudo_truths(identity)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", nargs="*", help="linear, relu")
    parser.add_argument("--study", help="keep what a study of the experiment regression searches")
    parser.add_argument("--preset", default="paper")
    asked = parser.parse_args()
    if not (asked.study or asked.experts) or set(asked.experts) - {"linear", "relu"}:
        parser.error("name experts, of linear and relu, or a study (--study)")
    if asked.study:
        keep(asked.study, asked.preset)
    for name in asked.experts:
        began = time.process_time()
        search(name)
        print(f"{time.process_time() - began:.0f} CPU s")
