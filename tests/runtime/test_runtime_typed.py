"""Named tuples and typed dictionaries of the runtime, beside those of `typing`."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import typing
from typing import ClassVar

from ecsgen_runtime.base import fast_typing
from ecsgen_runtime.base.handles import Entity

LIMIT = 3


class Row(fast_typing.NamedTuple):
    """A row."""

    mass: float
    owner: Entity = Entity(7)
    """The row's owner."""
    place: tuple[float, ...] = (0.0, 1.0)

    @property
    def heavy(self) -> bool:
        return self.mass > LIMIT

    def with_mass(self, mass: float) -> Row:
        return self._replace(mass=mass)


class Plain(typing.NamedTuple):
    """A row."""

    mass: float
    owner: Entity = Entity(7)
    place: tuple[float, ...] = (0.0, 1.0)


class NoFields(fast_typing.NamedTuple):
    """Nothing."""


class NoDoc(fast_typing.NamedTuple):
    x: int
    y: int


class Many(fast_typing.NamedTuple):
    a: int = 0
    b: int = 1
    c: int = 2
    d: int = 3
    e: int = 4
    f: int = 5
    g: int = 6
    h: int = 7
    i: int = 8
    j: int = 9


class Own(Row):
    """A subclass of a user's."""

    extra: ClassVar = 1


class Fields(fast_typing.TypedDict, total=False):
    """Columns."""

    mass: float
    owner: Entity


class Whole(fast_typing.TypedDict):
    mass: float


class PlainFields(typing.TypedDict, total=False):
    """Columns."""

    mass: float
    owner: Entity


def test_a_row_is_a_tuple_with_names() -> None:
    row = Row(1.5)
    assert tuple(row) == (1.5, 7, (0.0, 1.0)) == tuple(Row(mass=1.5, owner=Entity(7)))
    assert (row.mass, row.owner, row.place) == tuple(row)
    assert repr(row) == repr(Plain(1.5)).replace("Plain", "Row")
    assert row._asdict() == {"mass": 1.5, "owner": 7, "place": (0.0, 1.0)}
    assert tuple(Row._make([1, 2, 3])) == (1, 2, 3)
    assert (Row(4).heavy, row.heavy, row.with_mass(9)) == (True, False, Row(9))
    assert (hash(row), len(row), row[-1]) == (hash(tuple(row)), 3, (0.0, 1.0))
    assert not hasattr(row, "__dict__")
    match row:
        case Row(mass, owner=owner):
            assert (mass, owner) == (1.5, 7)


def test_a_row_can_be_copied_and_saved() -> None:
    for row in (Row(2), Own(3), Many()):
        assert copy.deepcopy(row) == copy.copy(row) == row
        saved = pickle.loads(pickle.dumps(row))
        assert (saved, type(saved)) == (row, type(row))
    assert repr(Own(3)).startswith("Own(mass=3")
    if sys.version_info >= (3, 13):
        assert copy.replace(Row(2), mass=3) == Row(3)


def test_a_row_class_is_described_as_typing_does() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__bases__"):
        assert getattr(Row, name) == getattr(Plain, name)
    hints = {"mass": float, "owner": Entity, "place": tuple[float, ...]}
    assert typing.get_type_hints(Row) == typing.get_type_hints(Plain) == hints
    assert list(Row.__annotations__) == list(Plain.__annotations__)
    assert inspect.get_annotations(Row, eval_str=True) == hints
    assert vars(Row)["__orig_bases__"] == (typing.NamedTuple,)
    ours, theirs = inspect.signature(Row).parameters, inspect.signature(Plain).parameters
    assert [(p.name, p.default) for p in ours.values()] == [
        (p.name, p.default) for p in theirs.values()
    ]
    others = {"heavy", "with_mass", "__slotnames__", "__annotate_func__"}
    assert vars(Row).keys() ^ vars(Plain).keys() <= others
    assert Row.mass.__doc__ == Plain.mass.__doc__
    assert Row.__new__.__doc__ == str(Plain.__new__.__doc__).replace("Plain", "Row")
    assert Row.__new__.__qualname__ == "Row.__new__"
    assert (type(Row), Row.__module__, Row.__qualname__) == (type, __name__, "Row")
    assert NoDoc.__doc__ == "NoDoc(x, y)"
    assert (NoFields(), NoFields._fields, repr(NoFields())) == ((), (), "NoFields()")
    assert tuple(Many(j=0)) == (*range(9), 0)


def test_a_typed_dictionary_is_described_as_typing_does() -> None:
    assert typing.is_typeddict(Fields)
    assert Fields(mass=1.0) == {"mass": 1.0}
    keys = ("__total__", "__required_keys__", "__optional_keys__", "__mutable_keys__", "__doc__")
    for name in keys:
        assert getattr(Fields, name, None) == getattr(PlainFields, name, None)
    assert vars(Fields).keys() == vars(PlainFields).keys()
    assert typing.get_type_hints(Fields) == {"mass": float, "owner": Entity}
    assert list(Fields.__annotations__) == ["mass", "owner"]
    assert (Fields.__module__, Fields.__qualname__) == (__name__, "Fields")
    assert Whole.__required_keys__ == {"mass"}
    assert (Whole.__total__, Whole.__optional_keys__) == (True, frozenset())
