"""The numbers of a snapshot's `state`: all there, integers, and within what they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final, NoReturn

from ...convert.arrays import shown
from ...handles import MOST_ROWS
from ..codecs import is_json
from ..documents import WORLD, Document, Saved, state_key
from ..facts import Number
from ..policies import most_rows, policies_of

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
