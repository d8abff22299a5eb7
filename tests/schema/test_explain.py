"""Every code is explained, and its example shows exactly that mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecsgen.diagnostics import Diagnostics
from ecsgen.diagnostics.explaining import as_json, as_list, as_text, codes, unknown_code
from ecsgen.schema import load

NOT_ONE_FILE = {"E201", "E202", "E203", "E206", "E207", "E701", "E702", "E703"}
"""What no schema file of a few lines can show, and what a change of schemas breaks."""
SHOWN = sorted(code for code, about in codes().items() if about.wrong is not None)


def _codes(text: str, folder: Path) -> set[str]:
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    load(folder, diagnostics)
    return {found.code for found in diagnostics}


def test_every_code_that_a_file_can_show_has_an_example() -> None:
    without = NOT_ONE_FILE | {code for code in codes() if code.startswith("E9")}
    assert set(SHOWN) == set(codes()) - without


@pytest.mark.parametrize("code", SHOWN)
def test_examples_show_what_they_say(code: str, tmp_path: Path) -> None:
    found = codes()[code]
    assert found.wrong is not None
    assert found.right is not None
    assert _codes(found.wrong, tmp_path) == {code}
    assert _codes(found.right, tmp_path) == set()


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
    (found,) = json.loads(as_json(["E702"]))
    assert list(found) == ["code", "title", "reason", "wrong", "right"]
    assert found["wrong"] is None
    assert [entry["code"] for entry in json.loads(as_json(codes()))] == list(codes())


def test_unknown_codes() -> None:
    assert unknown_code("E1044") == "no code 'E1044'; did you mean 'E104'?"
    assert unknown_code("hello") == "no code 'hello'; `ecsgen explain` lists them"
