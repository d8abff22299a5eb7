"""The `schema` of a snapshot that other code wrote: whether it is one that ecsgen makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any, Final, NoReturn

import numpy as np

from ..errors import shown
from .documents import Document, refuse
from .facts import FLOATS, CellType, cell_type
from .policies import OF_FIELDS, POLICIES, policies_of

# --- Defaults in a schema document: complete, and of their field's type ---------------


_ODD: Final = ("NaN", "Infinity", "-Infinity")


def is_default(type_: CellType, given: Any) -> bool:
    """Return whether a document's default is a cell of a type: nested lists of its shape."""
    return _fills(type_, type_.shape, given)


def _fills(type_: CellType, shape: tuple[int, ...], given: Any) -> bool:
    if not shape:
        return _is_element(type_, given)
    if type(given) is not list or len(given) != shape[0]:
        return False
    return all(_fills(type_, shape[1:], part) for part in given)


def _is_element(type_: CellType, given: Any) -> bool:
    base = type_.base
    if base == "object":
        return given is None
    if base == "bool":
        return type(given) is bool
    if base == "str":
        return type(given) is str and _is_text(given, type_.size)
    if base == "bytes":
        return (
            type(given) is list
            and len(given) == type_.size
            and all(type(byte) is int and 0 <= byte <= 255 for byte in given)
        )
    if base in FLOATS:
        return _is_float(type_, given)
    return type(given) is int and _is_integer(type_, given)


def _is_text(given: str, size: int) -> bool:
    try:
        stored = given.encode()
    except UnicodeEncodeError:
        return False
    return len(stored) <= size and 0 not in stored


def _is_float(type_: CellType, given: Any) -> bool:
    if type(given) is str:
        return given in _ODD
    highest = float(np.finfo(type_.dtype).max)
    return type(given) in (int, float) and -highest <= given <= highest


def _is_integer(type_: CellType, given: int) -> bool:
    if type_.base == "enum":
        return given in type_.members.values()
    if type_.base == "flags":
        return given & ~type_.mask == 0
    limits = np.iinfo(type_.dtype)
    return int(limits.min) <= given <= int(limits.max)


# --- The `schema` of a snapshot that other code wrote: whether it is one that ecsgen
# makes.


_CLASS: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_MAX_ELEMENTS: Final = 4096
_MAX_SIZE: Final = 65_536
_TYPE: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9_]{0,63}(<[A-Za-z0-9]{1,64}>)?(\[[1-9][0-9]{0,5}(,[1-9][0-9]{0,5}){0,7}\])?"
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
_RARE: Final = {key: span for facts in POLICIES for key, span in facts.rare.items()}
_TYPES: Final[Mapping[str, int]] = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}

_Rule = Callable[[Document], bool]

_RULES: Final[tuple[tuple[str, _Rule], ...]] = (
    (
        "'lookup: direct' goes with nothing that orders rows",
        lambda c: (
            c["lookup"] == "direct"
            and any(facts.excludes_direct for facts in policies_of(c))
        ),
    ),
    (
        "'owner: none' has ids, and nothing that needs entities",
        lambda c: (
            c["owner"] == "none"
            and (
                c["instances"] == "many"
                or c["lookup"] != "sparse"
                or c["destroy"] != "gc"
                or not c["ids"]
                or c["hierarchy"] == "die"
            )
        ),
    ),
)


def check_schema(schema: Any, file: str) -> None:
    """Refuse a document that is not the `schema` of some world; O(its size)."""
    check = _Check(file)
    check.keys("schema", schema, ["version", "entity", "enums", "components", "groups"])
    check.number("schema.version", schema["version"], 0, 1 << 63)
    entity = schema["entity"]
    check.keys("schema.entity", entity, ["index_bits", "generation_bits"])
    bits = check.number("schema.entity.index_bits", entity["index_bits"], 1, 32)
    where = "schema.entity.generation_bits"
    check.number(where, entity["generation_bits"], 1, min(63, 64 - bits))
    for name, enum in check.named("schema.enums", schema["enums"], _CLASS):
        _check_enum(check, f"schema.enums.{name}", enum)
    modules = set()
    for name, each in check.named("schema.components", schema["components"], _CLASS):
        at = f"schema.components.{name}"
        _check_component(check, at, each, schema["enums"])
        if each["module"] in modules:
            check.refuse(f"{at}.module", f"{shown(each['module'])} is there twice")
        modules.add(each["module"])
    _check_ids(check, schema["components"])
    _check_groups(check, schema)


