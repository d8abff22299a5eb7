"""Cases of worlds' entities and files: signatures, views, bundles, files, parcels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from ecsgen_runtime.base.errors import (
    CapacityError,
    MissingInstanceError,
    StructureLockedError,
)
from hypothesis import given
from hypothesis import strategies as st

from .state_machine import SEARCH
from .subject import (
    CODECS,
    Subject,
    UnlimitedWorldTests,
    WorldTests,
    handles_with,
    loaded,
    refuses,
    same,
    skipped_if_full,
    through_pickle,
)


class SignatureCases(UnlimitedWorldTests):
    """The signatures of a world."""

    signature: ClassVar[Any]

    def flag(self, module: str) -> Any:
        return self.signature[module.upper()]

    def test_each_component_has_a_bit_of_its_own(self) -> None:
        flags = [self.flag(module) for module in self.subjects]
        assert [int(flag) for flag in flags] == [1 << k for k in range(len(flags))]

    @SEARCH
    @given(st.data())
    def test_equal_to_what_the_managers_say(self, data: st.DataObject) -> None:
        if not self.subjects:
            return
        w = self.world()
        everywhere: list[int] = []
        sets = st.lists(st.sampled_from(sorted(self.subjects)), unique=True)
        for modules in data.draw(st.lists(sets, max_size=6)):
            try:
                es = w.spawn(2, **{module: {} for module in modules}).tolist()
            except CapacityError:  # the handles of this project are small
                break
            everywhere += es
            expected = self.signature(sum(map(self.flag, self.with_required(modules))))
            for e in es:
                assert w.signature(e) == expected
                assert type(w.signature(e)) is self.signature
        many = w.signatures(everywhere)
        assert many.shape == (len(everywhere),)
        assert many.tolist() == [int(w.signature(e)) for e in everywhere]
        for module in self.subjects:
            getattr(w, module).remove_many(np.array(everywhere[:3], np.uint64))
        many[:3] = 0
        assert w.signatures(everywhere).tolist() == many.tolist()


class EntityViewCases(UnlimitedWorldTests):
    """`world[entity]`, and what worlds do with rows of one entity."""

    view: ClassVar[Any]

    def row(self, subject: Subject, k: int = 0) -> Any:
        return subject.row(**subject.sample(k))

    def test_creating_from_rows(self, w: Any) -> None:
        rows = [self.row(subject) for subject in self.subjects.values()]
        e = w.create(*rows)
        assert type(e) is int
        assert w.components(e) == tuple(s.row for s in self.subjects.values())
        for subject in self.subjects.values():
            assert same(w.get(e, subject.row), subject.expected(0))
        bare = w.create()
        assert w.components(bare) == ()
        for subject in self.subjects.values():
            assert w.get(bare, subject.row) is None

    def test_components_are_attributes(self) -> None:
        for module, subject, w in self.each():
            x = w[w.create(self.row(subject, 1))]
            assert type(x) is self.view
            proxy = getattr(x, module)
            assert proxy.entity == x.entity
            assert same(getattr(w, module).row(proxy.row), w.get(x.entity, subject.row))
            come = self.with_required([module])
            assert {*x} == {self.subjects[other].row for other in come}
            assert subject.row in x
            assert len(x) == len(come)
            assert repr(w.get(x.entity, subject.row)) in repr(x)
            for other in self.subjects.keys() - come:
                refuses(MissingInstanceError, getattr, x, other)
        w = self.world()
        x = w[w.create()]
        for name in ("no_such_component", *self.unowned):
            refuses(AttributeError, name, getattr, x, name)


class BundleCases(UnlimitedWorldTests):
    """The bundles of a world."""

    signature: ClassVar[Any]
    bundles: ClassVar[Mapping[str, tuple[str, ...]]]
    """By bundle, the components that it spawns."""

    values: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    """By bundle and component, the values of its fields."""

    def values_of(self, bundle: str, module: str) -> Mapping[str, Any]:
        """Return the fields of a component that a bundle has values for."""
        return self.values.get(bundle, {}).get(module, {})

    def takes_repeats(self, bundle: str) -> bool:
        """Return False if all entities of a bundle would have the same value of a unique field."""
        subjects = self.subjects.items()
        return not any({*s.hidden()} & {*self.values_of(bundle, module)} for module, s in subjects)

    def test_a_bundle_spawns_its_components(self) -> None:
        for bundle, modules in self.bundles.items():
            w = self.world()
            count = 3 if self.takes_repeats(bundle) else 1
            es = getattr(w, f"spawn_{bundle}")(count)
            each = [self.signature[module.upper()] for module in modules]
            assert self.signature[bundle.upper()] == self.signature(sum(each))
            managed = self.with_required({*modules} & {*self.subjects}) - {*modules}
            each += [self.signature[module.upper()] for module in managed]
            assert w.signatures(es).tolist() == [sum(map(int, each))] * count
            for module in modules:
                if module in self.subjects:
                    manager = getattr(w, module)
                    rows = manager.require_many(es).tolist()
                    expected = self.subjects[module].read(self.values_of(bundle, module))
                    assert all(same(manager.row(row), expected) for row in rows)
                else:
                    self.check_values_in_chunks(bundle, module, w, es)

    def check_values_in_chunks(self, bundle: str, module: str, w: Any, es: Any) -> None:
        """Assert that entities have the values of a bundle, as if a spawn had been given them."""
        values, other = self.values_of(bundle, module), self.world()
        (e,) = other.spawn(1, **{module: values})
        for name in values:
            wanted = getattr(getattr(other[e], module), name)
            assert all(same(getattr(getattr(w[each], module), name), wanted) for each in es)

    def test_a_bundle_takes_columns_or_a_row_for_each_component(self) -> None:
        for bundle, modules in self.bundles.items():
            for module in {*modules} & {*self.subjects} if self.takes_repeats(bundle) else ():
                subject, w = self.subjects[module], self.world()
                spawn, row = getattr(w, f"spawn_{bundle}"), subject.sample(1)
                es = spawn(3, **{module: subject.samples(3)})
                self.check_samples(w, module, es, range(3))
                es = spawn(2, **{module: subject.row(**row)})
                self.check_samples(w, module, es, [1, 1])
                values = self.values_of(bundle, module)
                for name in {*values} & {*row}:  # what the call says wins, field by field
                    (e,) = spawn(1, **{module: {name: row[name]}})
                    manager = getattr(w, module)
                    expected = subject.read({**values, name: row[name]})
                    assert same(manager.row(manager.require(e)), expected)
            for module in modules:  # those in chunks, too
                refuses(TypeError, getattr(self.world(), f"spawn_{bundle}"), 1, **{module: 3})


def repeatable(subjects: Mapping[str, Subject]) -> dict[str, Subject]:
    """Return the components of which rows may have the same values, those of defaults, say."""
    return {m: s for m, s in subjects.items() if not s.unique}


class SavingCases(UnlimitedWorldTests):
    """Worlds saved to bytes and loaded again."""

    def filled(self) -> Any:
        """Return a world with a few rows of everything, some of which are removed again."""
        w = self.world()
        es = w.entities.create_many(4).tolist()
        for module, subject in self.subjects.items():
            manager = getattr(w, module)
            for k, entity in enumerate(es):
                manager.create(entity, **subject.sample(k))
            manager.remove(es[1])
        for module, subject in self.unowned.items():
            manager = getattr(w, module)
            ids = [manager.create(**subject.sample(k)) for k in range(4)]
            manager.destroy_id(ids[1])
        w.destroy(es[3])
        entity_of_last_generation = w.entities.create()
        with handles_with(
            w.entities,
            LAST_GENERATION=entity_of_last_generation - w.entities.index(entity_of_last_generation),
        ):
            w.destroy(entity_of_last_generation)  # the last one of its index
        w.destroy_later(es[0])
        w.turns = 3
        return w

    def test_it_comes_back_as_it_was(self) -> None:
        w = self.filled()
        data = w.to_bytes(codecs=CODECS)
        with pytest.raises(StructureLockedError):
            w.entities.dispatch.run(w.to_bytes, codecs=CODECS)
        again = loaded(w)
        assert again.to_bytes(codecs=CODECS) == data
        assert again.turns == 3
        assert [*again.entities] == [*w.entities]
        assert len(again.entities) == len(w.entities)
        for module in w.MANAGERS:
            manager, other = getattr(w, module), getattr(again, module)
            assert [*other] == [*manager]
            assert other.version == manager.version
            for find in filter(re.compile("find_.*_many").fullmatch, dir(other)):
                values = getattr(manager.data, find[5:-5])
                rows = getattr(other, find)(values).tolist()
                assert rows == getattr(manager, find)(values).tolist()
        assert again.flush() == w.flush() == 1
        for each in (w, again):
            each.gc()
            each.collect()
            with skipped_if_full():
                each.spawn(3, **{module: {} for module in repeatable(self.subjects)})
        assert again.to_bytes(codecs=CODECS) == w.to_bytes(codecs=CODECS)

    @pytest.mark.parametrize("verify", [None, False])
    def test_picks_go_on_alike(self, w: Any, verify: bool | None) -> None:
        with skipped_if_full():
            es = w.spawn(8, **{module: {} for module in repeatable(self.subjects)})
        w.gc()
        w.destroy_many(es[:5])
        again = loaded(w, verify=verify)
        for _ in range(3):
            assert again.gc() == w.gc()
            for module in repeatable(self.subjects):
                assert [*getattr(again, module)] == [*getattr(w, module)]


class ShardCases(WorldTests):
    """Parcels of each component, and of all."""

    subjects: ClassVar[Mapping[str, Subject]]
    unowned: ClassVar[Mapping[str, Subject]]

    def test_each_component_goes_and_comes_back(self) -> None:
        for module, subject in repeatable(self.subjects).items():
            home, other = self.world(0), self.world(1)
            es = [home.entities.create() for _ in range(3)]
            for k, entity in enumerate(es):
                getattr(home, module).create(entity, **subject.sample(k))
            before = self.rows(home, module, es)
            there = other.absorb(through_pickle(home.extract(es[:2])))
            assert there.tolist() == es[:2]
            assert home.entities.alive_many(es).tolist() == [False, False, True]
            assert other.entities.alive_many(es).tolist() == [True, True, False]
            stays = module in self.world.STAYS
            expected = [] if stays else before[:2]
            assert self.same(self.rows(other, module, es[:2]), expected)
            home.absorb(through_pickle(other.extract(there[::-1])))
            expected = before[2:] if stays else before
            assert self.same(self.rows(home, module, es), expected)
            assert len(other.entities) == len(getattr(other, module)) == 0

    def test_rows_without_owners_keep_their_ids(self) -> None:
        for module, subject in repeatable(self.unowned).items():
            home, other = self.world(0), self.world(1)
            here, there = getattr(home, module), getattr(other, module)
            ids = [here.create(**subject.sample(k)) for k in range(3)]
            before = [here.row(here.resolve(id)) for id in ids]
            other.absorb(through_pickle(home.extract(**{module: ids[1:]})))
            assert [id in there for id in ids] == [False, True, True]
            assert [id in here for id in ids] == [True, False, False]
            after = [there.row(there.resolve(id)) for id in ids[1:]]
            assert self.same(after, before[1:])

    def rows(self, world: Any, module: str, es: list[int]) -> list[Any]:
        manager = getattr(world, module)
        return [manager.row(manager.lookup(e)) for e in es if manager.has(e)]

    def same(self, ones: list[Any], others: list[Any]) -> bool:
        """Return whether rows have the same values; objects are copies of each other."""
        plain = (int, float, str, bytes, tuple)
        return len(ones) == len(others) and all(
            same(left, right)
            for row, other in zip(ones, others, strict=True)
            for left, right in zip(row, other, strict=True)
            if isinstance(left, plain)
        )
