"""A regression cell whose replicates have different truths: an interval over replicates is one over truths, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from moestat.papers.sigmoid_attention.regression_settings import Settings
from moestat.papers.sigmoid_attention.regression_targets import Target

LEAST = ("fisher_rank", "pseudo_found", "pseudo_searched")
"""Of these the truth with the lowest value counts for the cell; of every other count or certificate the highest."""


def join(
    settings: Settings, targets: Sequence[Target], parts: Sequence[xr.Dataset], replicates: Sequence[int]
) -> xr.Dataset:
    """Put the replicates of several truths together, in the order asked for.

    ``settings``: of the cell; ``truths`` is above 1. ``targets``: one for every truth of the cell. ``parts``: the
    replicates of every truth that any of them has, from ``regression.run``.

    As ``regression.run``, with ``truth`` (the number of each replicate's truth). What belongs to a truth, and so was no
    property of a replicate, is taken over all truths of the cell whichever replicates are asked for: the geometric mean
    of a Fisher line, the worst number of a certificate.
    """
    own = [part.drop_vars([name for name in part.data_vars if "replicate" not in part[name].dims]) for part in parts]
    dataset = xr.concat(own, dim="replicate", join="outer", combine_attrs="drop").sel(replicate=list(replicates))
    dataset["truth"] = ("replicate", np.asarray(replicates, dtype=np.int64) % settings.truths)
    lines = [target.lines(settings.n) for target in targets]
    for name in lines[0]:
        values = np.array([line[name] for line in lines])
        if name.startswith("fisher_") and name not in ("fisher_rank", "fisher_nullity"):
            dataset[name] = float(np.exp(np.mean(np.log(values))))
        else:
            dataset[name] = float(values.min() if name in LEAST else values.max())
    dataset["bound_rmse"] = parts[0]["bound_rmse"]
    if targets[0].fisher_at_one:
        dataset.attrs["fisher"] = f"Geometric mean over the truths. {targets[0].fisher_meaning}"
    dataset.attrs["target"] = (
        f"Each of {settings.truths} truths has every {settings.truths}th replicate. {targets[0].description}"
        if not targets[0].is_pseudo
        else f"Each of {settings.truths} truths has every {settings.truths}th replicate. Losses are taken to the "
        "nearest of the pseudo-truths of the replicate's own truth, its population minima within 1 % of the best."
    )
    return dataset
