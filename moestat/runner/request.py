"""What a user asks of the study machine, and the command line that asks for the same."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from moestat.errors import InputError
from moestat.sentences import show
from moestat.study import load

WORD = re.compile(r"[\w -]*")
LIMITS = {"replicates": (1, 2**32), "seed": (0, 2**63 - 1), "block": (1, 2**63 - 1), "jobs": (1, 2**15)}


def no_word(value: Any) -> str:
    """Return the first text in a setting that is no mere word, so that it can name code or a file; "" for none."""
    if isinstance(value, str):
        return "" if WORD.fullmatch(value) else value
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((text for part in inside if (text := no_word(part))), "")


@dataclass(frozen=True)
class Request:
    """A run of a study, or a look at one; raises InputError if a number is none."""

    study: str
    preset: str = "quick"
    replicates: int | None = None
    seed: int | None = None
    block: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    out: Path = Path("outputs")
    jobs: int | None = None
    device: str = "auto"
    backend: str = "processes"
    scheduler: str = ""
    part: tuple[int, int] | None = None
    fresh: bool = False
    replace_stale: bool = False
    retry_failed: bool = False
    report: bool = True
    quiet: bool = False
    verbose: bool = False
    timeout: float | None = None
    until: float | None = None
    python: bool = False  #: Asked for by Python code, and so told what that takes.
    extended: int | None = None  #: The replicates that :mod:`moestat.runner.until` came to.

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            value = getattr(self, name)
            if isinstance(value, Integral) and not isinstance(value, bool):  # of NumPy, say, which JSON does not know
                object.__setattr__(self, name, value := int(value))
            if value is not None and (type(value) is not int or not least <= value <= most):
                raise InputError(f"{name} is {show(value)}; allowed are whole numbers from {least} to {most}")
        for name, text in (("the study", self.study), ("--out", str(self.out))):
            if not text.isprintable():  # what is not UTF-8 comes as surrogates, which are none
                told = f"{name} is {text!r}; allowed are paths in UTF-8 without control characters"
                raise InputError(f"{told}: results and job scripts name it")
        timeout = self.timeout
        if timeout is not None and not (isinstance(timeout, int | float) and 0.0 < timeout < 1e9):
            raise InputError(f"timeout is {show(timeout)}; allowed are seconds above 0")
        if self.until is not None and not (isinstance(self.until, int | float) and 0.0 < self.until < math.inf):
            raise InputError(f"until is {show(self.until)}; allowed are half-widths above 0")

    def folder(self, study_name: str) -> Path:
        """Return the folder of the results of a run; ``study_name`` is that of the study's file."""
        return self.out / study_name / self.preset

    @property
    def part_name(self) -> str:
        """The name of the part, or ``"all"``."""
        return "all" if self.part is None else f"part-{self.part[0]}-of-{self.part[1]}"

    @property
    def recorded(self) -> dict[str, Any]:
        """What changes the plan; kept in the manifest, so that ``status`` and ``collect`` need not be told again."""
        plan = {name: getattr(self, name) for name in ("replicates", "seed", "block")}
        plan["replicates"] = self.extended or self.replicates
        return plan | {"settings": dict(self.settings)}

    @property
    def pairs(self) -> list[str]:
        """The settings as ``--set`` takes them."""
        return [f"{key}={v if isinstance(v, str) else json.dumps(v)}" for key, v in self.settings.items()]

    def command(self, verb: str = "", *, part: bool = True) -> str:
        """Return the command line that asks for the rest of this run (or ``verb`` of it)."""
        plain = Request(self.study)
        names = ["out", "replicates", "seed", "block"] + ["jobs", "device", "backend", "scheduler"] * (not verb)
        study = load.typed(self.study)
        words = ["python", "-m", "moestat.study", *([verb] if verb else []), study, "--preset", self.preset]
        for name in names:
            if (value := getattr(self, name)) != getattr(plain, name):
                words += [f"--{name}", str(value)]
        for pair in self.pairs:
            words += ["--set", pair]
        if not verb:
            if self.part is not None and part:
                words += ["--part", f"{self.part[0]}/{self.part[1]}"]
            if self.timeout is not None:
                words += ["--timeout", f"{self.timeout:g}"]
            if self.until is not None:
                words += ["--until", f"half_width={self.until:g}"]
            words += ["--retry-failed"] * self.retry_failed + ["--no-report"] * (not self.report)
        return shlex.join(words)
