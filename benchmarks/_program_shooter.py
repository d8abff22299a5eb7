"""A shooter: players fire at enemies, who come back elsewhere when they are shot.

Written once with ecsgen and once with the library esper, as a user of each would.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import cos, sin, sqrt
from typing import Any, ClassVar, Protocol, TypeAlias

DT = 0.125
REACH = 0.75
CELL = 2
"""The side of a cell in the grid that bullets and enemies are sorted into."""
TURNS = 4
"""A player fires in every fourth frame."""

Point: TypeAlias = tuple[float, float]


class Shooter(Protocol):
    """A shooter, written for some library."""

    def frame(self) -> None: ...

    def state(self) -> list[Sequence[tuple[float, ...]]]:
        """Return what there is, in an order that does not depend on the library."""
        ...


class Plan:
    """Where whoever is new stands, and where he goes: the same for each library."""

    def __init__(self, count: int) -> None:
        self._random = random.Random(count)
        self.size = CELL * int(sqrt(2 * count))
        self.players = count // 10
        self.enemies = count * 6 // 10

    def place(self) -> tuple[Point, Point]:
        """Return a place and a velocity."""
        draw = self._random.uniform
        return (draw(0, self.size), draw(0, self.size)), (draw(-1, 1), draw(-1, 1))


def aim(gun: int, turn: int) -> Point:
    """Return the velocity of a bullet."""
    angle = gun * 0.7 + turn * 0.3
    return 12 * cos(angle), 12 * sin(angle)


class OurShooter:
    """The shooter with ecsgen."""

    def __init__(self, package: Any, count: int) -> None:
        self.kinds = package
        self.world = package.Shooter()
        self.plan = plan = Plan(count)
        self.turn = 0
        for gun in range(plan.players):
            self.add(package.Player(gun=gun), *plan.place())
        for _ in range(plan.enemies):
            self.add(package.Enemy(), *plan.place())

    def add(self, row: Any, position: Point, velocity: Point) -> None:
        self.world.create(self.kinds.Motion(position, velocity), row)

    def frame(self) -> None:
        world = self.world
        self.turn += 1
        self.fire()
        world.motion.move(DT, self.plan.size)
        world.bullet.age(DT)
        bullets = world.bullet.data
        world.destroy_later(bullets.entity[bullets.left <= 0])
        killed = self.collide()
        world.collect()
        for _ in range(killed):
            self.add(self.kinds.Enemy(), *self.plan.place())

    def fire(self) -> None:
        players = self.world.players
        guns = players.player.gun.tolist()
        for gun, position in zip(guns, players.motion.position.tolist(), strict=True):
            if (gun + self.turn) % TURNS == 0:
                self.add(self.kinds.Bullet(), position, aim(gun, self.turn))

    def collide(self) -> int:
        """Hit the enemies that are near a bullet; return how many die."""
        world, killed = self.world, 0
        grid: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
        for entity, x, y in places(world.enemies):
            grid.setdefault((int(x) // CELL, int(y) // CELL), []).append((entity, x, y))
        for bullet, x, y in places(world.bullets):
            for entity, there_x, there_y in grid.get((int(x) // CELL, int(y) // CELL), ()):
                if (x - there_x) ** 2 + (y - there_y) ** 2 < REACH**2:
                    row = world.enemy.require(entity)
                    health = world.enemy.health(row) - 1
                    world.enemy.set_health(row, health)
                    world.destroy_later(bullet)
                    if health == 0:
                        world.destroy_later(entity)
                        killed += 1
        return killed

    def state(self) -> list[Sequence[tuple[float, ...]]]:
        world = self.world
        columns_by_kind = [
            ((*q.motion.position.T.tolist(), field.tolist()))
            for q, field in (
                (world.players, world.players.player.gun),
                (world.enemies, world.enemies.enemy.health),
                (world.bullets, world.bullets.bullet.left),
            )
        ]
        return [sorted(zip(*columns, strict=True)) for columns in columns_by_kind]


def places(query: Any) -> Any:
    """Iterate over the entities of a query, with x and y."""
    x, y = query.motion.position.T.tolist()
    return zip(query.rows().entity.tolist(), x, y, strict=True)


class Body:
    __slots__ = ("x", "y")

    def __init__(self, point: Point) -> None:
        self.x, self.y = point


class Position(Body):
    __slots__ = ()


class Velocity(Body):
    __slots__ = ()


class Player:
    __slots__ = ("gun",)

    def __init__(self, gun: int) -> None:
        self.gun = gun


class Enemy:
    __slots__ = ("health",)

    def __init__(self) -> None:
        self.health = 2


class Bullet:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 1.0


class EsperShooter:
    """The shooter with esper, which has one world at a time."""

    FIELDS: ClassVar = ((Player, "gun"), (Enemy, "health"), (Bullet, "left"))

    def __init__(self, esper: Any, count: int) -> None:
        self.esper = esper
        esper.clear_database()
        self.plan = plan = Plan(count)
        self.turn = 0
        for gun in range(plan.players):
            self.add(Player(gun), *plan.place())
        for _ in range(plan.enemies):
            self.add(Enemy(), *plan.place())

    def add(self, part: object, position: Point, velocity: Point) -> None:
        self.esper.create_entity(Position(position), Velocity(velocity), part)

    def frame(self) -> None:
        esper = self.esper
        self.turn += 1
        self.fire()
        size = self.plan.size
        for _, (position, velocity) in esper.get_components(Position, Velocity):
            position.x = (position.x + velocity.x * DT) % size
            position.y = (position.y + velocity.y * DT) % size
        for entity, bullet in esper.get_component(Bullet):
            bullet.left -= DT
            if bullet.left <= 0:
                esper.delete_entity(entity)
        killed = self.collide()
        esper.clear_dead_entities()
        for _ in range(killed):
            self.add(Enemy(), *self.plan.place())

    def fire(self) -> None:
        for _, (player, position) in self.esper.get_components(Player, Position):
            if (player.gun + self.turn) % TURNS == 0:
                self.add(Bullet(), (position.x, position.y), aim(player.gun, self.turn))

    def collide(self) -> int:
        """Hit the enemies that are near a bullet; return how many die."""
        esper, killed = self.esper, 0
        grid: dict[tuple[int, int], list[tuple[int, Enemy, Position]]] = {}
        for entity, (enemy, there) in esper.get_components(Enemy, Position):
            cell = int(there.x) // CELL, int(there.y) // CELL
            grid.setdefault(cell, []).append((entity, enemy, there))
        for bullet, (_, here) in esper.get_components(Bullet, Position):
            for entity, enemy, there in grid.get((int(here.x) // CELL, int(here.y) // CELL), ()):
                if (here.x - there.x) ** 2 + (here.y - there.y) ** 2 < REACH**2:
                    enemy.health -= 1
                    esper.delete_entity(bullet)
                    if enemy.health == 0:
                        esper.delete_entity(entity)
                        killed += 1
        return killed

    def state(self) -> list[Sequence[tuple[float, ...]]]:
        return [
            sorted(
                (position.x, position.y, getattr(part, name))
                for _, (part, position) in self.esper.get_components(kind, Position)
            )
            for kind, name in self.FIELDS
        ]
