"""Neighbourhoods of everybody, of the row's own reach, on one axis and of hexagons, and choices by
conditions and weights, in examples worked out by hand from the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.grid_geometry import Grid
from ecsgen_testing.reference.run import call

from tests.reference.hand_worlds import (
    Rows,
    game,
    gone,
    index,
    kernel,
    ks,
    put,
    unit,
    world_of,
)
from tests.support.reference_schemas import read

STORE = {"fields": {"k": "i64", "best": "entity", "x": "f64"}}
EVERYBODY: dict[str, Any] = {"near": {"other": {}}}


def test_everybody_but_oneself_and_the_dead_in_row_order() -> None:
    steps = [
        "Store.x = f64(sum(rivals.Store.k) + 1000 * count())",
        "Store.best = max_by(rivals, rivals.Store.k)",
        "for it in rivals:\n  it.Store.k = it.Store.k * 10 + Store.k",
    ]
    near = {"rivals": {"among": "Store"}}
    stores = {"Store": ks(1, 2, 3, 4)}  # which have no space
    world = game({"over": "Store", "near": near, "steps": steps}, [], stores, Store=STORE)
    world.entities.remove(3)
    call(world, "go")
    assert world.column("Store", "x") == [2006, 2005, 3007, 2003]
    assert world.column("Store", "best") == [4, 4, 4, 2]
    assert world.column("Store", "k") == [14, 24, 3, 42]  # of several the last one stands


def test_everybody_without_others_of_the_same_entity() -> None:
    kernel = {"over": "Leaf", **EVERYBODY, "steps": ["Leaf.n = count()"]}
    world = game(kernel, [], {"Leaf": [{"owner": owner} for owner in (1, 1, 2)]})
    call(world, "go")
    assert world.column("Leaf", "n") == [1, 1, 2]


def test_nan_is_nobodys_nearest() -> None:
    steps = ["Node.mate = nearest(other)", "Node.n = count()", "Node.x = sum(other.offset.x)"]
    nodes = [{"at": (x, 0)} for x in (0, np.nan, 10, 13)]
    world = gone(steps, nodes, **EVERYBODY)
    assert world.column("Node", "mate") == [3, 0, 4, 3]
    assert world.column("Node", "n") == [3, 3, 3, 3]
    assert np.isnan(world.column("Node", "x")).all()


def test_choice_of_those_for_which_a_condition_is_true() -> None:
    """`Node.k` is the candidate's there; the draw is numbered where it is written."""
    steps = "k = Node.k\nNode.mate = choice(Node, where=Node.k > k)\nNode.x = random()"
    world = gone(steps, ks(3, 1, 2, 9))
    wanted = [[4], [1, 3, 4], [1, 4]]
    mates = [those[index(who, 0, len(those))] for who, those in enumerate(wanted, 1)]
    assert world.column("Node", "mate") == [*mates, 0]
    assert world.column("Node", "x") == [unit(who, 1) for who in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("turns", "wanted"),
    [("", [[1, 2, 3], [1, 2, 3], [1, 2, 3]]), ("rows", [[1, 2, 3], [2, 3], [3]])],
)
def test_choice_reads_candidates_as_of_neighbours(turns: str, wanted: list[list[int]]) -> None:
    """Each row leaves 1: at once nobody sees it."""
    steps = "Node.mate = choice(Node, where=Node.k == 0)\nNode.k = 1"
    world = gone(steps, ks(0, 0, 0), turns=turns)
    mates = [those[index(who, 0, len(those))] for who, those in enumerate(wanted, 1)]
    assert world.column("Node", "mate") == mates


def test_the_most_frequent_value_and_of_several_the_first_met() -> None:
    steps = "Node.n = mode(other.Node.k)\nNode.on = mode(other.Node.k > 5)"
    world = gone(steps, ks(7, 5, 5, 7, 6), **EVERYBODY)
    assert world.column("Node", "n") == [5, 7, 7, 5, 7]
    assert world.column("Node", "on") == [False, True, True, True, True]


def test_choice_by_weight() -> None:
    """Weights below 0, NaN and infinite ones count as 0."""
    weights = [0.5, -1, np.nan, 2, np.inf, 1.5]
    steps = [
        "Node.mate = choice(other, weight=other.Node.x)",
        "Node.k = choice(other.Node.n, none=-1, where=other.Node.n < 3, weight=other.Node.x)",
    ]
    nodes = [{"x": x, "n": n} for n, x in enumerate(weights)]
    world = gone(steps, nodes, **EVERYBODY)
    wanted, limited = [], []
    for who in range(1, 7):
        others = [k for k in (1, 4, 6) if k != who]
        sums = np.cumsum([weights[k - 1] for k in others])
        limit = unit(who, 0) * sums[-1]
        wanted.append(next(k for k, s in zip(others, sums, strict=True) if s > limit))
        limited.append(0 if who != 1 else -1)  # node 1 alone has a weight
    assert world.column("Node", "mate") == wanted
    assert world.column("Node", "k") == limited


