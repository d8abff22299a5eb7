"""One call of a kernel, row after row: what it writes, sends, spawns and destroys."""

from __future__ import annotations

import ast
import warnings
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from . import random_numbers
from .reductions import reduced_value
from .schema import SETTINGS, Kernel, Schema
from .scopes import Index, Scope
from .statements import CompiledKernel, Effects, compile_kernel
from .values import Value, binary, replaced, value
from .world import Actor, Change, Row, Spawn, World

Message = tuple[Row, str, Index, str, Value]
"""A row, a field, the index of an element, the operator and the operand."""


def call(
    world: World, name: str | Kernel, rows: Sequence[int] | None = None, **arguments: Any
) -> Run:
    """Call a kernel: `Boid.steer`, or `drift` of the world."""
    run = Run(world, name, rows, arguments)
    run.act()
    run.apply()
    for text in run.warnings():
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return run


def step(world: World, schedule: str, **arguments: Any) -> None:
    """Call the kernels of a schedule that are due, and count the time; tables write nothing."""
    for entry in world.schema.schedules[schedule]:
        since = world.tick - entry.get("from", 0)
        if since < 0 or since % entry.get("every", 1):
            continue
        if "set" in entry:
            call(world, _setter(entry["set"], entry["to"]))
        else:
            _repeat(world, entry, arguments)


@cache
def _setter(setting: str, text: str) -> Kernel:
    document = {"over": SETTINGS, "turns": "rows", "steps": [f"{setting} = {text}"]}
    return Kernel(f"set {setting}", "", document)


