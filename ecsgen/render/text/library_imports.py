"""Library that generated packages import, or have copies of.

Generated modules import `ecsgen_runtime`, and generated tests `ecsgen_testing` as well. In a
vendored package they import the same modules from `_runtime` and `tests/_support`: only the prefix
of these imports differs, which `finish_module` puts in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import PurePosixPath

from ecsgen.fingerprint import import_folder
from ecsgen.render.text.formatting import PLACEHOLDER

INSTALLED_LIBRARY = "ecsgen_runtime"
INSTALLED_TESTING = "ecsgen_testing"
"""Cases of generated tests, and what these need."""
# in imports of modules that are not finished
LIBRARY = PLACEHOLDER + INSTALLED_LIBRARY
TESTING = PLACEHOLDER + INSTALLED_TESTING
RUNTIME = "_runtime"
"""Folder of copies of the library in a vendored package."""
SUPPORT = "tests/_support"
"""Folder of copies of what its tests import."""
PARENT = ".."
"""Module of the package for tests that are inside of it."""
COMPILED = "compiled"
SHARDS = "shards"
_DEFERRED = ("snapshots", "sweeps")
"""Folders that are imported at first use: generated modules name only `SnapshotWorld` of them."""
_DOOR = f"{RUNTIME}/snapshots/snapshot_world.py"

_TOPS = {
    INSTALLED_LIBRARY: RUNTIME,
    RUNTIME: RUNTIME,
    INSTALLED_TESTING: SUPPORT,
    "_support": SUPPORT,
}
"""Folders of copies, by the names that imports have for them."""
_NOT_COPIED = ("accelerator", "__main__.py")
_IMPORTS = re.compile(r"^ *from (\S+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
_MODULE_ENDS = (".py", "/__init__.py")
_IMPORTED = re.compile(r"(\w+)(?: +as +\w+)?")
_CLASSES = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)
_WORD = re.compile(r"\w+")
_TEXT = re.compile(r'""".*?"""', re.DOTALL)
# regexes, as a parser takes 0.1 s
_DEFINED = re.compile(r"^(?:(?:class|def) ([A-Za-z]\w*)|([A-Za-z]\w*)(?:: .*)? =)", re.MULTILINE)


@cache
def read_library() -> Mapping[str, str]:
    """Return the text of every module of the library, by its path in a package."""
    return _texts(INSTALLED_LIBRARY, RUNTIME)


@cache
def read_support() -> Mapping[str, str]:
    """Return the text of every module that generated tests may use, by its path in a package."""
    return _texts(INSTALLED_TESTING, SUPPORT)


def _texts(package: str, folder: str) -> dict[str, str]:
    top = import_folder(package)
    return {
        f"{folder}/{path.relative_to(top).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(top.rglob("*.py"))
        if path.relative_to(top).parts[0] not in _NOT_COPIED
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


def finish_module(
    make: Callable[[], str], library: str = INSTALLED_LIBRARY, testing: str = INSTALLED_TESTING
) -> str:
    """Render a module without placeholders.

    `library`, `testing`: where it imports the library and the cases of tests from.
    """
    return make().replace(LIBRARY, library).replace(TESTING, testing).replace(PLACEHOLDER, "")


def vendor_imports(make: Callable[[], str], package: str = ".") -> str:
    """Render a module that imports the copies in a package instead of the library.

    `package`: how it names the package, up to the dot before `_runtime`.
    """
    return finish_module(make, f"{package}{RUNTIME}", "._support")


def module_of(path: str) -> str:
    """Return the module of the library, for imports, that a vendored package has at this path."""
    return path.removesuffix(".py").replace("/", ".").replace(RUNTIME, LIBRARY, 1)


def public_names(text: str) -> list[str]:
    """Return the public names that a module defines at its top."""
    return [defined or bound for defined, bound in _DEFINED.findall(_TEXT.sub("", text))]


def collect_copies(modules: Iterable[str], tests_from: str = PARENT) -> dict[str, str]:
    """Return the text of each module that modules with these texts import, by path.

    Included are indirect imports, and the `__init__` of each folder. `tests_from`: module of the
    package for tests.
    """
    known = {**read_library(), **read_support()}
    needed: set[str] = set()
    todo = [path for text in modules for path in _imported("", text, known)]
    while todo:
        path = todo.pop()
        if path not in needed:
            needed.add(path)
            todo += _imported(path, known[path], known)
            inits = {f"{folder}/__init__.py" for folder in PurePosixPath(path).parents[:-1]}
            todo += inits & known.keys()
    return {path: _copy(path, known[path], tests_from) for path in sorted(needed)}


def _imported(path: str, text: str, known: Mapping[str, str]) -> list[str]:
    """Return the paths of those known modules that the module at `path` imports."""
    paths = []
    for module, several, single in _IMPORTS.findall(text):
        base = _place(path, module)
        if f"{base}.py" in known:
            paths.append(f"{base}.py")
        elif f"{base}/__init__.py" in known:
            names = _IMPORTED.findall(several or single)
            modules = (f"{base}/{name}{end}" for name in names for end in _MODULE_ENDS)
            paths += [f"{base}/__init__.py", *(path for path in modules if path in known)]
    return paths


def _place(path: str, module: str) -> str:
    """Return where a vendored package has a module, from its name in an import at `path`."""
    name = module.lstrip(".")
    parts = [part for part in name.split(".") if part]
    for top, folder in _TOPS.items():
        if top in parts:
            return "/".join([folder, *parts[parts.index(top) + 1 :]])
    return "/".join([*path.split("/")[: len(name) - len(module)], *parts])


def _copy(path: str, text: str, tests_from: str) -> str:
    """Return a module's text as a vendored package has it."""
    if not path.startswith(f"{SUPPORT}/"):
        return text
    is_inside = tests_from == PARENT
    package = PARENT + "." * (path.count("/") - 1) if is_inside else f"{tests_from}."
    return text.replace(f"from {INSTALLED_LIBRARY}", f"from {package}{RUNTIME}")


@cache
def ancestors() -> Mapping[str, frozenset[str]]:
    """Return all base classes of each class of the library, indirect ones included."""
    bases: dict[str, list[str]] = {}
    for text in (*read_library().values(), *read_support().values()):
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
