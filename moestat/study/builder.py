"""``moestat.Study``: what a study module, a script or a notebook writes down.

It collects; :mod:`moestat.study.load` checks it and makes the immutable :class:`moestat.study.spec.Study`, whose fields
are the keys that are allowed here. Every call keeps its file and line, so that what is wrong is told where it stands.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat.errors import InputError
from moestat.sentences import counted, listed

if TYPE_CHECKING:
    import xarray as xr

    from moestat.study import spec

Loc = tuple[int | str, ...]
LISTS = ("arms", "rates", "parameters", "claims", "findings", "figures")


class Study:
    """A study: what is computed, which rates are fitted, which claims are judged, what is drawn.

    Parameters
    ----------
    title : str
        In one line.
    name : str
        Of the results, ``outputs/<name>``; that of the file, if empty.
    **fields
        ``paper``, ``source``, ``question``, ``experiment``, ``seed``, ``settings``, ``grid``, ``scale``, ``summaries``
        and the other fields of :class:`moestat.study.spec.Study`; its lists (``arms``, ``claims``), too.

    Examples
    --------
    >>> study = Study("Widths", experiment="regression", seed=1, settings=dict(d=2), grid=dict(n=[100, 1000]))
    >>> for gate in ("softmax", "sigmoid"):
    ...     study.arm(gate, fitted_gate=gate)
    >>> study.preset("quick", replicates=4)
    >>> [arm.name for arm in study.check().arms]
    ['softmax', 'sigmoid']
    """

    def __init__(self, title: str, *, name: str = "", **fields: Any) -> None:
        self.places: dict[Loc, tuple[str, int]] = {(): _caller()}
        self.tables: dict[str, Any] = {"presets": {}, **{table: [] for table in LISTS}}
        self.tables |= {"title": title, "paper": "none", "source": "", **_plain(fields)}
        self.name = name

    def arm(self, name: str, label: str = "", /, *, presets: Sequence[str] = ("*",), **settings: Any) -> None:
        """Add an arm: a name, a label for figures, and the settings in which it differs from the shared ones."""
        self._add("arms", {"name": name, "label": label, "settings": settings, "presets": list(presets)})

    def preset(self, name: str, about: str = "", **keys: Any) -> None:
        """Add a size of the study; see :class:`moestat.study.spec.Preset`. ``quick`` is the default and must exist."""
        if name in self.tables["presets"]:
            raise InputError(f"the preset {name!r} is there already; presets have different names")
        self.places["presets", name] = _caller()
        self.tables["presets"][name] = _plain({"about": about, **keys})

    def rate(self, loss: str, **keys: Any) -> None:
        """Fit a loss over an axis of the grid; see :class:`moestat.study.spec.Rate`."""
        self._add("rates", {"loss": loss, **keys})

    def parameter(self, loss: str, **keys: Any) -> None:
        """Add a row of the table of parameter rates; see :class:`moestat.study.spec.Parameter`."""
        self._add("parameters", {"loss": loss, **keys})

    def claim(self, id: str, statement: str, /, *parts: Mapping[str, Any], **keys: Any) -> None:
        """Add a statement of the paper and the rule that judges it; one that it implies says ``because`` of what.

        Among ``parts``, dictionaries that go before ``keys``, is the rule: one of :mod:`moestat.study.rules`, such as
        ``mean("L3", "relu").at_most(0.1)``. All keys are those of :class:`moestat.study.spec.Claim`.
        """
        given = {key: value for part in (keys, *parts) for key, value in part.items()}
        origin = {"origin": "implied"} if "because" in given else {}
        self._add("claims", {"id": id, "statement": statement, **origin, **given})

    def ours(self, id: str, statement: str, /, *parts: Mapping[str, Any], **keys: Any) -> None:
        """Add a claim that is no paper's: a check, a control, a question of one's own."""
        self.claim(id, statement, {"origin": "ours"}, *parts, **keys)

    def finding(self, when: Mapping[str, str], text: str) -> None:
        """Add a passage of the report that is shown only where the verdicts are as ``when`` says."""
        self._add("findings", {"when": when, "text": text})

    def figure(self, name: str = "figure", **keys: Any) -> None:
        """Add a figure; see :class:`moestat.study.spec.Figure`. Its ``panels`` are dictionaries."""
        self._add("figures", {"name": name, **keys})

    def check(self) -> spec.Study:
        """Return the checked, immutable study, or raise ``InputError``: a line for each problem, with its place."""
        from moestat.study import load

        return load.checked(self, self.file)

    def run(self, preset: str = "quick", **options: Any) -> xr.Dataset:
        """Run the study and return its results; see :func:`moestat.run`."""
        from moestat.api import run

        return run(self, preset, **options)

    def load(self, preset: str = "quick", *, out: str | Path = "outputs") -> xr.Dataset:
        """Return the results of a study that was run; see :func:`moestat.load`."""
        from moestat.api import load

        return load(self, preset, out=out)

    def __repr__(self) -> str:
        tables, name = self.tables, self.name or self.file.stem
        grid = [
            f"{axis} = {listed(values if isinstance(values, list) else [values], 12)}"
            for axis, values in tables.get("grid", {}).items()
        ]
        presets = [f"{preset} ({keys.get('replicates')} replicates)" for preset, keys in tables["presets"].items()]
        lines = [
            f"Study {name!r}: {tables['title']}",
            f"arms: {listed([arm['name'] for arm in tables['arms']], 12)}",
            f"grid: {'; '.join(grid) or 'one point'}",
            f"presets: {', '.join(presets) or 'none yet'}",
        ]
        if quick := tables["presets"].get("quick"):
            sizes = (len(values) for values in (tables.get("grid", {}) | quick.get("grid", {})).values())
            cells = counted(math.prod(sizes, start=len(tables["arms"])), "cell")
            size = f"{cells} x {counted(quick.get('replicates', 1), 'replicate')}"
            lines.append(f"run() computes quick: {size}, into outputs/{name}/quick; what is there is used")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as a notebook shows it."""
        return f"<pre>{html.escape(repr(self))}</pre>"

    @property
    def file(self) -> Path:
        """The file that made it; of a notebook's study, one of its name in the current folder, which is not there."""
        path = Path(self.places[()][0])
        return path if path.is_file() and "ipykernel" not in str(path) else Path.cwd() / f"{self.name or 'study'}.py"

    def _add(self, table: str, item: Mapping[str, Any]) -> None:
        items = self.tables[table]
        self.places[table, len(items)] = _caller()
        items.append(_plain(item))


def _caller() -> tuple[str, int]:
    """Return file and line of the call from outside this room."""
    frame, room = sys._getframe(1), str(Path(__file__).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(room):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _plain(value: Any) -> Any:
    """Return lists for sequences, Python's numbers for NumPy's, and the import path of a function or a module."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array, or a scalar of NumPy
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, type(sys)):
        return value.__name__
    return _import_path(value) if callable(value) else value


def _import_path(function: Any) -> str:
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function))
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if module == "__main__" and file:
        module = Path(file).stem
    if module in ("__main__", "", None) or "<" in name:
        raise InputError(
            f"{name} has no import path, since it was defined in a notebook or inside a function; worker processes "
            "import what they run, so write it into a file, my_code.py: an experiment is the module, 'my_code', with "
            "Settings and run; a gate, an expert, a rule or a figure is 'my_code:name'"
        )
    return f"{module}:{name}"
