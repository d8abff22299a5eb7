"""One call of a kernel, row after row: what it writes, sends, kills and bears."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.judge.grids import InSpace, nearby
from tests.judge.language import SIGNS, Place, Scope
from tests.judge.model import Actor, Birth, Row, World
from tests.judge.schema import Near
from tests.judge.values import Draws, Value, assigned, binary, key_of, replaced, settled, value

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
        self.in_turns = "turns" in self.kernel.keys
        self.messages: list[tuple[Place, str, Value]] = []
        self.dead: list[int | Row] = []  # entities, and rows by their ids
        self.births: list[Birth] = []
        self.moved: list[Row] = []
        everyone = [row for some in world.rows.values() for row in some]
        self.before = {} if self.in_turns else {row: dict(row.cells) for row in everyone}
        self.arguments = {
            name: value(one.type, arguments[name], one.shape)
            for name, one in self.kernel.args.items()
            if not one.each
        }
        self._actors = self._chosen(rows, arguments)
        self._stand()
        self.nearby = {name: nearby(self, near) for name, near in self.kernel.near.items()}
        call = world.calls.get(name, 0)
        world.calls[name] = call + 1
        self._key = key_of(world.seeds.get(self.kernel.home, 0), name, call)

    def _chosen(
        self, rows: Sequence[int] | None, arguments: dict[str, Any]
    ) -> list[tuple[Actor, dict[str, Value]]]:
        """Who acts, each with its part of the arguments that have one for each."""
        actors = self.world.actors(self.kernel.over)
        if not self.kernel.home and self.kernel.over in self.world.rows:
            actors = self.active(self.kernel.over)
        actors = actors if rows is None else [actors[k] for k in rows]
        each = {name: one for name, one in self.kernel.args.items() if one.each}
        found = [
            (actor, {n: value(t.type, arguments[n][k], t.shape) for n, t in each.items()})
            for k, actor in enumerate(actors)
        ]
        if not self.kernel.home or self.kernel.keys.get("rows") == "all":
            return found
        return [(actor, given) for actor, given in found if actor[self.kernel.home].is_active]

    # What rows see of each other

    def active(self, over: str) -> list[Actor]:
        actors = self.world.actors(over)
        return [one for one in actors if all(row.is_active for row in one.values())]

    def cells(self, row: Row) -> dict[str, Value]:
        """A row's fields as others see them."""
        return self.before.get(row, row.cells)

    def radius(self, near: Near, actor: Actor | None = None) -> Any:
        """A number, an argument, a setting; of a row also a field, None without it."""
        node = near.radius
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self.arguments:
            return self.arguments[node.id].one
        *base, name = ast.unparse(node).split(".")
        if base == ["settings"]:
            return self.world.settings[name].one
        return self.cells(actor[base[0] if base else self.kernel.home])[name].one if actor else None

    def cell_of(self, row: Row) -> int:
        return int(self.cells(row)[self.world.schema.components[row.component].stands].one)

    def _stand(self) -> None:
        """Who stands where, which cells are taken or empty, and of whom `choice` chooses."""
        self._standing: dict[str, dict[int, list[Row]]] = {}
        self.empties: dict[str, list[int]] = {}
        self.rosters: dict[str, list[Row]] = {}
        for name, component in self.world.schema.components.items():
            living = [row for row in self.world.rows[name] if self.world.lives(row)]
            self.rosters[name] = [row for row in living if row.is_active]
            if component.grid:
                self._standing[name] = defaultdict(list)
                for row in living:
                    self._standing[name][self.cell_of(row)].append(row)
                cells = [cell.id for cell in self.world.rows[component.grid]]
                self.empties[name] = [cell for cell in cells if not self._standing[name][cell]]
        self._born = {name: defaultdict[int, int](int) for name in self._standing}

    def standing(self, name: str, cell: int) -> list[Row]:
        return self._standing[name][cell] if cell else []

    # The rows

    def run(self) -> None:
        is_mortal = bool(self.kernel.calls("die", "destroy", "spawn"))
        for actor, given, draws in self._order():
            if not is_mortal or all(self.world.lives(row) for row in actor.values()):
                self._act(Scope(self, actor, draws, given))
        for place, sign, one in self.messages:
            self._write(place, sign, one)
        self._bury()
        self._bear()

    def _order(self) -> list[tuple[Actor, dict[str, Value], Draws]]:
        """Who acts when, with what; parents before children, turns as they are drawn."""
        found = [
            (actor, given, Draws(self._who(actor), self._key)) for actor, given in self._actors
        ]
        if any(isinstance(node, ast.Name) and node.id == "parent" for node in self.kernel.nodes()):
            found.sort(key=lambda one: _depth(one[0][self.kernel.home]))
        if self.kernel.keys.get("turns") == "random":
            found.sort(key=lambda one: one[2].word())
        return found

    def _who(self, actor: Actor) -> int:
        row = next(iter(actor.values()))
        if "key" in self.kernel.keys:
            *base, field = self.kernel.keys["key"].split(".")
            return int((actor[base[0]] if base else row).cells[field].one)
        is_one = self.kernel.over in self.world.rows
        is_many = is_one and self.world.schema.components[row.component].says("instances", "many")
        return row.id if is_many or not row.owner else row.owner

    def _act(self, scope: Scope) -> None:
        if not scope.holds(self.kernel.where):
            return
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
        if place.is_own or (place.row and self.in_turns and self.world.lives(scope.row)):
            self._write(place, sign, one)
        elif place.row and self.world.lives(scope.row):  # nobody hears from the dead
            self.messages.append((place, sign, one))

    def _write(self, place: Place, sign: str, one: Value) -> None:
        """Write a field, or have a message arrive; a move may not happen."""
        row = place.row
        assert row is not None
        whole = row.cells[place.field]
        if sign:
            one = binary(sign, Value(whole.type, whole.data[place.index]), one)
        new = replaced(whole, place.index, one)
        stands = self.world.schema.components[place.component].stands
        if place.field == stands and not self._moves(row, int(whole.one), int(new.one)):
            return
        row.cells[place.field] = new
        for near in self.nearby.values():
            if self.in_turns and isinstance(near, InSpace):
                near.follow(row)

    # Moves: in turns everybody sees them; the new cell is taken first, then the old one is free

    def _moves(self, row: Row, old: int, new: int) -> bool:
        if new != old and not (self.world.lives(row) and self._has_room(row.component, new)):
            return False
        if new != old and self.in_turns:
            self._take(row.component, new)
            self._standing[row.component][new].append(row)
            self._leave(row, old)
            self.moved.append(row)
        return True

    def _has_room(self, name: str, cell: int) -> bool:
        component = self.world.schema.components[name]
        count = len(self.standing(name, cell)) + self._born[name][cell] if self.in_turns else 0
        return self.world.grids[component.grid].has(cell) and count < component.capacity

    def _take(self, name: str, cell: int) -> None:
        """A cell that is taken leaves its place in the list of empty ones to the last."""
        empties = self.empties[name]
        if cell in empties:
            empties[empties.index(cell)] = empties[-1]
            empties.pop()

    def _leave(self, row: Row, cell: int) -> None:
        if cell:
            self._standing[row.component][cell].remove(row)
            if not self._standing[row.component][cell] and not self._born[row.component][cell]:
                self.empties[row.component].append(cell)

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
        for cells in self._standing.values() if self.in_turns else ():
            standing = [(row, cell) for cell, some in cells.items() for row in some]
            for row, cell in standing:
                if row is who or row.owner == who:
                    self._leave(row, cell)
        if isinstance(who, Row):
            who.is_dead = True
        else:
            self.world.entities.discard(who)

    def _spawn(self, scope: Scope, step: ast.Call) -> None:
        birth: Birth = {}
        for one in step.args:
            name = ast.unparse(one.func if isinstance(one, ast.Call) else one)
            for component, cells in self.world.bundle(name).items():
                birth[component] = birth.get(component, {}) | cells
            for given in one.keywords if isinstance(one, ast.Call) else ():
                like = self.world.default(name, str(given.arg))
                birth[name][str(given.arg)] = assigned(scope.value(given.value), like)
        components = self.world.schema.components
        names = [*birth]
        for name in names:
            names += [one for one in components[name].keys.get("requires", ()) if one not in names]
        birth = {name: birth.get(name, {}) for name in names}
        cells_of = {
            n: f[field].one for n, f in birth.items() if (field := components[n].stands) in f
        }
        if not _holds(scope, step) or not all(self._has_room(*one) for one in cells_of.items()):
            return
        self.births.append(birth)
        for name, cell in cells_of.items() if self.in_turns else ():
            self._born[name][cell] += 1
            self._take(name, cell)

    def _bury(self) -> None:
        self.dead = [*dict.fromkeys(self.dead)]
        for who in self.dead:
            self._end(who)
        for name, rows in [*self.world.rows.items()]:
            keeps = self.world.schema.components[name].says("destroy", "manual")
            dead = [] if keeps else self.dead
            self.world.bury([row for row in rows if row.is_dead or row.owner in dead])

    def _bear(self) -> None:
        owned = [one for one in self.births if any(map(self.world.is_owned, one))]
        handles = iter(self.world.newborn("", len(owned)) if owned else ())
        new: dict[str, list[Row]] = defaultdict(list)
        for birth in self.births:
            owner = next(handles) if birth in owned else 0
            self.world.entities |= {owner} - {0}
            for name, cells in birth.items():
                new[name].append(self.world.made(name, owner, 0, cells))
        for name, rows in new.items():
            if self.world.has_ids(name):
                for row, id_ in zip(rows, self.world.newborn(name, len(rows)), strict=True):
                    row.id = id_
            self.world.append(name, rows)


def _holds(scope: Scope, step: ast.Call) -> bool:
    return all(scope.holds(one.value) for one in step.keywords)


def _depth(row: Row) -> int:
    return 1 + _depth(row.parent) if row.parent else 0


def _message(target: ast.expr, sign: str, node: ast.expr) -> tuple[str, ast.expr]:
    """`R = min(R, e)` and `R = R or e` as a sign and e; others as they are."""
    if isinstance(node, ast.Call):
        name, parts = ast.unparse(node.func), node.args
    elif isinstance(node, ast.BoolOp):
        name, parts = SIGNS[type(node.op)], node.values
    else:
        return sign, node
    if sign or name not in MESSAGES or ast.unparse(parts[0]) != ast.unparse(target):
        return sign, node
    if isinstance(node, ast.BoolOp):
        return name, parts[1] if len(parts) == 2 else ast.BoolOp(node.op, parts[1:])
    return name, parts[1] if len(parts) == 2 else ast.Call(node.func, parts[1:], [])
