"""Function of a kernel: its parameters, and the order in which its loops go through the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from textwrap import indent

from ecsgen.kernels.lowering import lower_kernel
from ecsgen.kernels.statements import LoweredKernel, MoveToCell
from ecsgen.model import Kernel
from ecsgen.model.typed_program import Program
from ecsgen.model.typed_tree import PARENT, FieldValue, fields_in, walk, walk_nested
from ecsgen.render.kernel_methods.kernel_method import KernelMethod
from ecsgen.render.kernel_methods.row_sources import ChunkSource, NeighbourJoin, RowSource
from ecsgen.render.loops.element_values import is_across
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter
from ecsgen.render.loops.loop_body import LoopBody, VectorBody
from ecsgen.render.loops.loop_everybody import AllNeighbours
from ecsgen.render.loops.loop_grids import GridNeighbours
from ecsgen.render.loops.loop_links import LinkedNeighbours
from ecsgen.render.loops.loop_messages import queued_messages
from ecsgen.render.loops.loop_neighbours import FrozenNeighbours, LiveNeighbours, NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil, is_stencil
from ecsgen.render.loops.sieve import Sieve
from ecsgen.render.text.formatting import call, conjunction


@dataclass(frozen=True, slots=True)
class Order:
    """Order in which a loop goes through the rows."""

    parameters: list[Parameter]
    """Parameters of the function for the order."""
    heads: list[str]
    """First lines of the loops, one inside the other."""
    first: list[str] = field(default_factory=list)
    """Statements that begin a row."""

    @property
    def pad(self) -> str:
        """Indentation of what the loops do."""
        return " " * (len(self.heads[-1]) - len(self.heads[-1].lstrip()) + 4)


class KernelFunction(FunctionBuilder):
    """Function of a kernel, printed at once: `text`, then `parameters`. Of rows that a query finds
    there are two loops: one over rows that follow each other in all components, as those of a group
    do, and one over any others."""

    frozen_neighbours: FrozenNeighbours | None = None
    """The only neighbourhood, in a frozen space: the loop follows its cells."""

    def __init__(
        self, kernel: Kernel, method: KernelMethod, source: RowSource, is_plain: bool = False
    ) -> None:
        """`method`: of the kernel, or of a fused pass; `is_plain`: for Python itself."""
        program, managers = kernel.program, source.managers
        super().__init__(f"_{kernel.name}_kernel", program, method, source, is_plain)
        self._lowered = lower_kernel(program, managers.home, managers.cell_fields)
        is_sifted = is_plain and not program.counts_turns
        self.sieve = Sieve(self._lowered, source) if is_sifted else None
        if self.sieve:
            self._lowered = self.sieve.rest
        in_spaces = any(near.is_in_space for near in program.neighbourhoods)
        in_rows = source.is_world and not in_spaces and kernel.turns == "rows"
        self.is_ordered = program.takes_turns and not in_rows
        self.is_ordered |= is_plain and (method.takes_rows or bool(self.sieve))
        in_chunks = isinstance(method.source, ChunkSource)  # these may run at once
        can_share = not (is_plain or in_chunks) and is_independent(self._lowered)
        self.is_parallel = kernel.parallel and can_share
        self._lane = self.names.reserve("lane") if self.is_parallel else ""
        self._is_of_active = kernel.rows == "active"
        self.chosen = self._order_name = ""
        """Parameters with the rows that a call names, and with the order of turns."""
        needs_numbers = program.is_order_dependent or program.uses_cell_numbers
        if method.takes_rows and needs_numbers and not self.is_ordered and not self.follows_cells:
            self.chosen = self.names.reserve("rows")
            self.index = self.names.reserve("k")
        if program.runs_by_level or program.takes_turns or self.is_ordered:
            self._order_name = self.names.reserve("order")
        over = source.components.get(kernel.over)
        is_partitioned = kernel.rows == "active" or (over is not None and bool(over.partition))
        may_be_inactive = program.takes_given_turns and is_partitioned
        self._active_bound = source.count if may_be_inactive else ""
        """Expression for the number of rows that may have turns; "" if the order has no others."""
        self._skip_lines: list[str] = []
        """Statements that skip rows with a cell that do not run the kernel."""
        self.reads_bytes = is_stencil(program) and not is_plain
        joins = method.neighbour_joins
        self.neighbours = {join.near.name: self._neighbours(join) for join in joins}
        if self.frozen_neighbours is not None:
            named_of = method.data if method.takes_rows else ""
            self._skip_rows(self.frozen_neighbours, named_of)
        self.spawns = self._lowered.spawns
        if self.is_ordered and any(message.is_deferred for message in self._lowered.messages):
            self.index = self.names.reserve("k")
        if program.counts_turns:
            self.turn = self.index if self.index != self.row else self.names.reserve("turn")
        lines = self._loops()
        signature = self.name, self.parameters, method.function_docstring, [*self.setup, *lines]
        returns = "Any" if self.grown else "None"
        self.text = function_text(*signature, self.is_parallel, is_plain, returns)

    @property
    def follows_cells(self) -> bool:
        """True if the loop follows the cells of its only neighbourhood."""
        return self.program.single_neighbourhood is not None and not (
            self.is_plain or self.program.takes_turns
        )

    def _neighbours(self, join: NeighbourJoin) -> NeighbourAccess:
        if join.near.on is not None:
            return GridNeighbours(join, self)
        if join.near.via is not None:
            return LinkedNeighbours(join, self)
        if join.near.is_of_all_rows:
            return AllNeighbours(join, self)
        if not self.follows_cells:
            return LiveNeighbours(join, self)
        self.frozen_neighbours = FrozenNeighbours(join, self)
        return self.frozen_neighbours

    @property
    def parameters(self) -> list[Parameter]:
        members = [rows for near in self.neighbours.values() for rows in near.members.values()]
        return [
            *self._order(self.count).parameters,
            *self.numbers.values(),
            *members,
            *self.common,
            *self.row_columns.values(),
            *self.other_parameters.values(),
        ]

    def _skip_rows(self, near: FrozenNeighbours, named_of: str) -> None:
        """Skip rows that do not run the kernel: ghosts, and rows that a call does not name;
        `named_of`: columns of the rows that it names, "" if it names none."""
        join = near.join
        if join.asks_ghosts:
            rows = join.source.count
            if join.source.is_world:
                rows = f"len({join.own_rows(join.position_owner)})"
            asking = near.add_parameter("asking", "int", rows)
            self._skip_lines += [f"if {near.number} >= {asking}:", "    continue"]
        if not named_of:
            return
        if self.program.effects.sends or self.program.has_commands:
            rows = f"np.arange({self.source.count}) if _chosen is None else _chosen.rows"
            self.senders = near.add_parameter("senders", "RowArray", rows)
        if self.program.has_commands:  # the loop is over rows
            near.heads = [f"for {self.row} in {self.senders}:"]
            return
        passed = f"NO_MASK if _chosen is None else _chosen.mask({named_of}._n)"
        named = near.add_parameter("is_named", "NDArray[np.bool_]", passed)
        test = f"len({named}) > 0 and not {named}[{near.number}]"
        self._skip_lines += [f"if {test}:", "    continue"]

    def _loops(self) -> list[str]:
        """Return the loops: two if rows may follow each other or not."""
        if self.reads_bytes:
            return self._stencil_loops()
        if not self.is_scattered:
            return self._loop(self._body(is_known=True))
        if self.is_plain or self.neighbour_joins:
            return self._loop(self._body(is_known=False))
        following = self._loop(self._body(is_known=True))
        self.names.free_loop_names()
        scattered = self._loop(self._body(is_known=False))
        tests = [f"len({parameter.name}) == 1" for parameter in self.numbers.values()]
        if not tests:  # no row is read
            return scattered
        head = [line[4:] for line in conjunction("    if ", tests).split("\n")]
        following = [*self._start_lines, *following, "return"]
        return [*head, *(f"    {line}" for line in following), *scattered]

    def _stencil_loops(self) -> list[str]:
        """Return loops over strips of cells along the last axis. Cells around those inside of a
        strip are at fixed offsets; the others have lists, and so have rows that a call names."""
        take, row, rows = self.names.reserve, self.row, self.count
        lists = [near for near in self.neighbours.values() if isinstance(near, GridNeighbours)]
        stencils = {near.join.near.name: Stencil(near, self) for near in lists}
        strip, start, end, inner = take("strip"), take("start"), take("end"), take("is_inner")
        low, high, edge, position = take("low"), take("high"), take("edge"), take("place")
        axes = next(iter(stencils.values())).axes_name
        around = [line for near in stencils.values() for line in near.strip_lines(strip, inner)]
        rows_known = dict.fromkeys(self.source.components, row)
        inside = VectorBody(self, rows_known, stencils)
        inside.add(self._lowered)
        edges = [line for near in stencils.values() for line in near.wrap_edge_lines(position)]
        self.names.free_loop_names()  # all three keep the same messages
        beside = VectorBody(self, rows_known, stencils)
        beside.add(self._lowered)
        self.names.free_loop_names()
        listed = self._body(is_known=True)
        radius = max(stencil.radius for stencil in stencils.values())
        first, last = f"{start} if {edge} == 0 else {high}", f"{low} if {edge} == 0 else {end}"
        known = [f"{self.index} = {row}"] if self.index != row and listed.delivery else []
        strips = [
            f"{start}, {end} = {strip} * {axes}.z, ({strip} + 1) * {axes}.z",
            f"{inner} = {axes}.z > {2 * radius}",
            *around,
            f"{low} = {start} + {radius} if {inner} else {end}",
            f"{high} = {end} - {radius} if {inner} else {end}",
            f"for {position} in range({low}, {high}):",
            f"    {row} = np.uintp({position})  # unsigned: numba tests no sign",
            *(f"    {line}" for line in [*known, *inside.statements]),
            f"if {inner} and {axes}.wraps_z:",
            f"    for {edge} in range({2 * radius}):",
            f"        {position} = {edge}",
            f"        if {edge} >= {radius}:",
            f"            {position} = {axes}.z - {2 * radius} + {edge}",
            f"        {row} = np.uintp({start} + {position})",
            *(f"        {line}" for line in [*known, *edges, *beside.statements]),
            "    continue",
            f"for {edge} in range(2):",
            f"    for {row} in range({first}, {last}):",
            *(f"        {line}" for line in [*known, *listed.statements]),
        ]
        bodies = (listed, inside, beside)
        arrays = [*dict.fromkeys(line for body in bodies for line in body.arrays)]
        setup, arrays = self._shared_and_own(arrays)
        setup += dict.fromkeys(line for body in bodies for line in body.kept)
        strips = [
            f"for {strip} in {self.each}({rows} // {axes}.z):",
            *(f"    {line}" for line in [*arrays, *strips]),
        ]
        if self.chosen:
            order = self._order(rows)
            heads = self._lane_heads(arrays) if arrays else order.heads
            order = replace(order, heads=heads)
            strips = [
                f"if len({self.chosen}) > 1 or {rows} < 2:",
                *(f"    {line}" for line in order.heads),
                *(f"    {order.pad}{line}" for line in [*order.first, *listed.statements]),
                "else:",
                *(f"    {line}" for line in strips),
            ]
        delivery = [f"for {self.index} in range({rows}):", *(f"    {x}" for x in listed.delivery)]
        declared = [f"{row}: Any  # signed or unsigned"]
        declared += [f"{name}: Any" for name in self.annotated]
        return [*declared, *setup, *strips, *(delivery if listed.delivery else [])]

    def _shared_and_own(self, arrays: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the statements before the loop, and those that allocate what each lane has of its
        own; `arrays`: those that the rows need beside their lists."""
        setup = [line for near in self.neighbours.values() for line in near.setup()]
        if not self.is_parallel:
            return [*setup, *arrays], []
        lists = [line for near in self.neighbours.values() for line in near.lists()]
        return [line for line in setup if line not in lists], [*lists, *arrays]

    def _body(self, is_known: bool) -> LoopBody:
        """Return the body for one row; `is_known`: it has the same number in all components."""
        rows = dict.fromkeys(self.source.components, self.row) if is_known else {}
        flat = is_known and not self.neighbour_joins and is_flat(self.source, self.program)
        body = LoopBody(self, rows, self.neighbours, flat)
        body.add(self._lowered)
        return body

    @property
    def _start_lines(self) -> Iterator[str]:
        """Statements that cut columns to begin with the first of rows that follow each other."""
        for column in self.row_columns.values():
            if column.field is not None:
                first = column.times(f"{self.rows_of(column.field.owner)}[0]")
                yield f"{column.name} = {column.name}[{first} :]"

    def _loop(self, body: LoopBody) -> list[str]:
        setup, arrays = self._shared_and_own(body.arrays)
        if self.frozen_neighbours is not None and body.delivery:
            setup.append(f"{self.count} = len({self.frozen_neighbours.names['order']})")
        if self.is_ordered and body.delivery:
            setup.append(f"{self.count} = len({self._order_name})")
        setup += body.kept
        order = self._order(self._loop_count(body))
        if arrays:
            order = replace(order, heads=self._lane_heads(arrays))
        inside = [*order.first, *self._active_lines, *body.statements]
        lines = [*setup, *order.heads, *(order.pad + line for line in inside)]
        if body.delivery:  # deliver deferred messages
            senders = f"for {self.row} in {self.senders}:"
            lines.append(senders if self.senders else f"for {self.index} in range({self.count}):")
            lines += [f"    {line}" for line in body.delivery]
        lines += body.queue_delivery
        if self.grown:
            lines.append(f"return ({', '.join(self.grown)},)")
        return lines

    def _order(self, count: str) -> Order:
        """Return the order of a loop; `count`: number of its rows, if it gets no rows."""
        row, near, order = self.row, self.frozen_neighbours, self._order_name
        counter, turn, turns = self.index if self.turn == row else self.turn, row, order
        if self.words_of_turns is not None:
            words_of_turn, words = self.words_of_turns
            turn, turns = f"{row}, {words_of_turn}", f"zip({order}, {words}, strict=True)"
        heads = [f"for {turn} in {turns}:"]
        if counter != row:
            turn = turn if turn == row else f"({turn})"
            heads = [f"for {counter}, {turn} in enumerate({turns}):"]
        around = [p for access in self.neighbours.values() for p in access.parameters.values()]
        if near is not None:
            to_cell = near.next_cell_lines if self.is_parallel else near.locate_lines
            first = [*to_cell, *self._skip_lines, *near.list_rows_lines]
            return Order(around, near.heads, [*first, f"{row} = {near.number}"])
        if self.is_ordered:  # Python's own integers are quick to use
            kind = ("list[int]", "_order.tolist()") if self.is_plain else ("RowArray", "_order")
            first = [] if self.is_plain else [f"{row} = as_row({row})"]
            return Order([Parameter(order, *kind), *around], heads, first)
        rows = Parameter(self.count, "int", self.source.count)
        if self.program.runs_by_level:
            levels = Parameter(order, "RowArray", "self._levels.rows")
            if not self._is_of_active:
                return Order([levels], heads)
            return Order([rows, levels], heads, [f"if {row} >= {self.count}:", "    continue"])
        if self.chosen:
            n_rows = f"{rows.passed} if _chosen is None else len(_rows)"
            chosen = Parameter(self.chosen, "RowArray", "_rows")
            named = f"{row} = row_at({self.chosen}, {self.index})"
            head = f"for {self.index} in {self.each}({self.count}):"
            return Order([replace(rows, passed=n_rows), chosen, *around], [head], [named])
        return Order([rows, *around], [f"for {row} in {self.each}({count}):"])

    def _lane_heads(self, lists: Iterable[str]) -> list[str]:
        """Return heads of loops over rows in lanes that run at a time. Each has lists of its own,
        and a stretch of the rows: where cores share a cache line, they wait for each other."""
        lanes, lane = self.parameter("lanes", "int", "lane_count()"), self._lane
        near, count = self.frozen_neighbours, self.count
        heads = [f"for {lane} in prange({lanes}):", *(f"    {line}" for line in lists)]
        if near is not None:
            ranks = f"ranks_of_lane({near.names['order']}, {lane}, {lanes})"
            return [*heads, f"    {near.cell} = 0", f"    for {near.rank} in {ranks}:"]
        stretch = f"{lane} * {count} // {lanes}, ({lane} + 1) * {count} // {lanes}"
        return [*heads, f"    for {self.index} in range({stretch}):"]

    @property
    def _active_lines(self) -> list[str]:
        """Statements that leave out turns of inactive rows."""
        if not self._active_bound:
            return []
        bound = self.parameter("n_active", "int", self._active_bound)
        return [f"if {self.row} >= {bound}:", "    continue"]

    def _loop_count(self, body: LoopBody) -> str:
        """Return how often the loop over rows, or over their elements, runs."""
        if not body.is_flat:
            return self.count
        targets = (step.target for step in self.program.actions)
        target = next(target for target in targets if isinstance(target, FieldValue))
        elements = target.type.elements
        return f"{elements} * {self.count}" if elements > 1 else self.count


