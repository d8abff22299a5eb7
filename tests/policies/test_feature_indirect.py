"""cold: indirect: managers of several policies against a model that knows who has a cold row."""

from __future__ import annotations

import copy
import pickle
import struct
import warnings
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.policies.cold import differing, picked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.layout import layout
from ecsgen.layout_text import table
from tests.support.soak import examples
from tests.support.world_package import load, world_package

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
DEFAULTS: dict[str, Any] = {
    "loot": 1,
    "chance": struct.unpack("f", struct.pack("f", 0.1))[0],
    "home": (1.0, float("nan"), -0.0),
    "name": "ork é",
    "code": b"EC\0\0",
    "note": None,
    "where": (1.0, 2.0),
    "target": 0,
}
OTHERS: dict[str, list[Any]] = {
    "loot": [0, 255],
    "chance": [0.0, -0.0, 1.0],
    "home": [(1.0, float("nan"), 0.0), (0.0, 0.0, 0.0)],
    "name": ["", "troll"],
    "code": [b"\0\0\0\0", b"ABCD"],
    "note": ["x", 0, ()],
    "where": [(1.0, -2.0), (0.0, 2.0)],
    "target": [1, 2**64 - 1],
}


def bits(value: Any) -> Any:
    """A value that compares bit for bit."""
    if isinstance(value, tuple) and value:
        return tuple(map(bits, value))
    return struct.pack("d", value) if isinstance(value, float) else value


def package() -> ModuleType:
    """The world of all components under test."""
    return world_package(TEXT, "indirect")


def make(name: str) -> tuple[Any, Any]:
    """A manager, and its entities if it has some."""
    world = package().World()
    return getattr(world, name.lower()), world.entities


