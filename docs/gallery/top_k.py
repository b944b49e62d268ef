"""
A top-k gate
============

The softmax of the two largest of three scores. The weights jump as parameters move, and so does the loss.
"""

import numpy as np

import moestat as ms
from moestat import fit
from moestat.losses.general import voronoi
from moestat.models import sample


def gate(x, p, k=2):
    score = x @ p[:, :-1].T + p[:, -1]
    k = min(k, len(p))
    weight = np.exp(score) * (score >= np.sort(score, axis=1)[:, [-k]])
    return weight / weight.sum(axis=1, keepdims=True)


model = ms.Model(gate, "linear", d=1, gate_size=2)
truth = np.array([[3.0, -1.0, 1.0, 1.0], [-3.0, -1.0, -1.0, 1.0], [0.0, 0.5, 0.0, -1.0]])


def errors(n, rng):  # fits start at the truth: what the nearest minimum has, without a search
    x, y = sample(model, truth, n, 0.01, rng)
    found = fit.least_squares(model, x, y, truth)
    return {"voronoi": voronoi(found.theta[0], truth, model)}


study = ms.rate_study(errors, n=[100, 200, 500, 1000], replicates=10, seed=1, name="top_k")
table = ms.rates.table(study.run(jobs=1, report=False, quiet=True), theory=-0.5)
print(table)
table.plot("top_k.png")

# %%
# Every fit ends at a stationary point of the piece that it is on, and the interval holds the slope -1/2.
