"""Checks of a snapshot's documents, which other code may have written: schema, state, tensors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

from ..base.errors import short_repr
from ..base.handles import MAX_ROWS
from ..tables.buffers import split_columns
from .cell_types import FLOATS, TIMES, CellType, cell_type
from .documents import (
    ARRAYS,
    ATTRIBUTE,
    ATTRIBUTES,
    GENERATORS,
    SETTINGS,
    WORLD,
    Document,
    SnapshotContent,
    is_json,
    refuse,
    state_key,
    with_settings,
)
from .policy_rules import DIRECT_IDS, GRID, POLICIES, NumberRule, max_rows, policies_of
from .stored_columns import LENGTHS

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|\.\d{9})?")
_ODD: Final = ("NaN", "Infinity", "-Infinity")


def is_default(type_: CellType, shape: tuple[int, ...], default: Any) -> bool:
    """Return True if a document's default is a cell of a type: nested lists of a shape."""
    if not shape:
        return _is_element(type_, default)
    if type(default) is not list or len(default) != shape[0]:
        return False
    return all(is_default(type_, shape[1:], part) for part in default)


def _is_element(type_: CellType, default: Any) -> bool:
    base = type_.base
    if base == "object":
        return default is None
    if base in TIMES:
        return _is_time(type_, default)
    if base == "bool":
        return type(default) is bool
    if base == "str":
        return type(default) is str and _is_text(default, type_.size)
    if base == "bytes":
        return (
            type(default) is list
            and len(default) == type_.size
            and all(type(byte) is int and 0 <= byte <= 255 for byte in default)
        )
    if base in FLOATS:
        return _is_float(type_, default)
    return type(default) is int and _is_integer(type_, default)


def _is_time(type_: CellType, value: Any) -> bool:
    if value == "NaT" or type(value) is int:
        return value == "NaT" or (type_.base == "timedelta" and abs(value) < 2**63)
    return type_.base == "datetime" and type(value) is str and bool(_MOMENT.fullmatch(value))


def _is_text(text: str, size: int) -> bool:
    try:
        stored = text.encode()
    except UnicodeEncodeError:
        return False
    return len(stored) <= size and 0 not in stored


def _is_float(type_: CellType, value: Any) -> bool:
    if type(value) is str:
        return value in _ODD
    highest = float(np.finfo(type_.dtype).max)
    return type(value) in (int, float) and -highest <= value <= highest


def _is_integer(type_: CellType, value: int) -> bool:
    if type_.base == "enum":
        return value in type_.members.values()
    if type_.base == "flags":
        return value & ~type_.mask == 0
    limits = np.iinfo(type_.dtype)
    return int(limits.min) <= value <= int(limits.max)


_CLASS: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_MAX_ELEMENTS: Final = 4096
_MAX_SIZE: Final = 65_536
_TYPE: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9_]{0,63}(<[A-Za-z0-9]{1,64}>)?"
    r"(\[([1-9][0-9]{0,5}(,[1-9][0-9]{0,5}){0,7}|m?s|us|ns)\])?"
)

_POLICIES: Final[Mapping[str, tuple[Any, ...]]] = {
    "in": ("managers", "archetypes"),
    "owner": ("entity", "none"),
    "instances": ("one", "many"),
    "lookup": ("sparse", "hash", "direct"),
    "destroy": ("gc", "callback", "manual"),
    "ids": (False, True),
    "partition": ("", "active", "inactive"),
    "hierarchy": ("", "root", "destroy", "die"),
    "cold": ("inline", "indirect"),
}
_KEYS_IF_ON: Final = {key: span for rules in POLICIES for key, span in rules.keys_if_on.items()}
_TYPES: Final[Mapping[str, int]] = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}


def _contradictions(c: Document) -> Iterator[str]:
    """Yield contradictions between a component's keys."""
    kinds = [*policies_of(c)]
    if c["lookup"] == "direct" and any(kind is not DIRECT_IDS for kind in kinds):
        yield "'lookup: direct' goes with nothing that orders rows"
    of_entities = c["instances"], c["lookup"], c["destroy"], c["hierarchy"] == "die"
    if c["owner"] == "none" and (
        of_entities != ("one", "sparse", "gc", False) or not (c["ids"] or "grid" in c)
    ):
        yield "'owner: none' has ids, and nothing that needs entities"
    is_plain = (c["in"], c["owner"], c["cold"]) == ("managers", "none", "inline")
    if "grid" in c and (not (is_plain and c["fields"]) or any(kind is not GRID for kind in kinds)):
        yield "a grid has fields, and 'owner: none' without ids or what orders rows"


