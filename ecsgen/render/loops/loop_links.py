"""Neighbours at the other ends of links in loops: those of a row are a range among all."""

from __future__ import annotations

from collections.abc import Iterable

from ecsgen.model import typed_tree as tree
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_values import Value
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.row_loop import RowLoop


class LinkedNeighbours(NeighbourAccess):
    """Neighbours by the links before the kernel; a candidate is the place of a link among these.

    Where links or entities may have gone since, the others are listed."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        self.is_python = builder.is_plain
        self._network = f"_network{join.tag}"
        self._first = self.reserve("first")
        self._starts = self._array("starts")
        if self._is_joined:
            self._member(join.position_owner, "")  # adds the parameter with the members
        self._is_list = False
        """True if the neighbours of a row are in a list."""

    def _array(self, name: str) -> str:
        kind, data = ("memoryview[int]", ".data") if self.is_python else ("RowArray", "")
        shown = {"starts": "starts", "rows": "ends", "links": "link_rows"}[name]
        return self.add_parameter(f"{shown}{self.join.tag}", kind, f"{self._network}.{name}{data}")

    @property
    def new_list(self) -> str:
        return f"np.empty({self.most}, np.intp)"

    @property
    def most(self) -> str:
        most = f"{self._network}.most"
        return self.add_parameter(f"most_links{self.join.tag}", "int", most)

    def listed_at(self, index: str) -> str:
        if self._is_list or self.is_python:
            return super().listed_at(index)
        return f"as_row({self._first} + {index})"

    def setup(self) -> list[str]:
        return self.lists()

    def lists(self) -> list[str]:
        return [f"{self.listed} = {self.new_list}"] if self._is_list and not self.is_python else []

    def list_lines(self, body: RowLoop) -> list[str]:
        row, starts, listed = self._builder.row, self._starts, self.listed
        test = body.gone_test(self.join, self.row_of, self.link_row)
        span = f"{starts}[{row}], {starts}[{row} + 1]"
        if self.is_python:
            lines = f"{listed} = range({span})"
            if test:
                link = self.candidate
                lines = f"{listed} = [{link} for {link} in range({span}) if not ({test})]"
            return [lines, f"{self.count} = len({listed})"]
        if not test:
            return [
                f"{self._first} = {starts}[{row}]",
                f"{self.count} = {starts}[{row} + 1] - {self._first}",
            ]
        self._is_list = True
        return [
            f"{self.count} = 0",
            f"for {self.candidate} in range({span}):",
            f"    {listed}[{self.count}] = {self.candidate}",
            f"    if not ({test}):",
            f"        {self.count} += 1",
        ]

    def link_row(self, owner: str) -> str:
        return f"{self._array('links')}[{self.candidate}]"

    def row_of(self, owner: str) -> str:
        number = f"{self._array('rows')}[{self.candidate}]"
        number = number if self.is_python else f"as_row({number})"
        return self._member(owner, number) if self._is_joined else number

    def fetch_lines(self, values: Iterable[tree.Expression]) -> list[str]:
        if self.is_python or self._is_joined or self._builder.is_ordered:
            return []
        nodes = (node for value in values for node in tree.walk(value))
        fields = (n for n in nodes if isinstance(n, tree.NeighbourField) and not n.type.shape)
        arrays = [self._builder.neighbour_arrays(field)[0] for field in fields if not field.is_link]
        ends = self._array("rows")
        return [f"fetch_ahead({name}, {ends}, {self.candidate})" for name in dict.fromkeys(arrays)]

    def _field_value(self, node: tree.NeighbourField) -> Value:
        arrays = self._builder.neighbour_arrays(node)
        row = self.link_row(node.owner) if node.is_link else self.row_of(node.owner)
        return self._builder.cells(arrays, node.type, row)
