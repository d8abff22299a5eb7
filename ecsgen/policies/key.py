"""Keys that policies add to the language of schemas: one place says all that there is to a key.

The model has what is written of them as it is, and so have snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field as Described
from pydantic.fields import FieldInfo

from ecsgen.model import Component, Field, FieldType

T = TypeVar("T")

MAX_ROWS: Final = 0xFFFF_FFC0
"""The last multiple of 64 rows below NIL."""


class Refusal(NamedTuple):
    """Why a field cannot have a key: what else is so, and the key that says it."""

    why: str
    key: str
    is_of_field: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[T]):
    """A key of components or of fields: its type in the language, and what it means."""

    name: str
    form: Any
    """What pydantic checks it by."""
    default: Any
    off: T
    """Its value where the policy does not apply."""
    help: str
    of: Literal["component", "field"] = "component"
    off_text: str = ""
    """How a diagnostic says that it is off."""
    refuses: Callable[[Any, Any, FieldType], Refusal | None] = lambda component, field, type_: None
    """Of a field: says by its component's document, its own and its type why it cannot have it."""
    refusal: str = ""
    """The code of the diagnostic that says so."""
    methods: tuple[str, ...] = ()
    """Of a field `x`: what managers get by it, `find_{x}` say."""
    method_is: str = ""

    def value(self, one: Component | Field) -> T:
        """Return what a component or field has."""
        found: T = dict(one.asked).get(self.name, self.off)
        return found

    def info(self) -> tuple[Any, FieldInfo]:
        """Return it as pydantic's `create_model` takes it."""
        return self.form, Described(default=self.default, description=self.help)


def asked(keys: Iterable[Key[Any]], spec: object) -> tuple[tuple[str, Any], ...]:
    """Return which keys a part of a document has, with their values: what the model has of them."""
    values = ((key.name, getattr(spec, key.name)) for key in keys)
    return tuple((name, value) for name, value in values if value)


def whole_lines(rows: int) -> int:
    """Return a number of rows rounded up to whole 64s, as buffers have them."""
    return -(-rows // 64) * 64