def check_schema(schema: Any, file: str, saving: SnapshotFormat) -> None:
    """Refuse a document that is not the `schema` of some world; O(its size)."""
    check = _Check(file)
    check.keys("schema", schema, ["version", "entity", "enums", "components", "groups"], [SETTINGS])
    check.number("schema.version", schema["version"], 0, 1 << 63)
    entity = schema["entity"]
    check.keys("schema.entity", entity, saving.ENTITY_BITS)
    bits = check.number("schema.entity.index_bits", entity["index_bits"], 1, 32)
    where = "schema.entity.generation_bits"
    check.number(where, entity["generation_bits"], 1, min(63, 64 - bits))
    if "shard_bits" in entity:
        check.number("schema.entity.shard_bits", entity["shard_bits"], 1, 32)
    for name, enum in check.named("schema.enums", schema["enums"], _CLASS):
        _check_enum(check, f"schema.enums.{name}", enum)
    modules = set()
    for name, each in check.named("schema.components", schema["components"], _CLASS):
        at = f"schema.components.{name}"
        _check_component(check, at, each, schema["enums"])
        if each["module"] in modules:
            check.refuse(f"{at}.module", f"{short_repr(each['module'])} is there twice")
        modules.add(each["module"])
    where = f"schema.{SETTINGS}"
    for name, each in check.named(where, schema.get(SETTINGS, {}), _NAME):
        _check_field(check, f"{where}.{name}", each, schema["enums"])
    _check_ids(check, with_settings(schema)["components"])
    _check_groups(check, schema)


class _Check:
    """Checks of values in a document; errors name their path."""

    def __init__(self, file: str) -> None:
        self._file = file

    def refuse(self, where: str, why: str) -> NoReturn:
        refuse(self._file, f"{where}: {why}")

    def keys(
        self, where: str, value: Any, wanted: Collection[str], keys_if_on: Collection[str] = ()
    ) -> None:
        """Refuse what is no object with exactly these keys; `keys_if_on` may be lacking."""
        if type(value) is not dict:
            self.refuse(where, "wanted an object")
        for key in wanted:
            if key not in value:
                self.refuse(where, f"there is no {key}")
        for key in value:
            if key not in wanted and key not in keys_if_on:
                self.refuse(where, f"{short_repr(key)} is not known")

    def number(self, where: str, value: Any, lowest: int, highest: int) -> int:
        """Return an integer within a range, both ends included."""
        if type(value) is not int or not lowest <= value <= highest:
            self.refuse(where, f"{short_repr(value)}, wanted {lowest} to {highest}")
        return value

    def among(self, where: str, actual: Any, values: Iterable[Any]) -> None:
        if not any(type(actual) is type(value) and actual == value for value in values):
            self.refuse(where, f"{short_repr(actual)}, wanted one of {list(values)}")

    def named(self, where: str, value: Any, names: re.Pattern[str]) -> Iterable[tuple[str, Any]]:
        """Return the entries of an object; refuse keys that are no names."""
        if type(value) is not dict:
            self.refuse(where, "wanted an object")
        for name in value:
            if not names.fullmatch(name):
                self.refuse(where, f"{short_repr(name)} is no name")
        return value.items()


def _check_enum(check: _Check, where: str, enum: Any) -> None:
    check.keys(where, enum, ["type", "flags", "members"])
    check.among(f"{where}.type", enum["type"], _TYPES)
    check.among(f"{where}.flags", enum["flags"], (False, True))
    most = (1 << _TYPES[enum["type"]]) - 1
    members = check.named(f"{where}.members", enum["members"], _NAME)
    for name, number in members:
        check.number(f"{where}.members.{name}", number, 0, most)
    if not members:
        check.refuse(where, "there are no members")


