"""Rendered modules are in black's style, or are left to black.

They stand together because many modules are the same in every package, and black is slow.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from shutil import copy

import pytest

from ecsgen import render, schema
from ecsgen.config import Backend, Options, load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.files import fingerprint
from ecsgen.files.roots import SchemaRoot
from ecsgen.render import Output
from ecsgen.style import PINNED_BLACK, Style
from tests.models.random_schemas import ENUMS, Schemas, over_chunks, together
from tests.support.generated_package import SCHEMAS

PINNED = Style(PINNED_BLACK, 88)
LONGER = (0, 4, 8, 16, 40)
"""By how many characters names are longer than usual, at most."""

BROKEN = {"world.py"}
"""In the loop of rows that take turns, conditions with which others are found have many parts."""


@cache
def is_blacks(text: bytes) -> bool:
    """Whether black leaves a module as it is."""
    return PINNED.apply(text) == text


@cache
def shipped() -> dict[str, Output]:
    project = schema.load(SCHEMAS, Diagnostics())
    assert project is not None
    made = render.outputs(project, load_options(schemas=SCHEMAS))
    return {output.path: output for output in made if output.path.endswith(".py")}


@pytest.mark.parametrize("path", sorted(shipped().keys() - BROKEN))
def test_black_leaves_the_text_alone(path: str) -> None:
    """black takes three times as long for lines that it has to change."""
    assert is_blacks(shipped()[path].make().encode())


def rendered(schemas: Path, backend: Backend = "numpy") -> dict[str, bytes]:
    """The modules of a package with its tests, before black."""
    found = Diagnostics()
    project = schema.load(schemas, found)
    assert project is not None, found.errors
    options = Options(
        (SchemaRoot(schemas),), schemas / "out", backend, schemas / "out/tests", 1, line_length=88
    )
    outputs = render.outputs(project, options)
    return {each.path: each.make().encode() for each in outputs if each.path.endswith(".py")}


needs_pinned = pytest.mark.skipif(
    fingerprint.black_version() != PINNED_BLACK,
    reason="templates are written for another version of black",
)


@needs_pinned
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_shipped_modules_in_style_are_blacks(backend: Backend) -> None:
    modules = rendered(SCHEMAS, backend)
    known = {path: text for path, text in modules.items() if PINNED.has(text)}
    assert len(known) > 0.85 * len(modules)
    assert [path for path, text in known.items() if not is_blacks(text)] == []


@needs_pinned
def test_modules_with_shards_in_style_are_blacks(tmp_path: Path) -> None:
    copy(Path(__file__).parents[1] / "sharded.yaml", tmp_path)
    modules = rendered(tmp_path)
    assert PINNED.has(modules["world.py"])
    known = {path: text for path, text in modules.items() if PINNED.has(text)}
    assert [path for path, text in known.items() if not is_blacks(text)] == []


@needs_pinned
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("number", range(5))
def test_random_modules_in_style_are_blacks(number: int, backend: Backend, tmp_path: Path) -> None:
    """With names of any length: what the rule keeps from black, black would leave alone."""
    text = long_winded(number, LONGER[number % len(LONGER)])
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    modules = rendered(tmp_path, backend)
    known = {path: text for path, text in modules.items() if PINNED.has(text)}
    assert len(known) > len(modules) / 4
    assert [path for path, text in known.items() if not is_blacks(text)] == []


def long_winded(number: int, most: int) -> str:
    """Schemas of all kinds whose names are up to so many characters longer than usual."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.stretched(schemas.component(f"Mix{letter}"), most) for letter in "ABC"]
    first = [schemas.stretched(draft, most) for draft in schemas.chunked("XY")[0]]
    for draft in first:
        draft.keys = {"doc": draft.keys["doc"]}  # kernels of chunks are the world's
    members = ", ".join(draft.name for draft in first)
    world += f"archetypes: {{components: [{members}]}}\n" + over_chunks(first) + together(drafts)
    known = "component: Known\nids: true\n"
    return "---\n".join([world, ENUMS, known, *(draft.text for draft in (*drafts, *first))])
