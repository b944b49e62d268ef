"""What users call of rates, losses and fit takes arrays as they have them: the float64 answer, or a sentence."""

import importlib
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from moestat import rates
from moestat.doors import as_float64
from moestat.errors import InputError
from moestat.fit.global_search import Budget
from moestat.losses import voronoi
from moestat.models.competition import Competition
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian

MODEL = Model("sigmoid", "full", "linear", 1)
SOFT = Model("softmax", "full", "linear", 1)
PARTIAL = Model("sigmoid", "partial", "relu", 1)
GAUSS = SoftmaxGaussian(1)
GATED = GaussianGate(1)
COMP = Competition(1, "affine", 1)

# whole numbers and halves: float16 holds them, and what integers keep of them is a problem, too
TRUTH = np.array([[1.0, 2.0, -1.5, 3.0, 1.0], [-1.0, -2.5, 1.0, -2.0, 2.0]])
FITTED = TRUTH + np.array([[[0.5, -1.0, 0.0, 1.0, 0.5], [0.0, 0.5, 1.0, 0.0, -0.5]], [[1.0] * 5, [-1.0] * 5]])
PART_TRUTH = TRUTH[:, [0, 2, 3, 4]]
PART_FITTED = FITTED[..., [0, 2, 3, 4]]
GAUSS_TRUTH = np.array([[1.0, 2.0, -1.0, 3.0, 1.0], [0.0, -2.0, 1.0, -2.0, 2.0]])
GAUSS_FITTED = GAUSS_TRUTH + np.array([[[0.5, 1.0, 0.0, -1.0, 1.0], [0.0, -0.5, 1.0, 1.0, 0.0]]])
GATED_TRUTH = np.array([[1.0, 0.0, 1.0, 2.0, -1.0, 3.0], [2.0, 1.0, 2.0, -2.0, 1.0, 1.0]])
GATED_FITTED = GATED_TRUTH + np.array([[[0.5, 1.0, 0.0, -1.0, 1.0, 2.0], [0.0, -0.5, 1.0, 1.0, 0.0, 0.5]]])
COMP_TRUTH = np.array([[2.0, 1.0, 1.0], [-3.0, 0.5, 2.0]])
COMP_FITTED = COMP_TRUTH + np.array([[[1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]])
DRAWN = np.random.default_rng(3)
POINTS = np.array([[-1.0], [-0.5], [0.0], [1.0], [2.0], [1.5], [-2.0], [-1.5], [0.5], [2.5], [-2.5], [3.0], [-3.0]])
X = np.concatenate([POINTS, POINTS + 1.0, POINTS - 1.0])[None]
Y = np.rint(4.0 * DRAWN.normal(size=X.shape[:2])) / 2 + np.abs(X[..., 0])
SIZES = np.array([100.0, 300.0, 1000.0, 3000.0, 10000.0])
LOSS = np.array([[64.0, 60.5, 70.0], [36.0, 38.0, 33.5], [20.0, 19.0, 24.5], [12.0, 11.0, 14.5], [6.0, 7.5, 6.0]])
COUNTS = np.array([[4.0, 1.0, 2.0], [1.0, 6.0, 3.0]])
CLUSTER = np.array([0.0, 1.0, 1.0, 0.0, 2.0, 2.0])
STARTS = np.stack([TRUTH, FITTED[0]])[None]
GAUSS_STARTS = GAUSS_FITTED[None]
COMP_STARTS = COMP_FITTED[None]
FEW = Budget(near=1, random=1, inserted=1, screened=2, rounds=1, replaced=1, heats=((1, 0.5),), agree=1)


def stream(purpose):
    return np.random.default_rng(len(purpose))


@dataclass
class Door:
    """Arguments of a public function that are arrays, in float64, and how it is called with them."""

    call: object
    arrays: dict


def plain(**others):
    """Call with arrays by name, and the other arguments."""
    return lambda function, **arrays: function(**arrays, **others)


def between(fitted, truth, model, *names, **others):
    one, two = names or ("fitted", "truth")
    return Door(plain(model=model, **others), {one: fitted, two: truth})


FIT = {"x": X, "y": Y, "starts": STARTS}
GAUSS_FIT = {"x": X, "y": Y, "starts": GAUSS_STARTS, "truth": GAUSS_TRUTH}

DOORS = {
    "rates.difference.difference": Door(plain(), {"first": LOSS, "second": LOSS[:, ::-1] + 1.0, "over": SIZES}),
    "rates.estimate.replicate_slopes": Door(plain(), {"x": SIZES, "logs": LOSS}),
    "rates.estimate.mean_interval": Door(plain(), {"samples": LOSS}),
    "rates.laws.compare_laws": Door(plain(), {"values": LOSS, "over": SIZES}),
    "rates.loglog.fit": Door(plain(), {"values": LOSS, "over": SIZES}),
    "losses.divergences.squared_hellinger": Door(
        plain(model=COMP), {"fitted": COMP_FITTED, "truth": COMP_TRUTH, "x": POINTS}
    ),
    "losses.divergences.expected_hellinger": Door(
        plain(model=GAUSS), {"fitted": GAUSS_FITTED, "truth": GAUSS_TRUTH, "x": POINTS}
    ),
    "losses.fisher.information": Door(plain(model=MODEL), {"theta": TRUTH, "x_points": POINTS}),
    "losses.fisher.fisher_line": Door(plain(model=MODEL, noise_variance=1.0), {"theta": TRUTH, "x_points": POINTS}),
    "losses.function.rmse": Door(plain(model=MODEL), {"fitted": FITTED, "f_truth": Y[0, :13], "x_points": POINTS}),
    "losses.matching.nearest_expert": between(FITTED, TRUTH, MODEL),
    "losses.measures.competition_losses": between(COMP_FITTED, COMP_TRUTH, COMP),
    "losses.measures.softmax_losses": between(GAUSS_FITTED, GAUSS_TRUTH, GAUSS),
    "losses.measures.gaussian_gate_losses": between(GATED_FITTED, GATED_TRUTH, GATED),
    "losses.minimisers.L3_infimum": between(FITTED, TRUTH[:1], MODEL),
    "losses.minimisers.eq12": between(FITTED[0], TRUTH, MODEL, "atoms", "measure"),
    "losses.quotient.quotient": between(FITTED, TRUTH, MODEL),
    "losses.rescore.rescore": Door(
        plain(model=SOFT), {"parameters": FITTED[None], "truth": TRUTH, "n": np.array([128.0]), "x": POINTS}
    ),
    "losses.rescore.score": Door(plain(model=GAUSS), {"fitted": GAUSS_FITTED, "truth": GAUSS_TRUTH, "x": POINTS}),
    "losses.routing.counts": Door(plain(experts=3, clusters=3), {"expert": CLUSTER[::-1].copy(), "cluster": CLUSTER}),
    **{
        f"losses.routing.{name}": Door(plain(), {"counts": COUNTS})
        for name in ("load", "dispatch_entropy", "purity", "experts_used", "effective_experts", "mutual_information")
    },
    "losses.sandwich.sandwich_line": Door(
        plain(model=MODEL, noise_variance=1.0, box=5.0), {"theta": TRUTH, "x_points": POINTS, "target": Y[0, :13]}
    ),
    "losses.voronoi.compare": between(FITTED, TRUTH, SOFT),
    "losses.voronoi.infimum": Door(
        lambda f, **a: f(lambda fitted, truth, _: fitted[..., 0, 0] - truth[0, 0], model=SOFT, **a),
        {"fitted": FITTED, "truth": np.stack([TRUTH, TRUTH + 1.0])},
    ),
    **{f"losses.voronoi.{name}": between(FITTED, TRUTH, SOFT) for name in ("cells", "empty_cells", "blocks")},
    **{f"losses.voronoi.{name}": between(FITTED, TRUTH, SOFT) for name in ("L1", "L2r", "L3", "Lsm")},
    **{f"losses.voronoi.{name}": between(PART_FITTED, PART_TRUTH, PARTIAL) for name in ("L4", "L5")},
    "fit.least_squares": Door(plain(model=MODEL, max_iterations=3), FIT),
    "fit.gradient.sgd": Door(plain(model=MODEL, batch_size=39, epochs=2), {"x": X, "y": Y, "start": STARTS}),
    "fit.softmax_mle.maximum_likelihood": Door(plain(max_iterations=2), GAUSS_FIT),
    "fit.mixture.maximum_likelihood": Door(plain(experts=1, starts=2), {"x": X[0], "y": Y[0]}),
    "fit.em.expectation_maximisation": Door(plain(max_iterations=2), GAUSS_FIT),
    "fit.softmax_global.global_maximum": Door(plain(rounds=0), GAUSS_FIT),
    "fit.competition_mle.maximum_likelihood": Door(
        plain(model=COMP, adam_steps=2, search_rounds=1, hops=0),
        {"x": X, "y": Y, "starts": COMP_STARTS, "truth": COMP_TRUTH},
    ),
    "fit.global_search.global_search": Door(
        plain(model=MODEL, stream=stream, budget=FEW, max_iterations=2),
        {"x": X[0], "y": Y[0], "local": STARTS[0], "known": STARTS[0], "smaller": TRUTH[None, :1]},
    ),
    "fit.population.pseudo_truths": Door(
        lambda f, starts, theta: f(MODEL, (MODEL, theta), starts, points_log2=4, polish_log2=5, max_iterations=2),
        {"starts": STARTS[0], "theta": TRUTH},
    ),
    "fit.population.pseudo_truths.searched": Door(
        lambda f, starts, values: f(
            MODEL, lambda x: values, starts, stream=stream, budget=FEW, points_log2=4, polish_log2=4, max_iterations=2
        ),
        {"starts": STARTS[0], "values": Y[0, :16]},
    ),
}


TYPES = ("int64", "uint64", "float32", "float16", "longdouble", ">f8")
KINDS = (*TYPES, "list", "objects", "labelled", "read-only", "Fortran")


def given(kind, array):
    """Return numbers in an array of some kind, and the same numbers in float64."""
    if kind in TYPES:
        whole = np.dtype(kind).kind in "iu"
        if whole and (array < 0).any():
            kind = kind.replace("u", "")
        there = (np.rint(array) if whole else array).astype(kind)
        return there, there.astype(np.float64)
    if kind == "read-only":
        there = array.copy()
        there.flags.writeable = False
        return there, array
    made = {"list": np.ndarray.tolist, "objects": lambda a: a.astype(object), "labelled": xr.DataArray}
    return made.get(kind, np.asfortranarray)(array), array


def numbers_of(result):
    """Return the arrays that a result holds, in order."""
    if isinstance(result, xr.Dataset):
        return [result[name].values for name in (*result.coords, *result.data_vars)]
    if is_dataclass(result):
        result = [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return [part for value in result for part in numbers_of(value)]
    return [] if result is None or isinstance(result, Model | Competition) else [np.asarray(result)]


def outcome(name, arrays):
    """Return the numbers that a door gives, or the sentence that refuses them; ``.searched`` names a second case."""
    module, function = name.removesuffix(".searched").rsplit(".", 1)
    with np.errstate(all="ignore"):
        try:
            return numbers_of(
                DOORS[name].call(getattr(importlib.import_module(f"moestat.{module}"), function), **arrays)
            )
        except (InputError, TypeError, ValueError) as error:
            return str(error)


def same(one, other, *, exactly=True):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    agree = np.array_equal if exactly else (lambda a, b, equal_nan: np.allclose(a, b, 1e-7, 1e-9, equal_nan=equal_nan))
    return len(one) == len(other) and all(
        a.shape == b.shape and (agree(a, b, equal_nan=True) if a.dtype.kind in "fiu" else np.array_equal(a, b))
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", DOORS)
def test_numbers_of_every_kind_give_the_answer_of_float64(name):
    known = {}
    for kind in KINDS:
        pairs = {argument: given(kind, array) for argument, array in DOORS[name].arrays.items()}
        there, as_double = ({argument: pair[k] for argument, pair in pairs.items()} for k in (0, 1))
        if kind == "labelled" and name in ("rates.loglog.fit", "rates.difference.difference"):
            continue  # labels mean something there, and have tests of their own
        same_numbers = b"".join(array.tobytes() for array in as_double.values())
        if same_numbers not in known:
            known[same_numbers] = outcome(name, as_double)
        wanted, found = known[same_numbers], outcome(name, there)
        assert not isinstance(wanted, str) and same(found, wanted, exactly=kind != "Fortran"), (kind, found, wanted)


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_what_is_masked_is_nan_and_what_is_no_number_is_refused(name):
    arrays = DOORS[name].arrays
    for argument, array in arrays.items():
        hidden = np.zeros(np.shape(array), dtype=bool)
        hidden.flat[0] = True
        masked = np.ma.MaskedArray(np.where(hidden, 1e6, array), hidden)
        found, wanted = (outcome(name, arrays | {argument: a}) for a in (masked, np.where(hidden, np.nan, array)))
        assert same(found, wanted), (argument, found, wanted)
        assert not isinstance(found, str) or "finite" in found, (argument, found)  # ours, not that of a library
        for there in (array + 0.5j, array.astype(str), np.full(array.shape, np.datetime64("2024-01-01"))):
            found = outcome(name, arrays | {argument: there})
            assert isinstance(found, str) and found.endswith("; allowed are real numbers"), (argument, there, found)


def test_float64_and_arrays_of_other_libraries_stay_there():
    for array in (LOSS, LOSS.T, LOSS[::2, 1:], np.zeros((0, 3)), strict.asarray(LOSS)):
        assert as_float64(array, "loss") is array
    for dtype in (strict.float32, strict.int64):
        found = as_float64(strict.asarray(LOSS, dtype=dtype), "loss")
        assert found.dtype == strict.float64 and type(found) is type(strict.asarray(LOSS))
    with pytest.raises(TypeError, match="loss holds numbers of type .*complex128; allowed are real numbers"):
        as_float64(strict.asarray(LOSS, dtype=strict.complex128), "loss")
    single = (strict.asarray(a, dtype=strict.float32) for a in (FITTED, TRUTH))
    assert np.array_equal(np.asarray(voronoi.L1(*single, SOFT)), voronoi.L1(FITTED, TRUTH, SOFT))


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ([[1, None], [2.5, 3]], [[1.0, np.nan], [2.5, 3.0]]),
        ([np.ma.MaskedArray([1.0, 1e6], [False, True]), [3, 4]], [[1.0, np.nan], [3.0, 4.0]]),
        ([1.0, np.ma.masked], [1.0, np.nan]),
        (np.ma.MaskedArray([1, 10**6], [False, True]), [1.0, np.nan]),
        (np.array([2**63], dtype=np.uint64), [2.0**63]),
        ([10**30, Fraction(1, 4), Decimal("0.5")], [1e30, 0.25, 0.5]),
        (pd.Series([1, None], dtype="Int64"), [1.0, np.nan]),
        (range(3), [0.0, 1.0, 2.0]),
        (np.float32(0.5), 0.5),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_not_there_is_nan_and_every_real_number_is_taken(there, wanted):
    found = as_float64(there, "loss")
    assert found.dtype == np.float64 and found.dtype.isnative and found.flags.c_contiguous
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize(
    ("there", "kind", "told"),
    [
        (None, TypeError, "loss holds an entry of type NoneType; allowed are real numbers"),
        ([1.0, 2j], TypeError, "loss holds complex numbers; allowed are real numbers"),
        (["1.0"], TypeError, "loss holds texts; allowed are real numbers"),
        ([True, False], TypeError, "loss holds truth values; allowed are real numbers"),
        ([[1.0], [1.0, 2.0]], ValueError, "loss has rows of different lengths; allowed are arrays of one shape"),
        ([10**400], ValueError, "loss holds a number beyond the range of float64"),
        (np.array([np.longdouble("1e400")]), ValueError, "loss holds a number beyond the range of float64"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_real_number_is_refused_in_a_sentence(there, kind, told):
    with pytest.raises(kind) as caught:
        as_float64(there, "loss")
    assert str(caught.value) == told


def test_a_masked_loss_counts_as_missing_and_masked_sizes_are_refused():
    loss = np.ma.MaskedArray(LOSS, LOSS > 64.0)
    found = rates.fit(loss, over=SIZES)
    assert found.complete == 2 and not found.trusted and "1 not finite (missing or failed)" in found.reasons[0]
    with pytest.raises(ValueError, match="over must hold positive, finite sizes"):
        rates.fit(LOSS, over=np.ma.MaskedArray(SIZES, SIZES > 3000.0))
