"""Neighbours in loops: whom a row asks, how those in reach are listed, what they have; as all was
before the kernel, or as it is now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from ecsgen.model.programs import Near, OtherField
from ecsgen.model.scalars import SCALARS
from ecsgen.render.loops.asking import Around
from ecsgen.render.loops.code import Code, Names
from ecsgen.render.loops.columns import Parameter, cells_of
from ecsgen.render.loops.values import UNROLLED, Value

Arrays = Callable[[OtherField], list[str]]
"""Gives the parameters of a field that neighbours have: one, or one for each of its elements."""
Members = Callable[[str, str], str]
"""Gives the expression for a member's row in a component."""

PARTS: Final = (
    ("order", "NDArray[np.uint32]"),
    ("cells", "NDArray[np.uint32]"),
    ("runs", "NDArray[np.uint32]"),
    ("low", "NDArray[np.uint32]"),
    ("high", "NDArray[np.uint32]"),
    ("crosses", "NDArray[np.bool_]"),
    ("most", "int"),
    ("own", "NDArray[{}]"),
    ("others", "NDArray[{}]"),
    ("reach", "{}"),
    ("sizes", "NDArray[{}]"),
)
"""What `NearCells` has, and of which types, some of which are that of places."""
_MEMBERS: Final = (("members", "NDArray[np.uint32]"),)
"""What the world's kernels take besides."""
_NAMES: Final = (("names", "EntityArray"), ("other_names", "EntityArray"))
"""By which those who ask are told from those who are asked."""


class Neighbours(ABC):
    """The way to a neighbour, and what it has."""

    parameters: list[Parameter]
    """What the function is given."""
    places: str
    """The variable with the places of all who may be asked."""

    def __init__(self, near: Near, names: Names, arrays: Arrays, members: Members) -> None:
        self._names = names
        self._arrays = arrays
        self._members = members
        self._scalar, axes = near.place.type.scalar, near.place.type.shape[0]
        self._begin()
        kept, letters = names.kept, "xyz"[:axes]
        self._starts = [kept(one, f"_{one}") for one in letters]
        self._halves = [kept(f"half_{one}", f"_half_{one}") for one in letters]
        self._sizes = [kept(f"size_{one}", f"_size_{one}") for one in letters]
        offsets = [kept(f"d{one}", f"_d{one}") for one in letters]
        self.cell, self.ranked = kept("c", "_c"), kept("k", "_k")
        self._run = kept("r", "_r")
        place, found, count = kept("o", "_o"), kept("found", "_found"), kept("count", "_count")
        self.around = Around(axes, self._scalar, place, found, count, offsets, self._way, self._has)

    @abstractmethod
    def _begin(self) -> None:
        """Take names for what the function is given."""

    @abstractmethod
    def _has(self, node: OtherField) -> Value:
        """What a neighbour has in a field."""

    @abstractmethod
    def setup(self, row: str) -> list[str]:
        """The statements before the loop, once all of it is written; `row`: its variable."""

    def _way(self, crosses: bool = True) -> list[str]:
        """The statements that find the way to a neighbour, the short one around if it may cross
        a border."""
        found, others = [], self.places
        for axis, (start, apart) in enumerate(zip(self._starts, self.around.offsets, strict=True)):
            half, size = self._halves[axis], self._sizes[axis]
            found.append(f"{apart} = {others}[{axis}, {self.around.place}] - {start}")
            if crosses:
                found.append(f"if abs({apart}) > {half}:")
                found.append(f"    {apart} = {apart} - {size} * np.rint({apart} / {size})")
        return found

    def _measured(self, sizes: str) -> list[str]:
        """The statements that name the sizes of axes."""
        lines = []
        for axis, (size, half) in enumerate(zip(self._sizes, self._halves, strict=True)):
            lines += [f"{size} = {sizes}[0, {axis}]", f"{half} = {sizes}[1, {axis}]"]
        return lines


