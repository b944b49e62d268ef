"""What a regression study estimates: a truth, the laws of x and of the noise, a model that is fitted; and all settings.

The truth is drawn once from the study seed, or given. Truth and laws may be functions of the user's own, named by
import path (see :mod:`moestat.own`) and checked when named::

    def two_atoms(model):  # the truth: rows of atoms, in the order of the coordinates of the model
        theta = np.zeros((2, model.atom_size))
        theta[:, model.b], theta[:, model.eta] = [[1.0], [-1.0]], [[1.0, 0.0], [2.0, 0.5]]
        return theta

    def normal(rng, n, d):  # n points of the law of x
        return rng.standard_normal((n, d))

    def laplace(rng, n):  # n draws of mean 0 and variance 1, independent of x
        return rng.laplace(size=n) / np.sqrt(2.0)

The noise is multiplied by the root of the setting ``noise_variance``. It does not get x: the Fisher line, the sandwich
line and the widths of the near-minimisers are those of noise of one variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import scipy  # its submodules are imported when they are used
from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from moestat import own, streams
from moestat.experiment import SettingsModel
from moestat.models import truths
from moestat.models.experts import EXPERTS, activation
from moestat.models.gates import GATES
from moestat.models.regression import Model
from moestat.models.truths import LawOfNoise, LawOfX, standard_normal, uniform

TRIED = 64  # points that a law of x is tried on
NOISE_DRAWS = 2**20  # draws on which mean and variance of a law of the noise are checked
MEAN, VARIANCE = 0.02, 0.05
"""Largest distances of the two from 0 and 1 there: the heavy tails of a t-distribution with 3 degrees stay below."""
_CONTAINED = {"full": ("full", "partial", "linear"), "partial": ("partial",), "linear": ("linear",)}


def law_of_x(path: str, d: int) -> LawOfX:
    """Return the law of x that an import path names, ``f(rng, n, d) -> (n, d)``, or the uniform one of [-1, 1]^d."""
    return _law(path, own.imported(path), d) if path else uniform


def law_of_noise(path: str) -> LawOfNoise:
    """Return the law of the noise that an import path names, ``f(rng, n) -> (n,)``, or the standard normal one."""
    return _law(path, own.imported(path)) if path else standard_normal


@lru_cache(maxsize=16)
def _law(path: str, function: Callable[..., Any], *d: int) -> Any:
    """Return a law that was tried: of x with its dimension, or of the noise."""
    call = "f(rng, n, d)" if d else "f(rng, n)"

    def law(rng: np.random.Generator, n: int, *d: int) -> np.ndarray:
        values = _evaluated(path, lambda: np.asarray(function(rng, n, *d), dtype=np.float64), call)
        if values.shape != (n, *d) or not np.all(np.isfinite(values)):
            told = f"finite numbers of shape {(n, *d)} for {call}; it gave {values.shape}"
            raise ValueError(f"{path!r} must return {told}")
        return values

    first, second = (law(np.random.default_rng(0), TRIED if d else NOISE_DRAWS, *d) for _ in range(2))
    if not np.array_equal(first, second):
        raise ValueError(f"{path!r} gave different numbers for one seed; it must draw from the generator it is given")
    mean, variance = float(first.mean()), float(first.var())
    if not d and (abs(mean) > MEAN or abs(variance - 1.0) > VARIANCE):
        raise ValueError(
            f"{path!r} has mean {mean:.3g} and variance {variance:.3g} over 2^20 draws; a law of the noise has mean 0 "
            "and variance 1, and is multiplied by the root of noise_variance"
        )
    return law


def law_points(path: str, d: int, log2: int, purpose: str) -> np.ndarray:
    """Return 2**log2 points of an own law of x, always the same ones for a purpose; different purposes are independent.

    They stand for the law in population quantities, as Sobol points do for the uniform one; their error is that of
    independent draws.
    """
    rng = streams.generator(0, streams.key(points="own law", d=d, log2=log2), 0, purpose)
    return law_of_x(path, d)(rng, 2**log2, d)


def true_atoms(truth: str | Sequence[Sequence[float]], model: Model) -> tuple[tuple[float, ...], ...]:
    """Return the atoms of an explicit truth, rows of P numbers; no rows for "".

    ``truth``: an import path of a function ``(model) -> array (N*, P)``, or the rows. ``model``: the true model; its
    docstring has the order of the coordinates.
    """
    if not truth:
        return ()
    if isinstance(truth, str):
        function = own.imported(truth)
        rows = _evaluated(truth, lambda: np.asarray(function(model), dtype=np.float64), "f(model)")
    else:
        widths = {len(row) for row in truth}
        rows = np.asarray(truth, dtype=np.float64) if len(widths) == 1 else np.zeros((len(truth), 0))
    name = repr(truth) if isinstance(truth, str) else "truth"
    if rows.ndim != 2 or rows.shape[1] != model.atom_size or not np.all(np.isfinite(rows)):
        parts = {"c": model.c, "b": model.b, "A": model.a_matrix, "a and beta": model.eta}
        order = ", ".join(f"{size} for {part}" for part, s in parts.items() if (size := s.stop - s.start))
        raise ValueError(f"{name} must be rows of {model.atom_size} finite numbers, one row for each atom: {order}")
    return tuple(tuple(float(value) for value in row) for row in rows)


def _evaluated(path: str, function: Callable[[], np.ndarray], call: str) -> np.ndarray:
    try:
        return function()
    except Exception as error:  # the user's function can fail in any way
        raise ValueError(f"{path!r} cannot be evaluated as {call}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Problem:
    """A truth and a model to fit, without sample size, estimator or replicate; names are those of :class:`Settings`.

    ``atoms`` are the rows of an explicit truth, none if it is drawn, as number ``draw``.
    """

    truth: Model
    fitted: Model
    n_true: int
    n_fitted: int
    regime: Literal["dense", "sparse"]
    noise_variance: float
    box: float
    pseudo_points_log2: int
    pseudo_polish_log2: int
    pseudo_starts: int
    pseudo_search: Literal["starts", "global"]
    fisher_log2: int
    law_of_x: str
    law_of_noise: str
    own_code: str
    draw: int
    atoms: tuple[tuple[float, ...], ...]

    @property
    def data_identity(self) -> dict[str, Any]:
        """What the draws of the data depend on, beside the sample size; arms that differ in their noise share x."""
        atoms = [list(row) for row in self.atoms]
        given = {"draw": self.draw, "atoms": atoms, "law_of_x": self.law_of_x}
        identity = {name: getattr(self.truth, name) for name in ("d", "gate", "score", "expert", "power")}
        identity |= {"what": "regression data", "n_true": self.n_true, "regime": self.regime}
        return identity | {name: value for name, value in given.items() if value}

    @property
    def own(self) -> dict[str, str]:
        """The code of the user's own functions: part of what a cached result depends on."""
        return {"own_code": self.own_code} if self.own_code else {}

    @property
    def contains_truth(self) -> bool:
        """Whether the fitted model contains the truth."""
        return self.truth.gate == self.fitted.gate and self.truth.score in _CONTAINED[self.fitted.score]

    def true_parameters(self, study_seed: int) -> np.ndarray:
        """Return the truth (N*, P), in the coordinates of the true model."""
        if self.atoms:
            return np.array(self.atoms, dtype=np.float64)
        return draw_truth(self.truth, self.n_true, self.regime, study_seed, self.draw)

    def evaluation_points(self, log2: int) -> np.ndarray:
        """Return 2**log2 points (n, d) that stand for the law of x."""
        return evaluation_points(self.truth.d, log2, self.law_of_x)


