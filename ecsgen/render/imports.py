"""Imports of a generated module: exactly the names that its text uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache

from ecsgen.render.bundle import compiled_source, runtime_source
from ecsgen.render.calls import import_line

STANDARD = {
    "Callable": "collections.abc",
    "Iterable": "collections.abc",
    "Iterator": "collections.abc",
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "contextmanager": "contextlib",
    "IntFlag": "enum",
    "index": "operator",
    "Random": "random",
    "Struct": "struct",
    **dict.fromkeys(
        (
            *("Any", "ClassVar", "Final", "Literal", "NamedTuple", "Protocol", "TypeVar"),
            *("TypedDict", "Unpack", "overload"),
        ),
        "typing",
    ),
}
NUMPY = {
    "ArrayLike": "numpy.typing",
    "NDArray": "numpy.typing",
    "njit": "numba",
    "prange": "numba",
}
PACKAGE = {
    "Archetypes": ".archetypes",
    "EntityManager": ".entities",
    "INDEX_MASK": ".entities",
}

# Names count where they stand as code: not in strings or comments, nor as attributes or keywords.
_TEXT = re.compile(r'""".*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*', re.DOTALL)
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.])[A-Za-z]\w*")


def import_lines(text: str, own: Mapping[str, str]) -> str:
    """Return the import statements of a module with this text, as isort and black lay them out.

    `own`: where in the package the names are that schemas give rise to.
    """
    code = _TEXT.sub("", text)
    used = set(_NAME.findall(code)) - set(_CLASS.findall(code))
    package = PACKAGE | dict.fromkeys(runtime_names(), "._runtime") | dict(own)
    groups = [
        _from_lines(STANDARD, used),
        (
            ["import numpy as np", *_from_lines(NUMPY, used)]
            if "np" in used
            else _from_lines(NUMPY, used)
        ),
        _from_lines(package, used),
    ]
    return "\n\n".join("\n".join(group) for group in groups if group)


@cache
def runtime_names() -> frozenset[str]:
    """Return the public names that `_runtime.py` defines."""
    return _public_names(runtime_source())


@cache
def compiled_names() -> frozenset[str]:
    """Return the public names that `_compiled.py` defines."""
    return _public_names(compiled_source())


def _public_names(source: str) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return frozenset(name for name in names if not name.startswith("_"))


def _from_lines(origins: dict[str, str], used: set[str]) -> list[str]:
    modules: dict[str, list[str]] = {}
    for name in origins.keys() & used:
        modules.setdefault(origins[name], []).append(name)
    return [import_line(module, modules[module]) for module in sorted(modules)]
