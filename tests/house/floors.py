"""Floors of the library and of the generator: who may import whom, by the graph of imports.

`python -m tests.house.floors` prints each import that points upwards, and circles.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LIBRARY: Final = ROOT / "runtime" / "ecsgen_runtime"
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
        ("accelerator", "testing"),
    ),
    "ecsgen": (
        ("fingerprint", "model"),
        ("diagnostics", "policies"),
        ("source", "kernels", "layout"),
        ("config", "pictures"),
        ("schema", "files"),
        ("render",),
        ("breaking", "inspector", "build"),
        ("cli",),
    ),
}
"""Folders and modules by height: each imports its own floor and those below alone."""


def imported_modules(module: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield what a module imports: late, or for annotations alone, as well."""
    path = modules[module]
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                target = whole if whole in modules else origin
                if target in modules and target != module:
                    yield target


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(module: str) -> int | None:
    """Return the height of a module; None for the root's own, which stand beside."""
    root, *rest = module.split(".")
    heights = {name: k for k, names in enumerate(FLOORS[root]) for name in names}
    return heights.get(rest[0]) if rest else None


def import_graph(root: Path) -> dict[str, set[str]]:
    """Return what each module imports, by the module's name."""
    modules = {module_name(path, root): path for path in root.rglob("*.py")}
    return {name: {*imported_modules(name, modules)} for name in modules}


def circles(root: Path) -> list[str]:
    """Return the modules that import each other, directly or by way of others."""
    graph = import_graph(root)
    while True:
        importers = {name for others in graph.values() for name in others}
        ends = {name for name in graph if not graph[name] or name not in importers}
        if not ends:
            return sorted(graph)
        graph = {name: others - ends for name, others in graph.items() if name not in ends}


def upward_imports(root: Path) -> list[tuple[str, str]]:
    """Return every import of a module from a higher floor, as (importer, imported)."""
    graph = import_graph(root)
    heights = {name: floor_of(name) for name in graph}
    return sorted(
        (name, other)
        for name, others in graph.items()
        for other in others
        if heights[name] is not None
        and heights[other] is not None
        and heights[name] < heights[other]  # type: ignore[operator]
    )


if __name__ == "__main__":
    lines = [f"{a} → {b}" for root in (LIBRARY, GENERATOR) for a, b in upward_imports(root)]
    lines += [f"in a circle: {name}" for root in (LIBRARY, GENERATOR) for name in circles(root)]
    sys.exit("\n".join(lines) or 0)
