"""Archetypes: the components with rows in chunks."""

from __future__ import annotations

from typing import ClassVar

from ecsgen_testing import chunks, state_machine, subject

from .. import Armor, Burning, EntityManager, Game, Health, Weapon, archetypes, enums

_armor = subject.Subject(
    world=Game,
    entities=EntityManager,
    manager=None,
    row=Armor,
    fields=(
        subject.Int("points", 10, "u16"),
        subject.Enum("element", enums.Element(0), enums.Element, "u8"),
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
        subject.Float("points", 100.0, "f32"),
        subject.Float("limit", 100.0, "f32"),
        subject.Float("recovery", 0.0, "f32"),
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
        subject.Float("damage", 1.0, "f32"),
        subject.Float("reach", (0.0, 1.5), "f32", (2,)),
        subject.Float("direction", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Float(
            "grip", ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "f32", (3, 3)
        ),
        subject.Enum(
            "elements", (enums.Element(0), enums.Element(0)), enums.Element, "u8", (2,)
        ),
        subject.Bool("sharp", False),
        subject.Handle("wielder", 0),
        subject.Text("name", "fist", 16),
        subject.Bytes("code", b"", 4),
        subject.Object("model", None),
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


class TestArchetypes(chunks.ChunkCases, chunks.ChunkStructureCases):
    world = Game
    module: ClassVar = archetypes
    members: ClassVar = MEMBERS


class _Machine(chunks.ChunkRules):
    world = Game
    module: ClassVar = archetypes
    members: ClassVar = MEMBERS


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS
