"""Spawns and despawns that lack of memory or an interrupt ends: none is done, or despawns alone, or
all, or something says that it is broken."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ecsgen.config import Backend
from tests.support.fault_injection import CLOCK, Events, is_broken, patched, traced
from tests.support.world_package import world_package

STEP = 1 if "ECSGEN_INTERRUPTS" in os.environ else 23
"""Of the places where an interrupt may come, one of so many is tried."""
PLAIN = """\
component: Sheep
fields: {energy: i64}
---
component: Tag
fields: {of: {type: i64, default: 7}}
---
world: Field
kernels:
  graze: {over: Sheep, steps: [die(where=Sheep.energy % 3 == 0),
    "spawn(Sheep(energy=Sheep.energy + 100), Tag(), where=Sheep.energy % 3 == 1)"]}
  starve: {over: Sheep, steps: [die(where=Sheep.energy % 3 == 0)]}
"""
MIXED = """\
component: Sheep
fields: {energy: i64, egg: id<Egg>, nut: id<Nut>}
---
component: Tag
lookup: hash
fields: {of: {type: i64, default: 7}}
---
component: Wool
destroy: callback
release: true
fields: {grams: i64}
---
component: Egg
owner: none
fields: {age: i64}
---
component: Nut
owner: none
release: true
fields: {age: i64}
---
world: Field
kernels:
  graze: {over: Sheep, steps: [die(where=Sheep.energy % 3 == 0), destroy(Sheep.egg),
    destroy(Sheep.nut),
    "spawn(Sheep(energy=Sheep.energy + 100), Wool(grams=2), where=Sheep.energy % 3 == 1)",
    "spawn(Sheep(energy=Sheep.energy + 200), Tag())", "spawn(Egg(age=Sheep.energy))",
    "spawn(Nut(age=Sheep.energy))"]}
  starve: {over: Sheep, steps: [die(where=Sheep.energy % 3 == 0), destroy(Sheep.egg),
    destroy(Sheep.nut)]}
