"""Effects of a kernel: writes and messages, moves, spawns and despawns, components that come and
go."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from typing import TypeAlias

from .naive_world import Change, Row, Spawn, World
from .neighbours import Surroundings
from .schema import SETTINGS, Kernel
from .scopes import Index, Names, Scope
from .values import Value, binary, replaced, value

Message: TypeAlias = tuple[Row, str, Index, str, Value]
"""A row, a field, the index of an element, the operator and the operand."""


class Effects(Surroundings):
    """Surroundings that the steps of a call act on."""

    def __init__(
        self, world: World, kernel: Kernel, arguments: Mapping[str, Value], names: Names
    ) -> None:
        super().__init__(world, kernel, arguments, names.chosen)
        self.kernel, self.keeps_handles = kernel, names.keeps_handles
        self.despawned: dict[int | Row, None] = {}
        """Entities, and rows without owner, in the order of their deaths."""
        self.spawned: list[Spawn] = []
        self._handles: list[int] = []
        """Those of the spawned, if the kernel keeps handles."""
        self.changes: list[Change] = []
        """Components that entities get or lose after the pass."""
        self.written: set[tuple[str, str]] = set()
        """Components and fields."""
        self._messages: list[Message] = []
        self._cut_off = Counter[ast.AST]()
        """How often loops were cut off, by their condition."""

    def cut_off(self, condition: ast.expr) -> None:
        """Take note that a `while` has ended with its condition still true."""
        self._cut_off[condition] += 1

    def warnings(self) -> list[str]:
        """Return a text for each `while` that was cut off."""
        name, at_most = self.kernel.name, self.kernel.at_most
        return [
            f"{name}: `while {ast.unparse(condition)}` was still true after {at_most} passes, "
            f"{count} times"
            for step in self.kernel.steps
            for condition in ast.walk(step)
            if (count := self._cut_off.get(condition, 0))
        ]

    def write(self, row: Row, field: str, index: Index, new: Value) -> None:
        """Write a row's own field, or an element of it."""
        self.remember(row, field)
        self._put(row, field, replaced(row.cells[field], index, new) if index else new)

    def send(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        """Send a message, which arrives after the last row; in turns at once."""
        if self.in_turns:
            self._deliver(row, field, index, sign, operand)
        else:
            self._messages.append((row, field, index, sign, operand))

    def deliver(self) -> None:
        """Deliver messages, and hold settings within their bounds."""
        for message in self._messages:
            self._deliver(*message)
        for name, field in self.written:
            if name == SETTINGS:
                self._clip(field)

    def _deliver(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        old = row.cells[field]
        if sign:
            operand = binary(sign, Value(old.type, old.data[index]), operand)
        self._put(row, field, replaced(old, index, operand))

    def _put(self, row: Row, field: str, new: Value) -> None:
        """Put a value in a field; a move may not happen."""
        self.written.add((row.component, field))
        if row.component == SETTINGS:
            row.cells[field] = new
            if self.in_turns:
                self._clip(field)
        elif field == self.components[row.component].stands:
            self._move(row, field, new)
        else:
            row.cells[field] = new
        self.follow(row)

    def _clip(self, setting: str) -> None:
        """Hold a setting within its bounds: in turns after each assignment, else at last."""
        settings, field = self.world.settings, self.world.field(SETTINGS, setting)
        settings[setting] = settings[setting] if field.shape else field.clipped(settings[setting])

    # Moves: in turns everybody sees them; the new cell is taken first, then the old one is free

    def _move(self, row: Row, field: str, new: Value) -> None:
        name, old = row.component, int(row.cells[field].one)
        if new.one == old or not self.world.lives(row) or self.is_full(name, new.one):
            return
        if self.in_turns:
            self.occupants(name).move(row, old, new.one)
        row.cells[field] = new

    # Spawns and despawns

    def despawn(self, scope: Scope, dead: int | Row | None) -> bool:
        """Despawn an entity or a row; return True if it is the scope's own."""
        is_there = isinstance(dead, Row) or dead in self.world.entities
        if dead is None or not is_there:
            return False
        self.despawned[dead] = None
        if self.in_turns:
            self._end(dead)
        return dead == scope.row.owner or dead in scope.rows.values()

    def _end(self, dead: int | Row) -> None:
        """Mark an entity or row as dead; its cells are free."""
        if isinstance(dead, Row):
            dead.is_dead = True
        else:
            self.world.entities.discard(dead)
        for name, occupants in self._occupants.items():
            for row in self.world.rows[name]:
                if row is dead or row.owner == dead:
                    occupants.release(self.cell_number(row))

    def spawn(self, spawn: Spawn) -> int:
        """Spawn, unless a cell has no capacity; return the handle, if the kernel keeps handles."""
        stands = [(name, self.components[name].stands) for name in spawn]
        cells = [(name, int(spawn[name][f].one)) for name, f in stands if f in spawn[name]]
        if any(self.is_full(name, cell) for name, cell in cells):
            return 0
        self.spawned.append(spawn)
        for name, cell in cells if self.in_turns else ():
            self.occupants(name).reserve(cell)
        if not self.keeps_handles:
            return 0
        (handle,) = self.world.new_handles("" if self.is_owned(spawn) else next(iter(spawn)), [0])
        self._handles.append(handle)
        return handle

    def is_owned(self, spawn: Spawn) -> bool:
        """Return True if an entity is spawned, not a row without owner."""
        return any(self.components[name].is_owned for name in spawn)

    # After the pass

    def apply(self) -> None:
        """Apply despawns, removals, spawns, then additions, to the interpreter's own world."""
        self._apply_despawns()
        self._remove_components()
        self._apply_spawns()
        self._add_components()

    def _apply_despawns(self) -> None:
        for dead in self.despawned:
            self._end(dead)
        for name, rows in [*self.world.rows.items()] if self.despawned else ():
            destroy = self.components[name].destroy
            owners: Container[object] = () if destroy == "manual" else self.despawned
            # callbacks are called last; managers that collect are told at once, of owners alone
            is_last = destroy == "callback"
            fallen = self._fallen(name, rows) if is_last else set[Row]()
            removed = [r for r in rows if r.is_dead or r.owner in owners or r in fallen]
            first = [r for r in removed if (r in self.despawned if is_last else r.owner in owners)]
            self.world.remove(first)
            self.world.remove([row for row in removed if row not in first])

    def _fallen(self, name: str, rows: list[Row]) -> set[Row]:
        """Clear fields that refer to who has died; return the rows that go with them."""
        fallen = set[Row]()
        for field, effect in self.components[name].on_delete.items():
            for row in (row for row in rows if row.cells[field].one in self.despawned):
                if effect == "cascade":
                    fallen.add(row)
                else:
                    row.cells[field] = value("entity", 0)
        return fallen

    def _remove_components(self) -> None:
        removed = {(c.owner, c.component) for c in self.changes if c.cells is None}
        rows = [row for rows in self.world.rows.values() for row in rows if self.world.lives(row)]
        self.world.remove(row for row in rows if (row.owner, row.component) in removed)

    def _apply_spawns(self) -> None:
        world, new = self.world, defaultdict[str, list[Row]](list)
        owned = [spawn for spawn in self.spawned if self.is_owned(spawn)]
        handles = iter(self._handles)
        if not self._handles and owned:
            handles = iter(world.new_handles("", [0] * len(owned)))
        for spawn in self.spawned:
            handle = next(handles) if self._handles or self.is_owned(spawn) else 0
            owner, id_ = (handle, 0) if self.is_owned(spawn) else (0, handle)
            world.entities |= {owner} - {0}
            for name, cells in spawn.items():
                new[name].append(world.new_row(name, owner, id_, cells))
        for name, rows in new.items():
            self._append(name, rows)

    def _add_components(self) -> None:
        """Add components, one after the other; who has one already keeps it."""
        for owner, name, cells, replaces in self.changes:
            if cells is None or owner not in self.world.entities:
                continue
            for component, fields in {**self.world.spawned([name]), name: cells}.items():
                row = self.world.first(component, owner)
                new = self.world.new_row(component, owner, 0, fields)
                is_another = component == name and self.components[name].has_many
                if row is None or is_another:
                    self._append(component, [new])
                elif component == name and replaces:
                    row.cells = new.cells

    def _append(self, name: str, rows: list[Row]) -> None:
        """Append new rows, which get ids."""
        if self.components[name].has_ids and not all(row.id for row in rows):
            ids = self.world.new_handles(name, [row.owner for row in rows])
            for row, id_ in zip(rows, ids, strict=True):
                row.id = id_
        self.world.append(name, rows)
