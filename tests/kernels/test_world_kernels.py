"""Kernels of the world: against loops over entities, over one component, and random ones."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.reference.run import call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecsgen.config import BACKENDS, Backend
from ecsgen.model import Project
from ecsgen.render.kernel_printers import KernelTexts
from ecsgen.render.world.world_module import WorldContext, render_world_module
from tests.reference.world_copy import assert_same, mirrored
from tests.support.generated_package import shipped
from tests.support.kernel_package import arguments
from tests.support.random_world_package import CHANGES, Change, fill_all, schema
from tests.support.soak import examples
from tests.support.world_package import load, world_package

SCHEMA = """
world: Game
groups:
  bodies: [Position, Velocity]
queries:
  movers: {all: [Place, Speed], none: [Frozen], optional: [Drag]}
  lone: {all: [Place]}
kernels:
  drift:
    over: bodies
    args: {dt: {type: f32, unit: s}}
    steps: ["Position.value += Velocity.value * dt"]
  move:
    over: movers
    args: {dt: f32, limit: f64}
    where: "Place.far < limit"
    steps:
      - place_at = Place.at + Speed.way * dt
      - Place.at = place_at
      - Speed.way.x *= 0.5
      - Place.far = f64(place_at.y) + Speed.turn[0, 1]
      - Speed.hits += 1
  halve: {over: lone, steps: ["Place.at *= 0.5"]}
