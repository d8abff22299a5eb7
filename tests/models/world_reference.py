"""What kernels that see other rows do, row by row, neighbours included: to compare worlds with.

Nothing is fast here. Columns are copied from a world before it runs the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from ecsgen_runtime.testing import kernel_inputs
from ecsgen_runtime.testing.spaces import Cell, Space, answer, are_seen
from numpy.typing import NDArray

from ecsgen.model import Component, Kernel, Project
from ecsgen.model.columns import split_parts
from ecsgen.model.programs import (
    ENTITY,
    ID_SLOT,
    OWN,
    Argument,
    Distance,
    Exists,
    Expression,
    FieldValue,
    Local,
    Offset,
    OtherField,
    Question,
    Referred,
    Step,
)
from tests.models.kernel_reference import NIL, SCALARS, Reference, Value
from tests.models.kernel_scalars import SCALARS as NUMPY

Columns = dict[tuple[str, str], NDArray[Any]]


def columns_of(world: Any, project: Project) -> Columns:
    """Copies of all fields of a world's managers, by component and field; splits put together."""
    found: Columns = {}
    for component in project.components:
        data = getattr(world, component.module).data
        for field in component.fields:
            names = [part.name for part in split_parts(field)] if field.split else [field.name]
            parts = [np.array(getattr(data, name)) for name in names]
            shape = (len(parts[0]), *field.type.shape)
            found[component.name, field.name] = np.stack(parts, -1).reshape(shape)
    return found


