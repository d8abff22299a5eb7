"""Arrow tables of managers and queries: what is given out, and what is taken in."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from enum import IntFlag
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import generated as g
from tests.support.policies_package import MANAGERS, filled, package

IS_COPIED = ("bool", "str")


def expected(value: Any, info: Any) -> Any:
    """Return pyarrow's value of a cell that an accessor returned."""
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
    cells = [row[name] for name in row if name.rpartition("_")[0] == info.name]
    return np.array(cells, object).reshape(info.shape).tolist()


def rows_of(m: Any) -> list[int]:
    return m.data.present.nonzero()[0].tolist() if hasattr(m.data, "present") else [*range(len(m))]


def here(data: Any, info: Any) -> bool:
    """Return True if columns have a field, which is not an object."""
    names = [info.name, f"{info.name}_x", f"{info.name}_0"]
    return info.dtype is not None and any(hasattr(type(data), name) for name in names)


@pytest.mark.parametrize("name", MANAGERS)
def test_a_table_has_what_the_accessors_return(name: str) -> None:
    _, m = filled(name, 40)
    batch = m.data.to_arrow()
    batch.validate(full=True)
    for row, values in zip(rows_of(m), batch.to_pylist(), strict=True):
        if hasattr(m.data, "entity"):
            assert values["entity"] == m.entity(row)
        for info in m.FIELDS:
            if here(m.data, info):
                assert cells_of(values, info) == expected(getattr(m, info.name)(row), info)
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
    first, two = w.spawn(2, transform={}, tile={}), w.spawn(1, ai_state={}, transform={}, tile={})
    table = w.drawn.to_arrow()
    assert table.schema.names == ["entity", "transform", "ai_state"]
    rows = {row["entity"]: row for row in table.to_pylist()}
    assert rows.keys() == {*first.tolist(), *two.tolist()}
    assert [rows[e]["ai_state"] is None for e in rows] == [True, True, False]
    copy = w.ai_state.row(0)
    assert rows[int(two[0])]["ai_state"]["goal"] == list(copy.goal)
    assert rows[int(first[0])]["transform"]["scale"] == [1.0, 1.0, 1.0]
    assert pa.table(w.drawn).to_batches()[0].equals(table)


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


def test_no_rows() -> None:
    w: Any = g.World()
    of_managers = [getattr(w, name).data for name in w.MANAGERS]
    assert all(data.to_arrow(flat=True).num_rows == 0 for data in of_managers)
    for each in (*of_managers, *(getattr(w, name) for name in w.QUERIES)):
        assert each.to_arrow().num_rows == 0
        assert each.to_arrow().schema == pa.table(each).schema == pa.schema(each)


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    library = sys.modules["ecsgen_runtime.values.interchange"]
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


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.DataFrame,
    "pandas": lambda table: table.to_pandas(),
    "pandas with Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": lambda arrow_table: duckdb.sql("from arrow_table"),
}
NULLS: dict[str, Callable[[list[Any]], Any]] = {
    "Arrow": pa.array,
    "Arrow in chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "Arrow's slice": lambda values: pa.array([0, *values])[1:],
    "polars": pl.Series,
    "pandas": pd.Series,
    "pandas Float64": lambda values: pd.Series(values, dtype="Float64"),
    "pandas with Arrow": lambda values: pd.Series(values, dtype="double[pyarrow]"),
    "pandas objects": lambda values: pd.Series(values, dtype=object),
}
NULL = r"^[\w.: ]*: null in row 1$"


def world(n: int = 3) -> Any:
    w = g.World()
    w.spawn(n, point_mass={}, every_type={}, transform={})
    return w


