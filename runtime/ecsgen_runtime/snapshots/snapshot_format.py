"""Formats: how a kind of world is saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .entity_table import EntityTable, HandleRewriter
from .policy_rules import POLICIES, PolicySnapshotRules


class SnapshotFormat:
    """How a world is saved and loaded; `SnapshotWorld._snapshot_format` gives that of a class of
    worlds."""

    ENTITIES: ClassVar[type[EntityTable]] = EntityTable
    """Who lives by what a snapshot says."""
    HANDLES: ClassVar[type[HandleRewriter]] = HandleRewriter
    """What handles become in other schemas."""
    LOADING: ClassVar[type[Any] | None] = None
    """The class that makes a world of a snapshot, if that is no `WorldLoader`."""
    POLICIES: ClassVar[tuple[PolicySnapshotRules, ...]] = POLICIES
    """What is checked of each policy, and what becomes of it."""
    ENTITY_BITS: ClassVar[Sequence[str]] = ("index_bits", "generation_bits")
    """What the schema says of handles."""
    ENTITY_NUMBERS: ClassVar[Sequence[str]] = ("n_retired",)
    """What `state` says of entities."""
    ENTITY_TENSORS: ClassVar[Mapping[str, str]] = {"handles": "u8", "free": "u4"}
    """What is said of many of them, with its types."""
