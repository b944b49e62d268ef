"""Trained models that are kept: files of weights with what is needed to build the decoder again."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import torch

from moestat import cache, files
from moestat.experiment import Cell
from moestat.training.corpus import Corpus
from moestat.training.decoder import Decoder
from studies.compete_smoe.parts import compete_lm

FORMAT = "moestat-model-1"


def path_of(cell: Cell, replicate: int) -> Path:
    """Return the file of a replicate's model, in ``models`` in the cache folder (MOESTAT_CACHE)."""
    return cache.folder() / "models" / f"{cell.digest[:16]}-replicate-{replicate}.pt"


def save(cell: Cell, replicate: int, corpus: Corpus, model: Decoder) -> Path:
    """Write a model with its settings and symbols, whole or not at all; return the file."""
    path = path_of(cell, replicate)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "experiment": cell.experiment, "seed": cell.study_seed, "arm": cell.arm}
    content |= {"settings": dict(cell.settings), "replicate": replicate}
    content |= {"symbols": list(corpus.symbols), "unit": corpus.unit}
    content |= {"weights": {name: value.cpu() for name, value in model.state_dict().items()}}
    torch.save(content, whole := io.BytesIO())
    files.write(path, whole.getvalue())
    return path


def load(path: str | Path) -> tuple[Decoder, tuple[str, ...], dict[str, Any]]:
    """Return a kept model, in its evaluation mode, the symbols that it reads, and the rest of the file.

    Raises
    ------
    ValueError
        If the file is not one that :func:`save` wrote.
    OSError
        If it cannot be read.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        known = content["format"] == FORMAT
    except (RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path}: is not a model that moestat kept ({type(error).__name__})") from error
    if not known:
        raise ValueError(f"{path}: is a model of another version ({content['format']}); this one reads {FORMAT}")
    symbols, given = tuple(content.pop("symbols")), content["settings"]
    known_keys = {key: value for key, value in given.items() if key in compete_lm.Settings.model_fields}
    settings = compete_lm.Settings.model_construct(**known_keys)  # a file of the user's need not be there any more
    cell = Cell(content["experiment"], content["seed"], content["arm"], {}, given)
    model = compete_lm.model_of(cell, settings, content["replicate"], len(symbols))
    model.load_state_dict(content.pop("weights"))
    return model.eval(), symbols, content
