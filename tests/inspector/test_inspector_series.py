"""Series for charts, over the steps of a run."""

from __future__ import annotations

import numpy as np
import pytest

from ecsgen.inspector import series
from generated import World
from tests.support.inspector_client import Inspected


def test_counts_and_reductions_over_steps() -> None:
    world = World()
    world.spawn(3, particle={"life": [0, 1, 2]})
    with Inspected(world, step=lambda: None) as seen:
        path = "series?names=particle,particle.expired"
        assert seen.json(path) == {"steps": [0], "particle": [3], "particle.expired": [1]}
        for _ in range(2):
            world.spawn(1, particle={"life": -1})
            seen.inspector._loop.do_steps()
            seen.inspector._api.series.note()
        answer = seen.json(f"{path}&since=0")
        assert answer == {"steps": [1, 2], "particle": [4, 5], "particle.expired": [2, 3]}


def test_series_of_which_nobody_asked_are_not_computed() -> None:
    world = World()
    with Inspected(world, step=lambda: None) as seen:
        seen.inspector._api.series.note()
        assert seen.inspector._api.series._steps == []
        seen.json("series?names=boid")
        seen.inspector._loop.do_steps()
        seen.inspector._api.series.note()
        assert seen.inspector._api.series._values.keys() == {"boid"}


def test_a_series_that_fails_has_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose reduction a checked run refuses: others go on, and so does the run."""
    world = World()
    world.spawn(1, particle={"life": -1})
    with Inspected(world, step=lambda: None) as seen:
        sources = seen.inspector._api.series.sources
        monkeypatch.setitem(sources, "particle.expired", lambda: 1 / len(world.boid))
        path = "series?names=particle.expired,particle"
        assert seen.json(path) == {"steps": [0], "particle.expired": [None], "particle": [1]}
        world.spawn(1, boid={})
        seen.inspector._loop.do_steps()
        seen.inspector._api.series.note()
        answer = seen.json(path)
        assert answer == {"steps": [0, 1], "particle.expired": [None, 1], "particle": [1, 1]}


@pytest.mark.parametrize("name", ["wolf", "boid.clear", "boid.fly", "boid.collect", "ill.entity"])
def test_only_series_are_called(name: str) -> None:
    world = World()
    world.spawn(2, boid={})
    with Inspected(world) as seen:
        assert seen.get(f"series?names={name}").status == 404
    assert len(world.boid) == 2


def test_records_need_no_names() -> None:
    world = World()
    world.spawn(5, person={})
    for _ in range(3):
        world.records.outbreak.write()
        world.tick += 1
    with Inspected(world) as seen:
        answer = seen.json("series")
        assert answer["steps"] == [0, 1, 2]
        assert answer["outbreak.persons"] == [5, 5, 5]
        assert seen.json("series?since=1")["steps"] == [2]


def test_thinning_keeps_extremes() -> None:
    line = np.sin(np.arange(100_000) / 500)
    line[12_345], line[77_777] = 9, -9
    line[5000:6000] = np.nan
    chosen = series.thin(len(line), [line, np.zeros(len(line))])
    assert len(chosen) <= series.SENT + 2
    assert {0, 12_345, 77_777, 99_999} <= set(chosen.tolist())
    assert (np.diff(chosen) > 0).all()


def test_old_steps_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "KEPT", 10)
    with Inspected(World(), step=lambda: None) as seen:
        seen.json("series?names=boid")
        for _ in range(50):
            seen.inspector._loop.do_steps()
            seen.inspector._api.series.note()
        answer = seen.json("series?names=boid")
    assert 10 <= len(answer["steps"]) <= 11
    assert answer["steps"][-1] == 50
    assert len(answer["boid"]) == len(answer["steps"])
