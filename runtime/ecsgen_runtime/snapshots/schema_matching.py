"""Names of an old snapshot: what each is called now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .cell_types import HANDLES, INTEGERS, CellType, cell_type, differing
from .documents import Document, SnapshotContent
from .saved_component import SavedComponent
from .type_conversion import MemberNames, TypeChange, change_of

# Nothing is lost, and so nothing refused, where a component has no rows, a field no
# cell but its default, or no cell is the member that is gone.

Renames: TypeAlias = Mapping[str, Mapping[str, str]]
"""Former names by kind, each with the present one, or "" for what was removed. Fields and members
begin with the present name of their component or enum: `Body.speed`."""


class RemovedName(NamedTuple):
    """A name that the schemas lack and that is not dropped."""

    keeping: str
    """The change of the schemas that keeps it: `'renamed_from: [fare]' at 'price' in 'Trip'`."""
    place: str = ""
    """Its location in the snapshot, if its name does not tell it."""


@dataclass
class SchemaMatch:
    """The old names that go on, by what they are called now."""

    saved: SnapshotContent
    schema: Document
    renames: Renames
    drop: Collection[str]
    unknown: dict[str, RemovedName] = field(default_factory=dict)
    """Names that the schemas lack, as the caller would drop them: `body.mood`."""
    components: dict[str, SavedComponent] = field(default_factory=dict)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    """New names of old components and enums."""

    def old(self, component: str) -> SavedComponent:
        """Return the old rows of a component; one that is new has none."""
        doc = self.schema["components"][component]
        old_component = self.components.get(component)
        return old_component or SavedComponent(self.saved, component, doc, is_new=True)

    def former(self, component: str, field: str) -> str | None:
        """Return the old name of a field, or None if it is new."""
        return self.fields.get(component, {}).get(field)

    def type_of(self, component: str, field: str) -> CellType:
        """Return the new type of a field."""
        text = self.schema["components"][component]["fields"][field]["type"]
        return cell_type(text, self.schema["enums"])

    def change(self, component: str, field: str, former: str) -> TypeChange:
        """Return the old and the new type of a field."""
        source, new = self.old(component), self.type_of(component, field)
        old = source.type_of(former).renamed(self.targets)
        is_given = source.fields[former].get("given", False)
        if is_given and new.base in HANDLES and old.base in INTEGERS:
            old = new.of_shape(old.shape)
        return change_of(old, new, self._members(new, old))

    def _members(self, new: CellType, old: CellType) -> MemberNames:
        """Return the former members of an enum; those that the caller drops are removed."""
        start = f"{new.target}."
        names: dict[str, str | None] = {n: None for n in old.members if start + n in self.drop}
        for former, now in self.renames.get("members", {}).items():
            if former.startswith(start):
                names[former.removeprefix(start)] = now or None
        return names


def match_schemas(
    saved: SnapshotContent, schema: Document, renames: Renames, drop: Collection[str]
) -> SchemaMatch:
    """Return the match of old names to new ones.

    Raises SnapshotError that names all that would be lost: what keeps it, and last the `drop` that
    loads without.
    """
    names = SchemaMatch(saved, schema, renames, drop)
    for kind in ("components", "enums"):
        renamed = renames.get(kind, {})
        for name in saved.schema[kind]:
            if now := name if name in schema[kind] else renamed.get(name):
                names.targets[name] = now
    for name, doc in saved.schema["components"].items():
        _match_component(names, SavedComponent(saved, name, doc))
    for now, old in names.components.items():
        _match_fields(names, now, old)
        _match_owners(names, now, old)
        _match_members(names, now, old)
    unknown = names.unknown
    if unknown:
        listed = [f"{at} ({name.place})" if name.place else at for at, name in unknown.items()]
        keeping = ", ".join(removed.keeping for removed in unknown.values())
        wanted = ", ".join(f'"{name}"' for name in unknown)
        pronoun = "it" if len(unknown) == 1 else "them"
        saved.refuse(
            f"not in the schemas: {', '.join(listed)}; to keep {pronoun}, write {keeping}, and "
            f"build again, or put {pronoun} elsewhere in migrate=; drop=[{wanted}] loads without"
        )
    return names


def _match_component(names: SchemaMatch, old: SavedComponent) -> None:
    now = names.targets.get(old.name, "")
    if now in names.schema["components"]:
        if not _has_its_cells(names, now, old):
            return
        other = names.components.get(now)
        if other is None or not other.count:
            names.components[now] = old
        elif old.count:
            names.saved.refuse(f"{other.name} and {old.name} would both be {now}")
        return
    is_removed = old.name in names.renames.get("components", {})
    if old.count and not is_removed and old.module not in names.drop:
        before, after = names.saved.schema["components"], names.schema["components"]
        keeping = _renamed(names, "components", old.name, before, after)
        names.unknown[old.module] = RemovedName(keeping)


def _has_its_cells(names: SchemaMatch, now: str, old: SavedComponent) -> bool:
    """Return True if rows stay rows, or cells of a grid stay cells; refuse to lose rows."""
    doc = names.schema["components"][now]
    before, after = (_cells(component_doc) for component_doc in (old.doc, doc))
    if before == after:
        return True
    if old.count and not {*names.drop} & {old.module, doc["module"]}:
        names.saved.refuse(
            f'its {old.count} rows are {before}, and now {after}: drop=["{doc["module"]}"] '
            "loads without them",
            old.module,
        )
    return False


def _cells(doc: Document) -> str:
    axes = doc.get("grid")
    return f"cells of {axes} axes" if axes else "no cells"


def _match_fields(names: SchemaMatch, now: str, old: SavedComponent) -> None:
    present = names.schema["components"][now]["fields"]
    renamed = names.renames.get("fields", {})
    old_names = names.fields[now] = {}
    for name in old.fields:
        key = f"{now}.{name}"
        target = name if name in present else renamed.get(key)
        if target and target in old_names:
            why = f"{old_names[target]} and {name} would both be {now}.{target}"
            names.saved.refuse(why, old.module)
        if target:
            old_names[target] = name
        elif target is None and not _is_dropped(names, now, old, name):
            differs = differing(old.stored(name), old.default_of(name))
            if not differs[slice(None) if old.used is None else old.used].any():
                continue
            keeping = _renamed(names, "fields", name, old.fields, present, now)
            names.unknown[f"{old.module}.{name}"] = RemovedName(keeping)


def _match_owners(names: SchemaMatch, now: str, old: SavedComponent) -> None:
    """Add owners that are dropped to the unknown names, like a removed field."""
    doc = names.schema["components"][now]
    if not old.has_owners or doc["owner"] == "entity" or not old.count:
        return
    if not _is_dropped(names, now, old, "entity"):
        names.unknown[f"{old.module}.entity"] = RemovedName(f"'owner: entity' in {now!r}")


def _is_dropped(names: SchemaMatch, now: str, old: SavedComponent, field: str) -> bool:
    module = names.schema["components"][now]["module"]
    return f"{old.module}.{field}" in names.drop or f"{module}.{field}" in names.drop


def _match_members(names: SchemaMatch, now: str, old: SavedComponent) -> None:
    for name, former in names.fields[now].items():
        change = names.change(now, name, former)
        was, is_, _ = change
        if (was.base, was.target) == (is_.base, is_.target):
            for member, cell in _lost_members(old, former, change):
                before, after, target = was.members, is_.members, is_.target
                keeping = _renamed(names, "members", member, before, after, target)
                removed = RemovedName(keeping, cell)
                names.unknown.setdefault(f"{target}.{member}", removed)


def _lost_members(old: SavedComponent, field: str, change: TypeChange) -> Iterator[tuple[str, str]]:
    """Yield members that are not known any more, each with the name of a cell that has it."""
    is_of_flags, stored = change.old.base == "flags", old.stored(field)
    for member, number in change.old.members.items():
        if member in change.names or (is_of_flags and number.bit_count() != 1):
            continue
        has_member = _rows_with(number, stored, is_of_flags)
        if old.used is not None:
            has_member[old.owners == 0] = False
        if has_member.any():
            yield member, f"{old.tensor(field)}[{int(has_member.argmax())}]"
        elif len(stored) < old.n and _rows_with(number, old.default_of(field)[None], is_of_flags):
            with_default = np.delete(np.arange(old.n), old.column("cold.row"))
            yield member, f"{old.module}.{field}[{with_default[0]}]"


def _rows_with(number: int, cells: NDArray[Any], is_of_flags: bool) -> NDArray[np.bool_]:
    """Return which rows have a member in a cell."""
    is_member = cells & cells.dtype.type(number) != 0 if is_of_flags else cells == number
    return np.asarray(is_member.any(axis=tuple(range(1, is_member.ndim))))


_TRAITS: Final[Mapping[str, Callable[[Any], object]]] = {
    "components": lambda doc: [*doc["fields"]],
    "fields": itemgetter("type"),
    "members": int,
}
"""Traits that stay when a name is changed, by kind."""


def _renamed(
    names: SchemaMatch,
    kind: str,
    name: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    owner: str = "",
) -> str:
    """Return the change of the schemas for a renamed name, and its place: the only new name with
    the same trait and without a former name, if there is one. `owner`: the component or enum.
    """
    start = f"{owner}." if owner else ""
    renames = names.renames.get(kind, {}).items()
    known = {*old, *(now for former, now in renames if former.startswith(start))}
    trait = _TRAITS[kind]
    wanted = trait(old[name])
    candidates = [
        n for n, candidate in new.items() if n not in known and trait(candidate) == wanted
    ]
    where = f"at {candidates[0]!r}" if len(candidates) == 1 else "where it is now"
    return f"'renamed_from: [{name}]' {where}" + (f" in {owner!r}" if owner else "")
