"""Snapshot rules of each policy. Files may have policies that the package lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.handles import MAX_ROWS, NIL, RowArray
from ..managers.policies.ids import EXHAUSTED_GENERATION, ids_of
from .cell_types import CellType, Columns, as_times
from .documents import Document, SnapshotContent
from .field_migration import FieldMigration, Generations, IdRemap, had_ids
from .row_checks import (
    check_cold,
    check_direct_ids,
    check_one_chain,
    check_slots,
    check_tree,
)
from .row_migration import RowPlan, by_rank, chained
from .saved_component import SavedComponent


class NumberRule(NamedTuple):
    """A number of a manager's state, and its bounds: numbers, or the names of others."""

    lowest: int | str
    highest: int | str
    at_first: int = 0
    """The number if there are no rows."""


class MigratedState(NamedTuple):
    """Columns and numbers of a policy for a component's rows in another schema."""

    columns: Columns
    numbers: Mapping[str, int] = {}
    new_ids: IdRemap | None = None
    """New ids by old ones, if ids have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySnapshotRules:
    """Rules of a storage policy for files and their migration."""

    applies: Callable[[Document], bool]
    """Return True if the policy applies to a component of this schema."""
    keys_if_on: Mapping[str, range] = field(default_factory=dict)
    """Keys that documents have only where the policy is on, and what they may say."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Tensors of row numbers, or of what is as small, each with the number that is its length."""
    all_or_no_columns: Mapping[str, str] = field(default_factory=dict)
    """Tensors of any length, by their types, that are there together or not at all."""
    numbers: Mapping[str, NumberRule] = field(default_factory=dict)
    """Beside `n` and `version`, in the order in which they depend on each other."""
    check: Callable[[SavedComponent], None] | None = None
    """Refuses what cannot be true of the tensors."""
    migrate: Callable[[PolicyMigration], MigratedState] | None = None


@dataclass(frozen=True)
class PolicyMigration:
    """A policy of a component of an old schema, and what is to become of it."""

    rules: PolicySnapshotRules
    old: SavedComponent
    doc: Document
    """The component in the new schema."""
    plan: RowPlan
    owners: NDArray[np.uint64]
    """In new rows, in the new handles."""

    @property
    def had(self) -> bool:
        """True if the policy applied before."""
        return not self.old.is_chunked and self.rules.applies(self.old.doc)

    @property
    def stays(self) -> bool:
        """True if all rows of the policy stay as they are."""
        return self.had and self.plan.stays

    def number(self, name: str) -> int:
        """Return one of the policy's numbers as it was."""
        return int(self.old.numbers.get(name, self.rules.numbers[name].at_first))

    def as_before(self) -> MigratedState:
        """Return what the policy had."""
        columns = {name: self.old.column(name) for name in self.rules.columns}
        numbers = {name: self.number(name) for name in self.rules.numbers}
        return MigratedState(columns, numbers)


NextGenerations = Callable[[Generations], tuple[NDArray[np.bool_], Generations]]
"""Returns which generations have a next one, and that one; 0 is followed by the first."""


def following_generations(generations: Generations) -> tuple[NDArray[np.bool_], Generations]:
    """Return the next generations of ids that are counted one by one."""
    return generations != EXHAUSTED_GENERATION, generations + np.uint32(1)


def id_columns(
    it: PolicyMigration, following: NextGenerations = following_generations
) -> MigratedState:
    """Return the columns of ids, their numbers, and what old ids are now if they are others."""
    old, plan = it.old, it.plan
    is_direct = it.doc["lookup"] == "direct"
    if it.had and not old.is_new:
        same = it.as_before()
        if is_direct or plan.stays:
            return same
        return _without_gone(plan, old.n, same, following)
    first = int(following(np.zeros(1, np.uint32))[1][0])
    slots = np.arange(plan.n, dtype=np.uint32) if plan.at is None else plan.at
    generations = np.zeros(plan.n, np.uint32)
    generations[slots] = first
    columns: Columns = {"id_generation": generations}
    numbers = {"peak": plan.n}
    if not is_direct:  # in the order of the rows
        columns |= {"id_slot": slots, "id_row": slots}
        numbers |= {"slots": plan.n, "first_generation": first}
    ids = ids_of(slots, generations)
    # fields may have ids of a new component, of one of that name that the caller took away
    new_ids = None
    if had_ids(old):
        old_generations = old.column("id_generation")
        ids_by_slot = np.zeros(len(old_generations), np.uint64)
        rows = np.arange(old.n) if plan.order is None else plan.order
        ids_by_slot[old.column("id_slot")[rows] if is_direct else rows] = ids
        new_ids = IdRemap(old_generations, ids_by_slot)
    return MigratedState(columns, numbers, new_ids)


