"""Fields of times: what they take and refuse, and where NaT goes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ecsgen_runtime.base.errors import DuplicateValueError, SnapshotError

from ecsgen.inspector.json_values import given_fields, json_column
from tests.support.world_package import world_package

SCHEMA = """\
component: Event
fields:
  at: {type: "datetime[UNIT]", default: "2024-01-31T08:30"}
  took: {type: "timedelta[s]", default: 5}
---
component: Log
owner: none
ids: true
fields:
  at: {type: "datetime[s]", unique: true}
  by: {type: "timedelta[us]", index: true}
---
component: Fact
cold: indirect
fields:
  hp: f32
  at: {type: "datetime[us]", tags: [cold], default: 2020-01-01}
---
world: Times
settings:
  start: {type: "datetime[ms]", default: 2024-01-01}
  step: "timedelta[ms]"
"""
NAT = np.array(-(2**63)).view("M8")[()]
"""`np.datetime64("NaT")`, of which newer versions of numpy warn."""


def times(unit: str = "ms") -> Any:
    return world_package(SCHEMA.replace("UNIT", unit), f"times_{unit}").Times


@pytest.fixture
def world() -> Any:
    world = times()()
    world.event.create_many(world.entities.create_many(3))
    return world


def ms(text: str) -> np.datetime64:
    return np.datetime64(text, "ms")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.datetime64("2024-02", "M"), "2024-02-01"),
        (np.datetime64("2024-02-03T04:05:06.007000", "us"), "2024-02-03T04:05:06.007"),
        (datetime(2024, 2, 3, 4, 5, 6, 7000), "2024-02-03T04:05:06.007"),
        (date(2024, 2, 3), "2024-02-03"),
        ("2024-02-03 04:05", "2024-02-03T04:05"),
        ("2024-02-03T04:05:06.700", "2024-02-03T04:05:06.7"),
        ("1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999"),
        (pd.Timestamp("2024-02-03"), "2024-02-03"),
        (pd.NaT, "NaT"),
        (None, "NaT"),
        ("NaT", "NaT"),
    ],
)
def test_times_are_taken_if_they_are_exact(world: Any, value: Any, stored: str) -> None:
    world.event.set_at(0, value)
    assert repr(world.event.at(0)) == repr(ms(stored))
    world.event.data.at = [value, None, value]
    assert list(map(repr, world.event.data.at)) == list(map(repr, map(ms, (stored, "NaT", stored))))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (5, TypeError, "wanted datetime"),
        (True, TypeError, "wanted datetime"),
        (np.timedelta64(1, "s"), TypeError, "wanted datetime"),
        ("now", ValueError, "no time such as"),
        ("2024-02-30", ValueError, "no time such as"),
        ("2024-01-01T00:00:00Z", ValueError, "has a zone"),
        (datetime(2024, 1, 1, tzinfo=UTC), ValueError, "has a zone"),
        ("2024-01-01T00:00:00.0001", ValueError, "not exact"),
        (np.datetime64(1, "us"), ValueError, "not exact"),
        (np.datetime64("300000000-01-01"), OverflowError, "too far"),
        ("292299026-01-01", OverflowError, "too far"),
    ],
)
def test_no_time_is_changed_silently(
    world: Any, value: Any, error: type[Exception], message: str
) -> None:
    before = world.event.data.at.copy()
    for call in (
        lambda: world.event.set_at(0, value),
        lambda: setattr(world.event.data, "at", ["2024-01-01", "2024-01-01", value]),
        lambda: setattr(world.settings, "start", value),
    ):
        with pytest.raises(error, match=message):
            call()
    assert (world.event.data.at == before).all()


def test_arrays_are_as_exact_as_single_times(world: Any) -> None:
    data = world.event.data
    data.took = np.array([1, 2, 3], "m8[m]")
    assert data.took.tolist() == [timedelta(minutes=n) for n in (1, 2, 3)]
    with pytest.raises(ValueError, match=r"not exact in timedelta\[s\] \(at position 1\)"):
        data.took = np.array([1000, 1], "m8[ms]")[[0, 1, 1]]
    with pytest.raises(OverflowError, match="too far"):
        data.took = [timedelta(1), np.timedelta64(2**62, "W"), None]
    with pytest.raises(TypeError, match="not an array of int64"):
        data.at = np.arange(3)
    mixed = [np.timedelta64(10**17, "s"), np.timedelta64(2 * 10**9, "ns"), timedelta(seconds=3)]
    data.took = mixed
    assert data.took.astype(np.int64).tolist() == [10**17, 2, 3]


def test_nulls_of_other_libraries_are_nat_and_back(world: Any) -> None:
    data = world.event.data
    data.at = pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"]))
    data.took = pa.array([1, None, 3], pa.duration("s"))
    assert np.isnat(data.at).tolist() == np.isnat(data.took).tolist() == [False, True, False]
    batch = data.to_arrow()
    assert (batch["at"].type, batch["took"].type) == (pa.timestamp("ms"), pa.duration("s"))
    assert batch["at"].null_count == 1
    assert batch["at"].buffers()[1].address == data.at.ctypes.data
    world.event.create_many(world.entities.create_many(3), batch.drop_columns(["entity"]))
    assert (data.at[3:].view(np.int64) == data.at[:3].view(np.int64)).all()
    with pytest.raises(ValueError, match="has a zone"):
        data.at = pa.array([0] * 6, pa.timestamp("s", "UTC"))


def test_nat_is_last_in_order_and_equals_nothing(world: Any) -> None:
    world.event.data.at = [None, "2021-01-01", "2020-01-01"]
    world.event.sort("at")
    assert np.isnat(world.event.data.at).tolist() == [False, False, True]
    log = world.log
    for at in ("2020-01-01", "2020-01-02", None, None):
        log.create(at=at, by=timedelta(1) if at else None)
    assert log.find_at_many([None, "2020-01-02"]).tolist() == [2**32 - 1, 1]
    assert log.rows_of_by(timedelta(1)).tolist() == [0, 1]
    assert len(log.rows_of_by(None)) == 0
    with pytest.raises(DuplicateValueError, match="2020-01-02T00:00:00"):
        log.set_at(0, "2020-01-02")
    log.set_at(0, None)
    log.data.at = ["2020-01-03", None, "2020-01-01", None]
    assert log.find_at("2020-01-01") == 2


def test_changes_compare_nat_by_bits(world: Any) -> None:
    world.event.data.at = [None, None, "2020-01-01"]
    reader = world.event.changes("at")
    world.event.data.at = [None, "2020-01-01", "2020-01-01"]
    assert reader.read().changed("at").tolist() == [1]


def test_worlds_are_saved_and_other_units_load_if_they_are_exact(world: Any) -> None:
    world.event.data.at = ["2020-01-01T00:00:00.5", None, "2021-01-01"]
    world.log.create()
    world.log.create()
    world.fact.create(world.entities.create())
    world.fact.create(world.entities.create(), at=None)
    world.settings.step = timedelta(milliseconds=16)
    saved = world.to_bytes()
    again = times().load(saved)
    assert again.to_bytes() == saved
    assert again.settings.step == np.timedelta64(16, "ms")
    assert list(map(repr, map(again.fact.at, (0, 1)))) == [
        repr(np.datetime64("2020-01-01T00:00:00.000000")),
        repr(np.datetime64("NaT", "us")),
    ]
    finer = times("ns").load(saved)
    assert np.array_equal(finer.event.data.at, world.event.data.at, equal_nan=True)
    assert times().load(finer.to_bytes()).to_bytes() == saved
    with pytest.raises(SnapshotError, match=r"does not fit datetime\[s\]"):
        times("s").load(saved)
    world.event.set_at(0, None)
    assert np.isnat(times("s").load(world.to_bytes()).event.data.at).tolist() == [True, True, False]


def test_a_migration_reads_and_sets_times_of_numpy(world: Any) -> None:
    world.event.data.at = ["2020-01-01T00:00:01", None, "2021-01-01"]
    wanted = world.event.data.at.copy()

    def move(old: Any) -> None:
        event = old["Event"]
        assert event["at"].dtype == np.dtype("M8[ms]")
        event["at"][0] += np.timedelta64(1, "s")
        at = event.pop("at")
        event["at"] = at.astype("M8[s]")
        with pytest.raises(TypeError, match=r"no field holds datetime64\[D\]"):
            event["day"] = at.astype("M8[D]")
        event["number"] = at.view(np.int64)
        del event["number"]
        old.add("Moved", event.entity, at=at, taken=at - at[0])

    fields = 'fields: {at: "datetime[us]", taken: "timedelta[ms]"}'
    schema = SCHEMA.replace("UNIT", "ms") + f"---\ncomponent: Moved\n{fields}\n"
    new = world_package(schema, "times_moved").Times.load(world.to_bytes(), migrate=move)
    wanted[0] += np.timedelta64(1, "s")
    for component in (new.event, new.moved):
        assert np.array_equal(component.data.at, wanted, equal_nan=True)
    assert np.array_equal(new.moved.data.taken, wanted - wanted[0], equal_nan=True)


def test_json_has_iso_text_and_null(world: Any) -> None:
    fields = {field.name: field for field in world.event.data.FIELDS}
    cells = np.array(["2020-01-01", "NaT"], "M8[ms]")
    assert json_column(cells, fields["at"]) == ["2020-01-01T00:00:00.000", None]
    spans = np.array([5, -90, "NaT"], "m8[s]")
    assert json_column(spans, fields["took"]) == ["PT5S", "-PT90S", None]
    for text, seconds in (("PT7S", 7), (7, 7), ("-P1DT2H", -93_600), ("PT1M0.0S", 60)):
        value = given_fields({"at": "2020-01-01", "took": text}, fields)
        world.event.set_at(0, value["at"])
        world.event.set_took(0, value["took"])
        assert world.event.row(0) == (ms("2020-01-01"), np.timedelta64(seconds, "s"))
    for text, message in (
        ("5", "'5' is no timedelta such as 'PT1.5S'"),
        ("PT", "is no timedelta"),
        ("PT0.5S", "is not exact in timedelta"),
        ("P99999999999999999999D", "too far for timedelta"),
    ):
        with pytest.raises(ValueError, match=message):
            given_fields({"took": text}, fields)


TABLE = """\
component: Event
fields:
  at: {type: "datetime[ms]", index: true, default: 2024-01-01}
  took: {type: "timedelta[ns]", default: 1500000000}
