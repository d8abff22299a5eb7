"""The pieces of generated tests, which the library has in `testing/`.

They are called by their paths there: `machine`, `policies/sparse`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ecsgen.render.calls import import_line
from ecsgen.render.runtime import FOLDER, LIBRARY, TESTING, needed_by

PARENT = ".."
"""Where the tests find the package when they are inside of it."""


@cache
def available(folder: str) -> frozenset[str]:
    """Return the names of the modules in one of the folders."""
    return frozenset(path.stem for path in FOLDER.joinpath("testing", folder).glob("[!_]*.py"))


@cache
def weight(name: str) -> int:
    """Return how many of the pieces one needs, itself among them."""
    return sum(path.startswith(TESTING) for path in needed_by(f"{TESTING}{name}.py"))


def import_lines(names: Iterable[str]) -> str:
    """Return the imports of pieces by a test, as isort and black lay them out."""
    places: dict[str, list[str]] = {}
    for name in names:
        folder, _, module = name.rpartition("/")
        of = f"{LIBRARY}.testing.{folder}".rstrip(".")
        places.setdefault(of.replace("/", "."), []).append(module)
    return "\n".join(import_line(of, places[of]) for of in sorted(places))
