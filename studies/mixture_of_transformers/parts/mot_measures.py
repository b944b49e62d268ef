"""What is measured of a mixture of transformers, or of a rival, at one step of its training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat import arrays
from moestat.arrays import Array
from moestat.losses import routing
from moestat.models.logistic import logistic_loss
from studies.mixture_of_transformers.parts import specialisation
from studies.mixture_of_transformers.parts.decay import decay, first_passage
from studies.mixture_of_transformers.parts.model import Mixture, attend
from studies.mixture_of_transformers.parts.multi_head import MultiHead

OVER_EPOCHS = {
    "train_loss": "mean logistic loss of the experts on the training sample",
    "test_loss": "mean logistic loss of the experts on the test sample",
    "train_error": "error on the training sample",
    "test_error": "error on the test sample",
    "gap": "largest minus next largest <W, v_n>, mean over experts",
    "gap_used": "largest minus next largest <W, v_n>, mean over samples",
    "covered": "classes with an expert (Definition 2)",
    "covered_used": "classes that have an expert with test samples",
    "all_covered": "whether every class has an expert",
    "matched": "share of test samples at an expert of their class (Definition 2)",
    "purity": "share of test samples of the commonest class at their expert",
    "entropy": "dispatch entropy (nats)",
    "sign_purity": "share of test samples of the commonest label at their expert",
    "unequal": "distance of the noisy routing of a class from 1/|M_n| on its experts",
    "experts_used": "experts with at least one test sample",
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
        if self._scores.shape[1] == 1:
            return self._scores[:, 0, ...]
        batch, experts, n = self._scores.shape[:3]
        member = xp.arange(batch, dtype=own.expert.dtype)[:, None]
        row = (member * experts + own.expert) * n + xp.arange(n, dtype=own.expert.dtype)[None, :]
        taken = xp.take(xp.reshape(self._scores, (-1, 16)), xp.reshape(row, (-1,)), axis=0)
        return xp.reshape(taken, (batch, n, 4, 4))


def _roles(position: Array, length: int) -> Array:
    """Return which tokens are c, v, v' and noise, (B, n, 4, L), from the places of v, c and v'."""
    xp = arrays.namespace(position)
    token = xp.arange(length, dtype=position.dtype)
    v, c, other = (xp.astype(position[..., i, None] == token, xp.float64) for i in range(3))
    return xp.stack([c, v, other, 1 - c - v - other], axis=-2)


def measure(train: View, test: View, labels: Array, centres: Array, noise: Array | None) -> dict[str, np.ndarray]:
    """Compute every variable of :data:`OVER_EPOCHS`, and those per expert, replicate first.

    ``labels``, ``centres`` (B, N, d): v_n and c_n; ``noise`` (B, M, n): a draw of the perturbation for the test sample.

    Beside :data:`OVER_EPOCHS`: ``dispatch``, ``on_labels`` and ``on_centres`` (B, M, N), and ``attention`` (B,
    4, 4), query before key. What a model does not have is NaN.
    """
    xp = arrays.namespace(labels, centres)
    out: dict[str, Array] = {}
    for name, view in (("train", train), ("test", test)):
        margin = view.sample.y * view.forward()
        out[f"{name}_loss"] = xp.mean(logistic_loss(margin), axis=-1)
        # a margin of 0 has no sign: half an error
        out[f"{name}_error"] = xp.mean((1 - xp.sign(margin)) / 2, axis=-1)
    own = test.own
    if isinstance(own, Mixture):
        out |= _of_mixture(own, test.sample, labels, centres, noise)
    if test.own.kq is not None:
        out |= _of_attention(test, out)
    batch, classes = labels.shape[:2]
    experts = own.weights.shape[1] if isinstance(own, Mixture) else 1
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(OVER_EPOCHS, (batch,))
    shapes |= dict.fromkeys(("dispatch", "on_labels", "on_centres"), (batch, experts, classes))
    shapes["attention"] = (batch, len(TOKENS), len(TOKENS))
    measured = {name: arrays.to_numpy(value) for name, value in out.items()}
    return {name: measured.get(name, np.full(shape, np.nan)) for name, shape in shapes.items()}


def _of_mixture(own: Mixture, sample: Sample, labels: Array, centres: Array, noise: Array | None) -> dict[str, Array]:
    xp = arrays.namespace(labels)
    experts, classes = own.weights.shape[1], labels.shape[1]
    on_labels = specialisation.projections(own.weights, labels)
    on_centres = specialisation.projections(own.weights, centres)
    expert, n = own.expert, sample.y.shape[1]
    sent = routing.counts(expert, sample.cluster, experts, classes)
    by_sign = routing.counts(expert, xp.astype(sample.y > 0, xp.int64), experts, 2)
    load = routing.load(sent)
    if noise is not None:
        noisy = xp.argmax(own.scores() + noise, axis=1)
        explored = routing.counts(noisy, sample.cluster, experts, classes)
    else:
        explored = sent
    mine = specialisation.members(on_labels)
    in_use = xp.astype(xp.sum(sent, axis=-1, keepdims=True) > 0, xp.float64)
    gaps = specialisation.gap(on_labels)
    share = sent / n
    covered = specialisation.covered(on_labels)
    return {
        "dispatch": share,
        "on_labels": on_labels,
        "on_centres": on_centres,
        "gap": xp.mean(gaps, axis=-1),
        "gap_used": xp.sum(gaps * load, axis=-1),
        "covered": covered,
        "covered_used": xp.sum(xp.max(mine * in_use, axis=-2), axis=-1),
        "all_covered": xp.astype(covered == classes, xp.float64),
        "matched": specialisation.matched(on_labels, sent),
        "purity": routing.purity(sent),
        "sign_purity": routing.purity(by_sign),
        "entropy": routing.dispatch_entropy(sent),
        "unequal": specialisation.distance_from_equal(on_labels, explored),
        "experts_used": routing.experts_used(sent),
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
        mine = xp.reshape(specialisation.members(out["on_labels"]), (-1,))
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

LEVELS = 10.0 ** -np.arange(1.0, 6.25, 0.5)  # levels eps of the training loss whose iterations are counted

FEW = 10  # iterations below which a passage is left out of the laws of T(eps): the loss starts too close to the level

TUNING_DIMS = {"tuning_train_loss": ("tuning",), "tuning_test_loss": ("tuning",), "iterations_to": ("eps",)}
"""Dimensions after the replicates' of what :func:`tuning` returns; the rest has none."""

