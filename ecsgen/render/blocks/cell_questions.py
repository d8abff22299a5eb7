"""Questions of cells to the cells around them. What is about the neighbour alone is one column,
made before the loop over blocks; what is about the offset picks offsets. Where they meet, or the
row's own values have a part, a block's answers are worked out one offset after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, SCALARS
from ecsgen.render.blocks.array_values import ArrayValue, ElementOrder, Kind, ScratchPool, kind_of
from ecsgen.render.blocks.block_expressions import BlockEmitter, as_typed, without_cast

_SHARED: Final = (tree.Constant, tree.Cast, tree.Operation, tree.Element)
"""Nodes that are about whatever their operands are about."""
_FOLDS: Final = {"sum": "add", "mean": "add", "min": "minimum", "max": "maximum"}
"""The ufunc by which values of one offset are added to those of the offsets before."""
_WAYS: Final = (tree.Offset, tree.Distance)


def conjuncts_of(node: tree.Expression | None) -> list[tree.Expression]:
    """Return the conditions that must all hold for one to hold; none of None."""
    match node:
        case None:
            return []
        case tree.Operation(name="and", operands=(left, right)):
            return [*conjuncts_of(left), *conjuncts_of(right)]
    return [node]


def all_of(conditions: Sequence[tree.Expression]) -> tree.Expression:
    """Return the condition that some conditions hold."""
    return reduce(lambda left, right: tree.Operation(BOOL, "and", (left, right)), conditions)


def conditions_of(aggregate: tree.NeighbourAggregate) -> list[tree.Expression]:
    """Return the conditions on a neighbour that counts; a count's own is one of them."""
    counted = aggregate.value if aggregate.function == "count" else None
    return [*conjuncts_of(aggregate.where), *conjuncts_of(counted)]


def is_of_cells_alone(aggregate: tree.NeighbourAggregate) -> bool:
    """Return True if each part of a question is about the neighbour alone, or the offset alone."""
    value = None if aggregate.function == "count" else aggregate.value
    is_column = value is None or (not value.type.shape and _is_about(value, tree.NeighbourField))
    return (
        is_column
        and aggregate.none is None
        and all(
            _is_about(part, tree.NeighbourField) or _is_about(part, *_WAYS)
            for part in conditions_of(aggregate)
        )
    )


def _is_extreme_of_floats(aggregate: tree.NeighbourAggregate) -> bool:
    return aggregate.function in ("min", "max") and aggregate.type.is_float


def _counts(aggregate: tree.NeighbourAggregate) -> bool:
    """Check whether the number of those who are asked has a part in the answer."""
    is_told = aggregate.function == "sum" or _is_extreme_of_floats(aggregate)
    return aggregate.none is not None or not is_told


def _is_about(node: tree.Expression, *kinds: type[tree.Expression]) -> bool:
    """Check that an expression reads what is of these kinds, and nothing else of rows."""
    nodes = [*tree.walk(node)]
    is_shared = all(
        isinstance(part, (*kinds, *_SHARED)) or (isinstance(part, tree.Argument) and not part.each)
        for part in nodes
    )
    return is_shared and any(isinstance(part, kinds) for part in nodes)


class _Columns(BlockEmitter):
    """Emitter of expressions of the neighbour, or of the offset, before the loop."""

    def __init__(self, row: BlockEmitter, leaf: Callable[[tree.Expression], str]) -> None:
        shared = row.view, row.arguments, row.constants, 0
        super().__init__(*shared, ScratchPool(f"_around{len(row.before)}_"), row.before)
        self._leaf = leaf

    def value(self, node: tree.Expression, target: ArrayValue | None = None) -> ArrayValue:
        """Write the statements that compute an expression, and return its value."""
        if isinstance(node, tree.NeighbourField | tree.Offset | tree.Distance):
            return ArrayValue(self._leaf(node), *kind_of(node.type))
        return super().value(node, target)

    def written(self, node: tree.Expression, size: str) -> str:
        """Return the text of an expression's value; its statements come before the loop. `size`:
        how many elements it has."""
        value = self.value(node)
        self.before += [*self.working.allocations(size), *self.lines]
        return as_typed(value)


