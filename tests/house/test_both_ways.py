"""Packages that import the library, and those that have copies: alike but for the imports."""

from __future__ import annotations

import ast
import importlib
import pickle
import pickletools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from itertools import permutations
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any, Final, get_args

import pytest

from ecsgen.config import BACKENDS, Backend, Options, Runtime
from ecsgen.model import Project
from ecsgen.render import texts
from ecsgen.render.text import library_imports
from ecsgen.source.schema_roots import SchemaRoot
from tests.house.floors import LIBRARY, TESTING
from tests.support.world_package import load, sources

ROOT: Final = Path(__file__).resolve().parents[2]
SCHEMAS: Final = ("shipped", "more_policies", "sharded", "compiled")
WAYS: Final[tuple[Runtime, ...]] = get_args(Runtime)
OWN: Final = """
from {name} import World
from {name}.{module} import {manager}

class My{manager}({manager}):
    def mine(self) -> int:
        return len(self)

class MyWorld(World, managers={{"{module}": My{manager}}}):
    pass
"""
"""A module of a user, beside a package."""
CODECS: Final = {"*": (pickle.dumps, pickle.loads)}


@cache
def project(which: str) -> Project:
    """Return the model of some schemas."""
    files = [ROOT / "tests" / f"{which}.yaml"]
    if which == "shipped":
        files = sorted((ROOT / "schemas").glob("*.yaml"))
    return load("\n---\n".join(file.read_text("utf-8") for file in files))


def with_tests(of: Project, backend: Backend, way: Runtime) -> dict[str, str]:
    """Return the text of each file of a package, unformatted."""
    options = Options((SchemaRoot(ROOT),), ROOT / "made", backend, ROOT / "made/tests", 1, 88, way)
    return texts(of, options)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, by their paths."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("which", SCHEMAS)
def test_nothing_but_the_prefix_of_imports_differs(which: str, backend: Backend) -> None:
    installed, vendored = (with_tests(project(which), backend, way) for way in WAYS)
    copied = vendored.keys() - installed.keys()
    assert copied == {
        path for path in vendored if path.startswith(("_runtime/", "tests/_support/"))
    }
    for path in copied:
        top, below = (
            (LIBRARY, "_runtime/") if path.startswith("_") else (TESTING, "tests/_support/")
        )
        installed[path] = (top / path.removeprefix(below)).read_text("utf-8")
    for path, text in installed.items():
        if path.startswith("_runtime/"):
            assert vendored[path] == text, path
            continue
        places = {"runtime": f"{'.' * (path.count('/') + 1)}_runtime", "testing": "._support"}
        lines, others = text.splitlines(), vendored[path].splitlines()
        for line, other in zip(lines, others, strict=True):
            if line != other:
                statement = re.fullmatch(r"( *)from ecsgen_(runtime|testing)(\b.*)", line)
                assert statement, (path, line)
                assert other == f"{statement[1]}from {places[statement[2]]}{statement[3]}"
        assert not re.search(r"^ *(from|import) ecsgen_", vendored[path], re.MULTILINE)


CHOICES: Final = """
component: Bird
fields: {mate: entity, place: "f32[2]"}
---
world: Wood
kernels: {meet: {over: Bird, steps: [Bird.mate = choice(Bird)]}}
"""
ALL_MODULES: Final = """
import importlib, pkgutil, sys
sys.modules["ecsgen_runtime"] = sys.modules["ecsgen_testing"] = None  # as if not installed
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if module.name.split(".")[-1] not in ("conftest", "mpi"):
            importlib.import_module(module.name)
"""


