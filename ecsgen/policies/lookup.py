"""Maps from entities to rows."""

from ecsgen.policies.policy import A_DEAD_ENTITY, Policy, eviction, for_one

SPARSE = Policy(
    name="sparse",
    applies=lambda c: c.owner == "entity" and c.lookup == "sparse",
    order=10,
    manager_base="Sparse",
    sharded_overrides={"manager_base": "ShardedSparse"},
    manager_slots=("_sparse", "_sparse_cells"),
    step_code={
        "admit_one": """
            _map = None
            try:
                _found = self._sparse_cells[_slot]
            except IndexError:
                _found, _map = NIL, grow_map(self._sparse, _slot)
        """,
        "reserve_one": """
            if _map is not None:
                self._set_map(_map)
        """,
        "evict_one": eviction(
            "_found != NIL and data._entity_cells[_found] != entity",
            "self._evict_stale, _found",
            A_DEAD_ENTITY,
        ),
        "plan_append": for_one("slots = self._entities.slots(entities)"),
        "append_one": for_one("self._sparse_cells[_slot] = row"),
        "append_many": for_one("self._sparse[slots] = rows.astype(np.uint32)"),
        "unlink_one": for_one("self._sparse_cells[{slot_of_row}] = NIL"),
        "update_moved_one": for_one("self._sparse_cells[{slot_of_dst}] = dst"),
    },
)
"""lookup: sparse: an array from entity index to row."""


HASH = Policy(
    name="hash",
    applies=lambda c: c.owner == "entity" and c.lookup == "hash",
    order=10,
    manager_base="Hash",
    sharded_overrides={"manager_base": "ShardedHash"},
    manager_slots=("_rows",),
    step_code={
        "admit_one": for_one("_found = self._rows.get(entity, NIL)"),
        "append_one": for_one("self._rows[entity] = row"),
        "append_many": for_one("remember(self._rows, entities, rows)"),
        "unlink_one": for_one("del self._rows[data._entity_cells[row]]"),
        "update_moved_one": for_one("self._rows[data._entity_cells[dst]] = dst"),
    },
)
"""lookup: hash: a dict from whole handle to row, for rare components (Bitsquid's choice)."""

POLICIES = (SPARSE, HASH)
