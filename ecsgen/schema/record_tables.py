"""Tables that the world records: their names, their rows, and the values of columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.scope import value_over
from ecsgen.model import REDUCTION_FUNCTIONS, Field, Mark, RecordedField, Reduction, Table
from ecsgen.model.schedules import TICK
from ecsgen.model.typed_program import ReductionProgram
from ecsgen.schema.declarations import Declaration, NameRegistry
from ecsgen.schema.document_specs import RecordColumnSpec, RecordRowsSpec, WorldSpec
from ecsgen.schema.kernel_declarations import declare_reduction
from ecsgen.schema.kernel_typing import WorldScopes
from ecsgen.schema.names import COLUMN_NAMES, DEVICES, check_member

_TAKEN: Final = {
    **dict.fromkeys(("open", "flush", "close"), "a method of `records`"),
    TICK: "an entry of schedules",
}


def check_table_names(draft: Declaration[WorldSpec]) -> None:
    """Report E101, E102 and E103 at names of tables and of their columns."""
    claims = NameRegistry(draft.diagnostics)
    for name in draft.spec.kernels:
        claims.register(name, "the kernel of the world", draft.key_mark("kernels", name))
    for name, table in draft.spec.records.items():
        mark = draft.key_mark("records", name)
        if name in _TAKEN:
            message = f"the name {quote(name)} of a table is taken: it is {_TAKEN[name]}"
            draft.report("E103", message, mark, hint=f"did you mean {quote(f'{name}_')}?")
        elif check_member(name, "a table", mark, draft.diagnostics, taken=DEVICES, lower=True):
            claims.register(name, "a table", mark)
        for column in table if isinstance(table, dict) else ():
            mark = draft.key_mark("records", name, column)
            check_member(column, "a column", mark, draft.diagnostics, taken=COLUMN_NAMES)


@dataclass(frozen=True, slots=True)
class TableBuilder:
    """Builder of the world's tables; reports E520, and E102 for names of columns."""

    draft: Declaration[WorldSpec]
    names: WorldScopes

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, with their valid columns."""
        return tuple(
            self._of_columns(name, spec) if isinstance(spec, dict) else self._of_rows(name, spec)
            for name, spec in self.draft.spec.records.items()
        )

    def _report(self, message: str, mark: Mark, hint: str = "") -> None:
        self.draft.report("E520", message, mark, hint=hint)

    def _of_columns(self, table: str, spec: dict[str, RecordColumnSpec]) -> Table:
        written = (self._written(table, name, column) for name, column in spec.items())
        over = (self._with_over(column) for column in written if column is not None)
        typed = (self._typed(column) for column in over if column is not None)
        columns = tuple(column for column in typed if column is not None)
        return Table(table, columns, marks={"": self.draft.key_mark("records", table)})

    def _written(self, table: str, name: str, spec: RecordColumnSpec) -> Reduction | None:
        """Return the column as written; None without exactly one reduction function."""
        path = ("records", table, name)
        keys = self.draft.key_marks(*path)
        functions = [function for function in REDUCTION_FUNCTIONS if function in keys]
        if len(functions) != 1:
            message = f"the column {quote(name)} needs one of {', '.join(REDUCTION_FUNCTIONS)}"
            if functions:
                both = " and ".join(map(quote, functions[:2]))
                message = f"the column {quote(name)} has {both}: make two columns of it"
            if functions or not self.draft.is_incomplete(*path):
                self._report(message, self.draft.key_mark(*path))
            return None
        return declare_reduction(self.draft, name, functions[0], spec, path)

    def _with_over(self, column: Reduction) -> Reduction | None:
        """Return the column with the source of its rows; None without a valid one."""
        mark = column.marks["expression"]
        texts = [SourceText(column.expression, mark)]
        texts += [SourceText(column.where, column.marks["where"])] if column.where else []
        nodes = []
        for text in texts:
            try:
                nodes.append(text.expression())
            except KernelError as error:
                text.report(error, self.names.diagnostics.all_as("E520"))
                return None
        if isinstance(nodes[0], ast.Name) and column.function == "count":
            name = nodes[0].id
            if name in self._sources and column.over in ("", name):
                column = replace(column, expression="true", over=name)
        over, mark = column.over, column.marks.get("over", mark)
        if not over:
            over = self._only_one(column, [name for node in nodes for name in _rows_named(node)])
        return replace(column, over=over) if over and self._has_rows(over, mark) else None

    def _only_one(self, column: Reduction, named: list[str]) -> str:
        """Return the component that a column names; reports E520 for none or several."""
        components = self.names.components
        only = [*dict.fromkeys(name for name in named if name in components)]
        if len(only) == 1:
            return only[0]
        what = " and ".join(map(quote, only[:2])) or "no component"
        hints = [hint for name in named if (hint := did_you_mean(name, components))]
        hint = "name its rows by `over:`" if only or not hints else hints[0]
        message = f"the column {quote(column.name)} names {what}"
        self._report(message, column.marks["expression"], hint)
        return ""

    @property
    def _sources(self) -> list[str]:
        """The names of components, groups and queries, with errors or without."""
        world = self.names.world
        groups = (name for name, _ in world.groups)
        return [*self.names.components, *groups, *(query.name for query in world.queries)]

    def _has_rows(self, name: str, mark: Mark) -> bool:
        """Return True if a source has rows of its own; reports E520 unless it has an error."""
        if name in self.names.world.archetypes:
            message = f"{quote(name)} lives in archetypes: there are no rows of it alone"
            self._report(message, mark, f"take a query, as in `all: [{name}]`")
            return False
        may_be_there = self.draft.is_incomplete("groups") or self.draft.is_incomplete("queries")
        if name not in self._sources and not may_be_there:
            message = f"unknown component, group or query {quote(name)}"
            self._report(message, mark, did_you_mean(name, self._sources))
        return name in self.names.sources

    def _typed(self, column: Reduction) -> Reduction | None:
        program = self.names.type_column(column)
        if program is None:
            return None
        type_ = program.value.type
        if type_.shape:
            message = f"the column {quote(column.name)} takes numbers without shape, not {type_}"
            self._report(message, column.marks["expression"], "take an element of it, or `norm`")
            return None
        return replace(column, program=program)

    def _of_rows(self, name: str, spec: RecordRowsSpec) -> Table:
        path = ("records", name)
        marks = {"": self.draft.key_mark(*path)}
        table = Table(name, rows=spec.rows, where=spec.where, marks=marks)
        mark = self.draft.value_mark(*path, "rows")
        if not self._has_rows(spec.rows, mark):
            return table
        fields: list[RecordedField] = []
        for index, text in enumerate(spec.fields):
            field_mark = self.draft.value_mark(*path, "fields", index)
            field = self._field(spec.rows, text, field_mark)
            if field is None:
                continue
            if field.name in [recorded.name for recorded in fields]:
                self._report(f"two columns would be called {quote(field.name)}", field_mark)
            fields.append(field)
            marks[f"fields.{field.name}"] = field_mark
        program: ReductionProgram | None = None
        if spec.where:
            marks["where"] = self.draft.value_mark(*path, "where")
            all_marks = {**marks, "expression": mark}
            written = Reduction(name, "count", "true", spec.where, over=spec.rows, marks=all_marks)
            typed = self._typed(written)
            program = None if typed is None else typed.program
        return replace(table, fields=tuple(fields), program=program or ReductionProgram())

    def _field(self, over: str, text: str, mark: Mark) -> RecordedField | None:
        names = self.names.world.members_of(over)
        members = {n: self.names.components[n] for n in names if n in self.names.components}
        owner, dot, name = text.rpartition(".")
        if not dot and over in members:
            owner = over
        if owner not in members:
            message = f"{quote(text)} is no field of the rows of {quote(over)}"
            holders = [o for o, c in members.items() if name in [v.name for v in c.readable]]
            hint = f"name its component, as in {holders[0]}.{name}" if holders and not dot else ""
            self._report(message, mark, hint or did_you_mean(owner, members))
            return None
        component, refused = members[owner], self.names.invalid_names.get(owner)
        field = next((value for value in component.readable if value.name == name), None)
        if field is None:
            if refused is None or not (refused.may_have_more or name in refused.names):
                hint = did_you_mean(name, [value.name for value in component.readable])
                self._report(f"{owner} has no field {quote(name)}", mark, hint)
            return None
        if not check_member(name, "a column", mark, self.draft.diagnostics, taken=COLUMN_NAMES):
            return None
        value = value_over(field, owner)
        if value is None or value.type.shape:
            shown = field.type.text if isinstance(field, Field) else field.value.type
            what = "columns are numbers, bools, enums or handles without shape"
            self._report(f"{quote(text)} is of type {shown}: {what}", mark)
            return None
        if field in component.indirect_fields:
            self._report(f"{quote(text)} is in the second, cold buffer: not every row has it", mark)
            return None
        return RecordedField(owner, name, value)


def _rows_named(node: ast.expr) -> Iterator[str]:
    """Yield the names in an expression, without those of the components of reductions."""
    match node:
        case ast.Call(ast.Attribute(ast.Name())):
            return
        case ast.Name(id=name):
            yield name
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield from _rows_named(part)
