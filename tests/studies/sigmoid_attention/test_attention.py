"""Attention is a mixture of experts: by the definition, by torch's own layer, and in the experiment."""

from functools import partial

import numpy as np
import pytest
from cells import computed

from studies.sigmoid_attention.parts import attention_is_moe
from studies.sigmoid_attention.parts.attention_is_moe import AttentionLayer

RNG = np.random.default_rng(20260705)


def layer(d=4, heads=2, size=2, gate="softmax", scale=1.0, biases=True):
    """A drawn layer whose heads' outputs have d coordinates."""
    query, key, value = (RNG.standard_normal((heads, d, size)) for _ in range(3))
    output = RNG.standard_normal((heads, size, d))
    bias = [biases * RNG.standard_normal(shape) for shape in [(heads, size)] * 3 + [(d,)]]
    return AttentionLayer(query, key, value, output, *bias, gate, scale)


def by_hand(x, w, gate):
    """The definition in section 2.3 for one bare head of scale 1, token by token."""
    rows = []
    for i in range(len(x)):
        s = np.array([x[i] @ w.query[0] @ w.key[0].T @ x[j] for j in range(len(x))])
        g = 1 / (1 + np.exp(-s)) if gate == "sigmoid" else np.exp(s) / np.sum(np.exp(s))
        rows.append(sum(g[j] * x[j] @ w.value[0] @ w.output[0] for j in range(len(x))))
    return np.array(rows)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
def test_a_bare_head_is_the_definition_and_its_atoms_are_those_of_the_paper(gate):
    d, n = 3, 4
    bare, x = layer(d, 1, gate=gate, biases=False), RNG.standard_normal((n, d))
    np.testing.assert_allclose(bare(x, np.zeros((n, n))), by_hand(x, bare, gate), rtol=1e-12)
    atoms = bare.atoms(1, np.zeros((n, n)))
    select = [np.eye(n * d)[:, j * d : (j + 1) * d] for j in range(n)]
    for j in range(n):
        form = select[1] @ bare.query[0] @ bare.key[0].T @ select[j].T
        np.testing.assert_allclose(atoms.a_matrix[0, j], form, rtol=1e-14)
        np.testing.assert_allclose(atoms.a[0, j], select[j] @ bare.value[0] @ bare.output[0])
    assert not atoms.b.any() and not atoms.c.any() and not atoms.beta.any()


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_regression_model_of_the_atoms_is_the_layer(gate, causal):
    read, n, d = layer(gate=gate), 3, 4
    x = RNG.standard_normal((6, n, d))
    mask = np.where(np.tri(n, dtype=bool), 0.0, -np.inf) if causal else RNG.standard_normal((n, n))
    for row in range(n):
        atoms = read.atoms(row, mask)
        assert atoms.c.shape[1] == (row + 1 if causal else 3)
        expected = np.array([read(one, mask)[row] for one in x])
        np.testing.assert_allclose(atoms(x.reshape(6, -1)), expected, rtol=1e-10, atol=1e-12)
        f = atoms.model.predict(atoms.theta(2), x.reshape(6, -1)).sum(axis=0) + atoms.offset[2]
        np.testing.assert_allclose(f, expected[:, 2], rtol=1e-10, atol=1e-12)


def test_the_layer_is_that_of_torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(6, 3, batch_first=True, dtype=torch.float64)
    w = {name: p.detach().normal_().numpy() for name, p in theirs.named_parameters()}
    query, key, value = np.swapaxes(w["in_proj_weight"].reshape(3, 3, 2, 6), 2, 3)
    output = w["out_proj.weight"].T.reshape(3, 2, 6)
    read = AttentionLayer(
        query, key, value, output, *w["in_proj_bias"].reshape(3, 3, 2), w["out_proj.bias"], "softmax", 2**-0.5
    )
    x = RNG.standard_normal((5, 6))
    with torch.no_grad():
        expected = theirs(*[torch.from_numpy(x)[None]] * 3)[0][0].numpy()
    np.testing.assert_allclose(read(x, np.zeros((5, 5))), expected, rtol=1e-10, atol=1e-10)


run = partial(computed, attention_is_moe, seed=5, most_tokens=6, most_width=5)


@pytest.mark.parametrize(
    "settings",
    [
        {"gate": "sigmoid", "heads": 2},
        {"gate": "softmax", "heads": 3, "biases": True},
        {"gate": "sigmoid", "causal": True, "language_model": True},
    ],
)
def test_deviations_are_rounding(settings):
    ds = run(range(8), **settings)
    assert ds.share.max() <= 1 and ds.model_ulps.max() <= 64 and ds.relative.max() < 1e-12
    assert ds["rank"].max() <= 1
    assert (ds.slope.max() > 0) == settings.get("biases", False)
