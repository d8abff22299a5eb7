"""Names with a past: what was said of former names, and is said no more."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from ecsgen.breaking.comparison import Comparison, now
from ecsgen.diagnostics import quote
from ecsgen.model import Mark
from ecsgen.model.history import Names


class Space(NamedTuple):
    """Names that must not be taken for each other, now and then."""

    what: str
    """Of what kind they are."""
    old: Names
    new: Names
    """The former names that either version tells of."""
    present: Container[str]
    owner: str
    """What the names are in; "" for names of the project."""


def compare_past(it: Comparison) -> None:
    """Report E905."""
    old, new, saved = it.old.history, it.new.history, it.new.saved
    _compare(it, Space("component", old.components, new.components, saved["components"], ""))
    _compare(it, Space("enum", old.enums, new.enums, saved["enums"], ""))
    for was, name in it.components.items():
        fields = saved["components"][name]["fields"]
        _compare(it, Space("field", old.fields_of(was), new.fields_of(name), fields, name))
    for was, name in it.enums.items():
        members = saved["enums"][name]["members"]
        _compare(it, Space("member", old.members_of(was), new.members_of(name), members, name))


def _compare(it: Comparison, space: Space) -> None:
    for former, became in space.old.items():
        if former in space.present:
            _report_back(it, space, former, became)
        elif former not in space.new:
            here = now(became, space.present, space.new) if became else ""
            if here or space.what != "enum":  # nothing is saved of an enum that is gone
                _report_off(it, space, former, here or "")
        elif not became and space.new[former]:
            _report_taken(it, space, former)


def _report_back(it: Comparison, space: Space, former: str, became: str) -> None:
    was = f"called {quote(became)} later" if became else "removed"
    message = f"the {space.what} {quote(former)} has the name of one that was {was}"
    hint = "give it a name that nothing had; old values would become part of it"
    it.report.add("E905", message, _place(it, space, former), hint)


def _report_taken(it: Comparison, space: Space, former: str) -> None:
    here = space.new[former]
    message = f"the {space.what} {quote(former)} was removed, and {quote(here)} is renamed from it"
    hint = f"write 'removed: [{former}]' again; old values would become part of {quote(here)}"
    it.report.add("E905", message, _place(it, space, here), hint)


def _report_off(it: Comparison, space: Space, former: str, here: str) -> None:
    owner = quote(space.owner) if space.owner else "the world"
    entry = f"'removed: [{former}]' in {owner}"
    if here:
        entry = f"'renamed_from: [{former}]' at {quote(here)}"
    message = f"the former {space.what} {quote(former)} is not listed any more"
    hint = f"write {entry} again, or values saved under it would be refused"
    it.report.add("E905", message, _place(it, space, here), hint)


def _place(it: Comparison, space: Space, name: str) -> Mark:
    """Where a name stands; without one, where it would be listed as removed."""
    places, owner = it.places, space.owner
    if space.what == "component":
        return places.component(name) if name else places.written("removed") or places.nowhere
    if space.what == "enum":
        return places.enum(name)
    if space.what == "field":
        return places.field(owner, name) if name else places.component(owner, "removed")
    return places.enum(owner, f"values.{name}") if name else places.enum(owner, "removed")
