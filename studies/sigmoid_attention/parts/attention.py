r"""Attention layers read as mixtures of experts with quadratic scores ("sigmoid-attention", section 2.3).

With the tokens x_1..x_n of a sequence in one row X = [x_1, ..., x_n], D = n d, and E_j the selector of token j,
X E_j = x_j, row i of an attention head is

.. math:: \sum_j g_{ij}(X) \, X E_j W_V, \qquad s_{ij}(X) = X E_i B E_j' X',

a mixture of n experts, linear in X, whose scores are quadratic in X. Biases of a layer fit in: with
q = x W_Q + b_Q and k = x W_K + b_K the score is fully quadratic,

.. math:: s_{ij} = \kappa \big( x_i W_Q W_K' x_j' + x_i W_Q b_K' + x_j W_K b_Q' + b_Q b_K' \big) + m_{ij},

kappa being the scale (1 / sqrt(d_k) in most layers) and m_ij what is added to the logits: a position bias, or
-log n in sigmoid attention (eq. 85). Without biases b = 0: the score is partially quadratic. Only the symmetric part
of A = kappa E_i W_Q W_K' E_j' enters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from moestat.models.gates import Gate, gate_values, pack_symmetric
from moestat.models.regression import Model


@dataclass(frozen=True)
class AttentionLayer:
    """Weights of a multi-head attention layer, heads first; rows act from the right, q = x W_Q + b_Q."""

    query: np.ndarray  # (H, d, d_k), as the key
    key: np.ndarray
    value: np.ndarray  # (H, d, d_v)
    output: np.ndarray  # (H, d_v, d_o): what maps a head's output into the layer's; the identity for a bare head
    query_bias: np.ndarray  # (H, d_k), as the key bias
    key_bias: np.ndarray
    value_bias: np.ndarray  # (H, d_v)
    output_bias: np.ndarray  # (d_o,)
    gate: Gate
    scale: float  # factor of the scores, 1 / sqrt(d_k) as a rule

    def __call__(self, tokens: ArrayLike, mask: ArrayLike | None = None) -> np.ndarray:
        """Return the layer's output (n, d_o) at tokens (n, d), as attention computes it.

        ``mask`` (n, n) or (H, n, n) is added to the scores; -inf hides a token.
        """
        x = np.asarray(tokens, dtype=np.float64)
        parts = (self.query, self.query_bias), (self.key, self.key_bias), (self.value, self.value_bias)
        q, k, v = (x @ weight + bias[:, None, :] for weight, bias in parts)
        scores = self.scale * (q @ np.swapaxes(k, 1, 2)) + (0.0 if mask is None else np.asarray(mask))
        weights = np.swapaxes(gate_values(self.gate, np.swapaxes(scores, 1, 2)), 1, 2)
        out: np.ndarray = np.sum((weights @ v) @ self.output, axis=0) + self.output_bias
        return out

    def atoms(self, tokens: int, row: int, mask: ArrayLike | None = None) -> AttentionAtoms:
        """Read the output for the token ``row`` in a sequence of ``tokens`` as a mixture of experts.

        Tokens that the mask hides by -inf have no atom.
        """
        if not 0 <= row < tokens:
            raise ValueError(f"row is {row}; it must be between 0 and {tokens - 1}")
        heads, d, _ = self.query.shape
        added = np.zeros((tokens, tokens)) if mask is None else np.asarray(mask, dtype=np.float64)
        added = np.broadcast_to(added, (heads, tokens, tokens))[:, row, :]
        visible = np.flatnonzero(added[0] > -np.inf)
        if not len(visible) or np.any((added > -np.inf) != (added[0] > -np.inf)):
            raise ValueError(f"row {row} must see the same tokens, at least one, in every head")
        big = tokens * d
        form = self.scale * self.query @ np.swapaxes(self.key, 1, 2)
        of_row = self.scale * np.einsum("hdk,hk->hd", self.query, self.key_bias)
        of_other = self.scale * np.einsum("hdk,hk->hd", self.key, self.query_bias)
        constant = self.scale * np.sum(self.query_bias * self.key_bias, axis=1)
        shape = (heads, len(visible))
        matrix, vector = np.zeros((*shape, big, big)), np.zeros((*shape, big))
        slope = np.zeros((*shape, big, self.output.shape[2]))
        own = slice(row * d, (row + 1) * d)
        vector[:, :, own] = of_row[:, None, :]
        for k, j in enumerate(visible):
            there = slice(j * d, (j + 1) * d)
            matrix[:, k, own, there] = form
            vector[:, k, there] += of_other
            slope[:, k, there, :] = self.value @ self.output
        score, intercept = constant[:, None] + added[:, visible], np.einsum("hv,hvo->ho", self.value_bias, self.output)
        return AttentionAtoms(matrix, vector, score, slope, intercept, self.output_bias, self.gate)


@dataclass(frozen=True)
class AttentionAtoms:
    """One row of an attention layer as a sum over heads of mixtures of experts over X, the tokens in one row."""

    a_matrix: np.ndarray  # (H, n, D, D): A = kappa E_i B E_j', as it comes: only its symmetric part acts
    b: np.ndarray  # (H, n, D): 0 for layers without query and key biases
    c: np.ndarray  # (H, n)
    a: np.ndarray  # (H, n, D, d_o): slopes of the experts, X a + beta
    beta: np.ndarray  # (H, d_o): the same for all experts of a head
    offset: np.ndarray  # (d_o,): the layer's output bias, outside the mixtures
    gate: Gate

    @property
    def model(self) -> Model:
        """The regression mixture that every head and output coordinate is: fully quadratic score, linear experts."""
        return Model(self.gate, "full", "linear", self.b.shape[-1])

    def theta(self, coordinate: int) -> np.ndarray:
        """Return the parameters of one output coordinate for :attr:`model`, (H, n, P): a mixture for each head."""
        beta = np.broadcast_to(self.beta[:, None, coordinate, None], (*self.c.shape, 1))
        parts = [self.c[..., None], self.b, pack_symmetric(self.a_matrix), self.a[..., coordinate], beta]
        return np.concatenate(parts, axis=-1)

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """Evaluate the mixtures at sequences x (m, D), tokens in one row; returns (m, d_o)."""
        x = np.asarray(x, dtype=np.float64)
        score = np.einsum("ma,hnab,mb->hnm", x, self.a_matrix, x, optimize=True) + self.b @ x.T + self.c[..., None]
        experts = np.einsum("ma,hnao->hnmo", x, self.a, optimize=True) + self.beta[:, None, None, :]
        out: np.ndarray = np.einsum("hnm,hnmo->mo", gate_values(self.gate, score), experts) + self.offset
        return out