class WorldReference(Reference):
    """Runs one kernel of a world or of a component on copies of the columns."""

    def __init__(
        self,
        world: Any,
        project: Project,
        kernel: Kernel,
        home: str,
        given: Mapping[str, Any],
        chosen: Sequence[int] | None = None,
    ) -> None:
        super().__init__({}, given)
        self.world = world
        self.kernel = kernel
        self.home = home  # the component whose kernel it is; empty: the world's
        self.parts: dict[str, Component] = {one.name: one for one in project.components}
        self.before = columns_of(world, project)
        self.now = {key: column.copy() for key, column in self.before.items()}
        self.seed = 0
        self.chosen = chosen  # the rows that a call names
        self.position = 0  # of the row among all, or those named: arguments may have a value for it
        self.places: Mapping[str, int] = {}
        self.messages: list[tuple[Step, tuple[str, str], int, Value]] = []

    def run_all(self) -> Columns:
        """Run the kernel, and return the columns as they are then."""
        program = self.kernel.program
        with np.errstate(all="ignore"):
            for position, places in self._in_order():
                self.position, self.places, self.locals_ = position, places, {}
                if program.where is None or self.value(program.where)[0]:
                    for step in program.steps:
                        self._assign(step)
            for message in self.messages:
                self.deliver(*message)
        return self.now

    def _in_order(self) -> list[tuple[int, dict[str, int]]]:
        """The rows in the order in which they act, and the place of each among all."""
        rows, who = [*enumerate(self._rows())], self.kernel.program.who
        if self.chosen is not None:
            running = {row[self.home]: row for _, row in rows}
            named = enumerate(self.chosen)
            rows = [(place, running[row]) for place, row in named if row in running]
        if self.kernel.turns != "random":
            return rows
        assert who is not None
        owner = self._owner(who)
        named_by = (self._who(owner, who.name, row[owner]) for _, row in rows)
        handles = np.array([*named_by], np.uint64)
        name = f"{self.home}.{self.kernel.name}" if self.home else self.kernel.name
        stems = kernel_inputs.stems(self.seed, name, 0, handles)
        words = [kernel_inputs.mix(stem + kernel_inputs.STEP & kernel_inputs.ALL) for stem in stems]
        return [rows[k] for k in sorted(range(len(rows)), key=words.__getitem__)]

    def _who(self, owner: str, name: str, row: int) -> int:
        if name == ID_SLOT:
            return int(self.manager(owner).id_of(row))
        if name == ENTITY:
            return int(self.manager(owner).data.entity[row])
        return int(self.now[owner, name][row])

    def _rows(self, over: str = "") -> Iterator[dict[str, int]]:
        """The rows of a group, query or component; by default those that the kernel runs over."""
        over = over or self.home or self.kernel.over
        if over in self.parts:
            data = self.manager(over).data
            is_all = self.home and self.kernel.rows != "active"
            n = data.n if is_all or not self.parts[over].partition else data._n_active
            yield from ({over: row} for row in range(n))
            return
        source = getattr(self.world, over)
        if hasattr(source, "rows"):
            rows = source.rows()
            names = {name: self.parts[name].module for name in self.parts}
            present = {name: module for name, module in names.items() if hasattr(rows, module)}
            for k in range(len(rows.entity)):
                yield {name: int(getattr(rows, present[name])[k]) for name in present}
            return
        members = [name for name in self.parts if hasattr(source, self.parts[name].module)]
        yield from (dict.fromkeys(members, row) for row in range(source.n))

    def manager(self, component: str) -> Any:
        return getattr(self.world, self.parts[component].module)

    def value(self, node: Expression) -> Value:
        match node:
            case Argument(each=True):
                return self._elements(self.arguments[node.name][self.position], node.type)
            case Referred():
                row = self.found(node.component, node.handle)
                if row == NIL:
                    return [NUMPY[node.type.scalar](one) for one in node.default]
                return self._elements(self.others()[node.component, node.name][row], node.type)
            case Exists():
                if node.component:
                    return [np.bool_(self.found(node.component, node.handle) != NIL)]
                return [np.bool_(self.world.entities.alive(int(self.value(node.handle)[0])))]
        return super().value(node)

    def others(self) -> Columns:
        """The columns of other rows: before the kernel, or when it is a row's turn."""
        return self.now if self.kernel.program.takes_turns else self.before

    def found(self, component: str, handle: Expression) -> int:
        """The row of a living entity, or with an id."""
        number, manager = int(self.value(handle)[0]), self.manager(component)
        is_owned = self.parts[component].owner == "entity"
        if handle.type.kind == "entity":
            return int(manager.lookup(number)) if self.world.entities.alive(number) else NIL
        row = int(manager.resolve(number))
        if row != NIL and is_owned and not self.world.entities.alive(manager.entity(row)):
            return NIL
        return row

    def _owner(self, node: FieldValue) -> str:
        return self.home if node.owner == OWN else node.owner

    def _field(self, node: FieldValue) -> Value:
        owner = self._owner(node)
        row = self.places[owner]
        if node.name == ENTITY:
            return [np.uint64(self.manager(owner).data.entity[row])]
        return self._elements(self.now[owner, node.name][row], node.type)

    def _assign(self, step: Step) -> None:
        value = self.value(step.value)
        if isinstance(step.target, Local):
            self.locals_[step.target.name] = value
            return
        if isinstance(step.target, Referred):
            target = step.target
            row = self.found(target.component, target.handle)
            message = step, (target.component, target.name), row, value
            if row != NIL and self.is_heard():
                if program_takes_turns := self.kernel.program.takes_turns:
                    self.deliver(*message)
                self.messages += [] if program_takes_turns else [message]
            return
        assert isinstance(step.target, FieldValue)
        owner = self._owner(step.target)
        self.put((owner, step.target.name), (self.places[owner], *step.index), value, step)

    def is_heard(self) -> bool:
        """Whether the row's own entity is alive, or it is nobody's."""
        owned = [name for name in self.places if self.parts[name].owner == "entity"]
        if not owned:
            return True
        owner = self.manager(owned[0]).data.entity[self.places[owned[0]]]
        return bool(self.world.entities.alive(int(owner)))

    def deliver(self, step: Step, key: tuple[str, str], row: int, value: Value) -> None:
        """Let a message arrive."""
        if step.how == "=":
            self.put(key, (row, *step.index), value, step)
            return
        there = self._elements(self.now[key][(row, *step.index)], step.type)
        given = value * len(there) if len(value) == 1 else value
        made = [SCALARS[step.how](one, other) for one, other in zip(there, given, strict=True)]
        self.put(key, (row, *step.index), made, step)

    def put(self, key: tuple[str, str], place: tuple[int, ...], value: Value, step: Step) -> None:
        """Write a cell or an element."""
        column, shape = self.now[key], step.type.shape
        filled = value * math.prod(shape) if len(value) == 1 else value
        column[place] = np.array(filled, column.dtype).reshape(shape)


def same(
    found: Columns, expected: Columns, used: Mapping[str, NDArray[Any]], zeros_alike: bool = False
) -> None:
    """Assert that columns are the same to the bit in the rows in use; NaN is NaN.

    The sign of a zero from `min` and `max` is not promised.
    """
    for key, column in expected.items():
        one, other = found[key][used[key[0]]], column[used[key[0]]]
        if one.dtype.kind == "f":
            bits = f"i{one.dtype.itemsize}"
            alike = (one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other))
        else:
            alike = one == other
        alike |= zeros_alike & (one == other)
        assert alike.all(), (key, one[~alike], other[~alike])


