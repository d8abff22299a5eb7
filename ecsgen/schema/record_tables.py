"""Tables that the world records: their names, whose rows they look at, the values of columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.syntax import KernelError, Text
from ecsgen.model import HOWS, Base, Component, Mark, RecordedField, Reduction, Table, World
from ecsgen.model.programs import Folding
from ecsgen.model.schedules import TICK
from ecsgen.schema.drafts import Claims, Draft
from ecsgen.schema.kernel_programs import Refused, folded, folding_scope
from ecsgen.schema.language.world_keys import RecordColumnSpec, RecordRowsSpec, WorldSpec
from ecsgen.schema.names import COLUMN_NAMES, DEVICES, check_member
from ecsgen.schema.type_text import Known

_TAKEN: Final = {
    **dict.fromkeys(("open", "flush", "close"), "a method of `records`"),
    TICK: "an entry of schedules",
}
_RECORDED: Final = (Base.BOOL, Base.INT, Base.FLOAT, Base.ENUM, Base.ENTITY, Base.ID)


def check_table_names(draft: Draft[WorldSpec], diagnostics: Diagnostics) -> None:
    """Report E101, E102 and E103 at names of tables and of their columns."""
    claims = Claims(diagnostics)
    for name in draft.spec.kernels:
        claims.claim(name, "the kernel of the world", draft.key("kernels", name))
    for name, table in draft.spec.records.items():
        mark = draft.key("records", name)
        if name in _TAKEN:
            message = f"the name {quote(name)} of a table is taken: it is {_TAKEN[name]}"
            hint = f"did you mean {quote(f'{name}_')}?"
            diagnostics.add("E103", message, mark, hint=hint)
        elif check_member(name, "a table", mark, diagnostics, taken=DEVICES, lower=True):
            claims.claim(name, "a table", mark)
        for column in table if isinstance(table, dict) else ():
            mark = draft.key("records", name, column)
            check_member(column, "a column", mark, diagnostics, taken=COLUMN_NAMES)


@dataclass(frozen=True, slots=True)
class TableBuilder:
    """Makes tables of what is written; reports E520, and E102 for names of columns."""

    draft: Draft[WorldSpec]
    world: World
    sources: frozenset[str]
    """The components, groups and queries that were read without a mistake."""
    components: Mapping[str, Component]
    refused: Mapping[str, Refused]
    known: Known
    diagnostics: Diagnostics

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those that are right, at least in part."""
        return tuple(
            (
                self._of_rows(name, spec)
                if isinstance(spec, RecordRowsSpec)
                else Table(
                    name,
                    tuple(self._columns(name, spec)),
                    marks={"": self.draft.key("records", name)},
                )
            )
            for name, spec in self.draft.spec.records.items()
        )

    def _columns(self, table: str, spec: dict[str, RecordColumnSpec]) -> Iterator[Reduction]:
        for name, column in spec.items():
            written = self._written(table, name, column)
            made = None if written is None else self._judged(written)
            if made is not None:
                yield made

    def _report(self, message: str, mark: Mark, hint: str = "") -> None:
        self.diagnostics.add("E520", message, mark, hint=hint)

    # --- columns of reductions -------------------------------------------------------------------

    def _written(self, table: str, name: str, spec: RecordColumnSpec) -> Reduction | None:
        """The column as written; None without exactly one way to make a value of all."""
        path = ("records", table, name)
        node = self.draft.node.at(*path)
        assert node is not None
        given = [how for how in HOWS if how in node.keys]
        if len(given) != 1:
            message = f"the column {quote(name)} needs one of {', '.join(HOWS)}"
            if given:
                both = " and ".join(map(quote, given[:2]))
                message = f"the column {quote(name)} has {both}: make two columns of it"
            if given or node.complete:
                self._report(message, self.draft.key(*path))
            return None
        marks = {"": self.draft.key(*path), "expression": self.draft.value(*path, given[0])}
        for key in ("where", "over"):
            if getattr(spec, key):
                marks[key] = self.draft.value(*path, key)
        text = getattr(spec, given[0])
        return Reduction(name, given[0], text, spec.where, over=spec.over, marks=marks)

    def _judged(self, column: Reduction) -> Reduction | None:
        """The column with its program; None where that can't be told."""
        texts = [Text(column.expression, column.marks["expression"])]
        texts += [Text(column.where, column.marks["where"])] if column.where else []
        named: dict[str, None] = {}
        whole = ""
        for text in texts:
            try:
                node = text.expression()
            except KernelError as error:
                text.report(error, self.diagnostics.all_as("E520"))
                return None
            if text is texts[0] and column.how == "count" and isinstance(node, ast.Name):
                whole = node.id if node.id in self._sources else ""
            named |= dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        if not self._find_over(column, whole, [*named]):
            return None
        over = column.over or whole or next(name for name in named if name in self.components)
        if over not in self.sources:
            return None  # in error before
        column = replace(column, over=over)
        if whole == over:
            column = replace(column, expression="true")
        return self._typed(column)

    def _find_over(self, column: Reduction, whole: str, named: list[str]) -> bool:
        """Whether it says whose rows it is of; reports E520 if not."""
        mark = column.marks["expression"]
        if column.over:
            return self._check_source(column.over, column.marks["over"])
        if whole:
            return self._check_source(whole, mark)
        found = [name for name in named if name in self.components]
        if len(found) == 1:
            return self._check_source(found[0], mark)
        message = f"the column {quote(column.name)} names no component"
        if found:
            several = " and ".join(map(quote, found[:2]))
            message = f"the column {quote(column.name)} names {several}"
        hints = [hint for name in named if (hint := did_you_mean(name, self.components))]
        hint = "" if found or not hints else hints[0]
        self._report(message, mark, hint or "say whose rows it is of: `over:`")
        return False

    @property
    def _sources(self) -> list[str]:
        """All that has rows by name, in error or not."""
        groups = (name for name, _ in self.world.groups)
        return [*self.components, *groups, *(query.name for query in self.world.queries)]

    def _check_source(self, name: str, mark: Mark) -> bool:
        """Whether something has rows of its own; reports E520 if not."""
        if name in self.world.archetypes:
            message = f"{quote(name)} lives in archetypes: there are no rows of it alone"
            self._report(message, mark, f"take a query, as in `all: [{name}]`")
            return False
        if name not in self._sources:
            nodes = [self.draft.node.at(key) for key in ("groups", "queries")]
            if all(node is None or node.complete for node in nodes):
                message = f"unknown component, group or query {quote(name)}"
                self._report(message, mark, did_you_mean(name, self._sources))
            return False
        return True

    def _typed(self, column: Reduction) -> Reduction | None:
        scope, reach = folding_scope(
            self.world, column.over, self.components, self.refused, self.known
        )
        program = folded(column, scope, reach, self.diagnostics.all_as("E520"))
        if program is None:
            return None
        type_ = program.value.type
        if type_.shape:
            message = f"the column {quote(column.name)} takes numbers without shape, not {type_}"
            self._report(message, column.marks["expression"], "take an element of it, or `norm`")
            return None
        return replace(column, program=program)

    # --- a line for each row ---------------------------------------------------------------------

    def _of_rows(self, name: str, spec: RecordRowsSpec) -> Table:
        path = ("records", name)
        marks = {"": self.draft.key(*path)}
        table = Table(name, rows=spec.rows, marks=marks)
        mark = self.draft.value(*path, "rows")
        if not self._check_source(spec.rows, mark) or spec.rows not in self.sources:
            return table
        fields = [
            self._field(spec.rows, text, self.draft.value(*path, "fields", place))
            for place, text in enumerate(spec.fields)
        ]
        self._check_different(name, fields)
        program: Folding | None = Folding()
        if spec.where:
            marks = {**marks, "expression": mark, "where": self.draft.value(*path, "where")}
            written = Reduction(name, "count", "true", spec.where, over=spec.rows, marks=marks)
            typed = self._typed(written)
            program = None if typed is None else typed.program
        found = tuple(one for one in fields if one is not None)
        return replace(table, fields=found, program=program or Folding())

    def _check_different(self, table: str, fields: list[RecordedField | None]) -> None:
        names = ["" if one is None else one.name for one in fields]
        for place, name in enumerate(names):
            if name and name in names[:place]:
                mark = self.draft.value("records", table, "fields", place)
                self._report(f"two columns would be called {quote(name)}", mark)

    def _field(self, over: str, text: str, mark: Mark) -> RecordedField | None:
        """A field of these rows without shape, as a column has it."""
        members = {
            name: self.components[name]
            for name in self.world.members_of(over)
            if name in self.components
        }
        owner, dot, name = text.rpartition(".")
        if not dot and over in members:
            owner = over
        if owner not in members:
            message = f"{quote(text)} is no field of the rows of {quote(over)}"
            holders = [one for one, c in members.items() if any(f.name == name for f in c.fields)]
            hint = f"name its component, as in {holders[0]}.{name}" if holders and not dot else ""
            self._report(message, mark, hint or did_you_mean(owner, members))
            return None
        component, refused = members[owner], self.refused.get(owner)
        field = next((one for one in component.fields if one.name == name), None)
        if field is None:
            if refused is None or not (refused.more or name in refused.names):
                hint = did_you_mean(name, [one.name for one in component.fields])
                self._report(f"{owner} has no field {quote(name)}", mark, hint)
            return None
        if not check_member(name, "a column", mark, self.diagnostics, taken=COLUMN_NAMES):
            return None
        if field.type.base not in _RECORDED or field.type.shape:
            message = (
                f"{quote(text)} is of type {field.type.text}: columns are numbers, bools, enums "
            )
            self._report(f"{message}or handles without shape", mark)
            return None
        if field in component.apart:
            self._report(f"{quote(text)} is in the second, cold buffer: not every row has it", mark)
            return None
        return RecordedField(owner, name, field.type)
