"""Which tensors and numbers a schema asks for: names, types, shapes, and what they may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from ..errors import shown
from ..handles import MOST_ROWS
from .contents import LENGTHS
from .documents import ATTRIBUTE, WORLD, Document, Saved, is_json, state_key
from .facts import CellType, Number, cell_type, split_columns
from .policies import most_rows, policies_of

# --- Which tensors a schema asks for: their names, types and shapes -------------------


RNG_WORDS: Final = 625
COLD: Final = "cold"
_SPARE: Final = 1 << 24
"""Bytes of padding that nobody misses."""
_ANY: Final = -1
"""A size that nothing else tells."""


class WantedTensor(NamedTuple):
    """What a tensor must be. Those with a `pair` may be absent, together with the other."""

    dtype: str
    shape: tuple[int, ...]
    pair: str = ""


class StoredColumn(NamedTuple):
    """A column that stores a field, or an element of a split one."""

    name: str
    type: CellType
    field: Document


def check_tensors(saved: Saved) -> None:
    """Refuse tensors that are lacking, that nobody asks for, or of another type or shape."""
    wanted: dict[str, WantedTensor] = {}
    for name, tensor in _wanted(saved):
        if name in wanted:
            saved.refuse("the schema has two of this name", name)
        wanted[name] = tensor
    pairs = {tensor.pair for name, tensor in wanted.items() if name in saved.arrays}
    for name, tensor in wanted.items():
        if name in saved.arrays:
            _check_tensor(saved, name, tensor)
        elif not tensor.pair or tensor.pair in pairs:
            saved.refuse("there is no such tensor", name)
    for name, array in saved.arrays.items():
        if name in wanted:
            continue
        attribute = name.removeprefix(ATTRIBUTE)
        if attribute == name or not attribute.isidentifier():
            saved.refuse("the schema has no such tensor", shown(name))
        if array.dtype != np.uint8 or array.ndim != 1:
            saved.refuse("wanted flat U8", name)


def check_room(saved: Saved, nbytes: int) -> None:
    """Refuse files smaller than the buffers that their rows and slots make necessary.

    Rows that slots were numbered for need room, too, and in a file padding stands for it.
    """
    needed = 0
    for component in saved.schema["components"].values():
        if not component["ids"] or component["in"] != "managers":
            continue
        peak = saved.state[state_key(component["module"])]["peak"]
        needed += peak * _row_bytes(saved, component)
        if needed > nbytes + _SPARE:
            where = f"{component['module']}.id_generation"
            saved.refuse(f"room for {peak} rows is more than the file has", where)


def _row_bytes(saved: Saved, component: Document) -> int:
    """Return the bytes per row of a manager's buffer."""
    return sum(
        prod(tensor.shape[1:]) * np.dtype(tensor.dtype).itemsize
        for name, tensor in _of_manager(saved, component)
        if not (tensor.pair or name == "_map" or name.startswith(f"{COLD}."))
    )


