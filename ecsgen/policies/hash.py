"""lookup: hash: a dict from whole handle to row, for rare components (Bitsquid's choice)."""

from ecsgen.policies.policy import Policy, for_one

POLICY = Policy(
    name="hash",
    role="map",
    applies=lambda c: c.owner == "entity" and c.lookup == "hash",
    order=10,
    base="Hash",
    sharded_base="ShardedHash",
    state=("_rows",),
    calls={
        "admit_one": for_one("_found = self._rows.get(entity, NIL)"),
        "appended_one": for_one("self._rows[entity] = row"),
        "appended_many": for_one("remember(self._rows, entities, rows)"),
        "removing_one": for_one("del self._rows[data._entity_cells[row]]"),
        "moved_one": for_one("self._rows[data._entity_cells[dst]] = dst"),
    },
)
