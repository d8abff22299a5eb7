"""The loop of a run, and what the page may do with it."""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.inspector import Inspector, serve
from generated import World
from tests.support.inspector_client import Client, Inspected


class Person(Client):
    """A browser on another thread, while `run` has this one."""

    def post(self, **body: object) -> Any:
        answer = self.ask("POST", "run", body)
        assert answer.status == 200, answer.body
        return answer.json

    def state(self) -> Any:
        return self.json("run")

    def wait_for(self, **wanted: object) -> Any:
        for _ in range(400):
            state = self.state()
            if wanted.items() <= state.items():
                return state
            time.sleep(0.01)
        raise AssertionError(f"{state} is never {wanted}")


def watched(inspector: Inspector, script: Any) -> int:
    """Run while a script asks from another thread; return the number of steps done."""
    failures: list[BaseException] = []

    def watch() -> None:
        person = Person(inspector)
        try:
            script(person)
        except BaseException as error:
            failures.append(error)
        finally:
            person.ask("POST", "run", {"stop": True})

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        return inspector.run()
    finally:
        thread.join()
        inspector.close()
        if failures:
            raise failures[0]


FLY = {"way": 1.0, "width": 100.0, "height": 60.0}


def birds(seed: int = 1, count: int = 20) -> World:
    world = World()
    places = np.random.default_rng(seed).random((count, 2)) * 50
    world.spawn(count, boid={"position": places, "heading": (1, 0)})
    return world


def test_run_is_paused_at_first_and_steps_as_told() -> None:
    world = birds()
    before = world.boid.data.position.copy()

    def script(person: Person) -> None:
        first = person.state()
        assert (first["playing"], first["steps"], first["error"]) == (False, 0, None)
        assert first["args"] == FLY
        person.post(step=True)
        person.wait_for(steps=1)
        time.sleep(0.03)
        assert person.state()["steps"] == 1
        person.post(args={"way": 3})
        person.post(step=True)
        person.wait_for(steps=2, playing=False)

    inspector = serve(world, step=world.boid.fly, args=FLY)
    assert watched(inspector, script) == 2
    assert np.allclose((world.boid.data.position - before)[:, 0] % 100, 4)


def test_play_and_pause_and_speed() -> None:
    def script(person: Person) -> None:
        assert person.post(speed=20)["speed"] == 20
        start = time.perf_counter()
        person.post(play=True)
        time.sleep(0.5)
        steps = person.post(pause=True)["steps"]
        assert 1 <= steps <= 21 * (time.perf_counter() - start) + 2
        time.sleep(0.1)
        assert person.state()["steps"] == steps
        person.post(speed=None)
        person.post(play=True)
        time.sleep(0.2)
        assert person.post(pause=True)["steps"] > steps + 20

    watched(serve(World(), step=lambda: None), script)


def test_error_in_a_step_is_shown_and_raised() -> None:
    def step() -> None:
        raise ZeroDivisionError("nobody is left")

    def script(person: Person) -> None:
        person.post(play=True)
        state = person.wait_for(playing=False)
        assert (state["error"], state["steps"]) == ("ZeroDivisionError: nobody is left", 0)

    with pytest.raises(ZeroDivisionError, match="nobody is left"):
        watched(serve(World(), step=step), script)


def test_an_error_is_of_the_last_step_only() -> None:
    steps = iter([ZeroDivisionError("once")])

    def step() -> None:
        for error in steps:
            raise error

    with serve(World(), step=step) as inspector:
        with pytest.raises(ZeroDivisionError):
            inspector.record(1)
        assert len(inspector.record(2)) == 3
        assert watched(inspector, lambda person: None) == 0


def test_a_step_that_closes_is_the_last() -> None:
    inspector = serve(World(), step=lambda: inspector.close() if len(done) == 2 else done.append(0))
    done: list[int] = []
    inspector._loop.is_playing = True
    assert (inspector.run(), len(done)) == (3, 2)
    assert not inspector.wait()


def test_a_run_at_full_speed_is_answered_between_steps() -> None:
    """Short steps and long ones: no request waits for more than those of 4 ms, or one."""
    waits = []

    def step() -> None:
        if inspector._loop.steps % 500 == 0:
            time.sleep(0.02)

    def script(person: Person) -> None:
        person.post(play=True)
        for _ in range(20):
            start = time.perf_counter()
            person.state()
            waits.append(time.perf_counter() - start)

    inspector = serve(World(), step=step)
    assert watched(inspector, script) > 500
    assert sorted(waits)[10] < 0.5


