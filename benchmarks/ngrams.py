"""What tables of n-grams reach on the characters that the small language models of compete-smoe are trained on.

    python benchmarks/ngrams.py                      # the presets quick; half a minute
    python benchmarks/ngrams.py compete_significance --preset long

For each replicate of a study the windows of its training are drawn again, tables of n = 1 to 4 characters are counted
in them (each character from those before it in its window, as the models see it), and the models' test part is
predicted in the models' windows. Interpolated Witten-Bell smoothing: P(c | h) = (N(hc) + T(h) P(c | h')) / (N(h) +
T(h)), where T(h) is the number of different characters after h, h' is h without its first character, and below the
empty one every character has the same probability. The table has means over replicates, in bits per character, beside
the lowest and the highest mean of the models in the study's results. A model that is no better than n = 2 does not show
that it has learnt more than which character follows which.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np

import moestat
from moestat import streams
from moestat.study import load
from moestat.training.corpus import load as load_text
from studies.compete_smoe.parts.compete_lm import Settings
from studies.compete_smoe.parts.decoders import SIZES

STUDIES = (
    "compete_lm",
    "compete_scale",
    "compete_topk",
    "compete_schedule",
    "compete_balance",
    "compete_significance",
    "compete_distillation",
    "compete_finetune",
    "compete_published",
    "router_entropy",
)
LONGEST = 4


def windows(text: np.ndarray, settings: Settings, seed: int, replicate: int) -> np.ndarray:
    """Return all windows of a training, (steps x batch, length + 1)."""
    key = streams.key(file_sha256=settings.file_sha256, length=settings.length)
    batches = streams.generator(seed, key, replicate, "batches")
    ends = text.size - settings.length
    starts = np.concatenate([batches.integers(0, ends, settings.batch) for _ in range(settings.steps)])
    return text[starts[:, None] + np.arange(settings.length + 1)].astype(np.int64)


def contexts(rows: np.ndarray, context: int, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the last ``context`` characters before each character, as one number, and where so many are there."""
    before = np.zeros_like(rows)
    for back in range(context, 0, -1):
        before[:, back:] = before[:, back:] * symbols + rows[:, :-back]
    known = np.zeros(rows.shape, bool)
    known[:, max(context, 1) :] = True
    return before, known


def losses(train: np.ndarray, test: np.ndarray, symbols: int) -> list[float]:
    """Return the bits per character of n = 1 .. LONGEST on windows of a test part."""
    p = np.full(test.shape, 1 / symbols)
    result = []
    for context in range(LONGEST):
        before, known = contexts(train, context, symbols)
        size = symbols**context
        pairs, count = np.unique((before * symbols + train)[known], return_counts=True)
        seen, total = np.zeros(size), np.zeros(size)
        np.add.at(seen, pairs // symbols, 1)
        np.add.at(total, pairs // symbols, count)
        h, there = contexts(test, context, symbols)
        asked = h * symbols + test
        place = np.minimum(np.searchsorted(pairs, asked), pairs.size - 1)
        hits = np.where(pairs[place] == asked, count[place], 0)
        mixed = (hits + seen[h] * p) / np.maximum(total[h] + seen[h], 1)
        p = np.where(there & (total[h] > 0), mixed, p)
        result.append(float(-np.log2(p[:, 1:]).mean()))
    return result


def main(names: Sequence[str], preset: str, out: str) -> None:
    """Print the table."""
    text = load_text()
    print("| study | characters | " + " | ".join(f"n = {n}" for n in range(1, LONGEST + 1)) + " | models |")
    print("|---|---|" + "---|" * LONGEST + "---|")
    for name in names:
        study = load.read(name).study
        chosen = study.presets[preset]
        given = {**study.settings, **chosen.settings}
        settings = Settings.model_validate({key: given[key] for key in given if key in Settings.model_fields})
        length = settings.length or SIZES[settings.size].length
        settings = settings.model_copy(update={"length": length})
        used = min(settings.test or text.test.size, text.test.size - 1) // settings.length * settings.length
        first = text.test[:used].reshape(-1, settings.length)
        test = np.column_stack([first, text.test[settings.length : used + 1 : settings.length]]).astype(np.int64)
        rows = [
            losses(windows(text.train, settings, study.seed, replicate), test, text.vocabulary)
            for replicate in range(chosen.replicates)
        ]
        bpc = moestat.load(name, preset, out=out)["bpc"]
        means = bpc.mean("replicate").values
        means = means[np.isfinite(means)]
        line = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        seen = settings.steps * settings.batch * settings.length
        print(f"| `{name}` | {seen} | {line} | {means.min():.3f} to {means.max():.3f} |", flush=True)
    print(f"\nA guess among {text.vocabulary} characters: {math.log2(text.vocabulary):.3f} bits.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", nargs="*", default=STUDIES)
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--out", default="outputs")
    asked = parser.parse_args()
    main(asked.studies, asked.preset, asked.out)
