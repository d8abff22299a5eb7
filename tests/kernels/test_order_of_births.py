"""Births, deaths and additions of rows that a call names: in the order in which it names them."""

from __future__ import annotations

from typing import Any

import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Fox
space: {field: at}
partition: {start: active}
fields: {at: "f32[2]", m: i32, mate: entity}
---
component: Den
fields: {of: i32}
---
component: Log
owner: none
fields: {of: i32}
---
world: World
kernels:
  born: {over: Fox, steps: ["spawn(Log(of=Fox.m))", "spawn(Log(of=Fox.m + 100))"]}
  loops: {over: Fox, steps: ["for i in range(2): spawn(Log(of=Fox.m + i32(i) * 100))"]}
  sends: {over: Fox, steps: [
    Fox.mate.Fox.m += 1, "spawn(Log(of=Fox.m))", "spawn(Log(of=Fox.m + 100))"]}
  met: {over: Fox, near: 5, steps: [
    "spawn(Log(of=Fox.m), where=count() > 0)", "spawn(Log(of=Fox.m + 100))"]}
  all: {over: Fox, near: {among: Fox}, steps: [
    "spawn(Log(of=Fox.m), where=count() > 0)", "spawn(Log(of=Fox.m + 100))"]}
  dens: {over: Fox, steps: ["add(Fox.mate, Den(of=Fox.m), replace=true)"]}
  dies: {over: Fox, near: 5, steps: ["die(where=count() > 0)"]}
"""
ROWS = [4, 1, 5, 2]


def filled(backend: Backend) -> Any:
    w = world_package(SCHEMA, f"order_of_births_{backend}", backend, compiled=False).World()
    foxes = w.spawn(6, fox={"m": range(6)})
    w.fox.data.mate = foxes[0]
    w.fox.deactivate_many([5])
    return w


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["born", "loops", "sends", "met", "all"])
@pytest.mark.parametrize("rows", [ROWS, None])
def test_births_are_in_the_order_of_rows_that_a_call_names(
    backend: Backend, name: str, rows: list[int] | None
) -> None:
    w = filled(backend)
    getattr(w, name)(rows=rows)
    wanted = [k for row in rows or range(5) if row != 5 for k in (row, row + 100)]
    assert w.log.data.of.tolist() == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_row_that_a_call_names_replaces(backend: Backend) -> None:
    w = filled(backend)
    w.dens(rows=ROWS)
    assert w.den.data.of.tolist() == [2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_deaths_are_in_the_order_of_rows_that_a_call_names(backend: Backend) -> None:
    w, died = filled(backend), list[int]()
    foxes = w.fox.data.entity.tolist()
    w.entities.on_destroy(lambda gone: died.extend(gone.tolist()))
    w.dies(rows=ROWS)
    assert died == [foxes[row] for row in (4, 1, 2)]