def _check_tensor(saved: Saved, name: str, wanted: WantedTensor) -> None:
    array = saved.arrays[name]
    shape = wanted.shape
    fits = len(shape) == array.ndim and all(
        size in (given, _ANY) for size, given in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != np.dtype(wanted.dtype):
        sizes = ", ".join("any" if size == _ANY else str(size) for size in shape)
        given = f"{array.dtype} of shape {list(array.shape)}"
        saved.refuse(
            f"{given}, wanted {np.dtype(wanted.dtype)} of shape [{sizes}]", name
        )


def _wanted(saved: Saved) -> Iterator[tuple[str, WantedTensor]]:
    yield "entities.handles", WantedTensor("u8", (_ANY,))
    yield "entities.free", WantedTensor("u4", (_ANY,))
    yield "entities.noted", WantedTensor("u8", (_ANY,), "noted")
    cells: Counter[str] = Counter()
    if "archetypes" in saved.state:
        n = sum(count for _, count in saved.state["archetypes"]["tables"])
        yield "archetypes.entity", WantedTensor("u8", (n,))
        cells = _chunked_cells(saved)
    for name, component in saved.schema["components"].items():
        if component["in"] == "managers":
            columns = _of_manager(saved, component)
        else:
            columns = _of_fields(saved, component, cells[name], None)
        for column, tensor in columns:
            yield f"{component['module']}.{column}", tensor


def _chunked_cells(saved: Saved) -> Counter[str]:
    """Return how many cells the columns of each component in chunks have."""
    cells: Counter[str] = Counter()
    for names, count in saved.state["archetypes"]["tables"]:
        for name in names:
            cells[name] += count
    return cells


def _of_manager(
    saved: Saved, component: Document
) -> Iterator[tuple[str, WantedTensor]]:
    numbers = saved.state[state_key(component["module"])]
    n = numbers["n"]
    if component["owner"] == "entity":
        yield "entity", WantedTensor("u8", (n,))
    for facts in policies_of(component):
        for name, length in facts.columns.items():
            yield name, WantedTensor("u4", (numbers[length],))
    if component["owner"] == "entity" and component["lookup"] == "sparse":
        yield "_map", WantedTensor("u4", (_ANY,))
    if component["owner"] == "entity" and component["destroy"] == "gc":
        yield "_rng", WantedTensor("u4", (RNG_WORDS,), f"{component['module']}._rng")
    if component["cold"] != "indirect":
        yield from _of_fields(saved, component, n, None)
        return
    yield from _of_fields(saved, component, n, False)
    n_cold = numbers["n_cold"]
    for name, tensor in _of_fields(saved, component, n_cold, True):
        yield f"{COLD}.{name}", tensor


def _of_fields(
    saved: Saved, component: Document, n: int, cold: bool | None
) -> Iterator[tuple[str, WantedTensor]]:
    """Yield the tensors of n cells of the fields: of the cold ones, the others, or all."""
    for name, type_, field in stored_columns(saved.schema, component):
        if cold not in (None, field[COLD]):
            continue
        if type_.base == "object":
            pair = f"{component['module']}.{name}"
            yield name, WantedTensor("u1", (_ANY,), pair)
            yield name + LENGTHS, WantedTensor("i8", (n,), pair)
        else:
            shape = (n, *type_.cell_shape)
            yield name, WantedTensor(type_.dtype.str[1:], shape)


def stored_columns(schema: Document, component: Document) -> Iterator[StoredColumn]:
    """Yield the columns that store a component's fields; of split ones, one per element."""
    for name, field in component["fields"].items():
        type_ = cell_type(field["type"], schema["enums"])
        if field["split"]:
            for part in split_columns(name, type_):
                yield StoredColumn(part, type_.of_shape(()), field)
        else:
            yield StoredColumn(name, type_, field)


def field_tensors(
    saved: Saved, component: Document
) -> Iterator[tuple[str, StoredColumn]]:
    """Yield the tensors that hold a component's fields, without lengths of objects."""
    is_indirect = component["cold"] == "indirect" and component["in"] == "managers"
    for column in stored_columns(saved.schema, component):
        beside = f"{COLD}." if is_indirect and column.field[COLD] else ""
        yield f"{component['module']}.{beside}{column.name}", column


# --- The numbers of a snapshot's `state`: all there, integers, and within what they
# count.


_MOST: Final = (1 << 63) - 1
_ALL: Final = (1 << 64) - 1
_NOTES: Final = ("seed", "calls")
"""What is said of kernels that draw random numbers, where it is not as at first."""


def check_state(saved: Saved) -> None:
    """Refuse a state that has not exactly what the schema asks for; O(its size)."""
    state, schema = saved.state, saved.schema
    components: Mapping[str, Document] = schema["components"]
    managed = [c for c in components.values() if c["in"] == "managers"]
    chunked = [name for name, c in components.items() if c["in"] == "archetypes"]
    keys = ["entities", *(state_key(c["module"]) for c in managed)]
    keys += [*(["archetypes"] if chunked else []), "groups", "attributes"]
    _check_keys(saved, "state", state, keys, [WORLD])
    if WORLD in state:
        _check_keys(saved, f"state.{WORLD}", state[WORLD], [], _NOTES)
        _check_notes(saved, f"state.{WORLD}", state[WORLD])
    _check_keys(saved, "state.entities", state["entities"], ["n_retired"])
    _check_number(saved, "state.entities", state["entities"], "n_retired", 0, _MOST)
    for component in managed:
        _check_manager(saved, component)
    if chunked:
        _check_tables(saved, state["archetypes"], chunked)
    _check_keys(saved, "state.groups", state["groups"], schema["groups"])
    for name, members in schema["groups"].items():
        most = min(
            state[state_key(components[member]["module"])]["n"] for member in members
        )
        _check_number(saved, "state.groups", state["groups"], name, 0, most)
    _check_attributes(saved, state["attributes"])


def _check_attributes(saved: Saved, attributes: Any) -> None:
    """Refuse attributes that could not be saved again."""
    if type(attributes) is not dict:
        _refuse(saved, "state.attributes", "wanted an object")
    for name, value in attributes.items():
        if not is_json(value):
            _refuse(saved, f"state.attributes.{name}", "nested too deep, or too long")


def _check_manager(saved: Saved, component: Document) -> None:
    """Refuse numbers of a manager that are beyond others that they are a part of."""
    where = f"state.{state_key(component['module'])}"
    numbers = saved.state[state_key(component["module"])]
    if type(numbers) is not dict:
        _refuse(saved, where, "wanted an object")
    bounds = {
        "n": Number(0, most_rows(component)),
        "version": Number(0, _MOST),
    }
    for facts in policies_of(component):
        bounds |= facts.numbers
    # Other writers may leave `count` out.
    optional = ("count",) if component["lookup"] == "direct" else ()
    _check_keys(saved, where, numbers, bounds, (*_NOTES, "wrap", *optional))
    _check_notes(saved, where, numbers)
    if "wrap" in numbers:
        _check_wrap(saved, f"{where}.wrap", numbers["wrap"])
    for name, (*ends, _) in bounds.items():
        lowest, highest = (numbers.get(end, end) for end in ends)
        _check_number(saved, where, numbers, name, lowest, highest)
    if "count" in numbers:
        n = numbers["n"]
        _check_number(saved, where, numbers, "count", min(n, 1), n)


def _check_notes(saved: Saved, where: str, notes: Document) -> None:
    """Refuse a seed or numbers of calls that no kernel can go on with."""
    if "seed" in notes:
        _check_number(saved, where, notes, "seed", 0, _ALL)
    calls = notes.get("calls", {})
    if type(calls) is not dict:
        _refuse(saved, f"{where}.calls", "wanted an object")
    for kernel in calls:
        _check_number(saved, f"{where}.calls", calls, kernel, 0, _MOST)


def _check_wrap(saved: Saved, where: str, wrap: Any) -> None:
    """Refuse sizes of axes that no space has."""
    if type(wrap) is not list or not 2 <= len(wrap) <= 3:
        _refuse(saved, where, "wanted a list of two or three sizes")
    for size in wrap:
        if type(size) is not float or not 0 <= size < inf:
            _refuse(saved, where, f"{shown(size)}, wanted finite floats from 0")


def _check_tables(saved: Saved, archetypes: Any, chunked: list[str]) -> None:
    """Refuse tables that are not each of other components, named in their order."""
    where = "state.archetypes"
    _check_keys(saved, where, archetypes, ["version", "tables"])
    _check_number(saved, where, archetypes, "version", 0, _MOST)
    tables = archetypes["tables"]
    if type(tables) is not list:
        _refuse(saved, f"{where}.tables", "wanted a list")
    places = {name: place for place, name in enumerate(chunked)}
    seen = set()
    for number, table in enumerate(tables):
        at = f"{where}.tables[{number}]"
        if type(table) is not list or len(table) != 2 or type(table[0]) is not list:
            _refuse(saved, at, "wanted components and a number of rows")
        names, _ = table
        if not all(type(name) is str and name in places for name in names):
            _refuse(saved, at, f"{shown(names)} are not all components in chunks")
        order = tuple(places[name] for name in names)
        if not order or list(order) != sorted(set(order)) or order in seen:
            _refuse(saved, at, f"{shown(names)} again, in another order, or none")
        seen.add(order)
        _check_number(saved, at, {"rows": table[1]}, "rows", 0, MOST_ROWS)


def _check_keys(
    saved: Saved, where: str, given: Any, wanted: Any, optional: Sequence[str] = ()
) -> None:
    if type(given) is not dict:
        _refuse(saved, where, "wanted an object")
    for key in wanted:
        if key not in given:
            _refuse(saved, where, f"there is no {key}")
    for key in given:
        if key not in wanted and key not in optional:
            _refuse(saved, where, f"{shown(key)} is not known")


def _check_number(
    saved: Saved, where: str, numbers: Document, name: str, lowest: int, highest: int
) -> int:
    """Return a number, which is an integer in a range, both ends included."""
    number = numbers[name]
    if type(number) is not int or not lowest <= number <= highest:
        given = shown(number)
        _refuse(saved, f"{where}.{name}", f"{given}, wanted {lowest} to {highest}")
    return number


def _refuse(saved: Saved, where: str, why: str) -> NoReturn:
    saved.refuse(f"{where}: {why}")
