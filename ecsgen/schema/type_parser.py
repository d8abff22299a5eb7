"""Field types: their text, taken apart and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ecsgen.diagnostics import closest, did_you_mean, quote
from ecsgen.model import BaseType, Enum, FieldType, Setting
from ecsgen.model.types import FLOATS, INTEGERS, TIME_UNITS
from ecsgen.schema.validation import BadValueError

MAX_ELEMENTS: Final = 4096
MAX_DIMENSIONS: Final = 8
MAX_SIZE: Final = 65_536

_SIMPLE: Final[dict[str, tuple[BaseType, str]]] = {
    "bool": (BaseType.BOOL, "bool"),
    **{name: (BaseType.INT, name) for name in INTEGERS},
    **{name: (BaseType.FLOAT, name) for name in FLOATS},
    "entity": (BaseType.ENTITY, "u64"),
    "str": (BaseType.STR, ""),
    "bytes": (BaseType.BYTES, ""),
    "object": (BaseType.OBJECT, ""),
}
# Names of types in other languages.
_ELSEWHERE: Final = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (32, 64)},
    **{f"vec{count}": f"f32[{count}]" for count in (2, 3, 4)},
    "any": "object",
    "boolean": "bool",
    "byte": "u8",
    "double": "f64",
    "float": "f32",
    "handle": "entity",
    "int": "i32",
    "integer": "i32",
    "long": "i64",
    "quat": "f32[4]",
    "short": "i16",
    "date": "datetime[s]",
    "datetime64": "datetime[ms]",
    "duration": "timedelta[ms]",
    "timedelta64": "timedelta[ms]",
    "timestamp": "datetime[ms]",
    "string": "str[32]",
    "text": "str[32]",
    "uint": "u32",
}
_CONTAINERS: Final = ("array", "dict", "list", "map", "set", "tuple", "vector")
SEVERAL: Final = (
    "for any number of them per entity give the component 'instances: many', one value per instance"
)
_TIMES: Final = {
    f"{base.value}[{unit}]": FieldType(f"{base.value}[{unit}]", base, f"{kind}8[{unit}]")
    for base, kind in ((BaseType.DATETIME, "M"), (BaseType.TIMEDELTA, "m"))
    for unit in TIME_UNITS
}
_TYPE: Final = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")
_ID: Final = re.compile(r"id<([^<>]*)>")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class TypeScope:
    """The enums and components that types can name. An enum with an error is None."""

    enums: Mapping[str, Enum | None]
    components: Mapping[str, bool]  # name → whether it has ids
    settings: tuple[Setting, ...] = ()
    """The world's settings without an error."""
    wrong_settings: frozenset[str] = frozenset()
    """The names of the others, as in `settings.dt`."""
    incomplete: frozenset[str] = frozenset()
    """`settings`, if the names of some could not be read."""

    def enum_of(self, type_: FieldType) -> Enum | None:
        """Return the enum of a type; None for other types, and for one with an error."""
        return self.enums.get(type_.target) if type_.base is BaseType.ENUM else None

    @property
    def sound_enums(self) -> dict[str, Enum]:
        """The enums without an error, by name."""
        return {name: enum for name, enum in self.enums.items() if enum is not None}

    @property
    def wrong_names(self) -> frozenset[str]:
        """The names of enums and settings with an error, which are not missed."""
        enums = frozenset(name for name, enum in self.enums.items() if enum is None)
        return enums | self.wrong_settings


def parse_type(text: str, types: TypeScope, of: str) -> FieldType:
    """Parse a field type; `of`: its holder in messages. Raises BadValueError."""
    match = _TYPE.fullmatch(text)
    if match is None:
        raise _unknown(text, "", types, of)
    if text in _TIMES:
        return _TIMES[text]
    name, brackets = match[1], match[2]
    suffix = "" if brackets is None else f"[{brackets}]"
    if target := _ID.fullmatch(name):
        _check_target(target[1], types, of)
        return FieldType(text, BaseType.ID, "u64", _shape(name, brackets), target=target[1])
    if name in _SIMPLE:
        base, scalar = _SIMPLE[name]
        if base in (BaseType.STR, BaseType.BYTES):
            return FieldType(text, base, "", size=_size(name, brackets))
        if base is BaseType.OBJECT and brackets is not None:
            raise BadValueError("E105", f"{quote(text)}: an object takes no shape")
        return FieldType(text, base, scalar, _shape(name, brackets))
    if f"{name}[s]" in _TIMES:
        raise _no_unit(name, brackets)
    if name in types.enums:
        enum = types.enums[name]
        scalar = "u8" if enum is None else enum.scalar
        return FieldType(text, BaseType.ENUM, scalar, _shape(name, brackets), target=name)
    raise _unknown(name, suffix, types, of)


def _check_target(name: str, types: TypeScope, of: str) -> None:
    has_ids = types.components.get(name)
    if has_ids is None:
        message = f"unknown component {quote(name)} in the type of {of}"
        raise BadValueError("E501", message, did_you_mean(name, types.components))
    if not has_ids:
        message = f"the component {quote(name)} has no ids, so {of} cannot refer to one"
        raise BadValueError("E502", message, f"give {name} the key 'ids: true'")


def _shape(name: str, brackets: str | None) -> tuple[int, ...]:
    if brackets is None:
        return ()
    parts = brackets.split(",")
    if all(_NUMBER.fullmatch(part) for part in parts):
        shape = tuple(int(part) for part in parts)
        if len(shape) > MAX_DIMENSIONS or math.prod(shape) > MAX_ELEMENTS:
            limit = f"more than {MAX_DIMENSIONS} dimensions and {MAX_ELEMENTS} elements"
            raise BadValueError("E105", f"the shape [{quote(brackets)[1:-1]}] has {limit}")
        return shape
    if not brackets:
        message = f"{quote(f'{name}[]')} has no shape such as [3] or [4,4]"
        raise BadValueError("E105", message, SEVERAL)
    exact = ",".join(part.strip().lstrip("0") for part in parts)
    usable = all(_NUMBER.fullmatch(part) for part in exact.split(","))
    hint = f"did you mean {quote(f'{name}[{exact}]')}?" if usable else ""
    message = f"{quote(f'[{brackets}]')} is not a shape such as [3] or [4,4]"
    raise BadValueError("E105", message, hint)


def _size(name: str, brackets: str | None) -> int:
    if brackets is None:
        raise BadValueError("E105", f"{quote(name)} needs a size", f"did you mean '{name}[32]'?")
    if not _NUMBER.fullmatch(brackets) or int(brackets) > MAX_SIZE:
        message = f"{quote(f'[{brackets}]')} is not a size of 1 to {MAX_SIZE} bytes"
        raise BadValueError("E105", message)
    return int(brackets)


def _no_unit(name: str, brackets: str | None) -> BadValueError:
    known = f"{', '.join(TIME_UNITS[:-1])} and {TIME_UNITS[-1]}"
    if brackets is None:
        message = f"{quote(name)} needs a unit"
    else:
        message = f"{quote(f'[{brackets}]')} is no unit of {name}, which has no shape"
    unit = closest(brackets or "", TIME_UNITS) or "ms"
    hint = f"did you mean '{name}[{unit}]'? The units are {known}"
    return BadValueError("E105", message, hint)


def _unknown(name: str, suffix: str, types: TypeScope, of: str) -> BadValueError:
    message = f"unknown type {quote(name + suffix)} for {of}"
    if name in types.components:
        owner = f"{name} is a component"
        return BadValueError("E104", message, f"{owner}: 'entity' or 'id<{name}>' refer to one")
    return BadValueError("E104", message, _suggest(name, suffix, types.enums))


def _suggest(name: str, suffix: str, enums: Iterable[str]) -> str:
    plain = name.strip()
    if plain.lower().partition("<")[0] in _CONTAINERS:
        return f"{SEVERAL}; 'object' holds any Python object"
    suggestion = _ELSEWHERE.get(plain.lower()) or closest(plain, (*_SIMPLE, *enums))
    if not suggestion:
        return ""
    if "[" not in suggestion:
        suggestion += suffix or ("[32]" if suggestion in ("str", "bytes") else "")
    return f"did you mean {quote(suggestion)}?"
