"""The kernels for GPUs, compiled as C and run thread by thread: the same numbers as the plain code."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

from moestat.fit import cuda, moments
from moestat.fit.cuda_problem import CudaProblem
from moestat.fit.moments import Problem
from moestat.models.regression import Model

HEAD = """#include <math.h>
#include <stdbool.h>
#define __device__
#define __global__
struct { long long x, y; } blockIdx, blockDim, threadIdx;
"""
MODELS = [
    Model("softmax", "full", "relu", 2),
    Model("sigmoid", "full", "linear", 3),
    Model("softmax", "partial", "gelu", 2),
    Model("sigmoid", "linear", "polynomial", 2, 1),
    Model("softmax", "linear", "polynomial", 1, 2),
    Model("sigmoid", "linear", "polynomial", 1, 3),
]


class Place(ctypes.Structure):
    _fields_ = [("x", ctypes.c_longlong), ("y", ctypes.c_longlong)]


def argument(value):
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return {"i": {4: ctypes.c_int, 8: ctypes.c_longlong}, "f": {8: ctypes.c_double}}[value.dtype.kind][value.itemsize](
        value.item()
    )


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Let a C compiler and a loop stand in the place of CUDA."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler, cc")
    number = itertools.count()

    def kernel(name, definitions=""):
        stem = tmp_path / f"kernel{next(number)}"
        stem.with_suffix(".c").write_text(HEAD + definitions + cuda.source().replace('extern "C" ', ""))
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", f"{stem}.so", f"{stem}.c", "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        library = ctypes.CDLL(f"{stem}.so")
        function, (block, width, thread) = (
            getattr(library, name),
            (Place.in_dll(library, name) for name in ("blockIdx", "blockDim", "threadIdx")),
        )

        def run(grid, threads, arguments):
            width.x = threads[0]
            values = [argument(value) for value in arguments]
            for block.x, block.y, thread.x in itertools.product(*map(range, (*grid, *threads))):
                function(*values)

        return run

    monkeypatch.setattr(cuda, "kernel", kernel)


def case(model, sets, share, n=70, atoms=3, seed=0):
    rng = np.random.default_rng(seed)
    theta = 0.7 * rng.standard_normal((sets * share, atoms, model.atom_size))
    return rng.standard_normal((sets, n, model.d)), rng.standard_normal((sets, n)), theta


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.gate}-{m.score}-{m.expert}")
@pytest.mark.parametrize(("sets", "share", "kept"), [(1, 3, True), (2, 2, False), (3, 1, True)])
def test_numbers_are_those_of_the_plain_code(compiled, monkeypatch, model, sets, share, kept):
    x, y, theta = case(model, sets, share)
    monkeypatch.setattr(moments, "rows_per_chunk", lambda *_: 40)
    tau, curvature = np.linspace(0.0, 0.4, len(theta))[:, None, None], np.linspace(0.0, 1.0, len(theta))[:, None, None]
    plain = Problem(model, 3, x, y, "double")
    expected = plain.hessian(theta, tau, curvature)
    if not kept:
        monkeypatch.setattr(moments, "cache_bytes", lambda like: 0)
    problem = CudaProblem(model, 3, x, y)
    assert len(problem.chunks) == 2 and problem.cached is kept
    for found, true in zip(problem.hessian(theta, tau, curvature), expected, strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-11, atol=1e-11 * np.abs(true).max())
    np.testing.assert_allclose(problem.loss(theta, tau), plain.loss(theta, tau), rtol=1e-12)
    np.testing.assert_allclose(problem.loss(theta, 0.1), plain.loss(theta, 0.1), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.gate}-{m.score}-{m.expert}")
@pytest.mark.parametrize("coordinate", [0, -1])
@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_what_is_not_a_number_has_no_loss(compiled, model, coordinate, tau):
    x, y, theta = case(model, 1, 2)
    theta[0, 0, coordinate] = np.nan
    problem = CudaProblem(model, 3, x, y)
    for loss in (problem.loss(theta, tau), problem.hessian(theta, tau)[0]):
        np.testing.assert_array_equal(np.isfinite(loss), [False, True])


@pytest.mark.parametrize("sets", [1, 4])
@pytest.mark.parametrize("wanted", [[True, False, True, True], [False, True, False, False]])
def test_members_that_are_not_wanted_keep_what_they_have(compiled, sets, wanted):
    model, wanted = MODELS[0], np.array(wanted)
    x, y, theta = case(model, sets, 4 // sets)
    problem, plain = CudaProblem(model, 3, x, y), Problem(model, 3, x, y, "double")
    p = 3 * model.atom_size
    into = (np.full(4, 7.0), np.full((4, p), 7.0), np.full((4, p, p), 7.0))
    for found, true in zip(problem.hessian(theta, 0.1, 1.0, wanted, into), plain.hessian(theta, 0.1), strict=True):
        np.testing.assert_allclose(found[wanted], true[wanted], rtol=1e-11, atol=1e-12)
        assert np.all(found[~wanted] == 7.0)
    np.testing.assert_allclose(problem.loss(theta, 0.1, wanted)[wanted], plain.loss(theta, 0.1)[wanted], rtol=1e-12)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("data", [[1, 0, 1, 1, 1, 0], [2, 0, 1, 2], [1, 1, 1, 1]])
def test_members_may_be_on_any_data_sets_in_any_order(compiled, monkeypatch, data, kept):
    model, data = MODELS[1], np.array(data)
    x, y, _ = case(model, 3, 1)
    theta = case(model, 1, len(data))[2]
    if not kept:
        monkeypatch.setattr(moments, "cache_bytes", lambda like: 0)
    problem, plain = CudaProblem(model, 3, x, y).of(data), Problem(model, 3, x[data], y[data], "double")
    true = plain.hessian(theta, 0.0, 0.5)
    for wanted in (None, np.arange(len(data)) % 3 != 1, np.arange(len(data)) == 1):
        which = slice(None) if wanted is None else wanted
        for found, expected in zip(problem.hessian(theta, 0.0, 0.5, wanted), true, strict=True):
            np.testing.assert_allclose(found[which], expected[which], rtol=1e-11, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(problem.loss(theta, 0.0, wanted)[which], true[0][which], rtol=1e-12)


def test_damping_leaves_the_identity_where_a_coordinate_is_held(compiled):
    rng = np.random.default_rng(0)
    h, damping, free = rng.standard_normal((3, 5, 5)), np.array([0.0, 1.0, 2.0]), rng.random((3, 5)) < 0.6
    out = np.full_like(h, np.nan)
    rows = np.array([2, 0, 0])
    cuda.launch(cuda.kernel("damp"), 25, 3, h, damping, free, rows, np.int64(5), out)
    for k in range(3):
        expected = np.eye(5)
        places = np.ix_(free[k], free[k])
        expected[places] = h[rows[k]][places] + damping[k] * np.eye(free[k].sum())
        np.testing.assert_array_equal(out[k], expected)
