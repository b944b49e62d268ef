"""
A hierarchical gate
===================

A tree: each node sends a share of its samples to its expert, and the rest on to the next node.
"""

import numpy as np

import moestat as ms


def gate(x, p):  # p (N, 2): slope and bias of each node's score; the last node keeps what is left
    share = 1 / (1 + np.exp(-(x @ p[:, :-1].T + p[:, -1])))
    share[:, -1] = 1.0
    left = np.cumprod(1 - share[:, :-1], axis=1)
    return share * np.hstack([np.ones((len(x), 1)), left])


model = ms.Model(gate, "linear", d=1, gate_size=2)
truth = np.array([[4.0, -2.0, 2.0, 1.0], [-4.0, -2.0, 2.0, 0.0], [0.0, 0.0, -1.0, 0.0]])
study = ms.rate_study(
    model, truth, fitted=3, n=[50, 100, 200, 500], replicates=8, noise=0.03, seed=1, search="local", name="hierarchical"
)
table = ms.rates.table(study.run(report=False, quiet=True), loss="rmse", theory=-0.5)
print(table)
table.plot("hierarchical_gate.png")
