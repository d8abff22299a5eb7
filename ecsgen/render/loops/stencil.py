"""Grids at once, where all rows ask the same cells around them: inside of a strip these are so many
places further on, without a list, so that loops become vector loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Final

from ecsgen.kernels.form import Ask
from ecsgen.model import programs as tree
from ecsgen.model.types import Type
from ecsgen.render.loops.code import Code, Level
from ecsgen.render.loops.frame import LoopFrame
from ecsgen.render.loops.near import Neighbours
from ecsgen.render.loops.questions import Questions
from ecsgen.render.loops.values import Value, uniform

if TYPE_CHECKING:
    from ecsgen.render.loops.grid_near import OnGrid

_MOST: Final = 48
"""Cells around that are written out."""
_HOWS: Final = ("count", "sum", "mean", "min", "max")


def offsets_of(on: tree.OnGrid, radius: int) -> list[tuple[int, ...]]:
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
    if program.takes_turns or program.is_fateful or not program.nears:
        return False
    for near in program.nears:
        on, radius = near.on, near.radius
        if on is None or on.standing or near.place.name != tree.CELL_ID:
            return False
        if not isinstance(radius, int) or not 0 < len(offsets_of(on, radius)) <= _MOST:
            return False
    if any(node.type.shape for node in program.nodes):  # whose places would be signed
        return False
    questions = (node for node in program.nodes if isinstance(node, tree.Question))
    return all(one.how in _HOWS and (one.where is None or one.how == "count") for one in questions)


def is_picture(program: tree.Program) -> bool:
    """Whether whole columns tell what cells around are asked for: blocks of rows know it then."""
    if not is_stencil(program) or program.effects.leads or program.effects.sends or program.ticks:
        return False
    of_cells = tree.Coordinates | tree.CellAt | tree.Occupied
    if any(isinstance(node, of_cells) for node in program.nodes):
        return False
    questions = (node for node in program.nodes if isinstance(node, tree.Question))
    return all(one.where is None and _is_column(one.value) for one in questions)


def _is_column(value: tree.Expression | None) -> bool:
    return value is None or (isinstance(value, tree.OtherField) and value.name != tree.CELL_ID)


class Stencil(Neighbours):
    """Cells around those inside of a strip: so many places further on."""

    def __init__(self, listed: OnGrid, frame: LoopFrame) -> None:
        super().__init__(listed.asked, frame)
        radius = listed.asked.near.radius
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

    def seam_lines(self, place: str) -> list[str]:
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

    def mean(self, offset: tuple[int, ...]) -> None:
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
        return uniform(type_, Code(f"np.sqrt({float(square)})", Level.CALL))

    def _has(self, node: tree.OtherField) -> Value:
        if node.name == tree.CELL_ID:
            return uniform(node.type, Code(f"id_of_cell({self.place})"))
        return self._frame.cells(self._frame.met_arrays(node), node.type, self.place)


class StencilQuestions(Questions):
    """What is asked of them, written out."""

    _near: Stencil

    def answer(self, node: Ask, *others: Ask) -> list[Value]:
        """The statements that ask, and the answers."""
        question = node.question
        tests = [one for one in (question.value, question.where) if one is not None]
        if question.how != "count" or not tests:
            return super().answer(node)
        return [self._counted_in_bytes(tests)]

    def _counted_in_bytes(self, tests: list[tree.Expression]) -> Value:
        """For how many: sums of bools in bytes, which loops add many of at once."""
        terms = []
        for _ in self._each():
            codes = [self._emit.value(test).at(0).within(Level.ATOM) for test in tests]
            is_byte = len(tests) == 1 and isinstance(tests[0], tree.OtherField)
            terms.append(codes[0] if is_byte else f"np.uint8({' & '.join(codes)})")
        count = self._emit.names.take("alike")
        declared = self._near.declared(count)
        self._emit.write(f"{declared} = np.int64(np.uint8({' + '.join(terms)}))")
        return uniform(Type("i64"), Code(count))

    def _each(self, *values: tree.Expression, is_counted: bool = True) -> Iterator[str]:
        for number, offset in enumerate(self._near.offsets_met):
            self._near.mean(offset)
            yield str(number)

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        return code.text if variable == "0" else other.text
