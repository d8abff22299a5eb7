"""What generated tests share whatever the schemas say: copies of `ecsgen_runtime/testing/`.

There these modules are about the shipped package; a copy is about its own. They are called by
their paths in the folder `_support`: `machine`, `policies/sparse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ecsgen.render.calls import import_line
from ecsgen.render.runtime import FOLDER as LIBRARY

FOLDER = LIBRARY / "testing"
_SUPPORT = FOLDER / "_support"
_OF_PACKAGE = "from generated import"
_IMPORT = re.compile(r"^from (\.+)([\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


def copied(path: str, package: str) -> str:
    """Return a module's text, its imports of the package under test from `package`."""
    text = (FOLDER / path).read_text(encoding="utf-8")
    return text.replace(_OF_PACKAGE, f"from {package} import")


@cache
def available(folder: str) -> frozenset[str]:
    """Return the names of the modules in one of the folders."""
    return frozenset(path.stem for path in _SUPPORT.joinpath(folder).glob("[!_]*.py"))


def needed(names: Iterable[str]) -> list[str]:
    """Return modules with all that they import, and with what makes their folders packages."""
    found: set[str] = set()
    wanted = [*names, "__init__"]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += _imports(name)
    return sorted(found)


@cache
def _imports(name: str) -> tuple[str, ...]:
    """Return the modules that one imports, and that of its folder."""
    text = _SUPPORT.joinpath(f"{name}.py").read_text(encoding="utf-8")
    *folders, _ = name.split("/")
    found = ["/".join([*folders, "__init__"])]
    for dots, module, several, one in _IMPORT.findall(text):
        above = folders[: len(folders) + 1 - len(dots)]
        place = "/".join([*above, *filter(None, module.split("."))])
        if _SUPPORT.joinpath(f"{place}.py").is_file():
            found.append(place)
        else:
            found += [f"{place}/{n.strip()}".lstrip("/") for n in (several or one).split(",")]
    return tuple(found)


def import_lines(names: Iterable[str]) -> str:
    """Return the imports of modules by a test, as isort and black lay them out."""
    places: dict[str, list[str]] = {}
    for name in names:
        folder, _, module = name.rpartition("/")
        places.setdefault(f"._support.{folder}".rstrip("."), []).append(module)
    return "\n".join(import_line(place, places[place]) for place in sorted(places))
