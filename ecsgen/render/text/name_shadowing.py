"""Resolve names of schemas that shadow names of generated code.

Most names of generated code begin with an underscore or are reserved, so only builtins, imports,
`self` and `n` can be shadowed. A schema's name that is one of these has a placeholder wherever it
is bare: as a parameter, an item of a class, a class. The name without placeholder is then the
code's, and is renamed in the finished module: `from builtins import range as _range`.
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
from ecsgen.render.text.library_imports import COMPILED, RUNTIME, SHARDS, locate_public_names
from ecsgen.render.text.module_names import INSTALLED, PACKAGE, STANDARD
from ecsgen.schema.names import module_name

_BUILTINS: Final = frozenset(vars(builtins))
_CODE_NAMES: Final = frozenset(["self", "n", "np"])
"""Further names of generated modules without an underscore."""
_OF_TESTS: Final = frozenset(["MEMBERS", "SUBJECTS", "UNOWNED"])

_NOT_CODE: Final = re.compile(
    r"""(\w*"{3}.*?"{3}|\w*"(?:\\.|[^"\\\n])*"|\w*'(?:\\.|[^'\\\n])*'|\#[^\n]*"""
    r"""|^[ ]*from[ ]\S+[ ]import[ ](?:\([^)]*\)|[^\n]*)|^import[ ]\S+[ ]as[ ]\w+$)""",
    re.DOTALL | re.MULTILINE,
)
"""Strings, comments and imports, in which names are not replaced as in code."""
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
"""Start of the imports that begin with `from`."""


@cache
def _known() -> frozenset[str]:
    """Return the names that generated modules may import or define."""
    of_runtime = {
        *locate_public_names(RUNTIME),
        *locate_public_names(COMPILED),
        *locate_public_names(SHARDS),
    }
    return _BUILTINS.union(_CODE_NAMES, _OF_TESTS, STANDARD, INSTALLED, PACKAGE, of_runtime) - {
        "super"
    }


@cache
def _known_classes() -> list[str]:
    return sorted(name for name in _known() if name[0].isupper())


def may_be_shadowed(name: str) -> bool:
    """Check that generated code may use this name for something else."""
    return name in _known()


def add_placeholder(name: str) -> str:
    """Return a schema's bare name, with a placeholder if generated code may use it."""
    return PLACEHOLDER + name if may_be_shadowed(name) else name


def add_class_placeholder(name: str) -> str:
    """Return a component's bare name, which is also a prefix of its classes' names."""
    known = _known_classes()
    index = bisect_left(known, name)
    return PLACEHOLDER + name if index < len(known) and known[index].startswith(name) else name


@dataclass(frozen=True, slots=True)
class ComponentName:
    """Names of a component in other modules: they change with nothing else of it."""

    name: str
    module: str

    @property
    def bare_name(self) -> str:
        """Bare name of its module: as a parameter, or an item of a class."""
        return add_placeholder(self.module)


def make_component_name(component: str) -> ComponentName:
    """Return the names of a component for other modules."""
    return ComponentName(add_class_placeholder(component), module_name(component))


def resolve_shadowing(make: Callable[[], str]) -> str:
    """Render a module and rename its shadowed names."""
    return rename_shadowed(make())


def rename_shadowed(text: str) -> str:
    """Rename the module's own names that schema names shadow: `range(n)` → `_range(n)`."""
    parts = _NOT_CODE.split(text)
    used = {name for code in parts[::2] for name in _NAME.findall(code)}
    aliases = _aliases(used.intersection(_MARKED.findall(text)), text)
    if not aliases:
        return text
    code = "".join(_rename(part, index % 2 == 1, aliases) for index, part in enumerate(parts))
    return _with_builtins(code, {name: aliases[name] for name in aliases if name in _BUILTINS})


def _aliases(names: set[str], text: str) -> dict[str, str]:
    """Return an unused name for each of these."""
    taken = set(_WORD.findall(text)) if names else set()
    aliases = {}
    for name in sorted(names):
        alias = f"_{name}"
        while alias in taken:
            alias += "_"
        aliases[name] = alias
    return aliases


def _rename(text: str, is_not_code: bool, aliases: Mapping[str, str]) -> str:
    """Rename in code, in replacement fields of f-strings, and with `as` in imports."""
    if not is_not_code:
        return _NAME.sub(lambda match: aliases.get(match[0], match[0]), text)
    if text.startswith(('f"', "f'")):
        return _REPLACED.sub(lambda match: _rename(match[0], False, aliases), text)
    if text.startswith("import "):
        head, _, name = text.rpartition(" ")
        return f"{head} {aliases.get(name, name)}"
    imported = _FROM.fullmatch(text)
    return text if imported is None else _imported(imported, aliases)


def _imported(statement: re.Match[str], aliases: Mapping[str, str]) -> str:
    """Return an import, with its own statement for each renamed name."""
    indent, module = statement[1], statement[2]
    names = [name for item in statement[3].strip("()\n ").split(",") if (name := item.strip())]
    unchanged = [name for name in names if name not in aliases]
    lines = [import_line(module, unchanged, len(indent))] if unchanged else []
    lines += [
        f"{indent}from {module} import {name} as {aliases[name]}"
        for name in sorted(names)
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
