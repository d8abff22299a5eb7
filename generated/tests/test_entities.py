"""Entities: a state machine against a naive model, and direct cases."""

from __future__ import annotations

from typing import ClassVar

from .. import EntityManager, entities
from .._runtime.testing.entities import SETTINGS, Cases, Rules


class TestEntities(Cases):
    manager = EntityManager
    numbers: ClassVar = entities


class _Machine(Rules):
    manager = EntityManager
    numbers: ClassVar = entities


TestMachine = _Machine.TestCase
TestMachine.settings = SETTINGS
