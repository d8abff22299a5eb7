"""lookup: sparse: an array from entity index to row."""

from ecsgen.policies.policy import A_DEAD_ENTITY, Policy, eviction, for_one

POLICY = Policy(
    name="sparse",
    role="map",
    applies=lambda c: c.owner == "entity" and c.lookup == "sparse",
    order=10,
    base="Sparse",
    sharded_base="ShardedSparse",
    state=("_sparse", "_sparse_cells"),
    calls={
        "admit_one": """
            _map = None
            try:
                _found = self._sparse_cells[_slot]
            except IndexError:
                _found, _map = NIL, grown_map(self._sparse, _slot)
        """,
        "reserve_one": """
            if _map is not None:
                self._set_map(_map)
        """,
        "evict_one": eviction(
            "_found != NIL and data._entity_cells[_found] != entity",
            "self._evict, _found",
            A_DEAD_ENTITY,
        ),
        "plan_append": for_one("slots = {slots_of_entities}"),
        "appended_one": for_one("self._sparse_cells[_slot] = row"),
        "appended_many": for_one("self._sparse[slots] = rows.astype(np.uint32)"),
        "removing_one": for_one("self._sparse_cells[{slot_of_row}] = NIL"),
        "moved_one": for_one("self._sparse_cells[{slot_of_dst}] = dst"),
    },
)
