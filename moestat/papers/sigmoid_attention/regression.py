"""Convergence rates of regression mixtures of experts (sigmoid-attention, sections 3, 4 and 5.1).

One cell fits one gate to data of one truth at one sample size, by one estimator, and measures how far the fitted
mixing measure is from its target: the truth, or the list of pseudo-truths when the fitted model does not contain it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal

import numpy as np
import xarray as xr
from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from moestat import own
from moestat.arrays import Device, backend, to_numpy
from moestat.experiment import Cell, SettingsModel
from moestat.fit.global_search import Search
from moestat.fit.gradient import RadiusRule, perturb, sgd
from moestat.fit.newton import Fit, least_squares
from moestat.models import truths
from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention import regression_search
from moestat.papers.sigmoid_attention.regression_scores import score
from moestat.papers.sigmoid_attention.regression_targets import (
    Problem,
    Target,
    compute_pseudo_truths,
    near_truth,
    prerequisite,
    target_of,
)
from moestat.status import Status

DEVICES = ("cpu", "cuda")
_FIT = tuple(field.name for field in fields(Fit))


def _name_or_path(value: str, info: ValidationInfo) -> str:
    """Accept the name of a gate or expert, or the import path of one of the user's own."""
    names = EXPERTS if info.field_name == "expert" else GATES
    if own.is_path(value):
        own.load(value)
    elif value not in names:
        allowed = f"{', '.join(map(repr, names))} or an import path 'module:function'"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": allowed})
    return value


OwnOrNamed = Annotated[str, AfterValidator(_name_or_path)]


