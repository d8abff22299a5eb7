"""A snapshot's record of the schemas: the document, its text and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Project
from ecsgen.model.snapshot_schema import Document, make_snapshot_schema, schema_text
from ecsgen.render.package_files import schema_module
from ecsgen.schema import load
from generated import _schema

SHIPPED = Path(__file__).parents[2] / "schemas"


def project(folder: Path) -> Project:
    diagnostics = Diagnostics()
    loaded = load(folder, diagnostics)
    assert loaded is not None, list(diagnostics)
    return loaded


def document(folder: Path, text: str) -> Document:
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    return make_snapshot_schema(project(folder))


def test_the_order_of_keys_is_part_of_the_format() -> None:
    document = make_snapshot_schema(project(SHIPPED))
    assert list(document) == ["version", "entity", "enums", "components", "groups"]
    assert list(document["enums"]["Mode"]) == ["type", "flags", "members"]
    components = document["components"]
    for names in (document["enums"], components):
        assert list(names) == sorted(names)
    common = ["module", "in", "owner", "instances", "lookup", "destroy", "ids"]
    common += ["partition", "hierarchy", "cold"]
    assert list(components["AiState"]) == [*common, "fields"]
    assert list(components["Footprint"]) == [*common, "ring", "fields"]
    assert list(components["AiState"]["fields"])[:3] == ["animation", "energy", "goal"]
    field = components["AiState"]["fields"]["energy"]
    assert list(field) == ["type", "default", "cold", "split", "unit"]
    assert list(components["Texture"]["fields"]["file"]) == [*field, "unique"]


def test_defaults_are_complete_and_json(tmp_path: Path) -> None:
    text = """\
component: Body
fields:
  tile: {type: "f32[2,2]", default: .nan}
  far:  {type: f64, default: .inf}
  low:  {type: f64, default: -.inf}
  zero: {type: f32, default: -0.0}
  big:  {type: u64, default: 18446744073709551615}
  code: {type: "bytes[3]", default: A}
  name: {type: "str[8]", default: ü}
  any:  object
  to:   entity
"""
    fields = document(tmp_path, text)["components"]["Body"]["fields"]
    assert {name: field["default"] for name, field in fields.items()} == {
        "tile": [["NaN", "NaN"], ["NaN", "NaN"]],
        "far": "Infinity",
        "low": "-Infinity",
        "zero": -0.0,
        "big": 2**64 - 1,
        "code": [65, 0, 0],
        "name": "ü",
        "any": None,
        "to": 0,
    }
    assert str(fields["zero"]["default"]) == "-0.0"


def test_what_files_do_not_depend_on_is_left_out(tmp_path: Path) -> None:
    plain = document(tmp_path, "component: Body\nfields: {mass: f32}\n")
    text = """\
component: Body
doc: It moves.
fields: {mass: {type: f32, doc: How heavy., tags: [physics]}}
capacity: 64
growth: {reserve: 1000}
release: true
kernels: {grow: {steps: [mass += 1]}}
reductions: {total: {sum: mass}}
---
world: Town
entity: {min_free: 3}
bundles: {one: [Body]}
queries: {all_bodies: {all: [Body]}}
"""
    assert document(tmp_path, text) == plain


def test_the_package_has_the_text_and_its_fingerprint() -> None:
    text = schema_text(make_snapshot_schema(project(SHIPPED)))
    assert text == _schema.SCHEMA
    assert json.loads(text) == make_snapshot_schema(project(SHIPPED))
    assert hashlib.sha256(text.encode()).hexdigest() == _schema.FINGERPRINT


def test_long_and_odd_texts_survive_as_python(tmp_path: Path) -> None:
    text = """\
component: Body
fields:
  code: {type: "bytes[4000]", default: A}
  name: {type: "str[4000]", unit: "NAME", default: "NAME"}
"""
    name = r"\\\"'},{" * 100
    (tmp_path / "a.yaml").write_text(text.replace("NAME", name), encoding="utf-8")
    loaded = project(tmp_path)
    module = schema_module(schema_text(make_snapshot_schema(loaded)), loaded.history)
    assert max(map(len, module.splitlines())) <= 88
    names: dict[str, str] = {}
    exec(module, names)
    assert names["SCHEMA"] == schema_text(make_snapshot_schema(loaded))
    assert json.loads(names["SCHEMA"])["components"]["Body"]["fields"]["name"]["default"] == (
        "\\\"'},{" * 100
    )


PAST = """\
component: Body
renamed_from: [PointMass, Mass]
removed: [colour]
fields:
  speed: {type: f32, renamed_from: [velocity, v]}
  mass:  f32
---
enum: Mode
renamed_from: [State]
removed: [sleep]
values: {idle: 0, walking: {value: 1, doc: It moves., renamed_from: [walk]}}
---
world: Town
removed: [OldThing]
"""


def test_former_names_are_in_the_package(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(PAST, encoding="utf-8")
    loaded = project(tmp_path)
    names: dict[str, Any] = {}
    exec(schema_module("{}", loaded.history), names)
    assert names["RENAMES"] == {
        "components": {"PointMass": "Body", "Mass": "Body", "OldThing": ""},
        "enums": {"State": "Mode"},
        "fields": {"Body.velocity": "speed", "Body.v": "speed", "Body.colour": ""},
        "members": {"Mode.walk": "walking", "Mode.sleep": ""},
    }


def test_former_names_change_nothing_else(tmp_path: Path) -> None:
    now, with_past = document(tmp_path, PAST), project(tmp_path)
    plain = (
        "component: Body\nfields: {speed: f32, mass: f32}\n---\n"
        "enum: Mode\nvalues: {idle: 0, walking: 1}\n---\nworld: Town\n"
    )
    assert document(tmp_path, plain) == now
    assert project(tmp_path).components == with_past.components
    assert project(tmp_path).world == with_past.world


def test_nothing_of_it_is_imported_before_it_is_asked_for() -> None:
    code = """
import sys
import generated
late = [name for name in sys.modules if "snapshots" in name or name.endswith("_schema")]
assert not late, late
assert generated.Snapshot.__name__ == "Snapshot"
from generated import *
assert SnapshotTable is generated.SnapshotTable
assert not hasattr(generated, "Nothing")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=SHIPPED.parent)


def codes(folder: Path, text: str) -> list[str]:
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    load(folder, diagnostics)
    return [diagnostic.code for diagnostic in diagnostics]


@pytest.mark.parametrize("name", ["Save", "Load", "ToBytes", "Fingerprint", "Snapshot"])
def test_names_of_saving_are_reserved_for_components(tmp_path: Path, name: str) -> None:
    expected = [] if name == "Fingerprint" else ["E102"]
    assert codes(tmp_path, f"component: {name}\n") == expected


@pytest.mark.parametrize("kind", ["queries: {%s: {all: [A]}}", "groups: {%s: [A, B]}", "KERNEL"])
@pytest.mark.parametrize("name", ["save", "load", "to_bytes"])
def test_names_of_saving_are_reserved_in_the_world(tmp_path: Path, name: str, kind: str) -> None:
    kernel = "queries: {q: {all: [A]}}\nkernels: {%s: {over: q, steps: [A.x = 1]}}"
    world = kind.replace("KERNEL", kernel) % name
    text = f"component: A\nfields: {{x: f32}}\n---\ncomponent: B\n---\nworld: W\n{world}\n"
    assert codes(tmp_path, text) == ["E102"]