def every_type() -> Any:
    """Rows that have another value each, in every column."""
    w: Any = g.World()
    values = {
        "flag": [True, False, True],
        "quad_word": [2**64 - 1, 0, 1],
        "single": [1.5, -np.inf, np.inf],
        "vector": np.arange(9).reshape(3, 3),
        "matrix": np.arange(18).reshape(3, 2, 3),
        "switches": [[True, False], [False, False], [True, True]],
        "mode": [5, 0, 300],
        "modes": [[5, 0], [0, 300], [300, 300]],
        "access": [1, 2, 3],
        "title": ["Grüße", "", "a" * 16],
        "digest": [b"a", b"\0b", b""],
    }
    w.spawn(3, every_type=values)
    return w


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_type_comes_back_from_every_library(library: str) -> None:
    w = every_type()
    # pandas makes objects of lists, and duckdb misreads lists of enums
    is_flat = library not in ("pyarrow", "polars")
    before = w.every_type.data.to_arrow(copy=True, flat=is_flat)
    table = pa.table(before)
    rows = w.every_type.create_many(w.entities.create_many(3), LIBRARIES[library](table))
    after = w.every_type.data.to_arrow(flat=is_flat).slice(int(rows[0]), 3)
    assert after.drop_columns(["entity"]).equals(before.drop_columns(["entity"]))


@pytest.mark.parametrize("kind", NULLS)
def test_a_null_is_an_error_wherever_many_values_are_given(kind: str) -> None:
    w = world(2)
    column = NULLS[kind]([1.0, None])
    m, objects, es = w.point_mass, w.every_type, w.entities.create_many(2)
    before = m.data.to_arrow(copy=True)
    for call in (
        lambda: m.create_many(es, mass=column),
        lambda: m.create_many(es, {"mass": column}),
        lambda: m.create_many(es, pa.table({"mass": pa.array([1.0, None])})),
        lambda: w.spawn(2, point_mass={"mass": column}),
        lambda: w.archetypes.create([g.Health], 2, health={"points": column}),
        lambda: w.spark.create_many(2, heat=column),
        lambda: m.sort(column),
        lambda: setattr(m.data, "mass", column),
        lambda: setattr(w.movers.point_mass, "mass", column),
        lambda: objects.create_many(es, payload=column),
        lambda: objects.create_many(es, {"payload": column}),
        lambda: w.spawn(2, every_type={"payload": column}),
        lambda: setattr(objects.data, "payload", column),
    ):
        with pytest.raises(ValueError, match=NULL):
            call()
    assert m.data.to_arrow().equals(before)
    assert objects.data.payload.tolist() == [None, None]
    assert w.entities.alive_many(es).all()


@pytest.mark.parametrize("kind", NULLS)
def test_columns_of_a_mapping_have_an_object_for_each_row(kind: str) -> None:
    w: Any = g.World()
    w.every_type.create_many(w.entities.create_many(2), {"payload": NULLS[kind]([1.0, 2.0])})
    assert w.every_type.data.payload.tolist() == [1.0, 2.0]


def test_one_column_or_table_for_all_rows_is_an_object() -> None:
    w: Any = g.World()
    for single in (pl.Series([1]), pd.Series([1]), pd.DataFrame({"a": [np.nan]}), pl.col("a")):
        rows = w.every_type.create_many(w.entities.create_many(2), payload=single)
        assert all(w.every_type.payload(int(row)) is single for row in rows)
    with_null = pd.Series([np.nan])
    w.spawn(2, every_type=g.EveryType(payload=with_null))
    assert w.every_type.payload(len(w.every_type) - 1) is with_null


@pytest.mark.parametrize("kind", ["Arrow", "Arrow in chunks", "polars", "pandas"])
def test_a_null_among_entities_or_rows_is_an_error(kind: str) -> None:
    w = world(2)
    column, m = NULLS[kind]([1, None]), w.point_mass
    for call in (
        *(w.entities.alive_many, w.entities.destroy_many, m.lookup_many, m.has_many),
        *(m.create_many, m.remove_many, m.destroy_many, m.reorder, w.destroy_later),
    ):
        with pytest.raises(ValueError, match=r"null in row 1$"):
            call(column)
    assert len(w.entities) == len(m) == 2