class _LoopEmitter(BlockEmitter):
    """Emitter of expressions of each row and a cell around it, inside of a loop over offsets."""

    def __init__(self, row: BlockEmitter) -> None:
        shared = row.view, row.arguments, row.constants, row.indent + 4, row.working, row.before
        super().__init__(*shared, lines=row.lines, locals_=row.locals_)
        self.known: dict[str, ArrayValue] = {}
        """Values by the text of their expression: of each offset, and of the row, which stay."""

    def value(self, node: tree.Expression, target: ArrayValue | None = None) -> ArrayValue:
        """Write the statements that compute an expression, and return its value."""
        if (known := self.known.get(repr(node))) is not None:
            return known
        value = super().value(node, target)
        return value.held if isinstance(node, tree.Local) else value  # the next offset reads it too

    def layout(self, node: tree.Expression) -> ElementOrder:
        """Return the layout that the value of an expression will have."""
        known = self.known.get(repr(node))
        return super().layout(node) if known is None else known.layout

    def uniform(self, text: str, scalar: str, shape: tuple[int, ...] = ()) -> ArrayValue:
        """Compute a value of the offset."""
        name = f"_one{len(self.lines)}"
        self.write(f"{name} = {text}")
        return ArrayValue(name, scalar, shape, ElementOrder.UNIFORM)


