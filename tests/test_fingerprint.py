"""The version of a result's code: every definition that it depends on counts, wherever it stands, and nothing else."""

from __future__ import annotations

import compileall
import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from moestat import fingerprint
from moestat.source import colours
from moestat.source.graph import Graph
from moestat.source.loaded import edited, remember
from moestat.source.names import NoCodeError

ROOT = Path(__file__).resolve().parents[1]

PROGRAM = {
    "exp.py": '''
"""An experiment."""
import numpy as np
from pydantic import Field
import prog.deep.tools
from prog import helper as helped
from prog import tables
from prog.base import Base

SCALE = 1.0
START = np.arange(3)
START[0] = 5
UNUSED = 1.0


class Settings(Base):
    n: int = Field(3, description="how many")


def run(cell, replicates, *, device="cpu"):
    """Compute."""
    s = Settings()
    total: float = helped(s.n) * SCALE + np.sum(START)
    return total + prog.deep.tools.even(4) + s.shift() + tables.ALL["b"](total) + later(total)


def later(x):
    from prog.second import late
    try:
        from prog.second import faster as fast
    except ImportError:
        fast = None
    return late(x) if fast is None else fast(x)


def claim(ds):
    """A rule of a claim."""
    return note(ds)


def note(ds):
    return "the largest"
''',
    "prog/__init__.py": "from prog.first import helper\n",
    "prog/first.py": """
from .second import inner, outer
def helper(n, power=2):
    return [inner(inner) ** power for inner in (inner(n),)]
""",
    "prog/second.py": """
def inner(n):
    return n + 1
def outer(n):
    return n + 2
def late(x):
    return -x
def faster(x):
    return x + 0.5
def unreached(x):
    return x + 0.25
""",
    "prog/base.py": """
class Root:
    def shift(self):
        return 0
class Second:
    def shift(self):
        return 100
class Base(Root):
    kind = "base"
""",
    "prog/tables.py": """
from prog.first import *
ALL = {"a": abs}
ALL |= {"b": round}
if len(ALL) > 5:
    ALL = {}
def forgotten():
    return 7
""",
    "prog/deep/__init__.py": "",
    "prog/deep/tools.py": """
def even(n):
    return n == 0 or odd(n - 1)
def odd(n):
    return n != 0 and even(n - 1)
""",
}


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def version(module: str = "exp", *names: str) -> dict[str, str]:
    importlib.invalidate_caches()
    return fingerprint.fingerprint(module, names or ("run", "prepare"))


@pytest.fixture
def program(tmp_path, monkeypatch):
    write(tmp_path, PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("exp.py", "SCALE = 1.0", "SCALE = 2.0", "exp"),
        ("exp.py", "np.sum(", "np.max(", "exp"),
        ("exp.py", "START[0] = 5", "START[0] = 6", "exp"),
        ("exp.py", "Field(3", "Field(4", "exp"),
        ("exp.py", "n: int = Field", "n: float = Field", "exp"),
        ("exp.py", "x) if fast is None", "x + x) if fast is None", "exp"),
        ("prog/first.py", "power=2", "power=3", "prog.first"),
        ("prog/first.py", "in (inner(n),)", "in (outer(n),)", "prog.first"),  # a swapped helper
        ("prog/first.py", "import inner, outer", "import inner as outer, outer as inner", "prog.first"),
        ("prog/second.py", "n + 1", "n + 3", "prog.second"),  # through two modules
        ("prog/second.py", "-x", "+x", "prog.second"),  # imported inside a function
        ("prog/second.py", "x + 0.5", "x + 1.5", "prog.second"),
        ("prog/base.py", "Base(Root)", "Base(Second)", "prog.base"),
        ("prog/base.py", '"base"', '"bass"', "prog.base"),
        ("prog/base.py", "return 0", "return 1", "prog.base"),
        ("prog/tables.py", "round", "str", "prog.tables"),
        ("prog/tables.py", "> 5", "> 0", "prog.tables"),
        ("prog/tables.py", "if len", "import random\nrandom.seed(1)\nif len", "prog.tables"),
        ("prog/deep/__init__.py", "", "import numpy as np\nOLD = np.seterr(all='raise')\n", "prog.deep"),
        ("prog/deep/tools.py", "n != 0", "n != 1", "prog.deep.tools"),  # recursion of two
    ],
)
def test_a_change_that_can_reach_a_number_counts_and_is_named(program, file, old, new, told):
    before = version()
    (program / file).write_text(new) if not old else edit(program, file, old, new)
    after = version()
    assert fingerprint.digest(before) != fingerprint.digest(after)
    assert any(told in line for line in fingerprint.changes(before, after))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("exp.py", "the largest", "the greatest"),
        ("exp.py", '"""Compute."""', '"""Compute it."""\n    # a remark'),
        ("exp.py", "UNUSED = 1.0", "UNUSED = 2.0"),
        ("exp.py", "how many", "the number"),
        ("exp.py", "def run(cell, replicates, *", "def run(\n    cell: object, replicates: list[int], *"),
        ("exp.py", "total: float =", "total ="),
        ("exp.py", "from prog import helper as helped", "from prog.first import helper as helped"),
        ("exp.py", "helped(s.n)", "prog.helper(s.n)"),
        ("exp.py", "import numpy as np", "import json\nimport numpy as np"),
        ("prog/second.py", "0.25", "0.75"),
        ("prog/tables.py", "return 7", "return 8"),
        ("prog/deep/tools.py", "def even", "def new():\n    return 3\n\n\ndef even"),
    ],
)
def test_a_change_that_cannot_reach_a_number_does_not_count(program, file, old, new):
    before = version()
    edit(program, file, old, new)
    after = version()
    assert fingerprint.digest(before) == fingerprint.digest(after)
    assert fingerprint.changes(before, after) == []


