"""The checked form of a study: what is computed, which rates are fitted, which claims are judged, what is drawn."""

from __future__ import annotations

import fnmatch
import inspect
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _ordered(region: tuple[float, float]) -> tuple[float, float]:
    if not region[0] < region[1]:
        raise ValueError("allowed is [low, high] with low < high")
    return region


Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.+-]*$")]
Scalar = bool | int | float | str
Range = Annotated[tuple[float, float], AfterValidator(_ordered)]
Patterns = list[str]
"""Names, of arms or presets, or glob patterns of them."""
Scale = Literal["paper", "reduced", "stand-in"]
"""What a run is to the paper: its own problem, the same problem but smaller, or other data or another model."""


def has_paper(paper: str) -> bool:
    """Return whether the short name of a paper is that of one, neither empty nor ``none``."""
    return paper.strip().lower() not in ("", "none")


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name, of an arm or a preset, is one of some names or matches a glob pattern of them.

    >>> fits("softmax-relu", ["sigmoid-*", "*-relu"])
    True
    """
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class Strict(BaseModel):
    """Base of every part of a study: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Let ``help`` and the documentation say what every field means."""
        told = [f"{name}\n    {field.description}" for name, field in cls.model_fields.items() if field.description]
        if told:
            cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "\nParameters\n----------", *told])


class Arm(Strict):
    """One arm: a name, a label for figures, and the settings in which it differs from the shared ones."""

    name: Name = Field(description="in the results, tables and claims")
    label: str = Field("", description="in figures; the name if empty")
    settings: dict[str, Any] = Field({}, description="settings of this arm alone")
    presets: Patterns = Field(["*"], description="presets that may run it; results of the others stay valid")


class Preset(Strict):
    """A size of the study: which arms, grid, replicates and settings replace the study's own."""

    about: str = Field("", description="what is different, in a sentence")
    expected: str = Field("", description="what to expect in time, e.g. '90 s on 2 cores'")
    replicates: int = Field(ge=1, description="replicates per cell")
    grid: dict[str, list[Scalar]] = Field({}, description="axes that replace the study's")
    arms: Patterns = Field(["*"], description="names or glob patterns of the arms that run")
    settings: dict[str, Any] = Field({}, description="settings that replace the study's")
    block: int | None = Field(None, ge=1, description="replicates per shard; the numbers do not depend on it")
    window: Range | None = Field(None, description="replaces the fit window of every rate")
    scale: Scale | None = Field(None, description="what its runs are to the paper, instead of the study's `scale`")
    rank: int | None = Field(
        None, ge=0, description="of two presets of one scale the higher decides; if absent, 0 for 'quick', else 1"
    )


class Rate(Strict):
    """A log-log fit of one loss over one axis of the grid, for every arm that matches, and what is said about it.

    Exponents stand under an arm's name or a pattern; the first that matches counts.
    """

    loss: str = Field(description="a variable of the results, e.g. L3")
    over: str = Field("n", description="the axis of the grid (or of the dataset) that the loss is fitted over")
    arms: Patterns = Field(["*"], description="names or glob patterns")
    window: Range | None = Field(None, description="fit window on `over`, both ends included; all if absent")
    bound: float | None = Field(None, description="the exponent that the theory predicts for all arms, e.g. -0.5")
    predicted: dict[str, float] = Field({}, description="arm -> exponent that is expected, where arms differ in it")
    printed: dict[str, float] = Field({}, description="arm -> slope that the paper prints, drawn dashed in figures")
    reference: str = Field("", description="cell-level variable drawn beside it; tables take fisher_<loss> if empty")
    start: str = Field("", description="the loss at the start of the fit, drawn dotted; tables take start_<loss>")


class Parameter(Rate):
    """A row of the table of parameter rates: the error of one block of the parameters of one kind of atom."""

    block: str = Field(description="the block as the paper calls it, e.g. A, eta, W")
    role: Literal["gate", "expert", "variance", "weight", "all"]
    atoms: Literal["over-specified", "exactly specified", "all"] = Field("all", description="whose error it is")


RULES = ("within", "equivalent", "at_most", "at_least")
"""Keys of a claim of which one states its rule, the region of the estimate."""


