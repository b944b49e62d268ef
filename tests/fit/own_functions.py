"""A gate and an expert as a user writes them; named by import path."""

import numpy as np


def half_tanh(s, order):
    t = np.tanh(0.5 * s)
    return (0.5 + 0.5 * t, 0.25 * (1 - t**2), -0.25 * t * (1 - t**2))[: order + 1]


def arctan_gate(s, order):
    q = 1 + s * s
    return (0.5 + np.arctan(s) / np.pi, 1 / (np.pi * q), -2 * s / (np.pi * q * q))[: order + 1]


def swish(h, order):
    s = 1 / (1 + np.exp(-h))
    return (h * s, s + h * s * (1 - s), s * (1 - s) * (2 + h * (1 - 2 * s)))[: order + 1]


def tanh(h, order):
    t = np.tanh(h)
    return (t, 1 - t**2, -2 * t * (1 - t**2))[: order + 1]


def wrong_second(h, order):
    return (np.sin(h), np.cos(h), np.sin(h))[: order + 1]


def a_number(h, order):
    return h


def bump(s, order):
    g = np.exp(-0.5 * s * s)
    return (g, -s * g, (s * s - 1) * g)[: order + 1]
