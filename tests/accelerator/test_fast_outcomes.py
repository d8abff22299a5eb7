"""Methods and rows in C return, raise and leave behind the same as the generated ones."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.accelerated_packages import (
    METHODS,
    NOT_OWNED,
    Packages,
    blocks_taken,
    filled,
    find_accelerator,
    outcome,
)


class Number(int):
    """An int that is none by its type."""


class Index:
    """Something that is an index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


ODD: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**70, -(2**70)),
    *(True, False, None, 1.0, "1", b"1", (), [1], np.uint64(1), np.int8(-1), np.float32(1)),
    *(Number(1), Index(1), Index(2**65), np.array(1), np.array([1])),
)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NOT_OWNED))
def test_odd_arguments_have_the_same_outcome(packages: Packages, name: str) -> None:
    outcomes = []
    for package in packages:
        manager, entities, owners = filled(package, name)
        dead, gone = owners[1], owners[2]
        entities.destroy(dead)
        manager.remove(gone)
        handles = (*ODD, *owners, dead, Number(owners[0]), np.uint64(owners[0]), owners[0] + 2**32)
        results: list[Any] = []
        methods = [
            method
            for method in find_accelerator(getattr(packages[0], name))
            if not method.startswith(("_", "set_", "create"))
        ]
        copied = copy.deepcopy(manager)
        for method in (*methods, "create"):
            for argument in handles:
                outcome_found = outcome(partial(getattr(copied, method), argument))
                results.append((method, outcome_found, copied.version))
                if copied.version != manager.version:
                    copied = copy.deepcopy(manager)
        results.append((outcome(manager.lookup), outcome(partial(manager.lookup, 1, 2))))
        results.append(
            (outcome(partial(manager.create, gone, nonsense=1)), outcome(manager.create))
        )
        for entity in (gone, *owners):
            results.append(outcome(partial(manager.ensure, entity, nonsense=1)))
        outcomes.append(results)
    assert outcomes[0] == outcomes[1]


VALUES: tuple[Any, ...] = (
    *ODD,
    *(0.1, -0.0, math.inf, -math.inf, math.nan, 1e38, 3.4028235677973366e38, 3.5e38, 1e308),
    *(127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535, 65536, 2**31 - 1, -(2**31) - 1),
    *(2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), -(2**63) - 1, 10**400),
    *(
        *("", "abc", "é" * 8, "é" * 9, "a" * 17, "a\0b", "\ud800", b"", b"abcd", b"abcde"),
        bytearray(b"ab"),
    ),
    *((1.0, 2.0, 3.0), [1.0, 2, 3.5], (1.0, 2.0), (1.0, "x", 2.0), (1.0, math.inf, 0.0), (1, 2, 3)),
    *((True, False), [False, True], (0, 1), (1, 2), [1, 2], (2**64, 1), np.zeros(2), np.ones(3)),
    *(((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), ((1, 2), (3, 4)), np.arange(6.0).reshape(2, 3)),
)


def test_values_have_the_same_outcome(packages: Packages) -> None:
    outcomes = []
    for package in packages:
        manager, _, _ = filled(package, "EveryTypeManager")
        values = (*VALUES, *package.Mode, *package.Access, ~package.Access(0), package.Element(1))
        results: list[Any] = []
        for field in manager.CONVERTERS:
            getter, setter = getattr(manager, field), getattr(manager, f"set_{field}")
            for value in values:
                results.append((field, outcome(partial(setter, 1, value))))
                results.append((field, outcome(partial(getter, 1))))
        results.append(outcome(partial(manager.row, 1)))
        outcomes.append(results)
    for first, other in zip(*outcomes, strict=True):
        assert first == other