def draw_truth(
    model: Model, n_true: int, regime: Literal["dense", "sparse"], study_seed: int, draw: int = 0
) -> np.ndarray:
    """Draw truth number ``draw`` (N*, P) from the study seed; gates, experts, scores and regimes share the draw."""
    number = {"draw": draw} if draw else {}
    identity = streams.key(what="regression truth", d=model.d, n_true=n_true, **number)
    return truths.ground_truth(model, n_true, regime, streams.generator(study_seed, identity, 0, "truth"))


@lru_cache(maxsize=8)
def evaluation_points(d: int, log2: int, law_of_x: str = "") -> np.ndarray:
    """Return 2**log2 points of the law of x, always the same ones: scrambled Sobol points on [-1, 1]^d, or draws."""
    if law_of_x:
        points = law_points(law_of_x, d, log2, "evaluation")
    else:
        sobol = scipy.stats.qmc.Sobol(d, scramble=True, rng=np.random.default_rng(20250917))
        points = 2.0 * sobol.random_base2(log2) - 1.0
    points.flags.writeable = False
    return points


def embed(theta: np.ndarray, source: Model, destination: Model) -> np.ndarray:
    """Write atoms (..., N, P) of one score in the coordinates of another; new parts are 0, what it lacks is dropped."""
    out = np.zeros((*theta.shape[:-1], destination.atom_size))
    for block in ("c", "b", "a_matrix", "eta"):
        part, place = theta[..., getattr(source, block)], getattr(destination, block)
        if part.shape[-1] and place.stop > place.start:
            out[..., place] = part
    return out


