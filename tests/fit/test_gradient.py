"""The papers' protocol: against PyTorch, against a loop in full matrices, and its documented laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.arrays import to_numpy
from moestat.fit.gradient import on_all_samples, perturb, sgd
from moestat.models import truths
from moestat.models.gates import pack_symmetric, unpack_symmetric
from moestat.models.regression import Model

pytestmark = pytest.mark.filterwarnings("error")


def _case(model, replicates=3, starts=2, n=41, atoms=3, epochs=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, atoms, "dense", rng)
    data = [truths.sample(model, truth, n, 0.01, rng) for _ in range(replicates)]
    start = np.stack([perturb(np.stack([truth] * starts), 0.3, rng) for _ in range(replicates)])
    order = np.stack([[rng.permutation(n) for _ in range(epochs)] for _ in range(replicates)])
    return np.stack([x for x, _ in data]), np.stack([y for _, y in data]), start, order


MODELS = [
    Model(gate, score, expert, 3)
    for gate, score, expert in (
        ("sigmoid", "full", "relu"),
        ("softmax", "partial", "gelu"),
        ("softmax", "full", "linear"),
    )
]
IDS = [f"{m.gate}-{m.score}-{m.expert}" for m in MODELS]


def _torch_sgd(model, x, y, start, order, batch_size, step, epochs):
    """One replicate, the way the protocol is written in PyTorch: full matrices A, MSELoss, SGD."""
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    a = torch.tensor(unpack_symmetric(start[:, model.a_matrix], model.d), requires_grad=True)
    b = torch.tensor(start[:, model.b], requires_grad=True)
    c = torch.tensor(start[:, 0], requires_grad=True)
    eta = torch.tensor(start[:, model.eta], requires_grad=True)
    optimiser = torch.optim.SGD([a, b, c, eta], lr=step)
    x, y = torch.tensor(x), torch.tensor(y)
    for epoch in range(epochs):
        for k in range(0, len(y), batch_size):
            rows = torch.tensor(order[epoch, k : k + batch_size])
            part = x[rows]
            scores = torch.einsum("ka,iab,kb->ki", part, a, part) + c
            if b.shape[1]:
                scores = scores + part @ b.T
            gate = torch.sigmoid(scores) if model.gate == "sigmoid" else torch.softmax(scores, dim=1)
            h = part @ eta[:, :-1].T + eta[:, -1]
            value = {"relu": functional.relu, "gelu": functional.gelu, "linear": lambda z: z}[model.expert](h)
            optimiser.zero_grad()
            functional.mse_loss((gate * value).sum(1), y[rows]).backward()
            optimiser.step()
    matrices = a.detach().numpy()
    parts = [c.detach().numpy()[:, None], b.detach().numpy(), pack_symmetric(matrices), eta.detach().numpy()]
    return np.concatenate(parts, axis=1), matrices


@pytest.mark.parametrize("model", MODELS, ids=IDS)
@pytest.mark.parametrize("batch_size", [1, 8, 41])
def test_pytorch_on_full_matrices_takes_the_same_steps(model, batch_size):
    x, y, start, order = _case(model)
    if batch_size == 41:
        order = np.broadcast_to(np.arange(41), order.shape)
    ended = sgd(model, x, y, start, batch_size=batch_size, order=list(order), epochs=2, step=0.1)
    assert not np.allclose(ended, start, atol=1e-3)
    for r in range(3):
        for k in range(2):
            expected, matrices = _torch_sgd(model, x[r], y[r], start[r, k], order[r], batch_size, 0.1, 2)
            np.testing.assert_allclose(ended[r, k], expected, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(matrices, matrices.transpose(0, 2, 1), atol=1e-12)


def _bits(x):
    return to_numpy(x).tobytes()


@settings(max_examples=10, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    batch_size=st.sampled_from([1, 2, 8, 40, 41]),
    rows=st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True),
    columns=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
)
def test_no_bit_depends_on_the_rest_of_the_batch(model, batch_size, rows, columns):
    x, y, start, order = _case(model, replicates=6, starts=3)
    options = {"batch_size": batch_size, "epochs": 2}
    together = sgd(model, x, y, start, order=list(order), **options)
    part = sgd(model, x[rows], y[rows], start[rows][:, columns], order=list(order[rows]), **options)
    assert _bits(part) == _bits(together[rows][:, columns])


def test_values_on_all_samples_are_those_of_the_model():
    model, rng = Model("softmax", "full", "relu", 2), np.random.default_rng(3)
    x, y, theta = rng.uniform(-1, 1, (3, 700, 2)), rng.standard_normal((3, 700)), rng.standard_normal((3, 2, 4, 9))
    loss, gradient = on_all_samples(model, 4, x, y)(theta)
    plain_loss, plain = model.gradient(theta, x[:, None], y[:, None])
    np.testing.assert_allclose(loss, plain_loss, rtol=1e-12)
    np.testing.assert_allclose(gradient, plain, rtol=1e-10, atol=1e-13)


def test_generators_draw_one_permutation_per_epoch():
    x, y, start, _ = _case(MODELS[0])
    rngs = [np.random.default_rng(r) for r in range(3)]
    drawn = np.stack([[rng.permutation(41) for _ in range(2)] for rng in rngs])
    by_hand = sgd(MODELS[0], x, y, start, batch_size=8, order=list(drawn), epochs=2)
    fresh = [np.random.default_rng(r) for r in range(3)]
    assert _bits(sgd(MODELS[0], x, y, start, batch_size=8, order=fresh, epochs=2)) == _bits(by_hand)


def test_divergence_is_left_in_the_result_and_spares_the_others():
    model = Model("softmax", "full", "polynomial", 3, power=3)
    x, y, start, order = _case(model)
    wild = start.copy()
    wild[1, 0] *= 100.0
    ended = sgd(model, x, y, wild, batch_size=8, order=list(order), epochs=2)
    clean = sgd(model, x, y, start, batch_size=8, order=list(order), epochs=2)
    assert not np.isfinite(ended[1, 0]).all()
    for r, k in ((0, 0), (0, 1), (1, 1), (2, 0), (2, 1)):
        assert _bits(ended[r, k]) == _bits(clean[r, k])


def test_radii_share_their_direction():
    theta = np.ones((2, 5))
    near = perturb(theta, 0.01, np.random.default_rng(3)) - theta
    far = perturb(theta, 1.0, np.random.default_rng(3)) - theta
    np.testing.assert_allclose(100 * near, far, rtol=1e-10)
    np.testing.assert_array_equal(perturb(theta, 0.0, np.random.default_rng(3)), theta)
    with pytest.raises(ValueError, match="radius"):
        perturb(theta, -0.1, np.random.default_rng(3))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0; allowed are 1 to n = 41"),
        ({"step": 0.0}, "step"),
        ({"epochs": -1}, "epochs"),
        ({"order": None}, "not given"),
        ({"order": [np.zeros((2, 41), dtype=int)] * 3}, "replicate 0 must be 2 permutations"),
        ({"y": np.zeros((3, 40))}, "shapes"),
    ],
)
def test_wrong_arguments_are_named(change, words):
    x, y, start, order = _case(MODELS[0])
    arguments = {"x": x, "y": y, "start": start, "batch_size": 8, "order": list(order), "epochs": 2, **change}
    with pytest.raises(ValueError, match=words):
        sgd(MODELS[0], **arguments)
