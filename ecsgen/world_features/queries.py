"""Queries: the entities that have certain components, joined when they are asked for."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import queries_of

FEATURE = WorldFeature(
    name="queries",
    applies=lambda project: bool(queries_of(project, chunked=False)),
    order=30,
    attributes=lambda project: tuple(q.name for q in queries_of(project, chunked=False)),
)
