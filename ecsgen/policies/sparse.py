"""lookup: sparse: an array from entity index to row."""

from ecsgen.policies.policy import A_DEAD_ENTITY, Policy, eviction, for_one

POLICY = Policy(
    name="sparse",
    role="map",
    applies=lambda c: c.owner == "entity" and c.lookup == "sparse",
    order=10,
    base="Sparse",
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
        "plan_append": for_one("slots = indices(entities, INDEX_MASK)"),
        "appended_one": for_one("self._sparse_cells[_slot] = row"),
        "appended_many": for_one("self._sparse[slots] = rows.astype(np.uint32)"),
        "removing_one": for_one("self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL"),
        "removing_many": for_one(
            "self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL"
        ),
        "moved_one": for_one("self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst"),
        "moved_many": for_one("self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst"),
    },
)