def test_what_modules_of_the_library_import_is_copied_with_them() -> None:
    """Whatever the form of the statement: `from . import one as two`, or over several lines."""
    library = library_imports.read_library()
    for path, text in library.items():
        imported = set[str]()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                target = "/".join(path.split("/")[: -node.level])
                target += f"/{node.module}".replace(".", "/") if node.module else ""
                names = "__init__", *(name.name for name in node.names)
                imported |= {f"{target}.py", *(f"{target}/{name}.py" for name in names)}
            elif isinstance(node, ast.Import):
                assert not any(name.name.startswith("ecsgen_runtime") for name in node.names), path
        copied = {*library_imports._imported(path, text, library)}
        assert imported & library.keys() <= copied, path


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("names", ["shipped choices", "sharded farm", "more_policies compiled"])
def test_vendored_packages_need_no_library(names: str, backend: Backend, tmp_path: Path) -> None:
    """Each of them has copies of its own, so that several may be in one process."""
    pytest.importorskip(backend)
    for which in names.split():
        of = load(CHOICES) if which == "choices" else project(which)
        write(tmp_path / which, with_tests(of, backend, "vendored"))
    done = subprocess.run(
        [sys.executable, "-c", ALL_MODULES, *names.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


EXTENSIONS: Final = """
import sys
for absent in {absent!r}:
    sys.modules[absent] = None
import copied
from copied import *
world = World()
world.mote.create_many(world.entities.create_many(2), {{"mass": [1, 2]}})
print("sweep" in copied.__all__, "sweep" in dir(copied), sweep.__module__)
try:
    print(world.mote.data.to_arrow().num_rows)
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a vendored package whose schemas ask for no extension."""
    folder = tmp_path_factory.mktemp("with_extensions")
    mote = load("component: Mote\nfields: {mass: f32}\n")
    write(folder / "copied", with_tests(mote, "numpy", "vendored"))
    return folder


def test_only_what_is_needed_is_copied(copied: Path) -> None:
    folders = {path.name for path in (copied / "copied" / "_runtime").iterdir() if path.is_dir()}
    assert not folders & {"accelerator", "records", "shards"}


@pytest.mark.parametrize("absent", [["ecsgen_runtime"], ["ecsgen_runtime", "pyarrow"]])
def test_copies_have_arrow_and_sweeps(copied: Path, absent: list[str]) -> None:
    pytest.importorskip("pyarrow")
    code = EXTENSIONS.format(absent=absent)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copied, capture_output=True, text=True, check=True
    )
    wanted = "Arrow needs pyarrow: pip install pyarrow" if "pyarrow" in absent else "2"
    assert done.stdout.splitlines() == ["True True copied._runtime.sweeps.sweep", wanted]


class BothWays:
    """One package made in both ways, under one name, with what a user has beside it."""

    def __init__(self, which: str) -> None:
        self.name = f"both_{which}"
        self._modules: dict[Runtime, dict[str, ModuleType]] = {}
        self._folders = {way: Path(mkdtemp()) for way in WAYS}
        component = next(c for c in project(which).components if not c.chunk)
        manager = f"{component.name}Manager"
        beside = OWN.format(name=self.name, module=component.module, manager=manager)
        for way, folder in self._folders.items():
            write(folder, {f"{self.name}_own.py": beside})
            write(folder / self.name, sources(project(which), runtime=way))

    @contextmanager
    def made(self, way: Runtime) -> Iterator[Any]:
        """Have imports and pickles find the package of one of the ways; yield its `_own`."""
        sys.modules.update(self._modules.get(way, {}))
        sys.path.insert(0, str(self._folders[way]))
        try:
            yield importlib.import_module(f"{self.name}_own")
        finally:
            sys.path.remove(str(self._folders[way]))
            ours = [name for name in sys.modules if name.startswith(self.name)]
            self._modules[way] = {name: sys.modules.pop(name) for name in ours}


@pytest.fixture(scope="module", params=SCHEMAS)
def both(request: pytest.FixtureRequest) -> BothWays:
    return BothWays(request.param)


def inhabited(kind: type[Any]) -> Any:
    """Return a world in which something lived, of every component that it has."""
    w = kind()
    for name, manager in w.MANAGER_CLASSES.items():
        is_unique = any(method.startswith("find_") for method in dir(manager))
        if hasattr(manager, "lookup"):
            w.spawn(1 if is_unique else 5, **{name: {}})
        else:
            getattr(w, name).create_many(1 if is_unique else 5)
    for row in getattr(w, "_chunked", ()):
        w.spawn(3, **{row.__module__.rpartition(".")[2]: {}})
    living = list(w)
    w.destroy_many(living[::4])
    w.destroy_later(living[1::4])
    if hasattr(w, "seed"):
        w.seed = 5
    w.kept = [w, "of one's own"]
    return w


def goes_on(w: Any) -> list[Any]:
    """Change a world further, and return all that there is to see of it."""
    seen: list[Any] = [w.kept[0] is w, w.kept[1], type(w).__name__]
    seen += [w.gc(), w.flush(), w.collect(), w.entities.create_many(7).tolist()]
    for name in w.MANAGERS:
        manager = getattr(w, name)
        if hasattr(manager, "gc") and len(manager):
            w.destroy(next(filter(w.entities.alive, manager)))
            seen.append(manager.gc())
        seen += [type(manager).__name__, manager.version, len(manager)]
    seen += [[array.tolist() for array in getattr(w, name).rows()] for name in w.QUERIES]
    seen += [getattr(w, name).n for name in w.GROUPS]
    del w.kept  # equal objects have not always equal pickles
    return [*seen, w.to_bytes(codecs=CODECS)]


def parts(w: Any) -> Iterator[Any]:
    """Yield a world and all that it is made of."""
    yield w
    yield w.entities
    names = (*w.MANAGERS, *w.QUERIES, *w.GROUPS, *["archetypes"] * hasattr(w, "archetypes"))
    yield from (getattr(w, name) for name in names)


def named(pickled: bytes) -> set[str]:
    """Return the modules that a pickle of protocol 3 names."""
    names = (name for code, name, _ in pickletools.genops(pickled) if code.name == "GLOBAL")
    return {str(name).split()[0] for name in names}


@pytest.mark.parametrize("way", WAYS)
def test_pickles_name_the_package_only(both: BothWays, way: Runtime) -> None:
    with both.made(way) as module:
        w = inhabited(module.MyWorld)
        for part in (*parts(w), *parts(deepcopy(w)), *parts(pickle.loads(pickle.dumps(w)))):
            modules = named(pickle.dumps(part, protocol=3))
            mine = {name for name in modules if name.split(".")[0] in (module.__name__, both.name)}
            assert mine, part
            assert not any("_runtime" in name for name in mine), part
            known = {*sys.stdlib_module_names, "numpy"}
            assert {name.split(".")[0] for name in modules - mine} <= known, part


@pytest.mark.parametrize(("here", "there"), [*permutations(WAYS)])
def test_pickles_go_on_in_the_other(both: BothWays, here: Runtime, there: Runtime) -> None:
    with both.made(here) as module:
        w = inhabited(module.MyWorld)
        copy, pickled = deepcopy(w), pickle.dumps(w)
        wanted = goes_on(w)
        assert goes_on(copy) == wanted
    with both.made(there) as module:
        other = pickle.loads(pickled)
        assert type(other) is module.MyWorld
        assert goes_on(other) == wanted
        assert goes_on(pickle.loads(pickle.dumps(pickle.loads(pickled)))) == wanted
