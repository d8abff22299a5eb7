"""Who may import whom: generator, library and package; and modules of the generator, downwards."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import lowest_versions

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "runtime" / "ecsgen_runtime"
GENERATOR = ROOT / "ecsgen"
NEEDED = {*sys.stdlib_module_names, "numpy"}
EXTRAS = {
    "testing": {"pytest", "hypothesis", "numba"},
    "shards": {"mpi4py"},
    "arrow": {"pyarrow"},
}
"""What may be imported besides, by folder of the library."""
RENDER = ("ecsgen.render", "ecsgen.policies", "ecsgen.render.world.world_features")
ABOVE = {
    "model": ("ecsgen.kernels", "ecsgen.schema", "ecsgen.layout.memory_layout", *RENDER),
    "kernels": ("ecsgen.schema", "ecsgen.layout.memory_layout", *RENDER),
    "policies": ("ecsgen.render",),
    "render/kernel_methods": ("ecsgen.render.blocks", "ecsgen.render.loops"),
    "render/blocks": ("ecsgen.render.loops",),
}
"""By folder of the generator, what its modules may not import, not even inside functions."""


def imported(path: Path) -> Iterator[str]:
    """Yield the names of what a module imports absolutely, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)


def packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(path)}


def test_the_library_needs_numpy_alone() -> None:
    for path in sorted(LIBRARY.rglob("*.py")):
        folder = path.relative_to(LIBRARY).parts[0]
        wrong = packages(path) - NEEDED - EXTRAS.get(folder, set())
        if path.name.startswith("compiled_") or path.name == "jit.py":
            wrong -= {"numba"}
        if path.name == "__main__.py":  # it is never copied, so it may say its own name
            wrong -= {"ecsgen_runtime"}
        assert not wrong, path


@pytest.mark.parametrize("folder", ["ecsgen", "generated"])
def test_generator_and_packages_do_not_import_each_other(folder: str) -> None:
    other = {"ecsgen": "generated", "generated": "ecsgen"}[folder]
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert not [path for path in files if other in packages(path)]


@pytest.mark.parametrize("folder", ABOVE)
def test_nothing_imports_what_stands_above(folder: str) -> None:
    files = sorted((GENERATOR / folder).glob("*.py"))
    assert files
    for path in files:
        wrong = [name for name in imported(path) if name.startswith(ABOVE[folder])]
        assert not wrong, path


@pytest.mark.parametrize("root", [GENERATOR, LIBRARY], ids=lambda root: root.name)
def test_no_circles(root: Path) -> None:
    """Modules can be put in an order in which each imports only what stands before it."""
    modules = {name_of(path, root): path for path in root.rglob("*.py")}
    needed = {name: set(needed_at_once(name, modules)) for name in modules}
    while needed:
        free = {name for name, others in needed.items() if not others & needed.keys()}
        assert free, {name: others & needed.keys() for name, others in needed.items()}
        needed = {name: others for name, others in needed.items() if name not in free}


def name_of(path: Path, root: Path) -> str:
    """Return what a module is called."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def needed_at_once(module: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that one imports when it is imported."""
    path = modules[module]
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    for node in at_once(ast.parse(path.read_text(encoding="utf-8")).body):
        above = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*above, *filter(None, [node.module])])
        for alias in node.names:
            whole = f"{origin}.{alias.name}"
            found = whole if whole in modules else origin
            if found in modules and found != module:
                yield found


def at_once(statements: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """Yield the imports that are done whenever the statements are: not those for type checkers."""
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, ast.Try):
            yield from at_once(node.body)
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from at_once([*node.body, *node.orelse])


def test_what_runs_with_the_lowest_versions_is_there() -> None:
    """Files of tests move; `make lowest` runs by hand, and nobody would notice."""
    assert [
        name for name in lowest_versions.files() if not (lowest_versions.ROOT / name).is_file()
    ] == []
