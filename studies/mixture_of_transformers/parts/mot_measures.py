"""What is measured of a mixture of transformers, or of a rival, at one step of its training.

Definition 2 of the paper: the class of expert i is ``n_i* = argmax_n <W_i, v_n>``, and the experts of class n are
``M_n = {i : n_i* = n}``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat import arrays
from moestat.arrays import Array, namespace
from moestat.losses import routing
from moestat.models.logistic import logistic_loss
from studies.mixture_of_transformers.parts.model import Mixture, MultiHead, attend, of_own

OVER_EPOCHS = {
    "train_loss": "mean logistic loss of the experts on the training sample",
    "test_loss": "mean logistic loss of the experts on the test sample",
    "test_error": "error on the test sample",
    "gap": "largest minus next largest <W, v_n>, mean over experts",
    "covered": "classes with an expert (Definition 2)",
    "all_covered": "whether every class has an expert",
    "matched": "share of test samples at an expert of their class (Definition 2)",
    "purity": "share of test samples of the commonest class at their expert",
    "sign_purity": "share of test samples of the commonest label at their expert",
    "unequal": "distance of the noisy routing of a class from 1/|M_n| on its experts",
    "own_signal": "<W, v_n> for the sample's class at its expert, mean over samples",
    "other_signal": "largest <W, v> for another class at the sample's expert, mean over samples",
    "centre_signal": "|<W, c_n>| for the sample's class at its expert, mean over samples",
    "self_attention": "p(v_n, v_n), mean over test samples at an expert of their class",
    "largest_other": "largest mean attention of any other pair of query and key token",
}
"""Variables with one number per replicate and epoch, and what they are."""

TOKENS = ("c", "v", "v'", "noise")
"""Queries and keys of the attention scores: class signal, class's label signal, distractor, noise tokens."""


@dataclass(frozen=True)
class Sample:
    """A batch of samples: tokens (B, n, L, d), labels, classes (B, n), and the places (B, n, 3) of c, v and v'."""

    x: Array
    y: Array
    cluster: Array
    position: Array


class View:
    """A sample seen through the parameters of a model under training, without noise in the routing.

    ``model``: the model that is trained; its parameters are read at every :meth:`forward`. ``sent`` (B, n): the expert
    of every sample, where the routing is given.
    """

    def __init__(self, sample: Sample, model: Mixture | MultiHead, sent: Array | None = None) -> None:
        self.sample, self.model, self.sent = sample, model, sent
        if isinstance(model, Mixture):
            self.own: Mixture | MultiHead = Mixture(sample.x, model.weights, model.kq, model.theta)
        else:
            self.own = MultiHead(sample.x, model.weights, model.kq)
        self._scores: Array | None = None

    def forward(self) -> Array:
        """Return the outputs, (B, n)."""
        own, model = self.own, self.model
        moved = own.kq is not model.kq
        own.weights, own.kq = model.weights, model.kq
        if moved:
            self._scores = None
            own.thaw()
        if own.kq is not None and own.features is None and model.features is not None:
            own.freeze()  # the attention stays for a while: worth computing for all experts
        if isinstance(own, Mixture) and isinstance(model, Mixture):
            own.theta = model.theta
            if self.sent is not None:
                own.send(self.sent)
            else:
                own.route(None)
        return own.forward()

    def attention_scores(self) -> Array:
        """Return p(query, key) between the kinds of tokens of each sample at its expert, (B, n, 4, 4).

        Scores of a noise query are means over noise tokens, scores of the noise as a key are sums, so that rows add up
        to 1. Of several heads, the mean.
        """
        xp = arrays.namespace(self.sample.x)
        own = self.own
        kq: Array = own.kq
        roles = _roles(self.sample.position, self.sample.x.shape[2])
        count = xp.sum(roles, axis=-1, keepdims=True)
        queries = roles / xp.where(count > 0, count, xp.ones_like(count))

        def table(p: Array) -> Array:
            return xp.matmul(xp.matmul(queries, p), xp.matrix_transpose(roles))

        if isinstance(own, Mixture) and own.features is None:
            return table(own.own_attention())
        if self._scores is None:
            each = range(kq.shape[1])
            self._scores = xp.stack([table(attend(self.sample.x, kq[:, a, :, :])) for a in each], axis=1)
        if isinstance(own, MultiHead):
            return xp.mean(self._scores, axis=1)
        return of_own(self._scores, own.expert)


