"""cold: indirect: who has a cold row, in every surrounding of policies."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.managers.policies.cold import differing, select_rows
from ecsgen_testing.subject import refuses

from ecsgen.layout.layout_tables import format_layout
from ecsgen.layout.memory_layout import lay_out_component
from tests.support.manager_state import recreate
from tests.support.state_machines import machine_of, package_with_tests, run_machine
from tests.support.world_package import load

FIELDS = """
fields:
  serial: f64
  goal:   "f32[2]"
  loot:   {type: u8, default: 1, tags: [cold]}
  chance: {type: f32, default: 0.1, tags: [cold]}
  home:   {type: "f32[3]", default: [1, .nan, -0.0], tags: [cold]}
  name:   {type: "str[8]", default: "ork é", tags: [cold]}
  code:   {type: "bytes[4]", default: EC, tags: [cold]}
  note:   {type: object, tags: [cold]}
  where:  {type: "f64[2]", default: [1, 2], split: true, tags: [cold]}
  target: {type: entity, tags: [cold]}
cold: indirect
"""
POLICIES = {
    "Plain": "",
    "Linked": "instances: many\nlookup: hash\ndestroy: callback\nids: true",
    "Released": "instances: many\ndestroy: manual\nrelease: true",
    "Parted": "partition: {start: active}\nids: true",
    "Pooled": "owner: none\nrelease: true\npartition: {start: inactive}",
    "Reserved": "growth: {reserve: 640}\nlookup: hash",
}
TEXT = "\n---\n".join(f"component: {name}\n{keys}\n{FIELDS}" for name, keys in POLICIES.items())
TEXT += "\n---\ncomponent: Noted\nfields: {note: {type: object, tags: [cold]}}\ncold: indirect\n"


def package() -> ModuleType:
    """The world of all components under test."""
    return package_with_tests(TEXT, "indirect")


def make(name: str) -> tuple[Any, Any]:
    """A manager, and its entities if it has some."""
    world = package().World()
    return getattr(world, name.lower()), world.entities


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", POLICIES)
def test_against_model(name: str) -> None:
    run_machine(machine_of(package(), name.lower()))


@pytest.mark.parametrize("home", [(1, np.nan, 0.0), (1, -np.nan, -0.0)])
def test_bits_decide(home: tuple[float, ...]) -> None:
    manager, entities = make("Plain")
    manager.create(entities.create(), home=home)
    manager.create_many(entities.create_many(2), home=home)
    manager.set_home(manager.create(entities.create()), home)
    assert manager.data.cold.row.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), (5, 8)])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_cells_of_many_elements(shape: tuple[int, ...], count: int) -> None:
    default = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    columns = np.broadcast_to(default, (count, *shape)).copy()
    columns[1::3, ..., -1] = np.nan
    columns_given: list[np.ndarray[Any, Any]] = [
        columns,
        columns.copy(order="F"),
        np.repeat(columns, 2, axis=0)[::2],
        columns[:1],
        columns[..., :1],
        default + 1,
        default[..., -1:],
    ]
    for values in columns_given:
        all_cells = np.broadcast_to(values, (count, *shape))
        expected = [cell.tobytes() != default.tobytes() for cell in all_cells]
        rows_found = differing({"home": values}, {"home": default}, count)
        assert rows_found.tolist() == expected
        wanted = np.flatnonzero(rows_found)
        cells = select_rows(values, (count, *shape), wanted)
        assert np.array_equal(
            np.broadcast_to(cells, (len(wanted), *shape)), all_cells[wanted], equal_nan=True
        )


def test_setters_move_no_row() -> None:
    manager, entities = make("Plain")
    row = manager.create(entities.create())
    version, view = manager.version, manager.data.serial
    with manager.locked():
        manager.set_loot(row, 9)
    assert manager.version == version
    assert manager.loot(row) == 9
    assert view.base is manager.data.serial.base


def test_views_of_the_cold_buffer_that_grows() -> None:
    manager, entities = make("Plain")
    manager.create_many(entities.create_many(64), loot=0)
    view = manager.data.cold.loot
    with pytest.warns(match="PlainManager: the buffer moved") as caught:
        manager.set_loot(manager.create(entities.create()), 3)
    assert caught[0].filename == __file__
    assert len(view) == 64
    del view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager.create_many(entities.create_many(65), loot=manager.data.cold.loot)
    view = manager.data.cold.home
    manager.clear()
    with pytest.warns(match="PlainManager"):
        manager.shrink_to_fit()
    assert len(view) == 130


def test_views_of_cold_rows_are_read_before_these_move() -> None:
    manager, entities = make("Plain")
    es = entities.create_many(5)
    manager.create_many(es, loot=[7, 1, 1, 1, 8])
    manager.set_loot(4, 1)  # it keeps the last cold row
    view = manager.data.cold.loot[:1]
    (row,) = manager.create_many(recreate(entities, es[:1]), loot=view)
    assert manager.loot(row) == 7


def test_cold_rows_count_as_memory_and_sort_by_defaults() -> None:
    manager, entities = make("Plain")
    manager.create_many(entities.create_many(640))
    before = manager.nbytes
    for row in range(640):
        manager.set_loot(row, 2)
    assert manager.nbytes >= before + 640 * sum(c.nbytes for c in manager.LAYOUT_COLD)
    manager.clear()
    manager.create_many(entities.create_many(3), chance=[0.1, 0.05, 0.2])
    manager.sort("chance")
    assert [round(manager.chance(row), 2) for row in range(3)] == [0.05, 0.1, 0.2]


def test_reserved_cold_rows_never_move() -> None:
    manager, entities = make("Reserved")
    first = manager.create(entities.create(), loot=0)
    view = manager.data.cold.loot
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager.create_many(entities.create_many(639), loot=0)
        manager.data.cold.loot = 5
        manager.shrink_to_fit()
    assert view.tolist() == [5]
    assert manager.loot(first) == 5


def test_callbacks_may_set_cold_values() -> None:
    manager, entities = make("Released")
    entity = entities.create()
    rows = manager.create_many([entity] * 130, serial=range(130))
    manager.on_release(lambda gone: [manager.set_loot(int(row), 9) for row in gone])
    manager.destroy_many(rows[::2])
    assert manager.data.cold.n == 0
    assert len(manager) == 65
    manager.on_release(lambda gone: [manager.set_loot(row, 9) for row in range(len(manager))])
    manager.destroy(0)
    assert manager.data.cold.n == 64
    assert manager.data.cold.loot.tolist() == [9] * 64


def test_columns_of_both_buffers() -> None:
    manager, entities = make("Plain")
    manager.create(entities.create())
    manager.create(entities.create(), loot=3)
    assert manager.data.tagged("cold").loot.tolist() == [3]
    assert manager.data.tagged("hot").serial.tolist() == [0.0, 0.0]
    refuses(ValueError, "read-only", manager.data.cold.row.fill, 0)
    refuses(AttributeError, setattr, manager.data, "cold", None)
    assert np.may_share_memory(manager.data.cold.loot, manager.data.cold.buffer)


def test_objects_alone() -> None:
    manager, entities = make("Noted")
    rows = manager.create_many(entities.create_many(3), note=["a", None, "b"])
    assert manager.data.cold.row.tolist() == [0, 2]
    assert [manager.note(int(row)) for row in rows] == ["a", None, "b"]
    manager.set_note(1, None)
    manager.destroy(0)
    assert [manager.note(row) for row in range(2)] == ["b", None]
    assert manager.data.cold.note.tolist() == ["b"]


def test_layout_shows_both_buffers() -> None:
    component = next(c for c in load(TEXT).components if c.name == "Plain")
    plan = lay_out_component(component)
    assert plan.cold is not None
    assert plan.row_bytes == 28
    assert plan.cold.row_bytes == 4 + 1 + 4 + 12 + 8 + 4 + 16 + 8
    hot, cold = format_layout(plan).split("\n\n")
    assert "cold_row" in hot
    assert "loot" not in hot
    assert cold.startswith("cold column")
    assert "note" in cold
    assert f"{plan.cold.row_bytes} bytes per row" in cold
