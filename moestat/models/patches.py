"""Clustered patches: a label signal, a cluster centre, a feature noise and Gaussian noise, in random order.

The data of Definition 1 of "On the Impact of Expert Count in Mixture of Experts" (after Chen et al. 2022): an example
of cluster k has P patches in R^d. One is ``y alpha v_k`` (the label signal), one ``beta c_k`` (the cluster's centre),
one ``eps gamma v_k'`` with k' != k (a signal of another cluster, with a sign of its own), and P - 3 are
N(0, sigma_p^2 / d I). All v and c are orthonormal, the order of the patches is uniform.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.doors import RNGLike, as_generator

Range = tuple[float, float]  #: Bounds of a uniform amplitude; equal bounds make it a constant.


@dataclass(frozen=True)
class Law:
    """Laws of the amplitudes (bounds of uniforms) and of the noise; the defaults are the paper's."""

    signal: Range = (0.5, 2.0)  #: Of alpha.
    centre: Range = (1.0, 2.0)  #: Of beta.
    feature_noise: Range = (0.5, 3.0)  #: Of gamma.
    noise_scale: float = 1.0  #: sigma_p: a noise patch has the expected squared norm sigma_p^2.


@dataclass(frozen=True)
class Dictionary:
    """The directions of the data: ``labels`` v_k and ``centres`` c_k, each of shape (K, d), all orthonormal."""

    labels: np.ndarray
    centres: np.ndarray


@dataclass(frozen=True)
class Examples:
    """Labelled examples, drawn by :func:`draw`."""

    x: np.ndarray  #: (n, P, d), the patches.
    y: np.ndarray  #: (n,), labels, -1.0 or 1.0.
    cluster: np.ndarray  #: (n,) int, cluster k of the example.
    other: np.ndarray  #: (n,) int, the cluster k' whose signal it holds as feature noise.
    position: np.ndarray  #: (n, 3) int, which patch holds the label signal, the centre and the feature noise.


def dictionary(rng: RNGLike, clusters: int, dimension: int) -> Dictionary:
    """Draw 2K orthonormal directions in R^d, uniformly."""
    if dimension < 2 * clusters:
        raise ValueError(f"dimension is {dimension}; {clusters} clusters need at least {2 * clusters}")
    q, r = np.linalg.qr(as_generator(rng).standard_normal((dimension, 2 * clusters)))
    q = q * np.sign(np.diagonal(r))  # makes the law of q exactly uniform
    return Dictionary(labels=q.T[:clusters].copy(), centres=q.T[clusters:].copy())


def draw(
    scalars: RNGLike,
    vectors: RNGLike,
    directions: Dictionary,
    n: int,
    patches: int,
    law: Law = Law(),
) -> Examples:
    """Draw ``n`` examples of P = ``patches`` >= 3 patches, from K >= 2 clusters.

    ``scalars`` and ``vectors`` are the generators of the scalar choices and of the noise patches. They are two, so that
    the rows of both are drawn in order: with the same ones a smaller ``n`` gives the first rows of a larger one.
    """
    clusters, d = directions.labels.shape
    if clusters < 2:
        raise ValueError(f"clusters is {clusters}; the feature noise of another cluster needs at least 2")
    if patches < 3:
        raise ValueError(f"patches is {patches}; an example has three patches with structure, so at least 3 are needed")
    scalars, vectors = as_generator(scalars, "scalars"), as_generator(vectors, "vectors")
    u = scalars.random((n, 7 + patches))
    noise = vectors.standard_normal((n, patches - 3, d)) * (law.noise_scale / np.sqrt(d))

    cluster = np.minimum((u[:, 0] * clusters).astype(np.int64), clusters - 1)
    other = np.minimum((u[:, 1] * (clusters - 1)).astype(np.int64), clusters - 2)
    other = other + (other >= cluster)
    y = np.where(u[:, 2] < 0.5, -1.0, 1.0)
    epsilon = np.where(u[:, 3] < 0.5, -1.0, 1.0)
    alpha, beta, gamma = (
        low + (high - low) * u[:, 4 + i] for i, (low, high) in enumerate((law.signal, law.centre, law.feature_noise))
    )
    ordered = np.concatenate(
        [
            ((y * alpha)[:, None] * directions.labels[cluster])[:, None],
            (beta[:, None] * directions.centres[cluster])[:, None],
            ((epsilon * gamma)[:, None] * directions.labels[other])[:, None],
            noise,
        ],
        axis=1,
    )
    rank = np.argsort(u[:, 7:], axis=1)  # patch p of the example is patch rank[p] of `ordered`
    x = np.take_along_axis(ordered, rank[:, :, None], axis=1)
    position = np.argsort(rank, axis=1)[:, :3]
    return Examples(x=x, y=y, cluster=cluster, other=other, position=position)
