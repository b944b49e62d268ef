"""What users call of rates, losses and fit takes arrays as they have them: the float64 answer, or a sentence."""

import copy
import importlib.util
import inspect
import pkgutil
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
from moestat.fit import least_squares, mixture
from moestat.fit.global_search import Budget
from moestat.fit.gradient import perturb
from moestat.losses import voronoi
from moestat.models import gaussian, patches, truths
from moestat.models.competition import Competition
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.general import Model as model_of
from moestat.models.named import NamedGate
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian

MODEL = Model("sigmoid", "full", "linear", 1)
SOFT = Model("softmax", "full", "linear", 1)
PARTIAL = Model("sigmoid", "partial", "relu", 1)
GAUSS = SoftmaxGaussian(1)
GATED = GaussianGate(1)
COMP = Competition(1, "affine", 1)
OWN = model_of(NamedGate("softmax", "full"), "linear", d=1, gate_size=3)

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


def method(of, name):
    """Call a method of an object."""
    return lambda _, **arrays: getattr(of, name)(**arrays)


def fresh(number=1):
    """One generator for a data set, the same at every call."""
    return [np.random.default_rng([3, number])]


def between(fitted, truth, model, *names, **others):
    one, two = names or ("fitted", "truth")
    return Door(plain(model=model, **others), {one: fitted, two: truth})


MIXED = mixture.maximum_likelihood(X[0], Y[0], experts=1, starts=1)
ONE = {"x": X, "y": Y, "theta": GAUSS_FITTED}
STARTED = {"box": 5.0, "variances": (0.01, 100.0), "keep": 2}
SETTLED = {"atoms": 2, "budget": 1, "noise_variance": 1.0, "width": 4}
FIT = {"x": X, "y": Y, "starts": STARTS}
GAUSS_FIT = {"x": X, "y": Y, "starts": GAUSS_STARTS, "truth": GAUSS_TRUTH}

