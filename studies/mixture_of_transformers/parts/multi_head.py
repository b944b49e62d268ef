"""A multi-head transformer layer without a router: the baseline of "Mixture-of-Transformers Learn Faster", Fig. 1(b).

All heads attend to all samples, their outputs are concatenated token by token, and one shared ReLU network reads them:

    f(X) = sum_l sum_j a_j relu( sum_h w_jh' X softmax(X' KQ_h X_l) ),      a_j = +1 or -1, fixed

The paper names the architecture (heads, a shared large FFN with ReLU, no gate) without a formula; the position-wise
FFN, the sum over tokens (as in its eq. (4)) and the fixed signs are our reading.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace
from studies.mixture_of_transformers.parts.model import attend, attention_gradient


class MultiHead:
    """The transformer on one batch of samples.

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
