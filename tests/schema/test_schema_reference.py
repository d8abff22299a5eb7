"""The reference pages and the JSON Schema are those of the model."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from ecsgen.diagnostics.explaining import codes
from ecsgen.schema import json_schema

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
    page = PAGES["schema.md"]
    for name, definition in json_schema()["$defs"].items():
        for key, value in definition["properties"].items():
            assert f"| `{key}` | " in page, name
            meaning = value.get("description", "")  # or that of the mapping it refers to
            assert meaning.replace("|", "\\|") in page, (name, key)
    rows = re.findall(r"^\| `\w+` \| (.*?) \|", page, re.MULTILINE)
    assert all(takes.strip() == takes != "" and not takes.endswith(" of") for takes in rows), rows


def test_every_code_is_documented() -> None:
    for code, entry in codes().items():
        assert f"## {code}: {entry.title}" in PAGES["diagnostics.md"]


def test_json_schema_describes_every_key_of_the_shipped_schemas() -> None:
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    kinds = {
        next(iter(kind["required"])): kind
        for kind in schema["$defs"].values()
        if "required" in kind
    }
    assert {"component", "enum", "world"} <= set(kinds)
    for file in sorted((DOCS.parent / "schemas").glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            kind = kinds[next(iter(document))]
            assert set(document) <= set(kind["properties"])
            assert kind["additionalProperties"] is False
