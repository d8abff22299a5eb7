"""Entities: a state machine against a naive model."""

from ecsgen_testing.entities import SETTINGS, EntityRules

from .. import EntityManager


class _Machine(EntityRules):
    manager = EntityManager


TestMachine = _Machine.TestCase
TestMachine.settings = SETTINGS
