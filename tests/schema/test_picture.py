"""Pictures of layouts, and the layouts of chunks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ecsgen.cli import ecsgen
from ecsgen.config import UsageError
from ecsgen.layout.layout_tables import chunk_plan_table
from ecsgen.layout.memory_layout import chunk_title, lay_out_chunk, lay_out_component
from ecsgen.model import Component
from ecsgen.pictures.layout_picture import kinds, picture
from ecsgen.pictures.svg_drawing import text_width
from tests.support import archetypes_package
from tests.support.world_package import load

LONG = "a_name_that_is_as_long_as_any_name_of_a_field_is_allowed_to_be_64"[:64]
SCHEMA = f"""
component: Plain
fields: {{mass: f32, place: "f32[3]", text: {{type: "str[24]", tags: [cold, debug]}}, mesh: object}}
---
component: Crowded{"X" * 57}
fields:
  {LONG}: "f64[4,4]"
  b: bool
  c: {{type: "str[64]", tags: [cold]}}
  d: {{type: object, tags: [cold]}}
  e: {{type: "f32[3]", split: true}}
instances: many
lookup: hash
ids: true
partition: {{start: active}}
cold: indirect
growth: {{reserve: 1000000}}
---
component: Wide
fields: {{a: "f64[4000]", b: bool}}
lookup: direct
ids: true
---
component: Alone
fields: {{{LONG}x: object}}
owner: none
---
component: Tagged
"""
SVG = "{http://www.w3.org/2000/svg}"
COMPONENTS = load(SCHEMA.replace(f"{LONG}x", LONG)).components
BY_NAME = {component.name: component for component in COMPONENTS}


def texts(tree: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in tree.iter(f"{SVG}text")]


def boxes(tree: ElementTree.Element) -> Iterator[tuple[float, float, float, float]]:
    """Yield where each text is: its left, top, right and bottom."""
    for each in tree.iter(f"{SVG}text"):
        x, y, size = (float(each.attrib[key]) for key in ("x", "y", "font-size"))
        wide = text_width(each.text or "", int(size))
        left = x - wide if each.get("text-anchor") == "end" else x
        yield left, y - size, left + wide, y


def named(components: list[Component]) -> list[str]:
    """Return the names in the picture of a component, or of those in one chunk."""
    if components[0].chunk:
        chunk = lay_out_chunk(components)
        return [c.name for c in (*chunk.columns, *chunk.objects)]
    plan = lay_out_component(components[0])
    buffers = [plan, plan.cold] if plan.cold else [plan]
    names = [c.name for each in buffers for c in (*each.columns, *each.objects)]
    return [components[0].name, *names]


MEMBERS = {c.module: c for c in load(archetypes_package.SCHEMA).components if c.chunk}
SETS = [names for size in range(1, 5) for names in combinations(MEMBERS, size)]


def chosen(names: tuple[str, ...]) -> list[Component]:
    return [MEMBERS[name] for name in names]


ALONE = {component.name: [component] for component in COMPONENTS}
ALONE |= {" and ".join(names): chosen(names) for names in SETS}
drawn = pytest.mark.parametrize(
    "components", [*ALONE.values(), COMPONENTS], ids=[*ALONE, "all together"]
)


@pytest.mark.parametrize("components", ALONE.values(), ids=ALONE)
def test_every_column_is_named_once(components: list[Component]) -> None:
    words = texts(ElementTree.fromstring(picture(components)))
    for name in named(components):
        assert words.count(name) == 1, name


@drawn
def test_nothing_is_outside_of_the_view(components: list[Component]) -> None:
    tree = ElementTree.fromstring(picture(components))
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for left, top, right, bottom in boxes(tree):
        assert left >= 0
        assert right <= width
        assert top >= 0
        assert bottom <= height
    for each in tree.iter(f"{SVG}rect"):
        assert float(each.get("x", 0)) + float(each.attrib["width"]) <= width
        assert float(each.get("y", 0)) + float(each.attrib["height"]) <= height


@drawn
def test_no_text_lies_on_another(components: list[Component]) -> None:
    tree = ElementTree.fromstring(picture(components))
    for (text, box), (_, other) in combinations(zip(texts(tree), boxes(tree), strict=True), 2):
        beside = box[0] >= other[2] or box[2] <= other[0]
        above = [bottom - 0.75 * (bottom - top) for _, top, _, bottom in (box, other)]
        assert beside or box[3] <= above[1] or above[0] >= other[3], text


def test_what_columns_are() -> None:
    plain = {"entity": "owner", "mass": "hot", "place": "hot", "text": "cold"}
    assert kinds(BY_NAME["Plain"]) == plain
    crowded = kinds(BY_NAME["Crowded" + "X" * 57])
    assert crowded["next"] == crowded["cold_row"] == "links"
    assert crowded["id_slot"] == "ids"


@pytest.mark.parametrize("names", SETS)
def test_columns_lie_where_the_package_has_them(names: tuple[str, ...]) -> None:
    w = archetypes_package.game.Game()
    w.archetypes.create([archetypes_package.COMPONENTS[name] for name in names])
    (chunk,) = w.archetypes.chunks()
    plan = lay_out_chunk(chosen(names))
    places = chunk._layout.places
    assert plan.rows == chunk.capacity
    assert [(p.column.name, p.offset) for p in places if p.offset >= 0] == [
        (each.column.name, each.offset) for each in plan.columns
    ]
    assert sum(p.offset < 0 for p in places) == len(plan.objects)
    assert 0 <= plan.free < 64 * len(plan.columns) + plan.row_bytes


def test_the_table_has_every_column() -> None:
    text = chunk_plan_table(lay_out_chunk(MEMBERS.values()))
    assert "body.velocity_x  f64" in text
    assert "body.thing" in text
    assert text.endswith("\n53 bytes per row, 16 rows in a chunk of 1024 bytes, 0 of them free\n")
    assert chunk_title(MEMBERS.values()) == "Armor + Body + Health + Marked"


def layout(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(ecsgen, ["layout", "--schemas", str(folder), *arguments])


def test_the_command_draws_one_or_all(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SCHEMA.replace(f"{LONG}x", LONG), encoding="utf-8")
    file = tmp_path / "layout.svg"
    assert layout(tmp_path, "--svg", str(file), "Plain").exit_code == 0
    assert "Plain" in texts(ElementTree.parse(file).getroot())
    assert layout(tmp_path, "--svg", str(file)).exit_code == 0
    assert {c.name for c in COMPONENTS} <= set(texts(ElementTree.parse(file).getroot()))
    result = layout(tmp_path, "--svg", str(tmp_path / "none" / "x.svg"))
    assert isinstance(result.exception, UsageError)


def test_the_command_takes_several_components(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(archetypes_package.SCHEMA, encoding="utf-8")
    result = layout(tmp_path, "armor", "Health")
    assert result.exit_code == 0
    assert "\nArmor + Health\n" in result.output
    assert "Body" not in result.output
    every = layout(tmp_path).output
    assert "\nArmor + Body + Health + Marked\n" in every
    assert "Plain\n" in every
    assert "chunk" not in layout(tmp_path, "Plain").output
    wrong = layout(tmp_path, "Plain", "Helth")
    assert isinstance(wrong.exception, UsageError)
    assert "did you mean 'Health'?" in str(wrong.exception)
    file = tmp_path / "chunk.svg"
    assert layout(tmp_path, "Health", "--svg", str(file)).exit_code == 0
    assert "an archetype chunk" in file.read_text(encoding="utf-8")
