"""The classes of storage policies, and of the keys that they add to the language of schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import Field as ComponentFields
from pydantic.fields import FieldInfo

from ecsgen.model import BaseType, Component, Field, FieldType
from ecsgen.model.columns import Column

StepText: TypeAlias = str | Callable[[Component], str]
"""Statements, or a function that returns them for a component."""

Document: TypeAlias = Mapping[str, Any]
"""A component, or a field, in the `schema` of a snapshot."""


class Fault(NamedTuple):
    """An error in the keys of one component's document, other than a conflict of two."""

    code: str
    key: tuple[str, ...]
    """The path to the key at which the error is reported."""
    message: str
    hint: str = ""
    beside: str = ""
    """The contradicting key, with whose line the message ends."""
    lacks: str = ""
    """The key with a part missing; no error if the key could not be read."""


class Loss(NamedTuple):
    """A loss of saved rows, or of names, if a policy changes."""

    key: str
    code: str
    why: str
    happens: Callable[[Document, Document], bool]
    """True for an old component and a new one with the loss."""
    is_all: bool = False
    """True if the loss includes all others."""


class FieldLoss(NamedTuple):
    """A loss in a field if a policy changes."""

    code: str
    happens: Callable[[Document | None, Document], bool]
    """True for an old field (None if it is new) and a new one with the loss."""
    message: str
    """Text with `{field}`, which is quoted, and `{name}`."""
    hint: str


class Methods(NamedTuple):
    """Public names that components with a policy have."""

    key: str
    has: Callable[[Document], bool]
    names: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFeature:
    """A part of a component's classes, with the condition for it."""

    name: str
    applies: Callable[[Component], bool]
    order: int = 50
    """The order of its base class, and of its code within a step; smaller first."""
    manager_base: str = ""
    """The base class of managers, in the runtime."""
    rows_base: str = ""
    """The base class of their columns, in the runtime."""
    manager_slots: tuple[str, ...] = ()
    """The attributes of a manager that the base class needs."""
    rows_slots: tuple[str, ...] = ()
    """The attributes of the columns that the base class needs."""
    sharded_overrides: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the feature with another value in a world with `shards`."""
    template: bool = False
    """True if `templates/component_features/<name>.py.j2` has blocks, unrolled by column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(ComponentFeature):
    """One storage policy: a feature with columns, or with code for the steps of changes."""

    keys: tuple[Key[Any], ...] = ()
    """Keys that the policy adds to the language of schemas."""
    find_conflicts: Callable[[Any], Iterable[tuple[str, str]]] = lambda spec: ()
    """Yield pairs of keys in a component's document that contradict each other."""
    find_faults: Callable[[Any], Iterable[Fault]] = lambda spec: ()
    """Yield other errors in the document: E401, or E402 for a key without effect."""

    columns: tuple[Column, ...] = ()
    step_code: Mapping[str, StepText] = field(default_factory=dict)
    """Code by step; see `steps`."""
    keyword: str = ""
    """A parameter of `create` beside the fields."""
    keyword_many: str = ""
    """A parameter of `create_many` beside the fields."""
    raises: tuple[str, ...] = ()
    """Exceptions that `create` may raise by the policy, as lines of a docstring."""
    note: StepText = ""
    """Words about a new row's place in the docstring of `create`."""
    max_rows: Callable[[Component], int] = lambda component: 0
    """The most rows that the policy allows; 0: no bound."""
    losses: tuple[Loss, ...] = ()
    field_losses: tuple[FieldLoss, ...] = ()
    methods: tuple[Methods, ...] = ()

    def code_for(self, step: str, component: Component) -> str:
        """Return the code for a step, or nothing."""
        text = self.step_code.get(step)
        return "" if text is None else dedent(text_of(text, component)).strip()


def text_of(text: StepText, component: Component) -> str:
    """Return the statements for a component."""
    return text if isinstance(text, str) else text(component)


def is_owned(document: Document) -> bool:
    """Return True if a component's rows belong to entities."""
    return bool(document["owner"] == "entity")


def is_off(key: str) -> Callable[[Document, Document], bool]:
    """Return a function that is True if a key was on, and is not any more."""
    return lambda old, new: bool(old.get(key)) and not new.get(key)


def for_one(text: str) -> Callable[[Component], str]:
    """Return statements for components with one instance per entity; `many` has its own."""
    return lambda component: text if component.instances == "one" else ""


def has_objects(component: Component) -> bool:
    """Return True if fields of rows are Python objects, whose end may run code."""
    return any(field.type.base is BaseType.OBJECT for field in component.fields)


A_DEAD_ENTITY = "of a dead entity"
"""The reason for an eviction if an entity's index leads to its row."""


def eviction(is_in_the_way: str, removal: str, why: str) -> str:
    """Return statements that remove a row in the way of a new row; `removal`: a method and a row.

    Anything may have changed after that, so the creation begins again.
    """
    return f"if {is_in_the_way}:\n    _evicted = {removal}, self.create  # {why}\n    <again>"


T = TypeVar("T")

MAX_ROWS: Final = 0xFFFF_FFC0
"""The last multiple of 64 rows below NIL."""


class Refusal(NamedTuple):
    """The reason why a field cannot have a key, and the contradicting key."""

    why: str
    key: str
    is_of_field: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[T]):
    """A key of components or of fields: its type in the language, and its meaning."""

    name: str
    annotation: Any
    """The type for pydantic."""
    default: Any
    off: T
    """The value without the policy."""
    help: str
    of: Literal["component", "field"] = "component"
    adjective: str = ""
    """A word for fields with the key, if it is not the name."""

    reject: Callable[[Any, Any, FieldType], Refusal | None] = lambda component, field, type_: None
    """Return the refusal of the key for a component's document, a field's document and its type."""
    refusal: str = ""
    """The code of the diagnostic for a refusal."""
    methods: tuple[str, ...] = ()
    """Methods of managers for a field `x`, such as `find_{x}`."""
    method_is: str = ""
    suits_cells: bool = False
    """True if fields of cells may have it."""
    is_attribute: bool = False
    """True if fields have an attribute for it, because it guards no writes."""

    def value(self, holder: Component | Field) -> T:
        """Return the value of a component or field."""
        value: T = dict(holder.options).get(self.name, self.off)
        return value

    @property
    def is_what(self) -> str:
        """A word for fields with the key."""
        return self.adjective or self.name

    def info(self) -> tuple[Any, FieldInfo]:
        """Return the key as an argument of pydantic's `create_model`."""
        return self.annotation, ComponentFields(default=self.default, description=self.help)


def collect_options(keys: Iterable[Key[Any]], spec: object) -> tuple[tuple[str, Any], ...]:
    """Return the keys that a part of a document has, with their values."""
    values = ((key.name, getattr(spec, key.name)) for key in keys if not key.is_attribute)
    return tuple((name, value) for name, value in values if value)


def set_keys(keys: Iterable[Key[Any]], spec: Any) -> list[Key[Any]]:
    """Return the keys that a part of a document has on."""
    return [key for key in keys if getattr(spec, key.name) != key.off]
