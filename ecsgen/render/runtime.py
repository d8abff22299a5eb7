"""What a generated package has of the runtime: the modules that its own import, copied as they are.

`_runtime` is what is the same for every schema; in `_runtime/compiled` is what compiled kernels call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import ecsgen_runtime

from ecsgen.config import Backend
from ecsgen.render import sharded

FOLDER = Path(ecsgen_runtime.__file__).parent
RUNTIME = "_runtime"
COMPILED = f"{RUNTIME}/compiled"
BULK = f"{COMPILED}/bulk/"
"""What takes the place of functions that take many rows at once, in the whole package."""
LAYOUT = f"{RUNTIME}/entities/layout.py"
"""A module that is not copied as it is: it has numbers of the project. So has `sharded.BITS`."""
LATER = f"{RUNTIME}/snapshots/"
"""What is imported by its first use alone, in statements of its own; no names of it are known."""

_NOT_COPIED = ("testing", "accelerator", "__main__.py")
_IMPORTS = re.compile(r"^ *from (\.+)([\w.]*) import ", re.MULTILINE)
_CLASSES = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)
_WORD = re.compile(r"\w+")
_TEXT = re.compile(r'""".*?"""', re.DOTALL)
# At a module's beginning: no parser, for that takes a tenth of a second.
_DEFINED = re.compile(r"^(?:(?:class|def) ([A-Za-z]\w*)|([A-Za-z]\w*)(?:: .*)? =)", re.MULTILINE)


@cache
def sources() -> Mapping[str, str]:
    """Return the text of every module that can be copied, by its path in a generated package."""
    return {
        f"{RUNTIME}/{path.relative_to(FOLDER).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(FOLDER.rglob("*.py"))
        if path.relative_to(FOLDER).parts[0] not in _NOT_COPIED
    }


@cache
def origins(package: str) -> Mapping[str, str]:
    """Return where the public names of `RUNTIME` or `COMPILED` are defined, as modules of the
    generated package import them: `._runtime.maps.sparse`."""
    found: dict[str, str] = {}
    others = (LATER, sharded.FOLDER, *([f"{COMPILED}/"] if package == RUNTIME else []))
    for path, text in sources().items():
        if path.startswith(f"{package}/") and not path.startswith(others):
            found |= dict.fromkeys(public_names(text), module_of(path))
    return found


@cache
def shard_origins() -> Mapping[str, str]:
    """Return the same of what only packages with shards have, and of what stands for others'."""
    found: dict[str, str] = {}
    for path, text in sources().items():
        if path.startswith(sharded.FOLDER):
            found |= dict.fromkeys(public_names(text), module_of(path))
    return found


StandIns: TypeAlias = tuple[Mapping[str, str], Mapping[str, str]]
"""The path of what stands for each name, and that of what it stands for."""


@cache
def stand_ins() -> StandIns:
    """Return what stands for names of the runtime in packages with shards."""
    return _stand_ins(sharded.FOLDER)


@cache
def compiled_stand_ins() -> StandIns:
    """Return what stands for names of the runtime in packages that are compiled."""
    return _stand_ins(BULK)


def _stand_ins(folder: str) -> StandIns:
    others: dict[str, str] = {}
    for path, text in sources().items():
        if not path.startswith((folder, f"{COMPILED}/")):
            others |= dict.fromkeys(public_names(text), path)
    standing = {
        name: path
        for path, text in sources().items()
        if path.startswith(folder)
        for name in public_names(text)
        if name in others
    }
    return standing, {name: others[name] for name in standing}


def module_of(path: str) -> str:
    """Return what a module with this path is called in import statements of the package's."""
    return f".{path.removesuffix('.py').replace('/', '.')}"


def public_names(text: str) -> list[str]:
    """Return the public names that a module defines at its top."""
    return [one or other for one, other in _DEFINED.findall(_TEXT.sub("", text))]


def copies(modules: Iterable[str], backend: Backend = "numpy") -> dict[str, str]:
    """Return the text of each module that modules with these texts need, by path.

    That is what they import, what these import, and the `__init__` of each folder; not `LAYOUT`
    and `sharded.BITS`. Some import what stands for others' names: with shards, and compiled.
    """
    needed: dict[str, str] = {}
    todo = [path for text in modules for path in _imported("", text)]
    has_shards = any(path.startswith(sharded.FOLDER) for path in todo)
    while todo:
        path = todo.pop()
        if path not in needed:
            text = sources()[path]
            if has_shards and not path.startswith(sharded.FOLDER):
                text = sharded.redirected(path, text, *stand_ins())
            if backend == "numba" and not path.startswith(f"{COMPILED}/"):
                text = sharded.redirected(path, text, *compiled_stand_ins())
            needed[path] = text
            todo += _imported(path, needed[path])
            todo += [f"{folder}/__init__.py" for folder in PurePosixPath(path).parents[:-1]]
    needed.pop(LAYOUT, None)
    needed.pop(sharded.BITS, None)
    return dict(sorted(needed.items()))


def _imported(path: str, text: str) -> list[str]:
    """Return the paths of what a module, which has this path, imports from the runtime."""
    found = []
    for dots, module in _IMPORTS.findall(text):
        folder = path.split("/")[: -len(dots)]
        name = "/".join([*folder, *(module or "__init__").split(".")])
        if name.startswith(f"{RUNTIME}/"):
            found.append(f"{name}.py")
    return found


@cache
def _ancestors() -> Mapping[str, frozenset[str]]:
    """Return which classes each class of the runtime inherits from, near and far."""
    bases: dict[str, list[str]] = {}
    standing, _ = stand_ins()  # they have the ancestors of what they stand for
    for path, text in sources().items():
        for name, of in _CLASSES.findall(text):
            if standing.get(name) != path:
                bases[name] = _WORD.findall(of)

    def above(name: str) -> frozenset[str]:
        near = bases.get(name, [])
        return frozenset(near).union(*map(above, near))

    return {name: above(name) for name in bases}


def distinct_bases(names: Iterable[str]) -> list[str]:
    """Return classes of the runtime without those that others of them inherit from."""
    wanted = [name for name in dict.fromkeys(names) if name]
    implied = frozenset[str]().union(*(_ancestors()[name] for name in wanted))
    return [name for name in wanted if name not in implied]
