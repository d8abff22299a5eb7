"""Rules for all templates: which may name which, what black does to their output; enums."""

from __future__ import annotations

import ast
import dataclasses
import enum
import re
from pathlib import Path
from typing import Any

import black
import pytest

from ecsgen import policies, render
from ecsgen.fingerprint import templates_folder
from ecsgen.model import Component, Enum
from ecsgen.render.components.component_features import CODE_FEATURES
from ecsgen.render.text import library_imports
from ecsgen.render.text.jinja_environment import rendered_module
from ecsgen.render.world import world_features
from ecsgen.render.world.world_features import BLOCKS
from tests.support.generated_package import shipped

NO_POLICIES = {"name", "module", "fields", "doc", "capacity", "source", "by_default", "marks"}
POLICIES = {field.name for field in dataclasses.fields(Component)} - NO_POLICIES
"""Attributes of a component that tell its storage policies and parts."""
STEP = re.compile(r"{% step (\w+) %}")
MACRO = re.compile(r"{%-? macro (\w+)\(")


SHARED = [
    templates_folder() / "component.py.j2",
    *sorted((templates_folder() / "macros").iterdir()),
]


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.name)
def test_shared_templates_know_no_policy(path: Path) -> None:
    """They put blocks together; which blocks there are is the policies' business."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(rf"\b(?:c|component)\.({'|'.join(POLICIES)})\b", text)
    names = {part.name for part in (*policies.list_policies(), *CODE_FEATURES)}
    assert not names & set(re.findall(r"{[{%][^}]*?[\"'](\w+)[\"'][^}]*?[}%]}", text))


@pytest.mark.parametrize("path", ["world.py.j2", "tests/world.py.j2"])
def test_the_world_knows_none_of_its_features(path: str) -> None:
    text = (templates_folder() / path).read_text(encoding="utf-8")
    names = {feature.name for feature in world_features.list_features(shipped())}
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
    for path, text in library_imports.read_library().items():
        names: list[str] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.append(node.name)
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
            names += [target.id for target in targets if isinstance(target, ast.Name)]
        assert library_imports.public_names(text) == [
            n for n in names if not n.startswith("_")
        ], path


@pytest.mark.parametrize("package", [library_imports.RUNTIME, library_imports.COMPILED])
def test_public_names_are_defined_once(package: str) -> None:
    modules = library_imports.read_library().items()
    texts = [text for path, text in modules if library_imports.library_part(path) == package]
    names = [name for text in texts for name in library_imports.public_names(text)]
    assert names
    assert sorted(names) == sorted(library_imports.locate_public_names(package))


def test_only_what_is_imported_is_copied() -> None:
    assert library_imports.collect_copies(["import numpy as np\n"]) == {}
    copies = library_imports.collect_copies(["from ._runtime.shards.box_blocks import Blocks\n"])
    text = "from ._runtime import sweep\nfrom ._runtime.base.handles import NIL\n"
    always = library_imports.collect_copies([text])
    assert "_runtime/base/errors.py" in always
    assert "_runtime/sweeps/sweep.py" in always
    names = ("shards/__init__", "shards/box_blocks")
    assert [path for path in copies if path not in always] == [f"_runtime/{n}.py" for n in names]
    text = "from ._runtime.tables.compiled_bulk import CompiledBulk\n"
    copies = library_imports.collect_copies([text])
    wanted = {f"_runtime/{n}.py" for n in ("tables/compiled_bulk", "tables/placement")}
    assert wanted <= copies.keys()
    assert "_runtime/shards/compiled_handle_map.py" not in copies


MODE = Enum("Mode", (("idle", 0), ("walk", 5)), False, "u8", 0, doc="What a body does.")
LATE = Enum("Late", (("first", 7), ("second", 2**64 - 1)), False, "u64", 7)
WAYS = Enum("Ways", (("up", 1), ("down", 2), ("both", 3)), True, "u8", 0, doc='Not """ \\ here')
TOLD = Enum("Told", (("a", 0), ("b", 1)), False, "u8", 0, docs=(("b", 'Not """ \\ \n here'),))
CASES = [(TOLD,), (MODE,), (WAYS,), (MODE, LATE, WAYS)]


def source(enums: tuple[Enum, ...]) -> str:
    return rendered_module("enums.py.j2", {"enums": enums})


def test_enums_have_their_members_and_say_what_is_stored() -> None:
    names: dict[str, Any] = {"__name__": "enums"}
    exec(source((MODE, LATE, WAYS, TOLD)), names)
    for of in (MODE, LATE, WAYS, TOLD):
        assert issubclass(names[of.name], enum.IntFlag if of.flags else enum.IntEnum)
        assert {n: m.value for n, m in names[of.name].__members__.items()} == dict(of.values)
    docs = {name: names[name].__doc__ for name in ("Mode", "Late", "Ways")}
    assert docs["Mode"].startswith("What a body does.")
    assert "u8" in docs["Mode"]
    assert "idle by default" in docs["Mode"]
    assert "first by default" in docs["Late"]
    assert "0 by default" in docs["Ways"]
    assert "\\ here" in docs["Ways"]
    assert source((TOLD,)).endswith('    a = 0\n    b = 1\n    """Not \'\'\' \\\\ here"""\n')


@pytest.mark.parametrize("enums", CASES)
def test_the_text_is_already_in_blacks_style(enums: tuple[Enum, ...]) -> None:
    text = source(enums)
    assert black.format_str(text, mode=black.Mode()) == text
    imported = [name for name in ("IntEnum", "IntFlag") if name in text.splitlines()[2]]
    assert imported == [n for n in ("IntEnum", "IntFlag") if f"({n})" in text]
