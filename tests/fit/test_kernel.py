"""The compiled code against the plain one, which has tests of its own against dense algebra and differences."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from moestat.fit import kernel, newton
from moestat.fit.moments import Problem
from moestat.fit.newton import least_squares
from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES, SCORES
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample, split
from moestat.status import Status

compiled = pytest.mark.skipif(not kernel.vector_bits(), reason=kernel.describe())

MODELS = [(Model(g, s, e, 2, 3 if e == "polynomial" else 1), 3) for g in GATES for s in SCORES for e in EXPERTS]
MODELS += [(Model(g, "full", e, d), n) for d, n in ((8, 9), (12, 4)) for g in GATES for e in ("linear", "relu", "gelu")]
MODELS += [(Model("own_functions:arctan_gate", s, "own_functions:swish", 3), 4) for s in SCORES]
MODELS += [(Model("sigmoid", "linear", "linear", 1), 1), (Model("softmax", "full", "relu", 1), 7)]
IDS = [f"{m.gate}-{m.score}-{m.expert}-{m.d}-{n}" for m, n in MODELS]


def _problem(model, n_atoms, batch, n, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(batch, n_atoms, model.atom_size)) / np.sqrt(model.d)
    return theta, rng.uniform(-1, 1, (batch, n, model.d)), rng.normal(size=(batch, n))


def _both(model, n_atoms, x, y, precision):
    from moestat.fit.compiled_problem import CompiledProblem

    return CompiledProblem(model, n_atoms, x, y, precision), Problem(model, n_atoms, x, y, precision)


@compiled
@pytest.mark.parametrize(("model", "n_atoms"), MODELS, ids=IDS)
def test_loss_gradient_and_hessian_are_the_plain_ones(model, n_atoms):
    # one chunk and a part that is no whole number of vectors
    theta, x, y = _problem(model, n_atoms, 2, 515, seed=1)
    tau = np.array([0.2, 0.0])[:, None, None] if model.expert == "relu" else 0.0
    curvature = np.array([1.0, 0.0])[:, None, None]
    for precision, tolerance in (("double", 1e-13), ("mixed", 1e-6)):
        fast, plain = _both(model, n_atoms, x, y, precision)
        expected = plain.hessian(theta, tau, curvature)
        actual = fast.hessian(theta, tau, curvature)
        np.testing.assert_allclose(fast.loss(theta, tau), expected[0], rtol=1e-13)
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-13)
        np.testing.assert_allclose(actual[1], expected[1], atol=1e-13 * np.abs(expected[1]).max())
        np.testing.assert_array_equal(actual[2], np.swapaxes(actual[2], 1, 2))
        for a, b in zip(actual[2], expected[2], strict=True):
            np.testing.assert_allclose(a, b, atol=tolerance * np.abs(b).max())


@compiled
@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("gate", [*GATES, "own_functions:arctan_gate"])
def test_members_do_not_change_a_bit_of_each_other(gate, precision):
    model = Model(gate, "full", "relu", 2)
    theta, x, y = _problem(model, 3, 5, 700, seed=3)
    x[2, 650:] = np.nan  # a member that is not finite leaves nothing behind in the work arrays
    tau = np.array([0.0, 0.1, 0.01, 0.1, 0.2])[:, None, None]
    curvature = np.array([0.0, 1.0, 1.0, 0.0, 1.0])[:, None, None]
    together, _ = _both(model, 3, x, y, precision)
    full = together.hessian(theta, tau, curvature)
    assert np.isnan(full[0][2]) and np.isfinite(np.delete(full[2], 2, axis=0)).all()
    some = np.array([3, 1])
    taken = together.of(some)
    again = taken.hessian(theta[some], tau[some], curvature[some])
    double = taken.in_double().hessian(theta[some], tau[some], curvature[some])
    for k in (0, 1, 3, 4):
        one = slice(k, k + 1)
        alone, _ = _both(model, 3, x[one], y[one], precision)
        for a, b in zip(full, alone.hessian(theta[one], tau[one], curvature[one]), strict=True):
            np.testing.assert_array_equal(a[k], b[0])
    for a, b, c in zip(full, again, double, strict=True):
        np.testing.assert_array_equal(a[some], b)
        if precision == "double":
            np.testing.assert_array_equal(b, c)


def _data(model, n, batch, seed):
    truth = 3 * ground_truth(model, 2, "dense", np.random.default_rng(seed))
    draws = [sample(model, truth, n, 1e-4, np.random.default_rng(seed + 1 + b)) for b in range(batch)]
    starts = split(model, truth, 2) + 0.02 * np.random.default_rng(9).normal(size=(batch, 1, *truth.shape))
    return np.stack([x for x, _ in draws]), np.stack([y for _, y in draws]), starts


@pytest.fixture
def fresh():
    kernel._choice.cache_clear()
    yield
    kernel._choice.cache_clear()


def test_without_numba_numpy_computes_and_says_so(monkeypatch, fresh):
    monkeypatch.delenv("MOESTAT_KERNEL", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert kernel.used() == ""
    model = Model("sigmoid", "full", "linear", 1)
    x, y, starts = _data(model, 100, 1, 6)
    assert type(newton.problem_of(model, 2, x, y, "mixed")) is Problem
    assert least_squares(model, x, y, starts).status[0] == Status.CONVERGED
    assert kernel.describe() == kernel.used() == f"numpy {np.__version__} (numba is not installed)"


def test_the_environment_decides_and_is_checked(monkeypatch, fresh):
    monkeypatch.setattr(kernel, "_native", lambda: (256, ""))
    for asked, bits in (("", 256), ("numpy", 0), ("128", 128), ("256", 256)):
        monkeypatch.setenv("MOESTAT_KERNEL", asked)
        assert kernel.vector_bits() == bits
    if importlib.util.find_spec("numba"):
        assert kernel.describe().endswith("256-bit vectors")
    for asked, words in (("512", "256 bits"), ("avx", "allowed are numpy, 512, 256, 128")):
        monkeypatch.setenv("MOESTAT_KERNEL", asked)
        with pytest.raises(ValueError, match=words):
            kernel.vector_bits()


PRODUCTS = """
import numpy as np
from moestat.fit import compiled, panels as room
rng = np.random.default_rng(0)
for itemsize, tolerance in ((4, 2e-6), (8, 1e-13)):
    m, count, padded = 11, 17, 96
    left, right = room.zeros(20, itemsize), room.zeros(20, itemsize)
    left[:m], right[:count] = rng.normal(size=(m, left.shape[1])), rng.normal(size=(count, left.shape[1]))
    sums, offsets = room.room_for_sums([(3, 3), (m, count)], itemsize)
    none = np.zeros(20, dtype=np.int64)
    for _ in range(2):
        compiled.add_products(left, m, right, 20, count, none, none, right, sums, offsets[1], padded)
    expected = 2 * left[:m, :padded].astype(float) @ right[:count, :padded].astype(float).T
    actual = sums[room.places(m, count, itemsize) + offsets[1]]
    assert np.abs(actual - expected).max() < tolerance * np.abs(expected).max(), (itemsize, actual, expected)
    assert not sums[: offsets[1]].any()