def _check_component(
    check: _Check, where: str, component: Any, enums: Mapping[str, Document]
) -> None:
    check.keys(where, component, ["module", *_POLICIES, "fields"], _KEYS_IF_ON)
    if type(component["module"]) is not str or not _NAME.fullmatch(component["module"]):
        check.refuse(f"{where}.module", f"{short_repr(component['module'])} is no name")
    for key, values in _POLICIES.items():
        check.among(f"{where}.{key}", component[key], values)
    for key in _KEYS_IF_ON.keys() & component.keys():
        check.number(f"{where}.{key}", component[key], _KEYS_IF_ON[key][0], _KEYS_IF_ON[key][-1])
    for reason in _contradictions(component):
        check.refuse(where, reason)
    for name, field in check.named(f"{where}.fields", component["fields"], _NAME):
        _check_field(check, f"{where}.fields.{name}", field, enums)


def _check_field(check: _Check, where: str, field: Any, enums: Mapping[str, Document]) -> None:
    wanted = ["type", "default", "cold", "split", "unit"]
    check.keys(where, field, wanted, ["unique"])
    type_ = _checked_type(check, f"{where}.type", field["type"], enums)
    for key in ("cold", "split"):
        check.among(f"{where}.{key}", field[key], (False, True))
    if type(field["unit"]) is not str:
        check.refuse(f"{where}.unit", "wanted a string")
    if "unique" in field:
        check.among(f"{where}.unique", field["unique"], (True,))
        if type_.shape or type_.base == "object":
            check.refuse(f"{where}.unique", "only of one value per row")
    if field["split"] and not type_.shape:
        check.refuse(f"{where}.split", "only of a shape")
    if not is_default(type_, type_.shape, field["default"]):
        what = f"{short_repr(field['default'])} is no value of {type_.text}"
        check.refuse(f"{where}.default", what)


def _checked_type(check: _Check, where: str, text: Any, enums: Mapping[str, Document]) -> CellType:
    type_ = None
    if type(text) is str and _TYPE.fullmatch(text):
        with suppress(ValueError):
            type_ = cell_type(text, enums)
    if (
        type_ is None
        or prod(type_.shape) > _MAX_ELEMENTS
        or type_.size > _MAX_SIZE
        or (type_.base == "object" and type_.shape)
    ):
        check.refuse(where, f"{short_repr(text)} is no field type")
    return type_


def _check_ids(check: _Check, components: Mapping[str, Document]) -> None:
    for name, component in components.items():
        for field, field_doc in component["fields"].items():
            type_ = field_doc["type"]
            if not type_.startswith("id<"):
                continue
            target = type_[3:].partition(">")[0]
            known = components.get(target, {})
            if not known.get("ids") and "grid" not in known:
                where = f"schema.components.{name}.fields.{field}.type"
                check.refuse(where, f"{short_repr(target)} has no ids")


def _check_groups(check: _Check, schema: Document) -> None:
    """Refuse groups of what cannot be in step, or is in another group already."""
    components, taken = schema["components"], set()
    for name, members in check.named("schema.groups", schema["groups"], _NAME):
        where = f"schema.groups.{name}"
        if type(members) is not list or len(members) < 2:
            check.refuse(where, "wanted a list of components")
        for member in members:
            if type(member) is not str or member not in components or member in taken:
                why = f"{short_repr(member)} is none, or is in a group already"
                check.refuse(where, why)
            taken.add(member)
            component = components[member]
            kind = tuple(component[key] for key in ("in", "owner", "instances", "partition"))
            if kind != ("managers", "entity", "one", "") or component["lookup"] == "direct":
                check.refuse(where, f"{member} cannot be in a group")


RNG_WORDS: Final = 625
COLD: Final = "cold."
"""Prefix of the names of cold rows' tensors."""
_SPARE: Final = 1 << 24
"""Bytes of padding that a file may have."""
_ANY: Final = -1
"""A size that depends on the rows."""


class WantedTensor(NamedTuple):
    """Type and shape that a tensor must have. Tensors with a `pair` may be absent, if both are."""

    dtype: str
    shape: tuple[int, ...]
    pair: str = ""


class StoredColumn(NamedTuple):
    """A column that stores a field, or an element of a split one."""

    name: str
    type: CellType
    field: Document


