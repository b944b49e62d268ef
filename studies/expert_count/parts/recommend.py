"""How many experts? The range of M that cannot be told from the best one, for a problem and a budget.

    >>> from studies.expert_count.parts.recommend import expert_count_range
    >>> print(expert_count_range(clusters=4, dimension=50, samples=2000, steps=300, replicates=5))  # doctest: +SKIP

A top-1 mixture is trained by :mod:`studies.expert_count.parts.expert_count` for each candidate, on the same data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import joblib
import numpy as np

from moestat.experiment import Cell
from studies.expert_count.parts import expert_count
from studies.expert_count.parts.expert_range import Recommendation, recommend

__all__ = ["Recommendation", "expert_count_range", "recommend"]


def expert_count_range(
    *,
    clusters: int = 4,
    dimension: int = 50,
    samples: int = 8000,
    steps: int = 400,
    candidates: Sequence[int] = (4, 8, 16, 32, 64),
    replicates: int = 10,
    expert: Literal["mlp", "cnn"] = "mlp",
    patches: int = 4,
    stop: Literal["last", "best"] = "last",
    seed: int = 0,
    jobs: int = 1,
    device: str = "auto",
    settings: Mapping[str, Any] | None = None,
) -> Recommendation:
    """Simulate the mixture for every candidate M and return the range within one standard error of the best.

    Parameters
    ----------
    clusters, dimension, patches : int
        K, d and P of the problem.
    samples, steps : int
        The budget: training samples n and full-batch steps T.
    candidates : sequence of int
        Numbers of experts M that are compared.
    replicates : int
        Independent data sets and starts; each is shared by all candidates.
    expert : {"mlp", "cnn"}
        Experts with weights of their own for each patch, or shared ones.
    stop : {"last", "best"}
        Compare the test accuracy after the last step, or the best one on the way (early stopping with an oracle).
    seed, jobs, device
        Seed of the simulation, processes (the numbers do not depend on them), and "auto", "cpu" or "cuda".
    settings : mapping, optional
        Further settings of :class:`studies.expert_count.parts.expert_count.Settings`.

    Returns
    -------
    Recommendation
        ``print`` it for the table, ``.figure()`` draws it.

    Notes
    -----
    A range answers for the simulated problem and budget alone: with more steps the larger candidates catch up.
    """
    if stop not in ("last", "best"):
        raise ValueError(f"stop is {stop!r}; allowed are 'last' and 'best'")
    counts = sorted(set(candidates))
    if not counts:
        raise ValueError("candidates is empty; give at least one number of experts")
    shared = {
        "clusters": clusters,
        "dimension": dimension,
        "n": samples,
        "steps": steps,
        "records": min(21, steps + 1),
        "expert": expert,
        "patches": patches,
        "expert_slots": counts[-1],
    } | dict(settings or {})
    cells = [_cell(shared | {"experts": m}, seed) for m in counts]
    work = [(cell, r) for cell in reversed(cells) for r in range(replicates)]  # the longest first
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        done = joblib.Parallel(n_jobs=jobs)(
            joblib.delayed(expert_count.run)(cell, [r], device=device) for cell, r in work
        )
    score = np.asarray([float(ds[f"{stop}_accuracy"].item()) for ds in done]).reshape(len(cells), replicates)[::-1]
    name = "test accuracy" if stop == "last" else "best test accuracy on the way"
    return recommend(counts, score, clusters=clusters, name=name)


def _cell(settings: Mapping[str, Any], seed: int) -> Cell:
    resolved = expert_count.Settings(**settings).model_dump(mode="json")
    return Cell(expert_count.__name__, seed, "recommendation", {"experts": resolved["experts"]}, resolved)
