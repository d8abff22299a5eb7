"""Kernels as methods of managers: arguments, locks, versions, kept views, functions of reals."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.kernel_package import built, forget

FUNCTIONS = (
    *("exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos"),
    *("sinh", "cosh", "tanh"),
)
SCHEMA = """\
component: Body
fields: {x: f32, wide: f64, out: f32, wide_out: f64, place: "f32[3]"}
kernels:
  move:
    args: {dt: f32, by: "f32[3]", count_: u8, on: bool, mode: Mode}
    where: on
    steps: [place += by * dt * count_, x = x if mode == Mode.idle else 9]
"""
KERNEL = '  {0}_: {{steps: ["out = {0}(x)", "wide_out = {0}(wide)"]}}\n'
REST = """\
  atan2_: {steps: ["out = atan2(x, 0.5)", "wide_out = atan2(wide, 0.5)"]}
  hypot_: {steps: ["out = hypot(x, 0.5)", "wide_out = hypot(wide, 0.5)"]}
  power: {steps: ["out = abs(x) ** 0.3", "wide_out = abs(wide) ** 0.3"]}
---
component: Holey
lookup: direct
fields: {x: f32}
kernels: {grow: {steps: [x *= 1e30]}}
---
enum: Mode
values: [idle, walk]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("managers")
    text = SCHEMA + "".join(KERNEL.format(name) for name in FUNCTIONS) + REST
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    yield built(folder, "kernels_managed").package
    list(forget("kernels_managed"))


@pytest.fixture
def manager(package: Any) -> Any:
    entities = package.EntityManager()
    found = package.BodyManager(entities)
    found.create_many(entities.create_many(100))
    return found


def move(manager: Any, **changed: Any) -> None:
    arguments = {"dt": 0.5, "by": (1, 2, 3), "count_": 2, "on": True, "mode": 1}
    manager.move(**{**arguments, **changed})


def test_arguments_are_checked_like_fields(package: Any, manager: Any) -> None:
    move(manager, mode=package.Mode.walk)
    assert manager.place(7) == (1, 2, 3)
    assert manager.x(7) == 9
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"dt": True}, TypeError),
        ({"dt": "1"}, TypeError),
        ({"dt": 1e39}, OverflowError),
        ({"count_": 256}, OverflowError),
        ({"count_": 1.0}, TypeError),
        ({"on": 1}, TypeError),
        ({"by": (1, 2)}, ValueError),
        ({"mode": 5}, ValueError),
    ]
    for changed, error in wrong:
        with pytest.raises(error, match=rf"Body\.move\.{next(iter(changed))}"):
            move(manager, **changed)
    assert manager.place(7) == (1, 2, 3)


def test_kernels_are_no_structural_change(manager: Any) -> None:
    version = manager.version
    with manager.locked():
        move(manager)
    assert manager.version == version
    move(manager, on=False)
    assert manager.place(0) == (1, 2, 3)


def test_kept_views_are_let_go(package: Any, manager: Any) -> None:
    """Growing warns of views that others hold: not of those that kernels have kept."""
    small = manager.nbytes
    move(manager)
    assert manager.nbytes > small
    entities = package.EntityManager()
    other = package.BodyManager(entities)
    other.create_many(entities.create_many(64))
    move(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.create_many(entities.create_many(1000))
        other.shrink_to_fit()
    move(other)
    assert other.place(1063) == (1, 2, 3)
    assert other.place(0) == (2, 4, 6)


def test_copies_have_views_of_their_own(manager: Any) -> None:
    move(manager)
    for other in (copy.deepcopy(manager), pickle.loads(pickle.dumps(manager))):
        move(other)
        assert other.place(0) == (2, 4, 6)
    assert manager.place(0) == (1, 2, 3)


def test_holes_do_not_warn(package: Any) -> None:
    entities = package.EntityManager()
    holey = package.HoleyManager(entities)
    first, second = entities.create(), entities.create()
    holey.create(first, x=1e30)
    holey.create(second)
    holey.remove(first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        holey.grow()


@pytest.mark.parametrize("name", [*FUNCTIONS, "atan2", "hypot", "power"])
def test_functions_are_within_4_ulp(manager: Any, name: str) -> None:
    limit = 1.0 if name in ("asin", "acos") else 80.0
    values = np.random.default_rng(3).uniform(-limit, limit, 100)
    if name.startswith("log"):
        values = np.abs(values)
    manager.data.x, manager.data.wide = values, values
    getattr(manager, name if name == "power" else f"{name}_")()
    second = (0.5,) if name in ("atan2", "hypot") else ()
    function = getattr(math, name, abs)
    for given, found in (("x", "out"), ("wide", "wide_out")):
        results = getattr(manager.data, found)
        wanted = [function(float(x), *second) for x in getattr(manager.data, given)]
        exponent = 0.3 if results.dtype == np.float64 else float(np.float32(0.3))
        if name == "power":
            wanted = [abs(float(x)) ** exponent for x in getattr(manager.data, given)]
        off = np.abs(results.astype(np.float64) - wanted)
        assert (off <= 4 * np.spacing(np.abs(results))).all()