def _repeat(world: World, entry: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Run what an entry names, once, so many times, or while a reduction is true."""
    names = [entry["run"]] if isinstance(entry["run"], str) else entry["run"]
    home, _, condition = entry.get("while", "").removesuffix("()").partition(".")
    for _ in range(entry["at_most"] if home else entry.get("times", 1)):
        for name in names:
            if name == "tick":
                world.tick += 1
            elif name not in world.schema.tables:
                args = world.schema.kernel(name).args
                call(world, name, None, **{key: arguments[key] for key in args})
        if home:
            reduction = world.schema.components[home].reductions[condition]
            if reduced_value(world, reduction).one == 0:
                return
    if home:
        text = f"{entry['while']} was still true after {entry['at_most']} passes of {names}"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


@cache
def _compiled(schema: Schema, kernel: Kernel) -> CompiledKernel:
    return compile_kernel(schema, kernel)


class Run(Effects):
    """One call of a kernel."""

    def __init__(
        self,
        world: World,
        name: str | Kernel,
        rows: Sequence[int] | None,
        arguments: Mapping[str, Any],
    ) -> None:
        """`rows`: those of a component that a call names; None for all. Raises ValueError for a bad
        radius, and then the call is not counted."""
        self.kernel = kernel = world.schema.kernel(name) if isinstance(name, str) else name
        self._compiled = compiled = _compiled(world.schema, kernel)
        super().__init__(world, kernel, _converted(kernel, arguments), compiled.names.chosen)
        self.despawned: dict[int | Row, None] = {}
        """Entities, and rows without owner, in the order of their deaths."""
        self.spawned: list[Spawn] = []
        self._handles: list[int] = []
        """Those of the spawned, if the kernel keeps handles."""
        self.changes: list[Change] = []
        self.written: set[tuple[str, str]] = set()
        """Components and fields."""
        self._messages: list[Message] = []
        self._cut_off = Counter[ast.AST]()
        """How often loops were cut off, by their condition."""
        reductions = compiled.names.reductions.items()
        self.reduced = {key: reduced_value(world, reduction) for key, reduction in reductions}
        for component in compiled.names.emptied:
            self.occupants(component)
        actors = self._chosen(rows)
        each = _converted_each(kernel, arguments, len(actors))
        self.look_around(compiled.names.hoods)
        number = world.calls.get(kernel.name, 0)
        world.calls[kernel.name] = number + 1
        seed = world.seeds.get(kernel.home, 0)
        self.key = random_numbers.call_key(seed, kernel.name, number)
        self.scopes = [
            Scope(self, actor, 0, {argument: numbers[k] for argument, numbers in each.items()})
            for k, actor in enumerate(actors)
        ]

    def _chosen(self, rows: Sequence[int] | None) -> list[Actor]:
        """Return the actors that take part of an argument, inactive rows of a component's own
        kernel included."""
        over, world = self.kernel.over, self.world
        if rows is None and not self.kernel.home and over in self.components:
            return self.active(over)
        actors = world.actors(over)
        return actors if rows is None else [actors[k] for k in rows]

    def _begin(self, scope: Scope, number: int = 0) -> Scope:
        """Let draws of a row depend on its key, or on who it is, and on the number of its turn."""
        *base, field = self.kernel.key.split(".")
        row = scope.rows[base[0]] if base else scope.row
        who = int(row.cells[field].one) if field else self.who(self.kernel.over, row)
        if number:
            scope.enter(who, number)
        else:
            scope.draw_for(who)
        return scope

    # The rows

    def act(self) -> None:
        """Run the rows, then deliver messages."""
        with np.errstate(all="ignore"):
            self._run_rows()
            for message in self._messages:
                self._deliver(*message)
            for name, field in self.written:
                if name == SETTINGS:
                    self._clip(field)

    def apply(self) -> None:
        """Apply despawns, removals, spawns, then additions, to the interpreter's own world."""
        self._apply_despawns()
        self._remove_components()
        self._apply_spawns()
        self._add_components()

    def _run_rows(self) -> None:
        compiled, is_numbered = self._compiled, self.kernel.turns in ("given", "drawn")
        for number, scope in enumerate(self._ordered(), 1):
            if not self._runs(scope) or (compiled.is_mortal and not self._lives(scope)):
                continue
            # a key may be what others' turns have left
            self._begin(scope, number if is_numbered else 0)
            if compiled.where(scope):
                compiled.act(self, scope)

    def _runs(self, scope: Scope) -> bool:
        """Return True unless a component's row is inactive."""
        has_parts = self.kernel.over in self.components and not self.kernel.runs_all_rows
        return scope.row.is_active or not has_parts

    def _lives(self, scope: Scope) -> bool:
        return all(map(self.world.lives, scope.rows.values()))

    def _ordered(self) -> list[Scope]:
        """Return the rows in the order in which they run."""
        kernel, scopes, order = self.kernel, self.scopes, self._compiled.order
        if kernel.reads_parent:
            return sorted(scopes, key=lambda scope: _depth(scope.row))
        if kernel.turns == "random":
            return sorted(scopes, key=lambda s: random_numbers.word(self._begin(s).stem, 0))
        if order is not None:
            numbers = {scope: order(scope).one for scope in scopes}
            known = [scope for scope in scopes if numbers[scope] == numbers[scope]]
            known.sort(key=numbers.__getitem__, reverse=kernel.is_descending)
            return [*known, *(scope for scope in scopes if numbers[scope] != numbers[scope])]
        if kernel.turns == "drawn":
            return self._drawn([s for s in scopes if self._runs(s) and self._lives(s)])
        return scopes

    def _drawn(self, candidates: list[Scope]) -> list[Scope]:
        """Return a candidate by chance for each turn."""
        count = self.kernel.turn_count
        turns = range(1, (self.arguments[count].one if isinstance(count, str) else count) + 1)
        words = [random_numbers.word(random_numbers.row_stem(t, self.key), 0) for t in turns]
        numbers = [random_numbers.number_below(word, len(candidates)) for word in words]
        return [candidates[number] for number in numbers] if candidates else []

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
        if not self._compiled.names.keeps_handles:
            return 0
        (handle,) = self.world.new_handles("" if self._is_owned(spawn) else next(iter(spawn)), [0])
        self._handles.append(handle)
        return handle

    def _is_owned(self, spawn: Spawn) -> bool:
        return any(self.components[name].is_owned for name in spawn)

    def change(self, change: Change) -> None:
        """Let an entity get or lose a component after the pass."""
        self.changes.append(change)

    def _apply_despawns(self) -> None:
        for dead in self.despawned:
            self._end(dead)
        for name, rows in [*self.world.rows.items()] if self.despawned else ():
            destroy = self.components[name].destroy
            owners: Container[object] = () if destroy == "manual" else self.despawned
            removed = [row for row in rows if row.is_dead or row.owner in owners]
            # callbacks are called last; managers that collect are told at once
            is_last = destroy == "callback"
            first = [r for r in removed if (r in self.despawned if is_last else r.owner in owners)]
            self.world.remove(first)
            self.world.remove([row for row in removed if row not in first])

    def _remove_components(self) -> None:
        removed = {(c.owner, c.component) for c in self.changes if c.cells is None}
        rows = [row for rows in self.world.rows.values() for row in rows if self.world.lives(row)]
        self.world.remove(row for row in rows if (row.owner, row.component) in removed)

    def _apply_spawns(self) -> None:
        world, new = self.world, defaultdict[str, list[Row]](list)
        owned = [spawn for spawn in self.spawned if self._is_owned(spawn)]
        handles = iter(self._handles)
        if not self._handles and owned:
            handles = iter(world.new_handles("", [0] * len(owned)))
        for spawn in self.spawned:
            handle = next(handles) if self._handles or self._is_owned(spawn) else 0
            owner, id_ = (handle, 0) if self._is_owned(spawn) else (0, handle)
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


def _depth(row: Row) -> int:
    return 1 + _depth(row.parent) if row.parent else 0


def _converted(kernel: Kernel, arguments: Mapping[str, Any]) -> dict[str, Value]:
    """Return the arguments that are the same for all rows."""
    args = kernel.args.items()
    return {name: value(f.type, arguments[name], f.shape) for name, f in args if not f.is_each}


def _converted_each(
    kernel: Kernel, arguments: Mapping[str, Any], count: int
) -> dict[str, list[Value]]:
    """Return the arguments with a value for each of `count` rows."""
    each = {
        name: [value(f.type, data, f.shape) for data in arguments[name]]
        for name, f in kernel.args.items()
        if f.is_each
    }
    assert all(len(numbers) == count for numbers in each.values())
    return each
