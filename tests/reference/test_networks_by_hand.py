"""The interpreter's neighbours by links, and rows that fall with entities, worked out by hand from
the contract."""

from __future__ import annotations

from typing import Any

import pytest
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.schema import Schema

NODE = {"fields": {"k": "i64", "n": "i64", "best": "entity", "on": "bool"}}
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


def town(kernel: dict[str, Any], **others: Any) -> World:
    """Return a world with the kernel `go`, three nodes, the entities 1 to 3, and `PAIRS` as rows of
    both networks."""
    document = {
        "components": {"Node": NODE, "Knows": KNOWS, "Follows": FOLLOWS, **others},
        "world": {"kernels": {"go": {"over": "Node"} | kernel}},
    }
    numbers = iter(range(1001, 2000))
    world = World(Schema(document), lambda name, owners: [next(numbers) for _ in owners])
    for k in (1, 2, 3):
        world.entities.add(k)
        world.add("Node", k, k=k)
    for number, (a, b, worth) in enumerate(PAIRS, 501):
        world.add("Knows", id=number, a=a, b=b, worth=worth)
        world.add("Follows", a, whom=b, worth=worth)
    return world


def asked(question: str, near: dict[str, Any]) -> list[int]:
    """Return what each node finds."""
    world = town({"near": {"other": near}, "steps": [f"Node.n = {question}"]})
    call(world, "go")
    column: list[int] = world.column("Node", "n")
    return column


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
    assert asked(question, near) == expected


def test_neighbours_come_in_the_order_of_links() -> None:
    steps = "for f in friends:\n    Node.n = Node.n * 1000 + f.link.worth"
    world = town({"turns": "rows", "near": {"friends": {"via": "Knows"}}, "steps": [steps]})
    call(world, "go")
    assert world.column("Node", "n") == [10_020, 10_020_080, 80]


def test_in_turns_neighbours_are_as_they_are_now() -> None:
    steps = "for f in friends:\n    f.Node.n += Node.k + Node.n"
    world = town({"turns": "rows", "near": {"friends": {"via": "Knows"}}, "steps": [steps]})
    call(world, "go")
    # 1 gives 2 twice 1; then 2 has 2 and gives 4 to 1 twice and to 3; 3 has 4 and gives 7 to 2
    assert world.column("Node", "n") == [8, 9, 4]


def test_who_dies_in_a_turn_is_nobodys_neighbour() -> None:
    steps = "Node.n = i64(count(friends))\ndie(where=Node.k == 2)"
    world = town({"turns": "rows", "near": {"friends": {"via": "Knows"}}, "steps": [steps]})
    call(world, "go")
    assert world.column("Node", "k") == [1, 3]
    assert world.column("Node", "n") == [2, 0]


def test_rows_fall_with_those_they_refer_to() -> None:
    on_delete = {"on_delete": {"a": "cascade", "b": "clear"}}
    knows = KNOWS | on_delete | {"destroy": "callback"}
    world = town({"where": "Node.k == 2", "steps": ["die()"]}, Knows=knows)
    call(world, "go")
    pairs = sorted(zip(world.column("Knows", "a"), world.column("Knows", "b"), strict=True))
    # (2, 1) fell; of (1, 2) and (3, 2) the other end is nobody; 9 died long ago
    assert pairs == sorted([(1, 0), (3, 3), (3, 0), (1, 9), (0, 1)])


def test_collecting_managers_look_for_references_later() -> None:
    knows = KNOWS | {"on_delete": {"a": "cascade", "b": "clear"}}
    world = town({"where": "Node.k == 2", "steps": ["die()"]}, Knows=knows)
    call(world, "go")
    assert len(world.rows["Knows"]) == len(PAIRS)
