"""The settings of a regression cell: truth, fitted model, estimator, and how a fit is scored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from moestat import own
from moestat.experiment import SettingsModel
from moestat.models.experts import EXPERTS, activation
from moestat.models.gates import GATES
from moestat.models.regression import Model
from studies.sigmoid_attention.parts import regression_laws as laws
from studies.sigmoid_attention.parts.regression_problem import Problem


def _name_or_path(value: str, info: ValidationInfo) -> str:
    """Accept the name of a gate or expert, or the import path of one of the user's own."""
    names = EXPERTS if info.field_name == "expert" else GATES
    if own.is_path(value):
        own.load(value)
    elif value not in names:
        allowed = f"{', '.join(map(repr, names))} or an import path 'module:function'"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": allowed})
    return value


def _own_path(value: str) -> str:
    """Accept the import path of one of the user's own functions, or nothing."""
    if value and not own.is_path(value):
        raise ValueError(f"it is {value!r}; it must be an import path, 'module:function', or empty")
    return value


def _atoms_or_path(value: Any) -> Any:
    """Accept rows of numbers, or the import path of a function that returns them."""
    if isinstance(value, str):
        return _own_path(value)
    rows = isinstance(value, list | tuple) and all(isinstance(row, list | tuple) for row in value)
    if not rows or any(isinstance(v, bool) or not isinstance(v, int | float) for row in value for v in row):
        raise ValueError("it must be rows of numbers, one for each atom, or an import path, 'module:function'")
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
    truth: Annotated[list[list[float]] | str, BeforeValidator(_atoms_or_path)] = Field(
        "",
        description="an explicit truth: rows c, b, A, a, beta, one for each atom, or a function of one's own, "
        "module:function; empty: drawn from the study's seed",
    )
    law_of_x: OwnPath = Field("", description="a function of one's own, module:function; empty: uniform on [-1, 1]^d")
    noise_variance: float = Field(0.01, ge=0, description="of the responses")
    law_of_noise: OwnPath = Field(
        "", description="a function of one's own, module:function, of mean 0 and variance 1; empty: normal"
    )
    truths: int = Field(
        1, ge=1, le=100, description="replicate r has the truth number r modulo this; 1: all have the same truth"
    )
    estimator: Literal["least_squares", "sgd"] = "least_squares"
    """Least squares, or SGD as in the paper."""
    # least squares
    box: float = Field(5.0, gt=0, description="every parameter is kept in [-box, box]")
    start_radius: float = Field(0.05, ge=0, description="standard deviation per coordinate of the start")
    starts: int = Field(1, ge=1, description="starts near the truth or the pseudo-truths, at most this many")
    search: Literal["local", "global"] = Field(
        "local", description="local: the best end point of these starts; global: a search whose local starts they are"
    )
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
    start_at: Literal["numbers", "target"] = Field(
        "numbers",
        description="SGD starts near the numbers of the truth, whatever gate they are given, or near the target of the "
        "loss; for the gate of the data they are the same",
    )
    superfluous: Literal["split", "copy"] = Field(
        "split",
        description="how SGD starts the atoms above n_true: the last true atom split in equal parts, or true atoms "
        "copied whole, so that their weights count twice; which ones differs between replicates",
    )
    # evaluation
    scores: Literal["all", "L3"] = Field(
        "all", description="L3: only L3, to its infimum and to the truth itself, and the function error"
    )
    fisher_log2: int = Field(17, ge=10, le=20, description="points of the information matrix of the Fisher line")
    evaluation_log2: int = Field(16, ge=8, le=22, description="function error on 2**this points of the law of x")
    pseudo_points_log2: int = Field(15, ge=8, le=20, description="points of the search for pseudo-truths")
    pseudo_polish_log2: int = Field(17, ge=8, le=20, description="points of their final polish")
    pseudo_starts: int = Field(4, ge=1, description="starts of the search for pseudo-truths")
    pseudo_search: Literal["starts", "global"] = Field(
        "starts", description="global: the same search as for samples, on a population, around these starts"
    )
    own_code: str = Field("", description="set by itself: a hash of the code of one's own functions")

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_true(cls, values: Any) -> Any:
        """Resolve n_fitted = 0, so that a control arm holds at every preset."""
        if isinstance(values, dict) and values.get("n_fitted") == 0 and not isinstance(values["n_fitted"], bool):
            return values | {"n_fitted": values.get("n_true", cls.model_fields["n_true"].default)}
        return values

    @model_validator(mode="before")
    @classmethod
    def _code_of_own_functions(cls, values: Any) -> Any:
        """Make the code of the user's own functions a part of the cell's identity, so that a change of it is seen."""
        if not isinstance(values, dict):
            return values
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
        laws.law_of_x(self.law_of_x, self.d)
        laws.law_of_noise(self.law_of_noise)
        if mirror := Model(self.fitted_gate, self.fitted_score, self.expert, self.d, self.power).mirror:
            raise ValueError(f"{mirror}; take a gate and an expert without that symmetry")
        if self.truth:
            self._explicit_truth()
        more = self.n_fitted > self.n_true and self.fitted_gate != "softmax"
        if more and self._at_zero():
            raise ValueError(
                f"n_fitted is {self.n_fitted}, above n_true = {self.n_true}, which needs an expert with phi(0) = 0 "
                f"(superfluous atoms vanish at eta = 0) or a softmax gate; {self.expert!r} has another phi(0)"
            )
        return self

    def _at_zero(self) -> float:
        """Return phi(0) of the expert, without which a superfluous atom can vanish at eta = 0."""
        return float(activation(self.expert, np.zeros(1), power=self.power)[0][0])

    def _explicit_truth(self) -> None:
        """Refuse an explicit truth beside settings of a drawn one, of another size, not minimal, or out of the box."""
        atoms = self.problem.atoms
        if self.regime == "sparse" or self.truths > 1:
            key = "regime" if self.regime == "sparse" else "truths"
            raise ValueError(f"{key} is {getattr(self, key)!r} beside an explicit truth; it belongs to drawn ones")
        if len(atoms) != self.n_true:
            raise ValueError(f"truth has {len(atoms)} atoms; n_true is {self.n_true}")
        if len({tuple(row) for row in atoms}) < len(atoms):
            raise ValueError("truth has two equal atoms: it is a truth with fewer")
        size = self.problem.truth.expert_size
        if not all(any(row[-size:]) for row in atoms) and not self._at_zero():
            raise ValueError("truth has an atom whose expert is zero: it is a truth with fewer")
        largest = max(abs(value) for row in atoms for value in row)
        if largest > self.box:
            raise ValueError(f"truth has a coordinate of size {largest:g}, outside of box = {self.box:g}")

    @property
    def problem(self) -> Problem:
        """The truth and the fitted model, without sample size or estimator; of several truths the first."""
        return self.problem_of(0)

    def problem_of(self, draw: int) -> Problem:
        """Return the problem with the truth of this number."""
        true = Model(self.truth_gate, self.truth_score, self.expert, self.d, self.power)
        return Problem(
            truth=true,
            fitted=Model(self.fitted_gate, self.fitted_score, self.expert, self.d, self.power),
            n_true=self.n_true,
            n_fitted=self.n_fitted,
            regime=self.regime,
            noise_variance=self.noise_variance,
            box=self.box,
            points_log2=self.pseudo_points_log2,
            polish_log2=self.pseudo_polish_log2,
            starts=self.pseudo_starts,
            own_code=self.own_code,
            pseudo_search=self.pseudo_search,
            draw=draw,
            atoms=laws.true_atoms(self.truth, true),
            law_of_x=self.law_of_x,
            law_of_noise=self.law_of_noise,
            fisher_log2=self.fisher_log2,
        )
