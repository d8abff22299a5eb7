"""Provenance of a world: its package, versions, and the state that it is in."""

from __future__ import annotations

import sys
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from ..base.provenance import Provenance, WorldState, package_provenance
from .documents import OTHERS
from .saving import plan_of

if TYPE_CHECKING:
    from .saved_world import SavedWorld


def provenance_of_world(world: SavedWorld, package: str) -> Provenance:
    """Return what a world of a package came from; O(bytes of the world and of its package)."""
    digest = sha256()
    plan_of(world, {OTHERS: None}, verify=False).write_to(digest.update)
    state: WorldState = {
        "fingerprint": world.FINGERPRINT,
        "seed": _number(world, "seed"),
        "tick": _number(world, "tick"),
        "digest": digest.hexdigest(),
    }
    return {**package_provenance(resources.files(sys.modules[package]), package), "world": state}


def _number(world: SavedWorld, name: str) -> int | None:
    """Return the world's seed or tick; None without one, where a user may have set anything."""
    value = getattr(world, name, None)
    return value if type(value) is int else None