def test_values_of_new_rows_have_the_same_outcome(packages: Packages) -> None:
    outcomes = []
    for package in packages:
        results: list[Any] = []
        for name in ("PointMassManager", "StatusEffectManager", "AiStateManager"):
            manager, entities, _ = filled(package, name, 0)
            for field in manager.CONVERTERS:
                for value in VALUES:
                    results.append(
                        outcome(partial(manager.create, entities.create(), **{field: value}))
                    )
            results += [outcome(partial(manager.row, row)) for row in range(len(manager))]
        outcomes.append(results)
    for first, other in zip(*outcomes, strict=True):
        assert first == other


def test_bytes_that_are_no_text(packages: Packages) -> None:
    outcomes = []
    for package in packages:
        manager, _, _ = filled(package, "PointMassManager")
        manager.data._label_column[0] = b"\xff\xfe"
        outcomes.append((outcome(partial(manager.label, 0)), outcome(partial(manager.row, 0))))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0][0] == "UnicodeDecodeError"


def test_vectors_that_somebody_has_stay_what_they_are(packages: Packages) -> None:
    """The tuple that was read last is given out again only if nobody has it."""
    outcomes = []
    for package in packages:
        manager, _, owners = filled(package, "PointMassManager", 20)
        for number, owner in enumerate(owners):
            manager.set_position(manager.lookup(owner), (number, number + 0.25, -number))
        positions = [manager.position(manager.lookup(owner)) for owner in owners]
        elements = []
        for row in range(len(manager)):
            x, y, z = manager.position(row)
            elements.append((x, y, z))
        position = manager.position(manager.lookup(owners[3]))
        x = position[0]
        del position
        seen = [manager.position(manager.lookup(owner))[0] for owner in owners]
        outcomes.append((positions, elements, x, seen, [manager.row(row) for row in range(20)]))
    assert outcomes[0] == outcomes[1]


def exercise(package: ModuleType, name: str) -> None:
    """Use every method in C, its unusual cases too."""
    manager, entities, owners = filled(package, name, 40)
    fields = manager.CONVERTERS
    for owner in owners:
        row = manager.lookup(owner)
        _ = owner in manager, manager.has(owner), manager.require(owner), manager.row(row)
        for field in fields:
            getattr(manager, f"set_{field}")(row, getattr(manager, field)(row))
    for owner in owners[:20]:
        manager.remove(owner)
        entities.destroy(owner)
    row = manager.lookup(owners[-1])
    for _ in range(40):
        entity = entities.create()
        row = manager.create(entity, **{f: getattr(manager, f)(row) for f in list(fields)[:2]})
        with pytest.raises((TypeError, package.EcsError)):
            manager.lookup("x")
        with pytest.raises(package.EcsError):
            manager.create(owners[0])
    manager.destroy(manager.lookup(owners[-1]))


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NOT_OWNED))
def test_nothing_leaks(quick: ModuleType, name: str) -> None:
    def exercises() -> None:
        for _ in range(8):
            exercise(quick, name)

    assert blocks_taken(exercises) < 80  # an object per call would be hundreds


KINDS = (
    *("Position", "PointMass", "Transform", "SoundSource"),
    *("Tile", "Spark", "EveryType", "Energy"),
)
PROXIES_VALUES: tuple[Any, ...] = (
    *(0, 1, 2.5, -3, True, None, "né", b"ab", 1e39, float("nan"), 2**40, (1, 2), [1.0, 2.0, 3.0]),
    *((1.0, None, 2.0), np.float32(1.5), np.array([1.0, 2.0, 3.0]), np.arange(6), "x" * 300),
)


def properties_in_c(kind: type[Any]) -> set[str]:
    return {name for name, value in vars(kind).items() if type(value).__name__ == "Property"}


def ref(package: ModuleType, name: str) -> Any:
    """Return a component's class of proxies."""
    manager = getattr(package, f"{name}Manager")
    return getattr(sys.modules[manager.__module__], f"{name}Ref")


