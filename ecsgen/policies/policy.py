"""What a storage policy says about itself, and the keys that it adds to the language of schemas.

One place says all that there is to a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import Field as ComponentFields
from pydantic.fields import FieldInfo

from ecsgen.model import BaseType, Component, Field, FieldType
from ecsgen.model.columns import Column

Role: TypeAlias = Literal["", "owner", "placement", "growth", "map", "instances"]
"""Of the policies with a role, exactly one applies; some components need none of a role."""

StepText: TypeAlias = str | Callable[[Component], str]
"""Statements, or what makes them for a component."""


Document: TypeAlias = Mapping[str, Any]
"""What snapshots say of a component, or of a field."""


class Fault(NamedTuple):
    """What is wrong with the keys of one component's document, beside pairs of them."""

    code: str
    key: tuple[str, ...]
    """The path to the key where it is reported."""
    message: str
    hint: str = ""
    beside: str = ""
    """The key that contradicts, on whose line the message ends."""
    lacks: str = ""
    """The key in which something is missing, unless that could not be read."""


class Loss(NamedTuple):
    """What a change of a policy does to saved rows."""

    key: str
    code: str
    why: str
    happens: Callable[[Document, Document], bool]
    """Tells by the old component and the new one."""
    is_all: bool = False
    """Whether nothing is left to lose."""


class FieldLoss(NamedTuple):
    """What a change of a policy does to a field."""

    code: str
    happens: Callable[[Document | None, Document], bool]
    """Tells by the old field, None of a new one, and the new one."""
    message: str
    """With `{field}`, quoted, and its `{name}`."""
    hint: str


class Methods(NamedTuple):
    """Public names that a component has by a policy."""

    key: str
    has: Callable[[Document], bool]
    names: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFeature:
    """A part of a component's classes: when they have it, and what it brings along."""

    name: str
    applies: Callable[[Component], bool]
    order: int = 50
    """Where its base class stands among the others, and its calls within a step; smaller first."""
    manager_base: str = ""
    """The class of the runtime that managers with it inherit from."""
    rows_base: str = ""
    """The class of the runtime that their columns inherit from."""
    manager_slots: tuple[str, ...] = ()
    """The attributes of a manager that the base class needs."""
    rows_slots: tuple[str, ...] = ()
    """The same of the columns."""
    sharded_overrides: Mapping[str, Any] = field(default_factory=dict)
    """Those of its attributes that are others in a world with `shards`."""
    template: bool = False
    """Whether `templates/component_features/<name>.py.j2` has blocks for what is unrolled by
    column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(ComponentFeature):
    """One storage policy: a part that has columns, or something to do at the steps of changes.

    Of a default, `applies` tells whether the component needs any policy of its role.
    """

    keys: tuple[Key[Any], ...] = ()
    """What it adds to the language of schemas."""
    find_conflicts: Callable[[Any], Iterable[tuple[str, str]]] = lambda spec: ()
    """Finds pairs of keys in a component's document that do not go together."""
    find_faults: Callable[[Any], Iterable[Fault]] = lambda spec: ()
    """Finds what else is wrong with it: E401, or E402 where a key has nothing to work on."""
    role: Role = ""
    is_default: bool = False
    """Whether it applies where no other policy of its role does."""
    columns: tuple[Column, ...] = ()
    step_code: Mapping[str, StepText] = field(default_factory=dict)
    """What it does at each step that concerns it; see `steps`."""
    keyword: str = ""
    """A parameter of `create` beside the fields."""
    keyword_many: str = ""
    """A parameter of `create_many` beside the fields."""
    raises: tuple[str, ...] = ()
    """What `create` may raise because of it, as lines of a docstring."""
    note: StepText = ""
    """What the docstring of `create` says of a new row's place."""
    max_rows: Callable[[Component], int] = lambda component: 0
    """How many rows there may be because of it; 0: any number."""
    losses: tuple[Loss, ...] = ()
    field_losses: tuple[FieldLoss, ...] = ()
    methods: tuple[Methods, ...] = ()

    def code_for(self, step: str, component: Component) -> str:
        """Return what it does at a step, or nothing."""
        text = self.step_code.get(step)
        return "" if text is None else dedent(text_of(text, component)).strip()


def text_of(text: StepText, component: Component) -> str:
    """Return a text, made for a component if that is how it comes."""
    return text if isinstance(text, str) else text(component)


def is_owned(document: Document) -> bool:
    """Return whether a component's rows belong to entities."""
    return bool(document["owner"] == "entity")


def is_off(key: str) -> Callable[[Document, Document], bool]:
    """Return what tells whether a key was on, and is not any more."""
    return lambda old, new: bool(old.get(key)) and not new.get(key)


def for_one(text: str) -> Callable[[Component], str]:
    """Return statements that a component with one instance per entity needs; lists have calls of
    their own for the same."""
    return lambda component: text if component.instances == "one" else ""


def has_objects(component: Component) -> bool:
    """Return whether fields of rows are Python objects, whose end may run code."""
    return any(field.type.base is BaseType.OBJECT for field in component.fields)


A_DEAD_ENTITY = "a dead one had this index"
"""Why rows of before are in the way where an entity's index says where its row is."""


def eviction(is_in_the_way: str, removal: str, why: str) -> str:
    """Return statements that remove what is in the way of a new row: `removal`, a method and a row.

    Anything may have changed by then, so the creation begins again behind it.
    """
    return f"if {is_in_the_way}:\n    _gone = {removal}, self.create  # {why}\n    <again>"


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
    annotation: Any
    """What pydantic checks it by."""
    default: Any
    off: T
    """Its value where the policy does not apply."""
    help: str
    of: Literal["component", "field"] = "component"
    off_text: str = ""
    """How a diagnostic says that it is off."""
    reject: Callable[[Any, Any, FieldType], Refusal | None] = lambda component, field, type_: None
    """Of a field: says by its component's document, its own and its type why it cannot have it."""
    refusal: str = ""
    """The code of the diagnostic that says so."""
    methods: tuple[str, ...] = ()
    """Of a field `x`: what managers get by it, `find_{x}` say."""
    method_is: str = ""

    def value(self, one: Component | Field) -> T:
        """Return what a component or field has."""
        found: T = dict(one.options).get(self.name, self.off)
        return found

    def info(self) -> tuple[Any, FieldInfo]:
        """Return it as pydantic's `create_model` takes it."""
        return self.annotation, ComponentFields(default=self.default, description=self.help)


def collect_options(keys: Iterable[Key[Any]], spec: object) -> tuple[tuple[str, Any], ...]:
    """Return which keys a part of a document has, with their values: what the model has of them."""
    values = ((key.name, getattr(spec, key.name)) for key in keys)
    return tuple((name, value) for name, value in values if value)
