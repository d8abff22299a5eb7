"""Handles of newborn, and components that come and go, in examples worked out by hand from the
contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.grid_geometry import FIRST_CELL as CELL
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.schema import Schema

from tests.reference.test_by_hand import owners
from tests.reference.test_language_by_hand import game, ks

EDGE = {"fields": {"a": "entity", "b": "entity"}}
TAG = {"fields": {"n": {"type": "i64", "default": 5}, "m": {"type": "i64", "default": 6}}}
DEEP = {"requires": ["Tag"], "fields": {"d": "i64"}}
BEAD = {"owner": "none", "fields": {"n": "i64", "after": "id<Bead>"}}
LEAF = {"instances": "many", "ids": True, "fields": {"n": "i64"}}
OTHERS = {"Edge": EDGE, "Tag": TAG, "Deep": DEEP, "Bead": BEAD, "Leaf": LEAF}


def born(steps: str, nodes: list[dict[str, Any]], **keys: Any) -> World:
    world = game({"steps": [steps], **keys}, nodes, **OTHERS)
    call(world, "go")
    return world


@pytest.mark.parametrize("turns", ["", "rows"])
def test_a_newborn_has_its_handle_but_leads_nowhere_yet(turns: str) -> None:
    """Handles are taken in the order of births; of a birth that does not happen it is null."""
    steps = """
kid = spawn(Node(k=Node.k * 10), where=Node.k > 1)
Node.mate = kid
Node.on = exists(kid)
kid.Node.x += 7
if kid == 0:
    Node.n = 5
else:
    spawn(Edge(a=self, b=kid))
    Node.n = kid.Node.k
"""
    world = born(steps, ks(1, 2, 3), turns=turns)
    assert world.column("Node", "mate")[:3] == [0, 1001, 1003]
    assert owners(world, "Node") == [1, 2, 3, 1001, 1003]
    assert world.column("Node", "k") == [1, 2, 3, 20, 30]
    assert world.column("Node", "n")[:3] == [5, 0, 0]
    assert world.column("Node", "x") == [0] * 5
    assert world.column("Node", "on") == [False] * 5
    assert owners(world, "Edge") == [1002, 1004]
    assert (world.column("Edge", "a"), world.column("Edge", "b")) == ([2, 3], [1001, 1003])


def test_handles_are_sent_and_taken_before_the_dead_go() -> None:
    steps = """
