"""Stencils: frozen grid neighbours where all rows read the cells at fixed offsets around them.
Inside of a strip the cells around are a constant number of cells away, so there are no lists, and
loops become vector loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Final

from ecsgen.kernels.statements import AggregateNeighbours
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import Type
from ecsgen.render.loops.element_values import Value, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.loop_aggregates import AggregateLoop
from ecsgen.render.loops.loop_grids import GridNeighbours
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.scalar_code import Code, Precedence

_MAX_WRITTEN_OUT: Final = 48
"""Largest number of offsets that loops write out."""
_MAX_COUNTED: Final = 255
"""Largest number of offsets that blocks count in bytes."""
_FUNCTIONS: Final = ("count", "sum", "mean", "min", "max")


def offsets_of(on: tree.GridNeighbourhood, radius: int) -> list[tuple[int, ...]]:
    """Return the offsets of the cells in reach, ascending, the first axis slowest."""
    offsets = []
    for offset in product(range(-radius, radius + 1), repeat=on.axes):
        far = distance_in(on.hood, offset)
        is_along = on.hood != "axes" or sum(map(bool, offset)) <= 1
        if far <= radius and is_along and any(offset):
            offsets.append(offset)
    return offsets


def distance_in(hood: str, offset: tuple[int, ...]) -> int:
    """Return the least radius that reaches an offset."""
    along = [*map(abs, offset)]
    if hood == "hex":
        return max(*along, abs(sum(offset)))
    return sum(along) if hood == "von_neumann" else max(along)


def is_stencil(program: Program) -> bool:
    """Return True if loops over cells may read the cells at fixed offsets, all at once."""
    nodes = (node for node in program.nodes if not isinstance(node, tree.Offset))
    if any(node.type.shape for node in nodes):  # element indices would be signed
        return False
    if program.has_loops and program.effects.sends:  # each row's messages are in order
        return False
    return _asks_cells_around(program, _MAX_WRITTEN_OUT) and all(
        aggregate.none is None and (aggregate.where is None or aggregate.function == "count")
        for aggregate in _aggregates(program)
    )


def _aggregates(program: Program) -> list[tree.NeighbourAggregate]:
    return [node for node in program.nodes if isinstance(node, tree.NeighbourAggregate)]


def _asks_cells_around(program: Program, most: int) -> bool:
    """Return True if rows that are cells ask the cells at fixed offsets, `most` of them, all at
    once."""
    if program.takes_turns or program.has_commands or not program.neighbourhoods:
        return False
    for near in program.neighbourhoods:
        on = near.on
        radius: object = near.radius
        if on is None or on.occupant or near.position.name != tree.CELL_ID:
            return False
        if not isinstance(radius, int) or not 0 < len(offsets_of(on, radius)) <= most:
            return False
    if any(step.items for step in program.actions):
        return False
    return all(aggregate.function in _FUNCTIONS for aggregate in _aggregates(program))


def is_whole_column_stencil(program: Program) -> bool:
    """Return True if blocks of rows can ask the cells around, at one offset after the other."""
    if program.has_loops or not _asks_cells_around(program, _MAX_COUNTED):
        return False
    of_cells = tree.Coordinates | tree.CellAt | tree.Occupied | tree.Full | tree.RandomChoice
    targets = (step.target for step in program.actions)
    nodes = [*program.nodes, *(t for t in targets if isinstance(t, tree.ReferencedField))]
    return not any(isinstance(node, of_cells) or _leads_to_occupant(node) for node in nodes)


def _leads_to_occupant(node: tree.Expression) -> bool:
    """Return True for a reference from a cell to who stands there."""
    if not isinstance(node, tree.ReferencedField | tree.Exists):
        return False
    kind = node.handle.type.kind
    return kind.startswith("id<") and kind != f"id<{node.component}>"


class Stencil(NeighbourAccess):
    """Neighbours of cells inside of a strip, at fixed offsets."""

    def __init__(self, listed: GridNeighbours, builder: FunctionBuilder) -> None:
        super().__init__(listed.join, builder)
        radius: object = listed.join.near.radius
        assert isinstance(radius, int)
        self.radius = radius
        self.axes_name = listed.axes_name
        self._hood = listed.on.hood
        self.offsets_met = offsets_of(listed.on, radius)
        self.shifts: dict[tuple[int, ...], str] = {}
        self.wrap_shifts: dict[int, str] = {}
        """Variables with the shift along the last axis by offset, for cells beside a wrap edge."""
        self.count = str(len(self.offsets_met))
        self._looped = self.candidate, self.offsets, self.reserve("far")
        """Variables of loops: the cell, the offset to it along each axis, and its distance."""
        self._distance_text = ""

    def strip_lines(self, strip: str, is_inner: str) -> list[str]:
        """Return the statements that compute the shifts to the strips around, and if all exist."""
        lines = []
        for offset in dict.fromkeys(cell[:-1] for cell in self.offsets_met):
            if not any(offset):
                self.shifts[offset] = ""
                continue
            name = self.reserve("up" if sum(offset) < 0 else "down")
            self.shifts[offset] = name
            x, y = (0, *offset)[-2:]
            arguments = f"{self.axes_name}, {strip}, {x}, {y}, {self.radius}"
            shift = f"{name}_strip"
            lines.append(f"{shift} = strip_shift({arguments})")
            lines.append(f"{is_inner} = {is_inner} and {shift} != NO_STRIP")
            lines.append(f"{name} = np.uintp({shift})")
        return lines

    def wrap_edge_lines(self, position: str) -> list[str]:
        """Return the statements that compute the shifts along the last axis from a position."""
        size, lines = f"{self.axes_name}.z", []
        for step in sorted({offset[-1] for offset in self.offsets_met if offset[-1]}):
            name = self.reserve("back" if step < 0 else "ahead")
            over = f"{position} < {-step}" if step < 0 else f"{position} >= {size} - {step}"
            shift = f"{size} - {-step}" if step < 0 else f"{step} - {size}"
            lines.append(f"{name} = np.uintp(np.int64({shift} if {over} else {step}))")
            self.wrap_shifts[step] = name
        return lines

    def select_offset(self, offset: tuple[int, ...]) -> None:
        """Select the cell at an offset for the statements that follow."""
        # compared with each other, mypy refuses written numbers that are never equal
        self.offsets = [f"np.int64({along})" for along in offset]
        parts = [self._builder.row, self.shifts[offset[:-1]]]
        text = " + ".join(filter(None, parts))
        last = offset[-1]
        if last and self.wrap_shifts:
            text = f"{text} + {self.wrap_shifts[last]}"
        elif last:
            text = f"{text} {'-' if last < 0 else '+'} np.uintp({abs(last)})"
        self.candidate = text

        square = sum(along**2 for along in offset)
        if self._hood == "hex":
            square = distance_in("hex", offset) ** 2
        self._distance_text = f"np.sqrt({float(square)})"

    def loop_lines(self, needs_offset: bool) -> list[str]:
        """Return the statements that list the cells at all offsets, and the head of a loop over
        them, whose cell is then selected."""
        cells = []
        for offset in self.offsets_met:
            self.select_offset(offset)
            cells.append(f"    {self._selected(needs_offset)},")
        self.candidate, self.offsets, self._distance_text = self._looped
        head = f"for {self._selected(needs_offset)} in {self.listed}"
        return [f"{self.listed} = (", *cells, ")", head]

    def _selected(self, with_offset: bool) -> str:
        parts = self.candidate, *self.offsets, self._distance_text
        return f"({', '.join(parts)})" if with_offset else self.candidate

    def _distance(self, type_: Type) -> Value:
        return uniform(type_, Code(self._distance_text, Precedence.CALL))


class StencilAggregates(AggregateLoop):
    """Aggregates over a stencil, a term for each offset."""

    _near: Stencil

    def values(self, node: AggregateNeighbours, *more: AggregateNeighbours) -> list[Value]:
        aggregate = node.aggregate
        tests = [test for test in (aggregate.value, aggregate.where) if test is not None]
        if aggregate.function != "count" or not tests:
            return super().values(node)
        return [self._count_in_bytes(tests)]

    def _count_in_bytes(self, tests: list[tree.Expression]) -> Value:
        """Count matches by sums of bools in bytes, many of which a vector loop adds at once."""
        terms = []
        for _ in self._each_neighbour():
            codes = [self._emit.value(test).at(0).within(Precedence.ATOM) for test in tests]
            is_byte = len(tests) == 1 and isinstance(tests[0], tree.NeighbourField)
            terms.append(codes[0] if is_byte else f"np.uint8({' & '.join(codes)})")
        count = self._emit.names.allocate("alike")
        declared = self._near.declared(count)
        self._emit.write(f"{declared} = np.int64(np.uint8({' + '.join(terms)}))")
        return uniform(Type("i64"), Code(count))

    def _each_neighbour(self, *values: tree.Expression, is_counted: bool = True) -> Iterator[str]:
        for number, offset in enumerate(self._near.offsets_met):
            self._near.select_offset(offset)
            yield str(number)

    @contextmanager
    def neighbours(self, needs_offset: bool) -> Iterator[None]:
        *lines, head = self._near.loop_lines(needs_offset)
        self._emit.write(*lines)
        with self._emit.block(head):
            yield

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        return code.text if variable == "0" else other.text
