"""A package's description of itself: fields, and what a world is made of."""

from __future__ import annotations

import ast
from typing import Any

import black
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsgen.render.text.quoting import literal, split_literal
from tests.support.world_package import world_package

SCHEMA = """
enum: Mode
values: [idle, walk]
---
component: Body
fields:
  mass: {type: f32, default: 1.5, unit: "kg/m²", doc: "How \\"heavy\\" it is."}
  position: "f32[3]"
  velocity: {type: "f32[2]", split: true, tags: [fast]}
  mode: {type: Mode, default: walk, doc: "LONG"}
  modes: "Mode[2]"
  name: {type: "str[8]", default: añ, tags: [cold]}
  code: {type: "bytes[4]", default: ab}
  target: entity
  tool: id<Tool>
  thing: {type: object, tags: [cold, big]}
---
component: Tool
owner: none
fields: {k: i8}
---
component: Tag
---
component: Health
fields: {hp: {type: f64, default: 3, unit: hp}, mode: Mode}
---
component: Only
fields: {flag: {type: bool, default: true}}
---
world: Game
archetypes: {components: [Health]}
bundles: {unit: [Body], hero: [unit, Tag]}
queries: {movers: {all: [Body]}, chunked: {all: [Health]}}
groups: {pair: [Tag, Only]}
""".replace("LONG", "It walks; " * 30)

package: Any = world_package(SCHEMA, "reflected_package")
MODE = package.Mode


def test_fields_as_the_schema_has_them() -> None:
    mass, position, velocity, mode, modes, name, code, target, tool, thing = (
        package.BodyManager.FIELDS
    )
    assert mass == (
        *("mass", "f32", np.dtype(np.float32), (), None, 1.5, "kg/m²"),
        *('How "heavy" it is.', ("hot",), None, None),
    )
    assert position[1:6] == ("f32[3]", np.dtype(np.float32), (3,), None, (0.0,) * 3)
    assert (position.unit, position.doc) == ("", "")
    assert velocity[:6] == ("velocity", "f32[2]", np.dtype(np.float32), (2,), None, (0.0, 0.0))
    assert velocity.tags == ("hot", "fast")
    assert mode[1:6] == ("Mode", np.dtype(np.uint8), (), MODE, MODE.walk)
    assert mode.doc == "It walks; " * 30
    assert modes[1:6] == ("Mode[2]", np.dtype(np.uint8), (2,), MODE, (MODE.idle, MODE.idle))
    assert name[1:6] == ("str[8]", np.dtype("S8"), (), None, "añ")
    assert name.tags == ("cold",)
    assert code[1:6] == ("bytes[4]", np.dtype("S4"), (), None, b"ab\0\0")
    assert target[1:6] == ("entity", np.dtype(np.uint64), (), None, package.NULL_ENTITY)
    assert tool[1:6] == ("id<Tool>", np.dtype(np.uint64), (), None, 0)
    assert thing[1:6] == ("object", None, (), None, None)
    assert thing.tags == ("cold", "big")
    assert all(type(info) is package.FieldInfo for info in package.BodyManager.FIELDS)
    assert [info.type for info in package.OnlyManager.FIELDS] == ["bool"]
    assert package.TagManager.FIELDS == ()


def test_fields_of_components_in_chunks() -> None:
    w = package.Game()
    w.archetypes.create([package.Health])
    (chunk,) = w.archetypes.chunks()
    hp, mode = chunk.health.FIELDS
    assert hp == ("hp", "f64", np.dtype(np.float64), (), None, 3.0, "hp", "", ("hot",), None, None)
    assert mode.enum is MODE


def test_rows_have_the_defaults_of_the_schema() -> None:
    assert package.Tag() == ()
    assert package.Health(mode=MODE.walk) == (3.0, MODE.walk)
    body = package.Body(mass=2)
    assert body.mass == 2
    assert body[1:4] == ((0.0,) * 3, (0.0, 0.0), MODE.walk)
    assert type(body.mode) is MODE
    assert body[5:] == ("añ", b"ab\0\0", 0, 0, None)
    with pytest.raises(TypeError):
        package.Body(weight=2)
    w = package.Game()
    m = w.body
    assert m.row(m.create(w.entities.create())) == package.Body()


@given(st.text())
def test_literals_of_several_lines_are_the_same_text(text: str) -> None:
    assert ast.literal_eval(f"(\n{split_literal(text, 8)}\n)") == text


OBJECTS = [[1, 2, 3], np.arange(3), (1, 2, 3), "abc", {}]


@pytest.mark.parametrize("thing", OBJECTS, ids=repr)
def test_one_object_is_that_of_all_rows(thing: object) -> None:
    w = package.Game()
    w.spawn(3, body=package.Body(thing=thing))
    assert all(w.body.thing(row) is thing for row in range(3))


def test_a_row_has_one_value_for_all_rows() -> None:
    w = package.Game()
    body = package.Body(mass=2, position=[1, 2, 3], velocity=np.ones(2), mode=0)
    w.spawn_unit(3, body=body)
    assert w.body.data.position.tolist() == [[1, 2, 3]] * 3
    assert w.body.row(2) == body._replace(position=(1, 2, 3), velocity=(1, 1), mode=MODE.idle)
    for wrong in ({"mass": [1, 2, 3]}, {"name": ["a", "b", "c"]}, {"mode": np.zeros(3, int)}):
        with pytest.raises((ValueError, TypeError), match=f"Body.{next(iter(wrong))}"):
            w.spawn(3, body=package.Body(**wrong))
    assert len(w.entities) == 3


def test_rows_of_another_component_are_refused() -> None:
    w = package.Game()
    with pytest.raises(TypeError, match="Body takes a dict of its fields, not Tag"):
        w.spawn(1, body=package.Tag())
    e = w.entities.create()
    with pytest.raises(TypeError, match="archetypes hold Health, not"):
        w.archetypes.add(e, package.Tag())
    with pytest.raises(TypeError, match="a row of Health has all fields; name some with the cl"):
        w.archetypes.add(e, package.Health(), hp=1.0)
    assert w.components(e) == ()


@pytest.mark.parametrize(
    "value", ["a", "'", '"', "'\"", "'\"'", '"\'"', "\\", '"\\', "'\\\"\\'", "é"]
)
def test_literals_have_the_quotes_that_black_chooses(value: str) -> None:
    for each in (value, value.encode()):
        line = f"x = {literal(each)}\n"
        assert ast.literal_eval(literal(each)) == each
        assert black.format_str(line, mode=black.Mode()) == line
