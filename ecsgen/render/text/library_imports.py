"""Library that generated packages import, or have copies of, and imports of modules.

Generated modules are made to import `ecsgen_runtime`. In a vendored package they import the same
modules from `_runtime`: only the prefix of these imports differs.
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
"""Folder of copies in a vendored package."""
COMPILED = "compiled"
SHARDS = "shards"
TESTING = f"{RUNTIME}/testing/"
"""Folder of the cases of generated tests."""
_DEFERRED = ("snapshots", "sweeps")
"""Folders that are imported at first use: generated modules name only `SnapshotWorld` of them."""
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
# regexes, as a parser takes 0.1 s
_DEFINED = re.compile(r"^(?:(?:class|def) ([A-Za-z]\w*)|([A-Za-z]\w*)(?:: .*)? =)", re.MULTILINE)


@cache
def read_library() -> Mapping[str, str]:
    """Return the text of every module that generated ones may use, by its path in a package."""
    return {path: text for path, text in library().items() if not path.startswith(TESTING)}


@cache
def library() -> Mapping[str, str]:
    """Return the text of every module of the library, by its path in a package."""
    return {
        f"{RUNTIME}/{path.relative_to(FOLDER).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(FOLDER.rglob("*.py"))
        if path.relative_to(FOLDER).parts[0] not in _NOT_COPIED
    }


@cache
def locate_public_names(package: str) -> Mapping[str, str]:
    """Return the modules of the public names of `RUNTIME`, `COMPILED` or `SHARDS`, by name."""
    return {
        name: module_of(path)
        for path, text in read_library().items()
        if library_part(path) == package
        for name in public_names(text)
    }


def library_part(path: str) -> str:
    """Return the part of the library that a module belongs to: a constant above, or ""."""
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
    """Return the name of the library's module with this path in a vendored package."""
    return path.removesuffix(".py").replace("/", ".").replace(RUNTIME, LIBRARY, 1)


def public_names(text: str) -> list[str]:
    """Return the public names that a module defines at its top."""
    return [defined or bound for defined, bound in _DEFINED.findall(_TEXT.sub("", text))]


def collect_copies(modules: Iterable[str]) -> dict[str, str]:
    """Return the text of each module that modules with these texts import, by path.

    Included are indirect imports, and the `__init__` of each folder.
    """
    beside = (_OF_RUNTIME.sub(rf"\1from .{RUNTIME}", text) for text in modules)
    needed = _closure([path for text in beside for path in _imported("", text)])
    return dict(sorted(needed.items()))


def _closure(todo: list[str]) -> dict[str, str]:
    """Return modules with all that they import, and the `__init__` of their folders."""
    needed: dict[str, str] = {}
    while todo:
        path = todo.pop()
        if path not in needed:
            needed[path] = library()[path]
            todo += _imported(path, needed[path])
            todo += [f"{folder}/__init__.py" for folder in PurePosixPath(path).parents[:-1]]
    return needed


def _imported(path: str, text: str) -> list[str]:
    """Return the paths of the library's modules that the module at `path` imports."""
    paths = []
    for dots, module, several, single in _IMPORTS.findall(text):
        base = "/".join([*path.split("/")[: -len(dots)], *filter(None, module.split("."))])
        if f"{base}.py" in library():
            paths.append(f"{base}.py")
        elif f"{base}/__init__.py" in library():
            names = _IMPORTED.findall(several or single)
            modules = (f"{base}/{name}{end}" for name in names for end in _MODULE_ENDS)
            paths += [f"{base}/__init__.py", *(path for path in modules if path in library())]
    return paths


@cache
def ancestors() -> Mapping[str, frozenset[str]]:
    """Return all base classes of each class of the library, indirect ones included."""
    bases: dict[str, list[str]] = {}
    for text in library().values():
        for name, base_names in _CLASSES.findall(text):
            bases[name] = _WORD.findall(base_names)

    def above(name: str) -> frozenset[str]:
        near = bases.get(name, [])
        return frozenset(near).union(*map(above, near))

    return {name: above(name) for name in bases}


def distinct_bases(names: Iterable[str]) -> list[str]:
    """Return classes of the library without those that another one inherits from."""
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
"""Names that each package defines, instead of the library's."""

# names are used in code: not in strings or comments, nor as attributes, keywords, or after `def`
_NO_CODE = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*''', re.DOTALL)
_CLASS = re.compile(rf"^class ({PLACEHOLDER}?\w+)", re.MULTILINE)
_NAME = re.compile(rf"(?<![\w.{PLACEHOLDER}])(?<!def ){PLACEHOLDER}?[^\W\d_]\w*")


IMPORTS_MARKER = "<<imports>>"
"""Text that is replaced by a module's imports."""


def insert_imports(text: str, modules: Mapping[str, str]) -> str:
    """Return a module's text with its imports."""
    return text.replace(IMPORTS_MARKER, format_imports(text, modules))


def format_imports(text: str, modules: Mapping[str, str]) -> str:
    """Return the import statements of a module with this text, as isort and black lay them out.

    `modules`: modules of names that are made from schemas, with placeholders as in the text.
    """
    code = _NO_CODE.sub("", text)
    used = set(_NAME.findall(code)) - set(_CLASS.findall(code))
    places = {**PACKAGE, **locate_public_names(RUNTIME), **modules, **OF_ENTITIES}
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
