"""
A cosine gate
=============

The gate compares the direction of x with a direction of each atom, whose length changes nothing. In the plane two atoms
have two pairs of directions, (a, b) and (-b, -a), with the same difference and so the same weights; ``standard`` takes
one. In three dimensions whole circles of pairs do (``flat_directions`` is 1), and losses of atoms have no rate.
"""

import numpy as np

import moestat as ms


def gate(x, p):  # p (N, 3): a direction and a bias of each atom
    cosine = x @ p[:, :2].T / np.linalg.norm(x, axis=1, keepdims=True) / np.linalg.norm(p[:, :2], axis=1)
    weight = np.exp(4 * cosine + p[:, 2])
    return weight / weight.sum(axis=1, keepdims=True)


def standard(atoms):  # what losses compare: directions of length one, of two atoms (a, b) and not (-b, -a)
    unit = atoms[:, :2] / np.linalg.norm(atoms[:, :2], axis=1, keepdims=True)
    unit = -unit[::-1] if len(unit) == 2 and unit.sum() < 0 else unit
    return np.hstack([unit, atoms[:, 2:]])


model = ms.Model(gate, "linear", d=2, gate_size=3, invariances=[standard])
truth = np.array([[1, 0, 0, 2, 0, 0], [0, 1, 0.5, -1, 1, 0.5]])  # a row for each atom: the gate's, then the expert's
study = ms.rate_study(
    model, truth, fitted=2, n=[100, 300, 1000, 3000], replicates=8, noise=0.01, seed=1, search="local", name="cosine"
)
table = ms.rates.table(study.run(jobs=1, report=False, quiet=True), loss=["voronoi", "rmse"], theory=-0.5)
print(table)
table.plot("cosine_gate.png")

# %%
# Both intervals hold the theory's slope -1/2: for the atoms (directions, biases, experts) and for the function.