class Settings(SettingsModel):
    """Every setting of a regression cell."""

    n: int = Field(ge=2, description="sample size")
    d: int = Field(8, ge=1, le=16, description="input dimension")
    n_true: int = Field(8, ge=1, description="number of true experts, N*")
    n_fitted: int = Field(9, ge=1, description="number of fitted experts, N; 0 stands for n_true")
    truth_gate: OwnOrNamed = Field("sigmoid", description="sigmoid, softmax, or a gate of one's own: module:function")
    fitted_gate: OwnOrNamed = Field("sigmoid", description="as truth_gate")
    truth_score: Literal["full", "partial", "linear"] = "full"
    fitted_score: Literal["full", "partial", "linear"] = "full"
    expert: OwnOrNamed = Field("relu", description="relu, gelu, linear, polynomial, or one's own: module:function")
    power: int = Field(1, ge=1, le=4, description="degree of a polynomial expert")
    regime: Literal["dense", "sparse"] = Field("dense", description="sparse: the gates of two experts vanish")
    noise_variance: float = Field(0.01, ge=0)
    estimator: Literal["least_squares", "sgd"] = "least_squares"
    # least squares
    box: float = Field(5.0, gt=0, description="every parameter is kept in [-box, box]")
    start_radius: float = Field(0.05, ge=0, description="standard deviation per coordinate of the start")
    starts: int = Field(1, ge=0, description="starts near the truth or the pseudo-truths, at most this many")
    random_starts: int = Field(0, ge=0, description="further starts drawn from the law of the truth")
    search: Literal["local", "global"] = Field(
        "local", description="local: the best end point of these starts; global: a search whose local starts they are"
    )
    search_effort: float = Field(1.0, gt=0, le=100, description="factor on the number of starts of a global search")
    max_iterations: int = Field(2000, ge=1)
    precision: Literal["mixed", "double"] = "mixed"
    # the paper's protocol
    radius_scale: float = Field(0.1, ge=0, description="start radius: scale * n**exponent")
    radius_exponent: float = Field(0.0, le=0)
    start_rule: str = Field("", description="start radius as text, '0.1' or '0.005 n^-0.083': sets the two above")
    batch_size: int = Field(32, ge=0, description="0: all samples")
    epochs: int = Field(10, ge=0)
    step: float = Field(0.1, gt=0)
    # evaluation
    evaluation_log2: int = Field(16, ge=8, le=22, description="function error on 2**this Sobol points")
    pseudo_points_log2: int = Field(15, ge=8, le=20, description="points of the search for pseudo-truths")
    pseudo_polish_log2: int = Field(17, ge=8, le=20, description="points of their final polish")
    pseudo_starts: int = Field(4, ge=1, description="starts of the search for pseudo-truths")
    pseudo_search: Literal["starts", "global"] = Field(
        "starts", description="global: the same search as for samples, on a population, around these starts"
    )
    own_code: str = Field("", description="set by itself: a hash of the code of one's own gates and expert")

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
        code = own.code(*(str(values.get(key, "")) for key in ("truth_gate", "fitted_gate", "expert")))
        if values.get("own_code", code) != code:
            raise ValueError(
                "own_code is set by itself; it was given, or the code of the own gates or expert has changed"
            )
        return values | {"own_code": code} if code else values

    @model_validator(mode="before")
    @classmethod
    def _rule_as_numbers(cls, values: Any) -> Any:
        """Read the start radius from its text, so that one axis of a grid can run over rules."""
        if isinstance(values, dict) and values.get("start_rule"):
            scale, exponent = radius_rule(values["start_rule"])
            return values | {"radius_scale": scale, "radius_exponent": exponent}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.n_fitted < self.n_true:
            raise ValueError(f"n_fitted is {self.n_fitted}, below n_true = {self.n_true}")
        if self.regime == "sparse" and self.n_true < 3:
            raise ValueError("regime 'sparse' needs n_true >= 3: it sets the gates of two experts to zero")
        if self.estimator == "least_squares" and self.starts + self.random_starts == 0:
            raise ValueError("least squares needs a start: starts or random_starts must be at least 1")
        if self.power != 1 and self.expert != "polynomial":
            raise ValueError("power belongs to expert = 'polynomial'")
        if self.regime == "sparse" and any(own.is_path(gate) for gate in (self.truth_gate, self.fitted_gate)):
            raise ValueError("regime 'sparse' is defined for the gates sigmoid and softmax only")
        more = self.n_fitted > self.n_true and self.fitted_gate != "softmax"
        if more and own.is_path(self.expert) and float(own.load(self.expert)(np.zeros(1), 0)[0][0]) != 0:
            raise ValueError(
                f"n_fitted is {self.n_fitted}, above n_true = {self.n_true}, which needs an expert with phi(0) = 0 "
                f"(superfluous atoms vanish at eta = 0) or a softmax gate; {self.expert!r} has another phi(0)"
            )
        return self

    @property
    def problem(self) -> Problem:
        """The truth and the fitted model, without sample size or estimator."""
        return Problem(
            truth=Model(self.truth_gate, self.truth_score, self.expert, self.d, self.power),
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
        )


def radius_rule(text: str) -> tuple[float, float]:
    """Return scale and exponent of a start radius written as ``0.1``, ``n^-0.5`` or ``0.005 n^-0.083``.

    Raises
    ------
    ValueError
        If the text is something else.
    """
    number = r"[0-9]*\.?[0-9]+(?:e-?[0-9]+)?"
    match = re.fullmatch(rf"\s*(?P<scale>{number})?\s*(?P<power>n\^(?P<exponent>-{number}))?\s*", str(text))
    if match is None or not (match["scale"] or match["power"]):
        raise ValueError(f"start_rule is {text!r}; it must be a number, 'n^-0.5' or '0.005 n^-0.083'")
    return float(match["scale"] or 1.0), float(match["exponent"] or 0.0)


