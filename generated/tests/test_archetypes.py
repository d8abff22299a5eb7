"""Archetypes: the components whose rows live in chunks."""

from __future__ import annotations

from typing import ClassVar

from ecsgen_runtime.testing import fields, machine, subject
from ecsgen_runtime.testing.chunks import cases, rules, structure

from .. import Armor, Burning, EntityManager, Game, Health, Weapon, archetypes, enums

_armor = subject.Subject(
    world=Game,
    entities=EntityManager,
    manager=None,
    row=Armor,
    fields=(
        fields.Int("points", 10, "u16"),
        fields.Enum("element", enums.Element(0), enums.Element, "u8"),
    ),
    columns=(),
    tagged={"hot": ("points", "element")},
)
_burning = subject.Subject(
    world=Game,
    entities=EntityManager,
    manager=None,
    row=Burning,
    fields=(),
    columns=(),
    tagged={"hot": ()},
)
_health = subject.Subject(
    world=Game,
    entities=EntityManager,
    manager=None,
    row=Health,
    fields=(
        fields.Float("points", 100.0, "f32"),
        fields.Float("limit", 100.0, "f32"),
        fields.Float("recovery", 0.0, "f32"),
    ),
    columns=(),
    tagged={"hot": ("points", "limit", "recovery")},
)
_weapon = subject.Subject(
    world=Game,
    entities=EntityManager,
    manager=None,
    row=Weapon,
    fields=(
        fields.Float("damage", 1.0, "f32"),
        fields.Float("reach", (0.0, 1.5), "f32", (2,)),
        fields.Float("direction", (0.0, 0.0, 0.0), "f32", (3,)),
        fields.Float(
            "grip", ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "f32", (3, 3)
        ),
        fields.Enum(
            "elements", (enums.Element(0), enums.Element(0)), enums.Element, "u8", (2,)
        ),
        fields.Bool("sharp", False),
        fields.Handle("wielder", 0),
        fields.Text("name", "fist", 16),
        fields.Bytes("code", b"", 4),
        fields.Object("model", None),
    ),
    columns=(),
    tagged={
        "hot": (
            "damage",
            "reach",
            "direction_x",
            "direction_y",
            "direction_z",
            "elements",
            "sharp",
            "wielder",
        ),
        "cold": ("grip", "name", "code", "model"),
    },
    split={"direction": ("direction_x", "direction_y", "direction_z")},
)

MEMBERS = {
    "armor": _armor,
    "burning": _burning,
    "health": _health,
    "weapon": _weapon,
}


class TestArchetypes(cases.Cases, structure.Cases):
    world = Game
    module: ClassVar = archetypes
    members: ClassVar = MEMBERS


class _Machine(rules.Rules):
    world = Game
    module: ClassVar = archetypes
    members: ClassVar = MEMBERS


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS
