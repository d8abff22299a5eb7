"""Checks of a snapshot's documents, which other code may have written: schema, state, tensors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

from ..base.errors import short_repr
from ..base.handles import MAX_ROWS
from .cell_types import CellType, cell_type
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
from .saved_component import SavedComponent
from .stored_columns import LENGTHS

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|\.\d{9})?")
_ODD: Final = ("NaN", "Infinity", "-Infinity")


def is_default(type_: CellType, default: Any) -> bool:
    """Return True if a document's default is a cell of a type: nested lists of a shape."""
    shape = type_.cell_shape if type_.base == "bytes" else type_.shape
    try:
        elements = np.array(default, np.object_)
    except ValueError:  # lists of several lengths
        return False
    return elements.shape == shape and all(_is_element(type_, it) for it in elements.flat)


def _is_element(type_: CellType, value: Any) -> bool:
    kind = type(value)
    match type_.base:
        case "object":
            return value is None
        case "bool":
            return kind is bool
        case "str":
            stored = value.encode(errors="ignore") if kind is str else b""
            return stored.decode() == value and len(stored) <= type_.size and 0 not in stored
        case "datetime":
            return kind is str and (value == "NaT" or bool(_MOMENT.fullmatch(value)))
        case "timedelta":
            return bool(value == "NaT") or (kind is int and abs(value) < 2**63)
        case "f32" | "f64":
            highest = float(np.finfo(type_.dtype).max)
            return value in _ODD or (kind in (int, float) and -highest <= value <= highest)
        case "enum":
            return kind is int and value in type_.members.values()
        case "flags":
            return kind is int and value & ~type_.mask == 0
    limits = np.iinfo(type_.dtype)
    return kind is int and int(limits.min) <= value <= int(limits.max)


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


class _Part:
    """A value in a document, and its path, with which errors begin."""

    def __init__(self, file: str, path: str, value: Any) -> None:
        self.file = file
        self.path = path
        self.value = value

    def __getitem__(self, key: str) -> _Part:
        return _Part(self.file, f"{self.path}.{key}", self.value[key])

    def refuse(self, why: str) -> NoReturn:
        refuse(self.file, f"{self.path}: {why}")

    def keys(self, wanted: Collection[str], keys_if_on: Collection[str] = ()) -> None:
        """Refuse what is no object with exactly these keys; `keys_if_on` may be lacking."""
        if type(self.value) is not dict:
            self.refuse("wanted an object")
        for key in wanted:
            if key not in self.value:
                self.refuse(f"there is no {key}")
        for key in self.value:
            if key not in wanted and key not in keys_if_on:
                self.refuse(f"{short_repr(key)} is not known")

    def number(self, lowest: int, highest: int) -> int:
        """Return an integer within a range, both ends included."""
        value = self.value
        if type(value) is not int or not lowest <= value <= highest:
            self.refuse(f"{short_repr(value)}, wanted {lowest} to {highest}")
        return value

    def among(self, values: Collection[Any]) -> None:
        """Refuse what is none of these values, by exact type."""
        if not any(type(self.value) is type(value) and self.value == value for value in values):
            self.refuse(f"{short_repr(self.value)}, wanted one of {list(values)}")

    def named(self, names: re.Pattern[str] | None = None) -> list[_Part]:
        """Return the entries of an object; refuse keys that are no names."""
        if type(self.value) is not dict:
            self.refuse("wanted an object")
        for name in self.value:
            if names and not names.fullmatch(name):
                self.refuse(f"{short_repr(name)} is no name")
        return [self[name] for name in self.value]


def check_schema(document: Any, file: str, saving: SnapshotFormat) -> None:
    """Refuse a document that is not the `schema` of some world; O(its size)."""
    schema = _Part(file, "schema", document)
    schema.keys(["version", "entity", "enums", "components", "groups"], [SETTINGS])
    schema["version"].number(0, 1 << 63)
    entity = schema["entity"]
    entity.keys(saving.ENTITY_BITS)
    bits = entity["index_bits"].number(1, 32)
    entity["generation_bits"].number(1, min(63, 64 - bits))
    if "shard_bits" in entity.value:
        entity["shard_bits"].number(1, 32)
    for enum in schema["enums"].named(_CLASS):
        _check_enum(enum)
    modules = set()
    for component in schema["components"].named(_CLASS):
        _check_component(component, document["enums"])
        module = component["module"]
        if module.value in modules:
            module.refuse(f"{short_repr(module.value)} is there twice")
        modules.add(module.value)
    if SETTINGS in document:
        for field in schema[SETTINGS].named(_NAME):
            _check_field(field, document["enums"])
    _check_ids(_Part(file, "schema", with_settings(document))["components"])
    _check_groups(schema["groups"], document["components"])


def _check_enum(enum: _Part) -> None:
    enum.keys(["type", "flags", "members"])
    enum["type"].among(_TYPES)
    enum["flags"].among((False, True))
    members = enum["members"].named(_NAME)
    for member in members:
        member.number(0, (1 << _TYPES[enum.value["type"]]) - 1)
    if not members:
        enum.refuse("there are no members")


def _check_component(component: _Part, enums: Mapping[str, Document]) -> None:
    component.keys(["module", *_POLICIES, "fields"], _KEYS_IF_ON)
    module = component["module"]
    if type(module.value) is not str or not _NAME.fullmatch(module.value):
        module.refuse(f"{short_repr(module.value)} is no name")
    for key, values in _POLICIES.items():
        component[key].among(values)
    for key in _KEYS_IF_ON.keys() & component.value.keys():
        component[key].number(_KEYS_IF_ON[key][0], _KEYS_IF_ON[key][-1])
    for reason in _contradictions(component.value):
        component.refuse(reason)
    for field in component["fields"].named(_NAME):
        _check_field(field, enums)


def _check_field(field: _Part, enums: Mapping[str, Document]) -> None:
    field.keys(["type", "default", "cold", "split", "unit"], ["unique"])
    type_ = _checked_type(field["type"], enums)
    for key in ("cold", "split"):
        field[key].among((False, True))
    if type(field.value["unit"]) is not str:
        field["unit"].refuse("wanted a string")
    if "unique" in field.value:
        field["unique"].among((True,))
        if type_.shape or type_.base == "object":
            field["unique"].refuse("only of one value per row")
    if field.value["split"] and not type_.shape:
        field["split"].refuse("only of a shape")
    default = field["default"]
    if not is_default(type_, default.value):
        default.refuse(f"{short_repr(default.value)} is no value of {type_.text}")


def _checked_type(text: _Part, enums: Mapping[str, Document]) -> CellType:
    type_ = None
    if type(text.value) is str and _TYPE.fullmatch(text.value):
        with suppress(ValueError):
            type_ = cell_type(text.value, enums)
    if (
        type_ is None
        or prod(type_.shape) > _MAX_ELEMENTS
        or type_.size > _MAX_SIZE
        or (type_.base == "object" and type_.shape)
    ):
        text.refuse(f"{short_repr(text.value)} is no field type")
    return type_


def _check_ids(components: _Part) -> None:
    for component in components.named():
        for field in component["fields"].named():
            type_ = field["type"]
            if type_.value.startswith("id<"):
                target = type_.value[3:].partition(">")[0]
                known = components.value.get(target, {})
                if not known.get("ids") and "grid" not in known:
                    type_.refuse(f"{short_repr(target)} has no ids")


def _check_groups(groups: _Part, components: Document) -> None:
    """Refuse groups of what cannot be in step, or is in another group already."""
    taken = set()
    for group in groups.named(_NAME):
        if type(group.value) is not list or len(group.value) < 2:
            group.refuse("wanted a list of components")
        for member in group.value:
            if type(member) is not str or member not in components or member in taken:
                group.refuse(f"{short_repr(member)} is none, or is in a group already")
            taken.add(member)
            component = components[member]
            kind = tuple(component[key] for key in ("in", "owner", "instances", "partition"))
            if kind != ("managers", "entity", "one", "") or component["lookup"] == "direct":
                group.refuse(f"{member} cannot be in a group")


RNG_WORDS: Final = 625
_SPARE: Final = 1 << 24
"""Bytes of padding that a file may have."""
_ANY: Final = -1
"""A size that depends on the rows."""


