"""Formats: how a kind of world is saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .entity_table import EntityTable, HandleRewriter
from .policy_rules import POLICIES, PolicySnapshotRules


class SnapshotFormat:
    """The classes and names by which a kind of world is saved and loaded."""

    ENTITIES: ClassVar[type[EntityTable]] = EntityTable
    """Class of the entities of a snapshot."""
    HANDLES: ClassVar[type[HandleRewriter]] = HandleRewriter
    """Class that rewrites handles for other schemas."""
    LOADING: ClassVar[type[Any] | None] = None
    """The class that makes a world of a snapshot, if that is no `WorldLoader`."""
    POLICIES: ClassVar[tuple[PolicySnapshotRules, ...]] = POLICIES
    """Checks and migration of each policy."""
    ENTITY_BITS: ClassVar[Sequence[str]] = ("index_bits", "generation_bits")
    """Keys of the schema about handles."""
    ENTITY_NUMBERS: ClassVar[Sequence[str]] = ("n_retired",)
    """Keys of `state` about entities."""
    ENTITY_TENSORS: ClassVar[Mapping[str, str]] = {"handles": "u8", "free": "u4"}
    """Tensors about entities, with their types."""
