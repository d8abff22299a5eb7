"""Slots that are found once and known to all managers: to find them takes a third of a move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..handles import EntityArray, RowArray
from .entities import EntityManager


@contextmanager
def knowing(
    entities: EntityManager, es: EntityArray, slots: RowArray
) -> Iterator[None]:
    """Meanwhile, let the slots of this very array be known: managers ask for them one by one.

    Nobody else may write to either.
    """
    entities._known = es, slots
    try:
        yield
    finally:
        entities._known = None


@contextmanager
def going(entities: EntityManager) -> Iterator[None]:
    """Meanwhile, a manager loses one row of each of them, and no other."""
    entities._are_going = True
    try:
        yield
    finally:
        entities._are_going = False
