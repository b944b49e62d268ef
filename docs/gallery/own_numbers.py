"""
Errors from a CSV file
======================

A row for each run, with its size and its error; a column of words tells methods apart.
"""

import numpy as np
import pandas as pd

import moestat as ms

# yours is there already
rng, rows = np.random.default_rng(1), []
for n in [100, 300, 1000, 3000, 10_000]:
    for _ in range(40):
        sample = rng.standard_t(3, n)
        rows += [{"n": n, "method": method.__name__, "error": abs(method(sample))} for method in (np.mean, np.median)]
pd.DataFrame(rows).to_csv("errors.csv", index=False)

table = ms.rates.table("errors.csv", theory=-0.5)
print(table)
print(table.judge("median", at_most=-0.4))
table.plot("own_numbers.png")

# %%
# Both intervals hold the slope -1/2, and that of the median lies below -0.4 as a whole: the claim is *supported*.