def rows_of(package: ModuleType, name: str) -> tuple[Any, Any, list[int]]:
    """Return a manager with some rows, their entities' manager, and the owners or ids."""
    kind = getattr(package, f"{name}Manager")
    if hasattr(kind, "lookup"):
        return filled(package, f"{name}Manager", 5)
    manager = kind()
    return manager, None, manager.create_many(5).tolist()


def test_properties_and_loops_are_in_c(packages: Packages) -> None:
    quick, plain = packages
    assert {"stored", "row", "entity"} <= properties_in_c(ref(quick, "Energy"))
    assert {"mass", "label", "position", "row"} <= properties_in_c(ref(quick, "PointMass"))
    assert not properties_in_c(ref(plain, "Energy"))
    assert {"rows", "__getitem__"} <= find_accelerator(quick.EnergyManager).keys()
    assert isinstance(ref(quick, "Energy").stored, property)
    assert ref(quick, "Energy").stored.__doc__ == ref(plain, "Energy").stored.__doc__


@pytest.mark.parametrize("name", KINDS)
def test_attributes_have_the_same_outcome(packages: Packages, name: str) -> None:
    outcomes = []
    for package in packages:
        manager, entities, owners = rows_of(package, name)
        proxy, results = manager[owners[1]], []
        names = [*manager.CONVERTERS, "row", "entity", "nonsense"]
        for step in range(4):
            for field in names:
                results.append(outcome(partial(getattr, proxy, field)))
                for value in PROXIES_VALUES:
                    results.append(outcome(partial(setattr, proxy, field, value)))
                    results.append(outcome(partial(getattr, proxy, field)))
                results.append(outcome(partial(delattr, proxy, field)))
            if entities is None:
                manager.destroy_id(owners[step])
            elif step == 2:
                entities.destroy(owners[1])
            else:
                manager.remove(owners[2 * step % 3])  # the first, then the third, then the row
        results.append(outcome(partial(repr, proxy)))
        outcomes.append(results)
    assert outcomes[0] == outcomes[1]


def loops(package: ModuleType, name: str) -> list[Any]:
    """Return what loops give whose rows come and go meanwhile."""
    manager, entities, owners = rows_of(package, name)
    results: list[Any] = []

    def loop() -> None:
        for proxy in manager.rows():
            results.append((proxy.row, proxy.entity))
            if proxy.entity == owners[1]:
                manager.remove(owners[0])
                manager.remove(owners[3])
                manager.create(entities.create())

    results.append(outcome(loop))
    results.append([proxy.row for proxy in manager.rows()])
    ended = manager.rows()
    return [*results, len(list(ended)), len(list(ended))]


@pytest.mark.parametrize("name", ["Position", "Transform", "Energy", "SoundSource", "PointMass"])
def test_loops_are_the_same(packages: Packages, name: str) -> None:
    quick, plain = packages
    assert loops(quick, name) == loops(plain, name)


def test_a_loop_gives_out_again_what_nobody_has(packages: Packages) -> None:
    """A row that somebody kept, and values read from it, stay as they are."""
    outcomes = []
    for package in packages:
        manager, _, owners = filled(package, "EnergyManager", 600)
        manager.data.stored = np.arange(600)
        proxies = [proxy for proxy in manager.rows() if proxy.row % 3 == 0]
        parts = [(proxy.row, proxy.entity, proxy.stored) for proxy in manager.rows()]
        loop = manager.rows()
        first, second = next(loop), next(loop)
        third = next(loop)
        del second
        list(loop)
        rows_seen: list[Any] = [(first.row, first.entity), (third.row, third.entity)]
        for proxy in proxies:
            proxy.stored += 0.5
            rows_seen.append((proxy.row, proxy.entity, proxy.stored))
        assert len(set(map(id, proxies))) == len(proxies)
        assert [owner for _, owner, _ in parts] == owners
        outcomes.append([rows_seen, parts, manager.data.stored.tolist()])
    assert outcomes[0] == outcomes[1]


