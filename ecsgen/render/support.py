"""The pieces of generated tests, which the library has in `testing/`.

A policy called `packed` has two classes there, `PackedCases` and `PackedRules`, in whichever
module; tests name them with it: `packed.RingCases`. One that no rule is about has only the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from ecsgen.render.calls import import_line
from ecsgen.render.runtime import FOLDER, LIBRARY

PARENT = ".."
"""Where the tests find the package when they are inside of it."""
_CASES = re.compile(r"^class (\w+)Cases\(([^)]*)\):", re.MULTILINE)
_RULES = re.compile(r"^class (\w+)Rules\(", re.MULTILINE)
_BASE = re.compile(r"(\w+)Cases\b")


class Piece(NamedTuple):
    """The classes of one policy."""

    module: str
    name: str
    """What its `Cases` and `Rules` begin with."""
    weight: int
    """How many pieces its own builds on, itself among them."""
    has_rules: bool

    @property
    def cases(self) -> str:
        """The class of direct cases, as tests name it."""
        return f"{self.module}.{self.name}Cases"

    @property
    def rules(self) -> str:
        """The class of rules of a state machine, as tests name it."""
        return f"{self.module}.{self.name}Rules"


def camel(name: str) -> str:
    """Return what the classes of a policy begin with."""
    return "".join(word.capitalize() for word in name.split("_"))


@cache
def pieces() -> Mapping[str, Piece]:
    """Return all pieces by what their classes begin with: `Packed`."""
    places: dict[str, str] = {}
    bases: dict[str, list[str]] = {}
    ruled: set[str] = set()
    for path in sorted(FOLDER.joinpath("testing").glob("[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        ruled.update(_RULES.findall(text))
        for name, of in _CASES.findall(text):
            places[name], bases[name] = path.stem, _BASE.findall(of)

    def under(name: str) -> frozenset[str]:
        return frozenset([name]).union(*map(under, bases.get(name, ())))

    return {
        name: Piece(module, name, len(under(name)), name in ruled)
        for name, module in places.items()
    }


def import_lines(modules: Iterable[str]) -> str:
    """Return the import of modules of pieces by a test, as isort and black lay it out."""
    return import_line(f"{LIBRARY}.testing", sorted({*modules}))
