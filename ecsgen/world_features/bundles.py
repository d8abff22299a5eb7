"""Bundles: sets of components to spawn from, which may build on each other."""

from ecsgen.model import Project
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._members import bundle_members


def _subject(project: Project) -> object:
    """Return each bundle's name and its components' names and modules."""
    return tuple(
        (name, tuple((component.name, component.module) for component in members))
        for name, members in bundle_members(project).items()
    )


FEATURE = WorldFeature(
    name="bundles",
    applies=lambda project: bool(project.world.bundles),
    order=20,
    subject=_subject,
)
