"""
A softmax gate at two temperatures
==================================

A low temperature makes the gate choose. Both gates get the same draws of x and noise, so that they can be compared.
"""

import numpy as np

import moestat as ms


def softmax(temperature):
    def gate(x, p):
        score = (x @ p[:, :-1].T + p[:, -1]) / temperature
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    return ms.Model(gate, "linear", d=1, gate_size=2)


truth = np.array([[1.0, 0.0, 2.0, 1.0], [-1.0, 0.0, -2.0, 1.0]])
arms = {"temperature-1": softmax(1.0), "temperature-0.2": softmax(0.2)}
study = ms.rate_study(
    arms=arms,
    truth=truth,
    fitted=2,
    n=[100, 300, 1000, 3000],
    replicates=8,
    noise=0.01,
    seed=1,
    search="local",
    name="temperature",
)
table = ms.rates.table(study.run(jobs=1, report=False, quiet=True), loss="voronoi", theory=-0.5)
print(table)
table.plot("temperature.png")

# %%
# Both intervals hold the slope -1/2: the temperature does not change the rate here.
