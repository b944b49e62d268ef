"""
A neural expert through PyTorch
===============================

An expert may be any differentiable function: here a unit tanh(ax + b), times c, that PyTorch evaluates and
differentiates.
"""

import numpy as np
import torch

import moestat as ms


def net(x, p):  # one sample x (d,), the parameters p (3,) of one atom
    return p[2] * torch.tanh(p[:1] @ x + p[1])


def on_arrays(function):
    every = torch.vmap(torch.vmap(function, in_dims=(None, 0)), in_dims=(0, None))
    return lambda x, p: every(torch.tensor(x), torch.tensor(p)).numpy()


expert, derivative = on_arrays(net), on_arrays(torch.func.jacrev(net, argnums=1))
model = ms.Model("softmax", expert, d=1, expert_size=3, expert_derivative=derivative)
truth = np.array([[2.0, 0.0, 2.0, 1.0, 1.0], [-2.0, 0.0, -3.0, 1.0, 2.0]])
study = ms.rate_study(model, truth, fitted=2, n=[100, 200, 500, 1000], replicates=10, seed=1, search="local", name="neural")
table = ms.rates.table(study.run(report=False, quiet=True), loss="rmse", theory=-0.5)
print(table)
table.plot("neural_expert.png")
