"""Entities one at a time: `world[entity]`, with its components as attributes."""

from ecsgen.model import Project
from ecsgen.world_features.feature import WorldFeature


def _base(project: Project) -> str:
    return "" if project.world.archetypes else "EntityWorld"  # whose world is one


FEATURE = WorldFeature(
    name="entity_view",
    applies=lambda project: True,
    order=15,
    base=_base,
    exports=lambda project: ("EntityView",),
)
