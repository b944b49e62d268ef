"""Whether samples at one expert pull the same way, and how its loss is curved."""

from __future__ import annotations

import numpy as np

from moestat.models.logistic import logistic_loss, logistic_slope
from moestat.papers.mixture_of_transformers.model import attend, attention_gradient, pool


def conflicts(gradients: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Return how much gradients of one group conflict.

    Parameters
    ----------
    gradients : (n, p) array
        One gradient per sample; those of length 0 are left out.
    group : (n,) int array
        The expert of every sample.

    Returns
    -------
    share : float
        Of the pairs of two samples of one group, those whose gradients have a negative inner product.
    agreement : float
        Length of a group's mean gradient over the mean length of its gradients, mean over samples: 1 if all of them
        point the same way.
    """
    length = np.linalg.norm(gradients, axis=1)
    negative = pairs = agreement = counted = 0.0
    for m in np.unique(group):
        mine = (group == m) & (length > 0)
        count = int(mine.sum())
        if not count:
            continue
        part = gradients[mine]
        unit = part / length[mine, None]
        negative += float(np.sum((unit @ unit.T)[np.triu_indices(count, 1)] < 0))
        pairs += count * (count - 1) / 2
        agreement += count * float(np.linalg.norm(part.mean(axis=0)) / length[mine].mean())
        counted += count
    return (negative / pairs if pairs else np.nan), (agreement / counted if counted else np.nan)


def curvature(features: np.ndarray, margin: np.ndarray, group: np.ndarray) -> dict[str, float]:
    """Return constants of strong convexity of losses ``mean log(1 + exp(-margin))``, linear in their weights.

    Parameters
    ----------
    features : (n, d) array
        Gradients of the margins in the weights.
    margin : (n,) array
    group : (n,) int array
        The expert of every sample; each has a loss of its own.

    Returns
    -------
    dict
        ``least``: the least eigenvalue of a group's Hessian; ``polyak``: ``|grad|^2 / (2 loss)``, which is at least the
        modulus of strong convexity where the infimum of the loss is 0. Each is the largest over the groups, the
        kindest to a statement about all of them.
    """
    least, polyak = [], []
    for m in np.unique(group):
        mine = group == m
        z, own = features[mine], margin[mine]
        slope = logistic_slope(own)
        hessian = (z * (-slope * (1.0 + slope))[:, None]).T @ z / len(own)
        least.append(float(np.linalg.eigvalsh(hessian)[0]))
        polyak.append(_polyak((slope[:, None] * z).mean(axis=0), own))
    return {"least": max(least), "polyak": max(polyak)}


def _polyak(gradient: np.ndarray, margin: np.ndarray) -> float:
    return float(np.sum(gradient**2) / (2.0 * np.mean(logistic_loss(margin))))


def of_network(features: np.ndarray, margin: np.ndarray) -> float:
    """Return ``|grad|^2 / (2 loss)`` of one network, its margins' gradients being ``features`` (n, p)."""
    return _polyak((logistic_slope(margin)[:, None] * features).mean(axis=0), margin)


def of_experts(
    x: np.ndarray, weights: np.ndarray, kq: np.ndarray, expert: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outputs of samples at their experts and their gradients, sample by sample.

    Parameters
    ----------
    x : (n, L, d) array
    weights : (M, d) array
    kq : (M, d, d) array
    expert : (n,) int array

    Returns
    -------
    f : (n,) array
    by_weights : (n, d) array
        Gradients in the weights of a sample's own expert.
    by_attention : (n, d d) array
        Gradients in its key-query matrix.
    """
    n, _, d = x.shape
    f, by_weights, by_attention = np.empty(n), np.empty((n, d)), np.empty((n, d * d))
    for m in np.unique(expert):
        mine = expert == m
        p = attend(x[mine], kq[m])
        by_weights[mine] = pool(x[mine], p)
        f[mine] = by_weights[mine] @ weights[m]
        by_output = np.broadcast_to((x[mine] @ weights[m])[:, None, :], p.shape)
        each = attention_gradient(x[mine][:, None], p[:, None], by_output[:, None])
        by_attention[mine] = each.reshape(len(each), -1)
    return f, by_weights, by_attention


def of_heads(
    x: np.ndarray, weights: np.ndarray, kq: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outputs of a multi-head transformer and their gradients, sample by sample.

    Parameters
    ----------
    x : (n, L, d) array
    weights : (m, H, d) array
    kq : (H, d, d) array
    signs : (m,) array
        Of the neurons.

    Returns
    -------
    f : (n,) array
    by_weights : (n, m H d) array
    by_attention : (n, H d d) array
    """
    n = len(x)
    attention = [attend(x, each) for each in kq]
    seen = np.stack([p @ x for p in attention], axis=2)  # (n, L, H, d)
    reach = np.einsum("nlhd,mhd->nlm", seen, weights)
    active = np.where(reach > 0, signs, 0.0)
    by_weights = np.einsum("nlm,nlhd->nmhd", active, seen).reshape(n, -1)
    by_token = np.einsum("nlm,mhd->nlhd", active, weights)
    parts = [
        attention_gradient(x[:, None], p[:, None], np.einsum("nld,nkd->nlk", by_token[:, :, h], x)[:, None])
        for h, p in enumerate(attention)
    ]
    return np.sum(reach * active, axis=(1, 2)), by_weights, np.stack(parts, axis=1).reshape(n, -1)
