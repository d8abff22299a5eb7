"""Reprs of worlds, managers, columns, queries, groups, chunks and entities."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.text import format_bytes, format_list

from tests.support.entities_package import entity_manager
from tests.support.policies_package import MANAGERS, filled
from tests.support.world_package import world_package

SCHEMA = """
component: Body
fields:
  mass: {type: f32, default: 1}
  position: "f32[3]"
  speed: {type: "f64[2]", split: true}
  name: "str[8]"
  thing: object
---
component: Agent
fields: {target: entity}
---
component: Cell
lookup: direct
fields: {k: i8}
---
component: Tool
owner: none
fields: {k: i8}
---
component: Far
cold: indirect
partition: {start: active}
fields: {k: i8, note: {type: "str[30]", tags: [cold]}}
---
component: Left
---
component: Right
---
component: Health
fields: {hp: f64}
---
component: Tag
---
world: Arena
archetypes: {chunk: 4096, components: [Health, Tag]}
queries:
  movers: {all: [Body], any: [Agent, Cell]}
  hurt: {all: [Health], none: [Tag]}
  healthy: {all: [Health], optional: [Tag]}
groups: {pair: [Left, Right]}
"""

package: Any = world_package(SCHEMA, "shown_package")


class Cells(HTMLParser):
    """The text of each cell, row by row, and the tags that there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


TAGS = {"table", "caption", "thead", "tbody", "tr", "td", "th"}


def test_a_world() -> None:
    w = package.Arena()
    assert repr(w) == "<Arena: 0 entities>"
    w.spawn(10, body={})
    w.spawn(1, agent={}, health={})
    w.tool.create(k=1)
    assert repr(w) == "<Arena: 11 entities; agent 1, body 10, tool 1, health 1>"
    rows = Cells(w._repr_html_()).rows
    assert rows[0] == ["", "component", "rows", "where"]
    assert ["1", "body", "10", repr(w.body)] in rows
    assert ["8", "tag", "0", repr(w.archetypes)] in rows


def test_many_components_end_with_an_ellipsis() -> None:
    assert format_list("abcdefgh") == "a, b, c, d, e, f, g, h"
    assert format_list("abcdefghij") == "a, b, c, d, e, f, g, h, …"


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 * 2**20, "5.0 MiB"),
        (2**60, "1048576.0 TiB"),
    ],
)
def test_bytes(nbytes: int, text: str) -> None:
    assert format_bytes(nbytes) == text


def test_managers_and_their_columns() -> None:
    w = package.Arena()
    w.spawn(10, body={})
    size = f"{w.body.nbytes / 1024:.1f} KiB"
    assert repr(w.body) == f"<BodyManager: 10 rows, room for 64, {size}>"
    assert repr(w.body.data) == (
        "<BodyData: 10 rows of entity u64, mass f32, position f32[3], speed_x f64, speed_y f64, "
        "name str[8], thing object>"
    )
    assert repr(w.tool.data) == "<ToolData: 0 rows of k i8>"
    assert repr(w.left.data) == "<LeftData: 0 rows of entity u64>"
    w.spawn(2, far={"note": "x"})
    assert repr(w.far.data) == "<FarData: 2 rows of entity u64, k i8>"
    assert repr(w.far.data.cold) == "<FarColdData: 2 rows of note str[30]>"
    assert repr(w.far.data.active) == "<FarActiveData: 2 rows of entity u64, k i8>"
    w.cell.create(w.entities.create())
    assert repr(w.cell).startswith("<CellManager: 1 row, room for 64, ")


def test_entity_managers() -> None:
    w = package.Arena()
    w.spawn(3)
    assert repr(w.entities) == "<EntityManager: 3 entities, room for 64, 768 B>"


def test_queries_do_not_look_for_entities() -> None:
    w = package.Arena()
    w.spawn(3, body={}, agent={})
    w.spawn(5, body={})
    conditions = "all of Body; any of Agent, Cell"
    assert repr(w.movers) == f"<MoversQuery: up to 3 entities; {conditions}>"
    assert len(w.movers) == 3
    assert repr(w.movers) == f"<MoversQuery: 3 entities; {conditions}>"
    w.body.clear()
    assert repr(w.movers) == f"<MoversQuery: up to 0 entities; {conditions}>"
    w.archetypes.create([package.Health], 2)
    assert repr(w.hurt) == "<HurtQuery: 2 entities; all of Health; none of Tag>"
    assert repr(w.healthy) == "<HealthyQuery: 2 entities; all of Health; optional Tag>"
    assert repr(w.movers.body) == "<BodyColumns: mass, position, speed_x, speed_y, name, thing>"