def _roles(position: Array, length: int) -> Array:
    """Return which tokens are c, v, v' and noise, (B, n, 4, L), from the places of v, c and v'."""
    xp = arrays.namespace(position)
    token = xp.arange(length, dtype=position.dtype)
    v, c, other = (xp.astype(position[..., i, None] == token, xp.float64) for i in range(3))
    return xp.stack([c, v, other, 1 - c - v - other], axis=-2)


def measure(train: View, test: View, labels: Array, centres: Array, noise: Array | None) -> dict[str, np.ndarray]:
    """Compute every variable of :data:`OVER_EPOCHS`, and those per expert, replicate first.

    ``labels``, ``centres`` (B, N, d): v_n and c_n; ``noise`` (B, M, n): a draw of the perturbation for the test sample.

    Beside :data:`OVER_EPOCHS`: ``on_labels`` (B, M, N), and ``attention`` (B, 4, 4), query before key. What a model
    does not have is NaN.
    """
    xp = arrays.namespace(labels, centres)
    out: dict[str, Array] = {}
    for name, view in (("train", train), ("test", test)):
        margin = view.sample.y * view.forward()
        out[f"{name}_loss"] = xp.mean(logistic_loss(margin), axis=-1)
    out["test_error"] = xp.mean((1 - xp.sign(margin)) / 2, axis=-1)  # a margin of 0 has no sign: half an error
    own = test.own
    if isinstance(own, Mixture):
        out |= _of_mixture(own, test.sample, labels, centres, noise)
    if test.own.kq is not None:
        out |= _of_attention(test, out)
    batch, classes = labels.shape[:2]
    experts = own.weights.shape[1] if isinstance(own, Mixture) else 1
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(OVER_EPOCHS, (batch,))
    shapes |= {"on_labels": (batch, experts, classes), "attention": (batch, len(TOKENS), len(TOKENS))}
    measured = {name: arrays.to_numpy(value) for name, value in out.items()}
    return {name: measured.get(name, np.full(shape, np.nan)) for name, shape in shapes.items()}


def _of_mixture(own: Mixture, sample: Sample, labels: Array, centres: Array, noise: Array | None) -> dict[str, Array]:
    xp = arrays.namespace(labels)
    experts, classes = own.weights.shape[1], labels.shape[1]
    on_labels = xp.matmul(own.weights, xp.matrix_transpose(labels))
    on_centres = xp.matmul(own.weights, xp.matrix_transpose(centres))
    expert, n = own.expert, sample.y.shape[1]
    sent = routing.counts(expert, sample.cluster, experts, classes)
    by_sign = routing.counts(expert, xp.astype(sample.y > 0, xp.int64), experts, 2)
    if noise is not None:
        noisy = xp.argmax(own.scores() + noise, axis=1)
        explored = routing.counts(noisy, sample.cluster, experts, classes)
    else:
        explored = sent
    share = sent / n
    classes_covered = covered(on_labels)
    return {
        "on_labels": on_labels,
        "gap": xp.mean(gap(on_labels), axis=-1),
        "covered": classes_covered,
        "all_covered": xp.astype(classes_covered == classes, xp.float64),
        "matched": matched(on_labels, sent),
        "purity": routing.purity(sent),
        "sign_purity": routing.purity(by_sign),
        "unequal": distance_from_equal(on_labels, explored),
        "own_signal": xp.sum(share * on_labels, axis=(-2, -1)),
        "other_signal": xp.sum(share * _largest_other(on_labels), axis=(-2, -1)),
        "centre_signal": xp.sum(share * xp.abs(on_centres), axis=(-2, -1)),
    }