print(compiled.WIDTH)
"""


@compiled
@pytest.mark.parametrize(
    "bits",
    # the narrowest is compiled anew for this test alone
    [pytest.param(b, marks=[pytest.mark.slow] * (b < 256)) for b in kernel.WIDTHS if b <= kernel.vector_bits()],
)
def test_products_are_right_for_vectors_of_every_width(bits, capsys):
    if bits == kernel.vector_bits():  # what this process has compiled anyway
        exec(PRODUCTS, {})
        assert capsys.readouterr().out.strip() == str(bits // 8)
        return
    result = subprocess.run(
        [sys.executable, "-c", PRODUCTS],
        env=os.environ | {"MOESTAT_KERNEL": str(bits)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == str(bits // 8), result.stderr


def abs_plus_one(x):
    return abs(x) + 1.0


@compiled
@pytest.mark.parametrize("problem", ["", "is a file", "cannot be written"])
def test_compiled_code_is_kept_in_the_users_cache_if_it_can_be(problem, monkeypatch, tmp_path):
    place = tmp_path / "cache"
    if problem == "is a file":
        place.write_text("")
    elif problem:
        monkeypatch.setattr(kernel.tempfile, "TemporaryFile", lambda **_: (_ for _ in ()).throw(PermissionError))
    monkeypatch.setenv("MOESTAT_CACHE", str(place))
    kernel._folder.cache_clear()
    try:
        assert kernel.compiled(abs_plus_one)(-2.0) == 3.0
        assert bool(list(tmp_path.glob("cache/kernels/*/**/*.nbi"))) == (not problem)
    finally:
        kernel._folder.cache_clear()
