"""One call of a kernel, row after row: what it writes, sends, spawns and destroys."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from . import random_words
from .effects import Effects
from .kernel_steps import CompiledKernel, compile_kernel
from .naive_world import Actor, Row, World
from .reduced_values import reduced_value
from .schema import SETTINGS, Kernel
from .scopes import Scope
from .values import value


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
    schema = world.schema
    entries = schema.schedules[schedule]

    def holds(condition: str) -> bool:
        home, _, name = condition.partition(".")
        return bool(reduced_value(world, schema.components[home].reductions[name]).one)

    for number, name in due_names(world, entries, holds):
        if not name:
            call(world, _setter(schedule, entries[number]["set"], entries[number]["to"]))
        elif name == "tick":
            world.tick += 1
        elif name not in schema.tables:
            args = schema.kernel(name).args
            call(world, name, None, **{key: arguments[key] for key in args})


def due_names(
    world: Any, entries: Sequence[Mapping[str, Any]], holds: Callable[[str], bool]
) -> Iterator[tuple[int, str]]:
    """Yield what entries of a schedule run, by their numbers, as it is due; "" assigns a setting.

    `world`: the interpreter's or a generated one. `holds`: whether a reduction is true now.
    """
    for number, entry in enumerate(entries):
        is_timed = not entry.keys().isdisjoint(("every", "from"))
        since = world.tick - entry.get("from", 0) if is_timed else 0
        if since < 0 or since % entry.get("every", 1):
            continue
        names, condition = run_names(entry), entry.get("while", "").removesuffix("()")
        for _ in range(entry["at_most"] if condition else entry.get("times", 1)):
            yield from ((number, name) for name in names)
            if condition and not holds(condition):
                break
        else:
            if condition:
                text = f"{entry['while']} was still true after {entry['at_most']} passes of {names}"
                warnings.warn(text, RuntimeWarning, stacklevel=3)


def run_names(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of kernels and tables of an entry, `tick` among them; "" of a setting."""
    names = entry.get("run", "")
    return [names] if isinstance(names, str) else names


def setter(schedule: str, setting: str, text: str) -> Kernel:
    """Return what an entry of a schedule does that assigns a setting."""
    document = {"over": SETTINGS, "turns": "rows", "steps": [f"{setting} = {text}"]}
    return Kernel(schedule, "", document)


_setter: Final = cache(setter)


class Run(Effects):
    """One call of a kernel."""

    def __init__(
        self,
        world: World,
        name: str | Kernel,
        rows: Sequence[int] | None,
        arguments: Mapping[str, Any],
        compiled: CompiledKernel | None = None,
    ) -> None:
        """`rows`: those of a component that a call names; None for all. `compiled`: the kernel, if
        another compiler has compiled it. Raises ValueError for a bad radius, and then the call is
        not counted."""
        kernel = world.schema.kernel(name) if isinstance(name, str) else name
        self._compiled = compiled = compiled or compile_kernel(world.schema, kernel)
        args = kernel.args.items()
        shared = {
            name: value(f.type, arguments[name], f.shape) for name, f in args if not f.is_each
        }
        super().__init__(world, kernel, shared, compiled.names)
        reductions = compiled.names.reductions.items()
        self.reduced = {key: reduced_value(world, reduction) for key, reduction in reductions}
        for component in compiled.names.emptied:
            self.occupants(component)
        actors = self._chosen(rows)
        self._rows = range(len(actors)) if rows is None else rows
        each = {
            name: [value(f.type, data, f.shape) for data in arguments[name]]
            for name, f in args
            if f.is_each
        }
        assert all(len(numbers) == len(actors) for numbers in each.values())
        self.look_around(compiled.names.hoods)
        number = world.calls.get(kernel.name, 0)
        world.calls[kernel.name] = number + 1
        seed = world.seeds.get(kernel.home, 0)
        self.key = random_words.call_key(seed, kernel.name, number)
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
        """Begin draws of a row: by its key, or by who it is, and by the number of its turn."""
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
            self.deliver()

    def _run_rows(self) -> None:
        compiled, is_numbered = self._compiled, self.kernel.turns in ("given", "drawn")
        for number, scope in enumerate(self._ordered(), 1):
            is_mortal = compiled.is_mortal or is_numbered
            if not self._runs(scope) or (is_mortal and not self._lives(scope)):
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
        if kernel.turns == "random":
            return sorted(scopes, key=lambda s: random_words.word(self._begin(s).stem, 0))
        if order is not None:
            scopes = [scopes[k] for k in np.argsort(self._rows)]  # ties are in row order
            numbers = {scope: order(scope).one for scope in scopes}
            known = [scope for scope in scopes if numbers[scope] == numbers[scope]]
            known.sort(key=numbers.__getitem__, reverse=kernel.is_descending)
            return [*known, *(scope for scope in scopes if numbers[scope] != numbers[scope])]
        if kernel.turns == "drawn":
            return self._drawn([s for s in scopes if self._runs(s) and self._lives(s)])
        return sorted(scopes, key=lambda s: _depth(s.row)) if kernel.reads_parent else scopes

    def _drawn(self, candidates: list[Scope]) -> list[Scope]:
        """Return a candidate by chance for each turn."""
        count = self.kernel.turn_count
        turns = range(1, (self.arguments[count].one if isinstance(count, str) else count) + 1)
        words = [random_words.word(random_words.row_stem(t, self.key), 0) for t in turns]
        numbers = [random_words.number_below(word, len(candidates)) for word in words]
        return [candidates[number] for number in numbers] if candidates else []


def _depth(row: Row) -> int:
    return 1 + _depth(row.parent) if row.parent else 0
