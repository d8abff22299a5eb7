"""Floors of the library and of the generator: who may import whom, by the graph of imports.

`python -m tests.house.floors` prints each import that points upwards, and a circle.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LIBRARY: Final = ROOT / "runtime" / "ecsgen_runtime"
TESTING: Final = ROOT / "testing" / "ecsgen_testing"
GENERATOR: Final = ROOT / "ecsgen"
FLOORS: Final = {
    "ecsgen_runtime": (
        ("base",),
        ("values",),
        ("entities",),
        ("tables",),
        ("managers",),
        ("world",),
        ("kernels",),
        ("arrow",),
        ("records",),
        ("snapshots",),
        ("shards", "sweeps"),
        ("accelerator",),
    ),
    "ecsgen": (
        ("fingerprint", "marks"),
        ("model",),
        ("diagnostics",),
        ("source", "kernels"),
        ("policies",),
        ("layout",),
        ("config", "pictures"),
        ("schema", "files"),
        ("render",),
        ("breaking", "inspector", "build", "checked"),
        ("cli",),
    ),
    "ecsgen.render": (
        ("text", "output_file"),
        ("column_code", "render_files"),
        ("kernel_methods",),
        ("blocks",),
        ("loops",),
        ("row_reductions",),
        ("kernel_printers",),
        ("components",),
        ("world",),
        ("generated_tests",),
        ("package_files",),
    ),
}
"""Folders and modules by height: each imports its own floor and those below alone."""
DOORS: Final = {
    "ecsgen_runtime": ("", "exported", "package", "base.extensions"),
    "ecsgen": (),
    "ecsgen_testing": (),
}
"""Modules that import what stands above when somebody asks for it: nothing that they import counts.
"""


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a module, which is read once for whatever is asked about it."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imported_modules(module: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield what a module imports: late, or for annotations alone, as well."""
    path = modules[module]
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                submodule = f"{origin}.{alias.name}"
                target = submodule if submodule in modules else origin
                if target in modules and target != module:
                    yield target


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def import_graph(root: Path) -> dict[str, set[str]]:
    """Return what each module imports, by the module's name; nothing of doors."""
    modules = {module_name(path, root): path for path in root.rglob("*.py")}
    doors = {f"{root.name}.{door}".removesuffix(".") for door in DOORS[root.name]}
    return {
        name: set() if name in doors else {*imported_modules(name, modules)} for name in modules
    }


def circle(root: Path) -> list[str]:
    """Return modules of which each is imported by the next one, and the last is the first, if there
    are any."""
    try:
        TopologicalSorter(import_graph(root)).prepare()
    except CycleError as error:
        return [*error.args[1]]
    return []


def upward_imports(root: Path) -> list[tuple[str, str]]:
    """Return every import of a module from a higher floor, as (importer, imported)."""
    graph = import_graph(root)
    edges = set()
    for house in FLOORS:
        heights = heights_of(house, graph)
        for name in heights:
            edges |= {
                (name, other) for other in graph[name] if heights[name] < heights.get(other, -1)
            }
    return sorted(edges)


def heights_of(house: str, modules: Iterable[str]) -> dict[str, int]:
    """Return the height of each module that stands on a floor of a package."""
    floors = {f"{house}.{name}": k for k, names in enumerate(FLOORS[house]) for name in names}
    prefix = house.count(".") + 2
    tops = {module: ".".join(module.split(".")[:prefix]) for module in modules}
    return {module: floors[top] for module, top in tops.items() if top in floors}


if __name__ == "__main__":
    lines = [f"{a} → {b}" for root in (LIBRARY, GENERATOR) for a, b in upward_imports(root)]
    lines += [" → ".join(names) for root in (LIBRARY, GENERATOR) if (names := circle(root))]
    sys.exit("\n".join(lines) or 0)
