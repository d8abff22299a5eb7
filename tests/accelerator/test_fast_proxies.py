"""Rows as objects, with attributes in C: what they read, write and raise is what properties do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.fast_packages import Packages, blocks_taken, filled, need_layer, outcome, shipped

KINDS = (
    "Position",
    "PointMass",
    "Transform",
    "SoundSource",
    "Tile",
    "Spark",
    "EveryType",
    "Energy",
)
VALUES: tuple[Any, ...] = (
    *(0, 1, 2.5, -3, True, None, "né", b"ab", 1e39, float("nan"), 2**40, (1, 2), [1.0, 2.0, 3.0]),
    *((1.0, None, 2.0), np.float32(1.5), np.array([1.0, 2.0, 3.0]), np.arange(6), "x" * 300),
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("proxies")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield shipped(folder)


@pytest.fixture
def quick(packages: Packages) -> ModuleType:
    return packages[0]


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


def test_what_should_be_in_c_is(packages: Packages) -> None:
    quick, plain = packages
    assert {"stored", "row", "entity"} <= properties_in_c(ref(quick, "Energy"))
    assert {"mass", "label", "position", "row"} <= properties_in_c(ref(quick, "PointMass"))
    assert not properties_in_c(ref(plain, "Energy"))
    for name in ("rows", "__getitem__"):
        assert type(vars(quick.EnergyManager)[name]).__name__ == "Method"
    assert isinstance(ref(quick, "Energy").stored, property)
    assert ref(quick, "Energy").stored.__doc__ == ref(plain, "Energy").stored.__doc__


@pytest.mark.parametrize("name", KINDS)
def test_attributes_have_the_same_outcome(packages: Packages, name: str) -> None:
    outcomes = []
    for package in packages:
        manager, entities, owners = rows_of(package, name)
        proxy, found = manager[owners[1]], []
        names = [*manager._CONVERTERS, "row", "entity", "nonsense"]
        for step in range(4):
            for field in names:
                found.append(outcome(partial(getattr, proxy, field)))
                for value in VALUES:
                    found.append(outcome(partial(setattr, proxy, field, value)))
                    found.append(outcome(partial(getattr, proxy, field)))
                found.append(outcome(partial(delattr, proxy, field)))
            if entities is None:
                manager.destroy_id(owners[step])
            elif step == 2:
                entities.destroy(owners[1])
            else:
                manager.remove(owners[2 * step % 3])  # the first, then the third, then the row
        found.append(outcome(partial(repr, proxy)))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["Position", "Transform", "Energy", "SoundSource", "PointMass"])
def test_loops_are_the_same(packages: Packages, name: str) -> None:
    """Rows that come and go meanwhile."""
    outcomes = []
    for package in packages:
        manager, entities, owners = rows_of(package, name)
        found: list[Any] = []

        def loop(
            manager: Any = manager,
            entities: Any = entities,
            owners: Any = owners,
            found: Any = found,
        ) -> None:
            for proxy in manager.rows():
                found.append((proxy.row, proxy.entity))
                if proxy.entity == owners[1]:
                    manager.remove(owners[0])
                    manager.remove(owners[3])
                    manager.create(entities.create())

        found.append(outcome(loop))
        found.append([proxy.row for proxy in manager.rows()])
        found.append(outcome(partial(next, iter(()), 7)))
        ended = manager.rows()
        found += [len(list(ended)), len(list(ended))]
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


def test_a_loop_gives_out_again_what_nobody_has(packages: Packages) -> None:
    """What somebody kept, of a row or the row itself, stays what it is."""
    outcomes = []
    for package in packages:
        manager, _, owners = filled(package, "EnergyManager", 600)
        manager.data.stored = np.arange(600)
        kept = [proxy for proxy in manager.rows() if proxy.row % 3 == 0]
        parts = [(proxy.row, proxy.entity, proxy.stored) for proxy in manager.rows()]
        loop = manager.rows()
        first, second = next(loop), next(loop)
        third = next(loop)
        del second
        list(loop)
        found: list[Any] = [(first.row, first.entity), (third.row, third.entity)]
        for proxy in kept:
            proxy.stored += 0.5
            found.append((proxy.row, proxy.entity, proxy.stored))
        assert len(set(map(id, kept))) == len(kept)
        assert [owner for _, owner, _ in parts] == owners
        outcomes.append([found, parts, manager.data.stored.tolist()])
    assert outcomes[0] == outcomes[1]


def test_one_object_is_enough_for_a_loop(quick: ModuleType) -> None:
    manager, _, _ = filled(quick, "EnergyManager", 600)
    assert len({id(proxy) for proxy in manager.rows()}) <= 3


def test_a_subclass_is_asked(quick: ModuleType) -> None:
    """What finds rows in another way is asked where it is patched, and so are properties."""

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
    proxy, loop = manager[owners[0]], manager.rows()
    manager._break()
    for call in (partial(getattr, proxy, "stored"), partial(setattr, proxy, "stored", 2.0)):
        with pytest.raises(quick.BrokenManagerError):
            call()
    with pytest.raises(quick.BrokenManagerError):
        list(loop)


def test_nothing_leaks(quick: ModuleType) -> None:
    def exercise() -> None:
        manager, entities, owners = filled(quick, "EnergyManager", 400)
        kept = [manager[owner] for owner in owners]
        for proxy in manager.rows():
            proxy.stored += proxy.row
            if proxy.row % 50 == 7:
                manager.remove(owners[3])
                manager.create(entities.create())
        manager.remove(owners[0])
        for proxy in kept[1:]:
            with pytest.raises((TypeError, ValueError)):
                proxy.stored = "x"
            _ = outcome(partial(getattr, proxy, "stored")), proxy.entity
        next(manager.rows())

    assert blocks_taken(exercise) < 80