def function_text(
    name: str,
    parameters: Iterable[Parameter],
    docstring: str,
    body: Iterable[str],
    is_parallel: bool = False,
    is_plain: bool = False,
    returns: str = "None",
) -> str:
    """Return the text of a function; `body`: its lines; `is_plain`: Python itself runs it."""
    head = call(
        f"def {name}", [f"{p.name}: {p.annotation}" for p in parameters], 0, f" -> {returns}:"
    )
    compiled = [] if is_plain else [f"@jit({'parallel=True' if is_parallel else ''})"]
    inside = indent("\n".join([f'"""{docstring}"""', *body]), " " * 4)
    return "\n".join([*compiled, head, inside])


def is_independent(lowered: LoweredKernel) -> bool:
    """Return True if rows may run in any order, even at a time: what they send has a place for each
    row until all have run."""
    program = lowered.program
    in_order = program.runs_by_level or program.takes_turns or program.has_commands
    is_kept = all(message.is_deferred for message in lowered.messages)
    is_kept = is_kept and not queued_messages(lowered)
    moves = (node for node in walk_nested(lowered.body) if isinstance(node, MoveToCell))
    moves_others = any(move.row is not None for move in moves)
    counts = bool(program.whiles)  # how often loops are cut off
    return is_kept and not (in_order or moves_others or counts)


def is_flat(source: RowSource, program: Program) -> bool:
    """Return True if all columns have the same elements per row, and no element needs another."""
    expressions = [step.value for step in program.actions]
    targets = [step.target for step in program.actions if isinstance(step.target, FieldValue)]
    used = {*fields_in(program.where, *expressions), *targets}
    shapes = {field.type.shape for field in used}
    shapes |= {argument.type.shape for argument in program.arguments if argument.each}
    if len(shapes) != 1 or shapes == {()} or program.has_blocks or program.is_order_dependent:
        return False
    if program.where is not None or program.stream_field is not None:
        return False
    if program.sequential_reasons or program.effects.referenced_components:
        return False
    if any(step.changes_part for step in program.actions):
        return False
    values = *program.arguments, *program.settings
    if any(value.type.shape for value in values if not value.each):
        return False
    if any(node.owner == PARENT or source.field(node.owner, node.name).split for node in used):
        return False
    return not any(map(is_across, walk(*expressions)))
