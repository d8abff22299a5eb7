"""Enums: what the schema says, as Python classes."""

from __future__ import annotations

import enum
from typing import Any

import black
import pytest

from ecsgen.model import Enum
from ecsgen.render.environment import environment

MODE = Enum("Mode", (("idle", 0), ("walk", 5)), False, "u8", 0, doc="What a body does.")
LATE = Enum("Late", (("first", 7), ("second", 2**64 - 1)), False, "u64", 7)
WAYS = Enum("Ways", (("up", 1), ("down", 2), ("both", 3)), True, "u8", 0, doc='Not """ \\ here')
TOLD = Enum("Told", (("a", 0), ("b", 1)), False, "u8", 0, docs=(("b", 'Not """ \\ \n here'),))
CASES = [(TOLD,), (MODE,), (WAYS,), (MODE, LATE, WAYS)]


def source(enums: tuple[Enum, ...]) -> str:
    return environment().get_template("enums.py.j2").render(enums=enums)


def namespace(*enums: Enum) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "enums"}
    exec(source(enums), found)
    return found


def test_enums_have_their_members() -> None:
    found = namespace(MODE, LATE)
    assert issubclass(found["Mode"], enum.IntEnum)
    assert {m.name: m.value for m in found["Mode"]} == dict(MODE.values)
    assert {m.name: m.value for m in found["Late"]} == dict(LATE.values)


def test_flags_combine() -> None:
    ways = namespace(WAYS)["Ways"]
    assert issubclass(ways, enum.IntFlag)
    assert ways.up | ways.down == ways.both == 3


def test_docstrings_say_what_is_stored() -> None:
    found = namespace(MODE, LATE, WAYS)
    assert found["Mode"].__doc__.startswith("What a body does.")
    assert "u8" in found["Mode"].__doc__
    assert "idle by default" in found["Mode"].__doc__
    assert "first by default" in found["Late"].__doc__
    assert "0 by default" in found["Ways"].__doc__
    assert "\\ here" in found["Ways"].__doc__


def test_members_are_told_about() -> None:
    text = source((TOLD,))
    assert text.endswith('    a = 0\n    b = 1\n    """Not \'\'\' \\\\ here"""\n')
    assert list(namespace(TOLD)["Told"]) == [0, 1]


@pytest.mark.parametrize("enums", CASES)
def test_the_text_is_already_in_blacks_style(enums: tuple[Enum, ...]) -> None:
    text = source(enums)
    assert black.format_str(text, mode=black.Mode()) == text
    imported = [name for name in ("IntEnum", "IntFlag") if name in text.splitlines()[2]]
    assert imported == [n for n in ("IntEnum", "IntFlag") if f"({n})" in text]
