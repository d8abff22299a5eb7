"""Archetypes: entities one at a time, whose rows go from chunk to chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ...errors import (
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
    StructureLockedError,
)
from ..fields import Float, Int
from ..subject import same
from .base import Members


class Cases(Members):
    """Proxies of rows in chunks, and rows that are given by entity."""

    def check_proxy(self, proxy: Any, w: Any, entity: int, module: str) -> None:
        """Check that all attributes of a proxy are those of an entity's row."""
        row = w.archetypes.get(entity, self.row_class(module))
        assert proxy.entity == entity
        assert repr(row) in repr(proxy)
        for field in self.members[module].fields:
            value, expected = getattr(proxy, field.name), getattr(row, field.name)
            if field.shape and isinstance(field, Int | Float):
                assert isinstance(value, np.ndarray)
                assert value.dtype == np.dtype(field.dtype)
                value, expected = value.tolist(), field.stored(expected)
            assert same(value, expected)

    def test_proxies_follow_their_entities(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            es = self.created(w, self.members, 3).tolist()
            proxies = [getattr(w[e], module) for e in es]
            for e, proxy in zip(es, proxies, strict=True):
                self.check_proxy(proxy, w, e, module)
            w.destroy(es[0])
            for other in self.members.keys() - {module}:
                w.archetypes.remove(es[1], self.row_class(other))
            for e, proxy in list(zip(es, proxies, strict=True))[1:]:
                self.check_proxy(proxy, w, e, module)
            w.archetypes.remove(es[1], subject.row)
            for field in subject.fields:
                for proxy, error in (
                    (proxies[0], StaleEntityError),
                    (proxies[1], MissingInstanceError),
                ):
                    with pytest.raises(error):
                        getattr(proxy, field.name)
                    with pytest.raises(error):
                        setattr(proxy, field.name, field.sample(0))
                    assert type(proxy).__name__ in repr(proxy)
            with pytest.raises(MissingInstanceError):
                getattr(w[es[1]], module)

    def test_proxies_write(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            es = self.created(w, self.members, 3).tolist()
            proxy = getattr(w[es[1]], module)
            for field in subject.fields:
                setattr(proxy, field.name, field.sample(5))
                assert same(
                    getattr(w.archetypes.get(es[1], subject.row), field.name),
                    field.read(field.sample(5)),
                )
                for value, error in field.wrong():
                    with pytest.raises(error, match=f"{subject.label}.{field.name}"):
                        setattr(proxy, field.name, value)
                if field.shape and isinstance(field, Int | Float):
                    setattr(proxy, field.name, np.full(field.shape, 5, field.dtype))
                    exec(f"proxy.{field.name} += 2", {"proxy": proxy})
                    getattr(proxy, field.name)[(0,) * len(field.shape)] = 3
                self.check_proxy(proxy, w, es[1], module)
            with pytest.raises(AttributeError, match="no_such_field"):
                _ = proxy.no_such_field
            for k in (0, 2):
                row = w.archetypes.get(es[k], subject.row)
                assert same(row, subject.read(subject.sample(k)))

    def test_rows_by_entity(self) -> None:
        for modules in self.subsets():
            w = self.world()
            rows = [self.members[m].row(**self.members[m].sample(1)) for m in modules]
            one, other = w.create(*rows), w.create()
            w[other].add(*rows)
            for e in (one, other):
                assert set(w[e]) == set(self.rows(modules))
                for module in modules:
                    subject = self.members[module]
                    expected = subject.read(subject.sample(1))
                    assert same(w.get(e, subject.row), expected)
                    assert subject.row in w[e]
                    assert repr(expected) in repr(w[e])
            for module in modules:
                row = self.row_class(module)
                assert (w[one].remove(row), w[one].remove(row)) == (1, 0)
            assert len(w[one]) == 0
            assert [w.get(one, row) for row in self.rows(modules)] == [None] * len(rows)

    def test_rows_are_added_together_or_not_at_all(self) -> None:
        names = sorted(self.members)
        for module in names:
            subject = self.members[module]
            row = subject.row(**subject.sample(0))
            rest = [self.members[m].row() for m in names if m != module]
            w = self.world()
            x = w[w.create(row)]
            version = w.archetypes.version
            with pytest.raises(DuplicateInstanceError):
                x.add(*rest, row)
            with pytest.raises(DuplicateInstanceError):
                w.create(*rest, row, row)
            for field in subject.fields:
                for value, error in field.wrong():
                    bad = subject.row(**{field.name: value})
                    with pytest.raises(error, match=f"{subject.label}.{field.name}"):
                        w.create(*rest, bad)
                    with pytest.raises(error):
                        w[x.entity].add(*rest, bad)
            other = w.create()
            with w.archetypes.locked():
                with pytest.raises(StructureLockedError):
                    w.create(row)
                with pytest.raises(StructureLockedError):
                    w[other].add(row)
            assert list(x) == [subject.row]
            assert w.archetypes.version == version
            assert list(w) == [x.entity, other]
