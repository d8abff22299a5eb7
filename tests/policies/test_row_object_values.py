"""Row objects take and refuse the values that the setters do, and say the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.world_package import world_package

SCHEMA = """
world: Shelf
---
component: Item
fields:
  tiny: i8
  byte: u8
  large: i64
  wide: u64
  single: f32
  double: f64
  flag: bool
  owner: entity
  code: {type: i32, unique: true}
  pair: "f64[2]"
"""
VALUES: dict[str, tuple[Any, ...]] = {
    "tiny": (127, 128, -129, 2**70, True, 1.0, "a"),
    "byte": (255, -1, 256),
    "large": (2**63 - 1, 2**63, -(2**63)),
    "wide": (2**64 - 1, 2**64, -1),
    "single": (1e38, 1e40, 0.1, 3, 2**30 + 1),
    "double": (1e308, float("inf"), 1, True, "x", 10**400),
    "flag": (True, 1, 0.0),
    "owner": (5, -1, 2**64),
    "code": (7, 2**31),
}


def shelf() -> Any:
    return world_package(SCHEMA, "row_object_values").Shelf()


def outcome(read: Any, write: Any, value: Any) -> str:
    try:
        write(value)
    except (TypeError, ValueError, OverflowError) as error:
        return f"{error!r}, still {read()}"
    return repr(read())


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in VALUES.items() for v in vs])
def test_as_the_setter(name: str, value: Any) -> None:
    world = shelf()
    item = world.item[world.spawn(1, item={})[0]]
    other = shelf()
    other.spawn(1, item={})
    accessors = getattr(other.item, name), getattr(other.item, f"set_{name}")
    told = outcome(lambda: getattr(item, name), lambda given: setattr(item, name, given), value)
    assert told == outcome(lambda: accessors[0](0), lambda given: accessors[1](0, given), value)


def test_they_follow_their_entities_when_they_write() -> None:
    world = shelf()
    first, second = world.spawn(2, item={"code": [1, 2]}).tolist()
    item = world.item[second]
    item.double = 1.0
    world.item.remove(first)
    item.double, item.tiny, item.single = 2.0, 3, 0.5
    assert (item.row, item.double, item.tiny, item.single) == (0, 2.0, 3, 0.5)
    item.code = 1
    assert world.item.find_code(1) == 0
    world.item.remove(second)
    for name in ("double", "tiny", "single"):
        with pytest.raises(LookupError):
            getattr(item, name)
        with pytest.raises(LookupError):
            setattr(item, name, 1)


def test_a_value_that_moves_rows_is_written_where_the_row_went() -> None:
    world = shelf()
    first, second = world.spawn(2, item={"code": [1, 2]}).tolist()

    class Number:
        def __index__(self) -> int:
            world.item.remove(first)
            return 4

    item = world.item[second]
    item.pair = (1.0, 2.0)
    assert world.item.pair(item.row) == (1.0, 2.0)
    item.pair = (Number(), 5.0)
    assert (len(world.item), world.item.pair(item.row)) == (1, (4.0, 5.0))