@pytest.mark.parametrize("name", MANAGERS)
def test_every_call_for_many_refuses_nulls(name: str) -> None:
    _, m = filled(name, 12)
    calls = [call for call in dir(m) if call.endswith("_many") and not call.startswith("_")]
    if not hasattr(m, "lookup"):
        calls.remove("create_many")  # of a count
    version = m.version
    for column in (pa.array([1, None]), pl.Series([1, None])):
        for call in calls:
            more = ([[1, 2]], []) if call == "set_parent_many" else ([],)
            for before in more:
                after = [] if before or call != "set_parent_many" else [[1, 2]]
                with pytest.raises(ValueError, match="null in row 1"):
                    getattr(m, call)(*before, column, *after)
    assert m.version == version


def test_a_null_inside_a_list_is_an_error() -> None:
    w = world(2)
    values = [[1.0, 2.0, 3.0], [1.0, None, 3.0]]
    for column in (
        pa.array(values),
        pa.array(values, pa.list_(pa.float32(), 3)),
        pl.Series(values),
        pl.Series(values, dtype=pl.Array(pl.Float32, 3)),
        pd.Series(values, dtype=pd.ArrowDtype(pa.list_(pa.float32(), 3))),
        pl.DataFrame(values, schema=["x", "y", "z"], orient="row"),
    ):
        with pytest.raises(ValueError, match=NULL):
            w.point_mass.data.position = column
    with pytest.raises(ValueError, match="null"):
        w.point_mass.set_position(0, pa.array([1.0, None, 3.0]))


@pytest.mark.usefixtures("without_pyarrow")
def test_nulls_are_seen_without_pyarrow() -> None:
    w = world(2)
    for column in (pl.Series([1.0, None]), pd.Series([1.0, None]), pl.DataFrame({"a": [1, None]})):
        with pytest.raises(ValueError, match=NULL):
            w.point_mass.data.mass = column
    nested = pl.Series([[1.0, 2.0, 3.0], [1.0, None, 3.0]], dtype=pl.Array(pl.Float32, 3))
    with pytest.raises(ValueError, match=NULL):
        w.point_mass.data.position = nested
    w.point_mass.data.position = pl.Series([[1.0, 2.0, 3.0]] * 2, dtype=pl.Array(pl.Float32, 3))
    w.point_mass.data.mass = pl.Series([1.0, 2.0])
    assert w.point_mass.data.mass.tolist() == [1.0, 2.0]


def test_nan_is_a_value_but_in_pandas() -> None:
    w = world(2)
    for column in (pa.array([1.0, np.nan]), pl.Series([1.0, np.nan]), np.array([1.0, np.nan])):
        w.point_mass.data.mass = 0.0
        w.point_mass.data.mass = column
        assert np.isnan(w.point_mass.data.mass[1])


def test_keywords_win_and_entities_are_ignored() -> None:
    w = world(0)
    es = w.entities.create_many(2)
    table = pa.table({"entity": [7, 8], "mass": [1.0, 2.0], "label": ["a", "b"]})
    w.point_mass.create_many(es, table, mass=1.5)
    assert w.point_mass.data.entity.tolist() == es.tolist()
    assert [w.point_mass.row(i)[::4] for i in range(2)] == [(1.5, "a"), (1.5, "b")]
    es = w.entities.create_many(2)
    w.point_mass.create_many(es, {"entity": None, "mass": 3, "label": ["c", "d"]}, label="e")
    assert [w.point_mass.row(i)[::4] for i in (2, 3)] == [(3.0, "e"), (3.0, "e")]
    default = g.PointMassManager.FIELDS[0].default
    w.point_mass.create_many(w.entities.create_many(1), {"mass": [5.0]}, mass=default)
    assert w.point_mass.data.mass[4] == default
    w.static.create_many(es, pa.table({"entity": es}))
    assert len(w.static) == 2


