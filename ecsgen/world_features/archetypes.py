"""Archetypes: components that live in chunks of one signature instead of managers."""

from ecsgen.model import Project
from ecsgen.render.archetypes import ArchetypeMember, chunked_components
from ecsgen.world_features._base import WorldFeature


def _members(project: Project) -> tuple[ArchetypeMember, ...]:
    return tuple(ArchetypeMember(c.name, c.module) for c in chunked_components(project))


FEATURE = WorldFeature(
    name="archetypes",
    applies=lambda project: bool(project.world.archetypes),
    order=20,
    subject=_members,
)