Arrays = dict[str, np.ndarray]


def tuning(epochs: np.ndarray, begin: int, train_loss: np.ndarray, test_loss: np.ndarray) -> tuple[Arrays, Arrays]:
    """Fit laws to the losses of stage III.

    ``epochs`` (E,); ``begin``: T2; ``train_loss``, ``test_loss`` (B, E).

    Returns ``values, coords``: ``tuning_train_loss`` and ``tuning_test_loss`` over ``tuning``, the steps since T2; for
    both (``test_...`` for the latter), fitted to the last two decades, ``slope``, ``geometric_rate``, ``aic_gain``
    (positive: the power law is closer), ``r2_power`` and ``r2_geometric``, and ``last_slope``, the exponent of the last
    decade. For the training loss ``iterations_to`` over ``eps``, its exponent ``time_exponent`` (T = eps^-b, eps <=
    0.01) and ``time_aic_gain`` (positive: T(eps) is closer to a power of 1/eps than to a multiple of log(1/eps)).
    Nothing at all if stage III has no steps.
    """
    steps = epochs - begin
    inside = steps > 0
    if not inside.any():
        return {}, {}
    t = steps[inside]
    values: Arrays = {}
    window = t >= t[-1] / 100
    for prefix, loss in (("", train_loss[:, inside]), ("test_", test_loss[:, inside])):
        fitted = decay(t[window], loss[:, window])
        values[f"tuning_{prefix or 'train_'}loss"] = loss
        values[f"{prefix}geometric_rate"] = fitted.rate
        for name in ("slope", "aic_gain", "r2_power", "r2_geometric", "last_slope"):
            values[prefix + name] = getattr(fitted, name)
    passage = first_passage(t, train_loss[:, inside], LEVELS)
    laws = np.array([_laws_of_time(row) for row in passage])
    values |= {"iterations_to": passage, "time_exponent": laws[:, 0], "time_aic_gain": laws[:, 1]}
    return values, {"tuning": t, "eps": LEVELS}


def _laws_of_time(passage: np.ndarray) -> tuple[float, float]:
    """Return b of T = C eps^-b, and AIC(T = a + b log(1/eps)) - AIC(T = C eps^-b), both for T itself."""
    used = np.isfinite(passage) & (passage >= FEW) & (LEVELS <= 0.0101)
    if used.sum() < 4:
        return np.nan, np.nan
    x, t = -np.log(LEVELS[used]), passage[used]
    exponent, _ = np.polyfit(x, np.log(t), 1)
    # both laws are judged by the errors of log T, so that they see the same likelihood
    linear = np.polyval(np.polyfit(x, t, 1, w=1 / t), x)
    power = np.polyval(np.polyfit(x, np.log(t), 1), x)
    rss_linear = np.sum((np.log(np.maximum(linear, 1e-12)) - np.log(t)) ** 2)
    rss_power = np.sum((power - np.log(t)) ** 2)
    return float(exponent), float(len(t) * np.log(rss_linear / rss_power))


def stage_lengths(
    epochs: np.ndarray,
    ends: tuple[int, int, int],
    out: dict[str, np.ndarray],
    gap_level: float,
    loss_level: float,
    attention_level: float,
) -> tuple[Arrays, dict[str, str]]:
    """Return how long stages I and II take until they have done what they are for; NaN where they do not.

    Returns ``values``: ``steps_to_gap`` and ``steps_to_loss``, steps of stage I until the mean specialisation gap and
    the test loss reach their level; ``steps_to_attention`` and ``steps_to_quarter``, steps of stage II until p(v_n,
    v_n) reaches its level and the training loss a quarter of what it was; and ``..._reached`` with the truth of each.
    ``about``: what each of the steps means, with its level.
    """
    first, second = epochs <= ends[0], (epochs >= ends[0]) & (epochs <= ends[1])
    begin = int(np.argmax(epochs == ends[0]))
    train_loss, test_loss = out["train_loss"], out["test_loss"]
    passages = {
        "steps_to_gap": (first, out["gap"] >= gap_level),
        "steps_to_loss": (first, test_loss <= loss_level),
        "steps_to_attention": (second, out["self_attention"] >= attention_level),
        "steps_to_quarter": (second, train_loss <= train_loss[:, begin : begin + 1] / 4),
    }
    about = {
        "steps_to_gap": f"stage I: specialisation gap of {gap_level:g}",
        "steps_to_loss": f"stage I: test loss of {loss_level:g}",
        "steps_to_attention": f"stage II: $p(v_n, v_n)$ of {attention_level:g}",
        "steps_to_quarter": "stage II: a quarter of the training loss",
    }
    values: Arrays = {}
    for name, (inside, done) in passages.items():
        steps = epochs[inside] - (0 if inside is first else ends[0])
        hit = done[:, inside]
        reached = np.any(hit, axis=1)
        values[name] = np.where(reached, steps[np.argmax(hit, axis=1)], np.nan)
        values[f"{name}_reached"] = reached
    return values, about