class Model:
    """A manager beside a dict from serial number to cold values."""

    def __init__(self, name: str, random: Random) -> None:
        self.manager, self.entities = make(name)
        self.policies = POLICIES[name]
        self.random = random
        self.owned = "owner: none" not in self.policies
        self.values: dict[float, dict[str, Any]] = {}
        self.owners: dict[float, int] = {}
        self.touched: set[float] = set()
        self.serial = 0.0

    def drawn(self) -> dict[str, Any]:
        chosen = {name: self.random.choice(others) for name, others in OTHERS.items()}
        kept = {n: v for n, v in chosen.items() if self.random.random() < 0.15}
        if self.random.random() < 0.2:  # the default, given
            name = self.random.choice(list(DEFAULTS))
            kept[name] = DEFAULTS[name]
        return kept

    def add(self, given: dict[str, Any], owner: int) -> float:
        self.serial += 1
        self.values[self.serial] = DEFAULTS | given
        self.owners[self.serial] = owner
        if any(bits(v) != bits(DEFAULTS[n]) for n, v in given.items()):
            self.touched.add(self.serial)
        return self.serial

    def create(self) -> None:
        given = self.drawn()
        owner = [self.entities.create()] if self.owned else []
        serial = self.add(given, *(owner or [0]))
        self.manager.create(*owner, serial=serial, **given)

    def create_many(self) -> None:
        count = self.random.randrange(5)
        owners = self.entities.create_many(count) if self.owned else np.zeros(count, int)
        given = [self.drawn() for _ in range(count)]
        serials = [self.add(g, int(o)) for g, o in zip(given, owners, strict=True)]
        names = {name for g in given for name in g}
        columns = {n: [(DEFAULTS | g)[n] for g in given] for n in names}
        who = owners if self.owned else count
        self.manager.create_many(who, serial=serials, **columns)

    def create_from_views(self) -> None:
        cold = self.manager.data.cold
        if not (0 < cold.n < 40):
            return
        count = cold.n
        owners = self.entities.create_many(count) if self.owned else np.zeros(count, int)
        given = [
            {"loot": int(a), "home": tuple(map(float, b))}
            for a, b in zip(cold.loot, cold.home, strict=True)
        ]
        serials = [self.add(g, int(o)) for g, o in zip(given, owners, strict=True)]
        who = owners if self.owned else count
        self.manager.create_many(who, serial=serials, loot=cold.loot, home=cold.home)

    def set(self) -> None:
        if len(self.manager):
            row = self.random.randrange(len(self.manager))
            serial = self.manager.serial(row)
            name = self.random.choice(list(DEFAULTS))
            value = self.random.choice([DEFAULTS[name], *OTHERS[name]])
            getattr(self.manager, f"set_{name}")(row, value)
            self.values[serial][name] = value
            if bits(value) != bits(DEFAULTS[name]):
                self.touched.add(serial)

    def assign(self) -> None:
        cold = self.manager.data.cold
        cold.loot = 7
        cold.loot += 1
        for serial in self.touched:
            self.values[serial]["loot"] = 8

    def forget(self, rows: list[int]) -> None:
        for row in rows:
            serial = self.manager.serial(row)
            del self.values[serial], self.owners[serial]
            self.touched.discard(serial)

    def destroy(self) -> None:
        if len(self.manager):
            row = self.random.randrange(len(self.manager))
            self.forget([row])
            self.manager.destroy(row)

    def destroy_many(self) -> None:
        n = len(self.manager)
        rows = self.random.sample(range(n), self.random.randrange(n // 2 + 1))
        self.forget(rows)
        self.manager.destroy_many(rows)

    def kill(self) -> None:
        if self.owned and len(self.manager):
            rows = self.random.sample(range(len(self.manager)), min(3, len(self.manager)))
            gone = {self.manager.entity(row) for row in rows}
            self.entities.destroy_many([entity for entity in gone if self.entities.alive(entity)])
            if "callback" in self.policies:
                self.survive()

    def survive(self) -> None:
        for serial in list(self.values):
            if not self.entities.alive(self.owners[serial]):
                del self.values[serial], self.owners[serial]
                self.touched.discard(serial)

    def collect(self) -> None:
        if hasattr(self.manager, "collect"):
            self.manager.collect()
            self.survive()

    def permute(self) -> None:
        if "partition" not in self.policies and self.random.random() < 0.5:
            self.manager.reorder(self.random.sample(range(len(self.manager)), len(self.manager)))
            return
        name = self.random.choice(["serial", "loot", "chance", "name", "target"])
        self.manager.sort(name)
        bound = getattr(self.manager, "n_active", 0)
        read = getattr(self.manager, name)
        for part in (range(bound), range(bound, len(self.manager))):
            found = [read(row) for row in part]
            assert found == sorted(found)

    def switch(self) -> None:
        if hasattr(self.manager, "activate") and len(self.manager):
            rows = self.random.sample(range(len(self.manager)), (len(self.manager) + 1) // 2)
            change = self.random.choice(["activate", "deactivate"])
            getattr(self.manager, f"{change}_many")(rows)
            getattr(self.manager, change)(self.random.randrange(len(self.manager)))

    def shrink(self) -> None:
        self.manager.shrink_to_fit()
        if "growth" not in self.policies:
            cold = self.manager.data.cold
            assert cold.allocated == -(-cold.n // 64) * 64
            assert len(cold.buffer) % 4096 == 0

    def reload(self) -> None:
        saved = (self.entities, self.manager)
        again = copy.deepcopy(saved) if self.random.random() < 0.5 else pickle.dumps(saved)
        self.entities, self.manager = pickle.loads(again) if isinstance(again, bytes) else again

    def check(self) -> None:
        manager, cold = self.manager, self.manager.data.cold
        serials = [manager.serial(row) for row in range(len(manager))]
        assert sorted(serials) == sorted(self.values)
        assert cold.row.tolist() == [serials.index(s) for s in self.cold_serials(serials)]
        assert {serials[row] for row in cold.row} == self.touched
        assert len(set(cold.row.tolist())) == cold.n == len(cold.loot)
        for row, serial in enumerate(serials):
            found = manager.row(row)
            for name, value in self.values[serial].items():
                assert bits(getattr(found, name)) == bits(value), (name, row)
        for place, row in enumerate(cold.row):
            expected = self.values[serials[row]]
            assert cold.loot[place] == expected["loot"]
            assert (cold.where_x[place], cold.where_y[place]) == expected["where"]
            assert cold.note[place] == expected["note"]
        assert all(cell is None for cell in cold._note_column[cold.n :])

    def cold_serials(self, serials: list[float]) -> list[float]:
        return [serials[row] for row in self.manager.data.cold.row]


STEPS = [
    *[Model.create, Model.create_many, Model.set, Model.set] * 2,
    *(Model.create_from_views, Model.assign, Model.destroy, Model.destroy_many, Model.kill),
    *(Model.collect, Model.permute, Model.switch, Model.shrink, Model.reload),
]


@pytest.mark.parametrize("name", POLICIES)
@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(seed=st.integers(0, 2**32))
def test_against_model(name: str, seed: int) -> None:
    random = Random(seed)
    model = Model(name, random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(40):
            random.choice(STEPS)(model)
            model.check()
        model.manager.clear()
    assert model.manager.data.cold.n == 0


def test_default_values_take_no_cold_row() -> None:
    manager, entities = make("Plain")
    row = manager.create(entities.create(), home=(1, np.float64("nan"), -0.0), code=b"EC")
    manager.create_many(entities.create_many(3), chance=np.float32(0.1), name=["ork é"] * 3)
    manager.set_home(row, np.array([1, np.nan, -0.0]))
    manager.set_chance(row, 0.1)
    assert manager.data.cold.n == manager.data.cold.allocated == 0
    manager.set_chance(row, 0.2)
    manager.set_chance(row, 0.1)
    assert manager.data.cold.row.tolist() == [row]
    assert manager.loot(row) == 1
    assert manager.where(row) == (1.0, 2.0)


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
    given: list[np.ndarray[Any, Any]] = [
        columns,
        columns.copy(order="F"),
        np.repeat(columns, 2, axis=0)[::2],
        columns[:1],
        columns[..., :1],
        default + 1,
        default[..., -1:],
    ]
    for values in given:
        whole = np.broadcast_to(values, (count, *shape))
        expected = [cell.tobytes() != default.tobytes() for cell in whole]
        found = differing({"home": values}, {"home": default}, count)
        assert found.tolist() == expected
        wanted = np.flatnonzero(found)
        cells = picked(values, (count, *shape), wanted)
        assert np.array_equal(
            np.broadcast_to(cells, (len(wanted), *shape)), whole[wanted], equal_nan=True
        )


def test_refused_values_take_no_cold_row() -> None:
    manager, entities = make("Plain")
    row = manager.create(entities.create())
    with pytest.raises(OverflowError):
        manager.set_loot(row, 256)
    with pytest.raises(OverflowError):
        manager.create_many(entities.create_many(2), loot=[1, 256])
    with pytest.raises(TypeError):
        manager.create(entities.create(), loot=0, name=3)
    assert manager.data.cold.n == 0
    assert len(manager) == 1


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
    names = [column.name for column in manager.LAYOUT]
    assert names == ["entity", "serial", "goal", "cold_row"]
    cold = [column.name for column in manager.LAYOUT_COLD]
    assert cold == ["row", "loot", "chance", "home", "name", "code", "where_x", "where_y", "target"]
    manager.create(entities.create())
    manager.create(entities.create(), loot=3)
    assert manager.data.tagged("cold").loot.tolist() == [3]
    assert manager.data.tagged("hot").serial.tolist() == [0.0, 0.0]
    assert not hasattr(manager.data, "loot")
    with pytest.raises(ValueError, match="read-only"):
        manager.data.cold.row[0] = 0
    with pytest.raises(AttributeError):
        manager.data.cold = None
    for column in manager.LAYOUT_COLD[1:]:
        view = getattr(manager.data.cold, column.name)
        assert view.__array_interface__["data"][0] % 64 == 0
    assert np.may_share_memory(manager.data.cold.loot, manager.data.cold.buffer)


def test_bytes_are_counted() -> None:
    manager, entities = make("Plain")
    manager.create(entities.create())
    before = manager.nbytes
    manager.set_loot(0, 3)
    cold = manager.data.cold
    assert manager.nbytes == before + cold.buffer.nbytes + cold._note_column.nbytes


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
    plan = layout(component)
    assert plan.cold is not None
    assert plan.row_bytes == 28
    assert plan.cold.row_bytes == 4 + 1 + 4 + 12 + 8 + 4 + 16 + 8
    hot, cold = table(plan).split("\n\n")
    assert "cold_row" in hot
    assert "loot" not in hot
    assert cold.startswith("cold column")
    assert "note" in cold
    assert f"{plan.cold.row_bytes} bytes per row" in cold
