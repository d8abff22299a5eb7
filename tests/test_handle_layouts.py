"""The numbers of handles: each package's own, over one library that all share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ecsgen_runtime
from ecsgen_runtime.entities.layout import NUMBERS

LIBRARY = Path(ecsgen_runtime.__file__).parent
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def modules() -> dict[str, ast.Module]:
    """Return the modules of the library by their paths."""
    found = {path.relative_to(LIBRARY).as_posix(): path for path in LIBRARY.rglob("*.py")}
    return {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for name, path in found.items()
        if not name.startswith("testing/")
    }


def reads(tree: ast.AST) -> set[str]:
    """Return the numbers that code reads as names."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names & NUMBERS


def readers() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of the library that read numbers, with what reads them around it."""
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and reads(node):
                yield f"{module}: {node.name}", node


def test_only_methods_that_classes_have_copies_of_read_numbers_as_names() -> None:
    for name, function in readers():
        marks = {node.id for node in function.decorator_list if isinstance(node, ast.Name)}
        assert "per_class" in marks, name
        inner = [node for node in ast.walk(function) if isinstance(node, INNER)]
        assert not any(map(reads, inner)), f"{name}: the copy would not know"
    for name, tree in modules().items():
        outside = [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert name == "entities/layout.py" or not any(map(reads, outside)), name


def test_nobody_calls_the_original_of_such_a_method() -> None:
    """`super()` and a base's name lead to what has no numbers."""
    names = {function.name for _, function in readers()}
    assert {"create", "lookup", "alive"} <= names
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in names:
                continue
            owner = ast.unparse(node.func.value)
            assert not owner.startswith("super("), f"{module}: {ast.unparse(node)}"
            assert not owner[0].isupper(), f"{module}: {ast.unparse(node)}"
