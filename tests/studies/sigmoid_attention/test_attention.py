"""Attention is a mixture of experts: by its atoms, and by torch's own layer."""

import numpy as np
import pytest

from studies.sigmoid_attention.parts.attention_is_moe import AttentionLayer

RNG = np.random.default_rng(20260705)


def layer(d=4, heads=2, size=2, gate="softmax", scale=1.0, biases=True):
    """A drawn layer whose heads' outputs have d coordinates."""
    query, key, value = (RNG.standard_normal((heads, d, size)) for _ in range(3))
    output = RNG.standard_normal((heads, size, d))
    bias = [biases * RNG.standard_normal(shape) for shape in [(heads, size)] * 3 + [(d,)]]
    return AttentionLayer(query, key, value, output, *bias, gate, scale)


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
