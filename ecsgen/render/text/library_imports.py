"""The library that generated packages import, or have copies of, and the imports of modules.

Generated modules are made to import `ecsgen_runtime`. In a vendored package they import the same
modules from `_runtime`, and nothing but the prefix of these imports is another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import ecsgen_runtime

from ecsgen.render.text.formatting import PLACEHOLDER, import_line

FOLDER = Path(ecsgen_runtime.__file__).parent
LIBRARY = "ecsgen_runtime"
RUNTIME = "_runtime"
"""Where copies stand in a vendored package."""
COMPILED = "compiled"
SHARDS = "shards"
TESTING = f"{RUNTIME}/testing/"
"""The pieces of generated tests."""
_DEFERRED = ("snapshots", "sweeps")
"""Folders that their first use imports, in statements of its own: generated modules name nothing of
them but `SnapshotWorld`."""
_DOOR = f"{RUNTIME}/snapshots/snapshot_world.py"

_NOT_COPIED = ("accelerator", "__main__.py")
_IMPORTS = re.compile(r"^ *from (\.+)([\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
_MODULE_ENDS = (".py", "/__init__.py")
_IMPORTED = re.compile(r"(\w+)(?: +as +\w+)?")
_OF_RUNTIME = re.compile(rf"^( *)from \S*\.{RUNTIME}\b", re.MULTILINE)
_OF_LIBRARY = re.compile(rf"^( *)from {LIBRARY}\b(.*)", re.MULTILINE)
_CLASSES = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)
_WORD = re.compile(r"\w+")
_TEXT = re.compile(r'""".*?"""', re.DOTALL)
# At a module's beginning: no parser, for that takes a tenth of a second.
_DEFINED = re.compile(r"^(?:(?:class|def) ([A-Za-z]\w*)|([A-Za-z]\w*)(?:: .*)? =)", re.MULTILINE)


@cache
def read_library() -> Mapping[str, str]:
    """Return the text of every module that generated ones may use, by its path in a package."""
    return {path: text for path, text in library().items() if not path.startswith(TESTING)}


@cache
def library() -> Mapping[str, str]:
    """Return the same with the pieces of generated tests."""
    return {
        f"{RUNTIME}/{path.relative_to(FOLDER).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(FOLDER.rglob("*.py"))
        if path.relative_to(FOLDER).parts[0] not in _NOT_COPIED
    }


@cache
def locate_public_names(package: str) -> Mapping[str, str]:
    """Return where the public names of `RUNTIME`, of `COMPILED` or of `SHARDS` are defined:
    `ecsgen_runtime.managers.policies.lookup_maps`."""
    return {
        name: module_of(path)
        for path, text in read_library().items()
        if library_part(path) == package
        for name in public_names(text)
    }


def library_part(path: str) -> str:
    """Return which part of the library a module belongs to: `RUNTIME`, `COMPILED`, `SHARDS`, or
    ""."""
    folder, _, name = path.removeprefix(f"{RUNTIME}/").rpartition("/")
    if name.startswith("compiled_") or name == "jit.py":
        return COMPILED
    if folder == "shards":
        return SHARDS
    return RUNTIME if folder not in _DEFERRED or path == _DOOR else ""


def vendor_imports(make: Callable[[], str], package: str = ".") -> str:
    """Return a module that imports the copies in a package instead of the library."""
    return _OF_LIBRARY.sub(rf"\1from {package}{RUNTIME}\2", make())


def module_of(path: str) -> str:
    """Return what the module of the library is called that has this path in a vendored package."""
    return path.removesuffix(".py").replace("/", ".").replace(RUNTIME, LIBRARY, 1)


def public_names(text: str) -> list[str]:
    """Return the public names that a module defines at its top."""
    return [one or other for one, other in _DEFINED.findall(_TEXT.sub("", text))]


def collect_copies(modules: Iterable[str]) -> dict[str, str]:
    """Return the text of each module that modules with these texts need, by path.

    That is what they import, what these import, and the `__init__` of each folder.
    """
    beside = (_OF_RUNTIME.sub(rf"\1from .{RUNTIME}", text) for text in modules)
    needed = _closure([path for text in beside for path in _imported("", text)])
    return dict(sorted(needed.items()))


def _closure(todo: list[str]) -> dict[str, str]:
    """Return modules with all that they import, and with what makes their folders packages."""
    needed: dict[str, str] = {}
    while todo:
        path = todo.pop()
        if path not in needed:
            needed[path] = library()[path]
            todo += _imported(path, needed[path])
            todo += [f"{folder}/__init__.py" for folder in PurePosixPath(path).parents[:-1]]
    return needed


def _imported(path: str, text: str) -> list[str]:
    """Return the paths of what a module, which has this path, imports from the runtime."""
    found = []
    for dots, module, several, one in _IMPORTS.findall(text):
        place = "/".join([*path.split("/")[: -len(dots)], *filter(None, module.split("."))])
        if f"{place}.py" in library():
            found.append(f"{place}.py")
        elif f"{place}/__init__.py" in library():
            names = _IMPORTED.findall(several or one)
            modules = (f"{place}/{name}{end}" for name in names for end in _MODULE_ENDS)
            found += [f"{place}/__init__.py", *(path for path in modules if path in library())]
    return found


@cache
def ancestors() -> Mapping[str, frozenset[str]]:
    """Return which classes each class of the runtime inherits from, near and far."""
    bases: dict[str, list[str]] = {}
    for text in library().values():
        for name, of in _CLASSES.findall(text):
            bases[name] = _WORD.findall(of)

    def above(name: str) -> frozenset[str]:
        near = bases.get(name, [])
        return frozenset(near).union(*map(above, near))

    return {name: above(name) for name in bases}


def distinct_bases(names: Iterable[str]) -> list[str]:
    """Return classes of the runtime without those that others of them inherit from."""
    wanted = [name for name in dict.fromkeys(names) if name]
    implied = frozenset[str]().union(*(ancestors()[name] for name in wanted))
    return [name for name in wanted if name not in implied]


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
NUMPY = {"ArrayLike": "numpy.typing", "NDArray": "numpy.typing", "prange": "numba"}
PACKAGE = {
    "NamedTuple": f"{LIBRARY}.base.fast_typing",
    "TypedDict": f"{LIBRARY}.base.fast_typing",
    "ArchetypeChunk": ".archetypes",
    "Archetypes": ".archetypes",
}

OF_ENTITIES = dict.fromkeys(("EntityManager", "INDEX_MASK"), ".entities")
"""What a package has of its own instead of the runtime's."""

# Names count where they stand as code: not in strings or comments, nor as attributes or keywords,
# nor as what a `def` makes. A text with double quotes in it stands in single ones.
_NO_CODE = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*''', re.DOTALL)
_CLASS = re.compile(rf"^class ({PLACEHOLDER}?\w+)", re.MULTILINE)
_NAME = re.compile(rf"(?<![\w.{PLACEHOLDER}])(?<!def ){PLACEHOLDER}?[^\W\d_]\w*")


IMPORTS_MARKER = "<<imports>>"
"""Stands in a module's text where its imports come."""


def insert_imports(text: str, own: Mapping[str, str]) -> str:
    """Return a module's text with its imports."""
    return text.replace(IMPORTS_MARKER, format_imports(text, own))


def format_imports(text: str, own: Mapping[str, str]) -> str:
    """Return the import statements of a module with this text, as isort and black lay them out.

    `own`: where in the package the names are that schemas give rise to, marked as in the text.
    """
    code = _NO_CODE.sub("", text)
    used = set(_NAME.findall(code)) - set(_CLASS.findall(code))
    places = {**PACKAGE, **locate_public_names(RUNTIME), **own, **OF_ENTITIES}
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