def test_a_table_of_its_own_columns() -> None:
    w = world(0)
    w.point_mass.create_many(w.entities.create_many(64), mass=np.arange(64), label="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no view of the buffer is left when it moves
        w.point_mass.create_many(w.entities.create_many(64), w.point_mass.data)
    assert w.point_mass.data.mass.tolist() == [*range(64)] * 2


def test_what_is_neither_a_value_nor_a_list() -> None:
    w = world(2)
    pairs = pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64()))
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    for column in (pairs, union):
        with pytest.raises(TypeError, match="wanted values or lists of them"):
            w.point_mass.data.mass = column


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"mas": [1, 2]}, TypeError, "PointMass has no field 'mas'; did you mean 'mass'?"),
        (pa.table({"mas": [1, 2]}), TypeError, "PointMass has no field 'mas'; did you mean 'mass'"),
        (pl.DataFrame({"x": [1, 2]}), TypeError, "PointMass has no field 'x'; it has mass, "),
        (pa.table({"mass": [1.0]}), ValueError, "PointMass: a table of 1 rows for 2"),
        (pl.DataFrame({"mass": []}), ValueError, "PointMass: a table of 0 rows for 2"),
        ([1, 2], TypeError, "wanted an Arrow table or a mapping of columns, not list"),
        (pl.Series([1.0, 2.0]), TypeError, "a mapping of columns, not Series"),
        (pa.chunked_array([[1.0]]), TypeError, "a mapping of columns, not ChunkedArray"),
        (pd.Series([1]), TypeError, "a mapping of columns, not Series"),
        (
            pa.table([[1, 2]] * 2, names=["mass"] * 2),
            ValueError,
            "the table has two columns 'mass'",
        ),
        ({"mass": ["a", "b"]}, TypeError, "PointMass.mass: wanted f32, not 'a'"),
        (pa.table({"mass": ["a", "b"]}), TypeError, "PointMass.mass: wanted f32, not 'a'"),
        (pa.table({"mass": [True, False]}), TypeError, "wanted f32, not an array of bool"),
        (pa.table({"mass": [1e300, 1]}), OverflowError, "PointMass.mass: 1e+300 does not fit"),
        (pa.table({"position": [[1, 2], [1, 2]]}), ValueError, "wanted lists of 3, not of 2"),
        (pa.table({"label": ["a", "b" * 25]}), ValueError, "takes 25 bytes of UTF-8"),
        (
            pa.table({"label": ["a", "b\0"]}),
            ValueError,
            r"has a NUL, wanted str[24] (at position 1)",
        ),
        (pa.table({"label": [b"a", b"b"]}), TypeError, "PointMass.label: wanted str[24], not b'a'"),
    ],
)
def test_what_does_not_fit(table: Any, error: type[Exception], message: str) -> None:
    w = world(0)
    es = w.entities.create_many(2)
    with pytest.raises(error) as caught:
        w.point_mass.create_many(es, table)
    assert message in str(caught.value)
    assert len(w.point_mass) == 0
    w.entities.destroy(es[0])
    with pytest.raises(g.StaleEntityError):
        w.point_mass.create_many(es, table)


def test_unknown_keywords() -> None:
    w = world(0)
    message = "create_many() got an unexpected keyword argument 'mas'; did you mean 'mass'?"
    for count in (1, 2, 40):
        with pytest.raises(TypeError) as caught:
            w.point_mass.create_many(w.entities.create_many(count), mas=1)
        assert message in str(caught.value)
    with pytest.raises(TypeError, match=r"SparkManager\.create_many"):
        w.spark.create_many(2, heatt=1)


def test_enums_by_name_or_number() -> None:
    w = g.World()
    members = [g.Mode(300), g.Mode(0), g.Mode(5)]
    names = [member.name for member in members]
    for table in (
        {"mode": names},
        {"mode": np.array(names)},
        {"mode": members},
        {"mode": pl.Series(names)},
        {"mode": pl.Series(names, dtype=pl.Categorical)},
        {"mode": pl.Series(names, dtype=pl.Enum(["unused", *names]))},
        {"mode": pd.Series(names)},
        {"mode": pd.Categorical(names)},
        pa.table({"mode": names}),
        pa.table({"mode": [int(member) for member in members]}),
        pl.DataFrame({"mode": names}),
    ):
        rows = w.every_type.create_many(w.entities.create_many(3), table)
        assert [w.every_type.mode(row) for row in rows] == members
    es = w.entities.create_many(2)
    for table in ({"mode": [names[0], "Wlk"]}, pl.DataFrame({"mode": [names[0], "Wlk"]})):
        with pytest.raises(ValueError, match=r"EveryType.mode: 'Wlk' is no member of Mode"):
            w.every_type.create_many(es, table)
    w.every_type.create_many(es[:0], mode=names[:0])
    w.every_type.create_many(es, {"mode": names[0], "modes": (names[0], names[1])})
    assert w.every_type.modes(len(w.every_type) - 1) == (members[0], members[1])


def test_dictionaries_of_chunks_differ() -> None:
    w = g.World()
    first = pa.array([g.Mode(5).name, g.Mode(0).name]).dictionary_encode()
    two = pa.array([g.Mode(0).name, g.Mode(300).name]).dictionary_encode()
    table = pa.table({"mode": pa.chunked_array([first, two])})
    w.every_type.create_many(w.entities.create_many(4), table)
    assert w.every_type.data.mode.tolist() == [5, 0, 0, 300]
    texts = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()] * 2)
    w.every_type.data.title = texts
    assert w.every_type.data.title.tolist() == [b"a", b"b"] * 2


def test_parts_of_split_fields_and_flat_tables() -> None:
    w = g.World()
    table = pl.DataFrame({"position_x": [1.0, 2.0], "position_y": [3, 4], "heat": [0.5, 0.5]})
    w.spark.create_many(2, table)
    assert [w.spark.position(row) for row in range(2)] == [(1.0, 3.0), (2.0, 4.0)]
    with pytest.raises(TypeError, match="'position_x'; did you mean 'position'"):
        w.spark.create_many(2, table.drop("position_y"))
    w.spark.create_many(2, {"position_x": 7, "position_y": [1, 2]})
    assert w.spark.position(3) == (7.0, 2.0)
    with pytest.raises(OverflowError, match=r"Spark.position"):
        w.spark.create_many(1, {"position_x": 1e300, "position_y": 0})


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("zxy", [[1, 2, 3], [4, 5, 6]]),
        ("201", [[1, 2, 3], [4, 5, 6]]),
        ("cab", [[3, 1, 2], [6, 4, 5]]),
    ],
)
def test_elements_in_columns_go_by_their_names(names: str, wanted: list[list[int]]) -> None:
    """Of structs, and of tables; if these are not names of axes, they are taken as they come."""
    w = world(2)
    values = dict(zip(names, ([3, 6], [1, 4], [2, 5]), strict=True))
    table, frame = pa.table(values), pl.DataFrame(values)
    structs = table.to_struct_array(), frame.to_struct("cells")
    for cells in (*structs, table, frame, pd.DataFrame(values)):
        w.point_mass.data.position = 0
        w.point_mass.data.position = cells
        assert w.point_mass.data.position.tolist() == wanted


@pytest.mark.parametrize(
    ("type", "type_of_text"),
    [
        (pa.binary(), pa.string()),
        (pa.large_binary(), pa.large_string()),
        (pa.binary_view(), pa.string_view()),
    ],
)
def test_bytes_of_any_length_are_padded_and_text_is_none(type: Any, type_of_text: Any) -> None:
    w = world(3)
    w.every_type.data.digest = pa.array([b"none", b"a", b"", b"b\0c"], type)[1:]
    assert [w.every_type.digest(row).rstrip(b"\0") for row in range(3)] == [b"a", b"", b"b\0c"]
    with pytest.raises(ValueError, match=r"has 99 bytes, wanted bytes\[\d+\] \(at position 1\)"):
        w.every_type.data.digest = pa.array([b"", b"x" * 99, b""], type)
    with pytest.raises(TypeError, match=r"EveryType.digest: wanted bytes\[\d+\], not 'a' \(str\)"):
        w.every_type.data.digest = pa.array(["a", "b", "c"], type_of_text)


