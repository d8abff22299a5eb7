"""When an inspector touches the world, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from ecsgen.inspector import asking, serve
from ecsgen.inspector.asking import Questions, RefusedError
from generated import BrokenManagerError, StaleViewWarning, World
from tests.support.inspected import Inspected

Work = Callable[[], Any]


def asked(questions: Questions, *works: Work) -> list[asyncio.Future[Any]]:
    """Put questions as a server does."""
    return [asyncio.ensure_future(questions.ask(work)) for work in works]


async def answered(budget: float, *works: Work) -> tuple[int, list[Any]]:
    questions = Questions()
    waiting = asked(questions, *works)
    await asyncio.sleep(0)
    count = questions.answer(budget)
    while questions.answer(1.0):
        pass
    return count, list(await asyncio.gather(*waiting, return_exceptions=True))


def test_the_budget_begins_with_the_first_answer() -> None:
    assert asyncio.run(answered(0.0, *[lambda: 1] * 3)) == (1, [1, 1, 1])
    assert asyncio.run(answered(10.0, *[lambda: 1] * 3)) == (3, [1, 1, 1])


def test_nothing_to_do() -> None:
    with serve(World()) as inspector:
        assert inspector.tick() == 0


def test_a_request_counts_once() -> None:
    world = World()
    world.spawn(3, point_mass={"mass": [3, 1, 2]})
    with Inspected(world) as seen:
        counted: list[int] = []
        tick = seen.inspector.tick

        def counts(budget: float = 1.0) -> int:
            counted.append(tick(budget))
            return counted[-1]

        seen.inspector.tick = counts  # type: ignore[method-assign]  # to see what it returns
        for path in ("world", "rows/point_mass?sort=mass", "entities?all=point_mass"):
            counted.clear()
            assert seen.get(path).status == 200
            assert sum(counted) == 1, path


def test_it_is_the_callers_thread_that_touches_the_world() -> None:
    world, threads = World(), set()

    class Told(type(world.entities)):  # type: ignore[misc]  # a class that is not known before
        def __len__(self) -> int:
            threads.add(threading.current_thread())
            return int(super().__len__())

    world.entities.__class__ = Told
    with Inspected(world) as seen:
        seen.json("world")
        seen.json("entities")
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize(
    "path",
    [
        *("rows/point_mass", "rows/point_mass?sort=mass", "histogram/point_mass/mass"),
        *("entities?all=point_mass", "query/movers", "rows/nothing", "frames", "world"),
    ],
)
def test_no_view_outlives_a_tick(path: str) -> None:
    world = World()
    world.spawn(70, point_mass={}, transform={})
    with Inspected(world) as seen, warnings.catch_warnings():
        warnings.simplefilter("error", StaleViewWarning)
        for k in range(3):
            seen.get(path)
            world.spawn(200 << k, point_mass={}, transform={})


def test_errors_keep_no_view() -> None:
    world = World()
    world.spawn(64, point_mass={})

    def fails() -> None:
        view = world.point_mass.data.mass
        raise ValueError(len(view))

    async def run() -> Any:
        questions = Questions()
        (waiting,) = asked(questions, fails)
        await asyncio.sleep(0)
        questions.answer(1.0)
        return await asyncio.gather(waiting, return_exceptions=True)

    gc.disable()
    try:
        (error,) = asyncio.run(run())
        with warnings.catch_warnings():
            warnings.simplefilter("error", StaleViewWarning)
            world.spawn(100, point_mass={})
    finally:
        gc.enable()
    assert isinstance(error, RefusedError)
    assert (error.status, error.message) == (500, "64")


def test_no_tick_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 0.05)
    with Inspected(World()) as seen:
        sent = seen._threads.submit(
            seen._send, "GET", "/api/world", {"X-Ecsgen-Token": seen.token}, None
        )
        answer = sent.result(5)
        assert answer.status == 503
        assert "no tick() answered" in answer.error
        assert seen.inspector.tick() == 0  # nobody waits any more
        monkeypatch.setattr(asking, "PATIENCE", 2.0)
        assert seen.get("world").status == 200


def test_a_broken_manager_is_told_to_the_browser() -> None:
    world = World()
    world.spawn(2, point_mass={})
    with Inspected(world) as seen:
        world.point_mass._break()
        with pytest.raises(BrokenManagerError):
            len(world.point_mass)
        answer = seen.get("rows/point_mass")
        assert (answer.status, "broken" in answer.error) == (500, True)
        assert seen.json("rows/transform")["n"] == 0
        assert seen.json("frames")["rows"][-1] is None


def test_ctrl_c_in_a_tick_is_the_programs() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        questions = Questions()
        (waiting,) = asked(questions, interrupted)
        await asyncio.sleep(0)
        with pytest.raises(KeyboardInterrupt):
            questions.answer(1.0)
        with pytest.raises(RefusedError):
            await waiting

    asyncio.run(run())


def test_closing() -> None:
    inspector = serve(World())
    inspector.close()
    inspector.close()
    assert inspector.tick() == 0
    with pytest.raises(RefusedError, match="closed"):
        asyncio.run(inspector._questions.ask(lambda: 1))


def test_closing_refuses_what_waits() -> None:
    async def run() -> None:
        questions = Questions()
        (waiting,) = asked(questions, lambda: 1)
        await asyncio.sleep(0)
        questions.close()
        with pytest.raises(RefusedError, match="closed"):
            await waiting

    asyncio.run(run())


def test_two_at_once() -> None:
    with Inspected(World()) as one, Inspected(World()) as other:
        assert one.port != other.port
        assert one.token != other.token
        assert one.json("world")["alive"] == other.json("world")["alive"] == 0
        assert one.send("GET", "/api/world", {"X-Ecsgen-Token": other.token}).status == 401


def test_copies_are_dropped_when_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsgen.inspector.copies._LONGEST", 0.02)
    world = World()
    world.spawn(10, point_mass={})
    with Inspected(world) as seen:
        seen.json("rows/point_mass?sort=mass")
        kept = seen.inspector._answers._copies._kept
        deadline = time.monotonic() + 60
        while kept and time.monotonic() < deadline:
            time.sleep(0.005)
        assert not kept
