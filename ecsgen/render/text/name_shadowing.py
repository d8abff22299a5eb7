"""Where a schema names something as Python or the runtime does, generated code gives way.

What generated code makes itself begins with an underscore or is reserved: no name of a schema meets
it. What is left are builtins, imports, `self` and `n`. A schema's name that is one of these is
`marked` wherever it stands alone: as a parameter, an item of a class, a class. What has the name
without a mark in the finished module is the code's own, and is called otherwise there, a builtin or
an import for example so: `from builtins import range as _range`.
"""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from ecsgen.render.text.formatting import PLACEHOLDER, import_line
from ecsgen.render.text.library_imports import (
    COMPILED,
    NUMPY,
    PACKAGE,
    RUNTIME,
    SHARDS,
    STANDARD,
    locate_public_names,
)
from ecsgen.schema.names import module_name

_BUILTINS: Final = frozenset(vars(builtins))
_OWN: Final = frozenset(["self", "n", "np"])
"""What else stands in generated modules without an underscore before it."""
_OF_TESTS: Final = frozenset(["MEMBERS", "SUBJECTS", "UNOWNED"])

_PIECE: Final = re.compile(
    r"""(\w*"{3}.*?"{3}|\w*"(?:\\.|[^"\\\n])*"|\w*'(?:\\.|[^'\\\n])*'|\#[^\n]*"""
    r"""|^[ ]*from[ ]\S+[ ]import[ ](?:\([^)]*\)|[^\n]*)|^import[ ]\S+[ ]as[ ]\w+$)""",
    re.DOTALL | re.MULTILINE,
)
"""What is no code to rename in: strings and comments, and imports, which name what they take."""
_FROM: Final = re.compile(r"( *)from (\S+) import (.*)", re.DOTALL)
_REPLACED: Final = re.compile(r"(?<=\{)[^{}!:]+")
_MARKED: Final = re.compile(rf"{PLACEHOLDER}(\w+)")
_NAME: Final = re.compile(
    rf"(?<![\w.{PLACEHOLDER}])(?<!def )(?<!class )[^\W\d]\w*\b(?!=(?!=))(?!: ClassVar)"
)
_WORD: Final = re.compile(r"\w+")
_STANDARD: Final = re.compile(r"(?:import|from) (?!numpy|numba|hypothesis|pytest|\.)")
_FUTURE: Final = "\nfrom __future__ import annotations\n"
_FIRST: Final = re.compile(
    r"^(?=import |from (?!__future__))(?:import (?!numpy|pytest)[^\n]*\n)*", re.M
)
"""Where imports begin, behind those that begin with `import`."""


@cache
def _known() -> frozenset[str]:
    """Return the names that generated modules may have from elsewhere, or of their own."""
    of_runtime = {
        *locate_public_names(RUNTIME),
        *locate_public_names(COMPILED),
        *locate_public_names(SHARDS),
    }
    return _BUILTINS.union(_OWN, _OF_TESTS, STANDARD, NUMPY, PACKAGE, of_runtime) - {"super"}


@cache
def _known_classes() -> list[str]:
    return sorted(name for name in _known() if name[0].isupper())


def may_be_shadowed(name: str) -> bool:
    """Whether generated code may have this name for something of its own."""
    return name in _known()


def add_placeholder(name: str) -> str:
    """Return a schema's name as it stands alone in a module."""
    return PLACEHOLDER + name if may_be_shadowed(name) else name


def add_class_placeholder(name: str) -> str:
    """Return the name of a component: it makes classes, whose names begin with it."""
    known = _known_classes()
    place = bisect_left(known, name)
    return PLACEHOLDER + name if place < len(known) and known[place].startswith(name) else name


@dataclass(frozen=True, slots=True)
class ComponentName:
    """A component as other modules name it: no more, so that few changes concern them."""

    name: str
    module: str

    @property
    def bare_name(self) -> str:
        """Its module's name where that stands alone: as a parameter, or an item of a class."""
        return add_placeholder(self.module)


def make_component_name(component: str) -> ComponentName:
    """Return a component as other modules name it."""
    return ComponentName(add_class_placeholder(component), module_name(component))


def resolve_shadowing(make: Callable[[], str]) -> str:
    """Return the module that is made, without marks."""
    text = make()
    return rename_shadowed(text).replace(PLACEHOLDER, "") if PLACEHOLDER in text else text


def rename_shadowed(text: str) -> str:
    """Return a module in which what is its own is called otherwise than what is marked."""
    pieces = _PIECE.split(text)
    used = {name for code in pieces[::2] for name in _NAME.findall(code)}
    aliases = _aliases(used.intersection(_MARKED.findall(text)), text)
    if not aliases:
        return text
    code = "".join(_piece(piece, place % 2 == 1, aliases) for place, piece in enumerate(pieces))
    return _with_builtins(code, {name: aliases[name] for name in aliases if name in _BUILTINS})


def _aliases(names: set[str], text: str) -> dict[str, str]:
    """Return another name for each of these, which the module does not have."""
    taken = set(_WORD.findall(text)) if names else set()
    aliases = {}
    for name in sorted(names):
        alias = f"_{name}"
        while alias in taken:
            alias += "_"
        aliases[name] = alias
    return aliases


def _piece(piece: str, is_apart: bool, aliases: Mapping[str, str]) -> str:
    """Return code with other names; of strings, what is put into them; of imports, `as` those."""
    if not is_apart:
        return _NAME.sub(lambda found: aliases.get(found[0], found[0]), piece)
    if piece.startswith(('f"', "f'")):
        return _REPLACED.sub(lambda found: _piece(found[0], False, aliases), piece)
    if piece.startswith("import "):
        head, _, name = piece.rpartition(" ")
        return f"{head} {aliases.get(name, name)}"
    imported = _FROM.fullmatch(piece)
    return piece if imported is None else _imported(imported, aliases)


def _imported(statement: re.Match[str], aliases: Mapping[str, str]) -> str:
    """Return an import, with a statement of its own for each name that is called otherwise."""
    indent, module = statement[1], statement[2]
    given = [name for item in statement[3].strip("()\n ").split(",") if (name := item.strip())]
    kept = [name for name in given if name not in aliases]
    lines = [import_line(module, kept, len(indent))] if kept else []
    lines += [
        f"{indent}from {module} import {name} as {aliases[name]}"
        for name in sorted(given)
        if name in aliases
    ]
    return "\n".join(lines)


def _with_builtins(text: str, aliases: Mapping[str, str]) -> str:
    if not aliases:
        return text
    first = _FIRST.search(text, text.find(_FUTURE) + 1)
    assert first is not None
    lines = [f"from builtins import {name} as {aliases[name]}\n" for name in sorted(aliases)]
    gap = "" if _STANDARD.match(text, first.start()) else "\n"
    return f"{text[:first.end()]}{''.join(lines)}{gap}{text[first.end():]}"
