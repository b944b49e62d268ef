"""What the coordinates of an atom are called, in the order in which it is stored."""

from __future__ import annotations

from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian


def names(model: Model | SoftmaxGaussian | FunctionModel) -> list[str]:
    """Return the names of an atom's coordinates: c, b1, ..., then A11, ... (the upper triangle), and the expert's.

    Those of a model made of functions are numbered in each of its blocks, as ``gate1``.

    The entries of A off the diagonal are stored times sqrt(2), see :mod:`moestat.models.gates`.

    >>> names(Model("sigmoid", "full", "relu", 2))
    ['c', 'b1', 'b2', 'A11', 'A22', 'A12', 'a1', 'a2', 'beta']
    >>> names(SoftmaxGaussian(1))
    ['c', 'b1', 'a1', 'beta', 'v']
    """
    if isinstance(model, FunctionModel):
        found = [f"p{k}" for k in range(1, model.atom_size + 1)]
        for block, places in model.blocks.items():
            for number, k in enumerate(places.tolist(), 1):
                found[k] = f"{block}{number}" if len(places) > 1 else block
        return found
    axes = range(1, model.d + 1)
    expert = [*(f"a{i}" for i in axes), "beta"]
    if isinstance(model, SoftmaxGaussian):
        return ["c", *(f"b{i}" for i in axes), *expert, "v"]
    score = ["c"]
    if model.score != "partial":
        score += [f"b{i}" for i in axes]
    if model.score != "linear":
        score += [f"A{i}{i}" for i in axes]
        score += [f"A{i}{j}" if model.d < 10 else f"A{i},{j}" for i in axes for j in axes if i < j]
    return [*score, *expert]