def _without_gone(
    plan: RowPlan, old_n: int, before: MigratedState, following: NextGenerations
) -> MigratedState:
    """Return slots of which those of rows that go are free, with the next generation."""
    names = ("id_slot", "id_row", "id_generation")
    slots, rows, generations = (before.columns[name] for name in names)
    used = plan.take(slots[:old_n])
    gone = slots[:old_n][~np.isin(slots[:old_n], used)]
    has_more, more = following(generations[gone])
    fresh = gone[has_more]
    generations = generations.copy()
    generations[fresh] = more[has_more]
    slots = np.concatenate((used, fresh, slots[old_n:]))
    rows = np.full(len(rows), NIL, np.uint32)
    rows[used] = np.arange(plan.n)
    numbers = {**before.numbers, "slots": len(slots)}
    return MigratedState(dict(zip(names, (slots, rows, generations), strict=True)), numbers)


def instance_links(it: PolicyMigration) -> MigratedState:
    """Return the columns of entities' lists."""
    if it.stays:
        return it.as_before()
    rows = np.empty(0, np.intp)
    if it.had:
        rows = by_rank(it.old.column("next"), it.plan)
    columns = chained(it.owners[rows], rows, it.plan.n)
    return MigratedState(dict(zip(("next", "previous"), columns, strict=True)))


def migrate_single_chain(
    it: PolicyMigration, *, key: str, links: tuple[str, str], first: str
) -> MigratedState:
    """Return the columns by age, and which row is the first; new rows are in their order.

    `key` of the schema says how many there may be.
    """
    n, most = it.plan.n, it.doc[key]
    if n > most:
        why = f"{n} rows do not fit a {key} of {most}; '{key}: {n}' keeps all"
        it.old.refuse_rows(f"{why}, or choose in migrate=")
    if it.stays:
        return it.as_before()
    rows = by_rank(it.old.column(links[0]), it.plan) if it.had else np.arange(n)
    columns = chained(np.zeros(n, np.uint64), rows, n)
    oldest = int(rows[0]) if n else NIL
    return MigratedState(dict(zip(links, columns, strict=True)), {first: oldest})


def migrate_hierarchy_links(it: PolicyMigration) -> MigratedState:
    """Return the columns of a hierarchy; a row that loses its parent is a root."""
    if it.stays:
        return it.as_before()
    old, plan = it.old, it.plan
    n = plan.n
    parents = np.full(n, NIL, np.uint32)
    rows = np.empty(0, np.intp)
    if it.had:
        parents = plan.where(plan.take(old.column("parent")))
        rows = by_rank(old.column("next_sibling"), plan)
        rows = rows[parents[rows] != NIL]
    nexts, previous = chained(parents[rows].astype(np.intp), rows, n)
    first = np.full(n, NIL, np.uint32)
    heads = rows[nexts[previous[rows]] == NIL]
    first[parents[heads]] = heads
    columns = parents, first, nexts, previous
    return MigratedState(dict(zip(it.rules.columns, columns, strict=True)))


def active_rows(it: PolicyMigration) -> MigratedState:
    """Return how many rows are active, which are in front, if rows are active or not."""
    active = it.number("n_active")
    if not it.had:
        active = it.plan.n if it.doc["partition"] == "active" else 0
    elif it.plan.order is not None:
        active = int(np.count_nonzero(it.plan.order < active))
    return MigratedState({}, {"n_active": active})


