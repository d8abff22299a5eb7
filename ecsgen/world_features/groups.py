"""Groups: the rows of entities that have all of several components, aligned at the front."""

from ecsgen.schema.names import group_class
from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="groups",
    applies=lambda project: bool(project.world.groups),
    attributes=lambda project: tuple(name for name, _ in project.world.groups),
    exports=lambda project: tuple(group_class(name) for name, _ in project.world.groups),
)
