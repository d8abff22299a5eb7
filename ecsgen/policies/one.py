"""instances: one: the map holds the entity's only row."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="one",
    role="instances",
    is_default=True,
    applies=lambda c: c.owner == "entity" and c.lookup != "direct",
    order=20,
    base="MappedOne",
    raises=("DuplicateInstanceError: the entity has an instance already.",),
    calls={
        "admit_one": """
            if _found != NIL and data._entity_cells[_found] == entity:
                raise self._duplicate(entity)
        """,
    },
)
