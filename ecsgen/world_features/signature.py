"""Signatures: the components of an entity as flags (the overview's bit sets, in one number)."""

from ecsgen.model import Project
from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import having_owners

WORD_BITS = 64


def _base(project: Project) -> str:
    fits = len(having_owners(project)) <= WORD_BITS
    return "SignedWorld[Signature]" if fits else "WideSignedWorld[Signature]"


FEATURE = WorldFeature(
    name="signature",
    applies=lambda project: True,
    order=10,
    base=_base,
    exports=lambda project: ("Signature",),
)