def test_a_module_that_moves_or_is_renamed_changes_nothing(program, tmp_path_factory, monkeypatch):
    before = version()
    other = tmp_path_factory.mktemp("other")
    moved = {f"home/papers/{name}".replace("prog/", "rooms/"): text for name, text in PROGRAM.items()}
    moved = {name.replace("exp.py", "trial.py"): text for name, text in moved.items()}
    moved = {name: text.replace("prog", "home.papers.rooms") for name, text in moved.items()}
    write(other, moved | {"home/__init__.py": "", "home/papers/__init__.py": "'''Papers.'''\n"})
    monkeypatch.syspath_prepend(str(other))
    after = version("home.papers.trial")
    assert fingerprint.equal(before, after) and fingerprint.changes(before, after) == []
    assert "home.papers.rooms.second" in after and "prog.second" in before
    edit(other, "home/papers/rooms/second.py", "n + 1", "n + 3")
    assert not fingerprint.equal(before, version("home.papers.trial"))


def test_a_package_of_ours_under_another_name_is_the_same_code(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "moestat", tmp_path / "ours", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "ours").rglob("*.py"):
        path.write_text(path.read_text().replace("moestat.", "ours.").replace("from moestat", "from ours"))
    monkeypatch.syspath_prepend(str(tmp_path))
    digests = []
    for package in ("moestat", "ours"):
        graph = Graph()
        assert graph.root(f"{package}.papers.sigmoid_attention.minimax_lower_bound", "run")
        digests.append(colours.digest(graph.nodes, graph.roots))
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("use", "counts"),
    [
        ("from shelf import *\ndef run():\n    return first()", {"first"}),
        ("import shelf\ndef run():\n    return shelf.first()", {"first"}),
        ("import shelf\ndef run(name):\n    return getattr(shelf, name)()", {"first", "second", "C"}),
        ("import shelf\nPLACE = shelf\ndef run(name):\n    return vars(PLACE)[name]()", {"first", "second", "C"}),
        ("import importlib\ndef run():\n    return importlib.import_module('shelf')", {"first", "second", "C"}),
        ("def run():\n    import shelf as s\n    return s.second()", {"second"}),
        ("from numpy import *\nfrom shelf import *\nfrom numpy import *\ndef run():\n    return first()", {"first"}),
        ("from shelf import C\nclass C(C):\n    pass\ndef run():\n    return C().x()", {"C"}),
        ("import shelf\nclass D(shelf.C):\n    pass\nX = D()\ndef run():\n    pass", set()),
        ("import shelf\nFUNCTIONS = [shelf.first]\nX = [f() for f in FUNCTIONS]\ndef run():\n    pass", {"first"}),
        ("from shelf import first\ndef run(first):\n    return first", set()),
        ("from shelf import first\ndef run(x):\n    return [first for first in x]", set()),
        ("from shelf import first\nclass A:\n    first = first\ndef run():\n    return A.first", {"first"}),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import shelf\ndef run(x: shelf):\n    return x",
            set(),
        ),
        ("from shelf import first\ndef run(x, f=first):\n    return f(x)", {"first"}),
        (
            "from shelf import first\ndef make(f):\n    return f\n@make\ndef g():\n    first()\ndef run():\n    pass",
            {"first"},
        ),
    ],
)
def test_names_are_followed_as_python_does(tmp_path, monkeypatch, use, counts):
    shelf = {"first": "def first():\n    return 1\n", "second": "def second():\n    return 2\n"}
    shelf["C"] = "class C:\n    def x(self):\n        return 3\n"
    write(tmp_path, {"use.py": use, "shelf.py": "".join(shelf.values())})
    monkeypatch.syspath_prepend(str(tmp_path))
    before = version("use")
    seen = set()
    for name in shelf:
        changed = shelf | {name: shelf[name].replace("return", "return 10 *")}
        write(tmp_path, {"shelf.py": "".join(changed.values())})
        if not fingerprint.equal(before, version("use")):
            seen.add(name)
    assert seen == counts


