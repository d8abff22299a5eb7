"""Archetypes: rows and columns of components in chunks."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pytest

from ...errors import DuplicateInstanceError
from ...handles import EntityArray
from ..subject import handles_with, same
from . import proxies


class Cases(proxies.Cases):
    """Rows and columns of components in chunks, one thing at a time."""

    def test_rows_read_back(self) -> None:
        for modules in self.subsets():
            w = self.world()
            es = self.created(w, modules, 3)
            for module in modules:
                subject = self.members[module]
                for k, e in enumerate(es):
                    row = w.archetypes.get(e, subject.row)
                    assert same(row, subject.read(subject.sample(k)))
                (chunk,) = w.archetypes.chunks()
                expected = [
                    self.stored(module, w.archetypes.get(e, subject.row)) for e in es
                ]
                assert same(self.columns(chunk, module), expected)
            for module, subject in self.members.items():
                assert (
                    w.archetypes.has_many(es, subject.row).tolist()
                    == [module in modules] * 3
                )
            assert set(w.components(es[0])) == set(self.rows(modules))
            assert len(w.archetypes) == (3 if modules else 0)
            assert len(w.empty_entities()) == (0 if modules else 3)

    def test_defaults(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            (one,) = w.archetypes.create([subject.row]).tolist()
            other = w.entities.create()
            w.archetypes.add(other, subject.row)
            (third,) = w.spawn(1, **{module: {}}).tolist()
            for e in (one, other, third):
                assert same(w.archetypes.get(e, subject.row), subject.read({}))

    def test_rows_are_taken_as_they_are(self) -> None:
        """By all that makes rows; what is wrong changes nothing."""
        for module, subject in self.members.items():
            w = self.world()
            row = subject.row(**subject.sample(1))
            created = w.archetypes.create([subject.row], 2, **{module: row})
            spawned = w.spawn(2, **{module: row})
            added = w.spawn(4)
            w.archetypes.add(added[0], row)
            w.archetypes.add_many(added[1:3], row)
            for e in (*created, *spawned, *added[:3]):
                found = w.archetypes.get(e, subject.row)
                assert same(found, subject.read(subject.sample(1)))
            refused: list[tuple[Any, type[Exception]]] = [((1, 2), TypeError)]
            refused += [
                (subject.row(**{field.name: value}), error)
                for field in subject.fields
                for value, error in field.wrong()
            ]
            for given, error in refused:
                for call in (
                    partial(w.archetypes.add, added[3], given),
                    partial(w.archetypes.add_many, added[3:], given),
                    partial(w.archetypes.create, [subject.row], **{module: given}),
                    partial(w.spawn, 2, **{module: given}),
                ):
                    with pytest.raises(error):
                        call()
            with pytest.raises(TypeError):
                w.archetypes.add(added[3], row, no_such_field=1)
            assert len(w.entities) == 8
            assert w.components(added[3]) == ()

    def test_spawned_with_what_has_managers(self) -> None:
        w = self.world()
        es = w.spawn(2, **{m: s.samples(2) for m, s in self.members.items()})
        for subject in self.members.values():
            for k, e in enumerate(es):
                row = w.archetypes.get(e, subject.row)
                assert same(row, subject.read(subject.sample(k)))
        with pytest.raises(TypeError):
            w.spawn(1, **{module: {"no_such_field": 1} for module in self.members})
        assert len(w.entities) == 2

    def succeed(self, w: Any, entity: int, /, **components: Any) -> int:
        """Let an entity die, and spawn another of the same index."""
        w.destroy(entity)
        with handles_with(w.entities, MIN_FREE=0):
            successor: int = w.spawn(1, **components).tolist()[0]
        return successor

    def watched(self) -> list[str]:
        """Return the managers that tell of a dead entity's row as its successor gets one."""
        found = []
        for name in self.world().MANAGERS:
            w = self.world()
            manager = getattr(w, name)
            if getattr(manager.data, "UNIQUE", ()):
                continue  # two rows of defaults, where the dead keep theirs
            if hasattr(manager, "collect") and hasattr(manager, "on_release"):
                entity = w.spawn(1, **{name: {}}).tolist()[0]
                self.succeed(w, entity, **{name: {}})
                if entity not in manager:
                    found.append(name)
        return found

    def test_arrays_that_callbacks_write_were_copied(self) -> None:
        for (module, subject), name in product(self.members.items(), self.watched()):
            w = self.world()
            (entity,) = w.spawn(1, **{name: {}}).tolist()
            given, others = subject.own_arrays(0), subject.own_arrays(1)

            def write(_: object, to: Any = given, what: Any = others) -> None:
                for field, array in to.items():
                    array[:] = what[field]

            getattr(w, name).on_release(write)
            successor = self.succeed(w, entity, **{name: {}, module: given})
            row = w.archetypes.get(successor, subject.row)
            assert same(row, subject.read(subject.sample(0)))

    def test_callbacks_may_create_what_is_spawned(self) -> None:
        """Then the spawn fails, and nothing of it is left, nor of what they created."""
        for (module, subject), name in product(self.members.items(), self.watched()):
            w = self.world()
            (entity,) = w.spawn(1, **{name: {}}).tolist()

            def create(_: object, w: Any = w, row: Any = subject.row) -> None:
                w.archetypes.add_many(w.entities.live(), row)

            getattr(w, name).on_release(create)
            with pytest.raises(DuplicateInstanceError):
                self.succeed(w, entity, **{name: {}, module: {}})
            assert len(w.archetypes) == len(w.entities) == len(getattr(w, name)) == 0

    def test_adding_and_removing_keep_the_rest(self) -> None:
        names = sorted(self.members)
        for module in names:
            rest = [other for other in names if other != module]
            w = self.world()
            es = self.created(w, rest, 3)
            row = self.row_class(module)
            before = {
                m: [w.archetypes.get(e, self.row_class(m)) for e in es] for m in rest
            }
            w.archetypes.add(es[1], row, **self.members[module].sample(1))
            w.archetypes.add_many(es[[2, 0]], row, **self.members[module].samples(2))
            for k, e in ((1, es[1]), (0, es[2]), (1, es[0])):
                expected = self.members[module].read(self.members[module].sample(k))
                assert same(w.archetypes.get(e, row), expected)
            w.archetypes.remove_many(es[:2], row)
            w.archetypes.remove(es[2], row)
            assert not w.archetypes.has_many(es, row).any()
            for m in rest:
                after = [w.archetypes.get(e, self.row_class(m)) for e in es]
                assert same(after, before[m])

    @pytest.mark.parametrize("at_once", [True, False])
    def test_successors_drive_out_rows_of_the_dead(self, at_once: bool) -> None:
        """Callbacks that were there before the archetypes hear of a death before they do."""
        first, *others = sorted(self.members)
        for other in others:
            self.check_successor(first, other, at_once)

    def check_successor(self, first: str, other: str, at_once: bool) -> None:
        """Let the successor of a dead entity get a component before its rows have gone."""
        had, got = self.members[first], self.members[other]
        entities = had.entities()

        def succeed(dead: EntityArray) -> None:
            with handles_with(entities, MIN_FREE=0):
                es[0] = entities.create()
            assert entities.index(es[0]) == entities.index(dead[0])
            if at_once:
                store.add_many([es[3], es[0]], got.row, **got.samples(2))
            else:
                store.add(es[3], got.row, **got.sample(0))
                store.add(es[0], got.row, **got.sample(1))

        entities.on_destroy(succeed)
        store = type(self.world().archetypes)(entities)
        es = store.create([had.row], 4, **{first: had.samples(4)}).tolist()
        entities.destroy(es[0])
        assert sorted(e for c in store.chunks() for e in c.entity) == sorted(es)
        assert [set(store.components(e)) for e in es] == [
            {got.row},
            {had.row},
            {had.row},
            {had.row, got.row},
        ]
        for k in (1, 2, 3):
            assert same(store.get(es[k], had.row), had.read(had.sample(k)))
        for k, sample in ((3, 0), (0, 1)):
            assert same(store.get(es[k], got.row), got.read(got.sample(sample)))

    def test_fields_are_set(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            es = self.created(w, self.members, 3)
            expected = subject.sample(1)
            for field in subject.fields:
                expected[field.name] = field.sample(5)
                w.archetypes.set(es[1], subject.row, **{field.name: field.sample(5)})
                assert same(
                    w.archetypes.get(es[1], subject.row), subject.read(expected)
                )
            with pytest.raises(TypeError):
                w.archetypes.set(
                    es[1], subject.row, **self.wrong(module), no_such_field=1
                )
            assert same(w.archetypes.get(es[1], subject.row), subject.read(expected))
            for k in (0, 2):
                row = w.archetypes.get(es[k], subject.row)
                assert same(row, subject.read(subject.sample(k)))

    def test_columns_are_assigned(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            self.created(w, self.members, 3)
            (chunk,) = w.archetypes.chunks(all=[subject.row])
            data = getattr(chunk, module)
            for field in subject.whole:
                setattr(data, field.name, [field.sample(k) for k in (4, 5, 6)])
                expected = [field.stored(field.sample(k)) for k in (4, 5, 6)]
                assert same(getattr(data, field.name).tolist(), expected)
                setattr(data, field.name, getattr(data, field.name)[::-1])
                assert same(getattr(data, field.name).tolist(), expected[::-1])
                view = getattr(data, field.name)
                setattr(data, field.name, view)
                for value, error in field.wrong():
                    with pytest.raises(error):
                        setattr(data, field.name, [field.sample(0), value, value])
                assert same(getattr(data, field.name).tolist(), expected[::-1])
            for tag, names in subject.tagged.items():
                assert data.tagged(tag)._fields == names
            with pytest.raises(ValueError, match="no_such_tag"):
                data.tagged("no_such_tag")

    def test_an_old_view_is_checked_as_any_array(self) -> None:
        for module, subject in self.members.items():
            for field in subject.whole:
                w = self.world()
                self.created(w, [module], 3)
                (chunk,) = w.archetypes.chunks()
                view = getattr(getattr(chunk, module), field.name)
                self.created(w, [module], 1)
                data = getattr(chunk, module)
                with pytest.raises(ValueError, match=field.name):
                    setattr(data, field.name, view)

    def test_own_columns_as_arguments(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            es = self.created(w, [module], 3)
            (chunk,) = w.archetypes.chunks()
            data = getattr(chunk, module)
            own = {f.name: getattr(data, f.name)[::-1] for f in subject.whole}
            others = w.archetypes.create([subject.row], 3, **{module: own})
            for k in range(3):
                for field in subject.whole:
                    found = getattr(
                        w.archetypes.get(others[k], subject.row), field.name
                    )
                    assert same(found, field.read(field.sample(2 - k)))
            w.archetypes.remove_many(chunk.entity[:3], subject.row)
            assert w.archetypes.has_many([*es, *others], subject.row).tolist() == [
                *[False] * 3,
                *[True] * 3,
            ]
