"""Code of a component in its tests: fields, columns, policies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import permutations
from types import MappingProxyType
from typing import Any

from ecsgen.model import BaseType, Field
from ecsgen.model.columns import Column, field_columns
from ecsgen.model.types import SCALARS
from ecsgen.policies.index import KEY as INDEX_KEY
from ecsgen.render.column_code import KINDS, storage_arguments, time_literal
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.text.formatting import call, collection
from ecsgen.render.text.library_imports import SUPPORT, TESTING, ancestors, read_support
from ecsgen.render.text.quoting import WIDTH, as_f32, literal, nested


class ComponentTests:
    """Code of a component, for the template of its tests."""

    def __init__(
        self,
        code: ComponentCode,
        package: str,
        policies: frozenset[str] = frozenset(),
        schema: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`policies`: those whose tests it has; `schema`: the reference interpreter's, if it
        computes."""
        self.code = code
        self.schema = schema
        self.component = code.component
        self.package = package
        self.cases = policy_classes(policies, "Cases")
        """Classes of direct cases."""
        self.rules = policy_classes(policies, "Rules")
        """Classes of rules of a state machine."""
        self.handle = "entity" if code.is_owned else "id"
        """Variable with the instance's entity or id."""
        name, grid = code.name, self.component.grid_component
        # pytest collects classes with names like Test…
        self.row = f"_{name}" if name.startswith("Test") else name
        """Name of the row class in tests; the manager's and the grid's follow."""
        self.manager = f"{self.row}Manager"
        self.grid = "" if grid is None else f"_{grid.name}Manager"

    @property
    def modules(self) -> dict[str, str]:
        """Modules of names that tests import of the package: the row class and managers."""
        names = {self.code.name: self.component, self.code.manager: self.component}
        if grid := self.component.grid_component:
            names[f"{grid.name}Manager"] = grid
        dot = "" if self.package.endswith(".") else "."
        return {name: f"{self.package}{dot}{owner.module}" for name, owner in names.items()}

    @property
    def imported_as(self) -> dict[str, str]:
        """Names that tests have for these, where not those of the package."""
        names = {self.code.name: self.row, self.code.manager: self.manager}
        names |= {self.grid.removeprefix("_"): self.grid} if self.grid else {}
        return {name: here for name, here in names.items() if name != here}

    @property
    def _guarded(self) -> dict[str, list[Field]]:
        """Fields that only cases of their policies know, by the policies' keys."""
        fields_by_key: dict[str, list[Field]] = {}
        for field in self.component.fields:
            for key, _ in field.options if not INDEX_KEY.value(field) else ():
                fields_by_key.setdefault(key, []).append(field)
        return fields_by_key

    @property
    def fields(self) -> str:
        """Fields without policies, as an argument of the subject."""
        known = [f for fields in self._guarded.values() for f in fields]
        fields = self.component.fields
        plain = [_field(f) for f in fields if f not in known and _is_plain(f)]
        return collection("fields=", plain, 4) + ","

    @property
    def columns(self) -> str:
        """Columns of the buffer, in order, as an argument of the subject."""
        return collection("columns=", [_column(s.column) for s in self.code.stored], 4) + ","

    @property
    def tagged(self) -> str:
        """Tags with the columns that have them, as an argument of the subject."""
        groups = {tag: [s.name for s in columns] for tag, columns in self.code.tagged().items()}
        return f"    {_names('tagged=', groups)},"

    @property
    def storage(self) -> list[str]:
        """Arguments of the subject for fields and rows with special storage."""
        component, fields, guarded = self.component, self.component.fields, self._guarded
        rows = {code.name for code in self.code.row_fields}
        split = {f.name: [c.name for c in field_columns(f)] for f in fields if f.split}
        cold = self.code.cold.stored if self.code.cold else []
        known = [f for members in guarded.values() for f in members]
        known += [f for f in fields if _is_plain(f) or f.is_cell_reference]
        on_delete = (
            f"{literal(k)}: {literal(effect)}" for k, effect in component.on_delete.items()
        )
        arguments: dict[str, list[str] | str | int] = {
            "indirect": [literal(f.name) for f in fields if f.name not in rows],
            "cold_columns": [_column(code.column) for code in cold],
            "indexed": [literal(f.name) for f in fields if INDEX_KEY.value(f) and _is_plain(f)],
            **{key: [*map(_field, members)] for key, members in guarded.items()},
            "places": [_field(f) for f in fields if f.is_cell_reference] if self.grid else [],
            "grid": self.grid,
            "apart": [_field(f) for f in fields if f not in known],
            "on_delete": f"{{{', '.join(on_delete)}}}" if component.on_delete else "",
            "knows_entities": component.knows_entities,
            "reserve": component.reserve,
            "max_rows": component.max_rows,
            "starts_active": "False" if component.partition == "inactive" else "",
        }
        lines = [_names("split=", split)] if split else []
        for key, value in arguments.items():
            if value and isinstance(value, list):
                lines.append(collection(f"{key}=", value, 4).lstrip())
            elif value:
                lines.append(f"{key}={value}")
        return lines

    @property
    def arguments(self) -> str:
        """Arguments with which a manager of rows without owners is made."""
        parts = ["EntityManager()"] if self.component.knows_entities else []
        return ", ".join([*parts, *([f"{self.grid}()"] if self.grid else [])])

    @property
    def create(self) -> str:
        """Statement that creates a first row."""
        arguments = [f"{field.name}={_default(field)}" for field in self.component.fields]
        if not self.code.is_owned:
            return call("id = manager.create", arguments, 4)
        return call("row = manager.create", ["entity", *arguments], 4)

    @property
    def accessors(self) -> list[str]:
        """Statements that write and read each field."""
        lines = []
        for field in self.component.fields:
            lines.append(call(f"manager.set_{field.name}", ["row", _default(field)], 4))
            arguments = [f"manager.{field.name}(row)", _default(field, is_read=True)]
            lines.append(call("assert subject.same", arguments, 4))
        return lines


