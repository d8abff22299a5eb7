"""Checks that the content of a snapshot is consistent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..base.handles import EntityArray, RowArray
from .cell_types import CellType
from .document_checks import (
    RNG_WORDS,
    check_room,
    check_schema,
    check_state,
    check_tensors,
)
from .documents import (
    ARRAYS,
    ATTRIBUTE,
    Document,
    SnapshotContent,
    parsed_json,
    with_settings,
)
from .entity_table import EntityTable
from .policy_rules import check_unique, policies_of
from .reading import SnapshotFile
from .row_checks import check_cells, check_chains, check_lengths
from .saved_component import SavedComponent

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


def check_owned(rows: SavedComponent, known: EntityTable) -> None:
    """Refuse rows whose owners cannot be, or cannot find them; O(n), chains O(n log length)."""
    owners: EntityArray = rows.column("entity")
    is_direct = rows.doc["lookup"] == "direct"
    if is_direct:
        _check_direct(rows, known, owners)
    # where rows go as soon as their entities die, all owners live
    living = rows.doc["destroy"] == "callback"
    known.check_owners(f"{rows.module}.entity", living, may_be_holes=is_direct)
    if is_direct:
        return
    firsts: RowArray | None = None
    if rows.doc["instances"] == "many":
        firsts = check_chains(rows, "next", "previous", owners)
        owners = owners[firsts]
    if rows.doc["lookup"] == "sparse":
        _check_map(rows, known.indices(owners), firsts)
    else:
        known.check_once(f"{rows.module}.entity", owners, firsts)


def _check_direct(rows: SavedComponent, known: EntityTable, owners: EntityArray) -> None:
    """Refuse rows that are not their owners' indices; those without an owner are holes."""
    n = rows.n
    present = np.flatnonzero(owners)
    count = rows.numbers.get("count", len(present))
    if count != len(present):
        rows.refuse(f"{len(present)} rows have owners, not {count}", "entity")
    if n and (not len(present) or int(present[-1]) != n - 1):
        rows.refuse("the last row has no owner", "entity", n - 1)
    misplaced = (known.indices(owners) != np.arange(n)) & (owners != 0)
    rows.refuse_first(misplaced, "entity {entity} has another row", "entity")


def _check_map(rows: SavedComponent, indices: RowArray, firsts: RowArray | None) -> None:
    """Refuse a map that is not that of the owners' first rows, nor as short as can be.

    So no two owners have the same index.
    """
    places = rows.column("_map")
    count = len(indices)
    span = int(indices.max()) + 1 if count else 0
    if len(places) != span:
        rows.refuse(f"{len(places)} cells, the highest owner needs {span}", "_map")
    wanted = np.arange(count) if firsts is None else firsts
    other = places.take(indices) != wanted
    if other.any():
        at = int(other.argmax())
        rows.refuse(f"the row of this index is {wanted[at]}", "_map", int(indices[at]))
    rows.refuse_others(indices, "no row has an owner of this index", "_map")


_FEW: Final = 16
"""Where fewer than one index in 16 is concerned, only these are touched."""


def check_generator(rows: SavedComponent) -> None:
    """Refuse the state of a Mersenne Twister that can be none."""
    words = rows.column("_rng")
    if not len(words):
        return
    last = RNG_WORDS - 1
    if int(words[last]) > last:
        rows.refuse(f"{words[last]} is no position among {last} words", "_rng", last)
    if not words[:last].any():
        rows.refuse("no generator ever gets there", "_rng", 0)


def check_group(members: Sequence[SavedComponent], known: EntityTable, name: str, n: int) -> None:
    """Refuse a group whose rows are not in step, or that lacks an entity with all members; O(n)."""
    first, *other_members = members
    owners: EntityArray = first.column("entity")
    for member in other_members:
        other = member.column("entity")[:n] != owners[:n]
        why = f"not in step with {first.module} in {name}"
        member.refuse_first(other, why, "entity")
    outside: EntityArray = min((m.column("entity")[n:] for m in members), key=len)
    for member in members:
        outside = _among(outside, member.column("entity")[n:], known)
    why = f"has all of {name}, but is not in it"
    first.refuse_first(np.isin(owners, outside[:1]), why, "entity")


def _among(wanted: EntityArray, owners: EntityArray, known: EntityTable) -> EntityArray:
    """Return the wanted entities that are owners; nearly all others are ruled out by index."""
    if not len(wanted):
        return wanted
    if (len(wanted) + len(owners)) * _FEW < len(known):
        return wanted[np.isin(wanted, owners)]
    is_owner = np.zeros(len(known), np.bool_)
    is_owner[known.indices(owners)] = True
    near = wanted[is_owner[known.indices(wanted)]]
    return near[np.isin(near, owners)]


# A file that has passed makes a world that no call can make run astray, compiled kernels included.
# All of it takes time in proportion to the file, links and what is sorted times the logarithm.


def checked_documents(
    file: SnapshotFile, saving: SnapshotFormat, schema: Document | None = None
) -> SnapshotContent:
    """Return what a file says, of which the documents and the tensors' types and shapes are
    checked, but no tensor is touched; O(header).

    `schema`: its own, if that is known already and right.
    """
    if schema is None:
        schema = parsed_json(file.metadata["schema"], "the schema", file.name)
        check_schema(schema, file.name, saving)
        schema = with_settings(schema)
    state = parsed_json(file.metadata["state"], "the state", file.name)
    saved = SnapshotContent(file.name, schema, state, file.arrays)
    check_state(saved, saving)
    check_tensors(saved, saving)
    check_room(saved, saving, file.nbytes)
    return saved


_WAY_OUT: Final = "; verify=False loads it all the same"


def check_content(saved: SnapshotContent, saving: SnapshotFormat) -> None:
    """Refuse what cannot be true of the tensors; the documents are checked already."""
    known = saving.ENTITIES(saved)
    known.check()
    components = {
        name: SavedComponent(saved, name, doc) for name, doc in saved.schema["components"].items()
    }
    for component in components.values():
        if not component.is_chunked:
            if component.has_owners:
                check_owned(component, known)
                check_generator(component)
            for rules in policies_of(component.doc, saving.POLICIES):
                if rules.check is not None:
                    rules.check(component)
        check_field_cells(component, _WAY_OUT)
        for tensor, type_, field in component.columns():
            if type_.base == "object" and tensor in saved.arrays:
                check_lengths(saved, tensor)
            if component.fields[field].get("unique"):
                check_unique(saved, tensor, type_, component.used)
    for name, members in saved.schema["groups"].items():
        group = [components[member] for member in members]
        check_group(group, known, name, saved.state["groups"][name])
    if "archetypes" in saved.state:
        tensor = "archetypes.entity"
        known.check_owners(tensor, living=True, may_be_holes=False)
        known.check_once(tensor, saved.arrays[tensor])
    for name in saved.state.get(ARRAYS, []):
        tensor = ATTRIBUTE + name
        if saved.arrays[tensor].dtype == np.bool_:
            cells = replace(saved, arrays={tensor: saved.arrays[tensor].reshape(-1)})
            check_cells(cells, tensor, CellType("bool", "bool"), None, _WAY_OUT)


def check_field_cells(component: SavedComponent, way_out: str) -> None:
    """Refuse cells of a component's fields that users can have written past the checks, and no
    others; O(bytes). Messages end with `way_out`.
    """
    for tensor, type_, _ in component.columns():
        check_cells(component.saved, tensor, type_, component.used, way_out)
