"""Truths, laws of x and laws of the noise as a user might write them, right and wrong ones."""

import numpy as np

COUNT = np.random.default_rng(1)


def two_atoms(model):
    theta = np.zeros((2, model.atom_size))
    theta[:, model.c], theta[:, model.eta] = [[0.5], [-0.5]], [[1.0, 0.25], [-1.0, 0.5]]
    return theta


def corner(rng, n, d):
    return rng.beta(5.0, 1.0, size=(n, d))


def forgetful(rng, n, d):
    return COUNT.uniform(size=(n, d))


def one_number(rng, n, d):
    return rng.uniform(size=n)


def signs(rng, n):
    return rng.choice([-1.0, 1.0], size=n)


def too_wide(rng, n):
    return 2.0 * rng.standard_normal(n)


def of_x(rng, x):
    return rng.standard_normal(len(x)) * np.abs(x[:, 0])
