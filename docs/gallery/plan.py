"""
A plan of a study
=================

How many replicates does a slope need? A pilot tells, and the study goes on from it.
"""

import numpy as np

import moestat as ms


def median(n, rng):
    return abs(np.median(rng.standard_t(2, n)))


study = ms.rate_study(median, n=[100, 300, 1000, 3000, 10_000], replicates=10, seed=1, name="median")
pilot = ms.rates.table(study.run(jobs=1, report=False, quiet=True), theory=-0.5)
plan = ms.rates.plan(pilot, half_width=0.1)
print(plan)
table = ms.rates.table(study.run(replicates=int(plan["needed"].iloc[0]), jobs=1, report=False, quiet=True), theory=-0.5)
print(table)
table.plot("plan.png")

# %%
# For a half-width of 0.1 the pilot asks for 37 replicates, and with them the interval is [-0.651, -0.468], as short
# as planned.
