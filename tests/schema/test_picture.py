"""Pictures of layouts: every column once, nothing outside, the same for the same schema."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecsgen.cli import ecsgen
from ecsgen.config import UsageError
from ecsgen.layout import layout
from ecsgen.model import Component
from ecsgen.pictures.drawing import text_width
from ecsgen.pictures.picture import kinds, picture
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


def named(component: Component) -> list[str]:
    plan = layout(component)
    buffers = [plan, plan.cold] if plan.cold else [plan]
    return [c.name for each in buffers for c in (*each.columns, *each.objects)]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: c.name)
def test_every_column_is_named_once(component: Component) -> None:
    words = texts(ElementTree.fromstring(picture([component])))
    for name in named(component):
        assert words.count(name) == 1, name
    assert words.count(component.name) == 1


@pytest.mark.parametrize("components", [*([c] for c in COMPONENTS), COMPONENTS])
def test_nothing_is_outside_of_the_view(components: list[Component]) -> None:
    tree = ElementTree.fromstring(picture(components))
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for each in tree.iter(f"{SVG}text"):
        x, y, size = (float(each.attrib[key]) for key in ("x", "y", "font-size"))
        wide = text_width(each.text or "", int(size))
        left = x - wide if each.get("text-anchor") == "end" else x
        assert left >= 0
        assert left + wide <= width
        assert size <= y <= height
    for each in tree.iter(f"{SVG}rect"):
        assert float(each.get("x", 0)) + float(each.attrib["width"]) <= width
        assert float(each.get("y", 0)) + float(each.attrib["height"]) <= height


@pytest.mark.parametrize("components", [*([c] for c in COMPONENTS), COMPONENTS])
def test_no_text_lies_on_another(components: list[Component]) -> None:
    boxes: list[tuple[float, float, float, float]] = []
    for each in ElementTree.fromstring(picture(components)).iter(f"{SVG}text"):
        x, y, size = (float(each.attrib[key]) for key in ("x", "y", "font-size"))
        wide = text_width(each.text or "", int(size))
        left = x - wide if each.get("text-anchor") == "end" else x
        for other in boxes:
            beside = left >= other[2] or left + wide <= other[0]
            assert beside or y <= other[1] or y - 0.75 * size >= other[3], each.text
        boxes.append((left, y - 0.75 * size, left + wide, y))


def test_what_columns_are() -> None:
    assert kinds(BY_NAME["Plain"]) == {
        "entity": "owner",
        "mass": "hot",
        "place": "hot",
        "text": "cold",
    }
    crowded = kinds(BY_NAME["Crowded" + "X" * 57])
    assert crowded["next"] == crowded["cold_row"] == "links"
    assert crowded["id_slot"] == "ids"


def test_the_command_draws_one_or_all(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SCHEMA.replace(f"{LONG}x", LONG), encoding="utf-8")
    file = tmp_path / "layout.svg"
    arguments = ["layout", "--schemas", str(tmp_path), "--svg", str(file)]
    assert CliRunner().invoke(ecsgen, [*arguments, "Plain"]).exit_code == 0
    assert "Plain" in texts(ElementTree.parse(file).getroot())
    assert CliRunner().invoke(ecsgen, arguments).exit_code == 0
    assert {c.name for c in COMPONENTS} <= set(texts(ElementTree.parse(file).getroot()))
    result = CliRunner().invoke(ecsgen, [*arguments[:-1], str(tmp_path / "none" / "x.svg")])
    assert isinstance(result.exception, UsageError)
