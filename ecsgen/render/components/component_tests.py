"""How a component is spelled in its tests: its fields, its columns, its policies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from ecsgen.model import BaseType, Field
from ecsgen.model.columns import Column, field_columns
from ecsgen.model.types import SCALARS
from ecsgen.policies import max_rows
from ecsgen.render.column_code import KINDS
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.kernel_methods.kernel_oracle import KernelCheck, ReductionCheck
from ecsgen.render.text.formatting import call, collection, import_line
from ecsgen.render.text.library_imports import LIBRARY, TESTING, ancestors, library
from ecsgen.render.text.quoting import WIDTH, as_f32, literal, nested


class ComponentTests:
    """A component as the template of its tests sees it."""

    def __init__(
        self, spelling: ComponentCode, package: str, pieces: tuple[PolicyTests, ...]
    ) -> None:
        self.spelling = spelling
        self.component = spelling.component
        self.package = package
        self.pieces = pieces
        self.handle = "entity" if spelling.is_owned else "id"
        """The variable that says which instance."""
        name, ground = spelling.name, self.component.grid_component
        # pytest takes whatever is called Test… for tests.
        self.row = f"_{name}" if name.startswith("Test") else name
        """The row class as the tests name it, as the manager's and that of its grid."""
        self.manager = f"{self.row}Manager"
        self.grid = "" if ground is None else f"_{ground.name}Manager"

    @property
    def package_import(self) -> str:
        """The import of what the package has for all components."""
        is_grid = self.component.grid is not None
        names = [*([] if is_grid else ["StaleInstanceError"]), "EntityManager", "World"]
        return import_line(self.package, [*names, *(["enums"] if self.spelling.enums else [])])

    @property
    def component_import(self) -> str:
        """The import of the manager and its row."""
        dot, ground = "" if self.package.endswith(".") else ".", self.component.grid_component
        names = [self.imported_row, _as_named(self.spelling.manager, self.manager)]
        line = import_line(f"{self.package}{dot}{self.component.module}", names)
        if ground is None:
            return line
        name = f"{ground.name}Manager as {self.grid}"
        return "\n".join(sorted([line, f"from {self.package}{dot}{ground.module} import {name}"]))

    @property
    def imported_row(self) -> str:
        """The row class as an import names it."""
        return _as_named(self.spelling.name, self.row)

    @property
    def support_import(self) -> str:
        """The import of the pieces."""
        kernels = ["kernel_oracle"] if self.kernels else []
        own = [piece.module for piece in self.pieces]
        if self.component.grid is None:
            own += ["common_cases", "state_machine", "row_proxies"]
        return import_lines(["subject", *own, *kernels])

    @property
    def subject(self) -> str:
        """The class of what is under test."""
        key = next(iter(self._guarded), "")
        return f"{key}.{camel(key)}Subject" if key else "subject.Subject"

    @property
    def _guarded(self) -> dict[str, list[Field]]:
        """The fields that have policies, by the policies' keys."""
        found: dict[str, list[Field]] = {}
        for field in self.component.fields:
            for key, _ in field.options:
                found.setdefault(key, []).append(field)
        return found

    @property
    def fields(self) -> str:
        """The fields, as an argument of the subject."""
        plain = [_field(f) for f in self.component.fields if not (f.options or f.is_cell_reference)]
        return collection("fields=", plain, 4) + ","

    @property
    def columns(self) -> str:
        """The columns of the buffer, in order, as an argument of the subject."""
        return collection("columns=", [_column(s.column) for s in self.spelling.stored], 4) + ","

    @property
    def tagged(self) -> str:
        """The tags with the columns that bear them, as an argument of the subject."""
        groups = {tag: [s.name for s in some] for tag, some in self.spelling.tagged().items()}
        return f"    {_names('tagged=', groups)},"

    @property
    def storage(self) -> list[str]:
        """What is special about where fields and rows are, as arguments of the subject."""
        rows = {spelling.name for spelling in self.spelling.row_fields}
        fields = self.component.fields
        split = [f for f in fields if f.split]
        apart = [literal(f.name) for f in fields if f.name not in rows]
        lines = []
        if split:
            parts = {f.name: [column.name for column in field_columns(f)] for f in split}
            lines.append(_names("split=", parts))
        if apart:
            lines.append(collection("indirect=", apart, 4).lstrip())
        if self.spelling.cold:
            columns = [_column(spelling.column) for spelling in self.spelling.cold.stored]
            lines.append(collection("cold_columns=", columns, 4).lstrip())
        for key, guarded in self._guarded.items():
            lines.append(collection(f"{key}=", [*map(_field, guarded)], 4).lstrip())
        if self.grid:
            places = [_field(f) for f in fields if f.is_cell_reference]
            lines += [collection("places=", places, 4).lstrip(), f"grid={self.grid}"]
        if self.component.reserve:
            lines.append(f"reserve={self.component.reserve}")
        if bound := max_rows(self.component):
            lines.append(f"max_rows={bound}")
        if self.component.partition == "inactive":
            lines.append("starts_active=False")
        return lines

    @property
    def create(self) -> str:
        """The creation of a first row."""
        arguments = [f"{field.name}={_default(field)}" for field in self.component.fields]
        if not self.spelling.is_owned:
            return call("id = manager.create", arguments, 4)
        return call("row = manager.create", ["entity", *arguments], 4)

    @property
    def kernels(self) -> list[KernelCheck | ReductionCheck]:
        """The kernels and reductions, each with what it does to or takes of one row."""
        component = self.component
        tested = [one for one in component.kernels if not one.program.is_untestable]
        kernels = [KernelCheck(kernel, component.name) for kernel in tested]
        return [*kernels, *map(ReductionCheck, component.reductions)]

    @property
    def accessors(self) -> list[str]:
        """A write and a read of each field."""
        lines = []
        for field in self.component.fields:
            lines.append(call(f"manager.set_{field.name}", ["row", _default(field)], 4))
            arguments = [f"manager.{field.name}(row)", _default(field, is_read=True)]
            lines.append(call("assert subject.same", arguments, 4))
        return lines


