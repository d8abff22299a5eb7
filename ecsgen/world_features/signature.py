"""Signatures: the components of an entity as flags (the overview's bit sets, in one number)."""

from ecsgen.model import Project
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._members import bundle_members, having_owners


def _subject(project: Project) -> object:
    """Return the names of the flags, and what each bundle's flag is put together from."""
    flags = tuple(component.module.upper() for component in having_owners(project))
    bundles = tuple(
        (name.upper(), tuple(component.module.upper() for component in members))
        for name, members in bundle_members(project).items()
    )
    return flags, bundles


FEATURE = WorldFeature(
    name="signature",
    applies=lambda project: True,
    order=10,
    subject=_subject,
    exports=lambda project: ("Signature",),
)
