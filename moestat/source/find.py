"""Where the code of a module comes from, as the import system sees it: somebody's own code, or a library.

A module is a *library* if it belongs to the standard library or to an installed distribution (a ``*.dist-info`` beside
it says so); everything else that can be imported is *own* code: a file beside a study, a symlink, a zip archive, a
package that is installed in editable form. Nothing is imported to find out.
"""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import importlib.metadata
import os
import re
import site
import sys
import sysconfig
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType

STANDARD = frozenset(sys.stdlib_module_names)
BUILTINS = frozenset(dir(builtins))


class Finder:
    """Finds modules; made anew for each question, since the import path may have changed.

    Parameters
    ----------
    own : collection of str
        Top-level packages that are own code even if they are installed.
    """

    def __init__(self, own: frozenset[str] = frozenset()) -> None:
        self._own = own | {__name__.partition(".")[0]}
        self._specs: dict[str, ModuleSpec | None] = {}
        self._tops: dict[str, bool] = {}

    def spec(self, name: str) -> ModuleSpec | None:
        """Return the spec of a module: that of the loaded one, or the one that would be loaded; None if none would."""
        if name not in self._specs:
            loaded = getattr(sys.modules.get(name), "__spec__", None)
            self._specs[name] = loaded or self._search(name)
        return self._specs[name]

    def is_own(self, name: str) -> bool:
        """Whether a module exists and is own code."""
        top = name.partition(".")[0]
        if top not in self._tops:
            self._tops[top] = self._top_is_own(top)
        return self._tops[top] and self.spec(name) is not None

    def place(self, top: str) -> Path | None:
        """Return the file of a top-level module or the folder of a package; None for what is built in."""
        spec = self.spec(top)
        return None if spec is None else _place(spec)

    def _search(self, name: str) -> ModuleSpec | None:
        parent = name.rpartition(".")[0]
        places = None
        if parent:
            package = self.spec(parent)
            if package is None or package.submodule_search_locations is None:
                return None
            loaded = sys.modules.get(parent)  # a package may have changed its path when it was imported
            places = getattr(loaded, "__path__", None) or package.submodule_search_locations
        for finder in sys.meta_path:
            try:
                spec = finder.find_spec(name, places)
            except (ImportError, AttributeError, ValueError, OSError):
                continue
            if spec is not None:
                return spec
        return None

    def _top_is_own(self, top: str) -> bool:
        spec = self.spec(top)
        if spec is None:
            return False
        place = _place(spec)
        if top in STANDARD:  # a user's module may hide one of the standard library
            return place is not None and not _inside(place, _standard_folders())
        return top in self._own or (place is not None and not _distributions(top, str(place.parent)))


def _place(spec: ModuleSpec) -> Path | None:
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.has_location and spec.origin else None


def _inside(place: Path, folders: tuple[Path, ...]) -> bool:
    return any(folder in place.parents and "site-packages" not in place.parts for folder in folders)


@functools.cache
def _standard_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]) for key in ("stdlib", "platstdlib")) + (Path(os.__file__).parent,)


def provided(top: str, folder: str) -> list[str]:
    """Return the versions of the distributions installed in ``folder`` that provide a top-level module."""
    return [dist.version for dist in _distributions(top, folder)]


@functools.cache
def _distributions(top: str, folder: str) -> tuple[importlib.metadata.Distribution, ...]:
    """Return these distributions: usually one of the same name, else all have to be looked through."""
    same = tuple(dist for dist in importlib.metadata.distributions(name=top, path=[folder]) if _installed(dist, folder))
    if same:
        return same
    listed = re.compile(rf"^{re.escape(top)}(/|\.[^,/]*,)", re.MULTILINE)
    every = importlib.metadata.distributions(path=[folder])
    return tuple(dist for dist in every if _installed(dist, folder) and _lists(dist, top, listed))


def _installed(dist: importlib.metadata.Distribution, folder: str) -> bool:
    """Whether an installer put it there; a folder of sources may hold an ``.egg-info`` too."""
    marks = ("WHEEL", "INSTALLER", "installed-files.txt")
    return folder in site.getsitepackages() or any(dist.read_text(mark) is not None for mark in marks)


def _lists(dist: importlib.metadata.Distribution, top: str, listed: re.Pattern[str]) -> bool:
    names = dist.read_text("top_level.txt")
    return top in names.split() if names else listed.search(dist.read_text("RECORD") or "") is not None


def text_of(spec: ModuleSpec) -> bytes | None:
    """Return the source of a module as bytes, None where there is none (bytecode, a compiled extension)."""
    loader = spec.loader
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        return loader.get_data(loader.get_filename(spec.name)) if spec.origin else None
    get_source = getattr(loader, "get_source", None)
    if get_source is None:
        return None
    try:
        source = get_source(spec.name)
    except (ImportError, OSError):
        return None
    return source.encode(errors="surrogatepass") if isinstance(source, str) else None


def code_of(spec: ModuleSpec) -> CodeType | bytes | None:
    """Return the compiled code of a module without source: a code object, the bytes of an extension, or None."""
    if isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        return Path(spec.loader.path).read_bytes()
    get_code = getattr(spec.loader, "get_code", None)
    if get_code is None:
        return None
    try:
        code = get_code(spec.name)
    except (ImportError, OSError):
        return None
    return code if isinstance(code, CodeType) else None