def test_reset_makes_another_world_and_steps_it() -> None:
    def script(person: Person) -> None:
        person.post(step=True)
        person.wait_for(steps=1)
        assert person.state()["make"] == {"seed": 1, "count": 20}
        state = person.post(reset={"seed": 7, "count": 5})
        assert (state["steps"], state["make"]) == (0, {"seed": 7, "count": 5})
        assert person.json("world")["alive"] == 5
        person.post(step=True)
        person.wait_for(steps=1)
        assert person.ask("POST", "run", {"reset": {"sed": 7}}).status == 422

    first = birds()
    inspector = serve(first, step=first.boid.fly, args=FLY, make=birds)
    assert watched(inspector, script) == 2
    assert inspector.world is not first
    places = np.random.default_rng(7).random((5, 2)) * 50
    places[:, 0] += 1
    assert np.allclose(inspector.world.boid.data.position, places, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (birds, "return (world, step)"),  # else the step would step the old world
        (lambda: (World(), None, 3), "make returned no world but tuple"),
    ],
)
def test_reset_refuses_what_is_not_both(make: Any, message: str) -> None:
    def script(person: Person) -> None:
        answer = person.ask("POST", "run", {"reset": {}})
        assert answer.status == 422
        assert message in answer.error

    world = birds()
    inspector = serve(world, step=lambda: None, make=make)
    watched(inspector, script)
    assert inspector.world is world


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"play": 1},
        {"play": True, "stop": True},
        {"jump": True},
        {"speed": 0},
        {"speed": "fast"},
        {"speed": True},
        {"args": {"dt": "x"}},
        {"args": {"dz": 1}},
        {"args": 3},
        {"reset": {}},
    ],
)
def test_refused_commands_change_nothing(body: object) -> None:
    def script(person: Person) -> None:
        before = person.state()
        answer = person.ask("POST", "run", body)
        assert answer.status == 422
        assert answer.error
        assert person.state() == before

    watched(serve(World(), step=lambda dt: None, args={"dt": 0.5}), script)


def test_close_from_another_thread_ends_a_run() -> None:
    inspector = serve(World(), step=lambda: None)
    threading.Timer(0.1, inspector.close).start()
    assert inspector.run() == 0


def test_interrupt_ends_a_run() -> None:
    def step() -> None:
        raise KeyboardInterrupt

    watched(serve(World(), step=step), lambda person: person.post(play=True))


def test_a_run_does_not_tick_while_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsgen.inspector.inspector._LOOKING", 0.05)
    inspector = serve(World(), step=lambda: None)
    times, frames = list[float](), dict[str, Any]()
    tick = inspector.tick

    def timed() -> int:
        times.append(time.monotonic())
        return tick()

    inspector.tick = timed  # type: ignore[method-assign,assignment]  # to see when it is called

    def script(person: Person) -> None:
        person.post(play=True)
        time.sleep(0.5)
        frames.update(person.json("frames"))

    watched(inspector, script)
    assert np.diff(times).max() > 0.3
    assert max(frames["ms"]) < 300, "a time in which nobody looked is no frame"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"step": lambda dt: None}, TypeError, "step: missing a required argument: 'dt'"),
        ({"args": {"dt": 1}}, TypeError, "there is no step"),
        ({"make": lambda count: World()}, TypeError, "make: missing a required argument: 'count'"),
        ({"make": 3}, TypeError, "make: wanted a function, not int"),
        ({"view": {}}, TypeError, "view: wanted a View, not dict"),
        *(({"token": text}, ValueError, "token") for text in ("", "with blank", "line\n", "é")),
        ({"token": b"secret"}, TypeError, "^token: wanted text, not bytes$"),
        ({"world": World}, TypeError, "wanted a world"),
    ],
)
def test_what_cannot_be_served(options: Any, error: type[Exception], message: str) -> None:
    step = {"step": lambda: None} if "make" in options else {}
    with pytest.raises(error, match=message):
        serve(**{"world": World(), **step, **options})


def test_own_loop_waits_while_the_page_has_paused_it() -> None:
    steps: list[int] = []
    counts: list[int] = []

    def watch() -> None:
        person = Person(inspector)
        person.wait_for(playing=True)
        person.post(pause=True)
        counts.append(len(steps))
        time.sleep(0.1)
        counts.append(len(steps))
        person.post(step=True)
        time.sleep(0.1)
        counts.append(len(steps))
        person.post(stop=True)

    with serve(World()) as inspector:
        thread = threading.Thread(target=watch)
        thread.start()
        going = True
        while going:
            steps.append(1)
            inspector.tick()
            going = inspector.wait()
        thread.join()
    assert counts[1] - counts[0] <= 1
    assert counts[2] == counts[1] + 1


def test_own_loop_goes_on_once_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsgen.inspector.inspector._LOOKING", 0.3)

    def pause() -> None:
        person = Person(inspector)
        person.wait_for(playing=True)
        person.post(pause=True)

    with serve(World()) as inspector:
        assert inspector.wait()
        thread = threading.Thread(target=pause)
        thread.start()
        longest = 0.0
        while thread.is_alive() or longest < 0.25:
            inspector.tick()
            begun = time.perf_counter()
            assert inspector.wait()
            longest = max(longest, time.perf_counter() - begun)
        thread.join()


def test_without_a_step_the_run_cannot_be_controlled() -> None:
    with Inspected(World()) as seen:
        assert seen.ask("POST", "run", {"play": True}).status == 404


def test_the_example_steps_what_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example = importlib.import_module("watch_flock")
    world, step = example.make(seed=2, count=50)
    before = world.boid.data.position.copy()
    step()
    assert len(world) == 50
    assert not np.array_equal(world.boid.data.position, before)
