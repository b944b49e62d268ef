"""The published protocol, started beside the measure that its loss is taken to (sigmoid-attention, App. E.1, Fig. 1).

The paper starts its fits "near their ground-truth values". A gate that is not that of the data cannot be the truth,
and its loss is taken to the nearest minimiser of the population. ``regression`` reads "ground truth" as the numbers of
the truth, whatever gate they are given; here it is the target of the loss, which for the gate of the data is the same.
Data, directions of the starts and orders of the samples are those of ``regression``: cells of the two are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import xarray as xr

from moestat.arrays import Device
from moestat.experiment import Cell
from studies.sigmoid_attention.parts import regression, regression_settings

VERSION = 1

DEVICES = regression.DEVICES
prepare, prerequisites = regression.prepare, regression.prerequisites


class Settings(regression_settings.Settings):
    """Those of ``regression`` that belong to the protocol; the ones of least squares do nothing."""

    estimator: Literal["sgd"] = "sgd"
    """SGD as in the paper."""
    start_at: Literal["target"] = "target"
    """Near the measure that the loss is taken to."""


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Run the protocol in the replicates of one cell, and score where it starts and where it ends.

    Losses (``L3`` ... ``rmse``), the same at the start (``start_L3`` ...), what is known of an end point of SGD, and
    the fitted parameters ``theta``; see ``regression.run``.
    """
    return regression.fitted(cell, Settings(**cell.settings), replicates, device=device).drop_vars("truth_loss")
