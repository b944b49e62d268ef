"""Which variables an experiment can return, as far as its tables and its source tell before anything is computed.

A name is possible if a ``variables.toml`` describes it, or if the source of the code that computes holds it: as a text,
a keyword, a field or a function, or put together of such by an f-string, a sum of texts or a format. What moestat's own
experiments cannot return is refused before a run; of a user's own code, whose names may come from anywhere (the columns
of a file, say), it is said as a caution. What only the results tell is said at the end of a run, which keeps them.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from moestat import fingerprint
from moestat.errors import InputError
from moestat.runner import begin, labels
from moestat.runner.plan import Plan
from moestat.sentences import counted, listed
from moestat.source.names import NoCodeError
from moestat.status import Status
from moestat.study import load
from moestat.study.presets import named, runs_arms
from moestat.study.spec import Claim, Study

if TYPE_CHECKING:
    import xarray as xr

OWN_RULES = "moestat.claims.rules:"
"""Rules whose ``variable`` is one of the results; what it is to another function is that one's own affair."""
MOST_TOLD = 8
SOME = 12
"""Variables that are named where none is near."""
HOLE = re.compile(r"\{[^{}]*\}|%[-+0-9.]*[a-z]")
"""Where a format puts something in."""
DEPTH = 2
"""How often a name that is put together may be a part of another one."""

Parts = tuple[str | None, ...]
"""A text with holes: its constant pieces, None for each hole."""


class Use(NamedTuple):
    """A variable that a study file names: the key, as ``claims[0].variable ('id')``, the name, and the claim."""

    key: str
    name: str
    claim: Claim | None = None
    arm: str = ""


def uses(study: Study) -> Iterator[Use]:
    """Yield every variable that a study file wants of the results for its claims, rates and tables."""
    for index, claim in enumerate(study.claims):
        if claim.kind == "function" and not claim.function.startswith(OWN_RULES):
            continue
        for key, arm in (("variable", claim.arm), ("versus_variable", claim.versus or claim.arm)):
            if name := getattr(claim, key):
                yield Use(f"claims[{index}].{key} ('{claim.id}')", name, claim, arm)
    for table, rates in (("rates", study.rates), ("parameters", study.parameters)):
        for index, rate in enumerate(rates):
            for key in ("loss", "reference", "start"):
                if name := getattr(rate, key):
                    yield Use(f"{table}[{index}].{key}", name)
    for index, name in enumerate(study.summaries):
        yield Use(f"summaries[{index}]", name)


# -- before a run ---------------------------------------------------------------------------------------------------


def refuse_unknown(plan: Plan) -> None:
    """Refuse a study that judges, fits or tabulates a variable which an experiment of moestat cannot return.

    Raises
    ------
    InputError
        With one line for each: file, key, name, and the names that are near.
    """
    lines = [
        f"{plan.study_file.shown}: {use.key} is {use.name!r}, which the experiment "
        f"{plan.study_file.study.experiment!r} does not return{hint or '.'}"
        for use, hint in (_unknown(plan) if _is_ours(plan) else [])
    ]
    if lines:
        more = [f"... and {len(lines) - MOST_TOLD} more problems"] if len(lines) > MOST_TOLD else []
        raise InputError("\n".join(lines[:MOST_TOLD] + more))


def cautions(plan: Plan) -> list[str]:
    """Say which variables of a study nothing in the user's own code is called."""
    found = [] if _is_ours(plan) else _unknown(plan)
    return [
        f"{use.key} is {use.name!r}, and nothing in the code of the experiment is called so{hint or '.'}"
        for use, hint in found
    ]


def _is_ours(plan: Plan) -> bool:
    return plan.module_name.startswith("moestat.")