class Before(Neighbours):
    """As everything was before the kernel: rows in the order of their cells, each with a list of
    those in reach, whose fields are copied in that order."""

    def __init__(
        self,
        near: Near,
        names: Names,
        arrays: Arrays,
        members: Members,
        is_world: bool,
        is_two: bool,
    ) -> None:
        """`is_two`: others are asked than those who ask."""
        self._is_two = is_two
        self._wanted = (*PARTS, *(_MEMBERS if is_world else ()), *(_NAMES if is_two else ()))
        self._copies: dict[str, tuple[str, OtherField, int]] = {}
        """Columns in the order of cells: by name, what each is of, and elements of a row."""
        super().__init__(near, names, arrays, members)

    def _begin(self) -> None:
        dtype, kept = SCALARS[self._scalar].numpy, self._names.kept
        self.parts = {
            name: Parameter(kept(name, f"_{name}"), text.format(dtype), f"_cells.{name}")
            for name, text in self._wanted
        }
        self.parameters = list(self.parts.values())
        self.places = self._part("others")

    def _part(self, name: str) -> str:
        return self.parts[name].name

    @property
    def order(self) -> str:
        """The variable with the rows in the order of cells."""
        return self._part("order")

    @property
    def heads(self) -> list[str]:
        """The first lines of the loops: over cells, and over the rows of each."""
        cell, cells = self.cell, self._part("cells")
        return [
            f"for {cell} in range(len({cells}) - 1):",
            f"    for {self.ranked} in range({cells}[{cell}], {cells}[{cell} + 1]):",
        ]

    @property
    def number(self) -> str:
        """The expression for the row of these loops."""
        return f"{self.order}[{self.ranked}]"

    # --- copies in the order of cells ------------------------------------------------------------

    def _has(self, node: OtherField) -> Value:
        arrays = self._arrays(node)
        elements = node.type.elements if len(arrays) == 1 else 1
        names, place = [self._copy(one, node, elements) for one in arrays], self.around.place
        if len(names) > 1 or not node.type.shape:
            return Value(node.type, lambda p: Code(f"{names[int(p)]}[{place}]"), len(names) > 1)
        if elements == 1:
            return Value(node.type, lambda p: Code(f"{names[0]}[{place}]"))
        return Value(node.type, lambda p: Code(f"{names[0]}[{p}, {place}]"))

    def _copy(self, array: str, node: OtherField, elements: int) -> str:
        """The name of a column in the order of cells."""
        for name, (source, *_) in self._copies.items():
            if source == array:
                return name
        name = self._names.kept(f"other_{array}")
        self._copies[name] = array, node, elements
        return name

    def setup(self, row: str) -> list[str]:
        lines = self._measured(self._part("sizes"))
        lines.append(f"{self.around.found} = np.empty({self._part('most')} + 1, np.uint32)")
        for name, (array, node, elements) in self._copies.items():
            lines += self._copied(name, array, node, elements, row)
        return lines

    def _copied(
        self, name: str, array: str, node: OtherField, elements: int, row: str
    ) -> list[str]:
        members = self._part("members") if "members" in self.parts else self.order
        k, dtype = self.ranked, SCALARS[node.type.scalar].numpy
        member = self._members(node.owner, f"{members}[{k}]")
        head = [f"for {k} in range(len({members})):", f"    {row} = {member}"]
        if elements == 1:
            made = f"{name} = np.empty(len({members}), {dtype})"
            return [made, *head, f"    {name}[{k}] = {array}[{row}]"]
        made = f"{name} = np.empty(({elements}, len({members})), {dtype})"
        if elements > UNROLLED:
            each = f"    for {self._run} in range({elements}):"
            cell = f"{array}[{elements} * {row} + {self._run}]"
            return [made, *head, each, f"        {name}[{self._run}, {k}] = {cell}"]
        starts = [f"{elements} * {row}{f' + {p}' if p else ''}" for p in range(elements)]
        each_of = (f"    {name}[{p}, {k}] = {array}[{at}]" for p, at in enumerate(starts))
        return [made, *head, *each_of]

    # --- the list --------------------------------------------------------------------------------

    @property
    def rows_around(self) -> list[str]:
        """The statements that list those in reach of a row, without a branch for each."""
        around, run, place, cell = self.around, self._run, self.around.place, self.cell
        low, high, runs, reach = map(self._part, ("low", "high", "runs", "reach"))

        def listed(crosses: bool) -> list[str]:
            return [
                f"    for {run} in range({runs}[{cell}], {runs}[{cell} + 1]):",
                f"        for {place} in range({low}[{run}], {high}[{run}]):",
                *(f"            {line}" for line in self._way(crosses)),
                f"            {around.found}[{around.count}] = {place}",
                f"            {around.count} += ({around.square} <= {reach}) & "
                f"({self._is_other})",
            ]

        own, head = self._part("own"), f"if {self._part('crosses')}[{cell}]:"
        starts = [f"{one} = {own}[{axis}, {self.ranked}]" for axis, one in enumerate(self._starts)]
        return [*starts, f"{around.count} = 0", head, *listed(True), "else:", *listed(False)]

    @property
    def _is_other(self) -> str:
        """The expression that tells a member from the row that asks."""
        if not self._is_two:
            return f"{self.around.place} != {self.ranked}"
        names, others = self._part("names"), self._part("other_names")
        return f"{others}[{self.around.place}] != {names}[{self.ranked}]"


class Now(Neighbours):
    """As everything is now: cells from which rows go and to which they come, whenever something is
    written to a place."""

    def _begin(self) -> None:
        self.places = self._names.kept("places", "_places")
        name = self._names.kept("cells_now", "_cells")
        self._cells = name
        self.parameters = [Parameter(name, "TurnCells", "_cells")]

    def _has(self, node: OtherField) -> Value:
        row = self._members(node.owner, self.around.place)
        return cells_of(self._arrays(node), node.type, row, f"{node.type.elements} * {row}")

    def setup(self, row: str) -> list[str]:
        most = f"np.empty(len({self._cells}.names) + 1, np.intp)"
        return [
            f"{self.places} = {self._cells}.places",
            *self._measured(f"{self._cells}.sizes"),
            f"{self.around.found} = {most}",
        ]

    def listed(self, row: str, place: Value) -> list[str]:
        """The statements that list those in reach of a row's place."""
        starts = [f"{start} = {place.at(axis).text}" for axis, start in enumerate(self._starts)]
        given = f"{self._cells}, {row}, ({', '.join(self._starts)})"
        return [*starts, f"{self.around.count} = near_now({given}, {self.around.found})"]

    def moved(self, row: str, place: Value) -> str:
        """The statement after which a row is where its place is now."""
        axes = ", ".join(place.at(axis).text for axis in range(place.type.elements))
        return f"move_to({self._cells}, {row}, ({axes}))"
