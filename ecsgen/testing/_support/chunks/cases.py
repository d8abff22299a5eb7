"""Archetypes: rows and columns of components in chunks."""

from __future__ import annotations

import pytest

from ..subject import same
from .base import Members


class Cases(Members):
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
