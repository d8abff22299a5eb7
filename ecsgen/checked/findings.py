"""Findings of checked runs: what is wrong, where in the schemas, and in whose step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ecsgen_testing.reference.schema import SETTINGS

KINDS: Final = ("null", "index", "zero", "wrap", "nan", "infinite", "lost")
"""Kinds of findings, the most telling one first."""
USUAL: Final = KINDS[:-1]


@dataclass
class Finding:
    """Something that a kernel worked out, and that its author can hardly want."""

    kind: str
    file: str
    line: int
    column: int
    step: str
    """The text of the step; of `if`, `for` and `while` the head; the condition of `where`."""
    expression: str
    """The smallest part in which it happens; of an assignment or a message the step."""
    operands: dict[str, Any]
    """Values of the names in the expression; of `null` the handle."""
    value: Any
    """The value that the generated code has there."""
    kernel: str
    """The kernel, reduction or table: `Person.catch`, of the world `catch`."""
    component: str
    row: int
    entity: int
    """The entity, or the id, whose step it is."""
    tick: int | None
    """None in a world without time."""
    count: int = 1
    """How often it was met."""
    detail: str = field(default="", repr=False)
    """The operation with its numbers."""
    source: str = field(default="", repr=False)
    """The line of the schema."""
    length: int = field(default=1, repr=False)
    """How many characters of it are meant."""

    @property
    def who(self) -> str:
        """The row and its entity, for people."""
        return described(self.component, self.entity, self.row)

    def __str__(self) -> str:
        """Return the place, the line with carets, and who it was."""
        when = "" if self.tick is None else f", tick {self.tick}"
        values = ", ".join(f"{name} = {value}" for name, value in self.operands.items())
        lines = [
            f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.detail or self.expression}",
            self.source,
            " " * (self.column - 1) + "^" * self.length,
            f"in {self.kernel}, {self.who}{when}" + (f": {values}" if values else ""),
        ]
        return "\n".join(lines)


class CheckError(Exception):
    """The first finding of a checked run; nothing of its kernel has happened."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


def described(component: str, entity: int, row: int) -> str:
    """Return who a row is: `Person 5v1 (row 4)`, `settings` of what they are."""
    if component == SETTINGS:
        return component
    return f"{component} {entity % 2**32}v{entity >> 32} (row {row})"


def check_kinds(kinds: tuple[str, ...], where: str = "find") -> None:
    """Raise ValueError for kinds that there are none of."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"{where}: {unknown[0]!r} is none of {', '.join(KINDS)}")
