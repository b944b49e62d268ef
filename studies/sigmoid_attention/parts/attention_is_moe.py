r"""Attention layers read as mixtures of experts with quadratic scores ("sigmoid-attention", section 2.3).

With the tokens x_1..x_n of a sequence in one row X = [x_1, ..., x_n], D = n d, and E_j the selector of token j,
X E_j = x_j, row i of an attention head is

.. math:: \sum_j g_{ij}(X) \, X E_j W_V, \qquad s_{ij}(X) = X E_i B E_j' X',

a mixture of n experts, linear in X, whose scores are quadratic in X. Biases of a layer fit in: with
q = x W_Q + b_Q and k = x W_K + b_K the score is fully quadratic,

.. math:: s_{ij} = \kappa \big( x_i W_Q W_K' x_j' + x_i W_Q b_K' + x_j W_K b_Q' + b_Q b_K' \big) + m_{ij},

kappa being the scale and m_ij what is added to the logits: a position bias, or -log n in sigmoid attention (eq. 85).
Without biases b = 0: the score is partially quadratic. Only the symmetric part of A = kappa E_i W_Q W_K' E_j' enters.

A replicate is a random layer and a random sequence. Every row of the layer's output is computed twice: as attention,
and by the mixture from the atoms (A, b, c, a, beta) alone. Deviations are in units in the last place of the sum of the
absolute terms, sum_j g_j (1 + |s|_j) |h|_j: what rounding of one operation can do, whatever cancels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models.gates import Gate, gate_values, pack_symmetric
from moestat.models.regression import Model
from moestat.replicates import Row, Streams, each

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell."""

    gate: Gate = "sigmoid"
    """What weights the tokens."""
    heads: int = Field(1, ge=1, le=8, description="attention heads")
    biases: bool = Field(False, description="whether queries, keys, values and the output have biases")
    causal: bool = Field(False, description="whether a token sees only itself and earlier ones")
    language_model: bool = Field(False, description="adds -log(number of tokens) to the scores, SA eq. (85)")
    most_tokens: int = Field(12, ge=2, le=64, description="the length is uniform on 2 .. this")
    most_width: int = Field(8, ge=2, le=32, description="d and d_k are uniform on 2 .. this")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.language_model and self.gate != "sigmoid":
            raise ValueError("language_model goes with gate 'sigmoid'; a softmax does not see a common shift")
        return self


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

    def scores(self, tokens: np.ndarray) -> np.ndarray:
        """Return the scores (H, n, n) at tokens (n, d), without what is added to them."""
        q, k = tokens @ self.query + self.query_bias[:, None, :], tokens @ self.key + self.key_bias[:, None, :]
        return np.asarray(self.scale * (q @ np.swapaxes(k, 1, 2)))

    def weights(self, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return what the gate makes of scores and mask (n, n), in which -inf hides a token."""
        return np.swapaxes(gate_values(self.gate, np.swapaxes(self.scores(tokens) + mask, 1, 2)), 1, 2)

    def __call__(self, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the layer's output (n, d_o) at tokens (n, d), as attention computes it."""
        values = tokens @ self.value + self.value_bias[:, None, :]
        out: np.ndarray = np.sum((self.weights(tokens, mask) @ values) @ self.output, axis=0) + self.output_bias
        return out

    def atoms(self, row: int, mask: np.ndarray) -> AttentionAtoms:
        """Read the output for one token as a mixture of experts; tokens that the mask hides have no atom."""
        heads, d, _ = self.query.shape
        visible = np.flatnonzero(mask[row] > -np.inf)
        big = len(mask) * d
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
        score, intercept = constant[:, None] + mask[row, visible], np.einsum("hv,hvo->ho", self.value_bias, self.output)
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

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Evaluate the mixtures at sequences x (m, D), tokens in one row; returns (m, d_o)."""
        score = np.einsum("ma,hnab,mb->hnm", x, self.a_matrix, x, optimize=True) + self.b @ x.T + self.c[..., None]
        experts = np.einsum("ma,hnao->hnmo", x, self.a, optimize=True) + self.beta[:, None, None, :]
        out: np.ndarray = np.einsum("hnm,hnmo->mo", gate_values(self.gate, score), experts) + self.offset
        return out


def _layer(s: Settings, rng: np.random.Generator) -> tuple[AttentionLayer, np.ndarray, np.ndarray]:
    """Draw a layer, a sequence (n, d) and what is added to the scores (n, n)."""
    n, d, size = int(rng.integers(2, s.most_tokens + 1)), *(int(k) for k in rng.integers(2, s.most_width + 1, 2))
    h = s.heads
    query, key, value = (rng.standard_normal((h, d, size)) / np.sqrt(d) for _ in range(3))
    output = rng.standard_normal((h, size, d)) / np.sqrt(size * h)
    on = 1.0 if s.biases else 0.0
    bq, bk, bv = (on * rng.standard_normal((h, size)) for _ in range(3))
    end = on * rng.standard_normal(d)
    layer = AttentionLayer(query, key, value, output, bq, bk, bv, end, s.gate, 1.0 / float(np.sqrt(size)))
    mask = np.where(np.tri(n, dtype=bool), 0.0, -np.inf) if s.causal else np.zeros((n, n))
    visible = np.sum(mask > -np.inf, axis=1, keepdims=True)
    return layer, rng.standard_normal((n, d)), mask - (np.log(visible) if s.language_model else 0.0)


def magnitude(layer: AttentionLayer, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the sums of absolute terms of all rows and coordinates, (n, d_o)."""
    weights = ("query", "key", "value", "output", "query_bias", "key_bias", "value_bias", "output_bias")
    loud = replace(layer, **{name: np.abs(getattr(layer, name)) for name in weights})
    size = np.abs(tokens)
    seen = np.where(np.isfinite(mask), mask, 0.0)
    absolute = loud.scores(size) + np.abs(seen)
    if layer.gate == "softmax":  # an error of one score moves every weight
        absolute = np.max(np.where(np.isfinite(mask), absolute, 0.0), axis=2, keepdims=True)
    values = (size @ loud.value + loud.value_bias[:, None, :]) @ loud.output
    return np.sum((layer.weights(tokens, mask) * (1.0 + absolute)) @ values, axis=0) + loud.output_bias


@each(finished="Attention and mixture were compared.")
def run(s: Settings, streams: Streams) -> Row:
    """Compare attention with its mixture on one random layer and sequence per replicate.

    Per replicate ``ulps``: largest deviation over rows and coordinates; ``share``: that over the number
    D + 2 d_k + d + H n of terms in the longest chain of sums; ``model_ulps``: the deviation of :meth:`Model.predict` on
    the isometric storage of the symmetric parts; ``slope``: largest |b|.
    """
    layer, tokens, mask = _layer(s, streams("layer", heads=s.heads, gate=s.gate))
    n, d = tokens.shape
    expected = layer(tokens, mask)
    flat = tokens.reshape(1, -1)
    units = np.spacing(magnitude(layer, tokens, mask))
    deviations, in_model, slope = [], [], 0.0
    for i in range(n):
        atoms = layer.atoms(i, mask)
        deviations.append(np.abs(atoms(flat)[0] - expected[i]))
        coordinate = i % d
        mixed = float(np.sum(atoms.model.predict(atoms.theta(coordinate), flat))) + atoms.offset[coordinate]
        in_model.append(abs(mixed - expected[i, coordinate]) / units[i, coordinate])
        slope = max(slope, float(np.max(np.abs(atoms.b))))
    length = n * d + 2 * layer.query.shape[2] + d + len(layer.query) * n
    ulps = float(np.max(np.array(deviations) / units))
    return {"ulps": ulps, "share": ulps / length, "model_ulps": float(np.max(in_model)), "slope": slope}
