"""Random schemas: legal ones must make managers that pass their tests, others must be refused.

Six components share a package, of whose generated tests the state machines try few examples, and a
part of the direct cases runs. Every other package has copies of the library. The packages are
always the same ones, so that a failure is about the change at hand; `ECSGEN_COMBINATIONS=100:400`
draws others.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

from ecsgen import schema
from ecsgen.config import Runtime
from ecsgen.diagnostics import Diagnostics
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.library_imports import RUNTIME, locate_public_names
from tests.models.random_schemas import ENUMS, Schemas, joined, over_chunks, together
from tests.support.generated_package import build
from tests.support.in_process_pytest import failures
from tests.support.world_package import checked

PACKAGES = range(*map(int, os.environ.get("ECSGEN_COMBINATIONS", "0:15").split(":")))
WAYS: tuple[Runtime, ...] = get_args(Runtime)
KNOWN = "component: Known\nids: true\n"


def write(folder: Path, documents: list[str]) -> Path:
    """Write one schema file and return its folder."""
    folder.mkdir(parents=True)
    (folder / "mixture.yaml").write_text("---\n".join(documents), encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", PACKAGES)
def test_every_combination_passes_its_tests(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    check_package(number, tmp_path)


def check_package(number: int, folder: Path) -> None:
    """Draw, build and test one package in an importable folder."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.component(f"Mix{letter}") for letter in "ABCDEF"]
    chunked, archetypes = schemas.chunked("XYZ"[: 1 + number % 3])
    world += archetypes + over_chunks(chunked, joined(drafts, Random(number))) + together(drafts)
    documents = [world, ENUMS, KNOWN, *(draft.text for draft in (*drafts, *chunked))]
    package = folder / f"mixture_{number}"
    build(write(folder / "schemas", documents), package, runtime=WAYS[number % 2])
    quick = ("-p", "tests.support.fewer_examples", "--every", "10")
    assert failures(folder, *quick, package / "tests") == [], "---\n".join(documents)


@pytest.mark.parametrize("number", range(300))
def test_contradictions_are_refused(number: int, tmp_path: Path) -> None:
    draft, (first, second) = Schemas(number).contradiction("Mix")
    folder = write(tmp_path / "schemas", [ENUMS, KNOWN, draft.text])
    diagnostics = Diagnostics()
    assert schema.load(folder, diagnostics) is None
    lines = (folder / "mixture.yaml").read_text(encoding="utf-8").splitlines()
    # The component is the last one of the file.
    line = {text.partition(":")[0]: number for number, text in enumerate(lines, 1)}
    for error in diagnostics.errors:
        assert error.mark.path.endswith("mixture.yaml")
        text = lines[error.mark.line - 1]
        assert text[error.mark.column - 1 :][: error.mark.length].strip()
    places = [(line[first], line[second]), (line[second], line[first])]
    assert any(
        error.mark.line == here and f"line {there}" in error.message
        for error in diagnostics.errors
        for here, there in places
    ), (draft.text, diagnostics.errors)


CHOICES: dict[str, tuple[str, ...]] = {
    "owner": ("none",),
    "instances": ("many",),
    "lookup": ("hash", "direct"),
    "destroy": ("callback", "manual"),
    "ids": ("true",),
    "partition": ("{start: active}",),
    "hierarchy": ("{orphans: root}", "{orphans: die}", "{orphans: destroy}"),
    "ring": ("7",),
    "release": ("true",),
    "add": ("true",),
    "cold": ("indirect",),
    "growth": ("{reserve: 64}",),
    "on": ("at",),
    "network": ("{between: [who, whom]}", "{from: who, to: whom}"),
}
MIXED = """\
fields:
  a: {{type: f64, index: {index}}}
  u: {{type: i64, unique: {unique}}}
  far: {{type: f64, tags: [cold]}}
  at: id<Cell>
  who: {{type: entity, on_delete: {on_delete}}}
  whom: entity
---
component: Cell
grid: {{shape: [3, 3]}}
fields: {{z: f64}}
"""


def test_no_base_hides_what_others_add_to_a_method() -> None:
    """A method that calls that of the next base is reached, whatever policies there are."""
    random, n_legal = Random(1), 0
    for _ in range(200):
        drawn = {k: random.choice(v) for k, v in CHOICES.items() if random.random() < 0.3}
        text = "".join(f"{key}: {value}\n" for key, value in drawn.items())
        index, unique = (random.choice(["true", "false"]) for _ in range(2))
        on_delete = random.choice(["keep", "keep", "clear", "cascade"])
        fields = MIXED.format(index=index, unique=unique, on_delete=on_delete)
        project, _ = checked(f"component: Mix\n{text}{fields}")
        if project is None:
            continue
        n_legal += 1
        (mix,) = (c for c in project.components if c.name == "Mix")
        code = ComponentCode(mix)
        for bases in (code.bases, code.row_bases):
            assert not [*hidden_methods(bases)], (bases, text, on_delete)
    assert n_legal > 66


def hidden_methods(bases: list[str]) -> Iterator[str]:
    """Yield the methods that call the next base's and stand behind one that calls none's."""
    modules = locate_public_names(RUNTIME)
    kinds = [getattr(import_module(modules[n].replace(PLACEHOLDER, "")), n) for n in bases]
    ending: dict[str, type[Any]] = {}
    for kind in type("Mixed", tuple(map(bare, kinds)), {}).__mro__:
        for name, member in vars(getattr(kind, "real", object)).items():
            method = getattr(member, "fget", member)
            if not inspect.isfunction(method):
                continue
            calls_next = {"super", name} <= {*method.__code__.co_names}
            if calls_next and not issubclass(ending.get(name, kind), kind):
                yield f"{kind.__name__}.{name}, behind {ending[name].__name__}"
            elif not calls_next:
                ending.setdefault(name, kind)


@cache
def bare(kind: type[Any]) -> type[Any]:
    """Return a class with the same bases, but without members, that takes any others beside it."""
    bases = tuple(bare(base) for base in kind.__bases__ if base is not object)
    return type(kind.__name__, bases, {"real": kind})
