"""Columns of the map: places, colours and directions of points, and cells of a grid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from generated import Condition, World
from tests.support import watched_worlds
from tests.support.inspector_client import Inspected


class Columns(NamedTuple):
    head: dict[str, Any]
    columns: dict[str, Any]


def read(body: bytes) -> Columns:
    """Read an answer as a program would."""
    length = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + length])
    start, columns = 4 + length, {}
    for column in head["columns"]:
        dtype = np.dtype({"f32": "<f4", "u64": "<u8"}[column["type"]])
        shape = (*reversed(column["shape"]), column.get("n", head["n"]))
        cells = np.frombuffer(body, dtype, int(np.prod(shape)), start).reshape(shape)
        columns[column["name"]] = cells
        start += cells.nbytes
    assert start == len(body)
    return Columns(head, columns)


def points(inspected: Inspected, path: str) -> Columns:
    answer = inspected.get(f"points/{path}")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/octet-stream"
    return read(answer.body)


@pytest.fixture(scope="module")
def farm() -> Iterator[Inspected]:
    world = watched_worlds.farm()
    world.sheep.data.energy = [1, np.nan, 3]
    with Inspected(world) as inspected:
        yield inspected


def test_places_on_a_grid_are_middles_of_cells(farm: Inspected) -> None:
    head, columns = points(farm, "sheep")
    assert columns["place"].tolist() == [[0.5, 1.5, 3.5], [0.5, 2.5, 1.5]]
    assert columns["entity"].tolist() == farm.world.sheep.data.entity.tolist()
    assert (head["n"], head["step"], head["bounds"]) == (3, 0, [[0, 4], [0, 3]])
    assert head["wrap"] == [4, 0]


def test_fields_follow_in_their_order(farm: Inspected) -> None:
    head, columns = points(farm, "sheep?direction=way&color=mood&size=energy")
    assert list(columns) == ["place", "mood", "energy", "way", "entity"]
    assert head["members"] == ["calm", "wild"]
    assert columns["mood"].tolist() == [0, 1, 0]  # the places of members
    assert columns["way"].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert head["size_range"] == [1, 3]  # without the NaN


def test_ids_can_be_left_out(farm: Inspected) -> None:
    head, columns = points(farm, "sheep?color=mood&ids=0")
    assert list(columns) == ["place", "mood"]
    assert [column["name"] for column in head["columns"]] == ["place", "mood"]
    answer = farm.ask("HEAD", "points/sheep")
    assert (answer.status, answer.body) == (200, b"")


def test_cells_of_a_grid(farm: Inspected) -> None:
    head, columns = points(farm, "patch?color=grass")
    assert (head["grid"], head["n"]) == ([4, 3], 12)
    assert columns["grass"].tolist() == list(range(12))
    assert points(farm, "patch?color=wet").head["members"] == ["false", "true"]


def test_a_query_has_the_places_of_its_component(farm: Inspected) -> None:
    head, columns = points(farm, "flock?color=energy")
    assert head["n"] == 3
    assert columns["place"].tolist() == points(farm, "sheep").columns["place"].tolist()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("wolf", 404),
        ("sheep?color=wool", 404),
        ("sheep?color=name", 400),
        ("sheep?color=way", 400),
        ("sheep?direction=energy", 400),
    ],
)
def test_what_cannot_be_shown(farm: Inspected, path: str, status: int) -> None:
    answer = farm.get(f"points/{path}")
    assert answer.status == status
    assert answer.error


def test_maps_that_there_are(farm: Inspected) -> None:
    maps = {each["name"]: each for each in farm.json("world")["maps"]}
    assert list(maps) == ["star", "sheep", "patch", "flock"]
    assert (maps["sheep"]["grid"], maps["sheep"]["is_grid"]) == ("patch", False)
    assert maps["patch"]["is_grid"]


@pytest.mark.parametrize("n", [0, 1, 10_000])
def test_a_space(n: int) -> None:
    world = World()
    places = np.random.default_rng(1).random((n, 2)).astype(np.float32) * 50
    if n:
        places[0, 0] = np.nan
    world.spawn(n, boid={"position": places})
    with Inspected(world) as inspected:
        head, columns = points(inspected, "boid")
    assert np.array_equal(columns["place"], places.T, equal_nan=True)
    assert head["bounds"] == [[0, 100], [0, 60]]
    assert head["wrap"] == [100, 60]


def test_answers_hold_no_views() -> None:
    world = World()
    world.spawn(100, boid={"position": (1, 2)})
    with Inspected(world) as inspected:
        points(inspected, "boid")
        world.spawn(10_000, boid={})  # grows, and would warn


def test_members_beyond_the_enum_come_last() -> None:
    from ecsgen.inspector.points import _places_of_members

    field = next(f for f in World().person.FIELDS if f.name == "condition")
    last = len(Condition.__members__)
    assert _places_of_members(np.array([0, 200]), field).tolist() == [0, last]
