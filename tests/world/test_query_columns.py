"""Columns of queries, and loops over their rows."""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from opcode import opmap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_runtime.world.queries.query_columns import is_operand

from tests.support.query_world import COUNT, ORDERS, together
from tests.support.world_package import world_package

OPERATORS: dict[str, tuple[str, Any]] = {
    "iadd": ("x", 2.0),
    "isub": ("x", 2.0),
    "imul": ("x", 3.0),
    "itruediv": ("x", 4.0),
    "ifloordiv": ("hp", 2),
    "imod": ("hp", 3),
    "ipow": ("hp", 2),
    "ilshift": ("hp", 1),
    "irshift": ("hp", 1),
    "iand": ("hp", 5),
    "ior": ("hp", 8),
    "ixor": ("hp", 3),
    "imatmul": ("at", np.array([[0, 1], [1, 0]], np.float32)),
}


def fields(world: Any) -> list[tuple[Any, str]]:
    """Return the columns of the query, and the name of each field."""
    movers = world.movers
    return [
        *((movers.place, name) for name in ("at", "x", "plain", "label")),
        *((movers.body, name) for name in ("mass", "hp", "mode", "solid", "serial")),
        (movers.extra, "bonus"),
    ]


@ORDERS
def test_what_is_read_is_read_only(make: Callable[[], Any]) -> None:
    world = make()
    for columns, name in fields(world):
        column = getattr(columns, name)
        before = column.tolist()
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[1]
        assert getattr(columns, name).tolist() == before
    movers = world.movers
    with pytest.raises(ValueError, match="read-only"):
        movers.place.at[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        movers.place.at[:, 0] += 5
    with pytest.raises(ValueError, match="read-only"):
        np.add.at(movers.place.at, [0, 0], 1)  # numpy does not look where cells are scalars
    with pytest.raises(ValueError, match="read-only"):
        np.add(movers.body.mass, 1, out=movers.body.mass)
    assert type(movers.body.mass) is np.ndarray


@ORDERS
def test_what_was_read_never_changes(make: Callable[[], Any]) -> None:
    world = make()
    movers = world.movers
    before = movers.place.x
    part, values = before[1:], before.tolist()
    movers.place.x = before + 5
    movers.place.x += 5
    columns = movers.place
    columns.x *= 2
    assert before.tolist() == values
    assert part.tolist() == values[1:]
    assert movers.place.x.tolist() == [(value + 10) * 2 for value in values]


@ORDERS
def test_a_name_for_what_was_read_writes_nothing(make: Callable[[], Any]) -> None:
    world = make()
    mass = world.movers.body.mass
    with pytest.raises(ValueError, match="read-only"):
        mass += 1
    assert 100 not in world.body.data.mass


@ORDERS
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_writes(make: Callable[[], Any], name: str) -> None:
    """As code of Python does it, and as compiled code does, which no frame shows."""
    field, value = OPERATORS[name]
    world, other = make(), make()
    holder = "body" if field == "hp" else "place"
    wanted = getattr(operator, name)(getattr(getattr(world.movers, holder), field).copy(), value)
    sign = {"imatmul": "@=", "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/="}
    sign |= {"ifloordiv": "//=", "imod": "%=", "ipow": "**=", "ilshift": "<<="}
    sign |= {"irshift": ">>=", "iand": "&=", "ior": "|=", "ixor": "^="}
    exec(f"movers.{holder}.{field} {sign[name]} value", {"movers": world.movers, "value": value})
    assert getattr(getattr(world.movers, holder), field).tolist() == wanted.tolist()

    columns = getattr(other.movers, holder)
    before = getattr(columns, field)
    result = getattr(operator, name)(before, value)
    assert before.tolist() != result.tolist()
    assert getattr(columns, field).tolist() == before.tolist()
    setattr(columns, field, result)
    assert getattr(columns, field).tolist() == wanted.tolist()


@ORDERS
def test_operators_are_checked_like_values(make: Callable[[], Any]) -> None:
    movers = make().movers
    with pytest.raises(ValueError, match=r"Body\.mode"):
        movers.body.mode += 2
    with pytest.raises(ValueError, match=r"Body\.serial"):
        movers.body.serial //= 100
    with pytest.raises(TypeError):
        movers.body.hp += 1.5
    assert not movers.body.mode.any()
    movers.body.serial += 1  # each its neighbour's, all at once
    assert sorted(movers.body.serial.tolist()) == [n + 1 for n in sorted(movers.body.hp.tolist())]
    movers.body.mode += 1
    movers.body.solid |= movers.body.mode == 1
    assert movers.body.solid.all()


def test_rows_that_follow_each_other_are_added_to_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    world = together()
    assigned: list[Any] = []
    monkeypatch.setattr(type(world.movers.place).x, "_field", Watched(assigned))
    world.movers.place.x += 1
    assert assigned == []
    assert world.place.data.x.tolist() == [1, 2, 3, 4, 5, 6]
    world.movers.place.x = 1
    assert assigned == [1]


LARGE = 20_000
OPERANDS = {
    "columns.x * 2": True,
    "columns.x * two": True,
    "columns.x * scope['two']": False,
    "two * columns.x": True,
    "(columns.x - columns.x)": None,
    "columns.x == two": False,
    "columns.x": False,
    "columns.x[1:]": False,
    "columns.x.T": False,
    "-columns.x": False,
    "np.asarray(columns.x)": False,
    "[columns.x, two]": False,
    "(kept := columns.x) * 2": False,
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operators_alone_read_without_a_copy(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of operators are new arrays, so that only the time tells."""
    world = together()
    serials = np.arange(LARGE) + COUNT
    world.spawn(LARGE, place={"x": np.arange(LARGE)}, body={"serial": serials})
    columns = world.movers.place
    spied: list[bool] = []
    module = sys.modules[type(columns).x.__class__.__module__]
    real = module.is_operand

    def spy(frame: Any) -> bool:
        spied.append(real(frame))
        return spied[-1]

    monkeypatch.setattr(module, "is_operand", spy)
    scope = {"columns": columns, "two": 2.0, "np": np}
    scope["scope"] = scope
    result = eval(text, scope)
    assert spied == ([False, True] if OPERANDS[text] is None else [OPERANDS[text]])
    kept_result = [scope[name] for name in ("kept",) if name in scope]
    for array in [result, *kept_result] if isinstance(result, np.ndarray) else result[:1]:
        assert not np.shares_memory(array, world.place.data.x)


@pytest.mark.parametrize(("argument", "is_operator"), [(0, True), (5, True), (26, False)])
def test_a_part_is_no_operator(argument: int, is_operator: bool) -> None:
    """Since Python 3.14 the instruction of `x + y` is that of `x[y]`, too."""
    steps = (("LOAD_ATTR", 0), ("CACHE", 0), ("LOAD_CONST", 0), ("BINARY_OP", argument))
    code = bytes(part for name, value in steps for part in (opmap[name], value))
    frame: Any = SimpleNamespace(f_code=SimpleNamespace(co_code=code), f_lasti=0)
    assert is_operand(frame) == is_operator


class Watched:
    """A converter that tells what it is asked to convert."""

    accepts_any_cell = True

    def __init__(self, values: list[Any]) -> None:
        self.given = values

    def to_column(self, value: Any, rows: int, buffer: Any = None) -> Any:
        self.given.append(value)
        return np.full(rows, value)


def test_names_of_any_number() -> None:
    """An index of more than eight bits stands in an instruction of its own."""
    world = together()
    many = "\n".join(f"movers.name_{k} if False else None" for k in range(400))
    exec(f"{many}\nmovers.place.x += 1\ny = movers.body.mass", scope := {"movers": world.movers})
    assert world.place.data.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert type(scope["y"]) is np.ndarray
    assert not scope["y"].flags.writeable


def test_functions_of_what_compiled_code_reads_are_plain() -> None:
    movers = together().movers
    cells = getattr(movers.place, "x")  # noqa: B009  # as compiled code reads
    assert type(cells + 1) is np.ndarray
    assert type(cells.sum()) is np.float64
    array = cells.copy()
    same = array
    array += 1
    assert array is same
    assert cells.tolist() == [0, 1, 2, 3, 4, 5]


def test_reading_holds_no_buffer(recwarn: pytest.WarningsRecorder) -> None:
    world = together()
    held = [getattr(columns, name) for columns, name in fields(world)]
    rows = world.movers.rows()
    world.spawn(500, place={}, body={"serial": np.arange(100, 600)})
    assert len(held[0]) == len(rows.entity) == COUNT
    assert not list(recwarn)


def test_nobody_replaces_the_columns() -> None:
    movers = together().movers
    with pytest.raises(AttributeError):
        movers.place = 5
    again = pickle.loads(pickle.dumps(movers))
    again.place.x += 1
    assert movers.place.x.tolist() == [0, 1, 2, 3, 4, 5]
    assert again.place.x.tolist() == [1, 2, 3, 4, 5, 6]


CHANGES: dict[str, Callable[[Any, int], object]] = {
    "an entity dies": lambda world, e: world.destroy(e),
    "rows move": lambda world, e: world.body.reorder(np.arange(len(world.body))[::-1]),
    "a component goes": lambda world, e: world.place.remove(e),
    "an optional one comes": lambda world, e: world.extra.create(e),
    "another entity comes": lambda world, e: world.spawn(1, place={}),
    "room is made": lambda world, e: world.place.reserve(1000),
}


EXHAUSTED_GENERATION = """
world: Attic
entity: {index_bits: 16, generation_bits: 1}
queries: {olds: {all: [Old]}}
---
component: Old
fields: {age: i32}
"""
FOUR = """
world: Quartet
queries:
  one: {all: [A]}
  three: {all: [A, B, C]}
  four: {all: [A, B], optional: [C], none: [E], any: [D]}
---
component: A
---
component: B
---
component: C
---
component: D
---
component: E
"""


def steps_until(query: Any, step: int, change: Callable[[Any], object]) -> list[int]:
    """Return the entities that a loop sees if it changes something at a step."""
    seen: list[int] = []
    with pytest.raises(RuntimeError, match=r"iterate over list\(query\)"):
        seen.extend(changing(query, step, change))
    return seen


def changing(query: Any, step: int, change: Callable[[Any], object]) -> Iterator[int]:
    """Yield the entities of a query, and change something at a step."""
    for number, row in enumerate(query, 1):
        if number == step:
            change(row.entity)
        yield row.entity


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("step", [1, 3, COUNT])
@pytest.mark.parametrize("is_second", [False, True])
def test_loops_notice_changes_at_the_next_step(change: str, step: int, is_second: bool) -> None:
    world = together()
    if is_second:
        assert len(list(world.movers)) == COUNT
    entities = world.movers.rows().entity.tolist()
    seen = steps_until(world.movers, step, partial(CHANGES[change], world))
    assert seen == entities[:step]


def test_a_loop_that_began_before_a_change_does_not_begin_behind_it() -> None:
    world = together()
    loop = iter(world.movers)
    world.destroy(world.movers.rows().entity[0])
    assert len(world.movers) == COUNT - 1  # a new match, which the loop knows nothing of
    with pytest.raises(RuntimeError, match="iterate over list"):
        next(loop)


def test_entities_that_are_never_used_again_end_loops_too() -> None:
    world = world_package(EXHAUSTED_GENERATION, "loops_worn_out").Attic()
    es = world.spawn(4, old={}).tolist()
    for _ in world.olds:
        world.entities.create()  # ends no loop
    assert steps_until(world.olds, 2, lambda _: world.destroy(es[3])) == es[:2]


def test_loops_over_one_to_four_members_notice_changes_of_each() -> None:
    world = world_package(FOUR, "loops_four").Quartet()
    parts = ("a", "b", "c", "d")
    for query, count in ((world.one, 1), (world.three, 3), (world.four, 4)):
        for name in parts[:count]:
            world.spawn(3, **{part: {} for part in parts})
            manager = getattr(world, name)
            assert len(list(query)) >= 3
            assert len(steps_until(query, 1, manager.remove)) == 1
            entity = world.spawn(3, **{part: {} for part in parts})[0]
            loop = iter(query)
            manager.remove(entity)
            assert len(query) >= 2  # a new match, which the loop knows nothing of
            with pytest.raises(RuntimeError, match="iterate over list"):
                next(loop)


def test_loops_over_many_notice_changes() -> None:
    world = together()
    with Tuning.override(max_cached_tuples=2, tuple_batch=4):
        assert [tuple(row)[1:3] for row in world.movers] == [(k, k) for k in range(COUNT)]
        assert len(steps_until(world.movers, 5, world.destroy)) == 5


def test_loops_over_chunks_notice_changes() -> None:
    world = together()
    es = world.spawn(3, heat={}).tolist()
    heat = world.burning.ALL[0]
    assert steps_until(world.burning, 1, lambda e: world.archetypes.remove(e, heat)) == es[:1]
    assert [row.entity for row in world.burning] == [es[2], es[1]]
    assert steps_until(world.burning, 2, world.destroy) == [es[2], es[1]]


def test_loops_may_write_cells_and_create_entities() -> None:
    world = together()
    for _ in range(2):
        for e, place_row, body, _extra in world.movers:
            world.place.set_x(place_row, world.body.mass(body))
            assert world.entities.alive(e)
            world.movers.body.hp += 1
            world.entities.create()
    assert world.body.data.hp.tolist() == [12 + k for k in range(COUNT)]
    for row in list(world.movers):
        world.destroy(row.entity)
    assert len(world.movers) == 0


def test_the_last_step_may_be_the_last() -> None:
    world = together()
    for row in world.movers:
        world.destroy(row.entity)
        break
    assert len(world.movers) == COUNT - 1


def test_other_sizes_are_in_force_for_a_while() -> None:
    before = Tuning.max_cached_tuples, Tuning.tuple_batch
    with suppress(ZeroDivisionError), Tuning.override(max_cached_tuples=2, tuple_batch=4):
        assert (Tuning.max_cached_tuples, Tuning.tuple_batch) == (2, 4)
        raise ZeroDivisionError
    assert (Tuning.max_cached_tuples, Tuning.tuple_batch) == before
    with (
        pytest.raises(AttributeError, match="keeping"),
        Tuning.override(max_cached_tuples=2, keeping=3),
    ):
        pass
    assert (Tuning.max_cached_tuples, Tuning.tuple_batch) == before