def _unknown(plan: Plan) -> list[tuple[Use, str]]:
    """Return the variables that cannot be returned, each with the names that are near, as the end of a sentence."""
    if plan.study_file.study.reads:  # what it hands on of the results of others is not in its source
        return []
    described = labels.texts_of(plan.module_name)
    doubtful = [use for use in uses(plan.study_file.study) if not labels.meaning_of(use.name, described)[0]]
    if not doubtful:
        return []
    modules = fingerprint.modules_of(begin.version_of(plan)) + _of_readers(plan.study_file.study.experiment)
    source = Source(modules, _texts(plan))
    pools = ([name for name in described if "*" not in name], source.names)
    pools = pools if _is_ours(plan) else pools[::-1]
    some = f"; among its variables are {listed(pools[0][-SOME:])}" if _is_ours(plan) else ""  # its own come last
    return [(use, near(use.name, *pools) or some) for use in doubtful if not source.may_name(use.name)]


def _texts(plan: Plan) -> set[str]:
    """Return the texts among the settings of a plan, of which a name may be made."""
    values = [value for planned in plan.cells for value in planned.cell.settings.values()]
    values += [item for value in values if isinstance(value, list | tuple) for item in value]
    return {value for value in values if isinstance(value, str)}


def _of_readers(experiment: str) -> list[str]:
    """Return the modules that add to the results of an experiment what studies that read them make of them.

    A record of a study holds such variables, so its claims may be about them.
    """
    tables = {}
    for name, path in load.known_studies().items():
        with contextlib.suppress(InputError):
            tables[name] = load.parse(path)[1]
    readers = {
        str(table["reads"]).partition(":")[0]
        for table in tables.values()
        if table.get("reads")
        and any(tables.get(str(need), {}).get("experiment") == experiment for need in table.get("needs") or ())
    }
    modules = []
    for reader in sorted(readers):
        with contextlib.suppress(NoCodeError):
            modules += fingerprint.modules_of(fingerprint.fingerprint(reader, ["condensed"]))
    return modules


def near(name: str, *pools: Iterable[str]) -> str:
    """Return ``"; did you mean 'x' or 'y'?"`` for the nearest names of the first pool that has some, or nothing."""
    for pool in pools:
        if close := difflib.get_close_matches(name, list(pool), n=3, cutoff=0.6):
            *others, last = map(repr, close)
            return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"
    return ""


