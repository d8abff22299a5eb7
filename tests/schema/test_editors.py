"""What `ecsgen schema` prints marks what is wrong and knows what is right, as editors use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ecsgen.diagnostics.explaining import codes
from ecsgen.schema import json_schema

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SEEN_BY_EDITORS = ("E101", "E104", "E302", "E303", "E304", "E305", "E306", "E307")


def _places(text: str) -> list[list[Any]]:
    """Where something is wrong."""
    return [list(error.absolute_path) for error in VALIDATOR.iter_errors(yaml.safe_load(text))]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert not {"anyOf", "oneOf"} & set(SCHEMA)  # the kind of document decides: one list of errors


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "schemas").glob("*.yaml")), ROOT / "tests" / "unshipped.yaml"],
    ids=lambda path: path.name,
)
def test_all_schemas_are_right(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        assert not list(VALIDATOR.iter_errors(document))


@pytest.mark.parametrize("code", SEEN_BY_EDITORS)
def test_mistakes_of_examples_are_marked(code: str) -> None:
    found = codes()[code]
    assert found.wrong is not None
    assert found.right is not None
    assert _places(found.wrong)
    assert not _places(found.right)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("component: point_mass", ["component"]),
        ("component: A\nfields: {m: f33}", ["fields", "m"]),
        ("component: A\nfields: {m: {type: f33}}", ["fields", "m"]),
        ("component: A\nfields: {m: 'f32[0]'}", ["fields", "m"]),
        ("component: A\nfields: {m: str}", ["fields", "m"]),
        ("component: A\nfields: {9m: f32}", ["fields"]),
        (
            "component: A\nkernels: {a: {args: {x: 'str[3]'}, steps: [x]}}",
            ["kernels", "a", "args", "x"],
        ),
        ("component: A\nworld: B", []),
        ("name: A", []),
        ("world: W\nkernels: {a: {steps: [x]}}", ["kernels", "a"]),
    ],
)
def test_what_is_wrong_is_marked_where_it_stands(text: str, place: list[Any]) -> None:
    assert _places(text) == [place]


def test_types_complete() -> None:
    """Editors offer the words of an enum; every other right type matches the pattern."""
    words, pattern = SCHEMA["$defs"]["FieldSpec"]["properties"]["type"]["anyOf"]
    assert {"f32", "u8", "bool", "entity", "object"} <= set(words["enum"])
    assert set(pattern) == {"pattern"}
    right = "{a: 'id<B>[2]', b: Mode, c: 'Mode[3,2]', d: 'bytes[3]', e: object, f: 'f32[3]'}"
    assert not _places(f"component: A\nfields: {right}")