def test_one_object_is_enough_for_a_loop(quick: ModuleType) -> None:
    manager, _, _ = filled(quick, "EnergyManager", 600)
    assert len({id(proxy) for proxy in manager.rows()}) <= 3


def test_a_subclass_is_asked(quick: ModuleType) -> None:
    """A method that finds rows in another way is called where it is patched, as are properties."""

    class Hidden(quick.EnergyManager):  # type: ignore[name-defined, misc]
        is_hidden = False

    def lookup(self: Any, entity: int, /) -> int:
        return int(quick.NIL if self.is_hidden else quick.EnergyManager.lookup(self, entity))

    setattr(Hidden, "lookup", lookup)  # noqa: B010  # mypy knows no method of that name

    entities = quick.EntityManager()
    manager, owners = Hidden(entities), entities.create_many(3).tolist()
    manager.create_many(owners)
    proxy, loop = manager[owners[1]], manager.rows()
    assert (proxy.stored, next(loop).entity) == (1.0, owners[0])
    manager.create(entities.create())
    manager.is_hidden = True
    assert list(loop) == []
    for call in (partial(getattr, proxy, "stored"), partial(setattr, proxy, "stored", 2.0)):
        with pytest.raises(quick.MissingInstanceError):
            call()
    with pytest.raises(quick.MissingInstanceError):
        _ = manager[owners[1]]
    with pytest.raises(AttributeError):
        ref(quick, "Energy").stored.__get__(object(), object)
    with pytest.raises(AttributeError):
        ref(quick, "Energy").stored.__set__(manager, 1.0)


def test_what_is_patched_is_found(quick: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    proxy, kind = manager[owners[0]], ref(quick, "Energy")
    name = "".join(["sto", "red"])  # which is equal to the property's name, but not the same object
    assert (proxy.stored, getattr(proxy, name)) == (1.0, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(kind, "stored", property(lambda self: self.row + 7))
        assert (proxy.stored, getattr(proxy, name)) == (7, 7)
        with pytest.raises(AttributeError):
            proxy.stored = 2.0
    proxy.stored = 2.0
    with monkeypatch.context() as patch:
        patch.setattr(kind, "__getattribute__", lambda self, name: name, raising=False)
        assert (proxy.stored, proxy.row) == ("stored", "row")
    assert (proxy.stored, proxy.row) == (2.0, 0)
    with monkeypatch.context() as patch:
        patch.delattr(kind, "stored")
        with pytest.raises(AttributeError):
            _ = proxy.stored
        with pytest.raises(AttributeError):
            proxy.stored = 2.0
    with pytest.raises(AttributeError):
        del proxy.stored
    assert proxy.stored == 2.0


def test_a_broken_manager_says_so(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    proxy, loop, lookup = manager[owners[0]], manager.rows(), manager.lookup
    manager._mark_broken()
    calls: list[Callable[[], object]] = [
        partial(lookup, owners[0]),
        partial(quick.EnergyManager.create, manager, 1),
        partial(getattr, proxy, "stored"),
        partial(setattr, proxy, "stored", 2.0),
        partial(list, loop),
    ]
    for call in calls:
        with pytest.raises(quick.BrokenManagerError):
            call()


def test_proxies_nothing_leaks(quick: ModuleType) -> None:
    def exercise() -> None:
        manager, entities, owners = filled(quick, "EnergyManager", 400)
        proxies = [manager[owner] for owner in owners]
        for proxy in manager.rows():
            proxy.stored += proxy.row
            if proxy.row % 50 == 7:
                manager.remove(owners[3])
                manager.create(entities.create())
        manager.remove(owners[0])
        for proxy in proxies[1:]:
            with pytest.raises((TypeError, ValueError)):
                proxy.stored = "x"
            _ = outcome(partial(getattr, proxy, "stored")), proxy.entity
        next(manager.rows())

    assert blocks_taken(exercise) < 80
