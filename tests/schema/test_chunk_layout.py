"""Layouts of chunks: as the generated package has them, as a table and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecsgen.cli import ecsgen
from ecsgen.config import UsageError
from ecsgen.layout import chunk_plan, chunk_title
from ecsgen.layout_text import chunk_plan_table
from ecsgen.model import Component
from ecsgen.pictures.drawing import text_width
from ecsgen.pictures.picture import picture
from tests.support.archetypes_package import COMPONENTS, SCHEMA, game
from tests.support.world_package import load

MEMBERS = {c.module: c for c in load(SCHEMA).components if c.chunk}
SETS = [names for size in range(1, 5) for names in combinations(MEMBERS, size)]
SVG = "{http://www.w3.org/2000/svg}"


def chosen(names: tuple[str, ...]) -> list[Component]:
    return [MEMBERS[name] for name in names]


@pytest.mark.parametrize("names", SETS)
def test_columns_lie_where_the_package_has_them(names: tuple[str, ...]) -> None:
    w = game.Game()
    w.archetypes.create([COMPONENTS[name] for name in names])
    (chunk,) = w.archetypes.chunks()
    plan = chunk_plan(chosen(names))
    places = chunk._layout.places
    assert plan.rows == chunk.capacity
    assert [(p.column.name, p.offset) for p in places if p.offset >= 0] == [
        (each.column.name, each.offset) for each in plan.columns
    ]
    assert sum(p.offset < 0 for p in places) == len(plan.objects)
    assert 0 <= plan.free < 64 * len(plan.columns) + plan.row_bytes


def test_the_table_has_every_column() -> None:
    text = chunk_plan_table(chunk_plan(MEMBERS.values()))
    assert "body.velocity_x  f64" in text
    assert "body.thing" in text
    assert text.endswith("\n53 bytes per row, 16 rows in a chunk of 1024 bytes, 0 of them free\n")
    assert chunk_title(MEMBERS.values()) == "Armor + Body + Health + Marked"


@pytest.mark.parametrize("names", SETS)
def test_the_picture_has_every_column_and_nothing_outside(names: tuple[str, ...]) -> None:
    tree = ElementTree.fromstring(picture(chosen(names)))
    texts = list(tree.iter(f"{SVG}text"))
    plan = chunk_plan(chosen(names))
    words = [each.text for each in texts]
    for column in (*plan.columns, *plan.objects):
        assert words.count(column.name) == 1
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for each in texts:
        x, y, size = (float(each.attrib[key]) for key in ("x", "y", "font-size"))
        wide = text_width(each.text or "", int(size))
        left = x - wide if each.get("text-anchor") == "end" else x
        assert left >= 0
        assert left + wide <= width
        assert y <= height


def test_the_command_takes_several_components(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    arguments = ["layout", "--schemas", str(tmp_path)]
    some = CliRunner().invoke(ecsgen, [*arguments, "armor", "Health"])
    assert some.exit_code == 0
    assert "\nArmor + Health\n" in some.output
    assert "Body" not in some.output
    every = CliRunner().invoke(ecsgen, arguments).output
    assert "\nArmor + Body + Health + Marked\n" in every
    assert "Plain\n" in every
    alone = CliRunner().invoke(ecsgen, [*arguments, "Plain"]).output
    assert "chunk" not in alone
    wrong = CliRunner().invoke(ecsgen, [*arguments, "Plain", "Helth"])
    assert isinstance(wrong.exception, UsageError)
    assert "did you mean 'Health'?" in str(wrong.exception)
    file = tmp_path / "chunk.svg"
    assert CliRunner().invoke(ecsgen, [*arguments, "Health", "--svg", str(file)]).exit_code == 0
    assert "an archetype chunk" in file.read_text(encoding="utf-8")
