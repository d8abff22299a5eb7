"""Underscores of other modules, and seams without types: what the trees still have of both.

`python -m tests.house.privacy` prints each line. An underscore is a module's own if the module
defines a method, attribute, slot or constant of that name: classes of one module may know each
other.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.house.floors import GENERATOR, LIBRARY, nodes

PUBLIC: Final = frozenset(("_replace", "_asdict", "_fields", "_make"))
"""Names of named tuples, which begin with an underscore only not to meet fields."""
SEAMS: Final = frozenset(("world", "manager"))


def own_names(nodes: list[ast.AST]) -> set[str]:
    """Return the names that a module defines: functions, classes, attributes, slots, constants."""
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                names |= {str(n.value) for n in ast.walk(value) if isinstance(n, ast.Constant)}
    return names


def others_underscores(nodes: list[ast.AST]) -> Iterator[int]:
    """Yield the lines that read an underscore attribute of an object of another module."""
    defined = own_names(nodes)
    for node in nodes:
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
            continue
        if node.attr.endswith("_") or node.attr in PUBLIC or node.attr in defined:
            continue  # `__class__`, `_value_`: names that Python gives
        match node.value:
            case ast.Name(id="self" | "cls" | "sys") | ast.Call(func=ast.Name(id="super")):
                continue
        yield node.lineno


def untyped_seams(nodes: list[ast.AST]) -> Iterator[int]:
    """Yield the lines of parameters `world: Any` and `manager: Any`."""
    for node in nodes:
        match node:
            case ast.arg(arg=name, annotation=ast.Name(id="Any")) if name in SEAMS:
                yield node.lineno


SEARCHES: Final = {"underscores": others_underscores, "seams": untyped_seams}


def found_in(root: Path) -> dict[str, list[str]]:
    """Return the lines of a folder's modules: `underscores` and `seams`."""
    lines: dict[str, list[str]] = {what: [] for what in SEARCHES}
    for path in sorted(root.rglob("*.py")):
        for what, search in SEARCHES.items():
            lines[what] += [f"{path}:{line}: {what}" for line in sorted({*search(nodes(path))})]
    return lines


if __name__ == "__main__":
    printed = [
        line for root in (GENERATOR, LIBRARY) for lines in found_in(root).values() for line in lines
    ]
    sys.exit("\n".join(printed) or 0)
