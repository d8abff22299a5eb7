"""Imports of a generated module: exactly the names that its text uses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ecsgen.render.calls import MARK, import_line
from ecsgen.render.runtime import LIBRARY, RUNTIME, origins

_STANDARD = {
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "contextlib": "contextmanager",
    "enum": "IntFlag",
    "operator": "index",
    "random": "Random",
    "struct": "Struct",
    "types": "ModuleType",
    "typing": "Any ClassVar Final Literal Never Protocol TypeAlias TypeVar Unpack overload",
}
STANDARD = {name: module for module, names in _STANDARD.items() for name in names.split()}
NUMPY = {"ArrayLike": "numpy.typing", "NDArray": "numpy.typing", "prange": "numba"}
PACKAGE = {
    "NamedTuple": f"{LIBRARY}.typed",
    "TypedDict": f"{LIBRARY}.typed",
    "ArchetypeChunk": ".archetypes",
    "Archetypes": ".archetypes",
}

OF_ENTITIES = dict.fromkeys(("EntityManager", "INDEX_MASK"), ".entities")
"""What a package has of its own instead of the runtime's."""

# Names count where they stand as code: not in strings or comments, nor as attributes or keywords,
# nor as what a `def` makes. A text with double quotes in it stands in single ones.
_TEXT = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*''', re.DOTALL)
_CLASS = re.compile(rf"^class ({MARK}?\w+)", re.MULTILINE)
_NAME = re.compile(rf"(?<![\w.{MARK}])(?<!def ){MARK}?[^\W\d_]\w*")


MARKER = "<<imports>>"
"""Stands in a module's text where its imports come."""


def with_imports(text: str, own: Mapping[str, str]) -> str:
    """Return a module's text with its imports."""
    return text.replace(MARKER, import_lines(text, own))


def import_lines(text: str, own: Mapping[str, str]) -> str:
    """Return the import statements of a module with this text, as isort and black lay them out.

    `own`: where in the package the names are that schemas give rise to, marked as in the text.
    """
    code = _TEXT.sub("", text)
    used = set(_NAME.findall(code)) - set(_CLASS.findall(code))
    places = {**PACKAGE, **origins(RUNTIME), **own, **OF_ENTITIES}
    package = {name: module for name, module in places.items() if module.startswith(".")}
    installed = NUMPY | {name: places[name] for name in places.keys() - package.keys()}
    groups = [
        _from_lines(STANDARD, used),
        ["import numpy as np"] * ("np" in used) + _from_lines(installed, used),
        _from_lines(package, used),
    ]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _from_lines(places: Mapping[str, str], used: set[str]) -> list[str]:
    modules: dict[str, list[str]] = {}
    for name in places.keys() & used:
        modules.setdefault(places[name], []).append(name)
    return [import_line(module, modules[module]) for module in sorted(modules)]
