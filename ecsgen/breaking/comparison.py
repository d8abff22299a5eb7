"""Two versions, and what the names of the older one are now."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from ecsgen.breaking.report import Report
from ecsgen.breaking.sides import Places, Side
from ecsgen.diagnostics import closest, quote
from ecsgen.model import Mark
from ecsgen.model.history import Names
from ecsgen.model.saved import Document


@dataclass(slots=True)
class Comparison:
    """What every part of it needs."""

    old: Side
    new: Side
    places: Places
    report: Report
    components: dict[str, str] = field(init=False)
    """Old name → present name, of those that are still there."""
    enums: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        former, saved = self.new.history, self.new.saved
        self.components = _still_there(
            self.old.saved["components"], saved["components"], former.components
        )
        self.enums = _still_there(self.old.saved["enums"], saved["enums"], former.enums)


def now(name: str, present: Container[str], former: Names) -> str | None:
    """Return what an old name is now, "" if it is removed, None if nobody says anything of it."""
    return name if name in present else former.get(name)


def _still_there(old: Document, present: Document, former: Names) -> dict[str, str]:
    found = {name: now(name, present, former) for name in old}
    return {name: it for name, it in found.items() if it}


def report_missing(
    report: Report, what: str, name: str, mark: Mark, became: str, owner: str
) -> None:
    """Report a name that nobody says anything of.

    `became`: what it may be called now, or "". `owner`: what it could be removed from.
    """
    where = f"at {quote(became)}" if became else "where it is now"
    hint = f"write 'renamed_from: [{name}]' {where}, or 'removed: [{name}]' in {owner}"
    report.add("E901", f"saved values of {what} would be refused: it is gone", mark, hint)
    report.gone(what, mark)


def candidate(
    name: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    former: Names,
    are_alike: Callable[[Any, Any], bool],
) -> str:
    """Return which new name an old one may have become, or the empty string.

    It is one that was not there before and has no former name: the only one that is like it, or
    else one that reads like it.
    """
    known = {*old, *former.values()}
    added = [other for other in new if other not in known]
    alike = [other for other in added if are_alike(old[name], new[other])]
    return alike[0] if len(alike) == 1 else closest(name, alike or added)
