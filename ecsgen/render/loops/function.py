"""The function of a kernel: its parameters, and in which order its loops go through the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ecsgen.kernels.form import Form
from ecsgen.kernels.lower import lowered
from ecsgen.model import Kernel
from ecsgen.model.programs import PARENT, FieldValue, Program, fields_in, walk
from ecsgen.render.calls import conjunction
from ecsgen.render.kernels.arguments import ArgumentSpelling
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.sources import Source
from ecsgen.render.loops.columns import Parameter
from ecsgen.render.loops.frame import LoopFrame
from ecsgen.render.loops.loop_body import LoopBody
from ecsgen.render.loops.mixing import is_across
from ecsgen.render.loops.near import Before


@dataclass(frozen=True, slots=True)
class Order:
    """In which order a loop goes through the rows."""

    parameters: list[Parameter]
    """What the function is given to know it."""
    heads: list[str]
    """The first lines of the loops, one inside the other."""
    first: list[str] = field(default_factory=list)
    """Statements that begin a row."""


class LoopFunction:
    """Printed as soon as it is made: `body`, then `parameters`.

    Of rows that a query finds there are two loops: one over rows that follow each other in all
    components, as those of a group do, and one over any others.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        source: Source,
        asked: Asked | None = None,
        *,
        is_ordered: bool = False,
        names_rows: bool = False,
        is_plain: bool = False,
        is_part: bool = False,
    ) -> None:
        """`is_ordered`: it is told whose turn it is; `names_rows`: a call may tell it which rows;
        `is_plain`: Python itself runs it; `is_part`: it is called on parts, perhaps at once."""
        self.name = name
        self.program = kernel.program
        self.is_plain = is_plain
        self.is_ordered = is_ordered
        self.is_parallel = kernel.parallel and not is_part and _is_free(self.program)
        self._kernel = kernel
        self._source = source
        self._asked = asked
        is_told = names_rows and bool(self.program.effects.sends) and asked is None
        self.frame = LoopFrame(
            name, source, self.program, asked, is_plain, is_told and not is_ordered
        )
        self._form: Form = lowered(self.program, "" if source.is_world else source.whole.name)
        self._some = self._asking(names_rows) if isinstance(self.frame.near, Before) else {}
        lines = self._loops()
        self.body = "\n".join(f"    {line}" for line in (*self.frame.setup, *lines))

    # --- parameters ------------------------------------------------------------------------------

    def parameters(self, spellings: Mapping[str, ArgumentSpelling]) -> list[Parameter]:
        """What the function is given; `spellings`: the method's arguments, by name."""
        frame, owners = self.frame, self._owners
        columns = [*frame.columns.own.values(), *frame.columns.found.values()]
        return [
            *self._order(frame.count).parameters,
            *frame.numbers.values(),
            *frame.members.values(),
            *frame.common(spellings),
            *(
                replace(one, passed=owners[one.passed]) if one.passed in owners else one
                for one in columns
            ),
        ]

    @property
    def _owners(self) -> dict[str, str]:
        """Columns of owners that do not have those of ghosts, who are asked → expressions that have
        both."""
        if self._asked is None:
            return {}
        side = self._asked.other or self._asked.own
        found = {
            f"{side.holder(owner)}._entity_column": self._asked.owners(owner)
            for owner in side.components
        }
        return {column: both for column, both in found.items() if both}

    def _asking(self, names_rows: bool) -> dict[str, Parameter]:
        """The parameters that say which of the rows that have cells ask."""
        kept, found = self.frame.names.kept, {}
        assert self._asked is not None
        if self._asked.asks_ghosts:
            found["asking"] = Parameter(kept("asking"), "int", self._asked.asking)
        if names_rows:
            named = "NO_MASK if _chosen is None else _chosen.mask(data._n)"
            found["named"] = Parameter(kept("is_named"), "NDArray[np.bool_]", named)
        if names_rows and self.program.effects.sends:
            rows = f"np.arange({self._source.count}) if _chosen is None else _chosen.rows"
            found["senders"] = Parameter(kept("senders"), "RowArray", rows)
        return found

    # --- loops -----------------------------------------------------------------------------------

    @property
    def is_scattered(self) -> bool:
        """Whether it is told the rows of each component."""
        return self._source.at is not None

    def _loops(self) -> list[str]:
        """A loop for each way in which rows may lie."""
        if not self.is_scattered:
            return self._loop(self._body(is_known=True))
        if self.is_plain or self._asked is not None:
            return self._loop(self._body(is_known=False))
        following = self._loop(self._body(is_known=True))
        self.frame.names.again()
        scattered = self._loop(self._body(is_known=False))
        inside = [f"    {line}" for line in (*self._cuts, *following, "return")]
        return [*self._following, *inside, *scattered]

    def _body(self, is_known: bool) -> LoopBody:
        """The statements of one row; `is_known`: it has the same number in all components."""
        rows = dict.fromkeys(self._source.components, self.frame.row) if is_known else {}
        flat = is_known and self._asked is None and is_flat(self._source, self.program)
        body = LoopBody(self.frame, rows, flat)
        body.write(self._form)
        return body

    @property
    def _following(self) -> list[str]:
        """The lines that ask whether the rows follow each other in all components."""
        tests = [f"len({one.name}) == 1" for one in self.frame.numbers.values()]
        return [line[4:] for line in conjunction("    if ", tests).split("\n")]

    @property
    def _cuts(self) -> Iterator[str]:
        """The statements after which each column begins with the first of such rows."""
        columns = self.frame.columns
        for passed, cells in columns.cells.items():
            name, first = columns.own[passed].name, f"{self.frame.rows_of(cells.field.owner)}[0]"
            start = f"{cells.elements} * {first}" if cells.elements > 1 else first
            yield f"{name} = {name}[{start} :]"

    def _loop(self, body: LoopBody) -> list[str]:
        """A loop, and the working memory of its rows."""
        near, arrays = self.frame.near, body.emit.arrays
        setup = [] if near is None else near.setup(self.frame.row)
        if isinstance(near, Before) and body.delivery:
            setup.append(f"{self.frame.count} = len({near.order})")
        order = self._order(self._count(body))
        inside = [*order.first, *body.lines]
        if self.is_parallel:
            inside = [*arrays, *inside]
        else:
            setup += arrays
        pad = " " * 4 * len(order.heads)
        return [*setup, *order.heads, *(pad + line for line in inside), *self._delivery(body)]

    def _order(self, count: str) -> Order:
        """How a loop goes through the rows; `count`: how often, if it is told no rows."""
        frame, row, near = self.frame, self.frame.row, self.frame.near
        around = [] if near is None else near.parameters
        if isinstance(near, Before):
            found = [*self._skipping(near), *near.rows_around, f"{row} = {near.number}"]
            return Order([*around, *self._some.values()], near.heads, found)
        if self.is_ordered:  # Python's own integers are quick to use
            given = ("list[int]", "_order.tolist()") if self.is_plain else ("RowArray", "_order")
            return Order(
                [Parameter(frame.order, *given), *around], [f"for {row} in {frame.order}:"]
            )
        rows = Parameter(frame.count, "int", self._source.count)
        if self.program.climbs:
            order = Parameter(frame.order, "RowArray", "self._levels.rows")
            heads = [f"for {row} in {frame.order}:"]
            if self._kernel.rows != "active":
                return Order([order], heads)
            return Order([rows, order], heads, [f"if {row} >= {frame.count}:", "    continue"])
        if frame.chosen:
            told = f"{rows.passed} if _chosen is None else len(_rows)"
            chosen = Parameter(frame.chosen, "RowArray", "_rows")
            named = f"{row} = row_at({frame.chosen}, {frame.place})"
            head = f"for {frame.place} in range({frame.count}):"
            return Order([replace(rows, passed=told), chosen], [head], [named])
        each = "prange" if self.is_parallel else "range"
        return Order([rows], [f"for {row} in {each}({count}):"])

    def _count(self, body: LoopBody) -> str:
        """How often the loop over rows runs, or over their elements."""
        if not body.is_flat:
            return self.frame.count
        targets = (step.target for step in self.program.steps)
        elements = next(one for one in targets if isinstance(one, FieldValue)).type.elements
        return f"{elements} * {self.frame.count}" if elements > 1 else self.frame.count

    def _skipping(self, near: Before) -> list[str]:
        """The statements that leave out ghosts, and rows that a call does not name."""
        tests = []
        if "asking" in self._some:
            tests.append(f"{near.number} >= {self._some['asking'].name}")
        if "named" in self._some:
            named = self._some["named"].name
            tests.append(f"len({named}) > 0 and not {named}[{near.number}]")
        return [line for test in tests for line in (f"if {test}:", "    continue")]

    def _delivery(self, body: LoopBody) -> list[str]:
        """The loop in which messages arrive that were kept."""
        if not body.delivery:
            return []
        frame = self.frame
        head = f"for {frame.place or frame.row} in range({frame.count}):"
        if "senders" in self._some:
            head = f"for {frame.row} in {self._some['senders'].name}:"
        return [head, *(f"    {line}" for line in body.delivery)]


def _is_free(program: Program) -> bool:
    """Whether rows may be shared out among the cores: not levels of a hierarchy, nor where rows or
    messages come one after the other."""
    return not (program.climbs or program.sees_in_order)


def is_flat(source: Source, program: Program) -> bool:
    """Whether all columns have the same elements per row, and no element needs another."""
    expressions = [step.value for step in program.steps]
    targets = [step.target for step in program.steps if isinstance(step.target, FieldValue)]
    used = {*fields_in(program.where, *expressions), *targets}
    shapes = {one.type.shape for one in used}
    shapes |= {argument.type.shape for argument in program.arguments if argument.each}
    if len(shapes) != 1 or shapes == {()} or program.where is not None or program.who is not None:
        return False
    if program.effects.leads or program.sees_in_order:
        return False
    if any(argument.type.shape for argument in program.arguments if not argument.each):
        return False
    for one in used:
        if one.owner == PARENT or source.field(one.owner, one.name).split:
            return False
    if any(step.index for step in program.steps):
        return False
    return not any(is_across(node) for one in expressions for node in walk(one))