---
component: Position
fields: {value: {type: "f32[3]", unit: m}}
---
component: Velocity
lookup: hash
fields: {value: "f32[3]"}
---
component: Place
lookup: direct
fields: {at: "f32[3]", far: f64}
---
component: Speed
instances: many
fields: {way: {type: "f32[3]", split: true}, turn: {type: "f32[2,2]", default: 2}, hits: i32}
---
component: Drag
---
component: Frozen
"""


def filled(count: int, seed: int, backend: Backend = "numpy") -> Any:
    """A world whose query has holes, and whose managers are in different orders."""
    package = world_package(SCHEMA, f"kernel_game_{backend}", backend)
    world, random = package.Game(), np.random.default_rng(seed)
    es = world.spawn(count, place={"at": random.random((count, 3)), "far": random.random(count)})
    world.speed.create_many(es, way=random.random((count, 3)), turn=random.random((count, 2, 2)))
    world.position.create_many(es, value=random.random((count, 3)))
    if seed:
        world.speed.create_many(es[::3])
        world.speed.reorder(random.permutation(len(world.speed)))
        world.frozen.create_many(es[::4])
        world.velocity.create_many(random.permutation(es)[: count // 2], value=random.random(3))
        world.destroy_many(es[5:9])
    else:
        world.velocity.create_many(es, value=random.random((count, 3)))
    return world


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend_name: Backend = request.param
    return backend_name


def state(world: Any) -> list[Any]:
    speed = world.speed.data
    return [
        *(world.place.data.at.tolist(), world.place.data.far.tolist()),
        *(speed.way_x.tolist(), speed.way_y.tolist(), speed.way_z.tolist()),
        *(speed.turn.tolist(), speed.hits.tolist(), world.position.data.value.tolist()),
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 3, 40, 5000])
def test_over_a_query(count: int, seed: int, backend: Backend) -> None:
    world, twin = filled(count, seed, backend), filled(count, seed, backend)
    dt, limit = np.float32(0.1), 0.6
    for _, row, speed in ((r.entity, r.place, r.speed) for r in twin.movers):
        if twin.place.far(row) < limit:
            way: NDArray[np.float32] = np.array(twin.speed.way(speed), np.float32)
            at = np.array(twin.place.at(row), np.float32) + way * dt
            way[0] *= np.float32(0.5)
            twin.place.set_at(row, at)
            twin.speed.set_way(speed, way)
            turned = float(np.float64(at[1]) + np.float64(twin.speed.turn(speed)[0][1]))
            twin.place.set_far(row, turned)
            twin.speed.set_hits(speed, twin.speed.hits(speed) + 1)
    world.move(0.1, limit)
    assert state(world) == state(twin)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 40, 5000])
def test_over_a_group(count: int, seed: int, backend: Backend) -> None:
    world, twin = filled(count, seed, backend), filled(count, seed, backend)
    twin.bodies.position.value += twin.bodies.velocity.value * np.float32(0.25)
    world.drift(0.25)
    assert state(world) == state(twin)
    version = world.position.version
    with world.position.locked():
        world.drift(0.25)
    assert world.position.version == version


def test_of_one_component(backend: Backend) -> None:
    world, twin = filled(40, 1, backend), filled(40, 1, backend)
    alive = twin.lone.rows().place
    twin.place.data.at[alive] *= np.float32(0.5)
    world.halve()
    assert state(world) == state(twin)


def test_arguments_are_checked(backend: Backend) -> None:
    world = filled(3, 0, backend)
    before = state(world)
    with pytest.raises(TypeError, match=r"Game\.move\.dt"):
        world.move("fast", 1.0)
    with pytest.raises(TypeError):
        world.move(True, 1.0)
    with pytest.raises(OverflowError):
        world.drift(1e39)
    assert state(world) == before


def test_no_view_is_kept(backend: Backend, recwarn: pytest.WarningsRecorder) -> None:
    world = filled(64, 0, backend)
    world.drift(0.1)
    world.move(0.1, 1.0)
    world.spawn(100, position={}, velocity={}, place={}, speed={})
    assert not list(recwarn)


@pytest.mark.parametrize("name", ["position", "velocity", "place", "speed"])
@pytest.mark.parametrize("change", ["reserve", "shrink_to_fit"])
def test_after_a_buffer_moved(name: str, change: str, backend: Backend) -> None:
    """Rows and their number stay: only the buffer is another one."""
    world, twin = filled(64, 1, backend), filled(64, 1, backend)
    for each in (world, twin):
        for manager in (each.position, each.velocity, each.place, each.speed):
            manager.reserve(1000)
    world.drift(0.1)
    world.move(0.1, 1.0)
    twin.drift(0.1)
    twin.move(0.1, 1.0)
    getattr(getattr(world, name), change)(*([2000] if change == "reserve" else []))
    for each in (world, twin, deepcopy(twin)):
        each.drift(0.5)
        each.move(0.5, 1.0)
        assert state(each) == state(world)


def test_blocks_are_kept_until_something_moves() -> None:
    world = filled(64, 1)
    world.drift(0.1)
    world.move(0.1, 1.0)
    blocks = dict(world.place.data._world_kernels), dict(world.position.data._world_kernels)
    world.drift(0.1)
    world.move(0.1, 1.0)
    assert (world.place.data._world_kernels, world.position.data._world_kernels) == blocks
    world.speed.reserve(1000)
    assert list(blocks[0]["move"]) == []
    world.move(0.1, 1.0)
    assert world.place.data._world_kernels["move"] is not blocks[0]["move"]
    assert world.position.data._world_kernels == blocks[1]


def test_kept_memory_is_counted() -> None:
    world = filled(5000, 1)
    managers = (world.place, world.speed)
    before = sum(manager.nbytes for manager in managers)
    world.move(0.1, 1.0)
    kept_bytes = sum(manager.nbytes for manager in managers) - before
    count = len(world.movers)
    # Gathered at, far, way, turn and hits; at least a mask and one of f32[3] beside them.
    assert kept_bytes >= count * (12 + 8 + 12 + 16 + 4 + 1 + 12)
    assert kept_bytes < 3 * count * (12 + 8 + 12 + 16 + 4 + 1 + 12)


def test_memory_that_was_given_back_is_not_counted() -> None:
    world = filled(5000, 1)
    before = world.place.nbytes
    world.move(0.1, 1.0)
    world.speed.reserve(20_000)  # what Place shared with it is gone, too
    assert world.place.nbytes == before


def test_arguments_of_any_name(backend: Backend) -> None:
    """Those that have the names of what the method has, too."""
    names = ["found", "blocks", "where", "i", "position_row", "position_rows", "position_j", "t"]
    text = "world: W\nqueries: {all_of: {all: [Position]}}\nkernels:\n  push:\n    over: all_of\n"
    text += f"    args: {{{', '.join(f'{name}: f32' for name in names)}}}\n"
    text += f"    steps: ['Position.x += {' + '.join(names)}']\n"
    text += "---\ncomponent: Position\nfields: {x: f32}\n"
    world = world_package(text, f"world_names_{backend}", backend).W()
    es = world.spawn(9, position={})
    world.push(*(2.0**power for power in range(len(names))))
    world.position.remove_many(es[::2])
    world.position.reorder([1, 0, 2, 3])
    world.push(*(2.0**power for power in range(len(names))))
    assert world.position.data.x.tolist() == [2 * (2.0 ** len(names) - 1)] * 4


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_that_overflow(seed: int, backend: Backend) -> None:
    """They warn as numpy does, and compiled not at all; the numbers are the same."""
    world = filled(6, seed, backend)
    world.velocity.data.value = 3e38
    world.position.data.value = 3e38
    if backend == "numpy":
        with pytest.warns(RuntimeWarning, match="overflow"):
            world.drift(2.0)
    else:
        world.drift(2.0)
    assert np.isinf(world.bodies.position.value).all()


LARGE = """
world: Large
queries: {all_of: {all: [Third, Left, Right]}}
kernels:
  inner:
    over: all_of
    args: {gains: "f32[40]"}
    steps:
      - Left.long += Right.long * Third.gain + gains
      - Right.long = Left.long / norm(Left.long) if Third.gain > 0.5 else Right.long
  mixed:
    over: all_of
    where: Third.gain > 0.25
    steps:
      - Left.square = Right.square @ Left.square
      - t = Right.parts * 2
      - Right.parts = t + Left.long[3]
  shared: {over: all_of, parallel: true, steps: ["Left.long *= Third.gain", "Right.long -= 1"]}