def test_what_is_given_of_no_neighbour() -> None:
    steps = """
Node.n = min(other.Node.k, none=Node.k + 1, where=other.Node.k > 5)
Node.x = mean(other.Node.x, none=7)
Node.mate = nearest(other, none=entity)
Node.b = choice(other.Node.b, none=300 - 100)
Node.k = max_by(other.Node.k, other.Node.x, none=Node.k)
"""
    nodes: Rows = [
        {"k": 1, "x": np.nan},
        {"k": 6, "x": 2},
        {"k": 3, "at": (50, 0), "b": 1},
    ]
    world = gone(steps, nodes, near={"other": {"radius": 1}})
    assert world.column("Node", "n") == [6, 7, 4]
    assert np.isnan(world.column("Node", "x")[1])
    assert world.column("Node", "x")[::2] == [2, 7]
    assert world.column("Node", "mate") == [2, 1, 3]
    assert world.column("Node", "b") == [0, 0, 200]
    assert world.column("Node", "k") == [6, 6, 3]  # whose first v is NaN is not asked


def test_each_row_has_its_own_reach_and_neighbours_come_in_row_order() -> None:
    steps = "for it in other:\n  Node.n = Node.n * 10 + it.Node.k"
    reaches = (3, 0, -1, np.nan, np.inf, 2)
    places = (6, 5, 4, 4, 3, 5)
    nodes = [
        {"k": k, "x": reach, "at": (place, 0)}
        for k, (reach, place) in enumerate(zip(reaches, places, strict=True), 1)
    ]
    nodes.append({"k": 7, "x": 1e200, "at": (np.inf, 0)})
    nodes.append({"k": 8, "x": 1e200, "at": (1000, 0)})
    world = gone(steps, nodes, near={"other": {"radius": "Node.x"}})
    assert world.column("Node", "n") == [23456, 6, 0, 0, 0, 12345, 0, 123456]


def test_in_turns_the_reach_is_of_now() -> None:
    steps = "Node.n = count()\nNode.mate.Node.x = 9"
    nodes = [{"x": 0.5, "mate": 2}, {"x": 0.5}, {"x": 0.5}]
    world = gone(steps, nodes, near={"other": {"radius": "Node.x"}}, turns="rows")
    assert world.column("Node", "n") == [0, 2, 0]


@pytest.mark.parametrize("type_", ["f64", "f64[1]"])
@pytest.mark.parametrize("radius", [1.5, "Car.reach"])
def test_a_space_of_one_axis(type_: str, radius: float | str) -> None:
    """On a ring of 10: 9.5 and 0.5 are a step apart, across the seam."""
    car = {
        "fields": {"x": type_, "way": type_, "n": "i64", "reach": "f64", "far": "f64"},
        "space": {"field": "x", "wrap": [10]},
    }
    kernel = {
        "over": "Car",
        "near": {"other": {"radius": radius}},
        "steps": ["Car.n = count()", "Car.way = sum(offset)", "Car.far = max(distance)"],
    }
    cars = [{"x": x, "reach": 1.5} for x in (9.5, 0.5, 4, 1.25)]
    world = game(kernel, [], {"Car": cars}, Car=car)
    call(world, "go")
    assert world.column("Car", "n") == [1, 2, 0, 1]
    assert np.ravel(world.column("Car", "way")).tolist() == [1, -1 + 0.75, 0, -0.75]
    assert world.column("Car", "far")[:2] == [1, 1]


# Hexagons


def around(shape: tuple[int, int], cell: tuple[int, int], radius: int, wrap: bool) -> list[Any]:
    grid = Grid(shape, (wrap, wrap))
    return [offset for offset, _ in grid.around(grid.at(cell), radius, "hex") if any(offset)]


def test_six_hexagons_are_a_step_away() -> None:
    steps = [(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)]
    assert around((5, 5), (2, 2), 1, wrap=False) == steps
    assert around((5, 5), (0, 0), 1, wrap=True) == steps
    assert len(around((5, 5), (2, 2), 2, wrap=False)) == 18
    assert around((5, 5), (0, 0), 1, wrap=False) == [(0, 1), (1, 0)]


def test_wrapped_hexagons_are_met_once_by_their_least_distance() -> None:
    """Of several ways of as few steps the first in ascending order."""
    assert around((2, 2), (0, 0), 9, wrap=True) == [(-1, 0), (-1, 1), (0, -1)]
    wanted = [(-2, 1), (-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)]
    assert around((3, 3), (1, 1), 2, wrap=True) == wanted
    assert around((3, 3), (1, 1), 1, wrap=True) == [*wanted[2:]]
    assert around((1, 1), (0, 0), 3, wrap=True) == []


def test_distances_of_hexagons_are_steps() -> None:
    """From (2, 2) the cells (0, 3) and (3, 3) are two steps away; the first one is nearest."""
    text = """
component: Patch
grid: {shape: [5, 5], hood: hex}
fields: {k: i64, x: f64, on: bool, far: f64}
---
world: Board
kernels:
"""
    steps = (
        "Patch.k = nearest(other.k, where=other.on)",
        "Patch.x = sum(other.distance)",
        "for it in other:\n  if it.k == 18:\n    Patch.far = it.distance + 10 * f64(it.offset.x)",
    )
    go = kernel("go", "Patch", *steps, near="{radius: 2, among: Patch}", where="Patch.k == 12")
    world = world_of(read(text + go))
    put(world, "Patch", "k", *range(25))
    put(world, "Patch", "on", *(k in (3, 18) for k in range(25)))
    call(world, "go")
    assert world.column("Patch", "k")[12] == 3
    assert world.column("Patch", "x")[12] == 6 * 1 + 12 * 2
    assert world.column("Patch", "far")[12] == 2 + 10 * 1
