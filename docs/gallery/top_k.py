"""
A top-k gate
============

The softmax of the two largest of three scores. The weights jump as parameters move, and so does the loss.
"""

import numpy as np

import moestat as ms


def gate(x, p, k=2):
    score = x @ p[:, :-1].T + p[:, -1]
    k = min(k, len(p))
    weight = np.exp(score) * (score >= np.sort(score, axis=1)[:, [-k]])
    return weight / weight.sum(axis=1, keepdims=True)


model = ms.Model(gate, "linear", d=1, gate_size=2)
truth = np.array([[3.0, -1.0, 1.0, 1.0], [-3.0, -1.0, -1.0, 1.0], [0.0, 0.5, 0.0, -1.0]])
study = ms.rate_study(model, truth, fitted=3, n=[50, 100, 200, 500], replicates=4, seed=1, name="top_k")
table = ms.rates.table(study.run(report=False, quiet=True)[["voronoi", "rmse"]], theory=-0.5)
print(table)
table.plot("top_k.png")
