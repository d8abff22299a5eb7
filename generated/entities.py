"""Entities: handles of an index and a generation, and the manager that gives them out."""

from __future__ import annotations

from ecsgen_runtime.entities.layout import (
    GENERATION_BITS,
    INDEX_BITS,
    INDEX_COUNT,
    INDEX_MASK,
    LAST_GENERATION,
    MIN_FREE,
    ONE_GENERATION,
)
from ecsgen_runtime.entities.manager import EntityManager

__all__ = [
    "GENERATION_BITS",
    "INDEX_BITS",
    "INDEX_COUNT",
    "INDEX_MASK",
    "LAST_GENERATION",
    "MIN_FREE",
    "ONE_GENERATION",
    "EntityManager",
]
