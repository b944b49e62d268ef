"""The figure on the paper's page, from the records: ``python -m studies.expert_count.parts.map_figure``.

Every row of readings is judged with those that ran with it, by the rule of its claims.
"""

from __future__ import annotations

from pathlib import Path

from moestat.report import style
from moestat.runner import records, results
from studies.expert_count.parts.readings import States, chosen, drawn, judged

T = [1000, 2000, 5000, 10_000, 20_000]
FILE = Path("docs/images/expert_count_map.png")
STARTS: dict[str, tuple[float, ...]] = {f"250, {start:g}": (250.0, start) for start in (0.01, 0.1, 0.3)}
RUNS: list[tuple[str, str, list[str], int, list[int], dict[str, tuple[float, ...]]]] = [
    ("expert_count_map", "paper", ["mlp", "cnn"], 0, [], STARTS),
    ("expert_count_samples", "paper", ["mlp", "cnn"], 0, T, {"500, 0.01": (500.0,), "1000, 0.01": (1000.0,)}),
    ("expert_count_printed", "paper", ["mlp", "cnn"], 0, T, {"2000, 0.01": ()}),
    ("expert_count_start", "peak", ["mlp"], 10, T, {"500, 0.1": (0.1,)}),
    ("expert_count_start", "smaller", ["cnn"], 0, T, {"500, 0.1": (0.1,)}),
    ("expert_count_start", "paper", ["mlp", "cnn"], 0, T, {"500, 0.3": (0.3,)}),
]
"""Study, preset, kinds of experts, first replicates left out, the T that count, and rows: label and place."""


def rows() -> list[tuple[str, States, tuple[float, ...]]]:
    """Return the rows of readings of the runs whose records are there."""
    made: dict[str, tuple[str, States, tuple[float, ...]]] = {}
    for study, preset, kinds, after, steps, labels in RUNS:
        folder = records.path(Path("outputs"), study, preset)
        if not records.is_record(folder):
            continue
        ds = results.read(results.of(folder))
        states = judged(chosen(ds, steps, after), kinds=kinds)
        for label, place in labels.items():
            before = made[label][1] if label in made else {}
            made[label] = (label, {**before, **states}, place)
    return list(made.values())


if __name__ == "__main__":
    with style.look():
        drawn(rows()).savefig(FILE, dpi=200)
