"""Queries of chunks: the entities that have certain components of the archetypes."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import queries_of

FEATURE = WorldFeature(
    name="chunk_queries",
    applies=lambda project: bool(queries_of(project, chunked=True)),
    order=31,
    attributes=lambda project: tuple(q.name for q in queries_of(project, chunked=True)),
    test_modules=("test_archetypes",),
)
