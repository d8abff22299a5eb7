"""Entities: a state machine against a naive model, and direct cases."""

from ecsgen_runtime.testing.entities import SETTINGS, EntityCases, EntityRules

from .. import EntityManager


class TestEntities(EntityCases):
    manager = EntityManager


class _Machine(EntityRules):
    manager = EntityManager


TestMachine = _Machine.TestCase
TestMachine.settings = SETTINGS
