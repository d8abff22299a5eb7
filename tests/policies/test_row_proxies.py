"""Rows as objects: they follow their rows, and are written through, whatever the fields are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import Field, refuses, same

import generated as g
from generated.tests.test_every_type import under_test
from tests.support.manager_state import made


class SideEffectNumber:
    """A number that does something when it is first converted."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.number = number
        self.acts = [act]

    def __index__(self) -> int:
        if self.acts:
            self.acts.pop()()
        return self.number

    def __float__(self) -> float:
        return float(self.__index__())


@pytest.mark.parametrize("kind", [g.ParticleManager, g.SoundSourceManager, g.VillagerManager])
def test_proxies_follow_their_rows(kind: Any) -> None:
    entities, m, es = made(kind, 70)
    owners = es.tolist()
    proxies = [m[owner] for owner in owners]
    rows = m.rows()
    first = next(rows)
    m.destroy_many(range(0, 70, 3))
    m.reserve(1000)
    m.create(entities.create())
    names = [info.name for info in m.FIELDS]
    for owner, proxy in zip(owners, proxies, strict=True):
        if m.has(owner):
            assert (proxy.row, proxy.entity) == (m.lookup(owner), owner)
            assert repr(m.row(proxy.row)) in repr(proxy)
            continue
        for name in ("row", *names):
            refuses(g.MissingInstanceError, getattr, proxy, name)
        for name in names:
            refuses(g.MissingInstanceError, setattr, proxy, name, m.row(0)._asdict()[name])
        assert type(proxy).__name__ in repr(proxy)
    if kind is g.SoundSourceManager:
        refuses(g.StaleInstanceError, next, rows)
        refuses(g.StaleInstanceError, getattr, first, "row")
    else:
        assert [proxy.entity for proxy in rows] == [e for e in owners if m.has(e)]
    for nobody in (es[0], 0, 2**64 - 1):
        refuses(g.MissingInstanceError, getitem, m, nobody)
    for wrong in ("1", 1.0, None):
        refuses(TypeError, getitem, m, wrong)
    only = kind(entities)
    only.create(entities.create())
    rows = only.rows()
    next(rows)
    only.create(entities.create())
    if kind is g.SoundSourceManager:
        refuses(g.StaleInstanceError, next, rows)
    else:
        assert list(rows) == []


def test_proxies_of_ids_follow_their_rows() -> None:
    m: Any = g.SparkManager()
    ids = m.create_many(4).tolist()
    proxies = [m[id] for id in ids]
    m.destroy(0)
    refuses(g.StaleIdError, getattr, proxies[0], "row")
    refuses(g.StaleIdError, getitem, m, ids[0])
    assert [proxy.row for proxy in proxies[1:]] == m.resolve_many(ids[1:]).tolist()
    assert not hasattr(proxies[1], "entity")


def test_values_that_move_rows_go_to_the_right_one() -> None:
    for kind, name in ((g.EveryTypeManager, "mode"), (g.ParticleManager, "life")):
        _, m, es = made(kind, 4)
        setattr(m[es[3]], name, SideEffectNumber(5, partial(m.destroy, 0)))  # the last row moves
        assert getattr(m, name)(m.lookup(es[3])) == 5
    _, m, es = made(g.ParticleManager, 4)
    proxy = m[es[3]]
    proxy.position = SideEffectNumber(9, partial(m.destroy, 0)), 1
    assert m.position(m.lookup(es[3])) == (9, 1)
    m[es[1]].velocity = proxy.position
    assert m.velocity(m.lookup(es[1])) == m.position(m.lookup(es[3])) == (9, 1)


ODD: list[Any] = [127, 128, -129, 255, 2**30 + 1, 2**63, 2**64 - 1, 2**70, 10**400, -1]
ODD += [0.1, 1.0, 1e38, 1e40, float("inf"), True, "a"]


@pytest.mark.parametrize("field", under_test.fields, ids=lambda field: field.name)
def test_a_proxy_takes_what_the_setter_does(field: Field) -> None:
    """A value that is refused raises the same error, and changes nothing."""
    _, m, es = made(g.EveryTypeManager, 2)
    writes = partial(getattr(m, f"set_{field.name}"), 0), partial(setattr, m[es[1]], field.name)
    for value in (*ODD, field.sample(3), *(wrong for wrong, _ in field.wrong())):
        errors = []
        for write in writes:
            try:
                errors.append(write(value))
            except (TypeError, ValueError, OverflowError) as error:
                errors.append(repr(error))
        assert errors[0] == errors[1]
        assert same(*map(getattr(m, field.name), (0, 1)))


def test_views_of_cold_defaults_write() -> None:
    _, m, es = made(g.VillagerManager, 2)
    home = m[es[0]].home
    for write in (lambda shown: shown.fill(3), lambda shown: np.copyto(shown, 3)):
        refuses(ValueError, "read-only", write, home)
    refuses(ValueError, "read-only", lambda: home[:1].fill(3))
    expected = np.array(m.home(0), np.float32)
    expected[-1] = home[-1] = 3
    home *= 2
    np.subtract(home, 1, out=home)
    assert list(m.home(0)) == (expected * 2 - 1).tolist()
    assert m[es[0]].home.flags.writeable
    other, before = m[es[1]], m.home(1)[0]
    refuses(ValueError, "read-only", lambda: np.add.at(other.home[:1], [0], 2))
    np.add.at(other.home, [0, 0], 2)
    assert m.home(1)[0] == before + 4