def _is_plain(field: Field) -> bool:
    """Return True if tests of any policy may give a field any value."""
    return not (field.is_cell_reference or field.is_end) and field.on_delete == "keep"


def _field(field: Field) -> str:
    kind = field.type
    arguments = [literal(field.name), _default(field)]
    if kind.base is BaseType.ENUM:
        arguments.append(f"enums.{kind.target}")
    arguments += storage_arguments(kind)
    return call(f"subject.{KINDS[kind.base]}", arguments, 8, ",").strip(" ,")


def _names(head: str, groups: Mapping[str, list[str]]) -> str:
    """Return a dict of tuples of names as black lays it out, after four spaces."""
    items = {f'"{name}": ': [*map(literal, members)] for name, members in groups.items()}
    line = f"{head}{{{', '.join(collection(name, members, 0) for name, members in items.items())}}}"
    if len(line) + 5 <= WIDTH:
        return line
    lines = (collection(name, members, 8, ",") for name, members in items.items())
    return "\n".join([f"{head}{{", *lines, "    }"])


def _column(column: Column) -> str:
    shape = [literal(column.shape)] if column.shape else []
    tags = [] if column.tags == ("hot",) else [f"tags={literal(column.tags)}"]
    number = SCALARS.get(column.scalar)
    dtype = number.numpy.removeprefix("np.").rstrip("_") if number else column.scalar
    arguments = [literal(column.name), literal(dtype), *shape, *tags]
    return call("subject.Column", arguments, 8, ",").strip(" ,")


def _default(field: Field, is_read: bool = False) -> str:
    kind, value = field.type, field.default
    if kind.base is BaseType.ENUM:
        return nested(value, lambda number: f"enums.{kind.target}({number})")
    if kind.base is BaseType.BYTES and isinstance(value, bytes) and not is_read:
        return literal(value.rstrip(b"\0"))
    if kind.is_time:
        return time_literal(kind, value)
    if kind.scalar == "f32" and is_read:
        return nested(value, lambda number: literal(as_f32(number)))
    return literal(value)


_CLASSES = re.compile(r"^class (\w+(?:Cases|Rules))\(", re.MULTILINE)


@cache
def _modules() -> Mapping[str, str]:
    """Return the module of each class of cases or of rules of a state machine."""
    return {
        name: path.removeprefix(f"{SUPPORT}/").removesuffix(".py")
        for path, text in read_support().items()
        for name in _CLASSES.findall(text)
    }


@cache
def policy_classes(policies: frozenset[str], kind: str) -> tuple[str, ...]:
    """Return the classes of policies' tests, `Cases` or `Rules`, each before those that it builds
    on; `OneOther` has what holds for a component with both policies."""
    names = {camel(name) for name in policies}
    names |= {f"{first}{second}" for first, second in permutations(names, 2)}
    classes = {f"{name}{kind}" for name in names} & _modules().keys()

    def order(name: str) -> tuple[int, str]:
        return -sum(base.endswith(kind) for base in ancestors()[name]), name

    return tuple(f"{_modules()[name]}.{name}" for name in sorted(classes, key=order))


def camel(name: str) -> str:
    """Return the prefix of the classes of a policy: `flat_map` → `FlatMap`."""
    return "".join(word.capitalize() for word in name.split("_"))


def imported_by_tests(package: str) -> dict[str, str]:
    """Return modules of the names that all tests of a package may import."""
    cases = (path.removeprefix(f"{SUPPORT}/").removesuffix(".py") for path in read_support())
    return {
        **dict.fromkeys((name for name in cases if "/" not in name), TESTING),
        **dict.fromkeys(("example", "given"), "hypothesis"),
        **dict.fromkeys(
            ("EntityManager", "StaleInstanceError", "World", "archetypes", "enums"), package
        ),
    }
