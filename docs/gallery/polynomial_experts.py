"""
Polynomial experts
==================

Gates and experts that have a name are faster: here powers of a linear form, under a softmax gate.
"""

import numpy as np

import moestat as ms

truth = np.array([[2.0, 0.5, 1.0, 0.5], [-1.0, 0.0, -1.5, 1.0]])  # a row for each atom: the gate's, then the expert's
arms = {f"power-{power}": ms.Model("softmax", "polynomial", d=1, power=power) for power in (1, 2)}
study = ms.rate_study(
    arms=arms,
    truth=truth,
    fitted=2,
    n=[50, 100, 200, 500],
    replicates=8,
    noise=0.03,
    seed=1,
    search="local",
    name="polynomial",
)
table = ms.rates.table(study.run(report=False, quiet=True), loss="voronoi", theory=-0.5)
print(table)
table.plot("polynomial_experts.png")