class _Check:
    """Refuses what is not as it should be, and says where."""

    def __init__(self, file: str) -> None:
        self._file = file

    def refuse(self, where: str, why: str) -> NoReturn:
        refuse(self._file, f"{where}: {why}")

    def keys(
        self, where: str, given: Any, wanted: Iterable[str], rare: Iterable[str] = ()
    ) -> None:
        """Refuse what is no object with exactly these keys; `rare` ones may be lacking."""
        if type(given) is not dict:
            self.refuse(where, "wanted an object")
        for key in wanted:
            if key not in given:
                self.refuse(where, f"there is no {key}")
        for key in given.keys() - {*wanted, *rare}:
            self.refuse(where, f"{shown(key)} is not known")

    def number(self, where: str, given: Any, lowest: int, highest: int) -> int:
        """Return an integer within a range, both ends included."""
        if type(given) is not int or not lowest <= given <= highest:
            self.refuse(where, f"{shown(given)}, wanted {lowest} to {highest}")
        return given

    def among(self, where: str, given: Any, values: Iterable[Any]) -> None:
        """Refuse what is not exactly one of some values."""
        if not any(type(given) is type(value) and given == value for value in values):
            self.refuse(where, f"{shown(given)}, wanted one of {list(values)}")

    def named(
        self, where: str, given: Any, names: re.Pattern[str]
    ) -> Iterable[tuple[str, Any]]:
        """Return the entries of an object whose keys are all names."""
        if type(given) is not dict:
            self.refuse(where, "wanted an object")
        for name in given:
            if not names.fullmatch(name):
                self.refuse(where, f"{shown(name)} is no name")
        return given.items()


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
    check: _Check, where: str, given: Any, enums: Mapping[str, Document]
) -> None:
    check.keys(where, given, ["module", *_POLICIES, "fields"], _RARE)
    if type(given["module"]) is not str or not _NAME.fullmatch(given["module"]):
        check.refuse(f"{where}.module", f"{shown(given['module'])} is no name")
    for key, values in _POLICIES.items():
        check.among(f"{where}.{key}", given[key], values)
    for key in _RARE.keys() & given.keys():
        check.number(f"{where}.{key}", given[key], _RARE[key][0], _RARE[key][-1])
    for why, is_broken in _RULES:
        if is_broken(given):
            check.refuse(where, why)
    for name, field in check.named(f"{where}.fields", given["fields"], _NAME):
        _check_field(check, f"{where}.fields.{name}", field, enums)


def _check_field(
    check: _Check, where: str, field: Any, enums: Mapping[str, Document]
) -> None:
    rare = [facts.key for facts in OF_FIELDS]
    check.keys(where, field, ["type", "default", "cold", "split", "unit"], rare)
    type_ = _checked_type(check, f"{where}.type", field["type"], enums)
    for key in ("cold", "split"):
        check.among(f"{where}.{key}", field[key], (False, True))
    if type(field["unit"]) is not str:
        check.refuse(f"{where}.unit", "wanted a string")
    for facts in OF_FIELDS:
        if facts.key in field:
            check.among(f"{where}.{facts.key}", field[facts.key], (True,))
            if why := facts.refuses(type_):
                check.refuse(f"{where}.{facts.key}", why)
    if field["split"] and not type_.shape:
        check.refuse(f"{where}.split", "only of a shape")
    if not is_default(type_, field["default"]):
        what = f"{shown(field['default'])} is no value of {type_.text}"
        check.refuse(f"{where}.default", what)


def _checked_type(
    check: _Check, where: str, text: Any, enums: Mapping[str, Document]
) -> CellType:
    type_ = _type(text, enums)
    if type_ is None:
        check.refuse(where, f"{shown(text)} is no field type")
    return type_


def _type(text: Any, enums: Mapping[str, Document]) -> CellType | None:
    """Return a field type, if it is one that a schema may have."""
    if type(text) is not str or not _TYPE.fullmatch(text):
        return None
    try:
        type_ = cell_type(text, enums)
    except ValueError:
        return None
    if prod(type_.shape) > _MAX_ELEMENTS or type_.size > _MAX_SIZE:
        return None
    return None if type_.base == "object" and type_.shape else type_


def _check_ids(check: _Check, components: Mapping[str, Document]) -> None:
    """Refuse fields that are ids of what has none."""
    for name, component in components.items():
        for field, said in component["fields"].items():
            type_ = said["type"]
            if not type_.startswith("id<"):
                continue
            target = type_[3:].partition(">")[0]
            if not components.get(target, {}).get("ids"):
                where = f"schema.components.{name}.fields.{field}.type"
                check.refuse(where, f"{shown(target)} has no ids")


def _check_groups(check: _Check, schema: Document) -> None:
    """Refuse groups of what cannot be in step, or is in another group already."""
    components, taken = schema["components"], set()
    for name, members in check.named("schema.groups", schema["groups"], _NAME):
        where = f"schema.groups.{name}"
        if type(members) is not list or len(members) < 2:
            check.refuse(where, "wanted a list of components")
        for member in members:
            if type(member) is not str or member not in components or member in taken:
                check.refuse(
                    where, f"{shown(member)} is none, or is in a group already"
                )
            taken.add(member)
            if not _can_be_grouped(components[member]):
                check.refuse(where, f"{member} cannot be in a group")


def _can_be_grouped(component: Document) -> bool:
    return (
        component["in"] == "managers"
        and component["owner"] == "entity"
        and component["instances"] == "one"
        and component["lookup"] != "direct"
        and not component["partition"]
    )
