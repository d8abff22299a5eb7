"""Builds an importable package, world included, from schema text."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType

from ecsgen import schema
from ecsgen.config import Options
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Project
from ecsgen.render import outputs
from ecsgen.render.calls import import_line
from ecsgen.render.environment import environment


def load(text: str) -> Project:
    """Return the checked model of one schema file."""
    folder = Path(mkdtemp())
    (folder / "schema.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    project = schema.load(folder, diagnostics)
    assert project is not None, diagnostics.errors
    return project


def world_source(project: Project) -> str:
    """Return the text of `world.py`."""
    origins = {"._runtime": ["Columns", "Entity", "EntityArray"], ".entities": ["EntityManager"]}
    for c in project.components:
        origins[f".{c.module}"] = [c.name, f"{c.name}Fields", f"{c.name}Manager"]
    return (
        environment()
        .get_template("world.py.j2")
        .render(
            world=project.world,
            components=project.components,
            imports=[import_line(module, origins[module]) for module in sorted(origins)],
        )
    )


@cache
def world_package(text: str, name: str) -> ModuleType:
    """Import the package generated from a schema text."""
    project = load(text)
    folder = Path(mkdtemp())
    options = Options(
        schemas=folder, output=folder, backend="numpy", tests=None, jobs=1, line_length=88
    )
    for output in outputs(project, options, Diagnostics()):
        path = folder / name / output.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output.make(), encoding="utf-8")
    (folder / name / "world.py").write_text(world_source(project), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.world")
    finally:
        sys.path.remove(str(folder))