def test_groups_and_chunks() -> None:
    w = package.Arena()
    w.spawn(2, left={}, right={})
    assert repr(w.pair) == "<PairGroup: 2 entities with left, right>"
    assert repr(w.pair.left) == "<LeftGroupedData: 2 rows of entity u64>"
    w.archetypes.create([package.Health, package.Tag], 2)
    (chunk,) = w.archetypes.chunks()
    assert repr(chunk) == f"<ArchetypeChunk: 2 rows, room for {chunk.capacity}, of Health, Tag>"
    assert repr(chunk.health) == "<HealthData: 2 rows of hp f64>"
    assert repr(chunk.tag) == "<TagData: 2 rows>"
    assert repr(w.archetypes).startswith("<Archetypes: 2 rows in 1 chunk, ")


def test_tables_have_the_first_and_last_rows() -> None:
    w = package.Arena()
    w.spawn(30, body={"mass": np.arange(30), "name": "é", "position": (1, 2.5, 3)})
    for table in (w.body._repr_html_(), w.body.data._repr_html_()):
        head, *rows = Cells(table).rows
        assert head[:4] == ["", "entity", "mass", "position"]
        assert [row[0] for row in rows] == [*"01234", "…", *map(str, range(25, 30))]
        assert rows[0][1:4] == ["0v1", "0", "(1, 2.5, 3)"]
        assert rows[-1][1:3] == ["29v1", "29"]
        assert "é" in rows[0]
    w.spawn(30, agent={}, cell={})
    w.agent.data.target = w.entities.live()[0]
    assert Cells(w.agent.data._repr_html_()).rows[1] == ["0", "30v1", "0v1"]
    head, *rows = Cells(w.movers._repr_html_()).rows
    assert head == ["", "entity", "body"]
    assert rows == []


def test_values_are_escaped_and_objects_shown_by_their_type() -> None:
    w = package.Arena()
    evil = "<b>&\"'"
    w.body.create(w.entities.create(), name=evil, thing=evil)
    w.body.create(w.entities.create(), thing=object())
    for table in (w.body._repr_html_(), w.body.data._repr_html_()):
        cells = Cells(table)
        assert cells.tags == TAGS
        assert evil in cells.rows[1]
        assert cells.rows[1][-1] == repr(evil)
        assert cells.rows[2][-1] == "object"


def test_holes_and_rows_without_owners() -> None:
    w = package.Arena()
    es = w.spawn(3, cell={})
    w.cell.remove(es[1])
    assert Cells(w.cell._repr_html_()).rows[2] == ["1", "", ""]
    id = w.tool.create(k=3)
    assert Cells(w.tool._repr_html_()).rows == [["", "id", "k"], ["0", str(id), "3"]]
    w.tool.data._k_column[0] = 5
    assert Cells(w.tool.data._repr_html_()).rows == [["", "k"], ["0", "5"]]


@pytest.mark.parametrize("name", MANAGERS)
def test_all_kinds_of_managers(name: str) -> None:
    _, m = filled(name, 40)
    assert repr(m).startswith(f"<{name}: {len(m)} rows, room for {m.capacity}, ")
    for shown in (m, m.data, getattr(m.data, "active", m), getattr(m.data, "cold", m)):
        cells = Cells(shown._repr_html_())
        assert cells.tags == TAGS
        assert f"{id(shown):x}" not in repr(shown)
        assert len(cells.rows) in (1, 12) or len(cells.rows) <= 11
    assert len(Cells(m._repr_html_()).rows) == 12


@pytest.mark.parametrize(
    ("bits", "entity", "shown"),
    [
        ((32, 32), 1 << 32 | 5, "5v1 (4294967301)"),
        ((32, 32), 0, "0v0 (0)"),
        ((32, 32), np.uint64(2**64 - 1), "4294967295v4294967295 (18446744073709551615)"),
        ((16, 4), 3 << 16 | 7, "7v3 (196615)"),
        ((16, 4), 1 << 20, "1048576"),
        ((16, 4), -1, "-1"),
        pytest.param((32, 32), 10**5000, "<int>", id="huge"),
    ],
)
def test_index_and_generation_with_the_number_behind(
    bits: tuple[int, int], entity: Any, shown: str
) -> None:
    em = entity_manager(*bits)()
    for call in (em.destroy, em.require):
        with pytest.raises(LookupError) as raised:
            call(entity)
        assert str(raised.value) == f"entity {shown} is not alive"
    with pytest.raises(LookupError) as raised:
        em.require_many([entity])
    assert str(raised.value) == f"entity {shown} at position 0 is not alive"


def test_an_entity_that_is_given_twice() -> None:
    em = entity_manager()()
    e = em.create()
    with pytest.raises(LookupError, match=r"^entity 0v1 \(4294967296\) at position 1 is repeated$"):
        em.destroy_many([e, e])
