"""Search the pseudo-truths that come with the package, and write them into its folder.

    python benchmarks/pseudo_truths.py linear relu        # about four minutes each on an idle core

The problems are those of the main study at the paper's size (truth softmax, fit sigmoid, d = 8, N* = 8, N = 9, the
study's seed). The search is the one that a run would do itself, with three times the starts, twice the local starts,
and more rounds of replacements; it prints how often the best minimum was found. What it writes is checked on loading.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from moestat import streams
from moestat.fit.global_search import Budget
from moestat.fit.population import searched_pseudo_truths
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention import regression_targets, shipped_targets
from moestat.papers.sigmoid_attention.regression_settings import Settings

SEED = 20260101
"""Of the study sigmoid_vs_softmax."""
BUDGET = replace(Budget().times(3.0), rounds=8)
LOCAL_STARTS = 8


def search(expert: str) -> None:
    """Search one problem, print what was seen, and write the file."""
    settings = Settings(n=1000, truth_gate="softmax", fitted_gate="sigmoid", expert=expert, pseudo_search="global")
    identity = regression_targets.prerequisite(settings.problem, SEED)
    assert identity is not None
    truth_model, fitted = settings.problem.truth, settings.problem.fitted
    truth = regression_targets.draw_truth(truth_model, settings.n_true, settings.regime, SEED)
    arrays = searched(identity, truth_model, truth, fitted)
    print(
        f"{expert}: rmse {arrays['rmse']}, found {arrays['best_found']:.0f} times of {arrays['best_searched']:.0f}, "
        f"{arrays['best_distinct']:.0f} minima, chance of a lower one {arrays['best_lower_left']:.2f}"
    )
    print(shipped_targets.save(identity, arrays))


def searched(identity: dict, truth_model: Model, truth: np.ndarray, fitted: Model) -> dict[str, np.ndarray]:
    """Return what ``regression_targets.compute_pseudo_truths`` does, from the larger search."""
    starts = regression_targets._search_starts(truth_model, truth, fitted, identity | {"starts": LOCAL_STARTS})
    key = streams.key(what="pseudo-truth search", d=fitted.d, n_true=len(truth), n_fitted=identity["n_fitted"])
    result = searched_pseudo_truths(
        fitted,
        lambda x: truth_model.predict(truth, x),
        starts,
        lambda purpose: streams.generator(1, key, 0, purpose),
        budget=BUDGET,
        box=identity["box"],
        points_log2=14,
        polish_log2=identity["polish_log2"],
    )
    certificate = {name: getattr(result, name)[0] for name in regression_targets.CERTIFICATE}
    certificate |= {name: getattr(result, name) for name in regression_targets.SEARCHED}
    numbers = {f"best_{name}": np.asarray(value, dtype=np.float64) for name, value in certificate.items()}
    return {"theta": result.theta, "rmse": result.rmse} | numbers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", nargs="+", choices=["linear", "relu"])
    for name in parser.parse_args().experts:
        began = time.process_time()
        search(name)
        print(f"{time.process_time() - began:.0f} CPU s")
