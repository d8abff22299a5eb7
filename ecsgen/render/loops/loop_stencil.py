"""Grids at once, where all rows ask the same cells around them: inside of a strip these are so many
places further on, without a list, so that loops become vector loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Final

from ecsgen.kernels.statements import AggregateNeighbours
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type
from ecsgen.render.loops.element_values import Value, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.loop_aggregates import AggregateLoop
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.scalar_code import Code, Precedence

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_grids import GridNeighbours

_MOST: Final = 48
"""Cells around that are written out."""
_HOWS: Final = ("count", "sum", "mean", "min", "max")


def offsets_of(on: tree.GridNeighbourhood, radius: int) -> list[tuple[int, ...]]:
    """The offsets of the cells in reach, ascending, the first axis slowest."""
    found = []
    for offset in product(range(-radius, radius + 1), repeat=on.axes):
        far = sum(map(abs, offset)) if on.hood == "von_neumann" else max(map(abs, offset))
        is_along = on.hood != "axes" or sum(map(bool, offset)) <= 1
        if far <= radius and is_along and any(offset):
            found.append(offset)
    return found


def is_stencil(program: tree.Program) -> bool:
    """Whether rows that are cells ask the same cells around each of them, all at once."""
    if program.takes_turns or program.has_commands or not program.neighbourhoods:
        return False
    for near in program.neighbourhoods:
        on, radius = near.on, near.radius
        if on is None or on.occupant or near.position.name != tree.CELL_ID:
            return False
        if not isinstance(radius, int) or not 0 < len(offsets_of(on, radius)) <= _MOST:
            return False
    if any(node.type.shape for node in program.nodes):  # whose places would be signed
        return False
    questions = (node for node in program.nodes if isinstance(node, tree.NeighbourAggregate))
    return all(
        one.function in _HOWS and (one.where is None or one.function == "count")
        for one in questions
    )


def is_whole_column_stencil(program: tree.Program) -> bool:
    """Whether whole columns tell what cells around are asked for: blocks of rows know it then."""
    if (
        not is_stencil(program)
        or program.effects.referenced_components
        or program.effects.sends
        or program.uses_tick
    ):
        return False
    of_cells = tree.Coordinates | tree.CellAt | tree.Occupied
    if any(isinstance(node, of_cells) for node in program.nodes):
        return False
    questions = (node for node in program.nodes if isinstance(node, tree.NeighbourAggregate))
    return all(one.where is None and _is_column(one.value) for one in questions)


def _is_column(value: tree.Expression | None) -> bool:
    return value is None or (isinstance(value, tree.NeighbourField) and value.name != tree.CELL_ID)


class Stencil(NeighbourAccess):
    """Cells around those inside of a strip: so many places further on."""

    def __init__(self, listed: GridNeighbours, frame: FunctionBuilder) -> None:
        super().__init__(listed.join, frame)
        radius = listed.join.near.radius
        assert isinstance(radius, int)
        self.radius = radius
        self.axes_name = listed.axes_name
        self.offsets_met = offsets_of(listed.on, radius)
        self.shifts: dict[tuple[int, ...], str] = {}
        self.seam: dict[int, str] = {}
        """Beside the seam of an axis that goes around, how far it is along it, by offset."""
        self.count = str(len(self.offsets_met))

    def strip_lines(self, strip: str, is_inner: str) -> list[str]:
        """The statements that find how far it is to the strips around one, and whether it has all
        of them."""
        lines = []
        for offset in dict.fromkeys(one[:-1] for one in self.offsets_met):
            if not any(offset):
                self.shifts[offset] = ""
                continue
            name = self.kept("up" if sum(offset) < 0 else "down")
            self.shifts[offset] = name
            x, y = (0, *offset)[-2:]
            given = f"{self.axes_name}, {strip}, {x}, {y}, {self.radius}"
            far = f"{name}_strip"
            lines.append(f"{far} = strip_shift({given})")
            lines.append(f"{is_inner} = {is_inner} and {far} != NO_STRIP")
            lines.append(f"{name} = np.uintp({far})")
        return lines

    def wrap_edge_lines(self, place: str) -> list[str]:
        """The statements that find how far it is along the last axis from a place on it."""
        size, lines = f"{self.axes_name}.z", []
        for step in sorted({one[-1] for one in self.offsets_met if one[-1]}):
            name = self.kept("back" if step < 0 else "ahead")
            over = f"{place} < {-step}" if step < 0 else f"{place} >= {size} - {step}"
            far = f"{size} - {-step}" if step < 0 else f"{step} - {size}"
            lines.append(f"{name} = np.uintp(np.int64({far} if {over} else {step}))")
            self.seam[step] = name
        return lines

    # --- what a cell has -----------------------------------------------------------------------

    def select_offset(self, offset: tuple[int, ...]) -> None:
        """Mean the cell at an offset from now on."""
        self.offsets = [str(along) for along in offset]
        parts = [self._frame.row, self.shifts[offset[:-1]]]
        text = " + ".join(filter(None, parts))
        last = offset[-1]
        if last and self.seam:
            text = f"{text} + {self.seam[last]}"
        elif last:
            text = f"{text} {'-' if last < 0 else '+'} np.uintp({abs(last)})"
        self.place = text

    def _distance(self, type_: Type) -> Value:
        square = sum(int(along) ** 2 for along in self.offsets)
        return uniform(type_, Code(f"np.sqrt({float(square)})", Precedence.CALL))

    def _has(self, node: tree.NeighbourField) -> Value:
        if node.name == tree.CELL_ID:
            return uniform(node.type, Code(f"id_of_cell({self.place})"))
        return self._frame.cells(self._frame.neighbour_arrays(node), node.type, self.place)


class StencilAggregates(AggregateLoop):
    """What is asked of them, written out."""

    _near: Stencil

    def answer(self, node: AggregateNeighbours, *others: AggregateNeighbours) -> list[Value]:
        """The statements that ask, and the answers."""
        question = node.question
        tests = [one for one in (question.value, question.where) if one is not None]
        if question.function != "count" or not tests:
            return super().answer(node)
        return [self._counted_in_bytes(tests)]

    def _counted_in_bytes(self, tests: list[tree.Expression]) -> Value:
        """For how many: sums of bools in bytes, which loops add many of at once."""
        terms = []
        for _ in self._each():
            codes = [self._emit.value(test).at(0).within(Precedence.ATOM) for test in tests]
            is_byte = len(tests) == 1 and isinstance(tests[0], tree.NeighbourField)
            terms.append(codes[0] if is_byte else f"np.uint8({' & '.join(codes)})")
        count = self._emit.names.allocate("alike")
        declared = self._near.declared(count)
        self._emit.write(f"{declared} = np.int64(np.uint8({' + '.join(terms)}))")
        return uniform(Type("i64"), Code(count))

    def _each(self, *values: tree.Expression, is_counted: bool = True) -> Iterator[str]:
        for number, offset in enumerate(self._near.offsets_met):
            self._near.select_offset(offset)
            yield str(number)

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        return code.text if variable == "0" else other.text