class WantedTensor(NamedTuple):
    """Type and shape that a tensor must have. Tensors with a `pair` may be absent, if both are."""

    dtype: str
    shape: tuple[int, ...]
    pair: str = ""


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
    for name, doc in saved.schema["components"].items():
        if not doc["ids"] or doc["in"] != "managers":
            continue
        component = SavedComponent(saved, name, doc)
        peak = component.numbers["peak"]
        apart = f"{component.module}._map", f"{component.module}.cold."
        needed += peak * sum(
            prod(tensor.shape[1:]) * np.dtype(tensor.dtype).itemsize
            for name, tensor in _of_manager(component, saving)
            if not (tensor.pair or name.startswith(apart))
        )
        if needed > nbytes + _SPARE:
            component.refuse(f"room for {peak} rows is more than the file has", "id_generation")


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
    for name, doc in saved.schema["components"].items():
        component = SavedComponent(saved, name, doc)
        if component.is_chunked:
            yield from _of_fields(component, cells[name], 0)
        else:
            yield from _of_manager(component, saving)


def _of_manager(
    component: SavedComponent, saving: SnapshotFormat
) -> Iterator[tuple[str, WantedTensor]]:
    module, doc, numbers = component.module, component.doc, component.numbers
    n = component.n
    if component.has_owners:
        yield f"{module}.entity", WantedTensor("u8", (n,))
        if doc["lookup"] == "sparse":
            yield f"{module}._map", WantedTensor("u4", (_ANY,))
        if doc["destroy"] == "gc":
            yield f"{module}._rng", WantedTensor("u4", (RNG_WORDS,), f"{module}._rng")
    for rules in policies_of(doc, saving.POLICIES):
        for name, length in rules.columns.items():
            yield f"{module}.{name}", WantedTensor("u4", (numbers[length],))
        for name, dtype in rules.all_or_no_columns.items():
            yield f"{module}.{name}", WantedTensor(dtype, (_ANY,), f"{module}.ids")
    yield from _of_fields(component, n, numbers.get("n_cold", n))


def _of_fields(
    component: SavedComponent, n: int, n_cold: int
) -> Iterator[tuple[str, WantedTensor]]:
    """Yield the tensors of the fields: n cells of each, or `n_cold` where they lie apart."""
    for tensor, type_, field in component.columns():
        count = n_cold if component.is_cold_apart(field) else n
        if type_.base == "object":
            yield tensor, WantedTensor("u1", (_ANY,), tensor)
            yield tensor + LENGTHS, WantedTensor("i8", (count,), tensor)
        else:
            yield tensor, WantedTensor(type_.dtype.str[1:], (count, *type_.cell_shape))


_MOST: Final = (1 << 63) - 1
_ALL: Final = (1 << 64) - 1
_NOTES: Final = ("seed", "calls")
"""Entries of kernels that draw random numbers, present unless they are as at first."""


def check_state(saved: SnapshotContent, saving: SnapshotFormat) -> None:
    """Refuse a state that has not exactly what the schema asks for; O(its size)."""
    state, schema = _Part(saved.name, "state", saved.state), saved.schema
    components: Mapping[str, Document] = schema["components"]
    managed = [c for c in components.values() if c["in"] == "managers"]
    chunked = [name for name, c in components.items() if c["in"] == "archetypes"]
    keys = ["entities", *(state_key(c["module"]) for c in managed)]
    keys += [*(["archetypes"] if chunked else []), "groups", ATTRIBUTES]
    state.keys(keys, [WORLD, ARRAYS, GENERATORS])
    if WORLD in saved.state:
        state[WORLD].keys([], (*_NOTES, "tick"))
        _check_notes(state[WORLD])
    state["entities"].keys(saving.ENTITY_NUMBERS)
    for name in saving.ENTITY_NUMBERS:  # `shard` has `shard_bits`
        most = (1 << schema["entity"].get(f"{name}_bits", 63)) - 1
        state["entities"][name].number(0, most)
    for component in managed:
        _check_manager(state[state_key(component["module"])], component)
    if SETTINGS in components:
        state[SETTINGS]["n"].number(1, 1)
    if chunked:
        _check_tables(state["archetypes"], chunked)
    state["groups"].keys(schema["groups"])
    for name, members in schema["groups"].items():
        modules = [components[member]["module"] for member in members]
        most = min(saved.state[state_key(module)]["n"] for module in modules)
        state["groups"][name].number(0, most)
    for key in (ATTRIBUTES, GENERATORS):
        for attribute in state[key].named() if key in saved.state else ():
            if not is_json(attribute.value):  # it could not be saved again
                attribute.refuse("nested too deep, or too long")
    arrays = saved.state.get(ARRAYS, [])
    if type(arrays) is not list or any(type(name) is not str for name in arrays):
        state[ARRAYS].refuse("wanted a list of names")
    for name in arrays:
        if ATTRIBUTE + name not in saved.arrays:
            state[ARRAYS].refuse(f"there is no tensor {short_repr(ATTRIBUTE + name)}")


