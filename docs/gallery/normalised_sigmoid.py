"""
A normalised sigmoid gate
=========================

The sigmoids of all scores, divided by their sum: weights of one atom depend on the parameters of all.
"""

import numpy as np

import moestat as ms


def gate(x, p):  # p (N, 2): slope and bias of the score of each atom
    weight = 1 / (1 + np.exp(-(x @ p[:, :-1].T + p[:, -1])))
    return weight / weight.sum(axis=1, keepdims=True)


def wide(rng, n, d):  # on [-1, 1] the scores are nearly straight, and slopes of the gate hardly seen
    return rng.uniform(-4, 4, (n, d))


model = ms.Model(gate, "linear", d=1, gate_size=2)
truth = np.array([[2.0, -1.0, 1.0, -1.0], [-1.5, -1.0, -1.0, 0.5]])
study = ms.rate_study(
    model,
    truth,
    fitted=2,
    n=[50, 100, 200, 500],
    replicates=6,
    noise=0.01,
    seed=1,
    x=wide,
    name="normalised_sigmoid",
)
table = ms.rates.table(study.run(jobs=1, report=False, quiet=True), loss=["voronoi", "rmse"], theory=-0.5)
print(table)
table.plot("normalised_sigmoid.png")

# %%
# The error of the function has the slope -0.591 [-0.672, -0.510] at these sizes. Of the atoms six replicates say
# little: their interval is [-1.43, 0.38].
