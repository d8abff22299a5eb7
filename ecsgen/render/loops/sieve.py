"""Which rows pass `where`, found for all of them at once before a loop in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from ecsgen.kernels.statements import LoweredKernel
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, SCALARS
from ecsgen.render.blocks.array_values import ArrayValue, Constants, ElementOrder, Views
from ecsgen.render.blocks.block_expressions import BlockEmitter
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.kernel_methods.row_sources import RowSource

_SEEN = tree.Constant | tree.Cast | tree.Operation | tree.Element | tree.Tick
"""What blocks of rows compute of a row's own fields and arguments alone."""


class Sieve:
    """The parts of a kernel's condition that no turn of another row can change: the loop over the
    rows that pass them is left with the `rest`."""

    def __init__(self, form: LoweredKernel, source: RowSource) -> None:
        self._source, self._program = source, form.program
        parts = [] if form.where is None or form.program.runs_by_level else _parts_of(form.where)
        self._sifted = [one for one in parts if all(map(self._is_fixed, tree.walk(one)))]
        left = [one for one in parts if one not in self._sifted]
        self.rest = replace(form, where=_all_of(left) if left else None) if parts else form
        self.constants = Constants()

    def __bool__(self) -> bool:
        """Whether it leaves out rows."""
        return bool(self._sifted)

    def _is_fixed(self, node: tree.Expression) -> bool:
        """Whether a row finds the same there in its turn as before the first one."""
        match node:
            case tree.FieldValue(name=name, owner=owner):
                is_column = name not in (tree.ENTITY, tree.ID_SLOT, tree.CELL_ID)
                return is_column and owner != tree.PARENT and not self._may_change(node)
            case tree.Argument(type=type_, each=each):
                return not (each or type_.shape)
        return isinstance(node, _SEEN)

    def _may_change(self, field: tree.FieldValue) -> bool:
        """Whether the turn of another row may change what a row has in a field: they write to
        fields of their own, and send to those of others."""
        name = field.owner or self._source.managers.home
        return self._program.takes_turns and f"{name}.{field.name}" in self._program.effects.sends

    def lines(self, arguments: Sequence[ArgumentCode], takes_rows: bool) -> list[str]:
        """The statements of the method that let `_order` be the rows that pass; `takes_rows`: of
        those that a call may name. In arrays of all of them: O(n), a few bytes per row."""
        source, dtypes = self._source, ((one, SCALARS[one.type.scalar].numpy) for one in arguments)
        typed = {one.name: f"{dtype}({one.text})" for one, dtype in dtypes}
        views = Views(source.components, source.managers, {one.text for one in arguments})
        emit = BlockEmitter(views.value, typed, self.constants, 12)
        where = ArrayValue("_where", "bool", (), ElementOrder.ROWS)
        passed = emit.value(_all_of(self._sifted), where)
        if passed.text != where.text:
            emit.write(f"{where.text}[...] = {passed.text}")
        count = f"{source.count} if _chosen is None else len(_chosen.rows)"
        made = [f"_where = np.empty({count if takes_rows else source.count}, np.bool_)"]
        for slot in emit.working.slots:
            shape = ", ".join(map(str, (*slot.shape, "len(_where)")))
            made.append(f"{slot.text} = np.empty(({shape},), {SCALARS[slot.scalar].numpy})")
        for field, value in views.seen.items():
            rows = source.cell_selection(field.owner)[1:-1]
            if takes_rows:
                rows = f"slice({source.count}) if _chosen is None else _chosen.rows"
            made.append(f"{value.text} = {views.column(field, is_kept=False)}[..., {rows}]")
        ticks = any(isinstance(one, tree.Tick) for one in tree.walk(*self._sifted))
        lines = "\n".join(" " * 12 + line for line in emit.before).split("\n") + emit.lines
        return [
            *(["_now = np.int64(self.tick)"] if ticks else []),
            *made,
            'with np.errstate(all="ignore"):',
            *(line[8:] for text in lines if text.strip() for line in text.split("\n")),
            f"_order = passing_rows(_where{', _chosen' if takes_rows else ''})",
        ]


def _parts_of(node: tree.Expression) -> list[tree.Expression]:
    """The conditions that all must hold for one to hold."""
    match node:
        case tree.Operation(name="and", operands=(left, right)):
            return [*_parts_of(left), *_parts_of(right)]
    return [node]


def _all_of(parts: Sequence[tree.Expression]) -> tree.Expression:
    return reduce(lambda left, right: tree.Operation(BOOL, "and", (left, right)), parts)
