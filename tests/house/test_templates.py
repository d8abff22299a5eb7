"""What holds for the templates as a whole: who may name whom, what black and names do to them."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ecsgen import policies, render, schema, world_features
from ecsgen.config import load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.files.fingerprint import templates_folder
from ecsgen.model import Component, Project
from ecsgen.render import Output, runtime
from ecsgen.render.class_parts import PARTS
from ecsgen.world_features import BLOCKS

SCHEMAS = Path(__file__).parents[2] / "schemas"
NO_POLICIES = {"name", "module", "fields", "doc", "capacity", "source", "by_default", "marks"}
POLICIES = {field.name for field in dataclasses.fields(Component)} - NO_POLICIES
"""What a component has that says which storage policies and parts it has."""
STEP = re.compile(r"{% step (\w+) %}")
MACRO = re.compile(r"{%-? macro (\w+)\(")


@cache
def shipped() -> Project:
    diagnostics = Diagnostics()
    project = schema.load(SCHEMAS, diagnostics)
    assert project is not None, diagnostics.errors
    return project


@cache
def outputs() -> dict[str, Output]:
    made = render.outputs(shipped(), load_options(schemas=SCHEMAS))
    return {output.path: output for output in made if output.path.endswith(".py")}


def shared_templates() -> Iterator[Path]:
    yield templates_folder() / "component.py.j2"
    yield from sorted((templates_folder() / "parts").iterdir())


@pytest.mark.parametrize("path", list(shared_templates()), ids=lambda path: path.name)
def test_shared_templates_know_no_policy(path: Path) -> None:
    """They put blocks together; which blocks there are is the policies' business."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(rf"\b(?:c|component)\.({'|'.join(POLICIES)})\b", text)
    names = {part.name for part in (*policies.every(), *PARTS)}
    assert not names & set(re.findall(r"{[{%][^}]*?[\"'](\w+)[\"'][^}]*?[}%]}", text))


@pytest.mark.parametrize("path", ["world.py.j2", "tests/world.py.j2"])
def test_the_world_knows_none_of_its_features(path: str) -> None:
    text = (templates_folder() / path).read_text(encoding="utf-8")
    names = {feature.name for feature in world_features.FEATURES}
    assert not names & set(re.findall(r"{[{%][^}]*?[\"'.](\w+)\b[^}]*?[}%]}", text))


def test_every_block_is_asked_for() -> None:
    """A macro that no template calls would be dead."""
    texts = {path: path.read_text(encoding="utf-8") for path in templates_folder().rglob("*.j2")}
    everything = "\n".join(texts.values())
    sources = "\n".join(p.read_text("utf-8") for p in Path(render.__file__).parent.glob("*.py"))
    for path, text in texts.items():
        if path.parent.name not in ("policies", "world"):
            continue
        for name in MACRO.findall(text):
            asked = rf'\.{name}\(|"{name}"|{{% step {name} %}}'
            inside = len(re.findall(rf"\b{name}\b", text)) > 1
            assert inside or re.search(asked, everything + sources), f"{path.name}: {name}"


def test_blocks_of_the_world_are_listed() -> None:
    paths = [templates_folder() / name for name in ("world.py.j2", "tests/world.py.j2")]
    asked = {name for path in paths for name in STEP.findall(path.read_text("utf-8"))}
    assert asked == BLOCKS.keys()


def test_public_names_are_as_a_parser_finds_them() -> None:
    for path, text in runtime.sources().items():
        names: list[str] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.append(node.name)
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
            names += [target.id for target in targets if isinstance(target, ast.Name)]
        assert runtime.public_names(text) == [n for n in names if not n.startswith("_")], path


@pytest.mark.parametrize("package", [runtime.RUNTIME, runtime.COMPILED])
def test_public_names_are_defined_once(package: str) -> None:
    others = [runtime.LATER, runtime.SHARDS]
    others += [f"{runtime.COMPILED}/"] if package == runtime.RUNTIME else []
    known = {p: t for p, t in runtime.sources().items() if not p.startswith(tuple(others))}
    texts = [text for path, text in known.items() if path.startswith(package)]
    names = [name for text in texts for name in runtime.public_names(text)]
    assert names
    assert sorted(names) == sorted(runtime.origins(package))


def test_the_runtime_is_copied_as_it_is() -> None:
    modules = [runtime.vendored(output.make) for output in outputs().values()]
    copies = runtime.copies(modules)
    assert "_runtime/policies/maps.py" in copies
    for path, text in copies.items():
        assert text == (runtime.FOLDER / path.removeprefix("_runtime/")).read_text(encoding="utf-8")


def test_only_what_is_imported_is_copied() -> None:
    assert runtime.copies(["import numpy as np\n"]) == {}
    found = runtime.copies(["from ._runtime.shards.rank_blocks import Blocks\n"])
    names = ("__init__", "errors", "handles", "shards/__init__", "shards/rank_blocks")
    assert list(found) == [f"_runtime/{name}.py" for name in names]
    found = runtime.copies(["from ._runtime.compiled.compiled_bulk import CompiledBulk\n"])
    assert {
        "_runtime/compiled/compiled_bulk.py",
        "_runtime/placement.py",
        "_runtime/errors.py",
    } <= found.keys()
    assert "_runtime/compiled/sharded_bulk.py" not in found
