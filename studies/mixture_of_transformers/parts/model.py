"""Mixture of transformers: one-layer attention experts with linear feed-forward networks, and their gradients.

A sample X has L tokens in R^d. Expert m weighs the tokens by softmax attention, once for every token as the query, and
reads the sum of what it attends to with one vector (eq. (4) of "Mixture-of-Transformers Learn Faster"):

    f_m(X) = sum_l W_m' X softmax(X' KQ_m X_l)
    h(X) = sum_l Theta' X_l,      m = argmax(h + r),      pi = softmax(h)

The experts' loss is the mean of log(1 + exp(-y f_m)), eq. (7); the router's has pi_m in front of f_m, eq. (5). Since
f_m is linear in W_m, a frozen attention leaves one **pooled feature** per sample and expert,
``z = X sum_l softmax(...)``, which is computed once.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.models.logistic import logistic_slope
from moestat.models.tiles import Tiles, cut

LOWEST = -100.0
"""Attention scores further below the row's largest count as 0, which they are to rounding: their exponentials would end
in denormal numbers, which cost fifty times the time."""

ROWS = 32  # rows of a tile of samples while the attention moves; fixed, see :mod:`moestat.models.tiles`


def attend(x: Array, kq: Array) -> Array:
    """Return the attention of every token (rows) to every token (columns).

    ``x`` (..., n, L, d): tokens; ``kq`` (..., d, d): the merged key-query matrix, one for all n.

    Entry (l, h) is softmax(X' KQ X_l)_h; rows sum to 1.
    """
    xp = namespace(x, kq)
    *leading, n, length, d = x.shape
    queries = xp.matmul(xp.reshape(x, (*leading, n * length, d)), xp.matrix_transpose(kq))
    scores = xp.matmul(xp.reshape(queries, x.shape), xp.matrix_transpose(x))
    scores = scores - xp.max(scores, axis=-1, keepdims=True)
    e = xp.exp(xp.where(scores > LOWEST, scores, xp.full_like(scores, -xp.inf)))
    return e / xp.sum(e, axis=-1, keepdims=True)


def pool(x: Array, attention: Array) -> Array:
    """Return X times the attention that its tokens get in all: (..., n, d) of x (..., n, L, d)."""
    xp = namespace(x, attention)
    received = xp.sum(attention, axis=-2)
    return xp.matmul(received[..., None, :], x)[..., 0, :]


def attention_gradient(x: Array, attention: Array, by_output: Array) -> Array:
    """Return the gradient in KQ of a function of the attended tokens X p_l.

    ``x`` (..., n, L, d); ``attention`` (..., n, L, L): the p_l as rows; ``by_output`` (..., n, L, L): ``u[l, h] = <g_l,
    X_h>`` with g_l the function's gradient in X p_l.

    Returns ``sum_k sum_l X (diag(p_l) - p_l p_l') X' g_l X_l'``, eq. (14).
    """
    xp = namespace(x, attention, by_output)
    *leading, n, length, d = x.shape
    mean = xp.sum(attention * by_output, axis=-1, keepdims=True)
    moved = xp.matmul(attention * (by_output - mean), x)
    left, right = (xp.reshape(a, (*leading, n * length, d)) for a in (moved, x))
    return xp.matmul(xp.matrix_transpose(left), right)


def of_own(values: Array, expert: Array) -> Array:
    """Return what the expert (B, n) of every sample has, (B, n, ...) of ``values`` (B, M, n, ...)."""
    xp = namespace(values)
    batch, experts, n, *rest = values.shape
    member = xp.arange(batch, dtype=expert.dtype)[:, None]
    row = (member * experts + expert) * n + xp.arange(n, dtype=expert.dtype)[None, :]
    taken = xp.take(xp.reshape(values, (batch * experts * n, -1)), xp.reshape(row, (-1,)), axis=0)
    return xp.reshape(taken, (batch, n, *rest))


class Mixture:
    """A mixture of transformers on one batch of samples.

    ``x`` (B, n, L, d): tokens; ``weights`` (B, M, d): W; ``kq`` (B, M, d, d): key-query matrices, or None for no
    attention, f_m = sum_l W_m' X_l; ``theta`` (B, M, d): parameters of the router.

    ``sums`` (B, n, d): sum_l X_l, what the router sees; ``expert`` (B, n): where every sample is sent, see
    :meth:`route` and :meth:`send`.
    """

    def __init__(self, x: Array, weights: Array, kq: Array | None, theta: Array) -> None:
        xp = namespace(x, weights, theta)
        self.x, self.weights, self.kq, self.theta = x, weights, kq, theta
        self.sums = xp.sum(x, axis=2)
        self.expert = xp.zeros(x.shape[:2], dtype=xp.int64)
        self.features: Array | None = None
        self._sent: Array | None = None
        self._own: Array | None = None
        self._moving: _Moving | None = None
        self._scores: Array | None = None
        if kq is None:
            self.freeze()

    def scores(self) -> Array:
        """Return the router's scores h without noise, (B, M, n)."""
        xp = namespace(self.sums)
        return xp.matmul(self.theta, xp.matrix_transpose(self.sums))

    def route(self, noise: Array | None) -> None:
        """Send every sample to the argmax of its scores plus ``noise`` (B, M, n)."""
        xp = namespace(self.sums)
        scores = self.scores()
        self.send(xp.argmax(scores if noise is None else scores + noise, axis=1))
        self._scores = scores

    def send(self, expert: Array) -> None:
        """Send the samples to given experts, (B, n)."""
        self.expert = expert
        self._sent = self._own = self._moving = self._scores = None

    @property
    def _is_sent(self) -> Array:
        """Whether a sample is sent to an expert, (B, M, n), as 0.0 and 1.0."""
        if self._sent is None:
            xp = namespace(self.expert)
            experts = xp.arange(self.weights.shape[1], dtype=self.expert.dtype)
            self._sent = xp.astype(self.expert[:, None, :] == experts[None, :, None], xp.float64)
        return self._sent

    def router_gradient(self, f: Array, y: Array) -> Array:
        """Return the gradient of the router's loss in theta, (B, M, d), eq. (12)."""
        xp = namespace(f, y)
        scores = self.scores() if self._scores is None else self._scores
        e = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        pi = e / xp.sum(e, axis=1, keepdims=True)
        margin = y * f * xp.sum(pi * self._is_sent, axis=1)
        pull = logistic_slope(margin) * margin / y.shape[1]
        return xp.matmul(pull[:, None, :] * (self._is_sent - pi), self.sums)

    def freeze(self) -> None:
        """Compute the pooled features of all experts, (B, M, n, d), which stay; without attention they are one's."""
        xp = namespace(self.x)
        self._own = self._moving = None
        if self.kq is None:
            self.features = self.sums[:, None, :, :]
            return
        experts = range(self.kq.shape[1])
        self.features = xp.stack([pool(self.x, attend(self.x, self.kq[:, m, :, :])) for m in experts], axis=1)

    def thaw(self) -> None:
        """Forget the pooled features; a mixture without attention keeps them."""
        if self.kq is not None:
            self.features = None

    def forward(self) -> Array:
        """Return the output of every sample's own expert, (B, n)."""
        xp = namespace(self.x)
        if self.features is None:
            self._moving = _Moving(self.x, self.weights, self.kq, self.expert)
            return self._moving.f
        if self._own is None:
            one = self.features.shape[1] == 1  # without attention, all experts read the same
            self._own = self.features[:, 0, :, :] if one else of_own(self.features, self.expert)
        every = xp.matmul(self.weights, xp.matrix_transpose(self._own))
        return xp.sum(every * self._is_sent, axis=1)

    def weight_gradient(self, slope: Array) -> Array:
        """Return the gradient of ``sum_k slope_k f_k`` in W at the last :meth:`forward`, (B, M, d), eq. (13)."""
        own = self._own if self._moving is None else self._moving.pooled()
        return namespace(slope).matmul(self._is_sent * slope[:, None, :], own)

    def attention_gradient(self, slope: Array) -> Array:
        """Return the gradient of ``sum_k slope_k f_k`` in KQ at the last :meth:`forward`, eq. (14)."""
        if self._moving is None:
            raise ValueError("the attention is frozen or absent; thaw() and forward() come first")
        return self._moving.gradient(slope)

    def own_attention(self) -> Array:
        """Return the attention of every sample's own expert at the last :meth:`forward`, (B, n, L, L)."""
        if self._moving is None:
            raise ValueError("the attention is frozen or absent; thaw() and forward() come first")
        return self._moving.tiles.scatter(self._moving.attention)


class _Moving:
    """Outputs f (B, n) while the attention moves: samples in tiles of one key-query matrix each."""

    def __init__(self, x: Array, weights: Array, kq: Array, expert: Array) -> None:
        xp = namespace(x, weights, kq)
        experts = kq.shape[1]
        self.tiles: Tiles = cut(expert, experts, ROWS)
        self.x = self.tiles.gather(x)
        self.attention = attend(self.x, self.tiles.of_experts(kq))
        batch, experts, d = weights.shape
        row = xp.arange(batch, dtype=expert.dtype)[:, None] * experts + expert
        own = xp.take(xp.reshape(weights, (-1, d)), xp.reshape(row, (-1,)), axis=0)
        own = self.tiles.gather(xp.reshape(own, (*expert.shape, d)))
        self.read = xp.matmul(self.x, own[..., None])[..., 0]  # W' X_h, (B, T, R, L)
        received = xp.sum(self.attention, axis=-2)
        self.f = self.tiles.scatter(xp.sum(received * self.read, axis=-1))

    def pooled(self) -> Array:
        return self.tiles.scatter(pool(self.x, self.attention))

    def gradient(self, slope: Array) -> Array:
        xp = namespace(slope)
        weight = self.tiles.gather(slope)
        weight = xp.where(self.tiles.filled, weight, xp.zeros_like(weight))
        by_output = xp.broadcast_to((weight[..., None] * self.read)[..., None, :], self.attention.shape)
        return self.tiles.sum_by_expert(attention_gradient(self.x, self.attention, by_output))


class MultiHead:
    """A multi-head transformer layer without a router on one batch of samples: the baseline of Fig. 1(b).

    All heads attend to all samples, their outputs are concatenated token by token, and one shared ReLU network reads
    them: f(X) = sum_l sum_j a_j relu( sum_h w_jh' X softmax(X' KQ_h X_l) ), a_j = +1 or -1, fixed. The paper names the
    architecture without a formula; the position-wise FFN, the sum over tokens (as in its eq. (4)) and the fixed signs
    are our reading.

    ``x`` (B, n, L, d): tokens. ``weights`` (B, m, H, d): first layer of the FFN; the first half of its m neurons has a
    = 1, the others -1. ``kq`` (B, H, d, d): key-query matrices of the heads.
    """

    def __init__(self, x: Array, weights: Array, kq: Array) -> None:
        xp = namespace(x, weights, kq)
        self.x, self.weights, self.kq = x, weights, kq
        neurons = weights.shape[1]
        self.signs = 2.0 * xp.astype(xp.arange(neurons) < (neurons + 1) // 2, xp.float64) - 1.0
        self.features: Array | None = None
        self._attention: list[Array] = []
        self._seen: Array = None
        self._active: Array = None

    def freeze(self) -> None:
        """Compute what all tokens attend to, (B, n L, H d), which stays until the attention moves."""
        self.features = self._attended()

    def thaw(self) -> None:
        """Forget what the tokens attend to."""
        self.features = None

    def _attended(self) -> Array:
        xp = namespace(self.x)
        batch, n, length, d = self.x.shape
        self._attention = [attend(self.x, self.kq[:, h, :, :]) for h in range(self.kq.shape[1])]
        seen = xp.stack([xp.matmul(p, self.x) for p in self._attention], axis=3)
        return xp.reshape(seen, (batch, n * length, -1))

    def forward(self) -> Array:
        """Return the outputs, (B, n)."""
        xp = namespace(self.x)
        batch, n, length, _ = self.x.shape
        self._seen = self._attended() if self.features is None else self.features
        flat = xp.reshape(self.weights, (batch, self.weights.shape[1], -1))
        reach = xp.matmul(self._seen, xp.matrix_transpose(flat))
        self._active = xp.where(reach > 0, self.signs, xp.zeros_like(self.signs))
        return xp.sum(xp.reshape(xp.sum(reach * self._active, axis=-1), (batch, n, length)), axis=-1)

    def _by_reach(self, slope: Array) -> Array:
        xp = namespace(slope)
        batch, n, length, _ = self.x.shape
        spread = xp.broadcast_to(slope[:, :, None], (batch, n, length))
        return self._active * xp.reshape(spread, (batch, n * length, 1))

    def weight_gradient(self, slope: Array) -> Array:
        """Return the gradient of ``sum_k slope_k f_k`` in the FFN's weights at the last :meth:`forward`."""
        xp = namespace(slope)
        gradient = xp.matmul(xp.matrix_transpose(self._by_reach(slope)), self._seen)
        return xp.reshape(gradient, self.weights.shape)

    def attention_gradient(self, slope: Array) -> Array:
        """Return the gradient of ``sum_k slope_k f_k`` in the key-query matrices at the last :meth:`forward`."""
        xp = namespace(slope)
        if self.features is not None:
            raise ValueError("the attention is frozen; thaw() and forward() come first")
        batch, n, length, d = self.x.shape
        heads = self.kq.shape[1]
        flat = xp.reshape(self.weights, (batch, self.weights.shape[1], -1))
        by_token = xp.reshape(xp.matmul(self._by_reach(slope), flat), (batch, n, length, heads, d))
        gradients = []
        for h, p in enumerate(self._attention):
            by_output = xp.matmul(by_token[:, :, :, h, :], xp.matrix_transpose(self.x))
            gradients.append(attention_gradient(self.x, p, by_output))
        return xp.stack(gradients, axis=1)
