"""Columns of text and enums compare with text as what they are, or raise."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from copy import deepcopy
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.values.field_types import TextField
from hypothesis import given
from hypothesis import strategies as st

from tests.support.world_package import world_package

SCHEMA = """
enum: Pace
values: [slow, fast, idle]
---
enum: Effects
flags: true
values: [wet, cold]
---
component: Town
fields:
  city: "str[12]"
  pace: Pace
  effects: Effects
  paces: "Pace[2]"
  code: "bytes[4]"
  nick: {type: "str[8]", index: true}
  far: {type: "str[8]", tags: [cold]}
cold: indirect
partition: {start: active}
---
component: Chunky
fields: {city: "str[12]", pace: Pace}
---
component: Place
fields: {city: "str[12]"}
---
component: Thing
fields: {pace: Pace}
---
world: Map
archetypes: {components: [Chunky]}
groups: {placed: [Place, Thing]}
queries: {towns: {all: [Town], optional: [Place]}, chunks_of: {all: [Chunky]}}
"""
CITIES = ["Paris", "Rome", "", "Zürich", "Paris"]
OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "comparisons")


@pytest.fixture
def world(package: ModuleType) -> Any:
    world = package.Map()
    paces = ["slow", "fast", "idle", "fast", "slow"]
    town = {"city": CITIES, "pace": paces, "nick": CITIES, "far": CITIES, "effects": "wet"}
    world.spawn(5, town=town, place={"city": CITIES}, thing={"pace": paces})
    world.spawn(5, chunky={"city": CITIES, "pace": paces})
    return world


def hits(column: Any, text: str) -> list[int]:
    return np.flatnonzero(column == text).tolist()


def test_wherever_columns_are_read(world: Any) -> None:
    data = world.town.data
    columns = [data.city, data.active.city, data.nick, world.towns.town.city]
    columns += [world.towns.place.city, world.placed.place.city, data.tagged("hot").city]
    columns += [getattr(world.towns.town, "nick"), data.city.copy(), data.city[::1]]  # noqa: B009
    columns += [chunk.chunky.city for chunk in world.chunks_of.chunks()]
    for column in columns:
        assert hits(column, "Paris") == [0, 4]
        assert hits(column, "Zürich") == [3]
    assert hits(data.cold.far, "Paris") == [0, 3]  # the default has no cell
    paces = [data.pace, data.active.pace, world.towns.town.pace, world.placed.thing.pace]
    paces += [chunk.chunky.pace for chunk in world.chunks_of.chunks()]
    for column in paces:
        assert hits(column, "fast") == [1, 3]
        with pytest.raises(ValueError, match=r"pace: 'fats' is no member of Pace.*'fast'"):
            column == "fats"  # noqa: B015


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
    ),
    st.text(max_size=3),
    st.sampled_from(OPERATORS),
)
def test_order_of_code_points(texts: list[str], other: str, compare: Callable[..., Any]) -> None:
    field = TextField("C.f", 12)
    column = field.comparable(np.broadcast_to(field.to_column(texts, len(texts)), len(texts)))
    assert compare(column, other).tolist() == [compare(text, other) for text in texts]
    assert compare(other, column).tolist() == [compare(other, text) for text in texts]
    assert type(compare(column, other)) is np.ndarray


@pytest.mark.parametrize("compare", OPERATORS)
def test_sequences_and_arrays_of_text(world: Any, compare: Callable[..., Any]) -> None:
    city, others = world.town.data.city, ["Paris", "Z", "a", "Zürich", "Pari"]
    expected = [compare(text, other) for text, other in zip(CITIES, others, strict=True)]
    dtypes: list[Any] = [np.dtypes.StringDType(), object, "U9"]
    for values in (others, tuple(others), *(np.array(others, dtype) for dtype in dtypes)):
        assert compare(city, values).tolist() == expected
    encoded = np.array([other.encode() for other in others])
    assert compare(city, encoded).tolist() == expected
    assert compare(city, b"Rome").tolist() == [compare(t.encode(), b"Rome") for t in CITIES]
    assert compare(city, city).tolist() == [compare(text, text) for text in CITIES]


def test_functions(world: Any) -> None:
    city, pace = world.town.data.city, world.town.data.pace
    assert np.equal(city, "Rome").tolist() == [False, True, False, False, False]
    assert np.isin(city, ["Rome", "Zürich"]).tolist() == [False, True, False, True, False]
    assert np.isin(city, "Rome", invert=True).tolist() == [True, False, True, True, True]
    assert np.isin(["Rome", "Oslo"], city).tolist() == [True, False]
    assert np.isin(pace, ["slow", "idle"]).tolist() == [True, False, True, False, True]
    assert np.isin(pace, [1]).tolist() == [False, True, False, True, False]
    out = np.zeros(5, bool)
    assert np.not_equal(city, "Rome", out=out) is out
    assert out.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("other", [None, 1, 1.5, ["Rome", 1], np.arange(5), object(), [None] * 5])
def test_text_compares_with_nothing_else(world: Any, other: Any) -> None:
    for call in (operator.eq, operator.ne, operator.lt, np.isin):
        with pytest.raises(TypeError, match="a column of text compares with text, not with"):
            call(world.town.data.city, other)


def test_enums(package: ModuleType, world: Any) -> None:
    data, pace = world.town.data, world.town.data.pace
    for other in ("fast", package.Pace.fast, 1, np.uint8(1), b"fast", np.array("fast")):
        assert np.flatnonzero(pace == other).tolist() == [1, 3]
    assert (pace == ["slow", "slow", package.Pace.idle, 1, "idle"]).tolist() == [1, 0, 1, 1, 0]
    assert (pace == np.array(["fast"] * 5)).tolist() == [0, 1, 0, 1, 0]
    assert (pace >= "fast").tolist() == [0, 1, 1, 1, 0]
    assert (data.effects == "wet").all()
    assert not (data.effects == "wet|cold").any()
    assert (data.paces == "slow").all()
    assert (pace == pace).all()
    assert (pace == 2.0).tolist() == [0, 0, 1, 0, 0]
    for other in (None, object(), [None] * 5, np.array(["2020-01-01"], "M8[D]")):
        with pytest.raises(TypeError, match=r"Town\.pace compares with Pace, not with"):
            pace == other  # noqa: B015


def test_bits_of_flags_are_set_and_cleared(package: ModuleType) -> None:
    world, flags = package.Map(), package.Effects
    world.spawn(2, town={"effects": ["wet", "cold"]})
    data, towns = world.town.data, world.towns.town
    data.effects |= flags.cold
    assert data.effects.tolist() == [3, 2]
    towns.effects &= ~flags.wet
    assert data.effects.tolist() == [2, 2]
    data.active.effects[1:] ^= "wet|cold"
    np.bitwise_or.at(data.effects, [0], flags.wet)
    assert data.effects.tolist() == [3, 1]
    assert ((flags.wet & data.effects) != 0).tolist() == [True, True]
    with pytest.raises(ValueError, match=r"Town\.effects: 'dry' is no member of Effects"):
        data.effects |= "dry"


def test_all_else_is_as_with_plain_arrays(world: Any) -> None:
    city, pace = world.town.data.city, world.town.data.pace
    assert type(pace + 1) is type(pace & 1) is np.ndarray
    assert repr(city[:2]) == "array([b'Paris', b'Rome'], dtype='|S12')"
    assert type(pickle.loads(pickle.dumps(city))) is np.ndarray
    assert deepcopy(pace).tolist() == pace.tolist() == [0, 1, 2, 1, 0]
    assert np.unique(city).tolist() == [b"", b"Paris", b"Rome", "Zürich".encode()]
    world.town.data.effects |= 2
    assert world.town.data.effects.tolist() == [3] * 5
    world.town.data.city = city[::-1]
    assert world.town.data.city.tolist() == [c.encode() for c in CITIES[::-1]]
    world.town.data.pace[0] = 2
    assert world.town.pace(0) == 2
    assert world.town.data.code.tolist() == [b""] * 5
    twin = pickle.loads(pickle.dumps(world))
    assert hits(twin.town.data.city, "Rome") == [3]


def test_views_of_old_columns_are_found(package: ModuleType) -> None:
    world = package.Map()
    world.spawn(2, place={"city": "Rome"})
    old_city = world.place.data.city
    with pytest.warns(package.StaleViewWarning):
        world.place.create_many(world.entities.create_many(5000))
    assert hits(old_city, "Rome") == [0, 1]
