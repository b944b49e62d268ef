"""What every experiment of the papers promises: its dataset, its replicates, and sentences for wrong settings."""

import importlib

import numpy as np
import pytest
import stored_numbers
from pydantic import ValidationError
from test_studies import WRITTEN, hurry, skip_without_libraries

from moestat.experiment import Cell
from moestat.status import Status

OF_PAPERS = {name: path for name, path in stored_numbers.modules().items() if ".parts." in path}


@pytest.mark.parametrize("name", OF_PAPERS)
def test_a_replicate_does_not_depend_on_its_block(name, tmp_path, monkeypatch):
    """Nor on the order: the same bits, whatever is asked for beside it, but for measurements of the machine."""
    skip_without_libraries(WRITTEN[name])
    hurry(monkeypatch)
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))
    module = importlib.import_module(OF_PAPERS[name])
    place = stored_numbers.tiny(name)[0]
    settings = module.Settings(**place["settings"]).model_dump(mode="json")
    cell = Cell(module.__name__, place["seed"], place["arm"], place["coords"], settings)
    together, alone = (module.run(cell, replicates, device="cpu") for replicates in ([3, 1], [1]))
    assert together["replicate"].values.tolist() == [3, 1]
    assert {"status", "message", "iterations"} <= set(together)
    assert set(np.unique(together["status"])) <= set(map(int, Status))
    timed = [key for key in together if together[key].attrs.get("measurement")]
    assert alone.drop_vars(timed).identical(together.sel(replicate=[1]).drop_vars(timed))


WRONG = [
    ("compete_smoe.compete_lm", {"top_k": 5, "experts": 4}, "at most experts"),
    ("compete_smoe.compete_lm", {"width": 20}, "multiple of 8"),
    ("compete_smoe.compete_lm", {"form": "falling", "probability": 0.8}, "form 'falling' it must be at most 0.5"),
    ("compete_smoe.compete_lm", {"router": "best"}, "'compete_smoe' or an import path 'module:name'"),
    ("compete_smoe.compete_lm", {"own_code": "x"}, "own_code is set by itself"),
    ("compete_smoe.competition_bound", {"design": "drawn", "active": 5}, "there are only 4 experts"),
    ("compete_smoe.competition_mle", {"near_starts": 0, "random_starts": 0}, "at least one start"),
    ("compete_smoe.competition_mle", {"evaluation_points": 8192, "pool_log2": 12}, r"at most 2\*\*pool_log2"),
    ("compete_smoe.competition_mle", {"design": "tied"}, "tied"),
    ("demystifying_softmax.softmax_gaussian", {"start_policy": "random", "start_radius": 0.2}, "start_policy = 'near'"),
    ("expert_count.expert_count", {"experts": 5, "expert_slots": 4}, "expert_slots = 4 must be at least that"),
    ("expert_count.expert_count", {"dimension": 7}, "4 clusters need at least 8"),
    ("expert_count.expert_count", {"records": 9, "steps": 6}, "6 steps allow at most 7"),
    ("expert_count.expert_coverage", {"clusters": 16, "dimension": 20}, "16 clusters need at least 32"),
    ("mixture_of_transformers.mot", {"dimension": 7}, "dimension is 7; 4 classes need at least 8"),
    ("mixture_of_transformers.mot", {"start": "ideal", "model": "multi-head"}, "needs experts of their own"),
    ("mixture_of_transformers.mot", {"start": "specialised", "specialise_steps": 5}, "specialise_steps must be 0"),
    ("mixture_of_transformers.mot", {"tuning_steps": 50}, "tuning_steps is 50; allowed are 0 and at least 100"),
    ("mixture_of_transformers.mot_landscape", {"start": "ideal", "experts": 2}, "as many experts as classes"),
    ("mixture_of_transformers.mot_images", {"heads": 5}, "heads is 5; it must divide width, which is 48"),
    ("mixture_of_transformers.mot_images", {"stage_two": 20}, "are 50, 20 and 600; they must grow"),
    ("mixture_of_transformers.mot_images", {"data": "nowhere.npz"}, "nowhere.npz: there is no such file or folder"),
    ("mixture_of_transformers.mot_images", {"foreign": 0.7, "corrupted": 0.4}, "together they must be at most 1"),
    ("sigmoid_attention.attention_gpu", {"windows": ()}, "at least 1 item"),
    ("sigmoid_attention.attention_is_moe", {"gate": "softmax", "language_model": True}, "does not see a common shift"),
    ("sigmoid_attention.attention_lm", {"heads": 7}, "must divide width"),
    ("sigmoid_attention.identifiability", {"expert": "relu", "power": 2}, "goes with expert 'polynomial'"),
    ("sigmoid_attention.minimax_lower_bound", {"sequence": "corrected", "expert": "gelu"}, "needs a homogeneous"),
    ("sigmoid_attention.non_identifiability", {"family": "opposite b", "score": "partial"}, "fully quadratic"),
    ("sigmoid_attention.printed_table", {"softmax": 50.0, "sigmoid": 51.0, "softmax_error": 1.0}, "either questions"),
    ("sigmoid_attention.regression", {"n_true": 3, "n_fitted": 2}, "below n_true"),
    ("sigmoid_attention.regression", {"regime": "sparse", "n_true": 2}, "n_true >= 3"),
    ("sigmoid_attention.regression", {"starts": 0}, "start"),
    ("task_routing.task_construction", {"size": "10x5"}, "tasks x templates x pairs"),
    ("task_routing.task_construction", {"theorem": "dense", "router": "tables"}, "other router with theorem 'moe'"),
    ("task_routing.task_construction", {"router": "tables", "precision": "float32"}, "goes with precision 'float64'"),
    ("task_routing.task_construction", {"theorem": "moe", "router": "none"}, "with theorem 'dense'"),
    ("task_routing.task_training", {"heads": 7}, "must divide width"),
]
NEEDED = {"n": 100, "design": "mean"}


@pytest.mark.parametrize(("module", "settings", "says"), WRONG)
def test_settings_that_cannot_be_are_refused_in_a_sentence(module, settings, says):
    known = importlib.import_module(f"studies.{module.replace('.', '.parts.')}").Settings
    needed = {key: value for key, value in NEEDED.items() if key in known.model_fields}
    with pytest.raises(ValidationError, match=says):
        known(**needed | settings)
