"""Generated packages with methods in C, and the same without."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import FrameType, ModuleType
from typing import Any

import pytest

from tests.support.generated_package import build

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "fast.yaml"
"""Policies whose rows come and go in C, in pairs that no shipped schema has, and others."""

Packages = tuple[ModuleType, ModuleType]
"""With methods in C, and without."""


METHODS = {
    "EnergyManager": "create ensure _destroy_row remove destroy lookup has require row "
    "stored set_stored",
    "PositionManager": "lookup has require row value set_value",
    "PointMassManager": "create _destroy_row remove lookup label set_label mass set_mass",
    "TransformManager": "create _destroy_row remove destroy lookup rotation set_rotation",
    "SoundSourceManager": "lookup first clip set_clip",
    "StatusEffectManager": "lookup has resolve id_of",
    "SparkManager": "create _destroy_row destroy_id resolve position set_position __contains__",
    "TileManager": "create _destroy_row remove id_of resolve destroy_id",
    "World": "spawn create",
    "EveryTypeManager": "lookup has mode set_mode title set_title targets set_targets",
    "EntityManager": "create destroy alive require __contains__",
}
"""Methods that must be in C, so that none falls out unnoticed."""

NOT_OWNED = {"SparkManager", "EntityManager", "World", "TileManager"}


def need_layer() -> None:
    """Leave a test out if the layer is not there; in CI that is a failure."""
    try:
        importlib.import_module("ecsgen_runtime.accelerator")
    except ModuleNotFoundError:
        if os.environ.get("CI"):
            pytest.fail("methods in C are not there: `make fast` needs a C compiler")
        pytest.skip("methods in C are not there: `make fast` compiles them")


def built(folder: Path, schemas: Path = SCHEMAS) -> Path:
    """Build the package of a file of schemas, or a folder, and return where it is."""
    if schemas.is_file():
        (folder / "schemas").mkdir()
        shutil.copy(schemas, folder / "schemas")
        schemas = folder / "schemas"
    build(schemas, folder / "yard", runtime="vendored")
    return folder / "yard"


@cache
def both(schemas: Path, names: tuple[str, str]) -> Packages:
    """Build a package, and import two copies of it, with methods in C and without."""
    need_layer()
    folder = Path(mkdtemp())
    package = built(folder, schemas)
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    packages: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name, is_pure in zip(names, "01", strict=True):
            shutil.copytree(package, folder / name, ignore=ignored)
            patch.setenv("ECSGEN_PURE", is_pure)
            packages.append(importlib.import_module(name))
            importlib.import_module(f"{name}._runtime.base.specialisation")  # which asks for it
    return packages[0], packages[1]


def find_accelerator(kind: type[Any]) -> dict[str, Any]:
    """Return the methods of a class with a function in C before them."""
    return {name: m for name, m in vars(kind).items() if type(m).__name__ == "Method"}


def calls_of(call: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that run in a call."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def blocks_taken(exercise: Callable[[], Any]) -> int:
    """Return how many more blocks of memory there are after an exercise: the fewest of some times,
    for whatever else goes on in the process takes blocks, too."""
    exercise()
    taken = []
    gc.collect()
    gc.freeze()  # what is there need not be looked through each time
    try:
        for _ in range(4):
            before = sys.getallocatedblocks()
            exercise()
            gc.collect()
            taken.append(sys.getallocatedblocks() - before)
    finally:
        gc.unfreeze()
    return min(taken)


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return what a call gives, or what it raises."""
    try:
        value = call()
    except Exception as error:
        text = str(error).removesuffix(" and no __dict__ for setting new attributes")  # of Python
        return type(error).__name__, text.replace("quick", "plain")
    return type(value).__name__, repr(value)


def filled(package: ModuleType, name: str, count: int = 3) -> tuple[Any, Any, list[int]]:
    """Return a manager with a row for each of some entities, their manager, and the entities."""
    entities = package.EntityManager()
    manager = getattr(package, name)(entities)
    owners = entities.create_many(count).tolist()
    manager.create_many(owners)
    return manager, entities, owners