---
component: Mark
fields: {at: "datetime[s]"}
---
world: Logged
archetypes: {chunk: 2048, components: [Mark]}
shards: {}
settings: {now: "datetime[ms]", step: {type: "timedelta[ms]", default: 1000}}
schedule:
  day:
  - {set: settings.now, to: settings.now + settings.step * 60}
  - tick
  - log
  - marks
  - late
records:
  log: {rows: Event, fields: [at, took]}
  marks: {rows: marked, fields: [Mark.at]}
  late: {after: {count: Event, where: Event.at > settings.now}}
queries: {marked: {all: [Mark]}}
"""


@pytest.fixture(scope="module")
def logged() -> Any:
    return world_package(TABLE, "logged_times")


def test_tables_have_times_in_memory_arrow_pandas_and_files(logged: Any, tmp_path: Path) -> None:
    world = logged.Logged()
    world.spawn(2, event={"at": ["2024-02-01", None]})
    world.archetypes.create([logged.Mark], n=1, mark={"at": "2024-03-01"})
    world.settings.now = "2023-12-31T23:59"
    world.records.open(tmp_path, "csv", lines=1)
    world.day()
    assert (tmp_path / "0" / "log" / "00000.csv").read_text().splitlines()[1:] == [
        f"1,{world.event.entity(0)},2024-02-01T00:00:00.000,PT1.5S",
        f"1,{world.event.entity(1)},,PT1.5S",
    ]
    assert (tmp_path / "0" / "marks" / "00000.csv").read_text().endswith(",2024-03-01T00:00:00\n")
    world.records.close()
    world.day()
    log = world.records.log
    assert (log.at.dtype, log.took.dtype) == (np.dtype("M8[ms]"), np.dtype("m8[ns]"))
    assert log.to_arrow().schema.field("at").type == pa.timestamp("ms")
    assert log.to_arrow()["at"].null_count == 1
    assert log.to_pandas().took.tolist() == [pd.Timedelta(1.5, "s")] * 2
    assert world.records.late.after.tolist() == [1]
    assert world.settings.now == np.datetime64("2024-01-01T00:01")


def test_times_go_to_other_shards(logged: Any) -> None:
    world, other = logged.Logged(shard=0), logged.Logged(shard=1)
    entities = world.spawn(3, event={"at": ["2024-02-01", None, "2024-03-01"], "took": None})
    other.absorb(logged.Parcel(bytes(world.extract(entities[:2]))))
    assert len(world.event) == 1
    assert other.event.data.at.astype(str).tolist() == ["2024-02-01T00:00:00.000", "NaT"]
    assert np.isnat(other.event.data.took).all()
    assert other.event.rows_of_at("2024-02-01").tolist() == [0]
