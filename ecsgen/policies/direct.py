"""lookup: direct: the entity's index is the row. Nothing ever moves; the buffer may have holes."""

from ecsgen.policies.policy import A_DEAD_ENTITY, Policy, eviction

POLICY = Policy(
    name="direct",
    role="placement",
    applies=lambda c: c.lookup == "direct",
    order=0,
    base="Direct",
    sharded_base="ShardedDirect",
    rows="DirectRows",
    row_state=("_count",),
    raises=("DuplicateInstanceError: the entity has an instance already.",),
    calls={
        "check_row": """
            if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
                row = self._row(row)
        """,
        "admit_one": """
            row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
            _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
            if _owner == entity:
                raise self._duplicate(entity)
        """,
        "reserve_one": """
            if row >= data._allocated:
                data._grow(row + 1{views})
        """,
        "evict_one": eviction("_owner != NULL_ENTITY", "self._destroy_row, row", A_DEAD_ENTITY),
        "appended_one": """
            if row >= data._n:
                data._n = row + 1
            data._count += 1
        """,
        "plan_append": """
            rows = span = {slots_of_entities}
            end = {span_of_entities}
        """,
        "appended_many": """
            data._n = max(data._n, end)
            data._count += count
        """,
        "plan_removal_one": """
            end = data._n
            if row == end - 1:
                end = self._end_below(row)
        """,
        "close_one": """
            data._entity_cells[row] = NULL_ENTITY
            <vacated_one>
            data._n = end
            data._count -= 1
        """,
    },
)
