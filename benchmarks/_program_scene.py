"""A scene of nodes in nodes: built, moved a little in each step, and killed with a root.

Written once with ecsgen and once with plain objects, as a user of each would.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

ROOTS = 4
CHILDREN = 4
"""Of each node, except those at the bottom."""
MOVED = 10
"""One node in so many moves in each step."""

Places: TypeAlias = list[tuple[float, float, float]]
"""x, y and size in the world."""


class Made(NamedTuple):
    """A node as a file would have it."""

    parent: int | None
    x: float
    y: float
    scale: float


class Shift(NamedTuple):
    """A node that moves, by its number."""

    node: int
    x: float
    y: float


def plan(count: int) -> list[Made]:
    """Return the nodes of a scene; parents come before their children."""
    draw = random.Random(count).uniform
    parents = (None if k < ROOTS else (k - ROOTS) // CHILDREN for k in range(count))
    return [Made(p, draw(-1, 1), draw(-1, 1), draw(0.5, 1.5)) for p in parents]


def shifts(count: int, step: int) -> Iterator[Shift]:
    """Yield who moves in a step, and how far."""
    for node in range(step % MOVED, count, MOVED):
        yield Shift(node, 0.25, -0.5)


class OurScene:
    """The scene with ecsgen, its nodes created one by one."""

    def __init__(self, package: Any) -> None:
        self.world = package.Scene()
        self.nodes = self.world.node
        self.entities: list[int] = []

    def build(self, plans: list[Made]) -> None:
        nodes, entities = self.nodes, self.entities
        for parent, x, y, scale in plans:
            entity = self.world.entities.create()
            if parent is None:
                nodes.create(entity, local=(x, y), scale=scale)
            else:
                row = nodes.lookup(entities[parent])
                nodes.create(entity, local=(x, y), scale=scale, parent=row)
            entities.append(entity)

    def move(self, moved: list[Shift]) -> None:
        nodes = self.nodes
        for node, dx, dy in moved:
            entity = self.entities[node]
            row = nodes.require(entity)
            x, y = nodes.local(row)
            nodes.set_local(row, (x + dx, y + dy))

    def place(self) -> None:
        self.nodes.place()

    def kill(self, node: int) -> None:
        self.world.destroy(self.entities[node])
        self.world.collect()

    def alive(self) -> int:
        return sum(map(self.world.entities.alive, self.entities))

    def places(self) -> Places:
        data = self.nodes.data
        return sorted(zip(*data.world.T.tolist(), data.world_scale.tolist(), strict=True))


class OurSceneInBulk(OurScene):
    """The scene with ecsgen, built and moved in a few calls."""

    def build(self, plans: list[Made]) -> None:
        parents, x, y, scale = zip(*plans, strict=True)
        places = list(zip(x, y, strict=True))
        entities = self.world.spawn(len(plans), node={"local": places, "scale": scale})
        rows = self.nodes.lookup_many(entities)
        self.nodes.set_parent_many(rows[ROOTS:], rows[list(parents[ROOTS:])])
        self.entities = entities.tolist()

    def move(self, moved: list[Shift]) -> None:
        rows = self.nodes.lookup_many([self.entities[shift.node] for shift in moved])
        self.nodes.data.local[rows] += [(shift.x, shift.y) for shift in moved]


class Node:
    """A node as an object."""

    __slots__ = (
        *("children", "is_alive", "parent", "scale"),
        *("world_scale", "world_x", "world_y", "x", "y"),
    )

    def __init__(self, parent: Node | None, x: float, y: float, scale: float) -> None:
        self.parent = parent
        self.children: list[Node] = []
        self.is_alive = True
        self.x, self.y, self.scale = x, y, scale
        self.world_x = self.world_y = 0.0
        self.world_scale = 1.0
        if parent is not None:
            parent.children.append(self)

    def place(self, x: float, y: float, scale: float) -> None:
        """Find the place in the world, of all that is below, too."""
        x += scale * self.x
        y += scale * self.y
        scale *= self.scale
        self.world_x, self.world_y, self.world_scale = x, y, scale
        for child in self.children:
            child.place(x, y, scale)

    def kill(self) -> None:
        """Mark it and all that is below as dead."""
        self.is_alive = False
        for child in self.children:
            child.kill()


class ObjectScene:
    """The scene with plain objects."""

    def __init__(self) -> None:
        self.everybody: list[Node] = []
        self.nodes: list[Node] = []
        self.roots: list[Node] = []

    def build(self, plans: list[Made]) -> None:
        for parent, x, y, scale in plans:
            above = None if parent is None else self.everybody[parent]
            self.everybody.append(Node(above, x, y, scale))
        self.nodes = self.everybody.copy()
        self.roots = [node for node in self.nodes if node.parent is None]

    def move(self, moved: list[Shift]) -> None:
        for number, dx, dy in moved:
            node = self.everybody[number]
            node.x += dx
            node.y += dy

    def place(self) -> None:
        for root in self.roots:
            root.place(0.0, 0.0, 1.0)

    def kill(self, number: int) -> None:
        node = self.everybody[number]
        node.kill()
        if node.parent is None:
            self.roots.remove(node)
        else:
            node.parent.children.remove(node)
        self.nodes = [node for node in self.nodes if node.is_alive]

    def alive(self) -> int:
        return len(self.nodes)

    def places(self) -> Places:
        return sorted((node.world_x, node.world_y, node.world_scale) for node in self.nodes)
