"""Managers with a hierarchy, in every surrounding of policies."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from ecsgen.model import Base, Component, Field, FieldType, World
from ecsgen.render.component import component_module
from ecsgen.render.giving_way import told_apart
from ecsgen.render.package_files import entities_module

SERIAL = Field("serial", FieldType("i64", Base.INT, "i64"), 0)
PLACE = Field("place", FieldType("f32[3]", Base.FLOAT, "f32", (3,)), (0.0, 0.0, 0.0))


def components() -> Iterator[Component]:
    """Yield components whose policies cover every pair with the hierarchy, and most triples."""
    surroundings: list[dict[str, Any]] = [
        {"lookup": "sparse", "instances": "one", "destroy": "gc"},
        {"lookup": "sparse", "instances": "many", "destroy": "gc", "partition": "active"},
        {"lookup": "sparse", "instances": "many", "destroy": "callback", "ids": True},
        {"lookup": "sparse", "instances": "one", "destroy": "manual", "partition": "inactive"},
        {"lookup": "hash", "instances": "one", "destroy": "callback", "partition": "active"},
        {"lookup": "hash", "instances": "many", "destroy": "gc", "release": True},
        {"lookup": "hash", "instances": "many", "destroy": "manual", "ids": True},
        {"owner": "none", "ids": True, "release": True},
        {"owner": "none", "ids": True, "partition": "active"},
    ]
    for orphans in ("root", "destroy"):
        for number, policies in enumerate(surroundings):
            if policies.get("destroy") == "callback":
                policies["release"] = True
            name = f"Node{orphans.capitalize()}{number}"
            node = Component(name, name.lower(), (SERIAL, PLACE), hierarchy=orphans)
            yield replace(node, **policies)


COMPONENTS = {component.module: component for component in components()}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The generated package of all these components, indices of entities being reused at once."""
    folder = tmp_path_factory.mktemp("hierarchy")
    generated = folder / "families"
    texts = {
        f"{name}.py": told_apart(partial(component_module, component))
        for name, component in COMPONENTS.items()
    }
    texts |= {"__init__.py": "", "entities.py": entities_module(World(min_free=2))}
    for path, text in texts.items():
        (generated / path).parent.mkdir(parents=True, exist_ok=True)
        (generated / path).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("families")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.startswith("families")]:
            del sys.modules[name]


def manager_of(package: ModuleType, module: str) -> Any:
    """Return the manager's class."""
    generated = importlib.import_module(f"{package.__name__}.{module}")
    return getattr(generated, f"{COMPONENTS[module].name}Manager")
