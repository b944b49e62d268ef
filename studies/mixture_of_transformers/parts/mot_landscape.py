"""What specialisation does to the gradients and the losses of experts: conflicts and strong convexity.

"Our analysis shows how expert specialization reduces gradient conflicts and makes each subtask strongly convex"
(abstract of "Mixture-of-Transformers Learn Faster"). Algorithm 1 is run on the data of Definition 1, beside it a single
transformer and the multi-head transformer of Fig. 1(b), which see all samples. Two gradients conflict if their inner
product is negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models import patches
from moestat.models.logistic import logistic_loss, logistic_slope
from moestat.replicates import Row, Streams, each, steps
from studies.mixture_of_transformers.parts.model import Mixture, MultiHead, attend, attention_gradient, pool
from studies.mixture_of_transformers.parts.staged_training import Schedule, train

VERSION = 1

STATES = ("start", "I", "II", "III")
OF_STATES = {
    "conflict": "share of pairs of samples at one expert whose gradients in W conflict",
    "agreement": "length of an expert's mean gradient in W over the mean length",
    "attention_conflict": "share of pairs of samples at one expert whose gradients in W_KQ conflict",
    "across": "share of pairs of samples at one expert that are of different classes",
}
OVER_TUNING = {
    "loss": "mean logistic loss of the training sample",
    "polyak": "|grad|^2 / (2 loss) of an expert's loss in W, largest over experts",
    "curvature": "least eigenvalue of the Hessian of an expert's loss in W, largest over experts",
}
"""Variables by state of the model, and over steps of stage III, and what they are."""
CONVEXITY = {"convexity": "loss of the FFN less that halfway to itself with neurons permuted, relative, least of 20"}

SCALE, ATTENTION, HEADS = 3.0, 5.0, 2  # sigma_0, v_n' KQ v_n of the ideal start, heads of the rival (ours)
TUNING_STEPS = 8000  # T - T2 (ours)
TUNING = sorted({1, *np.round(np.geomspace(TUNING_STEPS / 1000, TUNING_STEPS, 13)).astype(int).tolist()})
"""Steps of stage III at which curvature is measured: the first, and four for each of the last three decades."""


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    model: Literal["mot", "multi-head"] = Field(
        "mot", description="mixture of transformers (with one expert: a single one), or multi-head without router"
    )
    start: Literal["random", "specialised", "ideal"] = Field(
        "random",
        description="N(0, sigma_0^2 / d), trained in three stages; or what Prop. 1 promises (class-pure routing, "
        "W = v_n), without stage I; or what Props. 1 and 2 do (and KQ = a v_n v_n'), with stage III alone",
    )
    classes: int = Field(4, ge=2, description="N")
    experts: int = Field(8, ge=1, description="M")
    tokens: int = Field(5, ge=4, description="L (ours)")
    dimension: int = Field(32, ge=4, description="d, at least 2 N (ours)")
    samples: int = Field(400, ge=10, description="K, training samples (ours)")
    token_noise: float = Field(0.5, ge=0, description="sigma_xi (ours)")
    neurons: int = Field(16, ge=2, description="neurons of the multi-head transformer's FFN (ours)")
    specialise_steps: int = Field(2000, ge=1, description="T1 (ours)")
    attention_steps: int = Field(400, ge=1, description="T2 - T1 (ours)")
    router_rate: float = Field(100.0, ge=0, description="eta_r (ours)")
    tuning_rate: float = Field(10.0, gt=0, description="eta of stage III (ours)")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < 2 * self.classes:
            raise ValueError(f"dimension is {self.dimension}; {self.classes} classes need at least {2 * self.classes}")
        if self.start != "random" and (self.model != "mot" or self.experts < self.classes):
            raise ValueError(f"start = {self.start!r} needs model = 'mot' and as many experts as classes")
        return self

    @property
    def schedule(self) -> Schedule:
        """T1, T2 and T, and the rates; what a start promises is not trained."""
        first = self.specialise_steps if self.start == "random" else 0
        second = first + (0 if self.start == "ideal" else self.attention_steps)
        return Schedule(first, second, second + TUNING_STEPS, 1e-3, 20.0, self.router_rate, self.tuning_rate)


@each(
    dims=dict.fromkeys(OF_STATES, ("state",)) | dict.fromkeys(OVER_TUNING, ("tuning",)),
    coords={"state": list(STATES), "tuning": np.array(TUNING)},
    attrs={name: {"long_name": text} for name, text in (OF_STATES | OVER_TUNING | CONVEXITY).items()},
)
def run(s: Settings, streams: Streams) -> Row:
    """Run Algorithm 1 and measure conflicts at the ends of its stages, and curvature along stage III.

    The variables of ``OF_STATES`` by ``state``, those of ``OVER_TUNING`` over ``tuning`` (steps of stage III), and
    ``convexity`` per replicate. The device plays no part.
    """
    world = {"classes": s.classes, "dimension": s.dimension}
    directions = patches.dictionary(streams("directions", **world), s.classes, s.dimension)
    law = patches.Law(signal=(1, 1), centre=(1, 1), feature_noise=(1, 1), noise_scale=s.token_noise)
    draws = streams("training: scalars", **world), streams("training: vectors", **world)
    data = patches.draw(*draws, directions, s.samples, s.tokens, law)
    model, trains_router = _model(s, streams, directions, data), s.model == "mot" and s.start == "random"
    noise = _noise(s, streams, "training") if trains_router else None
    judged = next(_noise(s, streams, "judged")) if trains_router else None

    schedule = s.schedule
    begin = schedule.attended
    ends = dict(zip(STATES, (0, schedule.specialised, begin, schedule.end), strict=True))
    of_states: dict[str, dict[str, float]] = {}
    over_tuning: list[dict[str, float]] = []
    row: dict[str, Any] = {"convexity": np.nan}

    def observe(t: int) -> None:
        looked = _look(model, data, judged)
        if t - begin in TUNING:
            over_tuning.append(_curvature(model, *looked[:3]))
        for state in (state for state in STATES if ends[state] == t):
            of_states[state] = _conflicts(data, *looked)
        if t == begin and isinstance(model, MultiHead):
            row["convexity"] = _halfway(s, streams, model, data.y)

    train(model, data.y[None], schedule, noise, observe, {*ends.values(), *(begin + t for t in TUNING)})
    row |= {name: np.array([of_states[state][name] for state in STATES]) for name in OF_STATES}
    row |= {name: np.array([each_step[name] for each_step in over_tuning]) for name in OVER_TUNING}
    return row | steps({"loss": row["loss"]}, schedule.end)


def _noise(s: Settings, streams: Streams, purpose: str) -> Iterator[np.ndarray]:
    rng = streams(f"perturbation: {purpose}", experts=s.experts, n=s.samples)
    while True:
        yield rng.random((1, s.experts, s.samples))


def _model(
    s: Settings, streams: Streams, directions: patches.Dictionary, data: patches.Examples
) -> Mixture | MultiHead:
    """Return the model at its start."""
    d, x, heads = s.dimension, data.x[None], s.model == "multi-head"
    scale, shape = SCALE / np.sqrt(d), (s.neurons, HEADS, d) if heads else (s.experts, d)
    weights = scale * streams("start: weights", kind=s.model, dimension=d).standard_normal(shape)
    kq = scale * streams("start: attention", dimension=d).standard_normal((HEADS if heads else s.experts, d, d))
    if heads:
        return MultiHead(x, weights[None], kq[None])
    idle = np.zeros((1, s.experts, d))
    if s.start == "random":
        return Mixture(x, weights[None], kq[None], idle)
    labels = directions.labels[np.arange(s.experts) % s.classes]
    if s.start == "ideal":
        kq = ATTENTION * labels[:, :, None] * labels[:, None, :]
    mixture = Mixture(x, labels[None], kq[None], idle)
    members = 1 + (s.experts - 1 - np.arange(s.classes)) // s.classes
    u = streams("ideal routing", experts=s.experts).random(s.samples)
    mixture.send((data.cluster + s.classes * (u * members[data.cluster]).astype(np.int64))[None])
    return mixture


def _look(
    model: Mixture | MultiHead, data: patches.Examples, noise: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the expert of every sample (noisy, as in training), its margin and the gradients of its margin."""
    if isinstance(model, MultiHead):
        expert = np.zeros(len(data.y), dtype=np.int64)
        f, *gradients = of_heads(data.x, model.weights[0], model.kq[0], model.signs)
    else:
        expert = model.expert[0] if noise is None else np.argmax(model.scores()[0] + noise[0], axis=0)
        f, *gradients = of_experts(data.x, model.weights[0], np.asarray(model.kq)[0], expert)
    return (expert, data.y * f, *(data.y[:, None] * g for g in gradients))