class Claim(Strict):
    """A statement of a paper and the rule, sealed when a run starts, by which the simulation judges it.

    The estimate's interval is compared with the region [low, high] of ``within``, ``equivalent``, ``at_most`` or
    ``at_least``: inside is *supported*, outside is *not supported*, anything else is *inconclusive*.
    """

    id: Name = Field(description="a name, unique in the study")
    source: str = Field(description="where the paper says it, e.g. 'SA Fig. 1a'")
    statement: str = Field(description="what the paper says, in one sentence")
    origin: Literal["stated", "implied", "ours"] = Field("stated", description="who says it; without a paper the study")
    because: str = Field("", description="how it follows from the paper, for origin 'implied'")
    hindsight: str = Field("", description="what was settled after results had been seen; told with the verdict")
    bearing: Literal["for", "against", "neutral"] = Field(
        "for", description="what it means for the paper if it is supported; if absent, 'neutral' for origin 'ours'"
    )
    scale: Scale | None = Field(None, description="what its runs are to the paper, instead of the preset's `scale`")
    printed: bool = Field(False, description="the paper prints `predicted` for its own problem; compared at that alone")
    kind: Literal["slope", "slope_difference", "mean", "difference", "log_ratio", "function"]
    variable: str = Field("", description="loss or metric, a variable of the results")
    over: str = Field("n", description="the axis of a slope")
    arm: str = Field("", description="the arm that the claim is about")
    versus: str = Field("", description="the arm that a difference is taken to")
    versus_variable: str = Field("", description="the variable of `versus`, when it differs from `variable`")
    at: dict[str, Scalar] = Field({}, description="coordinates at which a mean is taken")
    versus_at: dict[str, Scalar] | None = Field(None, description="coordinates for `versus`, when they differ")
    window: Range | None = Field(None, description="fit window on `over`, instead of that of its rate")
    function: str = Field("", description="'package.module:callable' for kind 'function'")
    options: dict[str, Any] = Field({}, description="keyword arguments of `function`")
    predicted: str | float = Field("", description="what the paper says, as printed in the table")
    within: Range | None = Field(None, description="the rule: [low, high]")
    equivalent: float | None = Field(None, gt=0, description="the rule: a difference of at most this, either way")
    at_most: float | None = Field(None, description="the rule: an upper limit")
    at_least: float | None = Field(None, description="the rule: a lower limit")
    level: float = Field(0.95, gt=0.5, lt=1)
    bent: Literal["told", "inconclusive"] = Field(
        "told", description="what a bend of the line is to the verdict on its slope: told with it, or an obstacle"
    )
    presets: Patterns = Field(["*"], description="presets in which the claim is judged")
    check: str = Field(
        "", description="the claim of the study that its treatment was delivered, without which it fails"
    )
    control: str = Field("", description="the claim of the study that is its control; told with it")

    @model_validator(mode="before")
    @classmethod
    def _whose(cls, given: Any) -> Any:
        """What is ours has no bearing on the paper, unless it is stated."""
        ours = isinstance(given, dict) and given.get("origin") == "ours"
        return {"bearing": "neutral"} | given if ours else given

    @model_validator(mode="after")
    def _one_rule(self) -> Claim:
        if sum(getattr(self, rule) is not None for rule in RULES) != 1:
            raise ValueError(f"exactly one of {', '.join(RULES)} must be given")
        if self.origin == "implied" and not self.because:
            raise ValueError("origin 'implied' needs because: how the statement follows from the paper")
        if self.equivalent is not None and self.kind in ("slope", "mean"):
            raise ValueError("equivalent is a rule for differences and functions; give within")
        if self.kind == "function":
            if ":" not in self.function:
                raise ValueError("kind 'function' needs function='package.module:callable'")
        elif not self.variable or not self.arm:
            raise ValueError(f"kind '{self.kind}' needs variable and arm")
        if self.kind in ("slope_difference", "difference", "log_ratio") and not (
            self.versus or self.versus_at or self.versus_variable
        ):
            raise ValueError(f"kind '{self.kind}' needs versus, versus_at or versus_variable")
        return self

    @property
    def region(self) -> tuple[float, float]:
        """The region [low, high] of the estimate in which the claim is supported."""
        if self.equivalent is not None:
            return -self.equivalent, self.equivalent
        low = -math.inf if self.at_least is None else self.at_least
        return self.within or (low, math.inf if self.at_most is None else self.at_most)


class Finding(Strict):
    """A passage of the report that holds only where the verdicts are as it says; the others are not shown.

    A pattern such as ``better-*`` stands for all claims of that name; each must be judged at the preset of the run.
    """

    when: dict[str, Literal["supported", "no counterexample", "not supported", "refuted", "inconclusive"]] = Field(
        min_length=1, description="claim (name or pattern) -> the verdict that it must have"
    )
    text: str = Field(description="what the verdicts together say, and why")