@pytest.mark.parametrize("name", ["scene_node", "kin"])
def test_tables_and_parents(name: str) -> None:
    w = g.World()
    m = getattr(w, name)
    roots = m.create_many(w.entities.create_many(2))
    table = pa.table(m.data)
    rows = m.create_many(w.entities.create_many(2), table, parents=roots[::-1])
    assert [m.parent(row) for row in rows] == roots[::-1].tolist()
    with pytest.raises(TypeError, match="unexpected keyword"):
        m.create_many(w.entities.create_many(2), no_field=1, parents=roots)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4), max_size=9
    ),
    st.integers(0, 4),
)
def test_text_as_it_was(texts: list[str], start: int) -> None:
    column = pa.array(texts)[start:]
    w = g.World()
    for given_column in (column, pl.Series(column), column.cast(pa.large_string())):
        w.every_type.create_many(w.entities.create_many(len(column)), title=given_column)
        rows = range(len(w.every_type) - len(column), len(w.every_type))
        assert [w.every_type.title(row) for row in rows] == texts[start:]
    table = pa.table(w.every_type.data)
    assert table["title"].to_pylist() == texts[start:] * 3
    w.every_type.data.digest = pa.array([text.encode()[:4] for text in texts[start:] * 3])
    cells = [text.encode()[:4].ljust(4, b"\0") for text in texts[start:]]
    assert [w.every_type.digest(row) for row in range(len(cells))] == cells


def test_dlpack_shares_numbers_and_bools() -> None:
    w = world(3)
    for column in (w.point_mass.data.position, w.every_type.data.flag, w.every_type.data.mode):
        seen = np.from_dlpack(column)
        assert seen.__array_interface__["data"] == column.__array_interface__["data"]
        seen[...] = 1
        assert (column == 1).all()
    for name in ("mass", "position"):  # jax shares memory that starts on 64 bytes
        assert getattr(w.point_mass.data, name).ctypes.data % 64 == 0
    assert not w.point_mass.data.entity.flags.writeable


