"""Spans in schema files: messages have them, and so has the model, which takes longer to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A span in a schema file: line and column from 1, length in characters."""

    path: str  # as printed in diagnostics: relative to the working directory where possible
    line: int
    column: int
    length: int = 1

    @property
    def start(self) -> tuple[int, int]:
        """Line and column, which order the marks of a file."""
        return self.line, self.column

    @property
    def place(self) -> str:
        """File and line, as messages name them."""
        return f"{self.path}:{self.line}"

    def seen_from(self, other: Mark) -> str:
        """Return the words for the mark in a message at another mark."""
        return f"on line {self.line}" if self.path == other.path else f"at {self.place}"
