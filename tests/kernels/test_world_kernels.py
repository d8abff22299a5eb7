"""Kernels of the world: what they keep and let go, over one component, and random ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.reference.run import call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.config import BACKENDS, Backend
from ecsgen.model import Project
from ecsgen.render.kernel_printers import KernelTexts
from ecsgen.render.world.world_module import WorldContext, render_world_module
from tests.reference.world_copy import assert_same, mirrored
from tests.support.generated_package import shipped
from tests.support.interpreted_schemas import TOPICS
from tests.support.kernel_package import arguments
from tests.support.random_world_package import CHANGES, Change, fill_all, schema
from tests.support.soak import examples
from tests.support.world_package import load, world_package


def filled(count: int, seed: int, backend: Backend = "numpy") -> Any:
    """A world whose query has holes, and whose managers are in different orders."""
    package = world_package(TOPICS["sets"], f"kernel_game_{backend}", backend)
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


def test_no_view_is_kept(backend: Backend, recwarn: pytest.WarningsRecorder) -> None:
    world = filled(64, 0, backend)
    world.drift(0.1)
    world.move(0.1, 1.0)
    world.spawn(100, position={}, velocity={}, place={}, speed={})
    assert not list(recwarn)


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


@pytest.fixture(scope="module", params=BACKENDS)
def game(request: pytest.FixtureRequest) -> Any:
    return world_package(
        TOPICS["over_components"], f"over_components_{request.param}", request.param
    )


def test_arguments_that_are_no_handles(game: Any) -> None:
    world = game.Game()
    for wrong, error in ((2**64, OverflowError), (-1, OverflowError), (1.0, TypeError)):
        with pytest.raises(error, match="aim"):
            world.aim(wrong, 0, [0, 0])
        with pytest.raises(error, match="aim"):
            world.aim(0, wrong, [0, 0])


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
