"""Columns as Arrow tables: types, values and addresses, for every combination of policies."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from enum import IntFlag
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import generated as g
from tests.support.policies_package import MANAGERS, filled, package

IS_COPIED = ("bool", "str")


def expected(value: Any, info: Any) -> Any:
    """What pyarrow makes of a cell that an accessor returned."""
    if isinstance(value, tuple):
        return [expected(element, info) for element in value]
    if info.enum is not None and not issubclass(info.enum, IntFlag):
        return info.enum(value).name
    return value


def flat(value: Any) -> list[Any]:
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def cells_of(row: dict[str, Any], info: Any) -> Any:
    """A field of a row of a table, whether it is split or not."""
    if info.name in row:
        return row[info.name]
    found = [row[name] for name in row if name.rpartition("_")[0] == info.name]
    return np.array(found, object).reshape(info.shape).tolist()


def rows_of(m: Any) -> list[int]:
    return m.data.present.nonzero()[0].tolist() if hasattr(m.data, "present") else [*range(len(m))]


def here(data: Any, info: Any) -> bool:
    """Whether columns have a field, which is not an object."""
    names = [info.name, f"{info.name}_x", f"{info.name}_0"]
    return info.dtype is not None and any(hasattr(type(data), name) for name in names)


@pytest.mark.parametrize("name", MANAGERS)
def test_a_table_has_what_the_accessors_return(name: str) -> None:
    _, m = filled(name, 40)
    batch = m.data.to_arrow()
    batch.validate(full=True)
    for row, found in zip(rows_of(m), batch.to_pylist(), strict=True):
        if hasattr(m.data, "entity"):
            assert found["entity"] == m.entity(row)
        for info in m.FIELDS:
            if here(m.data, info):
                assert cells_of(found, info) == expected(getattr(m, info.name)(row), info)
    shown = [info.name for info in m.FIELDS if here(m.data, info)]
    left = [info.name for info in m.FIELDS if info.name not in shown]
    notes = {b"ecsgen.component": name.removesuffix("Manager"), b"ecsgen.left_out": ",".join(left)}
    assert batch.schema.metadata == {key: text.encode() for key, text in notes.items()}


@pytest.mark.parametrize("name", MANAGERS)
def test_a_table_shares_memory_unless_it_is_a_copy(name: str) -> None:
    _, m = filled(name, 40)
    holes = len(rows_of(m)) < m.data.n
    shared, copied = m.data.to_arrow(), m.data.to_arrow(copy=True)
    for column in m.data.LAYOUT:
        if column.name not in shared.schema.names:
            continue
        info = next((info for info in m.FIELDS if info.name == column.name), None)
        is_copied = info is not None and info.type.startswith(IS_COPIED)
        if info is not None and info.enum is not None and not issubclass(info.enum, IntFlag):
            is_copied = sorted(info.enum) != list(range(len(info.enum)))
        address = getattr(m.data, column.name).__array_interface__["data"][0]
        assert (memory_of(shared[column.name]) == address) is not (is_copied or holes)
        assert memory_of(copied[column.name]) != address
    assert shared.equals(copied)


def memory_of(array: Any) -> int:
    while pa.types.is_fixed_size_list(array.type):
        array = array.flatten()
    if pa.types.is_dictionary(array.type):
        array = array.indices
    address: int = array.buffers()[-1].address
    return address


@pytest.mark.parametrize("name", MANAGERS)
@pytest.mark.parametrize("is_flat", [False, True])
def test_a_table_comes_back_as_it_was(name: str, is_flat: bool) -> None:
    entities, m = filled(name, 40)
    table = m.data.to_arrow(copy=True, flat=is_flat)
    other = getattr(package, name)
    if "entity" in table.schema.names:
        new = other(entities)
        owners = table["entity"].to_numpy()
        alive = entities.alive_many(owners)
        table, owners = table.filter(pa.array(alive)), owners[alive]
        new.create_many(owners, table)
    else:
        new = other()
        new.create_many(table.num_rows, table)
    again = new.data.to_arrow(flat=is_flat)
    if hasattr(new.data, "present"):  # in order of the entities' indices
        table = table.take(np.argsort(np.asarray(table["entity"]) & 0xFFFFFFFF))
    assert again.equals(table)


def test_types() -> None:
    w = g.World()
    w.spawn(2, every_type={})
    schema = w.every_type.data.to_arrow().schema
    types = {field.name: field.type for field in schema}
    assert types["entity"] == types["target"] == pa.uint64()
    assert (types["flag"], types["tiny"], types["double"]) == (pa.bool_(), pa.int8(), pa.float64())
    assert types["matrix"] == pa.list_(pa.list_(pa.float64(), 3), 2)
    assert types["mode"] == pa.dictionary(pa.uint16(), pa.string())
    assert types["modes"] == pa.list_(pa.dictionary(pa.uint16(), pa.string()), 2)
    assert (types["access"], types["title"], types["digest"]) == (
        pa.uint8(),
        pa.string(),
        pa.binary(4),
    )
    assert schema.names[0] == "entity"
    assert schema.names[1:] == [f.name for f in g.EveryTypeManager.FIELDS if f.dtype is not None]
    assert schema.field("vector").metadata == {
        b"ecsgen.type": b"f32[3]",
        b"unit": b"m",
        b"doc": b"Three of a kind.",
    }
    assert pa.schema(w.every_type.data) == schema


def test_a_view_shows_later_writes_and_is_missed_by_growth() -> None:
    w = g.World()
    w.spawn(64, particle={"life": 1.0})
    shared, copied = w.particle.data.to_arrow(), w.particle.data.to_arrow(copy=True)
    w.particle.data.life = 7.0
    assert (shared["life"][0].as_py(), copied["life"][0].as_py()) == (7.0, 1.0)
    with pytest.warns(g.StaleViewWarning):
        w.spawn(1, particle={})
    del shared
    w.spawn(63, particle={})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w.spawn(1, particle={})


def test_parts_of_the_rows() -> None:
    w = g.World()
    es = w.spawn(6, ai_state={}, skinned_mesh={}, villager={"energy": range(6)})
    w.spawn(2, villager={"energy": 9.0})
    w.villager.set_home(2, (1.0, 2.0))
    assert w.actors.villager.to_arrow()["energy"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert w.actors.villager.to_arrow()["entity"].to_pylist() == es.tolist()
    assert w.villager.data.to_arrow().num_rows == 8
    (cold,) = w.villager.data.cold.to_arrow().to_pylist()
    assert (cold["row"], cold["home"], "energy" in cold) == (2, [1.0, 2.0], False)
    w.spark.create_many(5, heat=[1.0, 2, 3, 4, 5])
    w.spark.deactivate_many([1, 2])
    active = w.spark.data.active.to_arrow()
    assert (active.num_rows, active.schema.names[:2]) == (3, ["position_x", "position_y"])
    assert active.schema.metadata[b"ecsgen.component"] == b"Spark"


def test_a_direct_manager_shows_present_rows() -> None:
    w = g.World()
    es = w.spawn(5, transform={"scale": np.arange(15).reshape(5, 3)})
    w.transform.remove_many(es[[1, 2]])
    found = w.transform.data.to_arrow()
    assert found["entity"].to_pylist() == es[[0, 3, 4]].tolist()
    assert found["scale"].to_pylist() == [[0, 1, 2], [9, 10, 11], [12, 13, 14]]


def test_what_raw_writes_left_is_an_error_that_names_the_row() -> None:
    w = g.World()
    w.spawn(3, every_type={})
    data = w.every_type.data
    data.mode[1] = 77
    with pytest.raises(ValueError, match=r"^mode: row 1: 77 is no member of Mode$"):
        data.to_arrow()
    data.mode[1] = 5
    data.modes[2, 1] = 78
    with pytest.raises(ValueError, match=r"^modes: row 2: 78 is no member"):
        pa.table(data)
    data.modes[2, 1] = 5
    data.title[2] = b"\xff"
    with pytest.raises(ValueError, match=r"^title: row 2: b'\\xff' is not UTF-8$"):
        data.to_arrow()


def test_queries_have_a_struct_for_each_component() -> None:
    w = g.World()
    one, two = w.spawn(2, transform={}, tile={}), w.spawn(1, ai_state={}, transform={}, tile={})
    found = w.drawn.to_arrow()
    assert found.schema.names == ["entity", "transform", "ai_state"]
    rows = {row["entity"]: row for row in found.to_pylist()}
    assert rows.keys() == {*one.tolist(), *two.tolist()}
    assert [rows[e]["ai_state"] is None for e in rows] == [True, True, False]
    copy = w.ai_state.row(0)
    assert rows[int(two[0])]["ai_state"]["goal"] == list(copy.goal)
    assert rows[int(one[0])]["transform"]["scale"] == [1.0, 1.0, 1.0]
    assert pa.table(w.drawn).to_batches()[0].equals(found)


def test_a_query_shares_the_memory_of_rows_that_follow_each_other() -> None:
    w = g.World()
    w.spawn(5, transform={}, point_mass={"mass": range(5)})
    shared = w.movers.to_arrow()["point_mass"].field("mass")
    assert memory_of(shared) == w.point_mass.data.mass.__array_interface__["data"][0]
    w.point_mass.sort(np.arange(5)[::-1])
    assert w.movers.to_arrow()["point_mass"].field("mass").to_pylist() == [0, 1, 2, 3, 4]


def test_queries_of_chunks() -> None:
    w = g.World()
    w.archetypes.create([g.Weapon, g.Health], 300, weapon={"direction": np.ones((300, 3))})
    w.archetypes.create([g.Weapon, g.Armor, g.Burning], 2)
    table = pa.table(w.fighters)
    assert table.schema.names == ["entity", "weapon", "burning"]
    assert (table.num_rows, table.column(0).num_chunks > 2) == (302, True)
    assert table["burning"].null_count == 300
    assert w.fighters.to_arrow().num_rows == 302
    chunk = next(w.fighters.chunks())
    assert chunk.weapon.to_arrow().num_rows == len(chunk)
    address = chunk.weapon.direction_x.__array_interface__["data"][0]
    assert memory_of(table["weapon"].chunk(0).field("direction_x")) == address


EMPTY = sorted(g.World.MANAGERS)


@pytest.mark.parametrize("name", EMPTY)
def test_no_rows(name: str) -> None:
    data = getattr(g.World(), name).data
    assert data.to_arrow().num_rows == 0
    assert pa.table(data).schema == pa.schema(data)
    assert data.to_arrow(flat=True).num_rows == 0


def test_queries_of_nothing() -> None:
    w = g.World()
    for name in w.QUERIES:
        query = getattr(w, name)
        assert query.to_arrow().num_rows == 0
        assert query.to_arrow().schema == pa.table(query).schema == pa.schema(query)


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    library = sys.modules["ecsgen_runtime.interchange"]
    monkeypatch.setattr(library, "import_module", lambda name: __import__("no_such_module"))
    library.pyarrow_if_there.cache_clear()
    yield
    library.pyarrow_if_there.cache_clear()


@pytest.mark.usefixtures("without_pyarrow")
def test_without_pyarrow_an_error_says_what_to_install() -> None:
    w = g.World()
    with pytest.raises(ImportError, match="pip install pyarrow"):
        w.particle.data.to_arrow()
    with pytest.raises(ImportError, match="pip install pyarrow"):
        w.particle.data.__arrow_c_stream__()
    w.particle.create_many(w.spawn(2), {"life": [1.0, 2.0]})
    assert w.particle.data.life.tolist() == [1.0, 2.0]