def prerequisites(cell: Cell) -> list[dict]:
    """Return the list of pseudo-truths that this cell is scored against, if its model does not contain the truth."""
    wanted = prerequisite(Settings(**cell.settings).problem, cell.study_seed)
    return [] if wanted is None else [wanted]


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    compute_pseudo_truths(prerequisite, device=device)


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Fit and score the replicates of one cell.

    Returns
    -------
    xarray.Dataset
        Losses (``L1`` ... ``rmse``), the same at the start (``start_L1`` ...), solver diagnostics, the fitted
        parameters ``theta`` (replicate, atom, coordinate), and without replicate the Fisher line (``fisher_*``), the
        bound of the function error (``bound_rmse``) and the certificate of the pseudo-truth (``pseudo_*``). After a
        global search also its record (``search_*``) and the bands of near-minimisers (``<loss>_near_low``, ...), see
        :mod:`moestat.papers.sigmoid_attention.regression_search`; the start is then the first local one.
    """
    settings = Settings(**cell.settings)
    problem = settings.problem
    target = target_of(problem, cell.study_seed, device=device)
    x, y = _draw(cell, settings, problem, target, replicates)
    starts = _starts(cell, settings, problem, target, replicates)
    xp = backend(device)
    x, y, starts = (xp.asarray(a) for a in (x, y, starts))

    searches: list[Search] = []
    if settings.estimator == "least_squares" and settings.search == "global":
        searches = regression_search.search(
            cell,
            problem,
            target,
            replicates,
            x,
            y,
            to_numpy(starts),
            n=settings.n,
            effort=settings.search_effort,
            max_iterations=settings.max_iterations,
            precision=settings.precision,
        )
        theta = np.concatenate([one.fit.theta for one in searches])
        diagnostics = _diagnostics(Fit(**{f: np.concatenate([getattr(one.fit, f) for one in searches]) for f in _FIT}))
        diagnostics |= regression_search.record(
            searches, settings.noise_variance, settings.search_effort, starts.shape[1]
        )
        diagnostics |= regression_search.bands(problem, target, searches, settings.n, settings.evaluation_log2)
        chosen = to_numpy(starts)[:, 0]
    elif settings.estimator == "least_squares":
        fit = least_squares(
            problem.fitted,
            x,
            y,
            starts,
            box=settings.box,
            max_iterations=settings.max_iterations,
            precision=settings.precision,
        )
        theta, diagnostics = to_numpy(fit.theta), _diagnostics(fit)
        chosen = to_numpy(starts)[np.arange(len(replicates)), to_numpy(fit.start)]
    else:
        order = [_order(cell, settings, r) for r in replicates]
        batch = settings.batch_size or settings.n
        fitted = sgd(
            problem.fitted,
            x,
            y,
            starts,
            epochs=settings.epochs,
            step=settings.step,
            batch_size=min(batch, settings.n),
            order=order,
        )
        theta, chosen = to_numpy(fitted)[:, 0], to_numpy(starts)[:, 0]
        diagnostics = _sgd_diagnostics(problem.fitted, theta, to_numpy(x), to_numpy(y), settings)

    variables: dict[str, tuple] = {}
    for prefix, parameters in (("", theta), ("start_", chosen)):
        for name, values in score(problem, target, parameters, settings.evaluation_log2).items():
            variables[prefix + name] = ("replicate", values)
    residual = y - problem.truth.predict(xp.asarray(target.truth), x)
    variables["truth_loss"] = ("replicate", to_numpy(0.5 * xp.mean(residual**2, axis=-1)))
    variables |= diagnostics
    variables["theta"] = (("replicate", "atom", "coordinate"), theta)
    dataset = xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64)})
    for name, value in target.fisher(settings.n).items():
        dataset[f"fisher_{name}"] = value
    dataset["bound_rmse"] = rate_bound(settings)
    dataset["bound_rmse"].attrs["long_name"] = "sqrt(v p log n / n)"
    for name, number in target.certificate.items():
        dataset[f"pseudo_{name}"] = number
    dataset.attrs |= {"target": target.description, "start_policy": start_policy(settings, target)}
    if target.fisher_at_one:
        dataset.attrs["fisher"] = target.fisher_meaning
    return dataset


def rate_bound(settings: Settings) -> float:
    """Return sqrt(v p log n / n), p fitted parameters: Proposition 1 with the constant that dimensions suggest."""
    parameters = settings.n_fitted * settings.problem.fitted.atom_size
    return float(np.sqrt(settings.noise_variance * parameters * np.log(settings.n) / settings.n))


def start_policy(settings: Settings, target: Target) -> str:
    """Say in one sentence where the optimiser starts."""
    if settings.estimator == "sgd":
        rule = RadiusRule(settings.radius_scale, settings.radius_exponent)
        return f"SGD starts near the truth's parameters, standard deviation per coordinate {rule}."
    place = "the pseudo-truth" if target.is_pseudo else "the truth"
    text = f"{min(settings.starts, len(target.minimisers))} start(s) near {place}, radius {settings.start_radius:g}"
    if settings.random_starts:
        text += f", and {settings.random_starts} random start(s)"
    if settings.search == "global":
        text += f", and a global search around them (effort {settings.search_effort:g})"
    return f"Least squares: {text}; the best end point counts; box |theta| <= {settings.box:g}."


def _draw(
    cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the data; cells with the same truth and size share them, whatever is fitted."""
    drawn = [
        truths.sample(
            problem.truth,
            target.truth,
            settings.n,
            settings.noise_variance,
            cell.generator(r, "data", **problem.data_identity, n=settings.n),
        )
        for r in replicates
    ]
    return np.stack([x for x, _ in drawn]), np.stack([y for _, y in drawn])