BY_COUNT = r"; managers take tables by create_many\(len\(df\), df\)$"
BY_ENTITIES = r"; managers take tables by create_many\(entities, df\)$"
ONE_COLUMN = pa.table({"mass": [1.0, 2.0]})


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_in_place_of_a_count(library: str) -> None:
    w: Any = g.World()
    frame = LIBRARIES[library](ONE_COLUMN)
    kind = type(frame).__name__
    wanted = rf"^SparkManager: wanted a number of instances, not {kind}{BY_COUNT}"
    with pytest.raises(TypeError, match=wanted):
        w.spark.create_many(frame)
    wanted = rf"^wanted a number of entities, not {kind}{BY_ENTITIES}"
    calls = [w.spawn, w.spawn_prop, w.entities.create_many]
    for call in (*calls, partial(w.archetypes.create, [g.Armor])):
        with pytest.raises(TypeError, match=wanted):
            call(frame)
    with pytest.raises(
        TypeError, match=rf"Transform takes a dict of its fields, not {kind}{BY_ENTITIES}"
    ):
        w.spawn(2, transform=frame)
    assert (len(w), len(w.spark)) == (0, 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_in_place_of_entities(library: str) -> None:
    w = world()
    frame = LIBRARIES[library](ONE_COLUMN)
    wanted = rf"^expected .* of entities, not {type(frame).__name__}{BY_ENTITIES}"
    calls = [w.point_mass.create_many, w.point_mass.lookup_many, w.point_mass.remove_many]
    calls += [w.destroy_many, w.destroy_later, w.entities.alive_many]
    for call in (*calls, lambda es: w.archetypes.add_many(es, g.Armor()), w.signatures):
        with pytest.raises(TypeError, match=wanted):
            call(frame)
    assert (len(w), len(w.point_mass)) == (3, 3)


def test_columns_in_place_of_a_count_or_entities() -> None:
    w = world()
    by = r"; managers take tables by create_many"
    with pytest.raises(TypeError, match=rf"not dict{by}\(n, columns\)$"):
        w.spark.create_many({"heat": [1, 2]})
    with pytest.raises(TypeError, match=rf"not dict{by}\(entities, columns\)$"):
        w.point_mass.create_many({"mass": [1, 2]})
    for other in (None, "3", 2.0, [1], iter([1]), np.arange(3), pl.Series([1])):
        with pytest.raises(TypeError, match=rf"a number of instances, not {type(other).__name__}$"):
            w.spark.create_many(other)
        with pytest.raises(TypeError, match=rf"a number of entities, not {type(other).__name__}$"):
            w.spawn(other)


def test_a_lazy_frame_is_collected_first() -> None:
    w = world()
    frame = pl.LazyFrame({"mass": [1.0, 2.0, 3.0]})
    es = w.point_mass.data.entity.tolist()
    m, spark = w.point_mass, w.spark
    spark.create_many(2)
    calls: list[Callable[[Any], object]] = [
        m.create_many,
        partial(m.create_many, es),
        m.lookup_many,
        m.destroy_many,
        m.sort,
        m.reorder,
        spark.create_many,
        partial(spark.create_many, 2),
        spark.resolve_many,
        spark.destroy_id_many,
        spark.activate_many,
        w.spawn,
        w.destroy_many,
        w.destroy_later,
        partial(w.archetypes.create, [g.Armor]),
        lambda frame: w.spawn(3, point_mass=frame),
        lambda frame: w.spawn(3, point_mass={"mass": frame}),
        lambda frame: m.create_many(es, mass=frame),
        lambda frame: setattr(m.data, "mass", frame),
        lambda frame: w.celestial_body.kick(frame),
        lambda frame: w.celestial_body.kick(1, rows=frame),
        lambda frame: w.scene_node.set_parent_many([0], frame),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"not .*LazyFrame.*; \.collect\(\) it first$"):
            call(frame)
    assert (len(w), len(m), len(spark)) == (3, 3, 2)


def test_ids_and_rows_that_are_none() -> None:
    w = world()
    for wrong in (None, 3.5, "abc", {"a": 1}, iter([1])):
        kind = type(wrong).__name__
        for call in (w.spark.resolve_many, w.spark.destroy_id_many):
            with pytest.raises(TypeError, match=rf"an array or a sequence of ids, not {kind}$"):
                call(wrong)
        for call in (w.point_mass.destroy_many, w.spark.id_of_many, w.spark.activate_many):
            with pytest.raises(
                TypeError, match=rf"rows must be an array or a sequence, not {kind}$"
            ):
                call(wrong)
    with pytest.raises(TypeError, match="ids are integers, not float64"):
        w.spark.resolve_many(np.ones(2))
    for call, what in ((w.spark.resolve_many, "ids are"), (w.spark.activate_many, "rows must be")):
        with pytest.raises(TypeError, match=f"{what} integers: 'float' object"):
            call([1.5])


def test_rows_of_components_in_place_of_entities_or_rows() -> None:
    w = world()
    ragged = [g.PointMass()]
    for call in (w.point_mass.create_many, w.destroy_many, w.destroy_later, w.point_mass.has_many):
        with pytest.raises(
            ValueError, match=r"^expected a flat array of entities, not \[PointMass\("
        ):
            call(ragged)
    for call in (w.point_mass.destroy_many, w.point_mass.reorder):
        with pytest.raises(ValueError, match=r"must be a flat array, not \[PointMass\("):
            call(ragged)