"""
KNOWN = MIXED.replace(
    '"spawn(Egg(age=Sheep.energy))",\n    "spawn(Nut(age=Sheep.energy))"]',
    """"egg = spawn(Egg(age=Sheep.energy))",
    "nut = spawn(Nut(age=Sheep.energy))", "who = spawn(Sheep(egg=egg, nut=nut))",
    "spawn(Egg(age=3), where=who != 0)"]""",
)
"""Kernels that give spawns the handles of who will come."""
pytestmark = pytest.mark.filterwarnings("ignore")  # tracebacks hold views
SCHEMAS = {"plain": PLAIN, "mixed": MIXED, "known": KNOWN}
WHICH = ["plain", "mixed", pytest.param("known", marks=pytest.mark.soak)]
NAMES = ("entities", "sheep", "tag", "wool", "egg", "nut")


class Field:
    """A world, saved before anybody comes or goes, and what may be left of it."""

    def __init__(self, which: str, backend: Backend, rows: int) -> None:
        self.package = f"half_{which}_{backend}"
        w = world_package(SCHEMAS[which], self.package, backend, "vendored").Field()
        sheep = w.spawn(rows, sheep={"energy": range(rows)}, tag={})
        if which != "plain":
            w.wool.create_many(sheep[::2], grams=range(len(sheep[::2])))
            w.sheep.data.egg[::4] = w.egg.create_many(rows, age=range(rows))[::4]
            w.sheep.data.nut[::5] = w.nut.create_many(rows, age=range(rows))[::5]
        self.saved = pickle.dumps(w)
        self.ends = [self.held(self.load())]
        for kernel in ("starve", "graze"):
            world = self.load()
            getattr(world, kernel)()
            self.ends.append(self.held(world))

    def load(self) -> Any:
        world = pickle.loads(self.saved)
        if hasattr(world, "wool"):
            world.entities.on_destroy(len)
            world.wool.on_release(len)
            world.nut.on_release(len)
        return world

    def held(self, world: Any) -> Any:
        """Return who is alive, and the values of all rows, whichever they are."""
        state: list[Any] = [world.entities.live().tolist()]
        for name in NAMES[1:]:
            if hasattr(world, name):
                data = getattr(world, name).data
                columns = [getattr(data, field.name).tolist() for field in data.FIELDS]
                owners = data.entity.tolist() if hasattr(data, "entity") else [0] * data._n
                state.append(sorted(zip(owners, *columns, strict=True)))
        return state

    def judge(self, world: Any, error: BaseException | None) -> str | None:
        """Return what is wrong with a world whose kernel was stopped."""
        parts = [getattr(world, name) for name in NAMES if hasattr(world, name)]
        if any(map(is_broken, parts)):
            return None
        try:
            held = self.held(world)
        except Exception as broken:
            return f"it cannot be read: {broken!r}"
        if held not in self.ends:
            return f"half done after {error!r}"
        if world.entities.dispatch.is_open() or any(part._is_locked() for part in parts[1:]):
            return "it is locked"
        for manager in parts[1:]:
            if hasattr(manager, "lookup"):
                owners = [*manager]
                rows = [manager.lookup(entity) for entity in owners]
                if not rows == manager.lookup_many(owners).tolist() == [*range(len(rows))]:
                    return "it finds other rows"
        world.graze()
        return None


@pytest.fixture(scope="module", params=["numpy", "numba"])
def backend(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return request.param


@pytest.mark.parametrize("rows", [20, 64])
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("lasts", [False, True])
def test_no_memory_leaves_nothing_half_done(
    which: str, rows: int, lasts: bool, backend: Backend
) -> None:
    field, wrong, tried = Field(which, backend, rows), list[str](), 0
    with patched(field.package):
        for k in range(1, 1000):
            world, error = field.load(), None
            CLOCK.at, CLOCK.count, CLOCK.lasts = k, 0, lasts
            try:
                world.graze()
            except BaseException as raised:
                error = raised
            fired, CLOCK.at, CLOCK.lasts = CLOCK.fired, 0, False
            if not fired:
                break
            tried += 1
            problem = field.judge(world, error)
            wrong += [f"#{k}: {problem}"] if problem else []
    assert tried > 5
    assert not wrong, (len(wrong), tried, wrong[:5])


@pytest.mark.parametrize("rows", [20, 64])
@pytest.mark.parametrize("which", WHICH)
def test_interrupts_leave_nothing_half_done(which: str, rows: int, backend: Backend) -> None:
    field, wrong = Field(which, backend, rows), list[str]()
    graze: Callable[[], object] = field.load().graze
    events = Events(package=field.package)
    assert traced(events, graze) is None
    times = events.times()
    for at in times[::STEP]:
        world = field.load()
        events = Events(at, KeyboardInterrupt, field.package)
        raised = traced(events, world.graze)
        if events.where is not None:
            problem = field.judge(world, raised)
            problem = problem or (None if isinstance(raised, KeyboardInterrupt) else f"{raised!r}")
            wrong += [f"{events.where}: {problem}"] if problem else []
    assert len(times) > 50
    assert not wrong, (len(wrong), len(times), wrong[:5])


TWINS = """\
component: Egg
owner: none
fields: {age: i64}
---
component: Nut
owner: none
fields: {number: {type: i64, unique: true}}
---
component: Sheep
fields: {a: i64, egg: id<Egg>}
---
component: Told
release: true
fields: {x: i64}
---
component: One
fields: {key: {type: i64, unique: true}}
---
world: Nest
kernels:
  lay: {over: Sheep, steps: [spawn(Egg(age=1)), spawn(Nut(number=1))]}
  both: {over: Sheep, steps: [spawn(Sheep(a=1)), spawn(Nut(number=7))]}
  tell: {over: Sheep, steps: ["spawn(Told(), One(key=1))", die(where=Sheep.a > 5)]}
  tread: {over: Sheep, steps: [destroy(Sheep.egg), die()]}
"""


@pytest.mark.parametrize(("kernel", "left"), [("lay", 2), ("both", 2), ("tell", 1)])
def test_if_one_is_refused_none_is_born(kernel: str, left: int, backend: Backend) -> None:
    """Entities and what is nobody's; nothing is released, and no version counts."""
    package = world_package(TWINS, f"twins_{backend}", backend)
    w, released = package.Nest(), list[Any]()
    w.spawn(2, sheep={"a": [1, 9]})
    w.nut.create(number=7)
    w.told.on_release(released.append)
    with pytest.raises(package.DuplicateValueError):
        getattr(w, kernel)()
    assert (len(w.sheep), len(w.entities), len(w.egg), len(w.nut)) == (left, left, 0, 1)
    assert (w.told.version, released) == (0, [])


def test_rows_of_nobody_die_although_a_callback_fails(backend: Backend) -> None:
    w = world_package(TWINS, f"twins_{backend}", backend).Nest()
    w.spawn(2, sheep={"egg": w.egg.create_many(2)})
    w.egg.create()
    w.entities.on_destroy(lambda _: 1 // 0)
    with pytest.raises(ExceptionGroup):
        w.tread()
    assert (len(w.egg), len(w.sheep), len(w.entities)) == (1, 0, 0)