def _check_manager(state: _Part, component: Document) -> None:
    """Refuse numbers of a manager that exceed the numbers of which they are a part."""
    numbers = state.value
    bounds = {"n": NumberRule(0, max_rows(component)), "version": NumberRule(0, _MOST)}
    for rules in policies_of(component):
        bounds |= rules.numbers
    # Other writers may leave `count` out.
    optional = ("count",) if component["lookup"] == "direct" else ()
    if "grid" in component:
        state.keys([*bounds, "shape", "wrap"], _NOTES)
        _check_cells(state, component["grid"])
    else:
        state.keys(bounds, (*_NOTES, "wrap", *optional))
        if "wrap" in numbers:
            _check_wrap(state["wrap"])
    _check_notes(state)
    for name, (*ends, _) in bounds.items():
        lowest, highest = (numbers.get(end, end) for end in ends)
        state[name].number(lowest, highest)
    if "count" in numbers:
        state["count"].number(min(numbers["n"], 1), numbers["n"])


def _check_notes(notes: _Part) -> None:
    """Refuse a seed, a time or numbers of calls that no kernel can go on with."""
    for key, lowest, highest in (("seed", 0, _ALL), ("tick", ~_MOST, _MOST)):
        if key in notes.value:
            notes[key].number(lowest, highest)
    if "calls" in notes.value:
        for calls in notes["calls"].named():
            calls.number(0, _MOST)


def _check_wrap(wrap: _Part) -> None:
    """Refuse sizes of axes that no space has."""
    if type(wrap.value) is not list or not 1 <= len(wrap.value) <= 3:
        wrap.refuse("wanted a list of one to three sizes")
    for size in wrap.value:
        if type(size) is not float or not 0 <= size < inf:
            wrap.refuse(f"{short_repr(size)}, wanted finite floats from 0")


def _check_cells(state: _Part, axes: int) -> None:
    """Refuse a shape or wrap that no grid of so many axes has, or another number of cells."""
    for key, kind, elements in (("shape", int, "sizes"), ("wrap", bool, "booleans")):
        value = state.value[key]
        is_list = type(value) is list and len(value) == axes
        if not is_list or any(type(element) is not kind for element in value):
            state[key].refuse(f"{short_repr(value)}, wanted {axes} {elements}")
    shape, n = state.value["shape"], state.value["n"]
    if min(shape) < 1 or prod(shape) != n:
        state["shape"].refuse(f"{short_repr(shape)} is not of {n} cells")


def _check_tables(archetypes: _Part, chunked: list[str]) -> None:
    """Refuse tables that are not each of other components, named in their order."""
    archetypes.keys(["version", "tables"])
    archetypes["version"].number(0, _MOST)
    tables = archetypes["tables"]
    if type(tables.value) is not list:
        tables.refuse("wanted a list")
    order_of = {name: number for number, name in enumerate(chunked)}
    seen = set()
    for number, entry in enumerate(tables.value):
        table = _Part(archetypes.file, f"{tables.path}[{number}]", entry)
        if type(entry) is not list or len(entry) != 2 or type(entry[0]) is not list:
            table.refuse("wanted components and a number of rows")
        names, rows = entry
        if not all(type(name) is str and name in order_of for name in names):
            table.refuse(f"{short_repr(names)} are not all components in chunks")
        sequence = tuple(order_of[name] for name in names)
        if not sequence or list(sequence) != sorted(set(sequence)) or sequence in seen:
            table.refuse(f"{short_repr(names)} again, in another order, or none")
        seen.add(sequence)
        _Part(archetypes.file, f"{table.path}.rows", rows).number(0, MAX_ROWS)
