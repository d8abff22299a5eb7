"""Promises of every manager, whatever its policies, that generated tests do not try."""

from __future__ import annotations

import gc
import pickle
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from tests.support.acceptance_package import NAMES, Index, manager_of, package, state

every = pytest.mark.parametrize("name", NAMES)


@every
def test_reserve_takes_whatever_has_an_index(name: str) -> None:
    _, manager = manager_of(name)
    manager.reserve(Index(10))
    assert manager.capacity == 64
    manager.reserve(np.uint8(65))
    assert manager.capacity == 128
    before = state(manager)
    for wrong in (500.0, "500", None):
        with pytest.raises(TypeError):
            manager.reserve(wrong)
    with pytest.raises(package.CapacityError):
        manager.reserve(2**33)
    assert state(manager) == before


@every
def test_a_warning_made_an_error_changes_nothing(name: str) -> None:
    entities, manager = manager_of(name)
    manager.create_many(entities.create_many(64))
    new = entities.create_many(200)
    held = manager.data.buffer[:1]
    before = state(manager)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(package.StaleViewWarning):
            manager.create_many(new)
        with pytest.raises(package.StaleViewWarning):
            manager.reserve(1000)
        assert state(manager) == before
        del held
        manager.create_many(new)
    assert len(manager) == 264


@every
def test_managers_go_without_the_cycle_collector(name: str) -> None:
    entities, manager = manager_of(name)
    manager.create_many(entities.create_many(100))
    gone = weakref.ref(manager)
    gc.disable()
    try:
        del manager
        assert gone() is None
    finally:
        gc.enable()


@every
def test_a_reused_index_evicts_rows_of_the_dead(name: str) -> None:
    entities, manager = manager_of(name)
    old = entities.create_many(1025)
    manager.create_many(old)
    entities.destroy_many(old)
    new = entities.create()
    assert entities.index(new) == entities.index(old[0])
    assert manager.lookup(new) == package.NIL
    row = manager.create(new)
    assert manager.entity(row) == new
    assert manager.has(old[0]) == (name == "Hashed")
    assert len(manager) == {"Hashed": 1026, "Called": 1}.get(name, 1025)


@pytest.mark.parametrize("name", ["Called", "Everything"])
def test_the_group_of_callbacks_is_flat_shows_and_pickles(name: str) -> None:
    entities, manager = manager_of(name)
    manager.create_many(entities.create_many(3))

    def nested(rows: Any) -> None:
        raise ExceptionGroup("outer", [KeyError(1), ExceptionGroup("inner", [OSError(2)])])

    manager.on_release(nested)
    manager.on_release(lambda rows: 1 // 0)
    with pytest.raises(ExceptionGroup) as caught:
        manager.destroy(0)
    kinds = [type(error) for error in caught.value.exceptions]
    assert kinds == [KeyError, OSError, ZeroDivisionError]
    assert "KeyError" in repr(caught.value)
    assert len(pickle.loads(pickle.dumps(caught.value)).exceptions) == 3
    assert len(manager) == 2


def test_rows_that_come_back_are_not_the_argument() -> None:
    entities, manager = manager_of("Parted")
    manager.create_many(entities.create_many(3))
    rows_given = np.arange(2)
    manager.activate_many(rows_given)[0] = 2
    assert rows_given.tolist() == [0, 1]


def test_field_names_meet_nothing_in_creations() -> None:
    entities, manager = manager_of("Odd")
    first, other = entities.create_many(2).tolist()
    values = {"X": 2.0, "owner": 1, "place": 2, "found": 3, "taken": 4, "borrowed": 5, "old": "o"}
    assert manager.row(manager.create(first, **values))._asdict() == values
    manager.create_many([other], **values)
    assert manager.row(manager.lookup(other))._asdict() == values
    entities, manager = manager_of("Icy")
    cold = {"packed": (1.0, 2.0, 3.0), "place": 1, "is_cold": 2, "O": "o", "taken": 3.0}
    assert manager.row(manager.create(entities.create(), **cold))._asdict() == cold