# --- what moestat's own experiments depend on ------------------------------------------------------------------------

EDITS = """
import sys
from pathlib import Path
from moestat.experiment import code_version
from moestat.fingerprint import WHOLE, changes
from moestat.runner.experiments import own_experiments
import moestat
root = Path(moestat.__file__).parent
assert root.is_relative_to(sys.argv[1]), root  # a copy, never the checkout that other tests run from
for line in sys.stdin:
    module, file, old, new = line.rstrip("\\n").split("|")
    before, path = code_version(own_experiments()[module]), root / file
    text = path.read_text()
    assert old in text, file
    path.write_text(text.replace(old, new.replace("~", "\\n")))
    after = code_version(own_experiments()[module])
    print(before[WHOLE] == after[WHOLE], "; ".join(changes(before, after)))
    path.write_text(text)
"""


def test_what_counts_for_experiments_of_ours(tmp_path):
    shutil.copytree(ROOT / "moestat", tmp_path / "moestat", ignore=shutil.ignore_patterns("__pycache__"))
    line = "self.shape, self.gate = shape, gate"
    cases = {
        f"mot_images|papers/task_routing/task_transformer.py|{line}|{line}~        more = 3": True,
        f"task_training|papers/task_routing/task_transformer.py|{line}|{line}~        more = 3": False,
        "minimax_lower_bound|papers/sigmoid_attention/rules.py|simultaneous|at_once": True,
        "minimax_lower_bound|claims/rules.py|largest|greatest": True,
        "minimax_lower_bound|papers/sigmoid_attention/minimax.py|return |return 2 * ": False,
        "minimax_lower_bound|streams.py|return |return None and ": False,
        "minimax_lower_bound|experiment.py|sort_keys=True|sort_keys=False": True,
        "regression|cache.py|moestat-cache-1|moestat-cache-2": True,
        "regression|losses/voronoi.py|return |return 1 * ": False,
    }
    done = subprocess.run(
        [sys.executable, "-c", EDITS, str(tmp_path)],
        input="\n".join(cases),
        cwd=tmp_path,  # "-c" puts it before PYTHONPATH
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = dict(zip(cases, done.stdout.splitlines(), strict=True))
    assert {line: text.split()[0] == "True" for line, text in told.items()} == cases
    assert told["regression|losses/voronoi.py|return |return 1 * "] == "False the code of moestat.losses.voronoi"


# --- where code comes from -------------------------------------------------------------------------------------------

EXPERIMENT = "import {helper}\ndef run():\n    return {helper}.value()\n"


def test_a_helper_in_another_folder_of_the_path_counts(tmp_path, monkeypatch):
    write(
        tmp_path, {"studies/mine.py": EXPERIMENT.format(helper="beside"), "beside.py": "def value():\n    return 1\n"}
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "studies"))
    before = version("mine")
    write(tmp_path, {"beside.py": "def value():\n    return 2\n"})
    assert fingerprint.changes(before, version("mine")) == ["the code of beside"]


def test_a_symlinked_experiment_and_what_lies_beside_the_link_count(tmp_path, monkeypatch):
    write(
        tmp_path,
        {"store/linked.py": EXPERIMENT.format(helper="near"), "studies/near.py": "def value():\n    return 1\n"},
    )
    (tmp_path / "studies/linked.py").symlink_to(tmp_path / "store/linked.py")
    monkeypatch.syspath_prepend(str(tmp_path / "studies"))
    first = version("linked")
    write(tmp_path, {"studies/near.py": "def value():\n    return 2\n"})
    second = version("linked")
    edit(tmp_path, "store/linked.py", ".value()", ".value() + 1")
    assert fingerprint.changes(first, second) == ["the code of near"]
    assert fingerprint.changes(second, version("linked")) == ["the code of linked"]


def test_a_package_in_a_zip_counts(tmp_path, monkeypatch):
    versions = []
    for value in (1, 1, 2):
        archive = tmp_path / f"packed{len(versions)}.zip"
        with zipfile.ZipFile(archive, "w") as stream:
            stream.writestr("packed/__init__.py", "")
            stream.writestr("packed/inner.py", f"def value():\n    return {value}\n")
        write(tmp_path, {"zipped.py": EXPERIMENT.format(helper="packed.inner")})
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))
            patch.syspath_prepend(str(archive))
            versions.append(version("zipped"))
    assert fingerprint.equal(versions[0], versions[1])
    assert fingerprint.changes(versions[1], versions[2]) == ["the code of packed.inner"]