def repeated_value(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Return the first row that repeats a value, and the row that had it; O(n log n).

    Text is bytes in rows, shape (n, size); NaN equals nothing.
    """
    if cells.ndim > 1:
        cells = np.ascontiguousarray(cells).view(f"S{cells.shape[1]}")[:, 0]
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(repeats) == 0:
        return None
    first_repeat = repeats[np.argmin(order[repeats + 1])]
    return int(order[first_repeat + 1]), int(order[first_repeat])


def check_unique(
    saved: SnapshotContent, tensor: str, type_: CellType, used: RowArray | None
) -> None:
    """Refuse values that are there twice, NaN and NaT aside; O(n log n)."""
    array = as_times(saved.arrays[tensor], type_)
    rows = np.arange(len(array)) if used is None else used
    repeated = repeated_value(array[rows])
    if repeated is not None:
        row = int(rows[repeated[0]])
        saved.refuse("another row has this value, which is unique", tensor, row)


def evolve_unique(field: FieldMigration, columns: Columns) -> None:
    """Refuse two rows with the same value, unless all have those of before."""
    if field.had("unique") and field.is_untouched:
        return
    plan = field.plan
    cells = as_times(columns[f"{field.module}.{field.name}"], field.type)
    if plan.at is not None:
        cells = cells[plan.at]
    repeated = repeated_value(cells)
    if repeated is not None:
        row, earlier = map(plan.old_row, repeated)
        value = _shown(cells[repeated[0]], field.type.text)
        why = f"{value} is the value of row {earlier} too, and {field.name} is unique"
        why += "; make them different in migrate="
        field.old.refuse(why, field.former or field.name, row)


def _shown(cell: Any, type_: str) -> str:
    if isinstance(cell, np.ndarray):
        stored = cell.tobytes().rstrip(b"\0")
        return repr(stored.decode() if type_.startswith("str") else stored)
    return repr(cell) if cell.dtype.kind in "mM" else repr(cell.item())


INSTANCES: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["instances"] == "many"),
    columns={"next": "n", "previous": "n"},
    migrate=instance_links,  # owners' lists are checked with their owners
)
SLOT_IDS: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["ids"]) and c["lookup"] != "direct",
    columns={"id_slot": "slots", "id_row": "peak", "id_generation": "peak"},
    numbers={
        "peak": NumberRule("n", MAX_ROWS),
        "slots": NumberRule("n", "peak"),
        "first_generation": NumberRule(1, EXHAUSTED_GENERATION, 1),
    },
    check=check_slots,
    migrate=id_columns,
)
DIRECT_IDS: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["ids"]) and c["lookup"] == "direct",
    columns={"id_generation": "peak"},
    numbers={"peak": NumberRule("n", MAX_ROWS)},
    check=check_direct_ids,
    migrate=id_columns,
)
PARTITION: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["partition"]),
    numbers={"n_active": NumberRule(0, "n")},
    migrate=active_rows,
)
HIERARCHY: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["hierarchy"]),
    columns={"parent": "n", "first_child": "n", "next_sibling": "n", "previous_sibling": "n"},
    check=check_tree,
    migrate=migrate_hierarchy_links,
)
INDIRECT: Final = PolicySnapshotRules(
    applies=lambda c: bool(c["cold"] == "indirect"),
    columns={"cold_row": "n", "cold.row": "n_cold"},
    numbers={"n_cold": NumberRule(0, "n")},
    check=check_cold,  # cold rows are made with the fields that need them
)
RING: Final = PolicySnapshotRules(
    applies=lambda c: "ring" in c,
    keys_if_on={"ring": range(1, MAX_ROWS + 1)},
    columns={"newer": "n", "older": "n"},
    numbers={"oldest": NumberRule(0, NIL, NIL)},
    check=partial(check_one_chain, links=("newer", "older"), first="oldest"),
    migrate=partial(migrate_single_chain, key="ring", links=("newer", "older"), first="oldest"),
)


def _new_cells(migration: PolicyMigration) -> MigratedState:
    """Ids of cells that the caller took away lead nowhere."""
    nothing = IdRemap(np.empty(0, np.uint32), np.empty(0, np.uint64))
    return MigratedState({}, new_ids=nothing if migration.old.is_new else None)


GRID: Final = PolicySnapshotRules(
    applies=lambda c: "grid" in c, keys_if_on={"grid": range(1, 4)}, migrate=_new_cells
)
OCCUPANTS: Final = PolicySnapshotRules(
    applies=lambda c: "on" in c, keys_if_on={"on": range(MAX_ROWS + 1)}
)

POLICIES: Final = (
    *(INSTANCES, SLOT_IDS, DIRECT_IDS, PARTITION, RING, HIERARCHY, INDIRECT),
    *(GRID, OCCUPANTS),
)


def policies_of(
    component: Document, policies: Sequence[PolicySnapshotRules] = POLICIES
) -> Iterator[PolicySnapshotRules]:
    """Yield those of a component."""
    return (rules for rules in policies if rules.applies(component))


def max_rows(component: Document) -> int:
    """Return the maximum number of rows of a component."""
    return int(component.get("ring", MAX_ROWS))
