"""
Polynomial experts
==================

Gates and experts that have a name are faster: here powers of a linear form, under a softmax gate.
"""

import numpy as np

import moestat as ms
from moestat import fit
from moestat.models import sample

truth = np.array([[2.0, 0.5, 1.0, 0.5], [-1.0, 0.0, -1.5, 1.0]])  # a row for each atom: the gate's, then the expert's
points = np.linspace(-1, 1, 1001)[:, None]


def errors(power):
    model = ms.Model("softmax", "polynomial", d=1, power=power)

    def loss(n, rng):  # fits start at the truth: what the nearest minimum has, without a search
        x, y = sample(model, truth, n, 0.01, rng)
        found = fit.least_squares(model, x, y, truth)
        off = model.predict(found.theta[0], points) - model.predict(truth, points)
        return {"rmse": np.sqrt(np.mean(off**2))}

    return loss


arms = {f"power-{power}": errors(power) for power in (1, 2)}
study = ms.rate_study(arms=arms, n=[100, 200, 500, 1000], replicates=8, seed=1, name="polynomial_experts")
table = ms.rates.table(study.run(jobs=1, report=False, quiet=True), theory=-0.5)
print(table)
table.plot("polynomial_experts.png")

# %%
# Both intervals hold the slope -1/2; the star marks the first line as bent, so that it needs more sizes to be trusted.
# The Voronoi loss of the atoms, which is not drawn, hardly falls at these sizes (slope -0.09 for either power).
