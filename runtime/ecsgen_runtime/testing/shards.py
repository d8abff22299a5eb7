"""Entities that go to another world and come back."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

from ..errors import EcsError, StaleEntityError
from .subject import Subject, refuses, same, through_pickle


class ShardCases:
    """Parcels of each component, and of all."""

    world: ClassVar[Any]
    subjects: ClassVar[Mapping[str, Subject]]
    unowned: ClassVar[Mapping[str, Subject]]

    def test_each_component_goes_and_comes_back(self) -> None:
        for module, subject in self.plain(self.subjects).items():
            home, other = self.new(0), self.new(1)
            es = [home.entities.create() for _ in range(3)]
            for k, entity in enumerate(es):
                getattr(home, module).create(entity, **subject.sample(k))
            before = self.rows(home, module, es)
            there = other.absorb(through_pickle(home.extract(es[:2])))
            assert there.tolist() == es[:2]
            assert self.alive(home, es) == [False, False, True]
            assert self.alive(other, es) == [True, True, False]
            stays = module in type(self.world())._STAYS
            assert self.same(
                self.rows(other, module, es[:2]), [] if stays else before[:2]
            )
            home.absorb(through_pickle(other.extract(there[::-1])))
            assert self.same(
                self.rows(home, module, es), before[2:] if stays else before
            )
            assert len(other.entities) == len(getattr(other, module)) == 0

    def test_rows_without_owners_keep_their_ids(self) -> None:
        for module, subject in self.plain(self.unowned).items():
            home, other = self.new(0), self.new(1)
            here, there = getattr(home, module), getattr(other, module)
            ids = [here.create(**subject.sample(k)) for k in range(3)]
            before = [here.row(here.resolve(id)) for id in ids]
            other.absorb(through_pickle(home.extract(**{module: ids[1:]})))
            assert [id in there for id in ids] == [False, True, True]
            assert [id in here for id in ids] == [True, False, False]
            after = [there.row(there.resolve(id)) for id in ids[1:]]
            assert self.same(after, before[1:])

    def test_refused_parcels_change_nothing(self) -> None:
        home, other = self.new(0), self.new(1)
        es = home.spawn(3)
        refuses(StaleEntityError, home.extract, [es[0], es[0]])
        parcel = home.extract(es)
        refuses(StaleEntityError, home.extract, es)
        other.absorb(parcel)
        before = pickle.dumps(other)
        for wrong in (parcel, bytes(parcel), None):
            refuses(EcsError, r"parcel|here already", other.absorb, wrong)
        assert pickle.dumps(other) == before
        refuses(EcsError, "cut", type(self.world())._PARCEL, bytes(parcel)[:-1])

    def plain(self, subjects: Mapping[str, Subject]) -> dict[str, Subject]:
        """Return the components whose samples may be there more than once."""
        return {m: s for m, s in subjects.items() if s.takes_repeats}

    def new(self, shard: int) -> Any:
        """Return a world of this number."""
        return type(self.world())(shard)

    def alive(self, world: Any, es: list[int]) -> list[bool]:
        alive: list[bool] = world.entities.alive_many(es).tolist()
        return alive

    def rows(self, world: Any, module: str, es: list[int]) -> list[Any]:
        """Return copies of the rows of entities that have one."""
        manager = getattr(world, module)
        return [manager.row(manager.lookup(e)) for e in es if manager.has(e)]

    def same(self, ones: list[Any], others: list[Any]) -> bool:
        """Return whether rows have the same values; objects are copies of each other."""
        plain = (int, float, str, bytes, tuple)
        return len(ones) == len(others) and all(
            same(left, right)
            for one, other in zip(ones, others, strict=True)
            for left, right in zip(one, other, strict=True)
            if isinstance(left, plain)
        )
