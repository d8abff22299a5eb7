"""Names of generated code that schemas hide are renamed in generated code."""

from __future__ import annotations

import enum

import pytest

from ecsgen import render
from ecsgen.config import BACKENDS, RUNTIMES, Backend, load_options
from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.library_imports import LIBRARY, finish_module
from ecsgen.render.text.module_names import IMPORTS_MARKER, insert_imports
from ecsgen.render.text.name_shadowing import add_class_placeholder, add_placeholder
from tests.support.kernel_package import manager_of
from tests.support.world_package import load, world_package

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


def finished(code: str, **modules: str) -> str:
    """Return a module of code; `$` stands for the placeholder."""
    text = f"{IMPORTS_MARKER}\n\n{code}".replace("$", PLACEHOLDER)
    return finish_module(lambda: insert_imports(text, modules, {}))


def test_builtins_and_imports_give_way() -> None:
    code = '''\
def rows(self, $range: int, _range: int, *, $Sequence: Iterator[int]) -> Sequence[int]:
    """A range of Sequence."""
    return first(range($range), "range", range=np.size(1)).range  # range


class $np(rows): ...
'''
    assert finished(code) == '''\
from builtins import range as _range_
from collections.abc import Iterator
from collections.abc import Sequence as _Sequence

import numpy as _np

def rows(self, range: int, _range: int, *, Sequence: Iterator[int]) -> _Sequence[int]:
    """A range of Sequence."""
    return first(_range_(range), "range", range=_np.size(1)).range  # range


class np(rows): ...
'''


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ('f"{a[0:len(range(2))]} {{range}}"', 'f"{a[0:len(_range(2))]} {{range}}"'),
        (
            'f"{$range:{range}} range {range!r:>{range}}"',
            'f"{range:{_range}} range {_range!r:>{_range}}"',
        ),
        ("f'{row[\"range\"]} {range}' 'range'", "f'{row[\"range\"]} {_range}' 'range'"),
        ('"ä", range, b"range", r"range", \'range\'', '"ä", _range, b"range", r"range", \'range\''),
        ('"""{range}\n\\"range"""', '"""{range}\n\\"range"""'),
        ("row.range(range=range, rows=$range)", "row.range(range=_range, rows=range)"),
        ("$range.range[range : $range]", "range.range[_range : range]"),
        ("lambda range, *, $range: range", "lambda _range, *, range: _range"),
        ("[range for range in $range]", "[_range for _range in range]"),
    ],
)
def test_only_names_of_the_code_give_way(code: str, result: str) -> None:
    text = f"def first($range: int) -> object:\n    return {code}  # range\n"
    expected = text.replace("$", "").replace(code.replace("$", ""), result)
    assert finished(text).partition("\n\n")[2] == expected
    compile(finished(text), "shown", "exec")


def test_items_of_a_class_keep_their_names() -> None:
    code = """\
class First:
    MEMBERS: ClassVar = MEMBERS
    UNOWNED = UNOWNED
    $MEMBERS: int

    @property
    def $int(self) -> int: ...


MEMBERS = $UNOWNED
UNOWNED = 1
"""
    assert finished(code) == """\
from builtins import int as _int
from typing import ClassVar

class First:
    MEMBERS: ClassVar = _MEMBERS
    UNOWNED = _UNOWNED
    MEMBERS: _int

    @property
    def int(self) -> _int: ...


_MEMBERS = UNOWNED
_UNOWNED = 1
"""


def test_modules_without_a_meeting_stay() -> None:
    text = "def first($range: int, imports: int) -> int:\n    return $range + imports\n"
    assert finished(text) == f"\n\n{text.replace('$', '')}"


def test_what_the_code_uses_is_imported() -> None:
    code = '''\
"""Sequence: a Mapping."""
from __future__ import annotations


class First(Field):
    """A Column."""

    Rows: ClassVar = f"{Id}"

    def first(self, index: Any) -> Final:
        """Struct."""
        return index(self.Literal, Never=nested, Column="Struct")


class Id: ...
'''
    nested, ours = f"{LIBRARY}.nested", ".."
    imports = finished(code, nested=nested, Field=ours, Id=ours, Rows=ours).partition('\n\n"')[0]
    assert imports == """\
from typing import Any, ClassVar, Final

from ecsgen_runtime.nested import nested

from .. import Field"""


@pytest.mark.parametrize("package", ["..", "game"])
def test_the_package_is_imported_before_tests_beside(package: str) -> None:
    text = finished("Subjects = Field, test_field\n", Field=package, test_field=".")
    assert text.startswith(f"from {package} import Field\nfrom . import test_field\n")


def test_imports_that_documents_of_schemas_show_stay() -> None:
    doc = f"{'x' * 84} from ecsgen_runtime import range"  # which begins a line
    text = f"component: Body\ndoc: {doc}\nfields: {{range: f32}}\n"
    for runtime in RUNTIMES:
        (module,) = (
            output.render()
            for output in render.outputs(load(text), load_options(runtime=runtime))
            if output.path == "body.py"
        )
        assert "\nfrom ecsgen_runtime import range\n" in module


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
