"""Projects with stand-ins for names: as long, nearly in the same order, and unlike any other.

The last letter of a name is one of the Deseret alphabet, so that whatever is made of the name shows
where it is from. Python takes these letters in identifiers, and they have capitals.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from operator import is_
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, TypeVar, cast

from ecsgen import model
from ecsgen.model import programs, types
from ecsgen.render.naming.words import OWN_WORDS
from ecsgen.schema.names import DERIVED_CLASSES, DESERET_LOWER, DESERET_UPPER
from ecsgen.schema.taken import EXPORTED

T = TypeVar("T")

_LETTERS: Final = dict(
    zip(ascii_uppercase + ascii_lowercase, DESERET_UPPER[:26] + DESERET_LOWER[:26], strict=True)
)
_BACK: Final = {letter: plain for plain, letter in _LETTERS.items()}
_DESERET: Final = "".join(_BACK)
_ALONE: Final = re.compile(f"(?<![{_DESERET}])[{_DESERET}](?![{_DESERET}])")
_LAST: Final = re.compile(r"[A-Za-z](?=[0-9_]*$)")
_EXPORTED: Final = frozenset(EXPORTED.split())
_OWN_WORDS: Final = frozenset(OWN_WORDS.split())
_WORD: Final = re.compile(r"\w+")
_CLASS: Final = re.compile(rf"[A-Z{DESERET_UPPER}]\w*")

_NAMES: Final[dict[type, tuple[str, ...]]] = {
    model.Component: ("name", "module", "group"),
    model.Enum: ("name",),
    model.Field: ("name",),
    model.Fused: ("name",),
    model.Kernel: ("name", "each", "over", "key", "radius", "among"),
    model.Query: ("name", "all", "any", "none", "optional"),
    model.Reduction: ("name",),
    model.Shards: ("ghosts", "stay"),
    model.Space: ("field",),
    model.World: ("name", "bundles", "groups", "schedules", "archetypes"),
    programs.Argument: ("name",),
    programs.Exists: ("component",),
    programs.Local: ("name",),
    programs.Near: ("among",),
}
"""The attributes of the model that have names of schemas; the words in them are such names."""

_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    model.Component: ("joined", "ghosts"),
    programs.FieldValue: ("name", "owner"),
    programs.OtherField: ("name", "owner"),
    programs.Program: ("reads", "writes", "above_roots", "refers", "sends"),
    programs.Folding: ("reads",),
    programs.Referred: ("component", "name"),
}
"""Those that have fields, and columns that managers keep."""
_KEPT: Final = frozenset((programs.ENTITY, programs.ID_SLOT, programs.PARENT))

_TYPES: Final[dict[type, tuple[str, ...]]] = {
    model.FieldType: ("text", "target"),
    types.Type: ("kind",),
}
"""Those that have names of types: of these, schemas name those with capitals."""


def with_stand_ins(project: model.Project) -> tuple[model.Project, frozenset[str]]:
    """Return a project in which names that generated code might use itself have stand-ins.

    With it the other names that have such a name in them: what is made of that may be one of these.
    """
    found: set[str] = set()

    def see(name: str) -> str:
        found.add(name)
        return name

    _changed(project, see)
    chosen = {name: stand_in(name) for name in found - _EXPORTED if may_meet(name)}
    if not chosen:
        return project, frozenset()
    others = (name for name in found - chosen.keys() if any(one in name for one in chosen))
    stood = _changed(project, lambda name: chosen.get(name, name))
    return dataclasses.replace(stood, named=project), frozenset(others)


def stand_in(name: str) -> str:
    """Return what stands for a name."""
    return _LAST.sub(lambda letter: _LETTERS[letter[0]], name)


def plain(text: str) -> str:
    """Return text with the names themselves. Words of that alphabet stay: it has users."""
    return text if text.isascii() else _ALONE.sub(lambda letter: _BACK[letter[0]], text)


def may_meet(name: str) -> bool:
    made = [name, *(name + end for end in DERIVED_CLASSES)] if name[0].isupper() else [name]
    return any(one.lower().strip("_") in _OWN_WORDS for one in made)


def _changed(value: T, change: Callable[[str], str]) -> T:
    """Return a value with other names, wherever it has any."""
    if isinstance(value, tuple):
        return cast(T, _tuple(value, [_changed(item, change) for item in value]))
    kind = type(value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for field in dataclasses.fields(value):
        old = getattr(value, field.name)
        if field.name in _NAMES.get(kind, ()):
            new = _renamed(old, change, _WORD)
        elif field.name in _FIELDS.get(kind, ()):
            new = _renamed(old, lambda name: name if name in _KEPT else change(name), _WORD)
        elif field.name in _TYPES.get(kind, ()):
            new = _renamed(old, change, _CLASS)
        elif kind is model.Kernel and field.name == "args":
            new = tuple((change(name), _renamed(of, change, _CLASS), u) for name, of, u in old)
        else:
            new = _changed(old, change)
        if new is not old:
            changes[field.name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _tuple(value: Any, items: list[Any]) -> Any:
    """Return a tuple of its kind with other items; the same one if they are the same."""
    if all(map(is_, value, items)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _renamed(value: Any, change: Callable[[str], str], word: re.Pattern[str]) -> Any:
    """Return text with other names for its words, wherever a value has text."""
    if isinstance(value, str):
        return word.sub(lambda found: change(found[0]), value)
    if isinstance(value, tuple):
        return tuple(_renamed(item, change, word) for item in value)
    return value