def check_tensors(saved: SnapshotContent, saving: SnapshotFormat) -> None:
    """Refuse tensors that are missing, unknown, or of another type or shape."""
    wanted: dict[str, WantedTensor] = {}
    for name, tensor in _wanted(saved, saving):
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
            saved.refuse("the schema has no such tensor", short_repr(name))
        is_array = attribute in saved.state.get(ARRAYS, [])
        if not is_array and (array.dtype != np.uint8 or array.ndim != 1):
            saved.refuse("wanted flat U8", name)


def check_room(saved: SnapshotContent, saving: SnapshotFormat, nbytes: int) -> None:
    """Refuse files smaller than the buffers that their rows and slots make necessary.

    Rows that slots were numbered for need room, too, and in a file padding stands for it.
    """
    needed = 0
    for component in saved.schema["components"].values():
        if not component["ids"] or component["in"] != "managers":
            continue
        peak = saved.state[state_key(component["module"])]["peak"]
        needed += peak * _row_bytes(saved, saving, component)
        if needed > nbytes + _SPARE:
            where = f"{component['module']}.id_generation"
            saved.refuse(f"room for {peak} rows is more than the file has", where)


def _row_bytes(saved: SnapshotContent, saving: SnapshotFormat, component: Document) -> int:
    return sum(
        prod(tensor.shape[1:]) * np.dtype(tensor.dtype).itemsize
        for name, tensor in _of_manager(saved, saving, component)
        if not (tensor.pair or name == "_map" or name.startswith(COLD))
    )