def _name_or_path(value: str, info: ValidationInfo) -> str:
    """Accept the name of a gate or expert, or the import path of one of the user's own."""
    names = EXPERTS if info.field_name == "expert" else GATES
    if own.is_path(value):
        own.load(value)
    elif value not in names:
        allowed = f"{', '.join(map(repr, names))} or an import path 'module:function'"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": allowed})
    return value


def _own_path(value: Any) -> Any:
    """Accept the import path of one of the user's own functions, or nothing; or what is no text."""
    if isinstance(value, str) and value and not own.is_path(value):
        raise ValueError(f"it is {value!r}; it must be an import path, 'module:function', or empty")
    return value


OwnOrNamed = Annotated[str, AfterValidator(_name_or_path)]
OwnPath = Annotated[str, AfterValidator(_own_path)]
OWN = ("truth_gate", "fitted_gate", "expert", "truth", "law_of_x", "law_of_noise")
"""Settings that may name a function of the user's own."""


class Settings(SettingsModel):
    """Every setting of a regression cell."""

    n: int = Field(ge=2, description="sample size")
    d: int = Field(8, ge=1, le=16, description="input dimension")
    n_true: int = Field(8, ge=1, description="number of true experts, N*")
    n_fitted: int = Field(9, ge=1, description="number of fitted experts, N; 0 stands for n_true")
    truth_gate: OwnOrNamed = Field("sigmoid", description="sigmoid, softmax, or a gate of one's own: module:function")
    fitted_gate: OwnOrNamed = Field("sigmoid", description="as truth_gate")
    truth_score: Literal["full", "partial", "linear"] = "full"
    """Full: x'Ax + b'x + c; partial: x'Ax + c; linear: b'x + c."""
    fitted_score: Literal["full", "partial", "linear"] = "full"
    """As truth_score."""
    expert: OwnOrNamed = Field("relu", description="relu, gelu, linear, polynomial, or one's own: module:function")
    power: int = Field(1, ge=1, le=4, description="degree of a polynomial expert")
    regime: Literal["dense", "sparse"] = Field("dense", description="sparse: the gates of two experts vanish")
    truth: Annotated[list[list[float]] | str, AfterValidator(_own_path)] = ""
    """An explicit truth: rows c, b, A, a, beta, or a function, module:function; empty: drawn from the study's seed."""
    law_of_x: OwnPath = Field("", description="a function of one's own, module:function; empty: uniform on [-1, 1]^d")
    noise_variance: float = Field(0.01, ge=0, description="of the responses")
    law_of_noise: OwnPath = ""
    """A function of one's own, module:function, of mean 0 and variance 1; empty: normal."""
    truths: int = Field(1, ge=1, le=100, description="replicate r has truth number r modulo this; 1: all have the same")
    estimator: Literal["least_squares", "sgd"] = "least_squares"
    """Least squares, or SGD as in the paper."""
    # least squares
    box: float = Field(5.0, gt=0, description="every parameter is kept in [-box, box]")
    start_radius: float = Field(0.05, ge=0, description="standard deviation per coordinate of the start")
    starts: int = Field(1, ge=1, description="starts near the truth or the pseudo-truths, at most this many")
    search: Literal["local", "global"] = "local"
    """Local: the best end point of these starts; global: a search whose local starts they are."""
    search_effort: float = Field(1.0, gt=0, le=100, description="factor on the number of starts of a global search")
    max_iterations: int = Field(2000, ge=1, description="of each local fit")
    precision: Literal["mixed", "double"] = "mixed"
    """Mixed: single precision far from the end, double at it."""
    # the paper's protocol
    radius_scale: float = Field(0.1, ge=0, allow_inf_nan=False, description="start radius: scale * n**exponent")
    radius_exponent: float = Field(0.0, le=0, allow_inf_nan=False, description="start radius: scale * n**exponent")
    batch_size: int = Field(32, ge=0, description="0: all samples")
    epochs: int = Field(10, ge=0, description="passes of SGD over the samples")
    step: float = Field(0.1, gt=0, description="step of SGD")
    start_at: Literal["numbers", "target"] = "numbers"
    """SGD starts near the numbers of the truth, whatever their gate, or near the target of the loss."""
    superfluous: Literal["split", "copy"] = "split"
    """SGD starts atoms above n_true as equal parts of the last true one, or as copies, others in each replicate."""
    # evaluation
    scores: Literal["all", "L3"] = "all"
    """L3: only L3, to its infimum and to the truth itself, and the function error."""
    fisher_log2: int = Field(17, ge=10, le=20, description="points of the information matrix of the Fisher line")
    evaluation_log2: int = Field(16, ge=8, le=22, description="function error on 2**this points of the law of x")
    pseudo_points_log2: int = Field(15, ge=8, le=20, description="points of the search for pseudo-truths")
    pseudo_polish_log2: int = Field(17, ge=8, le=20, description="points of their final polish")
    pseudo_starts: int = Field(4, ge=1, description="starts of the search for pseudo-truths")
    pseudo_search: Literal["starts", "global"] = "starts"
    """Global: the same search as for samples, on a population, around these starts."""
    own_code: str = Field("", description="set by itself: a hash of the code of one's own functions")

    @model_validator(mode="before")
    @classmethod
    def _resolved(cls, values: Any) -> Any:
        """Resolve n_fitted = 0, and make the code of the user's own functions a part of the cell's identity."""
        if not isinstance(values, dict):
            return values
        if values.get("n_fitted") == 0 and not isinstance(values["n_fitted"], bool):
            values = values | {"n_fitted": values.get("n_true", cls.model_fields["n_true"].default)}
        code = own.code(*(str(values.get(key, "")) for key in OWN))
        if values.get("own_code", code) != code:
            raise ValueError("own_code is set by itself; it was given, or the code of the own functions has changed")
        return values | {"own_code": code} if code else values

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.n_fitted < self.n_true:
            raise ValueError(f"n_fitted is {self.n_fitted}, below n_true = {self.n_true}")
        if self.regime == "sparse" and self.n_true < 3:
            raise ValueError("regime 'sparse' needs n_true >= 3: it sets the gates of two experts to zero")
        if self.power != 1 and self.expert != "polynomial":
            raise ValueError("power belongs to expert = 'polynomial'")
        if self.regime == "sparse" and any(own.is_path(gate) for gate in (self.truth_gate, self.fitted_gate)):
            raise ValueError("regime 'sparse' is defined for the gates sigmoid and softmax only")
        law_of_x(self.law_of_x, self.d)
        law_of_noise(self.law_of_noise)
        if mirror := self._model("fitted").mirror:
            raise ValueError(f"{mirror}; take a gate and an expert without that symmetry")
        at_zero = float(activation(self.expert, np.zeros(1), power=self.power)[0][0])
        if self.truth:
            self._explicit_truth(at_zero)
        if self.n_fitted > self.n_true and self.fitted_gate != "softmax" and at_zero:
            raise ValueError(
                f"n_fitted is {self.n_fitted}, above n_true = {self.n_true}, which needs an expert with phi(0) = 0 "
                f"(superfluous atoms vanish at eta = 0) or a softmax gate; {self.expert!r} has another phi(0)"
            )
        return self

    def _explicit_truth(self, at_zero: float) -> None:
        """Refuse an explicit truth beside settings of a drawn one, of another size, not minimal, or out of the box."""
        atoms, size = self.problem.atoms, self.problem.truth.expert_size
        if self.regime == "sparse" or self.truths > 1:
            key = "regime" if self.regime == "sparse" else "truths"
            raise ValueError(f"{key} is {getattr(self, key)!r} beside an explicit truth; it belongs to drawn ones")
        if len(atoms) != self.n_true:
            raise ValueError(f"truth has {len(atoms)} atoms; n_true is {self.n_true}")
        if len(set(atoms)) < len(atoms):
            raise ValueError("truth has two equal atoms: it is a truth with fewer")
        if not all(any(row[-size:]) for row in atoms) and not at_zero:
            raise ValueError("truth has an atom whose expert is zero: it is a truth with fewer")
        largest = max(abs(value) for row in atoms for value in row)
        if largest > self.box:
            raise ValueError(f"truth has a coordinate of size {largest:g}, outside of box = {self.box:g}")

    def _model(self, which: Literal["truth", "fitted"]) -> Model:
        gate, score = getattr(self, f"{which}_gate"), getattr(self, f"{which}_score")
        return Model(gate, score, self.expert, self.d, self.power)

    @property
    def problem(self) -> Problem:
        """The truth and the fitted model, without sample size or estimator; of several truths the first."""
        return self.problem_of(0)

    def problem_of(self, draw: int) -> Problem:
        """Return the problem with the truth of this number."""
        true, fitted = self._model("truth"), self._model("fitted")
        same = {f.name for f in fields(Problem)} & set(type(self).model_fields) - {"truth"}
        given = {name: getattr(self, name) for name in same}
        return Problem(truth=true, fitted=fitted, draw=draw, atoms=true_atoms(self.truth, true), **given)
