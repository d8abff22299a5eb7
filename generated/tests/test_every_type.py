"""EveryType: lookup sparse, instances one, destroy gc, release."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World, enums
from ..every_type import EveryType, EveryTypeManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=EveryTypeManager,
    row=EveryType,
    fields=(
        subject.Bool("flag", True),
        subject.Int("tiny", -128, "i8"),
        subject.Int("small", -300, "i16"),
        subject.Int("medium", 7, "i32"),
        subject.Int("large", -9223372036854775808, "i64"),
        subject.Int("byte", 255, "u8"),
        subject.Int("word", 511, "u16"),
        subject.Int("double_word", 4294967295, "u32"),
        subject.Int("quad_word", 18446744073709551615, "u64"),
        subject.Float("single", 0.1, "f32"),
        subject.Float("double", float("-inf"), "f64"),
        subject.Float("vector", (1.0, 2.5, -3.0), "f32", (3,)),
        subject.Float("matrix", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "f64", (2, 3)),
        subject.Int("ones", ((1, 1), (1, 1)), "i16", (2, 2)),
        subject.Bool("switches", (True, False), (2,)),
        subject.Enum("mode", enums.Mode(5), enums.Mode, "u16"),
        subject.Enum(
            "modes", (enums.Mode(300), enums.Mode(0)), enums.Mode, "u16", (2,)
        ),
        subject.Enum("access", enums.Access(3), enums.Access, "u8"),
        subject.Handle("target", 0),
        subject.Handle("targets", (0, 0), (2,)),
        subject.Text("title", "Gr\xfc\xdfe", 16),
        subject.Bytes("digest", b"\xde\xad", 4),
        subject.Bytes("magic", b"ECS", 4),
        subject.Object("payload", None),
        subject.Object("note", None),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("flag", "bool"),
        subject.Column("tiny", "int8"),
        subject.Column("small", "int16"),
        subject.Column("medium", "int32", tags=("hot", "render")),
        subject.Column("large", "int64"),
        subject.Column("byte", "uint8"),
        subject.Column("word", "uint16"),
        subject.Column("double_word", "uint32"),
        subject.Column("quad_word", "uint64"),
        subject.Column("single", "float32"),
        subject.Column("double", "float64"),
        subject.Column("vector", "float32", (3,), tags=("hot", "render")),
        subject.Column("matrix", "float64", (2, 3)),
        subject.Column("switches", "bool", (2,)),
        subject.Column("mode", "uint16"),
        subject.Column("modes", "uint16", (2,)),
        subject.Column("target", "uint64"),
        subject.Column("targets", "uint64", (2,)),
        subject.Column("magic", "S4"),
        subject.Column("ones", "int16", (2, 2), tags=("cold",)),
        subject.Column("access", "uint8", tags=("render", "cold")),
        subject.Column("title", "S16", tags=("cold",)),
        subject.Column("digest", "S4", tags=("cold",)),
    ),
    tagged={
        "hot": (
            "flag",
            "tiny",
            "small",
            "medium",
            "large",
            "byte",
            "word",
            "double_word",
            "quad_word",
            "single",
            "double",
            "vector",
            "matrix",
            "switches",
            "mode",
            "modes",
            "target",
            "targets",
            "magic",
            "payload",
        ),
        "render": ("medium", "vector", "access"),
        "cold": ("ones", "access", "title", "digest", "note"),
    },
    capacity=64,
)


class TestEveryType(
    buffers.DoublingCases,
    buffers.ObjectsCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    destroy.GcRules,
    owned.OneRules,
    buffers.DoublingRules,
    owned.OwnedRules,
    packed.PackedRules,
    destroy.ReleaseRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = EveryTypeManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        flag=True,
        tiny=-128,
        small=-300,
        medium=7,
        large=-9223372036854775808,
        byte=255,
        word=511,
        double_word=4294967295,
        quad_word=18446744073709551615,
        single=0.1,
        double=float("-inf"),
        vector=(1.0, 2.5, -3.0),
        matrix=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ones=((1, 1), (1, 1)),
        switches=(True, False),
        mode=enums.Mode(5),
        modes=(enums.Mode(300), enums.Mode(0)),
        access=enums.Access(3),
        target=0,
        targets=(0, 0),
        title="Gr\xfc\xdfe",
        digest=b"\xde\xad",
        magic=b"ECS",
        payload=None,
        note=None,
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_flag(row, True)
    assert subject.same(manager.flag(row), True)
    manager.set_tiny(row, -128)
    assert subject.same(manager.tiny(row), -128)
    manager.set_small(row, -300)
    assert subject.same(manager.small(row), -300)
    manager.set_medium(row, 7)
    assert subject.same(manager.medium(row), 7)
    manager.set_large(row, -9223372036854775808)
    assert subject.same(manager.large(row), -9223372036854775808)
    manager.set_byte(row, 255)
    assert subject.same(manager.byte(row), 255)
    manager.set_word(row, 511)
    assert subject.same(manager.word(row), 511)
    manager.set_double_word(row, 4294967295)
    assert subject.same(manager.double_word(row), 4294967295)
    manager.set_quad_word(row, 18446744073709551615)
    assert subject.same(manager.quad_word(row), 18446744073709551615)
    manager.set_single(row, 0.1)
    assert subject.same(manager.single(row), 0.10000000149011612)
    manager.set_double(row, float("-inf"))
    assert subject.same(manager.double(row), float("-inf"))
    manager.set_vector(row, (1.0, 2.5, -3.0))
    assert subject.same(manager.vector(row), (1.0, 2.5, -3.0))
    manager.set_matrix(row, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    assert subject.same(manager.matrix(row), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    manager.set_ones(row, ((1, 1), (1, 1)))
    assert subject.same(manager.ones(row), ((1, 1), (1, 1)))
    manager.set_switches(row, (True, False))
    assert subject.same(manager.switches(row), (True, False))
    manager.set_mode(row, enums.Mode(5))
    assert subject.same(manager.mode(row), enums.Mode(5))
    manager.set_modes(row, (enums.Mode(300), enums.Mode(0)))
    assert subject.same(manager.modes(row), (enums.Mode(300), enums.Mode(0)))
    manager.set_access(row, enums.Access(3))
    assert subject.same(manager.access(row), enums.Access(3))
    manager.set_target(row, 0)
    assert subject.same(manager.target(row), 0)
    manager.set_targets(row, (0, 0))
    assert subject.same(manager.targets(row), (0, 0))
    manager.set_title(row, "Gr\xfc\xdfe")
    assert subject.same(manager.title(row), "Gr\xfc\xdfe")
    manager.set_digest(row, b"\xde\xad")
    assert subject.same(manager.digest(row), b"\xde\xad\x00\x00")
    manager.set_magic(row, b"ECS")
    assert subject.same(manager.magic(row), b"ECS\x00")
    manager.set_payload(row, None)
    assert subject.same(manager.payload(row), None)
    manager.set_note(row, None)
    assert subject.same(manager.note(row), None)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
