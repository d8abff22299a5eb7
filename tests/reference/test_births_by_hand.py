"""Handles of newborn, and components that come and go, in examples worked out by hand from the
contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.run import call

from tests.reference.hand_worlds import at, cells, farm, game, gone, kernel, ks, owners

EDGE = {"fields": {"a": "entity", "b": "entity"}}
TAG = {"fields": {"n": {"type": "i64", "default": 5}, "m": {"type": "i64", "default": 6}}}
DEEP = {"requires": ["Tag"], "fields": {"d": "i64"}}
BEAD = {"owner": "none", "fields": {"n": "i64", "after": "id<Bead>"}}


def after(
    steps: str | list[str], nodes: list[dict[str, Any]], *tags: tuple[int, int, int], **keys: Any
) -> World:
    """A world after a call, in which some have tags at first: their owners, `n` and `m`."""
    texts = [steps] if isinstance(steps, str) else steps
    more = {"Tag": [{"owner": owner, "n": n, "m": m} for owner, n, m in tags]}
    world = game({"steps": texts, **keys}, nodes, more, Edge=EDGE, Tag=TAG, Deep=DEEP)
    call(world, "go")
    return world


def tags(world: World) -> list[tuple[int, int, int]]:
    columns = (world.column("Tag", field) for field in ("n", "m"))
    return [*zip(owners(world, "Tag"), *columns, strict=True)]


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
    world = after(steps, ks(1, 2, 3), turns=turns)
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
    world = gone(steps, [{"k": 1, "mate": 3}, {"k": 2, "mate": 1}, {"k": 3, "mate": 3}])
    assert owners(world, "Node") == [1, 3, 1001, 1002, 1003]
    assert world.column("Node", "mate") == [1002, 1003, 0, 0, 0]


def test_without_owner_a_newborn_has_its_id() -> None:
    kernel = {
        "over": "Bead",
        "steps": ["b = spawn(Bead(n=Bead.n + 1, after=self))", "Bead.after = b"],
    }
    world = game(kernel, [], {"Bead": [{"n": 71}, {"n": 72}]}, Bead=BEAD)
    call(world, "go")
    assert [row.id for row in world.rows["Bead"]] == [71, 72, 1001, 1002]
    assert world.column("Bead", "after") == [1001, 1002, 71, 72]
    assert world.column("Bead", "n") == [71, 72, 72, 73]


def test_in_turns_newborn_fill_cells_but_are_not_seen() -> None:
    """1 bears on cell 5; 2 finds it full, though nobody is seen there, and bears on cell 3."""
    steps = [
        "Sheep.seen = count(around, where=exists(around.Sheep)) * 10",
        "Sheep.seen += count(around, where=full(around, Sheep))",
        "Sheep.want = nearest(around, where=not full(around, Sheep))",
        "none = spawn(Sheep(cell=Sheep.cell))",
        "Sheep.seen += 5 if none != 0 else 0",
        "kid = spawn(Sheep(cell=Sheep.want))",
        "Sheep.mate = kid",
        "Sheep.seen += 100 if full(Sheep.want, Sheep) else 0",
        "Sheep.seen += 1000 if full(Sheep.mate.Sheep.cell, Sheep) else 0",
    ]
    near = "{around: {radius: 1, among: Patch}}"
    world = farm(kernel("go", "Sheep", *steps, turns="rows", near=near), Sheep=at(0, 4))
    call(world, "go")
    assert cells(world) == [0, 4, 5, 3]
    assert world.column("Sheep", "mate")[:2] == [1001, 1002]
    assert world.column("Sheep", "seen")[:2] == [1100, 1101]  # no cell is full


def test_at_once_a_cell_is_full_as_before_the_kernel() -> None:
    world = farm(kernel("go", "Patch", "Patch.due = 1 if full(self, Sheep) else 0"), Sheep=at(0, 2))
    call(world, "go")
    assert world.column("Patch", "due") == [1, 0, 1, 0, 0, 0]


def test_removals_come_before_additions_and_who_has_it_keeps_it() -> None:
    steps = ["add(Tag(n=Node.k))", "remove(Node.mate, Tag)", "add(Tag(n=77), where=Node.k > 2)"]
    steps += ["add(Tag(n=78), replace=false)"]
    nodes = [{"k": 1, "mate": 4}, {"k": 2}, {"k": 3}, {"k": 4}]
    world = after(steps, nodes, (2, 8, 9), (4, 8, 9))
    assert tags(world) == [(2, 8, 9), (1, 1, 6), (3, 3, 6), (4, 4, 6)]


def test_newborn_come_after_removals_and_before_additions() -> None:
    """Last rows fill holes before they are there."""
    steps = ["spawn(Tag(n=Node.k))", "remove(Tag)", "add(Tag(n=Node.k * 10))"]
    world = after(steps, ks(1, 2), (2, 8, 9), (3, 8, 9), (4, 8, 9))
    assert tags(world) == [(4, 8, 9), (3, 8, 9), (1001, 1, 6), (1002, 2, 6), (1, 10, 6), (2, 20, 6)]


def test_replacing_sets_all_fields() -> None:
    steps = [
        "add(Tag(n=Node.k), replace=true, where=Node.k != 2)",
        "add(Tag(m=Node.k), replace=true)",
    ]
    world = after(steps, ks(1, 2), (2, 8, 9))
    assert tags(world) == [(2, 5, 2), (1, 5, 1)]


def test_what_is_required_comes_along() -> None:
    steps = ["add(Deep(d=Node.k))", "add(Tag(n=9), replace=true, where=Node.k == 3)"]
    world = after(steps, ks(1, 2, 3), (2, 8, 9))
    assert tags(world) == [(2, 8, 9), (1, 5, 6), (3, 9, 6)]
    assert (owners(world, "Deep"), world.column("Deep", "d")) == ([1, 2, 3], [1, 2, 3])


def test_of_many_another_instance_comes_and_all_go() -> None:
    steps = [
        "add(Leaf(n=Node.k))",
        "add(Node.mate, Leaf(n=Node.k * 10))",
        "remove(Node.mate, Leaf)",
    ]
    leaves = [{"owner": owner, "n": k} for k, owner in enumerate((2, 1, 2), 71)]
    world = game({"steps": steps}, [{"k": 1, "mate": 2}, {"k": 2}], {"Leaf": leaves})
    call(world, "go")
    assert owners(world, "Leaf") == [1, 1, 2, 2]
    assert world.column("Leaf", "n") == [72, 1, 10, 2]
    assert [leaf.id for leaf in world.rows["Leaf"]] == [72, 1001, 1002, 1003]


def test_the_dead_get_nothing_and_newborn_what_they_are_given() -> None:
    steps = """
add(Node.mate, Tag(n=Node.k))
destroy(Node.mate)
kid = spawn(Node(), where=Node.k == 1)
add(kid, Tag(n=20))
add(Tag())
"""
    world = after(steps, [{"k": 1, "mate": 2}, {"k": 2}, {"k": 3}])
    assert tags(world) == [(1001, 20, 6), (1, 5, 6), (3, 5, 6)]


def test_in_turns_changes_are_seen_by_the_next_kernel() -> None:
    steps = ["add(Tag())", "remove(Node.mate, Tag)", "Node.on = exists(Node.mate.Tag)"]
    nodes = [{"mate": 2}, {"mate": 1}]
    world = after(steps, nodes, (2, 1, 1), turns="rows")
    assert world.column("Node", "on") == [True, False]
    assert tags(world) == [(1, 5, 6), (2, 5, 6)]


def test_self_is_a_handle_unless_an_argument_has_its_name() -> None:
    assert gone("Node.mate = self", ks(1, 2)).column("Node", "mate") == [1, 2]
    world = game({"steps": ["Node.x = self"], "args": {"self": "f64"}}, ks(1))
    call(world, "go", self=2.5)
    assert world.column("Node", "x") == [np.float64(2.5)]