class CellQuestions:
    """Questions about the cells around: for all cells at once, or for a block by offset."""

    def __init__(
        self,
        emit: BlockEmitter,
        column: Callable[[tree.NeighbourField], str],
        grid: str,
        stencil: str,
        picked: str,
    ) -> None:
        """`column`, `grid`, `stencil`: return, or are, the expression for a whole column, for the
        grid and for the stencil; `picked`: index of the rows that a call names."""
        self._emit, self._column, self._picked = emit, column, picked
        self._size = f"len({grid})"
        self._stencil, self._around = stencil, ""
        self._loop = _LoopEmitter(emit)
        self._sources: dict[str, str] = {}
        """Iterables of the loop over offsets, by the names of its variables."""
        self._kept: list[ArrayValue] = []
        """Values that the loop reads again for each offset."""

    def answer(self, aggregate: tree.NeighbourAggregate) -> ArrayValue:
        """Write the statements that compute the answers of a block, and return them."""
        if not is_of_cells_alone(aggregate):
            return self._answer_by_offset(aggregate)
        around, of_cells = self._pick_offsets(conditions_of(aggregate))
        arguments = [self._of_cells(all_of(of_cells))] if of_cells else []
        if aggregate.function == "count":
            text, scalar = around + (f".count({arguments[0]})" if arguments else ".counts"), "u8"
        else:
            assert aggregate.value is not None
            arguments.insert(0, self._of_cells(aggregate.value))
            text = f"{around}.{aggregate.function}({', '.join(arguments)})"
            scalar = aggregate.type.scalar
        return self._emit.slice_per_block("around", f"{text}{self._picked}", scalar)

    def _pick_offsets(self, conditions: list[tree.Expression]) -> tuple[str, list[tree.Expression]]:
        """Return the variable with the stencil of offsets for which the conditions about them alone
        hold, and the other conditions."""
        emit, of_offsets = self._emit, [c for c in conditions if _is_about(c, *_WAYS)]
        around = emit.uniform(self._stencil, "u8").text
        if of_offsets:
            names = {tree.Offset: f"{around}.offsets", tree.Distance: f"{around}.distances"}
            offsets = _Columns(emit, lambda node: names[type(node)])
            picked = offsets.written(all_of(of_offsets), f"len({around}.distances)")
            around = emit.uniform(f"{around}.only({picked})", "u8").text
        return around, [condition for condition in conditions if condition not in of_offsets]

    def _of_cells(self, node: tree.Expression) -> str:
        def leaf(node: tree.Expression) -> str:
            assert isinstance(node, tree.NeighbourField)
            rows = f"..., : {self._size}" if node.type.shape else f": {self._size}"
            return f"{self._column(node)}[{rows}]"

        columns = _Columns(self._emit, leaf)
        return columns.written(node, self._size)

    # By offset

    def _answer_by_offset(self, aggregate: tree.NeighbourAggregate) -> ArrayValue:
        row, value, conditions = self._emit, aggregate.value, conditions_of(aggregate)
        match value:
            case tree.Operation(name="if", operands=(test, chosen, tree.Constant(value=0))) if (
                aggregate.function == "sum" and aggregate.none is None
            ):
                conditions, value = [*conditions, *conjuncts_of(test)], chosen
        self._around, conditions = self._pick_offsets(conditions)
        of_cells = [c for c in conditions if _is_about(c, tree.NeighbourField)]
        tests = [condition for condition in conditions if condition not in of_cells]
        text = f"around({self._of_cells(all_of(of_cells))})" if of_cells else "inside"
        mask = self._of_offset("mask", f"{self._around}.{text}")
        values = [] if aggregate.function == "count" or value is None else [value]
        for part in (*tests, *values):
            self._know(part)
        counts = self._begin(("u8", (), ElementOrder.ROWS), "0") if _counts(aggregate) else None
        total = counts if counts is not None and not values else self._begin_total(aggregate)
        nans = None
        if _is_extreme_of_floats(aggregate):
            nans = self._begin(("bool", *total.kind[1:]), "False")
        names, sources = ", ".join(self._sources), ", ".join(self._sources.values())
        row.write(f"for {names} in {f'zip({sources})' if len(self._sources) > 1 else sources}:")
        if tests:
            self._narrow(mask, all_of(tests))
        if counts is not None:
            self._loop.run("count_some", counts.text, mask)
        for part in values:
            self._fold(aggregate, part, mask, total, nans)
        row.working.release(*self._kept)
        return self._finish(aggregate, counts, total, nans) if values else total

    def _fold(
        self,
        aggregate: tree.NeighbourAggregate,
        part: tree.Expression,
        mask: str,
        total: ArrayValue,
        nans: ArrayValue | None,
    ) -> None:
        """Write that the values of an offset are added to the total, or the extremes kept."""
        added, working = self._loop.value(part), self._emit.working
        memory = working.acquire((f"i{SCALARS[added.scalar].bits}", *kind_of(part.type)[1:]))
        values = as_typed(added), mask, memory.text
        if nans is None:
            fold = f"np.{_FOLDS[aggregate.function]}"
            self._loop.run("fold_some", fold, total.text, *values)
        else:
            fold = f"np.f{aggregate.function}"
            self._loop.run("fold_floats", fold, total.text, nans.text, *values)
        working.release(added, memory)

    def _of_offset(self, name: str, text: str) -> str:
        """Return the variable of the loop with a block's values at the offset; `text`: all."""
        part = self._emit.slice_per_block(name, f"{text}{self._picked}", "u8").text
        self._sources[f"{part}_there"] = part
        return f"{part}_there"

    def _know(self, node: tree.Expression) -> None:
        """Make known what an expression has of the cell or the offset alone, or of the row."""
        node = without_cast(node)
        kind, name = kind_of(node.type), repr(node)
        if name in self._loop.known:
            return
        if isinstance(node, _WAYS):
            variable = "_offset" if isinstance(node, tree.Offset) else "_distance"
            self._sources[variable] = f"{self._around}.{'steps' if node.type.shape else 'ways'}"
            kind = *kind[:2], ElementOrder.UNIFORM
        elif _is_about(node, tree.NeighbourField):
            variable = self._of_offset("around", f"{self._around}.around({self._of_cells(node)})")
        elif any(isinstance(part, (tree.NeighbourField, *_WAYS)) for part in tree.walk(node)):
            for part in tree.child_expressions(node):
                self._know(part)
            return
        else:  # also what the loop must not overwrite
            value = self._emit.value(node)
            self._kept.append(value)
            self._loop.known[name] = value.held
            return
        self._loop.known[name] = ArrayValue(variable, *kind)

    def _narrow(self, mask: str, test: tree.Expression) -> None:
        """Write that a mask is true only where a test is."""
        value = self._loop.value(test)
        out = self._loop.memory_for(("bool", (), ElementOrder.ROWS), (value,), None)
        self._loop.write(f"{mask} = both_masks({mask}, {as_typed(value)}, {out.text})")
        self._kept += [value, out]  # the mask may be either

    def _begin(self, kind: Kind, first: str) -> ArrayValue:
        memory = self._emit.working.acquire(kind)
        self._emit.write(f"{memory.text}[...] = {first}")
        return memory

    def _begin_total(self, aggregate: tree.NeighbourAggregate) -> ArrayValue:
        scalar, shape, layout = kind_of(aggregate.type)
        if aggregate.function in ("sum", "mean"):
            kind = "f64" if aggregate.type.is_float else scalar
            return self._begin((kind, shape, layout), "0")
        if aggregate.type.is_float:
            return self._begin((scalar, shape, layout), "np.nan")
        fold, kind = f"np.{_FOLDS[aggregate.function]}", f"np.dtype({SCALARS[scalar].numpy})"
        return self._begin((scalar, shape, layout), f"extreme_of_none({fold}, {kind})")

    def _finish(
        self,
        aggregate: tree.NeighbourAggregate,
        counts: ArrayValue | None,
        total: ArrayValue,
        nans: ArrayValue | None,
    ) -> ArrayValue:
        """Write what is left to do after the last offset."""
        emit, type_ = self._emit, aggregate.type
        count = "" if counts is None else counts.text
        if nans is not None:
            emit.run("put_where", total.text, nans.text, "np.nan")
            emit.working.release(nans)
        elif aggregate.function == "mean":
            emit.run("divide_by_counts", total.text, count)
        elif aggregate.function != "sum":
            emit.run("put_where", total.text, f"{count} == 0", "0")
        if total.scalar != type_.scalar:
            total = emit.copied(total, kind_of(type_))
        if aggregate.none is not None:
            value = emit.value(aggregate.none)
            emit.run("put_where", total.text, f"{count} == 0", value.text)
            emit.working.release(value)
        if counts is not None:
            emit.working.release(counts)
        return total