def _as_named(name: str, here: str) -> str:
    return name if name == here else f"{name} as {here}"


def _field(field: Field) -> str:
    kind = field.type
    arguments = [literal(field.name), _default(field)]
    if kind.base is BaseType.ENUM:
        arguments.append(f"enums.{kind.target}")
    if kind.base in (BaseType.INT, BaseType.FLOAT, BaseType.ENUM):
        arguments.append(literal(kind.scalar))
    if kind.base in (BaseType.STR, BaseType.BYTES):
        arguments.append(str(kind.size))
    if kind.shape:
        arguments.append(literal(kind.shape))
    return call(f"subject.{KINDS[kind.base]}", arguments, 8, ",").strip(" ,")


def _names(head: str, groups: Mapping[str, list[str]]) -> str:
    """Return a dict of tuples of names as black lays it out, behind four spaces."""
    items = {f'"{name}": ': [*map(literal, some)] for name, some in groups.items()}
    line = f"{head}{{{', '.join(collection(name, some, 0) for name, some in items.items())}}}"
    if len(line) + 5 <= WIDTH:
        return line
    lines = (collection(name, some, 8, ",") for name, some in items.items())
    return "\n".join([f"{head}{{", *lines, "    }"])


def _column(column: Column) -> str:
    shape = [literal(column.shape)] if column.shape else []
    tags = [] if column.tags == ("hot",) else [f"tags={literal(column.tags)}"]
    number = SCALARS.get(column.scalar)
    dtype = number.numpy.removeprefix("np.").rstrip("_") if number else column.scalar
    arguments = [literal(column.name), literal(dtype), *shape, *tags]
    return call("subject.Column", arguments, 8, ",").strip(" ,")


def _default(field: Field, is_read: bool = False) -> str:
    """Return a field's default as users write it, or as it reads back."""
    kind, value = field.type, field.default
    if kind.base is BaseType.ENUM:
        return nested(value, lambda number: f"enums.{kind.target}({number})")
    if kind.base is BaseType.BYTES and isinstance(value, bytes) and not is_read:
        return literal(value.rstrip(b"\0"))
    if kind.scalar == "f32" and is_read:
        return nested(value, lambda number: literal(as_f32(number)))
    return literal(value)


PARENT = ".."
"""Where the tests find the package when they are inside of it."""
_CASES = re.compile(r"^class (\w+)Cases\(", re.MULTILINE)


class PolicyTests(NamedTuple):
    """The classes of one policy."""

    module: str
    name: str
    """What its `Cases` and `Rules` begin with."""
    weight: int
    """How many pieces its own builds on."""
    has_rules: bool

    @property
    def cases(self) -> str:
        """The class of direct cases, as tests name it."""
        return f"{self.module}.{self.name}Cases"

    @property
    def rules(self) -> str:
        """The class of rules of a state machine, as tests name it."""
        return f"{self.module}.{self.name}Rules"


def camel(name: str) -> str:
    """Return what the classes of a policy begin with."""
    return "".join(word.capitalize() for word in name.split("_"))


@cache
def find_policy_tests() -> Mapping[str, PolicyTests]:
    """Return all pieces by what their classes begin with: `Packed`."""
    found = {}
    for path, text in library().items():
        for name in _CASES.findall(text) if path.startswith(TESTING) else ():
            weight = sum(base.endswith("Cases") for base in ancestors()[f"{name}Cases"])
            module = path.removeprefix(TESTING).removesuffix(".py")
            found[name] = PolicyTests(module, name, weight, f"{name}Rules" in ancestors())
    return found


def import_lines(modules: Iterable[str]) -> str:
    """Return the import of modules of pieces by a test, as isort and black lay it out."""
    return import_line(f"{LIBRARY}.testing", sorted({*modules}))