class Panel(Strict):
    """One panel of a figure."""

    title: str = Field("", description="above the panel")
    arms: Patterns = Field(["*"], description="names or glob patterns")
    variable: str = Field("", description="what is drawn; for kind 'rates' the loss of a rate")
    ylabel: str = Field("", description="label of its axis; made from the variable if empty")
    at: dict[str, Scalar | list[Scalar]] = Field(
        {},
        description="coordinates, beside those of `options.at`; of a list the first that was run, 'last' for the end "
        "of an axis of numbers; without such a point the panel is left out",
    )
    note: str = Field("", description="under the title; {name} places a coordinate, or a variable's mean there")


OPTIONS = {
    "rates": frozenset({"at", "share_y"}),
    "lines": frozenset({"at", "share_y", "within", "levels"}),
    "heatmap": frozenset({"at", "digits", "origin", "ylabel", "vmin", "vmax"}),
}
"""The ``options`` that figures of a kind take; those of kind 'function' are its function's own."""


class Figure(Strict):
    """A figure: log-log rates, lines over any axis, a heat map, or a function of the user's."""

    name: Name = Field("figure", description="of the files")
    kind: Literal["rates", "lines", "heatmap", "function"] = "rates"
    title: str = Field("", description="above all panels")
    x: str = Field("n", description="the axis of the grid along x")
    xlabel: str = Field("", description="made from x if empty")
    hue: str = Field("arm", description="dimension that is drawn as separate lines")
    y: str = Field("", description="second axis of a heat map")
    logx: bool = Field(True, description="logarithmic x axis")
    logy: bool = Field(True, description="logarithmic y axis")
    columns: int = Field(2, ge=1, le=6, description="panels side by side")
    panels: list[Panel] = Field([], description="a dictionary each")
    function: str = Field("", description="'package.module:callable' for kind 'function'")
    options: dict[str, Any] = Field({}, description="what figures of the kind take; keyword arguments of `function`")
    caption: str = Field("", description="under the figure")
    presets: Patterns = Field(["*"], description="presets whose runs it shows")


class Study(Strict):
    """A whole study."""

    title: str = Field(description="in one line")
    paper: str = Field(description="short name of the paper; 'none' for a study without one")
    source: str = Field(description="where in the paper")
    question: str = Field("", description="what the study asks")
    about: str = Field("", description="design, what to expect and how to read the figure; goes into the report")
    experiment: str = Field("", description="an experiment of moestat by its name, or an import path")
    reads: str = Field(
        "", description="instead of it, 'package.module:callable' that makes results of those of `needs`"
    )
    seed: int = Field(ge=0, lt=2**63, description="every random number follows from it")
    scale: Scale | None = Field(
        None,
        description="what its runs are to the paper; if absent, 'paper' for a preset of that name and without a paper, "
        "which there is nothing to be reduced from, else 'reduced'",
    )
    needs: list[str] = Field([], description="studies whose results this one reads; --all runs them first")
    settings: dict[str, Any] = Field({}, description="settings of every arm")
    grid: dict[str, list[Scalar]] = Field({}, description="axis -> values; the cells are arms x grid")
    arms: list[Arm] = Field(min_length=1, description="what is compared")
    presets: dict[Name, Preset] = Field(description="sizes of the study; 'quick' is the default")
    rates: list[Rate] = Field([], description="the fits")
    parameters: list[Parameter] = Field([], description="the table of parameter rates, block by block")
    summaries: list[str] = Field([], description="variables tabulated per arm and grid point, with intervals")
    claims: list[Claim] = Field([], description="what is judged")
    figures: list[Figure] = Field([], description="the files of the first one are called figure")
    findings: list[Finding] = Field([], description="what the verdicts say; only those that fit the run are shown")

    @model_validator(mode="after")
    def _runs(self) -> Study:
        if "quick" not in self.presets:
            raise ValueError("presets must contain 'quick', the default")
        if bool(self.experiment) == bool(self.reads):
            raise ValueError("exactly one of experiment and reads must be given")
        if self.reads and (not self.needs or self.grid or ":" not in self.reads):
            raise ValueError("reads='package.module:callable' goes with needs, the studies it reads, and no grid")
        return self

    def scale_of(self, preset: str, claim: Claim | None = None) -> Scale:
        """Return what a run at a preset is to the paper, for a claim or for the study as a whole."""
        if claim is not None and claim.scale is not None:
            return claim.scale
        own = self.presets[preset].scale if preset in self.presets else None
        return own or self.scale or ("reduced" if preset != "paper" and has_paper(self.paper) else "paper")

    def rank_of(self, preset: str) -> int:
        """Return how much the runs of a preset decide, beside those of its scale."""
        own = self.presets[preset].rank if preset in self.presets else None
        return own if own is not None else int(preset != "quick")