def used_rows(world: Any, project: Project) -> dict[str, NDArray[Any]]:
    """The rows in use of each component."""
    found = {}
    for component in project.components:
        data = getattr(world, component.module).data
        has_holes = component.lookup == "direct"
        found[component.name] = np.flatnonzero(data.present) if has_holes else np.arange(data.n)
    return found


Places = dict[str, int]


class NearReference(WorldReference):
    """Runs a kernel of a world or of a component, which may ask neighbours."""

    def _in_order(self) -> list[tuple[int, Places]]:
        near = self.kernel.program.near
        if near is not None:
            radius = near.radius
            if isinstance(radius, Argument):
                radius = float(NUMPY[radius.type.scalar](self.arguments[radius.name]))
            assert not isinstance(radius, FieldValue)
            self.home_of_places = self._owner(near.place)
            self.space_key = self.home_of_places, near.place.name
            manager = self.manager(self.home_of_places)
            self.space = Space(radius, manager.wrap, self.now[self.space_key].dtype)
            self.is_one = near.among in ("", self.home or self.kernel.over)
            self._enter(near.among, are_seen(manager))
        return super()._in_order()

    def _enter(self, among: str, seen: list[bool]) -> None:
        """Put everybody who may be asked into a cell, in the order of their rows."""
        self.members = {rows[self.home_of_places]: rows for rows in self._rows(among)}
        self.cells: dict[Cell, list[int]] = {}
        self.cell_of: dict[int, Cell] = {}
        self.members = {
            row: rows
            for row, rows in self.members.items()
            if seen[row] and all(self._is_active(*one) for one in rows.items())
        }
        for row in self.members:
            self._move(row)

    def _is_active(self, component: str, row: int) -> bool:
        data = self.manager(component).data
        return not self.parts[component].partition or row < data._n_active

    def _move(self, row: int) -> None:
        """Let a member go to the cell of its place, to the end of those who are there."""
        place = self.now[self.space_key][row]
        cell = self.space.cell(place) if np.isfinite(place).all() else None
        before = self.cell_of.pop(row, None)
        if before is not None and before != cell:
            self.cells[before].remove(row)
        if cell is not None:
            self.cell_of[row] = cell
            if before != cell:
                self.cells.setdefault(cell, []).append(row)

    def put(self, key: tuple[str, str], place: tuple[int, ...], value: Value, step: Step) -> None:
        super().put(key, place, value, step)
        program = self.kernel.program
        moves = program.near is not None and program.takes_turns and key == self.space_key
        if moves and place[0] in self.members:
            self._move(place[0])

    def value(self, node: Expression) -> Value:
        match node:
            case Question():
                return self._answer(node)
            case Offset():
                return self.offset
            case Distance():
                return [np.sqrt(self.space.square(self.offset))]
            case OtherField():
                owner = self._owner(FieldValue(node.type, node.name, node.owner))
                row = self.asked[owner]
                if node.name == ENTITY:
                    return [np.uint64(self.manager(owner).data.entity[row])]
                return self._elements(self.others()[owner, node.name][row], node.type)
        return super().value(node)

    def _answer(self, node: Question) -> Value:
        values: list[Value] = []
        squares: list[Any] = []
        for asked, offset in self._around():
            self.asked, self.offset = asked, offset
            squares.append(self.space.square(self.offset))
            values.append([np.True_] if node.value is None else self.value(node.value))
        kind: Any = NUMPY[node.type.scalar]
        return answer(node.how, kind, node.type.elements, values, squares)

    def _around(self) -> list[tuple[Places, Value]]:
        """The neighbours of the row in their order, and the ways to them."""
        column, own = self.others()[self.space_key], self.places[self.home_of_places]
        place = column[own]
        if not np.isfinite(place).all():
            return []
        found = []
        for cell in self.space.around(self.space.cell(place)):
            for row in self.cells.get(cell, []):
                is_other = row != own if self.is_one else not self._is_same(self.members[row])
                if is_other and self.space.in_reach(place, column[row]):
                    found.append((self.members[row], self.space.offset(place, column[row])))
        return found

    def _is_same(self, member: Places) -> bool:
        """Whether a row of another set is of the same entity."""
        owners = self.manager(self.home_of_places).data.entity
        own, other = (rows[self.home_of_places] for rows in (self.places, member))
        return bool(owners[own] == owners[other])