kid = spawn(Node())
Node.mate.Node.mate = kid
die(where=Node.k == 2)
"""
    world = born(steps, [{"k": 1, "mate": 3}, {"k": 2, "mate": 1}, {"k": 3, "mate": 3}])
    assert owners(world, "Node") == [1, 3, 1001, 1002, 1003]
    assert world.column("Node", "mate") == [1002, 1003, 0, 0, 0]


def test_without_owner_a_newborn_has_its_id() -> None:
    kernel = {
        "over": "Bead",
        "steps": ["b = spawn(Bead(n=Bead.n + 1, after=self))", "Bead.after = b"],
    }
    world = game(kernel, [], **OTHERS)
    for k in (71, 72):
        world.add("Bead", id=k, n=k)
    call(world, "go")
    assert [row.id for row in world.rows["Bead"]] == [71, 72, 1001, 1002]
    assert world.column("Bead", "after") == [1001, 1002, 71, 72]
    assert world.column("Bead", "n") == [71, 72, 72, 73]


def meadow(steps: list[str], over: str, turns: str, cells: tuple[int, ...]) -> World:
    near = {"around": {"radius": 1, "among": "Patch"}} if over == "Daisy" else {}
    components = {
        "Patch": {"grid": {"shape": [4], "wrap": [False]}, "fields": {"on": "bool"}},
        "Daisy": {
            "on": {"field": "cell", "grid": "Patch", "capacity": 1},
            "fields": {"cell": "id<Patch>", "want": "id<Patch>", "n": "i64", "kid": "entity"},
        },
    }
    kernel = {"over": over, "turns": turns, "near": near, "steps": steps}
    numbers = iter(range(1001, 1100))
    world = World(
        Schema({"components": components, "world": {"kernels": {"go": kernel}}}),
        lambda name, owners: [next(numbers) for _ in owners],
    )
    for k, cell in enumerate(cells, 1):
        world.entities.add(k)
        world.add("Daisy", k, cell=CELL + cell)
    call(world, "go")
    return world


def test_in_turns_newborn_fill_cells_but_are_not_seen() -> None:
    """1 bears on cell 1; 2 finds it full, though nobody is seen there, and bears on cell 3."""
    steps = [
        "Daisy.n = count(around, where=exists(around.Daisy)) * 10",
        "Daisy.n += count(around, where=full(around, Daisy))",
        "Daisy.want = nearest(around, where=not full(around, Daisy))",
        "none = spawn(Daisy(cell=Daisy.cell))",
        "Daisy.n += 5 if none != 0 else 0",
        "kid = spawn(Daisy(cell=Daisy.want))",
        "Daisy.kid = kid",
        "Daisy.n += 100 if full(Daisy.want, Daisy) else 0",
        "Daisy.n += 1000 if full(Daisy.kid.Daisy.cell, Daisy) else 0",
    ]
    world = meadow(steps, "Daisy", "rows", (0, 2))
    assert [cell - CELL for cell in world.column("Daisy", "cell")] == [0, 2, 1, 3]
    assert world.column("Daisy", "kid")[:2] == [1001, 1002]
    assert world.column("Daisy", "n")[:2] == [1100, 1101]  # no cell is full


def test_at_once_a_cell_is_full_as_before_the_kernel() -> None:
    world = meadow(["Patch.on = full(self, Daisy)"], "Patch", "", (0, 2))
    assert world.column("Patch", "on") == [True, False, True, False]


def tagged(world: World, *tags: tuple[int, int, int]) -> World:
    for owner, n, m in tags:
        world.add("Tag", owner, n=n, m=m)
    call(world, "go")
    return world


def tags(world: World) -> list[tuple[int, int, int]]:
    columns = (world.column("Tag", field) for field in ("n", "m"))
    return [*zip(owners(world, "Tag"), *columns, strict=True)]


def test_removals_come_before_additions_and_who_has_it_keeps_it() -> None:
    steps = ["add(Tag(n=Node.k))", "remove(Node.mate, Tag)", "add(Tag(n=77), where=Node.k > 2)"]
    steps += ["add(Tag(n=78), replace=false)"]
    nodes = [{"k": 1, "mate": 4}, {"k": 2}, {"k": 3}, {"k": 4}]
    world = tagged(game({"steps": steps}, nodes, **OTHERS), (2, 8, 9), (4, 8, 9))
    assert tags(world) == [(2, 8, 9), (1, 1, 6), (3, 3, 6), (4, 4, 6)]


def test_newborn_come_after_removals_and_before_additions() -> None:
    """Last rows fill holes before they are there."""
    steps = ["spawn(Tag(n=Node.k))", "remove(Tag)", "add(Tag(n=Node.k * 10))"]
    world = tagged(game({"steps": steps}, ks(1, 2), **OTHERS), (2, 8, 9), (3, 8, 9), (4, 8, 9))
    assert tags(world) == [(4, 8, 9), (3, 8, 9), (1001, 1, 6), (1002, 2, 6), (1, 10, 6), (2, 20, 6)]


def test_replacing_sets_all_fields() -> None:
    steps = [
        "add(Tag(n=Node.k), replace=true, where=Node.k != 2)",
        "add(Tag(m=Node.k), replace=true)",
    ]
    world = tagged(game({"steps": steps}, ks(1, 2), **OTHERS), (2, 8, 9))
    assert tags(world) == [(2, 5, 2), (1, 5, 1)]


def test_what_is_required_comes_along() -> None:
    steps = ["add(Deep(d=Node.k))", "add(Tag(n=9), replace=true, where=Node.k == 3)"]
    world = tagged(game({"steps": steps}, ks(1, 2, 3), **OTHERS), (2, 8, 9))
    assert tags(world) == [(2, 8, 9), (1, 5, 6), (3, 9, 6)]
    assert (owners(world, "Deep"), world.column("Deep", "d")) == ([1, 2, 3], [1, 2, 3])


def test_of_many_another_instance_comes_and_all_go() -> None:
    steps = [
        "add(Leaf(n=Node.k))",
        "add(Node.mate, Leaf(n=Node.k * 10))",
        "remove(Node.mate, Leaf)",
    ]
    world = game({"steps": steps}, [{"k": 1, "mate": 2}, {"k": 2}], **OTHERS)
    for k, owner in enumerate((2, 1, 2), 71):
        world.add("Leaf", owner, k, n=k)
    call(world, "go")
    leaves = world.rows["Leaf"]
    assert [(leaf.owner, leaf.cells["n"].one) for leaf in leaves] == [
        (1, 72),
        (1, 1),
        (2, 10),
        (2, 2),
    ]
    assert [leaf.id for leaf in leaves] == [72, 1001, 1002, 1003]


def test_the_dead_get_nothing_and_newborn_what_they_are_given() -> None:
    steps = """
add(Node.mate, Tag(n=Node.k))
destroy(Node.mate)
kid = spawn(Node(), where=Node.k == 1)
add(kid, Tag(n=20))
add(Tag())
"""
    world = tagged(game({"steps": [steps]}, [{"k": 1, "mate": 2}, {"k": 2}, {"k": 3}], **OTHERS))
    assert tags(world) == [(1001, 20, 6), (1, 5, 6), (3, 5, 6)]


def test_in_turns_changes_are_seen_by_the_next_kernel() -> None:
    steps = ["add(Tag())", "remove(Node.mate, Tag)", "Node.on = exists(Node.mate.Tag)"]
    nodes = [{"mate": 2}, {"mate": 1}]
    world = tagged(game({"steps": steps, "turns": "rows"}, nodes, **OTHERS), (2, 1, 1))
    assert world.column("Node", "on") == [True, False]
    assert tags(world) == [(1, 5, 6), (2, 5, 6)]


def test_self_is_a_handle_unless_an_argument_has_its_name() -> None:
    world = game({"steps": ["Node.mate = self"]}, ks(1, 2))
    call(world, "go")
    assert world.column("Node", "mate") == [1, 2]
    world = game({"steps": ["Node.x = self"], "args": {"self": "f64"}}, ks(1))
    call(world, "go", self=2.5)
    assert world.column("Node", "x") == [np.float64(2.5)]
