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
    base="Ids",
    rows="IdRows",
    row_state=_SLOTS,
    sharded={"base": "ShardedIds", "rows": "ShardedIdRows", "row_state": (*_SLOTS, "_aliases")},
    columns=(
        Column("id_slot", "u32", doc="The slot of each row; behind the rows, the free slots."),
        Column("id_row", "u32", doc="The row of each slot, or NIL.", by_row=False),
        Column("id_generation", "u32", doc="The generation of each slot.", by_row=False),
    ),
    calls={
        "reserve_one": """
            if data._n == data._slots and data._peak == data._allocated:
                data._grow(data._peak + 1{views})
        """,
        "taken_one": "_taken = data._take_slot()",
        "plan_append": _next_slots,
        "taken_many": "data._take_slots(count)",
        "appended_one": """
            data._id_slot_cells[row] = _taken
            data._id_row_cells[_taken] = row
        """,
        "appended_many": """
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
        """,
        "removing_one": """
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
        """,
        "moved_one": "data._id_row_cells[data._id_slot_cells[dst]] = dst",
        "vacated_one": "data._give_slot(slot)",
        "swapping": "free = data._id_slot_cells[spare]",
        "swapped": "data._id_slot_cells[spare] = free",
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
    base="DirectIds",
    rows="DirectIdRows",
    row_state=("_peak",),
    sharded={
        "base": "ShardedDirectIds",
        "rows": "ShardedDirectIdRows",
        "row_state": ("_peak", "_aliases", "_shard"),
    },
    columns=(Column("id_generation", "u32", doc="The generation of each row.", by_row=False),),
    calls={
        "admit_one": """
            if row < data._allocated and {is_worn_out}:
                raise worn_out(data.MANAGER, row)
        """,
        "appended_one": """
            {next_generation}
            if row >= data._peak:
                data._peak = row + 1
        """,
        "appended_many": """
            {next_generations}
            data._peak = max(data._peak, end)
        """,
    },
)
"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

POLICIES = (IDS, DIRECT_IDS)