class Source:
    """The names in the source of some modules.

    Parameters
    ----------
    modules : iterable of str
        Import paths; one without source is passed over.
    texts : set of str
        Further texts, of which a name may be made.
    """

    def __init__(self, modules: Iterable[str], texts: Iterable[str] = ()) -> None:
        self.words, self.forms = set(texts), set[Parts]()
        for module in modules:
            for node in ast.walk(_tree(module)):
                self._note(node)

    @cached_property
    def names(self) -> list[str]:
        """The words that can be names of variables, in order."""
        return sorted(word for word in self.words if word.isidentifier())

    def may_name(self, name: str) -> bool:
        """Return whether a variable may be called so."""
        return self._possible(name, DEPTH)

    def _possible(self, name: str, depth: int) -> bool:
        if name in self.words:
            return True
        return depth > 0 and any(self._fits(form, name, depth if _has_text(form) else 1) for form in self.forms)

    def _fits(self, form: Parts, text: str, depth: int, whole: str = "") -> bool:
        """Whether a text is a form whose holes hold nothing, digits, or what is possible itself."""
        whole = whole or text
        if not form:
            return not text
        first, rest = form[0], form[1:]
        if first is not None:
            return text.startswith(first) and self._fits(rest, text[len(first) :], depth, whole)
        ends = [len(text)] if not rest else range(len(text) + 1)
        return any(
            self._fits(rest, text[end:], depth, whole)
            and (
                not text[:end] or text[:end].isdigit() or text[:end] != whole and self._possible(text[:end], depth - 1)
            )
            for end in ends
        )

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.words.add(node.value)
            self._form(_of_format(node.value))
        elif isinstance(node, ast.JoinedStr):
            self._form(_of_joined(node))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            self._form(_of_sum(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._note_method(node.func)
        elif isinstance(node, ast.keyword):
            self.words.add(node.arg or "")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.words.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.words.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self.words.add(node.attr)

    def _note_method(self, method: ast.Attribute) -> None:
        """Note the words of ``"a b".split()``, and two words with what ``"_".join(...)`` puts between them."""
        text = method.value.value if isinstance(method.value, ast.Constant) else None
        if isinstance(text, str) and method.attr == "split":
            self.words.update(re.split(r"[\s,;]+", text))
        elif isinstance(text, str) and method.attr == "join":
            self._form((None, text, None))

    def _form(self, parts: Parts) -> None:
        """Keep a form that may make names: more than one hole or some text, and nothing that no name holds."""
        constant = "".join(part for part in parts if part is not None)
        if None in parts and len(parts) > 1 and re.fullmatch(r"[\w.:+-]*", constant):
            self.forms.add(parts)


def _has_text(form: Parts) -> bool:
    return any(form)


def _of_format(text: str) -> Parts:
    parts: list[str | None] = []
    for piece in HOLE.split(text):
        parts += [piece, None] if piece else [None]
    return tuple(parts[:-1])


def _of_joined(node: ast.JoinedStr) -> Parts:
    return tuple(str(value.value) if isinstance(value, ast.Constant) else None for value in node.values)


def _of_sum(node: ast.BinOp) -> Parts:
    sides: list[Parts] = []
    for side in (node.left, node.right):
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add):
            sides.append(_of_sum(side))
        elif isinstance(side, ast.JoinedStr):
            sides.append(_of_joined(side))
        else:
            sides.append((side.value,) if isinstance(side, ast.Constant) and isinstance(side.value, str) else (None,))
    return sides[0] + sides[1] if any(map(_has_text, sides)) else ()  # else it adds numbers


def _tree(module: str) -> ast.AST:
    """Return the source of a module as a syntax tree, an empty one where there is none."""
    try:
        spec = importlib.util.find_spec(module)
        return ast.parse(Path(spec.origin).read_bytes()) if spec is not None and spec.origin else ast.Module([], [])
    except (ImportError, ValueError, OSError, SyntaxError):
        return ast.Module([], [])


# -- after a run ----------------------------------------------------------------------------------------------------


def absent(dataset: xr.Dataset, study: Study, preset: str) -> str:
    """Say which variables of claims the results do not hold, in arms that have any values; or return an empty text.

    Parameters
    ----------
    dataset : xarray.Dataset
        The collected results.
    study : Study
    preset : str
        The one that was run: claims that it does not judge are passed over.
    """
    held = [str(name) for name in dataset.data_vars]
    missing = [
        use
        for use in uses(study)
        if use.claim is not None
        and use.name not in held
        and named(preset, use.claim)
        and runs_arms(study, preset, use.claim)
        and _has_values(dataset, use.arm)
    ]
    if not missing:
        return ""
    added = Source(_of_readers(study.experiment))  # by them to a record, not to a run
    texts = [
        f"{use.key} is {use.name!r}{near(use.name, held) or '.'}" for use in missing if not added.may_name(use.name)
    ]
    if not texts:
        return ""
    shown = " ".join(texts[:MOST_TOLD]) + (f" And {len(texts) - MOST_TOLD} more." if len(texts) > MOST_TOLD else "")
    verb = "names a variable" if len(texts) == 1 else "name variables"
    return f"{counted(len(texts), 'claim')} {verb} that the results do not hold: {shown}"


def _has_values(dataset: xr.Dataset, arm: str) -> bool:
    status = dataset["status"]
    if arm in dataset["arm"].values.tolist():
        status = status.isel(arm=dataset["arm"].values.tolist().index(arm))
    elif arm and "*" not in arm:
        return False
    return bool(status.isin([int(s) for s in Status if s.has_value]).any())