def _largest_other(table: Array) -> Array:
    """Return, for every entry of the last axis, the largest of the others."""
    xp = arrays.namespace(table)
    ordered = xp.sort(table, axis=-1)
    top = ordered[..., -1:]
    return xp.where(table == top, ordered[..., -2:-1], top)


def _of_attention(view: View, out: dict[str, Array]) -> dict[str, Array]:
    """Average the attention scores over the samples at an expert of their class; over all samples without experts."""
    xp = arrays.namespace(view.sample.x)
    scores, cluster = view.attention_scores(), view.sample.cluster
    if isinstance(view.own, Mixture):
        batch, experts, classes = out["on_labels"].shape
        mine = xp.reshape(members(out["on_labels"]), (-1,))
        member = xp.arange(batch, dtype=view.own.expert.dtype)[:, None]
        row = ((member * experts + view.own.expert) * classes) + cluster
        weight = xp.reshape(xp.take(mine, xp.reshape(row, (-1,))), cluster.shape)
    else:
        weight = xp.ones(cluster.shape, dtype=xp.float64)
    total = xp.sum(weight, axis=-1)[:, None, None]
    mean = xp.sum(scores * weight[:, :, None, None], axis=1) / xp.where(total > 0, total, xp.full_like(total, xp.nan))
    signals = mean[:, :3, :3]
    itself = xp.asarray(np.diag([0.0, 1.0, 0.0])) > 0
    return {
        "attention": mean,
        "self_attention": mean[:, 1, 1],
        "largest_other": xp.max(xp.where(itself, xp.zeros_like(signals), signals), axis=(-2, -1)),
    }


STAGES = ("start", "I", "II", "III")
"""Labels of the dimension ``stage``: before the first step, and the ends of the three stages."""


def expert_class(on_labels: Array) -> Array:
    """Return n_i* of every expert, (..., M), from <W_i, v_n> (..., M, N)."""
    return namespace(on_labels).argmax(on_labels, axis=-1)


def gap(on_labels: Array) -> Array:
    """Return <W_i, v_{n_i*}> minus the next largest <W_i, v_n>, (..., M): the specialisation gap of Prop. 1."""
    ordered = namespace(on_labels).sort(on_labels, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


def members(on_labels: Array) -> Array:
    """Return whether expert i belongs to M_n, (..., M, N), as 0.0 or 1.0."""
    xp = namespace(on_labels)
    classes = xp.arange(on_labels.shape[-1])
    return xp.astype(expert_class(on_labels)[..., None] == xp.astype(classes, xp.int64), xp.float64)


def covered(on_labels: Array) -> Array:
    """Return how many classes have an expert, (...): Lemma 8 asks for all."""
    xp = namespace(on_labels)
    return xp.sum(xp.max(members(on_labels), axis=-2), axis=-1)


def matched(on_labels: Array, counts: Array) -> Array:
    """Return the share of samples whose expert has their class, (...), from counts (..., M, N)."""
    xp = namespace(on_labels, counts)
    return xp.sum(members(on_labels) * counts, axis=(-2, -1)) / xp.sum(counts, axis=(-2, -1))


def distance_from_equal(on_labels: Array, counts: Array) -> Array:
    """Return how far the routing of a class is from "each expert of M_n with probability 1 / |M_n|" (Prop. 1).

    The total variation distance, averaged over classes; a class without an expert counts as 1.

    ``on_labels`` (..., M, N): <W_i, v_n>; ``counts`` (..., M, N): samples of each class at each expert.
    """
    xp = namespace(on_labels, counts)
    mine = members(on_labels)
    size = xp.sum(mine, axis=-2, keepdims=True)
    equal = mine / xp.where(size > 0, size, xp.ones_like(size))
    total = xp.sum(counts, axis=-2, keepdims=True)
    share = counts / xp.where(total > 0, total, xp.ones_like(total))
    distance = xp.sum(xp.abs(share - equal), axis=-2) / 2
    distance = xp.where(size[..., 0, :] > 0, distance, xp.ones_like(distance))
    return xp.mean(distance, axis=-1)
