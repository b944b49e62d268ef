"""The rules of a run, sealed when it starts: what each claim was to be judged by before there were numbers.

The seal is a file beside the shards, ``rules.json``; its digest stands in the manifest and in ``results.nc``. A rule
that is edited later is found by it, and so is whether results belong to a study file at all.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from moestat import bounded, files, own
from moestat.bounded import DataFileError
from moestat.errors import UserError
from moestat.study.presets import rate_of, window_of
from moestat.study.spec import Claim, Study, fits

NAME = "rules.json"
PACKED = f"{NAME}.gz"
"""The same in a record, where it is compressed."""
PROSE = {"id", "source", "statement", "origin", "because", "hindsight", "predicted"}
PROSE |= {"bearing", "scale", "presets", "control"}
"""Keys of a claim that say what it is about; all others say how it is judged."""
Written = Literal["sealed", "edited", "added"]
"""When a rule was written: before its run, whose seal has it; or it was edited, or the claim added, after the run."""


@dataclass(frozen=True)
class Seal:
    """Rules as they were when a run started, on a ``date``.

    ``claims`` has per claim its content (``claim``), with the fit window that counted, and ``code``, a hash of the
    files of its function where that is the user's own. A record may have ``reworded``: the digest of the same rule in
    other words, with which estimate, interval and verdict were equal on the record and on disturbed copies of it.
    """

    date: str
    claims: Mapping[str, Mapping[str, Any]]

    @cached_property
    def digest(self) -> str:
        """One hash of date and rules."""
        claims = {name: {"claim": rule["claim"], "code": rule["code"]} for name, rule in self.claims.items()}
        return _digest({"date": self.date, "claims": claims})


def make(study: Study, preset: str) -> Seal:
    """Return the seal of a run that starts now."""
    rules = {claim.id: settled(study, preset, claim) for claim in study.claims}
    claims = {id: {"claim": rule.model_dump(mode="json"), "code": code_of(rule.function)} for id, rule in rules.items()}
    return Seal(time.strftime("%Y-%m-%dT%H:%M:%S%z"), json.loads(json.dumps(claims)))


def written(sealed: Seal, claim: Claim) -> Written:
    """Compare the rule of a claim, whose window is settled, and the user's own code of it, with what was sealed."""
    if claim.id not in sealed.claims:
        return "added"
    was, code = sealed.claims[claim.id], code_of(claim.function)
    same = digest_of(claim) in (digest_of(was["claim"]), was.get("reworded")) and code in ("", was["code"])
    return "sealed" if same else "edited"


def settled(study: Study, preset: str, claim: Claim) -> Claim:
    """Return a claim with the fit window that counts at a preset, wherever the study states it."""
    if claim.window is not None or not claim.kind.startswith("slope"):
        return claim
    rate = rate_of(study, claim.variable, claim.over, claim.arm)
    return claim.model_copy(update={"window": window_of(study, preset, rate)})


def rule_digest(study: Study, preset: str, claim: Claim) -> str:
    """Return one short hash of all that a claim is judged by at a preset."""
    return digest_of(settled(study, preset, claim))


def digest_of(claim: Claim | Mapping[str, Any]) -> str:
    """Return one short hash of the rule of a claim whose window is settled, or of its content."""
    content = claim.model_dump(mode="json") if isinstance(claim, Claim) else claim
    usual = {key: field.default for key, field in Claim.model_fields.items() if key not in PROSE}
    changed = {key: content[key] for key in usual if content.get(key, usual[key]) != usual[key]}
    return _digest({key: _kept(value) if key == "function" else value for key, value in changed.items()})


@lru_cache(maxsize=64)
def code_of(function: str) -> str:
    """Return a hash of the files of a function; empty where it is one of moestat's, or is not found."""
    try:
        return own.code(function)
    except ValueError:  # it was edited since it was imported, which is told when the claim is judged
        return ""


def write(root: Path, seal: Seal) -> None:
    """Put a seal in place."""
    files.write_json(root / NAME, {"date": seal.date, "claims": dict(seal.claims)})


def read(root: Path) -> Seal | None:
    """Return the seal of a folder, or None if there is none, or one that holds no rules; one too large is refused."""
    if not any((root / name).exists() for name in (PACKED, NAME)):
        return None
    try:
        content = json.loads(raw(root))
        rules = content["claims"].items()
        claims = {name: {**rule, "claim": dict(rule["claim"]), "code": str(rule["code"])} for name, rule in rules}
        return Seal(str(content["date"]), claims)
    except DataFileError as error:
        raise UserError(str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def raw(root: Path) -> str:
    """Return the text of the seal of a folder, that of a run or of a record."""
    packed = (root / PACKED).exists()
    return bounded.text(root / (PACKED if packed else NAME), packed=packed)


def packed(text: bytes) -> bytes:
    """Return the text of a seal as a record keeps it; the same text gives the same bytes."""
    return gzip.compress(text, compresslevel=9, mtime=0)


def problem(study: Study, preset: str) -> dict[str, str]:
    """Return hashes of what results are results of, whatever the command line changes, as the study states it."""
    chosen = study.presets[preset]
    return {
        "experiment": study.experiment or _kept(study.reads),
        "seed": str(study.seed),
        "settings": _digest(study.settings | chosen.settings),
        "grid": _digest(study.grid | chosen.grid),
        "arms": _digest({arm.name: arm.settings for arm in study.arms if fits(preset, arm.presets)}),
    }


def now(path: str) -> str:
    """Return the import path of today for one that a file of results names, where papers are ``moestat.papers``.

    >>> now("moestat.papers.sigmoid_attention.regression")
    'studies.sigmoid_attention.parts.regression'
    """
    return re.sub(r"^moestat\.papers\.(\w+)\.", r"studies.\1.parts.", path)


def _kept(path: str) -> str:
    """Return the import path by which digests know a function: it stays the same when the function moves."""
    return re.sub(r"^studies\.(\w+)\.parts\.", r"moestat.papers.\1.", path)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]
