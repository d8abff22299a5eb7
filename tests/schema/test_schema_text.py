"""Text from schemas stays text, whatever it looks like and wherever it stands."""

from __future__ import annotations

import ast
import json

import pytest

from tests.support.world_package import load, sources, world_package

SCHEMA = """
enum: Mode
doc: TEXT
values: [idle, walk]
---
component: Apple
doc: TEXT
fields:
  name: {type: "str[200]", default: TEXT, doc: TEXT, unit: TEXT}
  parts: {type: "f32[2]", split: true, doc: TEXT, unit: TEXT}
  note: {type: "str[200]", default: TEXT, tags: [cold], doc: TEXT}
cold: indirect
kernels:
  step: {doc: TEXT, args: {dt: {type: f32, unit: TEXT}}, steps: ["parts += dt"]}
reductions:
  total: {doc: TEXT, sum: parts.x}
---
component: Basket
doc: TEXT
fields:
  kind: {type: "str[200]", default: TEXT, doc: TEXT}
---
world: Full
doc: TEXT
queries: {apples: {all: [Apple]}}
archetypes: {components: [Basket]}
"""
TEXTS = {
    "docstring_end": 'a""" b',
    "quotes_at_both_ends": "\"\"\"'''\"a'",
    "one_double_quote": '5" gun',
    "one_single_quote": "isn't",
    "comment_in_quotes": '"# fmt: off',
    "template": "{{ 7 * 7 }} {% raw %} {# no #}",
    "escapes": "\\N{BULLET} \\x41 \\",
    "names": '"Callable" Iterator NDArray',
    "lines": "a\n\nimport os\n\tb",
    "format": "{dt} %s {0} {}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_stays_text(name: str) -> None:
    text = TEXTS[name]
    package = world_package(SCHEMA.replace("TEXT", json.dumps(text)), f"text_{name}")
    world = package.World()
    entity = world.spawn(1, apple={}, basket={})[0]
    world.apple.step(2.0)
    assert (world.apple.name(0), world.apple.note(0)) == (text, text)
    assert world.apple.parts(0) == (2.0, 2.0)
    assert world.apple.total() == 2.0
    assert world.archetypes.get(entity, package.Basket).kind == text


@pytest.mark.parametrize("name", TEXTS)
def test_modules_import_what_they_use_all_the_same(name: str) -> None:
    plain = sources(load(SCHEMA.replace("TEXT", "plain")))
    found = sources(load(SCHEMA.replace("TEXT", json.dumps(TEXTS[name]))))
    for path, source in found.items():
        if path.endswith(".py"):
            assert imports(source) == imports(plain[path]), path


def imports(source: str) -> list[str]:
    """Return the import statements."""
    return [
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
