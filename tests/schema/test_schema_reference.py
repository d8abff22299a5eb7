"""The language's references: the page, the schema for editors, and explanations of codes."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ecsgen.diagnostics.explanations import as_json, as_list, as_text, codes, unknown_code
from ecsgen.schema import json_schema
from tests.support.world_package import checked

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = runpy.run_path(str(DOCS / "schema_pages.py"))
PAGES: dict[str, str] = SCRIPT["pages"]()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_are_up_to_date(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run: python docs/schema_pages.py"


def test_pages_are_written(tmp_path: Path) -> None:
    SCRIPT["main"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(PAGES)


def test_every_mapping_of_the_language_is_documented() -> None:
    page = PAGES["schema.md"] + PAGES["schema-world.md"]
    for name, definition in json_schema()["$defs"].items():
        for key, value in definition["properties"].items():
            assert f"\n- `{key}` (" in page, name
            meaning = value.get("description", "")  # or that of the mapping it refers to
            assert meaning in page, (name, key)
    lists = re.findall(r"^- `\w+` \((.*?)[;)]", page, re.MULTILINE)
    assert all(takes.strip() == takes != "" and not takes.endswith(" of") for takes in lists), lists


def test_every_code_is_documented() -> None:
    reference = runpy.run_path(str(DOCS / "api_reference.py"))["codes_page"]()
    for code, entry in codes().items():
        assert f"## {code}: {entry.title}\n\n{entry.reason}\n" in reference
        assert entry.right is None or f"```text\n{entry.right}```" in reference


ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SEEN_BY_EDITORS = ("E101", "E104", "E302", "E303", "E304", "E305", "E306", "E307")


def _places(text: str) -> list[list[Any]]:
    """Where something is wrong."""
    return [list(error.absolute_path) for error in VALIDATOR.iter_errors(yaml.safe_load(text))]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert not {"anyOf", "oneOf"} & set(SCHEMA)  # the kind of document decides: one list of errors


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "schemas").glob("*.yaml")), *sorted((ROOT / "tests").glob("*.yaml"))],
    ids=lambda path: path.name,
)
def test_all_schemas_are_right(path: Path) -> None:
    assert not _errors(path.read_text(encoding="utf-8"))


def test_all_right_examples_are_right() -> None:
    for code, explanation in codes().items():
        assert not _errors(explanation.right or ""), code


def _errors(text: str) -> list[str]:
    """Return what editors mark in all documents; `on` is a word to them."""
    documents = yaml.safe_load_all(text.replace("\non:", '\n"on":'))
    return [error.message for each in documents for error in VALIDATOR.iter_errors(each)]


@pytest.mark.parametrize("code", SEEN_BY_EDITORS)
def test_mistakes_of_examples_are_marked(code: str) -> None:
    explanation = codes()[code]
    assert explanation.wrong is not None
    assert _places(explanation.wrong)


@pytest.mark.parametrize(
    ("text", "path"),
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
def test_what_is_wrong_is_marked_where_it_stands(text: str, path: list[Any]) -> None:
    assert _places(text) == [path]


def test_types_complete() -> None:
    """Editors offer the words of an enum; every other right type matches the pattern."""
    words, pattern = SCHEMA["$defs"]["FieldSpec"]["properties"]["type"]["anyOf"]
    assert {"f32", "u8", "bool", "entity", "object"} <= set(words["enum"])
    assert set(pattern) == {"pattern"}
    assert {"datetime[s]", "timedelta[ns]"} <= set(words["enum"])
    right = "{a: 'id<B>[2]', b: Mode, c: 'Mode[3,2]', d: 'bytes[3]', e: object, f: 'f32[3]'}"
    assert not _places(f"component: A\nfields: {right}")
    late = "{args: {since: 'datetime[ms]', wait: {type: 'timedelta[ms]'}}, steps: [x = since]}"
    assert not _places(f"component: A\nfields: {{x: 'datetime[ms]'}}\nkernels: {{a: {late}}}")
    assert _places("component: A\nfields: {x: 'datetime[ms][3]'}") == [["fields", "x"]]


NOT_ONE_FILE = {"E201", "E202", "E203", "E206", "E207", "E701", "E702", "E703"}
"""Codes that no schema file of a few lines can show, and those of changes of schemas."""
SHOWN = sorted(code for code, about in codes().items() if about.wrong is not None)


def _codes(text: str) -> set[str]:
    return {diagnostic.code for diagnostic in checked(text)[1]}


def test_every_code_that_a_file_can_show_has_an_example() -> None:
    without = NOT_ONE_FILE | {code for code in codes() if code.startswith("E9")}
    assert set(SHOWN) == set(codes()) - without


@pytest.mark.parametrize("code", SHOWN)
def test_examples_show_what_they_say(code: str) -> None:
    explanation = codes()[code]
    assert explanation.wrong is not None
    assert explanation.right is not None
    assert _codes(explanation.wrong) == {code}
    assert _codes(explanation.right) == set()


def test_texts() -> None:
    text = as_text(codes()["E104"])
    assert text.startswith("E104: unknown field type\n\n")
    assert "wrong:\n\n    component: Body\n    fields: {mass: f33}\n" in text
    assert text.endswith("right:\n\n    component: Body\n    fields: {mass: f32}\n")
    assert max(map(len, text.splitlines())) <= 80
    assert "wrong:" not in as_text(codes()["E702"])
    assert "\a" not in as_text(codes()["E204"])
    assert as_list().splitlines()[0] == f"E101  {codes()['E101'].title}"
    assert len(as_list().splitlines()) == len(codes())


def test_json() -> None:
    (document,) = json.loads(as_json(["E702"]))
    assert list(document) == ["code", "title", "reason", "wrong", "right"]
    assert document["wrong"] is None
    assert [entry["code"] for entry in json.loads(as_json(codes()))] == list(codes())


def test_unknown_codes() -> None:
    assert unknown_code("E1044") == "no code 'E1044'; did you mean 'E104'?"
    assert unknown_code("hello") == "no code 'hello'; `ecsgen explain` lists them"