DOORS = {
    "rates.difference.difference": Door(plain(), {"first": LOSS, "second": LOSS[:, ::-1] + 1.0, "over": SIZES}),
    "rates.estimate.replicate_slopes": Door(plain(), {"x": SIZES, "logs": LOSS}),
    "rates.estimate.mean_interval": Door(plain(), {"samples": LOSS}),
    "rates.estimate.slopes": Door(plain(), {"x": SIZES, "logs": LOSS}),
    "rates.estimate.interval": Door(plain(), {"samples": LOSS}),
    "rates.tables.table": Door(lambda f, **a: list(f(**a).fits.values()), {"data": LOSS, "over": SIZES}),
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
    "losses.gauge.shifts": between(FITTED[0], TRUTH, SOFT, "atoms", "truth"),
    **{f"losses.general.{name}": between(FITTED, TRUTH, OWN) for name in ("voronoi", "matched")},
    "losses.matching.matched_sum": between(FITTED, TRUTH, SOFT),
    "losses.minimisers.nearest_minimiser": between(FITTED[0], TRUTH, MODEL, "atoms", "truth"),
    "losses.regression.regression_losses": between(FITTED, TRUTH, MODEL),
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
        + ("usage_entropy", "top_share")
    },
    "losses.sandwich.sandwich_line": Door(
        plain(model=MODEL, noise_variance=1.0, box=5.0), {"theta": TRUTH, "x_points": POINTS, "target": Y[0, :13]}
    ),
    "losses.voronoi.compare": between(FITTED, TRUTH, SOFT),
    "losses.voronoi.infimum": Door(
        lambda f, **a: f(lambda fitted, truth, _: fitted[..., 0, 0] - truth[0, 0], model=SOFT, **a),
        {"fitted": FITTED, "truth": np.stack([TRUTH, TRUTH + 1.0])},
    ),
    **{f"losses.voronoi.{name}": between(FITTED, TRUTH, SOFT) for name in ("blocks", "L1", "L2r", "L3", "Lsm")},
    "losses.voronoi.L4": between(PART_FITTED, PART_TRUTH, PARTIAL),
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
    "fit.population.same_minimum": Door(plain(model=SOFT), {"theta": FITTED[0], "other": TRUTH}),
    "fit.gradient.perturb": Door(plain(radius=0.5, rng=1), {"theta": FITTED}),
    "fit.newton.least_squares": Door(plain(model=MODEL, max_iterations=3), FIT),
    "fit.newton.from_each": Door(plain(model=MODEL, max_iterations=3), {"x": X[0], "y": Y[0], "starts": STARTS[0]}),
    "fit.settle.search": Door(
        lambda f, **a: f(SOFT, streams=fresh(), **SETTLED, **a), {"x": X, "y": Y, "known": STARTS}
    ),
    "fit.settle.settle": Door(
        lambda f, **a: f(SOFT, streams=(fresh(), fresh(2)), **SETTLED, **a), {"x": X, "y": Y, "known": STARTS}
    ),
    "fit.softmax_mle.rough_maxima": Door(
        plain(box=5.0, variances=(0.01, 100.0), kept=1), {"x": X, "y": Y, "starts": GAUSS_STARTS}
    ),
    "fit.softmax_starts.inserted_starts": Door(plain(candidates=4, **STARTED), ONE),
    "fit.softmax_starts.cut_starts": Door(plain(**STARTED), ONE),
    "fit.mixture.MixtureFit.predict": Door(method(MIXED, "predict"), {"x": POINTS}),
    "fit.mixture.MixtureFit.weights": Door(method(MIXED, "weights"), {"x": POINTS}),
    "models.gates.pack_symmetric": Door(plain(), {"a": STARTS[0, :, :, :2]}),
    "models.gates.unpack_symmetric": Door(plain(d=2), {"stored": PART_FITTED[..., :3]}),
    **{
        f"models.regression.Model.{name}": Door(method(SOFT, name), arrays)
        for name, arrays in {
            "predict": {"theta": FITTED, "x": POINTS},
            "weights": {"theta": FITTED},
            "gradient": {"theta": FITTED, "x": POINTS, "y": Y[0, :13]},
            "tangents": {"theta": TRUTH, "x": POINTS},
            "align": {"theta": FITTED, "reference": TRUTH},
        }.items()
    },
    **{
        f"models.general.FunctionModel.{name}": Door(method(OWN, name), arrays)
        for name, arrays in {
            "predict": {"theta": FITTED, "x": POINTS},
            "tangents": {"theta": TRUTH, "x": POINTS},
            "align": {"theta": FITTED, "reference": TRUTH},
            "standard": {"theta": FITTED},
        }.items()
    },
    **{
        f"models.{place}.{type(family).__name__}.{name}": Door(method(family, name), {"theta": theta, **more})
        for place, family, theta in (
            ("softmax_gaussian", GAUSS, GAUSS_FITTED),
            ("gaussian_gate", GATED, GATED_FITTED),
            ("competition", COMP, COMP_FITTED),
        )
        for name, more in {
            "components": {"x": POINTS},
            "log_inputs": {"x": POINTS},
            "winners": {"x": POINTS},
            "score": {"x": POINTS, "y": Y[0, :13]},
        }.items()
        if hasattr(family, name)
    },
    "models.gaussian.log_density": Door(plain(model=GAUSS), {"theta": GAUSS_FITTED, "x": POINTS, "y": Y[0, :13]}),
    "models.gaussian.log_likelihood": Door(plain(model=GAUSS), {"theta": GAUSS_FITTED, "x": POINTS, "y": Y[0, :13]}),
    "models.gaussian.sample": Door(plain(model=GAUSS, rng=1), {"theta": GAUSS_TRUTH, "x": POINTS}),
    "models.truths.sample": Door(plain(model=SOFT, n=5, noise_variance=1.0, rng=1), {"theta": TRUTH}),
    "models.truths.split": Door(plain(model=SOFT, n_fitted=4), {"theta": TRUTH}),
}
# Loops and their parts, behind the doors: they take what a door has made of the user's numbers, in float64 or in a
# float32 of their own, millions of times.
BEHIND = {
    "fit": """active_set certificate competition_likelihood competition_mle.thrown_out compiled_problem cuda
        cuda_problem descent em.em end_points entrance gaussian_gate general general_search gradient.on_all_samples
        kernel levenberg_marquardt likelihood linalg local_search moments moves newton.problem_of newton.sizes served
        population.lowest_minima search_starts second_order softmax_likelihood softmax_mle.SoftmaxLikelihood
        trust_region""",
    "identify": "derivatives evaluate families relations",
    "losses": """comparison fisher.line_of fisher.expected_norm gauge.candidates gauge.geometric_median matching.paired
        minimisers.losses_with pieces rays routing.one_hot""",
    "models": """blocks competition.Competition.features competition.Competition.outputs competition.Competition.rank
        competition.Competition.logits competition.Competition.between experts gates.samples_last gates.score_features
        gates.check_shapes gates.gate_values gates.gate_derivatives gates.output_slopes gaussian.log_sum_exp
        gaussian.log_joint gaussian.posterior gaussian.check_atoms gaussian.check_inputs gaussian.check_data
        gaussian.check_arguments gaussian.GaussianMixture general.FunctionModel.slopes
        general.FunctionModel.curvature logistic named tangents
        tiles""",
    "rates": """bends data.series design.plan estimate.over_replicates estimate.wider loglog.arranged loglog.fit_array
        loglog.refuse_other verdict""",
}


