"""Former names of renamed and of removed components, enums, fields and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import SETTINGS, History, Mark
from ecsgen.schema.declarations import Declaration, Declarations
from ecsgen.schema.document_specs import ComponentSpec, EnumSpec, WorldSpec
from ecsgen.schema.enums import members_of
from ecsgen.schema.names import check_camel, check_identifier

MarkedName: TypeAlias = tuple[str, Mark]
_SETTINGS: Final = f"{SETTINGS}."


def build_history(drafts: Declarations, diagnostics: Diagnostics) -> History:
    """Return the former names in the documents; reports E101, E509, E513 and E514."""
    worlds = drafts.worlds[:1]
    components = _Names("component", check_camel)
    enums = _Names("enum", check_camel)
    settings = []
    for world in worlds:
        removed = _listed(world, world.spec.removed, "removed")
        components.removed += [each for each in removed if not each[0].startswith(_SETTINGS)]
        settings.append(_settings(world, removed))
    for component in drafts.components:
        components.add(component, component.name, component.spec.renamed_from)
    for enum in drafts.enums:
        enums.add(enum, enum.name, enum.spec.renamed_from)
    return History(
        version=worlds[0].spec.version if worlds else 0,
        components=components.checked(diagnostics),
        enums=enums.checked(diagnostics),
        fields=_inside((*map(_fields, drafts.components), *settings), diagnostics),
        members=_inside(map(_members, drafts.enums), diagnostics),
    )


@dataclass(slots=True)
class _Names:
    """The present and former names of one kind, which must be different."""

    what: str
    check: Callable[[str, str, Mark, Diagnostics], bool]
    removed: list[MarkedName] = field(default_factory=list)
    present: list[MarkedName] = field(default_factory=list)
    former: list[tuple[str, MarkedName]] = field(default_factory=list)  # present name → former

    def add(self, draft: Declaration[Any], name: str, old: Sequence[str], *path: str | int) -> None:
        """Add the name of a document, or of the part at `path`, with its former names."""
        mark = draft.key_mark(*path) if path else draft.value_mark(self.what)
        self.present.append((name, mark))
        self.former += [(name, former) for former in _listed(draft, old, *path, "renamed_from")]

    def checked(self, diagnostics: Diagnostics) -> dict[str, str]:
        """Return the present name for each former one; "" for removed ones."""
        used = dict(reversed(self.present))  # the first of two of one name
        holders: dict[str, MarkedName] = {}
        for now, (name, mark) in [*(("", removed) for removed in self.removed), *self.former]:
            if not self.check(name, f"a former {self.what}", mark, diagnostics):
                continue
            if name not in used and name not in holders:
                holders[name] = now, mark
                continue
            other, other_mark = ("", used[name]) if name in used else holders[name]
            where = other_mark.seen_from(mark)
            if now:
                why = f"it is one of {quote(other)}" if other else "it is removed"
                why = f"{'it is in use' if name in used else why} {where}"
                message = f"{quote(name)} cannot be a former name of {quote(now)}: {why}"
                diagnostics.add("E514", message, mark)
            elif name in used:
                message = f"the {self.what} {quote(name)} is removed, and in use {where}"
                diagnostics.add("E513", message, mark)
            else:
                diagnostics.add("E509", f"{quote(name)} is listed twice in 'removed'", mark)
        return {name: now for name, (now, _) in holders.items()}


def _listed(draft: Declaration[Any], names: Sequence[str], *path: str | int) -> list[MarkedName]:
    return [(name, draft.value_mark(*path, index)) for index, name in enumerate(names)]


def _fields(draft: Declaration[ComponentSpec]) -> tuple[str, _Names]:
    names = _Names("field", check_identifier, _listed(draft, draft.spec.removed, "removed"))
    for name, spec in draft.spec.long_fields.items():
        names.add(draft, name, spec.renamed_from, "fields", name)
    return draft.name, names


def _settings(draft: Declaration[WorldSpec], removed: Sequence[MarkedName]) -> tuple[str, _Names]:
    former = [(n.removeprefix(_SETTINGS), mark) for n, mark in removed if n.startswith(_SETTINGS)]
    names = _Names("setting", check_identifier, former)
    for name, spec in draft.spec.long_settings.items():
        names.add(draft, name, spec.renamed_from, "settings", name)
    return SETTINGS, names


def _members(draft: Declaration[EnumSpec]) -> tuple[str, _Names]:
    names = _Names("member", check_identifier, _listed(draft, draft.spec.removed, "removed"))
    for member in members_of(draft.spec):
        former = member.spec.renamed_from if member.spec else ()
        names.add(draft, member.name, former, *member.path)
    return draft.name, names


def _inside(owners: Iterable[tuple[str, _Names]], diagnostics: Diagnostics) -> dict[str, str]:
    """Return the names of fields or members, behind the name of their component or enum."""
    return {
        f"{owner}.{former}": now
        for owner, names in owners
        for former, now in names.checked(diagnostics).items()
    }
