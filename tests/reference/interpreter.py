"""One call of a kernel, row after row: what it writes, sends, kills and bears."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.reference.expressions import SIGNS, Place, Scope
from tests.reference.grids import InSpace, nearby
from tests.reference.schema import written
from tests.reference.values import Draws, Value, assigned, binary, key_of, replaced, settled, value
from tests.reference.world import Actor, Birth, Row, World

MESSAGES = ("+", "-", "min", "max", "and", "or")


def call(world: World, name: str, rows: Sequence[int] | None = None, **arguments: Any) -> Run:
    """Call a kernel: `Boid.steer`, or `drift` of the world."""
    with np.errstate(all="ignore"):
        run = Run(world, name, rows, arguments)
        run.run()
    return run


def step(world: World, schedule: str, **arguments: Any) -> None:
    """Call the kernels of a schedule that are due, and count the time; tables write nothing."""
    for entry in world.schema.world["schedule"][schedule]:
        entry = entry if isinstance(entry, dict) else {"run": entry}
        since = world.tick - int(entry.get("from", 0))
        if since < 0 or since % int(entry.get("every", 1)):
            continue
        if entry["run"] == "tick":
            world.tick += 1
        elif entry["run"] not in world.schema.world.get("records", {}):
            names = world.kernel(entry["run"]).args
            call(world, entry["run"], **{name: arguments[name] for name in names})


class Run:
    """What one call knows. `before`: the fields as they were, unless rows take turns."""

    def __init__(
        self, world: World, name: str, rows: Sequence[int] | None, arguments: dict[str, Any]
    ) -> None:
        self.world, self.kernel = world, world.kernel(name)
        self.components = world.schema.components
        self.in_turns = "turns" in self.kernel.keys
        everyone = [row for some in world.rows.values() for row in some]
        self.before = {} if self.in_turns else {row: row.cells.copy() for row in everyone}
        self.messages: list[tuple[Place, str, Value]] = []
        self.dead: list[int | Row] = []  # entities, and rows by their ids
        self.births: list[Birth] = []
        self.cradles: list[tuple[str, int]] = []  # cells of newborn, in turns
        self.living = {
            name: [row for row in some if world.lives(row)] for name, some in world.rows.items()
        }
        """Rows in their order, then, of those on grids, the ones that have come to another cell."""
        self.rosters = {
            n: [row for row in some if row.is_active] for n, some in self.living.items()
        }
        self.empties = {
            name: [c.id for c in world.rows[one.grid] if not self.standing(name, c.id)]
            for name, one in self.components.items()
            if one.grid
        }
        self.arguments, each = self._given(arguments)
        self.nearby = {name: nearby(self, near) for name, near in self.kernel.near.items()}
        calls = world.calls.get(name, 0)
        world.calls[name] = calls + 1
        key = key_of(world.seeds.get(self.kernel.home, 0), name, calls)
        self.scopes = [
            Scope(self, actor, Draws(self._who(actor), key), {n: v[k] for n, v in each.items()})
            for k, actor in enumerate(self._chosen(rows))
        ]

    def _given(self, arguments: dict[str, Any]) -> tuple[dict[str, Value], dict[str, list[Value]]]:
        """Arguments for all rows, and those with a value for each."""
        args = self.kernel.args.items()
        one = {n: value(f.type, arguments[n], f.shape) for n, f in args if not f.each}
        each = {n: [value(f.type, v, f.shape) for v in arguments[n]] for n, f in args if f.each}
        return one, each

    def _chosen(self, rows: Sequence[int] | None) -> list[Actor]:
        """Who takes an argument's part, inactive rows of a component's own kernel included."""
        if self.kernel.home or self.kernel.over not in self.components:
            actors = self.world.actors(self.kernel.over)
            return actors if rows is None else [actors[k] for k in rows]
        return self.active(self.kernel.over)

    def _who(self, actor: Actor) -> int:
        """Whose random numbers they are: the key's, the entity's or the id's."""
        row, over = next(iter(actor.values())), self.kernel.over
        if "key" in self.kernel.keys:
            *base, field = self.kernel.keys["key"].split(".")
            return int((actor[base[0]] if base else row).cells[field].one)
        is_many = over in self.components and self.components[over].says("instances", "many")
        return row.id if is_many or not row.owner else row.owner

    # What rows see of each other

    def active(self, over: str) -> list[Actor]:
        actors = self.world.actors(over)
        return [one for one in actors if all(row.is_active for row in one.values())]

    def cells(self, row: Row) -> dict[str, Value]:
        """A row's fields as others see them."""
        return self.before.get(row, row.cells)

    def radius(self, text: str, actor: Actor | None = None) -> Any:
        """A number, an argument, a setting; of a row also a field, None without it."""
        if text[0].isdigit() or text in self.arguments:
            return self.arguments[text].one if text in self.arguments else written(text, {})
        *base, name = text.split(".")
        if base == ["settings"]:
            return self.world.settings[name].one
        return self.cells(actor[base[0] if base else self.kernel.home])[name].one if actor else None

    def cell_number(self, row: Row) -> int:
        return int(self.cells(row)[self.components[row.component].stands].one)

    def standing(self, name: str, cell: int) -> list[Row]:
        """Who stands on a cell, in row order, then in the order in which they came."""
        rows = self.living[name] if cell else []
        return [row for row in rows if self.world.lives(row) and self.cell_number(row) == cell]

    # The rows

    def run(self) -> None:
        if self.kernel.reads_parent:
            self.scopes.sort(key=lambda scope: _depth(scope.row))
        if self.kernel.keys.get("turns") == "random":
            self.scopes.sort(key=lambda scope: scope.draws.word())
        is_all = not self.kernel.home or self.kernel.keys.get("rows") == "all"
        is_mortal = any(isinstance(step, ast.Expr) for step in self.kernel.steps)
        for scope in self.scopes:
            scope.draws.who = self._who(scope.rows)  # a key may be what others' turns have left
            is_there = not is_mortal or all(map(self.world.lives, scope.rows.values()))
            if is_there and (is_all or scope.row.is_active) and scope.holds(self.kernel.where):
                self._act(scope)
        for place, sign, one in self.messages:
            self._write(place, sign, one)
        self._apply_despawns()
        self._apply_spawns()

    def _act(self, scope: Scope) -> None:
        for step in self.kernel.steps:
            if isinstance(step, ast.Assign):
                self._assign(scope, step.targets[0], "", step.value)
            elif isinstance(step, ast.AugAssign):
                self._assign(scope, step.target, SIGNS[type(step.op)], step.value)
            elif isinstance(step, ast.Expr) and self._ends(scope, step.value):
                return

    def _assign(self, scope: Scope, target: ast.expr, sign: str, node: ast.expr) -> None:
        if isinstance(target, ast.Name) and not scope.is_field(target.id):
            one, old = scope.value(node), scope.locals.get(target.id)
            one = binary(sign, scope.value(target), one) if sign else one
            scope.locals[target.id] = assigned(one, old) if old else settled(one)
            return
        place = scope.denoted(target)
        assert isinstance(place, Place)
        if not place.is_own:
            sign, node = _message(target, sign, node)
        one, old = scope.value(node), scope.read(place)
        if sign and (place.is_own or sign not in MESSAGES):
            sign, one = "", binary(sign, old, one)
        one = assigned(one, old)
        if place.is_own:
            self._write(place, sign, one)
        elif place.row and self.world.lives(scope.row):  # nobody hears from the dead
            self.messages.append((place, sign, one))
            if self.in_turns:
                self._write(*self.messages.pop())

    def _write(self, place: Place, sign: str, one: Value) -> None:
        """Write a field, or have a message arrive; a move may not happen."""
        row = place.row
        assert row is not None
        whole = row.cells[place.field]
        if sign:
            one = binary(sign, Value(whole.type, whole.data[place.index]), one)
        new = replaced(whole, place.index, one)
        if place.field == self.components[place.component].stands:
            self._move(row, place.field, new)
        else:
            row.cells[place.field] = new
        for near in self.nearby.values():
            if self.in_turns and isinstance(near, InSpace):
                near.follow(row)

    # Moves: in turns everybody sees them; the new cell is taken first, then the old one is free

    def _move(self, row: Row, field: str, new: Value) -> None:
        name, old = row.component, int(row.cells[field].one)
        if new.one == old or not self.world.lives(row) or not self._has_capacity(name, new.one):
            return
        row.cells[field] = new
        if self.in_turns:
            self.living[name].remove(row)
            self.living[name].append(row)
            self._take(name, new.one)
            self._free(name, old)

    def _crowd(self, name: str, cell: int) -> int:
        return len(self.standing(name, cell)) + self.cradles.count((name, cell))

    def _has_capacity(self, name: str, cell: int) -> bool:
        is_full = self.in_turns and self._crowd(name, cell) >= self.components[name].capacity
        return self.world.grids[self.components[name].grid].has(cell) and not is_full

    def _take(self, name: str, cell: int) -> None:
        """A cell that is taken leaves its place in the list of empty ones to the last."""
        empties = self.empties[name]
        if cell in empties:
            empties[empties.index(cell)] = empties[-1]
            empties.pop()

    def _free(self, name: str, cell: int) -> None:
        if cell and not self._crowd(name, cell):
            self.empties[name].append(cell)

    # Births and deaths

    def _ends(self, scope: Scope, step: ast.expr) -> bool:
        """Do a step that kills or bears; true: it was the row itself that died."""
        assert isinstance(step, ast.Call)
        kind = ast.unparse(step.func)
        if kind == "spawn":
            self._spawn(scope, step)
            return False
        who: int | Row | None = scope.row.owner or scope.row
        if kind == "destroy":
            head = scope.value(step.args[0])
            is_entity = head.type == "entity"
            who = head.one if is_entity else self.world.with_id(head.type[3:-1], head.one)
        is_there = isinstance(who, Row) or who in self.world.entities
        if not _holds(scope, step) or who is None or not is_there:
            return False
        self.dead.append(who)
        if self.in_turns:
            self._end(who)
        return who == scope.row.owner or who in scope.rows.values()

    def _end(self, who: int | Row) -> None:
        """Somebody is dead, and their cells are free."""
        if isinstance(who, Row):
            who.is_dead = True
        self.world.entities -= {who}
        for name in self.empties:
            for row in self.living[name]:
                if row is who or row.owner == who:
                    self._free(name, self.cell_number(row))

    def _spawn(self, scope: Scope, step: ast.Call) -> None:
        birth: Birth = {}
        for one in step.args:
            name = ast.unparse(one.func if isinstance(one, ast.Call) else one)
            for component, cells in self.world.bundle(name).items():
                birth[component] = birth.get(component, {}) | cells
            for given in one.keywords if isinstance(one, ast.Call) else ():
                like = self.world.default(name, str(given.arg))
                birth[name][str(given.arg)] = assigned(scope.value(given.value), like)
        names = [*birth]
        for name in names:
            needs = self.components[name].keys.get("requires", ())
            names += [one for one in needs if one not in names]
        birth = {name: birth.get(name, {}) for name in names}
        stands = [(name, self.components[name].stands) for name in names]
        cradles = [(name, int(birth[name][f].one)) for name, f in stands if f in birth[name]]
        if _holds(scope, step) and all(self._has_capacity(*cradle) for cradle in cradles):
            self.births.append(birth)
            for cradle in cradles if self.in_turns else ():
                self.cradles.append(cradle)
                self._take(*cradle)

    def _apply_despawns(self) -> None:
        self.dead = [*dict.fromkeys(self.dead)]
        for who in self.dead:
            self._end(who)
        for name, rows in [*self.world.rows.items()]:
            policy = self.components[name]
            dead = [] if policy.says("destroy", "manual") else self.dead
            gone = [row for row in rows if row.is_dead or row.owner in dead]
            # callbacks are called last, those who collect are told at once
            is_last = policy.says("destroy", "callback")
            first = {row for row in gone if (row in self.dead if is_last else row.owner in dead)}
            self.world.bury([row for row in gone if row in first])
            self.world.bury([row for row in gone if row not in first])

    def _apply_spawns(self) -> None:
        has_owner = [any(map(self.world.is_owned, one)) for one in self.births]
        handles = iter(self.world.newborn("", [0] * sum(has_owner)) if any(has_owner) else ())
        new: dict[str, list[Row]] = defaultdict(list)
        for birth, is_owned in zip(self.births, has_owner, strict=True):
            owner = next(handles) if is_owned else 0
            self.world.entities |= {owner} - {0}
            for name, cells in birth.items():
                new[name].append(self.world.made(name, owner, 0, cells))
        for name, rows in new.items():
            owners = [row.owner for row in rows]
            ids = self.world.newborn(name, owners) if self.world.has_ids(name) else [0] * len(rows)
            for row, id_ in zip(rows, ids, strict=True):
                row.id = id_
            self.world.append(name, rows)


def _holds(scope: Scope, step: ast.Call) -> bool:
    return all(scope.holds(one.value) for one in step.keywords)


def _depth(row: Row) -> int:
    return 1 + _depth(row.parent) if row.parent else 0


def _message(target: ast.expr, sign: str, node: ast.expr) -> tuple[str, ast.expr]:
    """`R = min(R, e)` and `R = R or e` as a sign and e; others as they are."""
    match node:
        case ast.Call(ast.Name(name), [first, *rest]) if name in ("min", "max") and rest:
            e = rest[0] if len(rest) == 1 else ast.Call(node.func, rest, [])
        case ast.BoolOp(op, [first, *rest]):
            name, e = SIGNS[type(op)], rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case _:
            return sign, node
    return (name, e) if not sign and ast.unparse(first) == ast.unparse(target) else (sign, node)
