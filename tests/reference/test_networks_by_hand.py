"""The interpreter's neighbours by links, and rows that fall with entities, worked out by hand from
the contract."""

from __future__ import annotations

from typing import Any

import pytest
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.run import call

from tests.reference.hand_worlds import game, ks

KNOWS = {
    "owner": "none",
    "fields": {"a": "entity", "b": "entity", "worth": "i64"},
    "network": {"between": ["a", "b"]},
}
FOLLOWS = {
    "instances": "many",
    "fields": {"whom": "entity", "worth": "i64"},
    "network": {"from": "entity", "to": "whom"},
}
# 1 – 2 twice, 2 – 3, and what is no link: 3 to itself, to a dead entity, to nobody
PAIRS = [(2, 1, 10), (1, 2, 20), (3, 3, 40), (3, 2, 80), (1, 9, 160), (0, 1, 320)]


def went(steps: str, near: dict[str, Any] | None = None, **keys: Any) -> World:
    """Return a world after a call, with three nodes and `PAIRS` as rows of both networks."""
    links = [{"a": a, "b": b, "worth": worth} for a, b, worth in PAIRS]
    follows = [{"owner": a, "whom": b, "worth": worth} for a, b, worth in PAIRS]
    others = {"Knows": KNOWS, "Follows": FOLLOWS} | keys.pop("components", {})
    kernel = {"near": near or {}, "steps": [steps], **keys}
    world = game(kernel, ks(1, 2, 3), {"Knows": links, "Follows": follows}, **others)
    call(world, "go")
    return world


@pytest.mark.parametrize(
    ("question", "near", "expected"),
    [
        ("count()", {"via": "Knows"}, [2, 3, 1]),
        ("sum(link.worth)", {"via": "Knows"}, [30, 110, 80]),
        ("sum(other.Node.k)", {"via": "Knows"}, [4, 5, 2]),
        ("sum(other.Node.k * link.worth)", {"via": "Knows"}, [60, 270, 160]),
        ("max(link.worth, none=-1)", {"via": "Knows"}, [20, 80, 80]),
        ("count()", {"via": "Follows"}, [1, 1, 1]),
        ("sum(link.worth)", {"via": "Follows"}, [20, 10, 80]),
        ("count()", {"via": "Follows", "back": True}, [1, 2, 0]),
        ("sum(link.worth)", {"via": "Follows", "back": True}, [10, 100, 0]),
    ],
)
def test_links_are_between_two_who_live(
    question: str, near: dict[str, Any], expected: list[int]
) -> None:
    world = went(f"Node.n = {question}", {"other": near})
    assert world.column("Node", "n") == expected


def test_neighbours_come_in_the_order_of_links() -> None:
    steps = "for f in friends:\n    Node.n = Node.n * 1000 + f.link.worth"
    world = went(steps, {"friends": {"via": "Knows"}}, turns="rows")
    assert world.column("Node", "n") == [10_020, 10_020_080, 80]


def test_in_turns_neighbours_are_as_they_are_now() -> None:
    steps = "for f in friends:\n    f.Node.n += Node.k + Node.n"
    world = went(steps, {"friends": {"via": "Knows"}}, turns="rows")
    # 1 gives 2 twice 1; then 2 has 2 and gives 4 to 1 twice and to 3; 3 has 4 and gives 7 to 2
    assert world.column("Node", "n") == [8, 9, 4]


def test_who_dies_in_a_turn_is_nobodys_neighbour() -> None:
    steps = "Node.n = i64(count(friends))\ndie(where=Node.k == 2)"
    world = went(steps, {"friends": {"via": "Knows"}}, turns="rows")
    assert world.column("Node", "k") == [1, 3]
    assert world.column("Node", "n") == [2, 0]


ON_DELETE = KNOWS | {"on_delete": {"a": "cascade", "b": "clear"}}


def test_rows_fall_with_those_they_refer_to() -> None:
    knows = ON_DELETE | {"destroy": "callback"}
    world = went("die()", where="Node.k == 2", components={"Knows": knows})
    pairs = sorted(zip(world.column("Knows", "a"), world.column("Knows", "b"), strict=True))
    # (2, 1) fell; of (1, 2) and (3, 2) the other end is nobody; 9 died long ago
    assert pairs == sorted([(1, 0), (3, 3), (3, 0), (1, 9), (0, 1)])


def test_collecting_managers_look_for_references_later() -> None:
    world = went("die()", where="Node.k == 2", components={"Knows": ON_DELETE})
    assert len(world.rows["Knows"]) == len(PAIRS)
