"""Names of a generated module: its scopes say what it imports.

No text is searched for names: Python's symbol tables have those in annotations and f-strings as
well, and none of strings and comments.
"""

from __future__ import annotations

import symtable
from collections.abc import Collection, Iterator, Mapping
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

IMPORTS_MARKER: Final = f"{PLACEHOLDER}imports"
"""Text that is replaced by a module's imports."""

_LETTER: Final = "ǃ"
"""Letter that stands for the placeholder where Python reads a module."""
_FUTURE: Final = "from __future__ import annotations\n"


def insert_imports(text: str, modules: Mapping[str, str], imported_as: Mapping[str, str]) -> str:
    """Return a module's text with its imports.

    `modules`: modules of names that other modules lack, with placeholders as in the text.
    `imported_as`: what the text calls imported names.
    """
    return text.replace(IMPORTS_MARKER, _import_block(_free_names(text), modules, imported_as))


def _scopes(text: str) -> Iterator[symtable.SymbolTable]:
    """Yield the scopes of a module, its own first."""
    # names in annotations are only known where these are evaluated
    code = text.replace(_FUTURE, "").replace(PLACEHOLDER, _LETTER)
    todo = [symtable.symtable(code, "generated", "exec")]
    while todo:
        yield (scope := todo.pop())
        todo += scope.get_children()


def _free_names(text: str) -> set[str]:
    """Return the names that a module uses and does not define, with placeholders."""
    scopes = list(_scopes(text))
    symbols = (symbol for scope in scopes for symbol in scope.get_symbols())
    used = {s.get_name() for s in symbols if s.is_global() and s.is_referenced()}
    used -= {symbol.get_name() for symbol in scopes[0].get_symbols() if symbol.is_assigned()}
    return {name.replace(_LETTER, PLACEHOLDER) for name in used}


def _import_block(
    used: Collection[str],
    modules: Mapping[str, str],
    imported_as: Mapping[str, str],
) -> str:
    """Return the imports of the names that a text uses, as isort and black lay them out."""
    of_library = {**locate_public_names(RUNTIME), **_OF_ENTITIES}
    places = {**STANDARD, **INSTALLED, **PACKAGE, **of_library, **modules}
    names_by_module: dict[str, list[str]] = {}
    for name, module in places.items():
        if imported_as.get(name, name) in used:
            names_by_module.setdefault(module, []).append(name)
    whole_modules = [_import_whole(_WHOLE[name], name) for name in _WHOLE if name in used]
    groups: tuple[list[str], ...] = [], whole_modules, []
    for module in sorted(names_by_module, key=lambda module: (not module.startswith(".."), module)):
        lines = _import_from(module, names_by_module[module], imported_as)
        groups[_group(module)].extend(lines)
    return "\n\n".join("\n".join(group) for group in groups if group)


def _group(module: str) -> int:
    """Return the place of a module's imports: Python's own, then installed ones, then ours."""
    if module in ("builtins", *_STANDARD):
        return 0
    return 1 if module.partition(".")[0] in _INSTALLED_ROOTS else 2


def _import_whole(module: str, name: str) -> str:
    return f"import {module}" if name == module else f"import {module} as {name}"


def _import_from(module: str, names: list[str], others: Mapping[str, str]) -> list[str]:
    """Return an import of names, and one for each that gets another name."""
    plain = [name for name in names if name not in others]
    renamed = sorted(name for name in names if name in others)
    lines = [f"from {module} import {name} as {others[name]}" for name in renamed]
    return [import_line(module, plain), *lines] if plain else lines
