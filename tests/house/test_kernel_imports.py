"""Kernels' modules import downwards: model, typing, then what renders; no backend the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ecsgen

PACKAGE = Path(ecsgen.__file__).parent
RENDER = ("ecsgen.render", "ecsgen.policies", "ecsgen.world_features")
ABOVE = {
    "model": ("ecsgen.kernels", "ecsgen.schema", "ecsgen.layout", *RENDER),
    "kernels": ("ecsgen.schema", "ecsgen.layout", *RENDER),
    "policies": ("ecsgen.render",),
    "render/kernels": ("ecsgen.render.blocks", "ecsgen.render.loops"),
    "render/blocks": ("ecsgen.render.loops",),
    "render/loops": ("ecsgen.render.blocks",),
}
"""By folder, what its modules may not import, not even inside functions."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("folder", ABOVE)
def test_nothing_imports_what_stands_above(folder: str) -> None:
    files = sorted((PACKAGE / folder).glob("*.py"))
    assert files
    for path in files:
        wrong = [name for name in imported(path) if name.startswith(ABOVE[folder])]
        assert not wrong, path


@pytest.mark.parametrize("folder", ["model", "kernels", "render/blocks", "render/loops"])
def test_no_circles(folder: str) -> None:
    """Whatever a module imports of its folder can be put before it."""
    prefix = f"ecsgen.{folder.replace('/', '.')}."
    needed = {
        prefix + path.stem: {name for name in imported(path) if name.startswith(prefix)}
        for path in (PACKAGE / folder).glob("*.py")
        if path.stem != "__init__"
    }
    while needed:
        free = {name for name, others in needed.items() if not others & needed.keys()}
        assert free, sorted(needed)
        needed = {name: others for name, others in needed.items() if name not in free}