---
component: Left
fields: {long: "f32[40]", square: "f32[5,5]"}
---
component: Right
fields: {long: "f32[40]", square: "f32[5,5]", parts: {type: "f32[3]", split: true}}
---
component: Third
fields: {gain: f32}
"""


def large(backend: Backend, scattered: bool) -> Any:
    """A world of large cells, in the order of creation or in any."""
    world = world_package(LARGE, f"large_{backend}", backend).Large()
    es, random = world.spawn(70, third={}), np.random.default_rng(5)
    for manager in (world.left, world.right):
        manager.create_many(random.permutation(es) if scattered else es)
        for name in ("long", "square"):
            column = getattr(manager.data, name)
            column[...] = random.standard_normal(column.shape)
    world.third.data.gain = random.random(70)
    if scattered:
        world.third.remove_many(es[::7])
        world.right.remove_many(es[::9])
    return world


@pytest.mark.parametrize("scattered", [False, True])
def test_large_cells(scattered: bool) -> None:
    """Inner loops and several cores of numba give what numpy gives."""
    results = []
    for each in BACKENDS:
        world = large(each, scattered)
        world.inner(tuple(range(40)))
        world.mixed()
        world.shared()
        left, right = world.left.data, world.right.data
        cells = (left.long, left.square, right.long, right.square)
        results.append([*cells, right.parts_x, right.parts_z])
    for first, other in zip(*results, strict=True):
        np.testing.assert_array_equal(first, other)


SPLIT = """
world: Game
groups: {nodes: [Node, Mark]}
queries: {some: {all: [Node]}}
kernels:
  of_group: {over: nodes, steps: ["Node.turn = Node.turn @ Node.turn", "Node.line += Node.turn[0]"]}
  of_query: {over: some, steps: ["Node.turn = Node.turn @ Node.turn", "Node.line += Node.turn[0]"]}
---
component: Mark
fields: {x: f32}
---
component: Node
fields:
  lines: u8
  turn: {type: "f64[2,2]", split: true}
  line: {type: "f64[2]", split: true}
kernels:
  of_component: {steps: ["turn = turn @ turn", "line += turn[0]"]}
