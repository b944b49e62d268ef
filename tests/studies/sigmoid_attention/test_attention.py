from functools import partial

import numpy as np
import pytest
from cells import computed

from studies.sigmoid_attention.parts import attention_is_moe
from studies.sigmoid_attention.parts.attention import from_torch, head

RNG = np.random.default_rng(20260705)


def layer(d=4, heads=2, gate="softmax", biases=True):
    shapes = ((3 * d, d), (d, d), (3 * d,), (d,))
    weight, out, bias, end = (RNG.standard_normal(shape) for shape in shapes)
    extra = {"in_proj_bias": bias, "out_proj_bias": end} if biases else {}
    return from_torch(weight, out, heads, gate=gate, **extra)


def by_hand(x, w, gate):
    """The definition in section 2.3 for one bare head of scale 1, token by token."""
    query, key, value = w
    rows = []
    for i in range(len(x)):
        s = np.array([x[i] @ query @ key.T @ x[j] for j in range(len(x))])
        g = 1 / (1 + np.exp(-s)) if gate == "sigmoid" else np.exp(s) / np.sum(np.exp(s))
        rows.append(sum(g[j] * x[j] @ value for j in range(len(x))))
    return np.array(rows)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
def test_a_bare_head_is_the_definition_and_its_atoms_are_those_of_the_paper(gate):
    d, size, n = 3, 2, 4
    w = [RNG.standard_normal((d, size)), RNG.standard_normal((d, size)), RNG.standard_normal((d, 5))]
    x = RNG.standard_normal((n, d))
    bare = head(*w, gate=gate, scale=1.0)
    np.testing.assert_allclose(bare(x), by_hand(x, w, gate), rtol=1e-12)
    atoms = bare.atoms(n, 1)
    select = [np.eye(n * d)[:, j * d : (j + 1) * d] for j in range(n)]
    for j in range(n):
        np.testing.assert_allclose(atoms.a_matrix[0, j], select[1] @ w[0] @ w[1].T @ select[j].T, rtol=1e-14)
        np.testing.assert_allclose(atoms.a[0, j], select[j] @ w[2])
    assert not atoms.b.any() and not atoms.c.any() and not atoms.beta.any()


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_regression_model_of_the_atoms_is_the_layer(gate, causal):
    read, n, d = layer(gate=gate), 3, 4
    x = RNG.standard_normal((6, n, d))
    mask = np.where(np.tri(n, dtype=bool), 0.0, -np.inf) if causal else RNG.standard_normal((2, n, n))
    for row in range(n):
        atoms = read.atoms(n, row, mask)
        assert atoms.token.tolist() == (list(range(row + 1)) if causal else [0, 1, 2])
        expected = np.array([read(one, mask)[row] for one in x])
        np.testing.assert_allclose(atoms(x.reshape(6, -1)), expected, rtol=1e-10, atol=1e-12)
        f = atoms.model.predict(atoms.theta(2), x.reshape(6, -1)).sum(axis=0) + atoms.offset[2]
        np.testing.assert_allclose(f, expected[:, 2], rtol=1e-10, atol=1e-12)


def test_a_torch_layer_is_read():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(6, 3, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_()
    w = {name: p.detach().numpy() for name, p in theirs.named_parameters()}
    read = from_torch(
        w["in_proj_weight"], w["out_proj.weight"], 3, in_proj_bias=w["in_proj_bias"], out_proj_bias=w["out_proj.bias"]
    )
    x = RNG.standard_normal((5, 6))
    with torch.no_grad():
        expected = theirs(*[torch.from_numpy(x)[None]] * 3)[0][0].numpy()
    np.testing.assert_allclose(read(x), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(read.atoms(5, 2)(x.reshape(1, -1))[0], expected[2], rtol=1e-10, atol=1e-10)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="must be \\(3 d, d\\)"):
        from_torch(np.ones((4, 4)), np.ones((4, 4)), 1)
    with pytest.raises(ValueError, match="must divide"):
        from_torch(np.ones((12, 4)), np.ones((4, 4)), 3)
    with pytest.raises(ValueError, match="in_proj_bias"):
        from_torch(np.ones((12, 4)), np.ones((4, 4)), 2, in_proj_bias=np.ones(4))
    with pytest.raises(ValueError, match="row is 3"):
        layer().atoms(3, 3)
    with pytest.raises(ValueError, match="at least one"):
        layer().atoms(3, 0, np.full((3, 3), -np.inf))


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
