"""Packages with grids: their own tests pass, and they hold their names apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.generated_package import build
from tests.support.in_process_pytest import failures
from tests.support.world_package import checked

SCHEMA = Path(__file__).parents[1] / "farm.yaml"


@pytest.mark.parametrize("backend", BACKENDS)
def test_generated_tests_pass(backend: Backend, tmp_path: Path) -> None:
    pytest.importorskip(backend)
    schemas, folder = tmp_path / "schemas", tmp_path / f"farm_{backend}"
    schemas.mkdir()
    shutil.copy(SCHEMA, schemas)
    build(schemas, folder, backend=backend)
    assert failures(tmp_path, "-p", "tests.support.fewer_examples", folder) == []


def test_names_that_neighbours_have() -> None:
    text = """\
component: Patch
grid: {shape: [4, 5]}
fields: {offset: i32, distance: f32, Sheep: i32, grass: f32}
---
component: Sheep
on: cell
fields: {cell: id<Patch>, offset: f32}
"""
    errors = checked(text)[1].errors
    assert [(error.code, error.mark.line, error.mark.column) for error in errors] == [
        ("E103", 3, 10),
        ("E103", 3, 23),
        ("E103", 3, 38),
    ]