"""


@pytest.mark.parametrize("way", ["of_component", "of_group", "of_query"])
def test_split_fields_that_need_themselves(way: str) -> None:
    world, turns = world_package(SPLIT, "split_game").Game(), np.random.random((50, 2, 2))
    world.spawn(50, node={"turn": turns}, mark={})
    getattr(world.node if way == "of_component" else world, way)()
    for row, turn in enumerate(turns):
        np.testing.assert_allclose(world.node.turn(row), turn @ turn)
        assert world.node.line(row) == world.node.turn(row)[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_are_made_once(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is laid out once, though several blocks of the template are about it."""
    parts, calls, make = WorldContext.of(shipped().made_for(backend)), [], KernelTexts.of

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(KernelTexts, "of", counted)
    render_world_module(parts)
    assert len(calls) == 1


OVER_SCHEMA = """
world: Game
groups: {pairs: [Left, Right]}
kernels:
  age: {over: Effect, args: {dt: f32}, steps: ["Effect.left -= dt", "Effect.bearer = entity"]}
  glow: {over: Sprite, args: {by: f32}, steps: ["Sprite.light += by"]}
  walk: {over: Crew, steps: ["Crew.steps += 1"]}
  rise: {over: Place, steps: ["Place.height = sqrt(Place.height) + 1"]}
  aim:
    over: Effect
    args: {whom: entity, at: id<Sprite>, others: "entity[2]"}
    where: entity != whom
    steps: ["Effect.bearer = whom", "Effect.sprite = at", "Effect.last = others[1]"]
  mark: {over: pairs, steps: ["Right.owner = entity", "Left.is_first = entity == Left.lead"]}
  shine: {over: Sprite, steps: ["Sprite.light = f32(random())"]}
  chance: {over: pairs, steps: ["Right.luck = random()"]}
---
component: Effect
instances: many
ids: true
fields: {left: f32, bearer: entity, last: entity, sprite: id<Sprite>}
kernels:
  own: {args: {e: entity}, where: entity == e, steps: ["bearer = entity", "left += 1"]}
---
component: Sprite
owner: none
fields: {light: f32}
---
component: Crew
partition: {start: active}
fields: {steps: i32}
---
component: Place
lookup: direct
fields: {height: f32}
---
component: Left
fields: {lead: entity, is_first: bool}
---
component: Right
fields: {owner: entity, luck: f64}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def game(request: pytest.FixtureRequest) -> Any:
    return world_package(OVER_SCHEMA, f"over_components_{request.param}", request.param)


@pytest.mark.parametrize("count", [0, 1, 5, 3000])
def test_every_instance_of_many(game: Any, count: int) -> None:
    """Those of dead entities, too, until they are collected."""
    world = game.Game()
    es = world.spawn(count)
    world.effect.create_many(np.concatenate((es, es[::2], es)), left=3)
    world.destroy_many(es[1:3])
    version = world.effect.version
    world.age(0.5)
    assert (world.effect.data.left == 2.5).all()
    assert (world.effect.data.bearer == world.effect.data.entity).all()
    world.collect()
    world.age(0.5)
    assert len(world.effect) == (0 if not count else 3) or (world.effect.data.left == 2).all()
    assert count < 2 or world.effect.version > version


def test_rows_of_nobody(game: Any) -> None:
    world = game.Game()
    world.sprite.create_many(4, light=[1, 2, 3, 4])
    world.glow(0.5)
    assert world.sprite.data.light.tolist() == [1.5, 2.5, 3.5, 4.5]
    world.shine()
    assert len({*world.sprite.data.light.tolist()}) == 4


def test_active_rows(game: Any) -> None:
    world = game.Game()
    es = world.spawn(6, crew={})
    world.crew.deactivate_many(world.crew.lookup_many(es[1::2]))
    world.walk()
    world.crew.activate(world.crew.lookup(es[1]))
    world.walk()
    steps = [world.crew.steps(world.crew.lookup(e)) for e in es]
    assert steps == [2, 1, 2, 0, 2, 0]


def test_holes_are_quiet(game: Any) -> None:
    """Values in rows that are not in use have no part in the result."""
    world = game.Game()
    es = world.spawn(6, place={"height": [-1, 4, 9, 16, 25, 36]})
    world.place.remove(es[0])
    world.rise()
    assert world.place.data.height[1:].tolist() == [3, 4, 5, 6, 7]


def test_handles_as_arguments(game: Any) -> None:
    world = game.Game()
    es = world.spawn(3, effect={})
    sprite = world.sprite.create()
    world.aim(es[1], np.uint64(sprite), [0, 2**64 - 1])
    assert world.effect.data.bearer.tolist() == [es[1], 0, es[1]]
    assert world.effect.data.sprite.tolist() == [sprite, 0, sprite]
    assert world.effect.data.last.tolist() == [2**64 - 1, 0, 2**64 - 1]
    world.effect.own(int(es[2]))
    assert world.effect.data.left.tolist() == [0, 0, 1]
    for wrong, error in ((2**64, OverflowError), (-1, OverflowError), (1.0, TypeError)):
        with pytest.raises(error, match="aim"):
            world.aim(wrong, sprite, [0, 0])
        with pytest.raises(error, match="aim"):
            world.aim(0, wrong, [0, 0])


def test_the_owner_in_a_group(game: Any) -> None:
    world = game.Game()
    es = world.spawn(5, left={}, right={})
    world.left.data.lead = es[2]
    world.mark()
    world.chance()
    assert world.right.data.owner.tolist() == world.pairs.right.entity.tolist()
    assert world.left.data.is_first.sum() == 1
    assert len({*world.right.data.luck.tolist()}) == 5


KERNELS = 24
COMPILED = 4
"""How many of them numba compiles: each takes seconds."""


@dataclass(frozen=True, repr=False)  # it would be long in messages
class Packages:
    text: str
    project: Project
    made: list[Any]


@pytest.fixture(scope="module")
def packages() -> Packages:
    text = schema(KERNELS, first=300)
    return Packages(text, load(text), [world_package(text, f"joined_{b}", b) for b in BACKENDS])


def check_call(packages: Packages, worlds: list[Any], number: int) -> None:
    """Run a kernel in several worlds that are alike."""
    kernel = packages.project.world.kernels[number]
    values = arguments(kernel)
    judge = mirrored(worlds[0], packages.text)
    judge.orders.clear()  # it finds itself who takes part
    judged = call(judge, kernel.name, **values).kernel
    for world in worlds:
        with np.errstate(all="ignore"):
            getattr(world, kernel.name)(**values)
        assert_same(world, judge, judged, is_strict=True)


def check_story(
    packages: Packages, turns: list[tuple[Change, int]], seed: int, compiled: bool
) -> None:
    """Change worlds and run kernels in turns."""
    worlds = [package.Game() for package in packages.made[: 2 if compiled else 1]]
    for turn, (change, number) in enumerate(turns):
        worlds = [change(world, np.random.default_rng((seed, turn))) for world in worlds]
        fill_all(worlds, packages.project, np.random.default_rng((seed, turn, 1)))
        check_call(packages, worlds, number)


def stories(kernels: int) -> st.SearchStrategy[list[tuple[Change, int]]]:
    """Some changes, each with the kernel that runs after it; the kernels are few, to come again."""
    few = st.lists(st.integers(0, kernels - 1), min_size=1, max_size=3)
    turn = few.flatmap(
        lambda numbers: st.lists(
            st.tuples(st.sampled_from(CHANGES), st.sampled_from(numbers)), min_size=2, max_size=8
        )
    )
    return turn.map(lambda turns: [(CHANGES[0], turns[0][1]), *turns])


@settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(turns=stories(COMPILED), seed=st.integers(0, 2**32))
def test_both_backends_are_exact(
    packages: Packages, turns: list[tuple[Change, int]], seed: int
) -> None:
    check_story(packages, turns, seed, compiled=True)


@settings(deadline=None, max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(turns=stories(KERNELS), seed=st.integers(0, 2**32))
def test_blocks_join(packages: Packages, turns: list[tuple[Change, int]], seed: int) -> None:
    """With numpy, in blocks of four rows."""
    with Tuning.override(block_rows=(4, 4)):
        check_story(packages, turns, seed, compiled=False)
