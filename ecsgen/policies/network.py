"""network: rows are links between entities, found by entity."""

from dataclasses import replace

from ecsgen.model import Component
from ecsgen.policies.policy import Policy


def _settings(component: Component) -> str:
    network = component.network
    assert network is not None
    first, second = network.ends
    return f'ENDS: ClassVar = ("{first}", "{second}")'


DIRECTED = Policy(
    name="directed",
    applies=lambda c: c.network is not None and not c.network.is_mutual,
    order=-12,  # before other guards of fields, which know their own fields alone
    manager_base="DirectedNetwork",
    rows_base="LinkRows",
    rows_slots=("link_index",),
    step_code={"data_settings": _settings},
)
MUTUAL = replace(
    DIRECTED,
    name="mutual",
    applies=lambda c: c.network is not None and c.network.is_mutual,
    manager_base="MutualNetwork",
)
KNOWS_ENTITIES = Policy(
    name="knows_entities",
    applies=lambda c: c.knows_entities and c.on is None,
    order=4,  # before what says that rows have no owners
    manager_base="KnowsEntities",
    manager_slots=("_known_entities",),
)
"""Rows without owners that refer to entities, whose manager knows who is alive."""

POLICIES = (DIRECTED, MUTUAL, KNOWS_ENTITIES)
