"""Entities: a state machine against a naive model, and direct cases."""

from ecsgen_runtime.testing.entities import SETTINGS, Cases, Rules

from .. import EntityManager


class TestEntities(Cases):
    manager = EntityManager


class _Machine(Rules):
    manager = EntityManager


TestMachine = _Machine.TestCase
TestMachine.settings = SETTINGS
