"""What methods in C return, raise and leave behind is what the generated ones do."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.fast_packages import (
    METHODS,
    NOT_OWNED,
    Packages,
    blocks_taken,
    filled,
    methods_in_c,
    need_layer,
    outcome,
    shipped,
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("fast")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield shipped(folder)


@pytest.fixture
def quick(packages: Packages) -> ModuleType:
    return packages[0]


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
        found: list[Any] = []
        for method in methods_in_c(getattr(packages[0], name)):
            if method.startswith(("_", "set_", "create")):
                continue
            for argument in handles:
                one = copy.deepcopy(manager)
                found.append(
                    (method, outcome(partial(getattr(one, method), argument)), one.version)
                )
        for argument in handles:
            one = copy.deepcopy(manager)
            found.append(("create", outcome(partial(one.create, argument)), one.version))
        found.append((outcome(manager.lookup), outcome(partial(manager.lookup, 1, 2))))
        found.append((outcome(partial(manager.create, gone, nonsense=1)), outcome(manager.create)))
        for entity in (gone, *owners):
            found.append(outcome(partial(manager.ensure, entity, nonsense=1)))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


VALUES: tuple[Any, ...] = (
    *ODD,
    *(0.1, -0.0, math.inf, -math.inf, math.nan, 1e38, 3.4028235677973366e38, 3.5e38, 1e308),
    *(127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535, 65536, 2**31 - 1, -(2**31) - 1),
    *(2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), -(2**63) - 1, 10**400),
    *(
        "",
        "abc",
        "é" * 8,
        "é" * 9,
        "a" * 17,
        "a\0b",
        "\ud800",
        b"",
        b"abcd",
        b"abcde",
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
        found: list[Any] = []
        for field in manager._CONVERTERS:
            getter, setter = getattr(manager, field), getattr(manager, f"set_{field}")
            for value in values:
                found.append((field, outcome(partial(setter, 1, value))))
                found.append((field, outcome(partial(getter, 1))))
        found.append(outcome(partial(manager.row, 1)))
        outcomes.append(found)
    for one, other in zip(*outcomes, strict=True):
        assert one == other


def test_values_of_new_rows_have_the_same_outcome(
    packages: Packages,
) -> None:
    outcomes = []
    for package in packages:
        found: list[Any] = []
        for name in ("PointMassManager", "StatusEffectManager", "AiStateManager"):
            manager, entities, _ = filled(package, name, 0)
            for field in manager._CONVERTERS:
                for value in VALUES:
                    found.append(
                        outcome(partial(manager.create, entities.create(), **{field: value}))
                    )
            found += [outcome(partial(manager.row, row)) for row in range(len(manager))]
        outcomes.append(found)
    for one, other in zip(*outcomes, strict=True):
        assert one == other


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
        kept = [manager.position(manager.lookup(owner)) for owner in owners]
        elements = []
        for row in range(len(manager)):
            x, y, z = manager.position(row)
            elements.append((x, y, z))
        one = manager.position(manager.lookup(owners[3]))
        x = one[0]
        del one
        seen = [manager.position(manager.lookup(owner))[0] for owner in owners]
        outcomes.append((kept, elements, x, seen, [manager.row(row) for row in range(20)]))
    assert outcomes[0] == outcomes[1]


def exercise(package: ModuleType, name: str) -> None:
    """Use every method in C, its unusual cases too."""
    manager, entities, owners = filled(package, name, 40)
    fields = manager._CONVERTERS
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
