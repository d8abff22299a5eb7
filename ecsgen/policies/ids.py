"""ids: every instance has a stable id (Molecule's references)."""

from typing import Final

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Document, Loss, Methods, Policy, is_off


def _next_slots(component: Component) -> str:
    slots = "taken = data._next_slots(count)"
    if component.owner == "entity":
        return slots
    return f"{slots}\nids = ids_of(taken, data._id_generation_column)"


def _gives_new_ids(old: Document, new: Document) -> bool:
    is_changed = (old["lookup"] == "direct") != (new["lookup"] == "direct")
    return bool(old["ids"] and new["ids"] and is_changed)


_SLOTS: Final = ("_first_generation", "_peak", "_slots")

IDS = Policy(
    name="ids",
    applies=lambda c: c.ids and c.lookup != "direct",
    order=30,
    manager_base="Ids",
    rows_base="IdRows",
    rows_slots=_SLOTS,
    sharded_overrides={
        "manager_base": "ShardedIds",
        "rows_base": "ShardedIdRows",
        "rows_slots": (*_SLOTS, "_foreign_ids"),
    },
    columns=(
        Column("id_slot", "u32", doc="The slot of each row; behind the rows, the free slots."),
        Column("id_row", "u32", doc="The row of each slot, or NIL.", by_row=False),
        Column("id_generation", "u32", doc="The generation of each slot.", by_row=False),
    ),
    step_code={
        "reserve_one": """
            if data._n == data._slots and data._peak == data._allocated:
                data._grow(data._peak + 1{views})
        """,
        "acquire_one": "_new_slot = data._take_slot()",
        "plan_append": _next_slots,
        "acquire_many": "data._take_slots(count)",
        "append_one": """
            data._id_slot_cells[row] = _new_slot
            data._id_row_cells[_new_slot] = row
        """,
        "append_many": """
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
        """,
        "unlink_one": """
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
        """,
        "update_moved_one": "data._id_row_cells[data._id_slot_cells[dst]] = dst",
        "clear_vacated_one": "data._free_slot(slot)",
        "save_spare_row": "free = data._id_slot_cells[spare]",
        "restore_spare_row": "data._id_slot_cells[spare] = free",
    },
    losses=(
        Loss("ids", "E904", "saved ids are forgotten", is_off("ids")),
        Loss("lookup", "E904", "saved rows get new ids, and stale ones become 0", _gives_new_ids),
    ),
    methods=(
        Methods(
            "ids", lambda c: bool(c["ids"]) or "grid" in c, "id_of id_of_many resolve resolve_many"
        ),
        Methods("ids", lambda c: bool(c["ids"]), "destroy_id destroy_id_many"),
    ),
)
"""ids: every instance has a stable id, a slot and its generation (Molecule's references)."""


DIRECT_IDS = Policy(
    name="direct_ids",
    applies=lambda c: c.ids and c.lookup == "direct",
    order=0,
    manager_base="DirectIds",
    rows_base="DirectIdRows",
    rows_slots=("_peak",),
    sharded_overrides={
        "manager_base": "ShardedDirectIds",
        "rows_base": "ShardedDirectIdRows",
        "rows_slots": ("_peak", "_foreign_ids", "_shard"),
    },
    columns=(Column("id_generation", "u32", doc="The generation of each row.", by_row=False),),
    step_code={
        "admit_one": """
            _has_cell = row < data._allocated
            if _has_cell and {is_worn_out}:
                raise slot_exhausted_error(data.MANAGER, row)
        """,
        "append_one": """
            {next_generation}
            if row >= data._peak:
                data._peak = row + 1
        """,
        "append_many": """
            {next_generations}
            data._peak = max(data._peak, end)
        """,
    },
)
"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

POLICIES = (IDS, DIRECT_IDS)
