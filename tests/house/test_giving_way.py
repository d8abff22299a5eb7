"""Names of generated code that schemas hide are renamed in generated code."""

from __future__ import annotations

import enum

import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.name_shadowing import (
    add_class_placeholder,
    add_placeholder,
    rename_shadowed,
    resolve_shadowing,
)
from tests.support.kernel_package import manager_of
from tests.support.world_package import world_package

SCHEMA = """\
component: Sequence
fields: {result: f32, np: f32, self: f32, range: f32, int: i32, place: f32}
kernels:
  chosen: {args: {cells: f32}, steps: ["np += cells * self"]}
  cells: {args: {cells: f32, len: f32}, steps: ["result += cells * np", "self = len"]}
  count_: {steps: ["index = range * 2", "range = index"]}
reductions: {sum: {sum: result}, min: {min: int}}
"""


def test_only_what_somebody_else_has_is_marked() -> None:
    assert [add_placeholder(name) for name in ("mass", "range")] == ["mass", f"{PLACEHOLDER}range"]
    assert add_class_placeholder("Body") == "Body"
    assert (
        add_class_placeholder("GroupMember") == f"{PLACEHOLDER}GroupMember"
    )  # it makes GroupedData


def test_builtins_and_imports_give_way() -> None:
    text = f'''\
from __future__ import annotations

from collections.abc import Iterator, Sequence

def rows({PLACEHOLDER}range: int, _range: int) -> Sequence[int]:
    """A range."""
    return first(range({PLACEHOLDER}range), f"{{range(2)}} range", range=1).range


class {PLACEHOLDER}Sequence: ...
'''
    assert resolve_shadowing(lambda: text) == '''\
from __future__ import annotations

from builtins import range as _range_
from collections.abc import Iterator
from collections.abc import Sequence as _Sequence

def rows(range: int, _range: int) -> _Sequence[int]:
    """A range."""
    return first(_range_(range), f"{_range_(2)} range", range=1).range


class Sequence: ...
'''


def test_modules_without_a_meeting_stay() -> None:
    text = f"def first({PLACEHOLDER}range: int) -> int:\n    return {PLACEHOLDER}range\n"
    assert rename_shadowed(text) == text


def test_enums_called_as_their_bases() -> None:
    enums = "enum: IntEnum\nvalues: [a, b]\n---\nenum: IntFlag\nflags: true\nvalues: [c]"
    other = "enum: Mode\nvalues: [d]\n---\nenum: Traits\nflags: true\nvalues: [e]"
    fields = "{base: IntEnum, flag: IntFlag, mode: Mode, traits: Traits}"
    text = f"component: Coin\nfields: {fields}\n---\n{enums}\n---\n{other}\n"
    package = world_package(text, "giving_way_enums")
    assert isinstance(package.Mode.d, enum.IntEnum)
    assert isinstance(package.Traits.e, enum.IntFlag)
    assert [package.IntEnum.b, package.IntFlag.c] == [1, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_and_reductions(backend: Backend) -> None:
    rows = manager_of(SCHEMA, f"giving_way_{backend}", backend)
    for number in (1, 2):
        values = {"self": 2.0, "np": 1.0, "int": number, "range": number}
        rows.create(rows._entities.create(), **values)
    rows.chosen(3.0)
    rows.cells(2.0, 5.0)
    rows.cells(1.0, 6.0, rows=[1])
    rows.count_()
    assert rows.data.np.tolist() == [7.0, 7.0]
    assert rows.data.result.tolist() == [14.0, 21.0]
    assert rows.data.self.tolist() == [5.0, 6.0]
    assert rows.data.range.tolist() == [2.0, 4.0]
    assert (rows.sum(), rows.min()) == (35.0, 1)
