"""Rules of imports: floors, no circles, what each part needs; and how little of others is read.

The library and the generator stand on floors: imports lead downwards, and never in a circle.
Imports inside functions and for annotations count as well. Modules read fewer underscores of
others, and take fewer untyped worlds, with each change.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from tests import lowest_versions
from tests.house.floors import (
    DOORS,
    FLOORS,
    GENERATOR,
    LIBRARY,
    TESTING,
    circle,
    heights_of,
    import_graph,
    nodes,
    upward_imports,
)
from tests.house.privacy import found_in


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    yield
    nodes.cache_clear()


@pytest.mark.parametrize("root", [LIBRARY, GENERATOR, TESTING], ids=lambda root: root.name)
def test_imports_lead_downwards_and_never_in_a_circle(root: Path) -> None:
    """So the core names no extension: files, other processes and libraries are additions."""
    assert upward_imports(root) == []
    assert circle(root) == []


@pytest.mark.parametrize("house", FLOORS)
def test_everything_stands_on_a_floor(house: str) -> None:
    root = LIBRARY if house.startswith(LIBRARY.name) else GENERATOR
    inside = [name for name in import_graph(root) if name.startswith(f"{house}.")]
    beside = {*inside} - heights_of(house, inside).keys()
    doors = {f"{house}.{door}" for door in DOORS.get(house, ())}
    assert beside - doors - {f"{house}.__main__"} == set()


ROOT = Path(__file__).parents[2]
NEEDED = {*sys.stdlib_module_names, "numpy"}
EXTRAS = {
    "compiled": {"numba", "llvmlite"},
    "shards": {"mpi4py"},
    "arrow": {"pyarrow"},
}
"""Modules that may be imported besides, by folder of the library; compiled: by the modules'
names. numba needs llvmlite."""


def packages(path: Path) -> frozenset[str]:
    """Return the packages that a module imports absolutely, inside functions as well."""
    names: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(str(node.module))
    return frozenset(name.partition(".")[0] for name in names)


def test_the_library_needs_numpy_alone() -> None:
    for path in sorted(LIBRARY.rglob("*.py")):
        folder = path.relative_to(LIBRARY).parts[0]
        is_compiled = path.name.startswith("compiled_") or path.name == "jit.py"
        wrong = packages(path) - NEEDED - EXTRAS.get("compiled" if is_compiled else folder, set())
        if path.name == "__main__.py":  # it is never copied, so it may say its own name
            wrong -= {"ecsgen_runtime"}
        assert not wrong, path


def test_test_support_stands_above_the_library() -> None:
    """It needs no generator, and neither library nor generator needs it, but for checked runs."""
    needed = NEEDED | {"ecsgen_runtime", "pytest", "hypothesis", "numba"}
    for path in sorted(TESTING.rglob("*.py")):
        assert not packages(path) - needed, path
    checked = {*(GENERATOR / "checked").rglob("*.py")}
    for path in {*LIBRARY.rglob("*.py"), *GENERATOR.rglob("*.py")} - checked:
        assert "ecsgen_testing" not in packages(path), path


def test_checked_runs_need_no_tools_of_tests() -> None:
    """They use the interpreter of `ecsgen_testing`, whose hooks of pytest come when asked for."""
    unwanted = "{'pytest', 'hypothesis'} & sys.modules.keys()"
    code = f"import sys, ecsgen.checked, ecsgen_testing; assert not {unwanted}, {unwanted}"
    code += "; ecsgen_testing.pytest_terminal_summary; assert 'pytest' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    tests = str(GENERATOR.parent / "generated" / "tests" / "test_static.py")
    options = ["-W", "error", "--collect-only", "-q", "-p", "no:cacheprovider", tests]
    code = f"import ecsgen.checked, pytest; raise SystemExit(pytest.main({options}))"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(("folder", "other"), [*permutations(["ecsgen", "generated"])])
def test_generator_and_packages_do_not_import_each_other(folder: str, other: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert not [path for path in files if other in packages(path)]


def test_what_runs_with_the_lowest_versions_is_there() -> None:
    """Files of tests move; `make lowest` runs by hand, and nobody would notice."""
    assert [name for name in lowest_versions.files() if not (ROOT / name).is_file()] == []


CEILINGS = {
    GENERATOR: {"underscores": 3, "seams": 1},
    LIBRARY: {"underscores": 117, "seams": 3},
}
"""Lines that there are today: who takes some away lowers the number."""


@pytest.mark.parametrize("root", CEILINGS)
def test_no_more_than_there_were(root: Path) -> None:
    assert {what: len(lines) for what, lines in found_in(root).items()} == CEILINGS[root]


def test_what_counts(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "class Own:\n"
        "    _mine = 1\n"
        "def f(world: Any, other: Own):\n"
        "    return other._mine, world._theirs, other._replace(x=1), other.__class__\n",
        encoding="utf-8",
    )
    lines = found_in(tmp_path)
    numbers = {what: [line.partition("m.py:")[2] for line in lines[what]] for what in lines}
    assert numbers == {"underscores": ["4: underscores"], "seams": ["3: seams"]}