TYPES = ("int64", "uint64", "float32", "float16", "longdouble", ">f8")
KINDS = (*TYPES, "list", "objects", "labelled", "frame", "tensor", "read-only", "Fortran")
FEWER = ("int64", "float16", ">f8", "list", "tensor", "Fortran")  #: For what takes longer.


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
    if kind == "tensor" and importlib.util.find_spec("torch"):
        return importlib.import_module("torch").tensor(array), array
    made = {"list": np.ndarray.tolist, "objects": lambda a: a.astype(object), "labelled": xr.DataArray}
    made["frame"] = pd.DataFrame if array.ndim == 2 else np.ndarray.tolist  # a table has two axes
    made["tensor"] = np.ndarray.tolist
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


def found_at(name):
    """Return a function, or a method, by its place below moestat."""
    *module, path = name.split(".", min(2, name.count(".")))
    return pkgutil.resolve_name(f"moestat.{'.'.join(module)}:{path}")


def outcome(name, arrays):
    """Return the numbers that a door gives, or the sentence that refuses them; ``.searched`` names a second case."""
    with np.errstate(all="ignore"):
        try:
            return numbers_of(DOORS[name].call(found_at(name.removesuffix(".searched")), **arrays))
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


NAMED = {("labelled", "loglog"), ("labelled", "difference"), ("labelled", "tables"), ("frame", "mixture")}
"""Where labels mean something; they have tests of their own."""
OTHERWISE = {"order", "data", "target", "truth"}
"""Arguments that are integers or have another form, and one that is not needed."""


def arguments_that_are_arrays(function):
    """Return the names of the arguments that are annotated as arrays; functions of arrays are none."""
    found = {
        p.name: str(p.annotation) for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD
    }
    arrays = {name for name, kind in found.items() if kind == "Any" or "Array" in kind or "ndarray" in kind}
    return {name for name in arrays if "Callable" not in found[name] and name != "self"}


