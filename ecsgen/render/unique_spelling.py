"""How unique fields are spelled: their columns are read-only, and writes go past their index."""

from __future__ import annotations

from ecsgen.model.columns import Column
from ecsgen.policies.unique import KEY
from ecsgen.render.calls import call, signature
from ecsgen.render.quoting import literal
from ecsgen.render.spelling import Spelling


class UniqueSpelling(Spelling):
    """A column of which no two rows have the same value."""

    __slots__ = ()
    is_unique = True
    query_column = "UniqueQueryColumn"

    def view(self, holder: str, bound: str) -> str:
        return f"read_only({super().view(holder, bound)})"

    def assign_lines(self, holder: str, bound: str, cells: str, indent: int) -> str:
        return call(f"{holder}._assign_values", [literal(self.name), bound, cells], indent)

    @property
    def _writing(self) -> str:
        return "unique"

    @property
    def assigned_lines(self) -> str:
        cells = f"{self.constant}.many(values, self._n)"
        return self.assign_lines("self", "self._n", cells, 12)

    @property
    def set_lines(self) -> str:
        return call("self._set_value", [literal(self.name), "row", "_value"], 8)

    @property
    def find_line(self) -> str:
        """The line that begins the search for a value."""
        parameters = ["self", f"value: {self.write_type}", "/"]
        return signature(f"find_{self.name}", parameters, "Instance", 0)


def spelled(column: Column, component: str, before: int) -> Spelling:
    """Return a column of the rows' buffer as templates need it."""
    is_unique = column.field is not None and KEY.value(column.field)
    return (UniqueSpelling if is_unique else Spelling)(column, component, before)
