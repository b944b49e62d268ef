"""
What a printed slope is worth
=============================

A figure has a loss that falls like n^(-0.24) after ten epochs of stochastic gradient descent from near the truth; start
and batch are not printed. Ten full-batch steps on the same data from three starts, read from the record of a study:
"""

from pathlib import Path

import moestat as ms

starts = {"printed": "a copy", "split": "split off", "wide": "split off, radius 0.1"}
ds = (
    ms.load("sigmoid_vs_softmax", out=Path(ms.__file__).parents[1] / "outputs")["L3"]
    .sel(arm=[f"softmax-relu-{start}" for start in starts])
    .assign_coords(arm=list(starts.values()))
)
table = ms.rates.table(ds, theory={"a copy": -0.24})
print(table)
table.plot("printed_slope.png")

# %%
# The slope is -0.29, -0.50 or 0.00 by choice of the start, so that one of -0.24 says little without its start, and its
# batch. The first line is bent, as one with a floor is.
#
# What to ask of a printed slope:
#
# * the losses at the start, and the slope from another start, and with another batch;
# * the gradient at the last iterate, not the number of epochs;
# * an interval over replicates, and how many sizes and replicates are behind it;
# * the Fisher line of the problem (:mod:`moestat.losses.fisher`), the error of least squares that is told the number of
#   experts: a loss below it has had information about the truth from its start.
