"""Neighbourhoods without a radius in loops, and with a radius of each row: all rows of a source
are looked at, in their order."""

from __future__ import annotations

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.loop_neighbours import SpaceNeighbours
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code


class AllNeighbours(SpaceNeighbours):
    """All living, active rows but the row itself and those of its entity; offsets where both have
    positions in one space."""

    may_be_nowhere = True

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        self.is_python = builder.is_plain
        owner = join.position_owner
        self._manager = builder.source.managers.manager(join.components[owner].name)
        expression = f"live_active_rows({self._manager})"
        if self._is_joined:
            self._member(owner, "")  # adds the parameter with the members
            arguments = [self._manager, join.other_rows(owner), *filter(None, [join.hidden])]
            expression = f"visible_members({', '.join(arguments)})"
        kind = "RowArray"
        if self.is_python:
            kind, expression = "list[int]", f"{expression}.tolist()"
        self._all = builder.table(f"everybody{join.tag}", kind, expression)
        self._turn, self._reach = self.reserve("f"), self.reserve("reach")

    def setup(self) -> list[str]:
        lines = [] if self.is_python else self.lists()
        if self.axes:
            sizes = f"wrap_sizes({self._manager}.wrap, {SCALARS[self.scalar].numpy})"
            lines += self._size_lines(self._builder.table(f"sizes{self.join.tag}", "Any", sizes))
        return lines

    def lists(self) -> list[str]:
        return [f"{self.listed} = np.empty(len({self._all}) + 1, np.intp)"]

    def list_lines(self, body: RowLoop) -> list[str]:
        candidate = self.candidate
        tests, within = [*self._own_tests(body)], list[str]()
        with body.into(within):
            gone = body.gone_test(self.join, self.row_of, self.link_row)
        tests += [f"not ({gone})"] if gone else []
        lines = self._start_lines(body)
        if isinstance(radius := self.join.near.radius, tree.FieldValue):
            lines += self._reach_lines(body, radius)
            within += self.offset_lines()
            tests.append(f"{self.square} <= {self._reach}")
            # the square of a large radius is infinite, and so are some positions
            positions = [*self._starts, *map(self._place, range(self.axes))]
            tests += [f"abs({position}) < np.inf" for position in positions]
        test = " and ".join(tests) or "True"
        if self.is_python and not within:
            return [
                *lines,
                f"{self.listed} = [{candidate} for {candidate} in {self._all} if {test}]",
                f"{self.count} = len({self.listed})",
            ]
        inside = [f"    {line}" for line in within]
        if self.is_python:
            return [
                *lines,
                f"{self.listed} = []",
                f"for {candidate} in {self._all}:",
                *inside,
                f"    if {test}:",
                f"        {self.listed}.append({candidate})",
                f"{self.count} = len({self.listed})",
            ]
        return [
            *lines,
            f"{self.count} = 0",
            f"for {self._turn} in range(len({self._all})):",
            f"    {candidate} = {self._all}[{self._turn}]",
            *inside,
            f"    {self.listed}[{self.count}] = {candidate}",
            f"    if {test}:",
            f"        {self.count} += 1",
        ]

    def _reach_lines(self, body: RowLoop, radius: tree.FieldValue) -> list[str]:
        """Return the statements for the square of the row's own radius; -1 of none."""
        kind = SCALARS[self.scalar].numpy
        number = body.assign(Code(f"{kind}({body.value(radius).at(0).text})"), "radius").text
        square = f"{number} * {number} if 0 <= {number} < np.inf else {kind}(-1)"
        return [f"{self._reach} = {square}"]

    def _own_tests(self, body: RowLoop) -> list[str]:
        """Return the tests that a candidate is neither the row nor, where no radius is given or a
        query asks or is asked, of the same entity."""
        join, components = self.join, self.join.components
        if join.near.has_itself:
            return []
        shared = {n: c for n, c in components.items() if n in join.source.components}
        is_by_row = join.near.radius is not None and not (
            self._is_joined or join.source.member_indices is not None
        )
        for name, component in shared.items():
            if is_by_row or component.owner == "none" or component.instances == "one":
                return [f"{self.row_of(name)} != {body.row_of(name)}"]
        owned = next((n for n, c in join.source.components.items() if c.owner == "entity"), None)
        other = next((n for n, c in components.items() if c.owner == "entity"), None)
        if owned is None or other is None:
            return []
        entity = tree.NeighbourField(tree.HANDLE, tree.ENTITY, other, join.near.name)
        return [f"{body.value(entity).at(0).text} != {body.owner_entity(owned)}"]

    def _start_lines(self, body: RowLoop) -> list[str]:
        if not self.axes:
            return []
        position, builder = self.join.near.position, self._builder
        arrays = builder.neighbour_arrays(self._position)
        here = builder.cells(arrays, position.type, body.row_of(position.owner))
        return [f"{start} = {here.at(axis).text}" for axis, start in enumerate(self._starts)]

    def offset_now_lines(self, body: RowLoop) -> list[str]:
        return [*self._start_lines(body), *self.offset_lines()] if self.axes else []

    def _place(self, axis: int) -> str:
        return self._field_value(self._position).at(axis).text