def public():
    """Yield the place of every public function and method of the library that takes an array, and those arguments."""
    for room in BEHIND:
        package = importlib.import_module(f"moestat.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                module = importlib.import_module(info.name)
            except ModuleNotFoundError as error:
                assert error.name in ("numba", "llvmlite"), error  # compiled code is behind the doors
                continue
            for name, thing in vars(module).items():
                if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
                    continue
                own = {name: thing} if inspect.isfunction(thing) else {}
                if inspect.isclass(thing):
                    own = {f"{name}.{key}": part for key, part in vars(thing).items() if inspect.isfunction(part)}
                for path, function in own.items():
                    place = f"{module.__name__}.{path}".removeprefix("moestat.")
                    if "._" not in place and (names := arguments_that_are_arrays(function)):
                        yield place, names


def test_every_public_function_that_takes_arrays_is_tried_or_is_behind_a_door():
    behind = tuple(f"{room}.{place}." for room, places in BEHIND.items() for place in places.split())
    seen = dict(public())
    untried = [place for place in seen if place not in DOORS and not f"{place}.".startswith(behind)]
    assert not untried, untried
    for place in seen.keys() & DOORS.keys():
        missed = seen[place] - DOORS[place].arrays.keys() - OTHERWISE
        assert not missed, (place, missed)
    idle = [one for one in behind if not any(f"{place}.".startswith(one) for place in seen)]
    assert not idle or not importlib.util.find_spec("numba"), idle


@pytest.mark.parametrize("name", DOORS)
def test_numbers_of_every_kind_give_the_answer_of_float64(name):
    known = {}
    for kind in FEWER if name.startswith("fit.") else KINDS:
        pairs = {argument: given(kind, array) for argument, array in DOORS[name].arrays.items()}
        there, as_double = ({argument: pair[k] for argument, pair in pairs.items()} for k in (0, 1))
        if (kind, name.split(".")[1]) in NAMED:
            continue
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


@pytest.mark.parametrize("name", DOORS)
def test_an_array_without_samples_or_coordinates_is_refused_in_a_sentence_or_has_no_answer(name):
    arrays = DOORS[name].arrays
    for argument, array in arrays.items():
        for axis in range(max(array.ndim - 2, 0), array.ndim):
            found = outcome(name, arrays | {argument: array.take([], axis=axis)})
            if isinstance(found, str):
                assert argument in found or "shape" in found, (argument, axis, found)
            elif not name.startswith("rates."):  # which have a level, and NaN for the rest
                kept = [part for part in found if part.dtype.kind == "f" and part.size]
                assert not all(np.isfinite(part).all() for part in kept) or not kept, (argument, axis, found)


@pytest.mark.parametrize("model", [MODEL, SOFT, OWN], ids=["sigmoid", "softmax", "functions"])
def test_atoms_and_samples_of_another_size_are_named(model):
    for wrong in ({"theta": FITTED[..., :4]}, {"theta": TRUTH[0]}, {"x": np.ones((13, 2))}, {"x": POINTS[:, 0]}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} has shape .*; it must be "):
            model.predict(**({"theta": FITTED, "x": POINTS} | wrong))


SEEDS = {"None": None, "int": 3, "sequence": [3, 1], "SeedSequence": np.random.SeedSequence(3)}
SEEDS |= {"BitGenerator": np.random.PCG64(3), "Generator": np.random.default_rng(3)}
DRAWING = {
    "sample": lambda rng: truths.sample(SOFT, TRUTH, 4, 1.0, rng)[1],
    "truth": lambda rng: truths.ground_truth(SOFT, 2, "dense", rng),
    "points": lambda rng: truths.uniform(rng, 3, 2),
    "noise": lambda rng: truths.standard_normal(rng, 3),
    "responses": lambda rng: gaussian.sample(GAUSS, GAUSS_TRUTH, POINTS, rng),
    "perturb": lambda rng: perturb(TRUTH, 1.0, rng),
    "dictionary": lambda rng: patches.dictionary(rng, 1, 3).labels,
    "fit": lambda rng: least_squares(MODEL, X, Y, atoms=1, rng=rng, max_iterations=1).theta,
}


@pytest.mark.parametrize("name", DRAWING)
def test_an_rng_is_whatever_numpy_makes_a_generator_of(name):
    draw = DRAWING[name]
    for kind, seed in SEEDS.items():
        found = draw(copy.deepcopy(seed))
        assert kind == "None" or np.array_equal(found, draw(np.random.default_rng(copy.deepcopy(seed)))), kind
    assert not np.array_equal(draw(None), draw(None)), "None is fresh entropy"
    for wrong in ("3", 1.5, -1):
        with pytest.raises(TypeError, match="rng is .*; allowed are None, whole numbers from 0, and a SeedSequence"):
            draw(wrong)


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
