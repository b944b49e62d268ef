"""
A neural expert through PyTorch
===============================

An expert may be any differentiable function: here a unit tanh(ax + b), times c, that PyTorch evaluates and
differentiates.
"""

import numpy as np
import torch

import moestat as ms


def net(x, p):  # x (n, 1), p (N, 3): a row for each atom
    return p[:, 2] * torch.tanh(x @ p[:, :1].T + p[:, 1])


def expert(x, p):
    return net(torch.tensor(x), torch.tensor(p)).numpy()


def derivative(x, p):  # (n, N, 3), of all atoms at once in each of their parameters
    x, p = torch.tensor(x), torch.tensor(p)
    directions = [unit.expand_as(p) for unit in torch.eye(3, dtype=p.dtype)]
    return torch.stack([torch.func.jvp(lambda q: net(x, q), (p,), (to,))[1] for to in directions], dim=-1).numpy()


model = ms.Model("softmax", expert, d=1, expert_size=3, expert_derivative=derivative)
truth = np.array([[2.0, 0.0, 2.0, 1.0, 1.0], [-2.0, 0.0, -3.0, 1.0, 2.0]])
study = ms.rate_study(
    model, truth, fitted=2, n=[50, 100, 200, 500], replicates=8, noise=0.03, seed=1, search="local", name="neural"
)
table = ms.rates.table(study.run(report=False, quiet=True), loss="rmse", theory=-0.5)
print(table)
table.plot("neural_expert.png")
