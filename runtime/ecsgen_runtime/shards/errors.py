"""What goes wrong between worlds."""

from __future__ import annotations

from ..errors import EcsError


class ParcelError(EcsError, ValueError):
    """A parcel is damaged, of other schemas, or has what is here already."""


class ShardError(EcsError, RuntimeError):
    """Something went wrong on another rank, or on all of them."""
