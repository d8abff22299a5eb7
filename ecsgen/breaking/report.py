"""What is found, as diagnostics: those of the kind that somebody asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ecsgen.breaking import Only
from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Mark

_FIRST_OF_CODE: Final = "E950"
"""Codes below it are about data."""


def kind(code: str) -> Only:
    """Return which kind a diagnostic is of."""
    return "data" if code < _FIRST_OF_CODE else "code"


@dataclass(frozen=True, slots=True)
class Report:
    """Diagnostics, of which only one kind may be wanted."""

    diagnostics: Diagnostics
    only: Only | None

    def add(self, code: str, message: str, mark: Mark, hint: str) -> None:
        """Report something, if it is of the wanted kind."""
        if self.only in (None, kind(code)):
            self.diagnostics.add(code, message, mark, hint=hint)

    def gone(self, what: str, mark: Mark) -> None:
        """Report a name that code can't use any more."""
        self.add("E951", f"{what} is gone", mark, "put it back, or change the code that uses it")

    def renamed(self, what: str, now: str, mark: Mark) -> None:
        """Report the same of what is called otherwise now."""
        message = f"{what} is called {quote(now)} now"
        self.add("E951", message, mark, "change the code that uses it")

    def changed(self, what: str, mark: Mark) -> None:
        """Report another type, shape, number or arguments."""
        self.add("E952", what, mark, "change it back, or the code that uses it")
