"""Names of a generated module: its scopes say what it imports, and what a schema's names hide.

A schema's name that generated code may need has a placeholder wherever it is bare: as a parameter,
an item of a class, a class. Where a module needs the name itself, that of a builtin say, its own
gets another one: `from builtins import range as _range`. No text is searched for names: Python's
symbol tables have those in annotations and f-strings as well, and none of strings and comments.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Final

from ecsgen.render.text.formatting import PLACEHOLDER, import_line
from ecsgen.render.text.library_imports import LIBRARY, RUNTIME, TESTING, locate_public_names

_STANDARD = {
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "contextlib": "contextmanager",
    "enum": "IntEnum IntFlag",
    "operator": "index",
    "random": "Random",
    "struct": "Struct",
    "types": "ModuleType",
    "typing": "Any ClassVar Final Literal Never Protocol SupportsIndex TypeAlias TypeVar Unpack"
    " overload",
}
STANDARD = {name: module for module, names in _STANDARD.items() for name in names.split()}
INSTALLED = {"ArrayLike": "numpy.typing", "NDArray": "numpy.typing", "prange": "numba"}
PACKAGE = {
    "NamedTuple": f"{LIBRARY}.base.fast_typing",
    "TypedDict": f"{LIBRARY}.base.fast_typing",
    "ArchetypeChunk": ".archetypes",
    "Archetypes": ".archetypes",
}
_OF_ENTITIES = dict.fromkeys(("EntityManager", "INDEX_MASK"), ".entities")
"""Names that each package defines, instead of the library's."""
_WHOLE = {"np": "numpy", "pytest": "pytest"}
"""Modules that are imported as a whole, by what generated modules call them."""
_INSTALLED_ROOTS = ("hypothesis", "numba", "numpy", LIBRARY, TESTING)

IMPORTS_MARKER: Final = f"#{PLACEHOLDER}"
"""Comment that is replaced by a module's imports."""

_LETTER: Final = "ǃ"
"""Letter that stands for the placeholder where Python reads a module."""
_FUTURE: Final = "from __future__ import annotations\n"
_MARKED: Final = re.compile(rf"{PLACEHOLDER}(\w+)")


def insert_imports(text: str, modules: Mapping[str, str], imported_as: Mapping[str, str]) -> str:
    """Return a module's text with its imports, and other names for those that a schema's hide.

    `modules`: modules of names that other modules lack, with placeholders as in the text.
    `imported_as`: what the text calls imported names.
    """
    of_module, *within = (scope.get_symbols() for scope in _scopes(text))
    symbols = list(chain(of_module, *within))
    needed = {s.get_name() for s in symbols if s.is_referenced() or s.is_parameter()}
    taken = {symbol.get_name().lstrip(_LETTER) for symbol in symbols}
    others = _choose_others(needed.intersection(_MARKED.findall(text)), taken)
    imports = _import_block(_free_names(of_module, symbols), modules, imported_as, others)
    return (_rename(text, others) if others else text).replace(IMPORTS_MARKER, imports)


def _scopes(text: str) -> Iterator[symtable.SymbolTable]:
    """Yield the scopes of a module, its own first."""
    # names in annotations are only known where these are evaluated
    code = text.replace(_FUTURE, "").replace(PLACEHOLDER, _LETTER)
    todo = [symtable.symtable(code, "generated", "exec")]
    while todo:
        yield (scope := todo.pop())
        todo += scope.get_children()


def _free_names(of_module: list[symtable.Symbol], symbols: list[symtable.Symbol]) -> set[str]:
    """Return the names that a module uses and does not define, with placeholders."""
    used = {s.get_name() for s in symbols if s.is_global() and s.is_referenced()}
    used -= {symbol.get_name() for symbol in of_module if symbol.is_assigned()}
    return {name.replace(_LETTER, PLACEHOLDER) for name in used}


def _choose_others(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return a free name for each of these: `_range` for `range`."""
    others = {}
    for name in sorted(names):
        other = f"_{name}"
        while other in taken:
            other += "_"
        others[name] = other
    return others


def _rename(text: str, others: Mapping[str, str]) -> str:
    """Return a module's text with other names for its own variables and parameters."""
    lines = text.encode().split(b"\n")  # offsets are of bytes
    tree = ast.parse(text.replace(PLACEHOLDER, "_"))
    places = [variable for variable in _variables(tree) if variable[2] in others]
    for row, start, name in sorted(places, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + others[name].encode() + line[start + len(name) :]
    return b"\n".join(lines).decode()


def _variables(node: ast.AST, is_in_class: bool = False) -> Iterator[tuple[int, int, str]]:
    """Yield line, offset and name of the variables in a tree, but for items of classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arg):
            yield child.lineno, child.col_offset, child.arg
        elif isinstance(child, ast.Name) and not (is_in_class and isinstance(child.ctx, ast.Store)):
            yield child.lineno, child.col_offset, child.id
        yield from _variables(child, isinstance(node, ast.ClassDef))


def _import_block(
    used: Collection[str],
    modules: Mapping[str, str],
    imported_as: Mapping[str, str],
    others: Mapping[str, str],
) -> str:
    """Return the imports of the names that a text uses, as isort and black lay them out."""
    hidden = dict.fromkeys(others.keys() & vars(builtins).keys(), "builtins")
    places = {**_known_places(), **modules, **hidden}
    names_by_module: dict[str, list[str]] = {}
    for name in places.keys() & {*used, *imported_as}:
        if imported_as.get(name, name) in used:
            names_by_module.setdefault(places[name], []).append(name)
    called = {name: others.get(name, name) for name in _WHOLE if name in used}
    whole_modules = [
        f"import {_WHOLE[name]}" + (f" as {other}" if other != _WHOLE[name] else "")
        for name, other in called.items()
    ]
    groups: tuple[list[str], ...] = [], whole_modules, []
    for module in sorted(names_by_module, key=_import_order):
        lines = _import_from(module, names_by_module[module], {**imported_as, **others})
        groups[_group(module)].extend(lines)
    return "\n\n".join("\n".join(group) for group in groups if group)


@cache
def _known_places() -> dict[str, str]:
    """Return the module of each name that every package can import."""
    return {**STANDARD, **INSTALLED, **PACKAGE, **locate_public_names(RUNTIME), **_OF_ENTITIES}


def _import_order(module: str) -> tuple[bool, bool, str]:
    """Return a key that sorts modules by name, and relative ones last, the parent before others."""
    return module.startswith("."), not module.startswith(".."), module


def _group(module: str) -> int:
    """Return the place of a module's imports: Python's own, then installed ones, then ours."""
    if module in ("builtins", *_STANDARD):
        return 0
    return 1 if module.partition(".")[0] in _INSTALLED_ROOTS else 2


def _import_from(module: str, names: list[str], others: Mapping[str, str]) -> list[str]:
    """Return an import of names, and one for each that gets another name."""
    plain = [name for name in names if name not in others]
    renamed = sorted(name for name in names if name in others)
    lines = [f"from {module} import {name} as {others[name]}" for name in renamed]
    return [import_line(module, plain), *lines] if plain else lines
