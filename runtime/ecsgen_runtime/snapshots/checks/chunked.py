"""Components in chunks, in a snapshot: each owner lives, and has one row in all tables."""

from __future__ import annotations

from ...entities.arrays import all_different, first_repeat
from ..saved import Saved
from .entities import KnownEntities


def check_chunked(saved: Saved, known: KnownEntities) -> None:
    """Refuse owners that are dead, or there twice; O(n)."""
    tensor = "archetypes.entity"
    owners = saved.arrays[tensor]
    known.check_owners(tensor, owners, living=True)
    if not all_different(known.indices(owners), len(known)):
        row = first_repeat(owners)
        saved.refuse(f"entity {int(owners[row]):#x} is there twice", tensor, row)