@pytest.mark.filterwarnings("ignore")
def test_a_package_of_bytecode_alone_counts(tmp_path, monkeypatch):
    versions = []
    for value in (1, 1, 2):
        folder = tmp_path / f"compiled{len(versions)}"
        texts = {"bare.py": EXPERIMENT.format(helper="bone"), "bone.py": f"def value():\n    return {value}\n"}
        write(folder, texts)
        compileall.compile_dir(folder, quiet=1, legacy=True)
        for name in texts:
            (folder / name).unlink()
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            versions.append(version("bare"))
    assert fingerprint.equal(versions[0], versions[1])
    assert fingerprint.changes(versions[1], versions[2]) == ["the code of bone"]


def install(folder: Path, number: str, body: str) -> None:
    record = "shop/__init__.py,,\nshop_things-1.dist-info/METADATA,,\n"
    write(
        folder,
        {
            "shop/__init__.py": body,
            "shop_things-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: shop-things\nVersion: {number}\n",
            "shop_things-1.dist-info/RECORD": record,
            "shop_things-1.dist-info/WHEEL": "Wheel-Version: 1.0\n",
        },
    )


def test_of_an_installed_distribution_the_version_counts_and_of_a_loose_file_beside_it_the_code(tmp_path, monkeypatch):
    write(tmp_path, {"mine.py": "import shop\nimport loose\ndef run():\n    return shop.sell() + loose.give()\n"})
    write(tmp_path, {"lib/loose.py": "def give():\n    return 1\n"})
    install(tmp_path / "lib", "1.2", "def sell():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    monkeypatch.syspath_prepend(str(tmp_path))

    def now() -> dict[str, str]:
        from moestat.source import find

        find._distributions.cache_clear()
        return version("mine")

    first = now()
    install(tmp_path / "lib", "1.2", "def sell():\n    return 2\n")
    assert fingerprint.equal(first, now())
    install(tmp_path / "lib", "1.3", "def sell():\n    return 2\n")
    second = now()
    assert fingerprint.changes(first, second) == ["shop 1.2 -> 1.3"]
    write(tmp_path, {"lib/loose.py": "def give():\n    return 2\n"})
    assert fingerprint.changes(second, now()) == ["the code of loose"]


@pytest.mark.parametrize("module", ["math", "json", "no_such_module", "made_at_run_time"])
def test_code_that_cannot_be_read_is_refused(module, monkeypatch):
    if module == "made_at_run_time":
        monkeypatch.setitem(sys.modules, module, type(sys)(module))
    with pytest.raises(NoCodeError, match=module):
        version(module)


# --- what is in memory -----------------------------------------------------------------------------------------------

LIVE = """
import numpy as np
POINTS = np.arange(3)
LIMIT = 3
def count(x, most=5):
    return min(x, most)
class Box:
    def open(self):
        return 1
"""


@pytest.fixture
def live(tmp_path, monkeypatch, request):
    name = f"live_{abs(hash(request.node.name))}"
    write(tmp_path, {f"{name}.py": LIVE})
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield name, tmp_path / f"{name}.py"
    sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("min(x, most)", "max(x, most)", True),
        ("return 1", "return 2", True),
        ("LIMIT = 3", "LIMIT = 4", True),
        ("most=5", "most=6", True),
        ("import numpy", "# a remark\n\nimport numpy", False),
    ],
)
def test_an_edit_after_an_import_that_nobody_saw_is_found(live, old, new, differs):
    name, path = live
    importlib.import_module(name)
    path.write_text(LIVE.replace(old, new))
    assert edited([name]) == ([name] if differs else [])


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [("arange(3)", "arange(4)", True), ("def count", "# a remark\ndef count", False), ("3", "3", False)],
)
def test_after_an_import_that_was_seen_every_edit_is_found(live, old, new, differs):
    name, path = live
    importlib.import_module(name)
    remember()
    path.write_text(LIVE.replace(old, new))
    assert edited([name]) == ([name] if differs else [])


def test_a_reload_makes_an_edit_the_code_in_memory(live):
    name, path = live
    module = importlib.import_module(name)
    remember()
    path.write_text(LIVE.replace("min(x, most)", "max(x, most)") + "# longer\n")
    assert edited([name]) == [name]
    importlib.reload(module)
    assert edited([name]) == []
