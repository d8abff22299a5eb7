"""What files know of each policy. They may have policies that the package lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import MAX_ROWS, NIL
from ..managers.policies.ids import EXHAUSTED_GENERATION
from .documents import Document, SnapshotContent
from .field_migration import IdRemap, id_columns
from .row_checks import check_cold, check_direct_ids, check_one_chain, check_slots, check_tree
from .row_migration import (
    active_rows,
    instance_links,
    migrate_hierarchy_links,
    migrate_single_chain,
)
from .rule_types import MigratedState, NumberRule, PolicySnapshotRules

if TYPE_CHECKING:
    from .field_migration import FieldMigration
    from .migration import PolicyMigration
    from .rule_types import Columns


# --- Fields that are unique: no value may be there twice ------------------------------


def repeated_value(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Return the first row whose value an earlier one has, and that; O(n log n).

    Text is bytes in rows, shape (n, size); NaN equals nothing.
    """
    if cells.ndim > 1:
        cells = np.ascontiguousarray(cells).view(f"S{cells.shape[1]}")[:, 0]
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(again) == 0:
        return None
    place = again[np.argmin(order[again + 1])]
    return int(order[place + 1]), int(order[place])


def check_unique(saved: SnapshotContent, tensor: str, present: NDArray[np.bool_] | None) -> None:
    """Refuse values that are there twice, NaN aside; O(n log n)."""
    array = saved.arrays[tensor]
    rows = np.arange(len(array)) if present is None else np.flatnonzero(present)
    repeated = repeated_value(array[rows])
    if repeated is not None:
        row = int(rows[repeated[0]])
        saved.refuse("another row has this value, which is unique", tensor, row)


def evolve_unique(field: FieldMigration, columns: Columns) -> None:
    """Refuse two rows with the same value, unless all have those of before."""
    if field.had("unique") and field.is_untouched:
        return
    plan = field.plan
    cells = columns[f"{field.module}.{field.name}"]
    if plan.at is not None:
        cells = cells[plan.at]
    repeated = repeated_value(cells)
    if repeated is not None:
        row, earlier = map(plan.old_row, repeated)
        value = _shown(cells[repeated[0]], field.type.text)
        why = f"{value} is the value of row {earlier} too, and {field.name} is unique"
        field.refuse(f"{why}; make them different in migrate=", row)


def _shown(cell: Any, type_: str) -> str:
    if isinstance(cell, np.ndarray):
        stored = cell.tobytes().rstrip(b"\0")
        return repr(stored.decode() if type_.startswith("str") else stored)
    return repr(cell.item())


# --- What files know of each policy. They may have policies that the package lacks ----

MANY: Final = PolicySnapshotRules(
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
    rare={"ring": range(1, MAX_ROWS + 1)},
    columns={"newer": "n", "older": "n"},
    numbers={"oldest": NumberRule(0, NIL, NIL)},
    check=partial(check_one_chain, links=("newer", "older"), first="oldest"),
    migrate=partial(migrate_single_chain, key="ring", links=("newer", "older"), first="oldest"),
)


def _new_cells(it: PolicyMigration) -> MigratedState:
    """Ids of cells that the caller took away lead nowhere."""
    nothing = IdRemap(np.empty(0, np.uint32), np.empty(0, np.uint64))
    return MigratedState({}, new_ids=nothing if it.old.is_new else None)


GRID: Final = PolicySnapshotRules(
    applies=lambda c: "grid" in c, rare={"grid": range(1, 4)}, migrate=_new_cells
)
ON: Final = PolicySnapshotRules(applies=lambda c: "on" in c, rare={"on": range(MAX_ROWS + 1)})

POLICIES: Final = (*(MANY, SLOT_IDS, DIRECT_IDS, PARTITION, RING, HIERARCHY, INDIRECT), *(GRID, ON))


def policies_of(
    component: Document, policies: Sequence[PolicySnapshotRules] = POLICIES
) -> Iterator[PolicySnapshotRules]:
    """Yield those of a component."""
    return (facts for facts in policies if facts.applies(component))


def max_rows(component: Document) -> int:
    """Return how many rows a component may have."""
    return int(component.get("ring", MAX_ROWS))