def _conflicts(
    data: patches.Examples, expert: np.ndarray, margin: np.ndarray, by_weights: np.ndarray, by_attention: np.ndarray
) -> dict[str, float]:
    slope = logistic_slope(margin)[:, None]
    share, agreement = conflicts(slope * by_weights, expert)
    i, j = np.triu_indices(len(expert), 1)
    mates = expert[i] == expert[j]
    return {
        "conflict": share,
        "agreement": agreement,
        "attention_conflict": conflicts(slope * by_attention, expert)[0],
        "across": float(np.mean(data.cluster[i[mates]] != data.cluster[j[mates]])),
    }


def _curvature(
    model: Mixture | MultiHead, expert: np.ndarray, margin: np.ndarray, by_weights: np.ndarray
) -> dict[str, float]:
    loss = float(np.mean(np.logaddexp(0.0, -margin)))
    if isinstance(model, MultiHead):
        return {"loss": loss, "polyak": polyak(by_weights, margin), "curvature": np.nan}
    return {"loss": loss} | curvature(by_weights, margin, expert)


def _halfway(s: Settings, streams: Streams, model: MultiHead, y: np.ndarray) -> float:
    """Return the least of 20 comparisons of the FFN with itself, neurons of one sign permuted.

    Both have one loss. One that is convex in the weights is not higher halfway; returned is the loss less that halfway,
    relative to it.
    """
    rng = streams("permutations", neurons=s.neurons)
    signs = np.split(np.arange(s.neurons), [(s.neurons + 1) // 2])
    own = model.weights[0]
    losses = []
    for weights in (own, *((own + own[np.concatenate([rng.permutation(k) for k in signs])]) / 2 for _ in range(20))):
        f = of_heads(model.x[0], weights, model.kq[0], model.signs)[0]
        losses.append(float(np.mean(np.logaddexp(0.0, -y * f))))
    return (losses[0] - max(losses[1:])) / losses[0]


def conflicts(gradients: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Return how much gradients (n, p), one per sample, of one group (n,) conflict; those of length 0 are left out.

    Returns ``share``: of the pairs of two samples of one group, those whose gradients have a negative inner product;
    ``agreement``: length of a group's mean gradient over the mean length of its gradients, mean over samples: 1 if all
    of them point the same way.
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

    ``features`` (n, d): gradients of the margins (n,) in the weights. ``group`` (n,): the expert of every sample; each
    has a loss of its own.

    Returns ``curvature``: the least eigenvalue of a group's Hessian; ``polyak``: see :func:`polyak`. Each is the
    largest over the groups, the kindest to a statement about all of them.
    """
    least, ratios = [], []
    for m in np.unique(group):
        z, own = features[group == m], margin[group == m]
        slope = logistic_slope(own)
        hessian = (z * (-slope * (1.0 + slope))[:, None]).T @ z / len(own)
        least.append(float(np.linalg.eigvalsh(hessian)[0]))
        ratios.append(polyak(z, own))
    return {"curvature": max(least), "polyak": max(ratios)}


def polyak(features: np.ndarray, margin: np.ndarray) -> float:
    """Return ``|grad|^2 / (2 loss)`` of one network, its margins' gradients being ``features`` (n, p).

    It is at least the modulus of strong convexity where the infimum of the loss is 0.
    """
    gradient = (logistic_slope(margin)[:, None] * features).mean(axis=0)
    return float(np.sum(gradient**2) / (2.0 * np.mean(logistic_loss(margin))))


def of_experts(
    x: np.ndarray, weights: np.ndarray, kq: np.ndarray, expert: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outputs of samples at their experts and their gradients, sample by sample.

    ``x`` (n, L, d); ``weights`` (M, d); ``kq`` (M, d, d); ``expert`` (n,).

    ``f`` (n,); ``by_weights`` (n, d): gradients in the weights of a sample's own expert; ``by_attention`` (n, d d):
    gradients in its key-query matrix.
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

    ``x`` (n, L, d); ``weights`` (m, H, d); ``kq`` (H, d, d); ``signs`` (m,): of the neurons.

    ``f`` (n,); ``by_weights`` (n, m H d); ``by_attention`` (n, H d d).
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