def _starts(cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]) -> np.ndarray:
    """Start values (replicate, start, N, P) by the declared policy."""
    if settings.estimator == "sgd":
        # as the paper: near the ground truth, also where the fitted model does not contain it
        numbers = near_truth(problem.truth, target.truth, problem.fitted, problem.n_fitted)
        near = numbers[None] if target.is_pseudo else target.minimisers[:1]
        radius = RadiusRule(settings.radius_scale, settings.radius_exponent).radius(settings.n)
    else:
        near = target.minimisers[: settings.starts]
        radius = settings.start_radius
    out = []
    for r in replicates:
        rng = cell.generator(r, "start", **problem.data_identity, n=settings.n)
        # one direction for all radii and estimators: arms that differ in the radius only are paired
        starts = [perturb(point, radius, rng) for point in near]
        if settings.estimator == "least_squares" and settings.random_starts:
            rng = cell.generator(r, "random start", **problem.data_identity, n=settings.n)
            starts += [
                truths.ground_truth(problem.fitted, settings.n_fitted, "dense", rng)
                for _ in range(settings.random_starts)
            ]
        out.append(np.stack(starts))
    all_starts = np.stack(out)
    if settings.estimator == "sgd":
        return all_starts
    return np.clip(all_starts, -settings.box, settings.box)


def _order(cell: Cell, settings: Settings, replicate: int) -> np.ndarray:
    """The order of the samples in every epoch, (epochs, n)."""
    rng = cell.generator(replicate, "order", n=settings.n)
    order = [rng.permutation(settings.n) for _ in range(settings.epochs)]
    return np.asarray(order, dtype=np.int64).reshape(settings.epochs, settings.n)


def _diagnostics(fit: Fit) -> dict[str, tuple]:
    names = ("status", "iterations", "loss", "gradient", "decrement", "min_eigenvalue", "box_hits", "start")
    rename = {"loss": "train_loss", "start": "start_index"}
    out: dict[str, tuple] = {rename.get(name, name): ("replicate", to_numpy(getattr(fit, name))) for name in names}
    out["message"] = ("replicate", np.asarray(fit.message()))
    return out


def _sgd_diagnostics(
    model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings
) -> dict[str, tuple]:
    """SGD has no stopping criterion: it is done when its epochs are, unless it left the real numbers."""
    loss, gradient = model.gradient(theta, x, y)
    finite = np.isfinite(loss) & np.isfinite(theta).all(axis=(-2, -1))
    status = np.where(finite, Status.CONVERGED, Status.NOT_FINITE).astype(np.int64)
    sentence = f"SGD ran its {settings.epochs} epochs; it has no criterion of convergence."
    message = np.where(finite, sentence, Status.NOT_FINITE.sentence)
    return {
        "status": ("replicate", status),
        "message": ("replicate", message),
        "iterations": ("replicate", np.full(len(loss), settings.epochs)),
        "train_loss": ("replicate", loss),
        "gradient": ("replicate", np.abs(gradient).max(axis=(-2, -1))),
    }