def _check_tensor(saved: SnapshotContent, name: str, wanted: WantedTensor) -> None:
    array = saved.arrays[name]
    shape = wanted.shape
    fits = len(shape) == array.ndim and all(
        size in (actual_type, _ANY) for size, actual_type in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != np.dtype(wanted.dtype):
        sizes = ", ".join("any" if size == _ANY else str(size) for size in shape)
        actual_type = f"{array.dtype} of shape {list(array.shape)}"
        why = f"{actual_type}, wanted {np.dtype(wanted.dtype)} of shape [{sizes}]"
        saved.refuse(why, name)


def _wanted(saved: SnapshotContent, saving: SnapshotFormat) -> Iterator[tuple[str, WantedTensor]]:
    for name, dtype in saving.ENTITY_TENSORS.items():
        yield f"entities.{name}", WantedTensor(dtype, (_ANY,))
    yield "entities.noted", WantedTensor("u8", (_ANY,), "noted")
    cells: Counter[str] = Counter()
    if "archetypes" in saved.state:
        n = sum(count for _, count in saved.state["archetypes"]["tables"])
        yield "archetypes.entity", WantedTensor("u8", (n,))
        for names, count in saved.state["archetypes"]["tables"]:
            cells.update(dict.fromkeys(names, count))
    for name, component in saved.schema["components"].items():
        if component["in"] == "managers":
            columns = _of_manager(saved, saving, component)
        else:
            columns = _of_fields(saved, component, cells[name], 0)
        for column, tensor in columns:
            yield f"{component['module']}.{column}", tensor


def _of_manager(
    saved: SnapshotContent, saving: SnapshotFormat, component: Document
) -> Iterator[tuple[str, WantedTensor]]:
    numbers = saved.state[state_key(component["module"])]
    n = numbers["n"]
    if component["owner"] == "entity":
        yield "entity", WantedTensor("u8", (n,))
    for rules in policies_of(component, saving.POLICIES):
        for name, length in rules.columns.items():
            yield name, WantedTensor("u4", (numbers[length],))
        for name, dtype in rules.all_or_no_columns.items():
            yield name, WantedTensor(dtype, (_ANY,), f"{component['module']}.ids")
    if component["owner"] == "entity" and component["lookup"] == "sparse":
        yield "_map", WantedTensor("u4", (_ANY,))
    if component["owner"] == "entity" and component["destroy"] == "gc":
        yield "_rng", WantedTensor("u4", (RNG_WORDS,), f"{component['module']}._rng")
    yield from _of_fields(saved, component, n, numbers.get("n_cold", n))


def _of_fields(
    saved: SnapshotContent, component: Document, n: int, n_cold: int
) -> Iterator[tuple[str, WantedTensor]]:
    """Yield the tensors of the fields: n cells of each, or `n_cold` where they lie apart."""
    for name, type_, _ in stored_columns(saved.schema, component):
        count = n_cold if name.startswith(COLD) else n
        if type_.base == "object":
            pair = f"{component['module']}.{name}"
            yield name, WantedTensor("u1", (_ANY,), pair)
            yield name + LENGTHS, WantedTensor("i8", (count,), pair)
        else:
            shape = (count, *type_.cell_shape)
            yield name, WantedTensor(type_.dtype.str[1:], shape)


def stored_columns(schema: Document, component: Document) -> Iterator[StoredColumn]:
    """Yield the columns that store a component's fields; of split ones, one per element."""
    is_indirect = component["cold"] == "indirect" and component["in"] == "managers"
    for name, field in component["fields"].items():
        type_ = cell_type(field["type"], schema["enums"])
        column = COLD + name if is_indirect and field["cold"] else name
        if field["split"]:
            for part in split_columns(column, type_.shape):
                yield StoredColumn(part, type_.of_shape(()), field)
        else:
            yield StoredColumn(column, type_, field)


def field_tensors(
    saved: SnapshotContent, component: Document
) -> Iterator[tuple[str, StoredColumn]]:
    """Yield the tensors that hold a component's fields, without lengths of objects."""
    for column in stored_columns(saved.schema, component):
        yield f"{component['module']}.{column.name}", column


_MOST: Final = (1 << 63) - 1
_ALL: Final = (1 << 64) - 1
_NOTES: Final = ("seed", "calls")
"""Entries of kernels that draw random numbers, present unless they are as at first."""


def check_state(saved: SnapshotContent, saving: SnapshotFormat) -> None:
    """Refuse a state that has not exactly what the schema asks for; O(its size)."""
    check, state, schema = _Check(saved.name), saved.state, saved.schema
    components: Mapping[str, Document] = schema["components"]
    managed = [c for c in components.values() if c["in"] == "managers"]
    chunked = [name for name, c in components.items() if c["in"] == "archetypes"]
    keys = ["entities", *(state_key(c["module"]) for c in managed)]
    keys += [*(["archetypes"] if chunked else []), "groups", ATTRIBUTES]
    check.keys("state", state, keys, [WORLD, ARRAYS, GENERATORS])
    if WORLD in state:
        notes = state[WORLD]
        check.keys(f"state.{WORLD}", notes, [], (*_NOTES, "tick"))
        _check_notes(check, f"state.{WORLD}", notes)
    check.keys("state.entities", state["entities"], saving.ENTITY_NUMBERS)
    for name in saving.ENTITY_NUMBERS:  # `shard` has `shard_bits`
        most = (1 << schema["entity"].get(f"{name}_bits", 63)) - 1
        check.number(f"state.entities.{name}", state["entities"][name], 0, most)
    for component in managed:
        _check_manager(check, saved, component)
    if SETTINGS in components:
        check.number(f"state.{SETTINGS}.n", state[SETTINGS]["n"], 1, 1)
    if chunked:
        _check_tables(check, state["archetypes"], chunked)
    check.keys("state.groups", state["groups"], schema["groups"])
    for name, members in schema["groups"].items():
        modules = [components[member]["module"] for member in members]
        most = min(state[state_key(module)]["n"] for module in modules)
        check.number(f"state.groups.{name}", state["groups"][name], 0, most)
    for key in (ATTRIBUTES, GENERATORS):
        attributes = state.get(key, {})
        if type(attributes) is not dict:
            check.refuse(f"state.{key}", "wanted an object")
        for name, value in attributes.items():
            if not is_json(value):  # it could not be saved again
                check.refuse(f"state.{key}.{name}", "nested too deep, or too long")
    arrays = state.get(ARRAYS, [])
    if type(arrays) is not list or any(type(name) is not str for name in arrays):
        check.refuse(f"state.{ARRAYS}", "wanted a list of names")
    for name in arrays:
        if ATTRIBUTE + name not in saved.arrays:
            check.refuse(f"state.{ARRAYS}", f"there is no tensor {short_repr(ATTRIBUTE + name)}")


def _check_manager(check: _Check, saved: SnapshotContent, component: Document) -> None:
    """Refuse numbers of a manager that exceed the numbers of which they are a part."""
    where = f"state.{state_key(component['module'])}"
    numbers = saved.state[state_key(component["module"])]
    bounds = {"n": NumberRule(0, max_rows(component)), "version": NumberRule(0, _MOST)}
    for rules in policies_of(component):
        bounds |= rules.numbers
    # Other writers may leave `count` out.
    optional = ("count",) if component["lookup"] == "direct" else ()
    if "grid" in component:
        check.keys(where, numbers, [*bounds, "shape", "wrap"], _NOTES)
        _check_cells(check, where, numbers, component["grid"])
    else:
        check.keys(where, numbers, bounds, (*_NOTES, "wrap", *optional))
        if "wrap" in numbers:
            _check_wrap(check, f"{where}.wrap", numbers["wrap"])
    _check_notes(check, where, numbers)
    for name, (*ends, _) in bounds.items():
        lowest, highest = (numbers.get(end, end) for end in ends)
        check.number(f"{where}.{name}", numbers[name], lowest, highest)
    if "count" in numbers:
        n = numbers["n"]
        check.number(f"{where}.count", numbers["count"], min(n, 1), n)


def _check_notes(check: _Check, where: str, notes: Document) -> None:
    """Refuse a seed, a time or numbers of calls that no kernel can go on with."""
    if "seed" in notes:
        check.number(f"{where}.seed", notes["seed"], 0, _ALL)
    if "tick" in notes:
        check.number(f"{where}.tick", notes["tick"], ~_MOST, _MOST)
    calls = notes.get("calls", {})
    if type(calls) is not dict:
        check.refuse(f"{where}.calls", "wanted an object")
    for kernel in calls:
        check.number(f"{where}.calls.{kernel}", calls[kernel], 0, _MOST)


def _check_wrap(check: _Check, where: str, wrap: Any) -> None:
    """Refuse sizes of axes that no space has."""
    if type(wrap) is not list or not 1 <= len(wrap) <= 3:
        check.refuse(where, "wanted a list of one to three sizes")
    for size in wrap:
        if type(size) is not float or not 0 <= size < inf:
            check.refuse(where, f"{short_repr(size)}, wanted finite floats from 0")


def _check_cells(check: _Check, where: str, numbers: Document, axes: int) -> None:
    """Refuse a shape or wrap that no grid of so many axes has, or another number of cells."""
    shape, wrap = numbers["shape"], numbers["wrap"]
    for key, value, kind in (("shape", shape, int), ("wrap", wrap, bool)):
        is_list = type(value) is list and len(value) == axes
        if not is_list or any(type(element) is not kind for element in value):
            kind_name = "sizes" if kind is int else "booleans"
            check.refuse(f"{where}.{key}", f"{short_repr(value)}, wanted {axes} {kind_name}")
    if min(shape) < 1 or prod(shape) != numbers["n"]:
        check.refuse(f"{where}.shape", f"{short_repr(shape)} is not of {numbers['n']} cells")


def _check_tables(check: _Check, archetypes: Any, chunked: list[str]) -> None:
    """Refuse tables that are not each of other components, named in their order."""
    where = "state.archetypes"
    check.keys(where, archetypes, ["version", "tables"])
    check.number(f"{where}.version", archetypes["version"], 0, _MOST)
    tables = archetypes["tables"]
    if type(tables) is not list:
        check.refuse(f"{where}.tables", "wanted a list")
    order_of = {name: number for number, name in enumerate(chunked)}
    seen = set()
    for number, table in enumerate(tables):
        path = f"{where}.tables[{number}]"
        if type(table) is not list or len(table) != 2 or type(table[0]) is not list:
            check.refuse(path, "wanted components and a number of rows")
        names, _ = table
        if not all(type(name) is str and name in order_of for name in names):
            check.refuse(path, f"{short_repr(names)} are not all components in chunks")
        sequence = tuple(order_of[name] for name in names)
        if not sequence or list(sequence) != sorted(set(sequence)) or sequence in seen:
            check.refuse(path, f"{short_repr(names)} again, in another order, or none")
        seen.add(sequence)
        check.number(f"{path}.rows", table[1], 0, MAX_ROWS)
