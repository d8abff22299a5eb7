"""Bulk calls with views of the manager's own columns do the same as with copies of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support.manager_state import snapshot
from tests.support.policies_package import ENTITIES, HEIR, MANAGERS, filled, package, populate

ROWS = 40


@cache
def _pickled(name: str) -> bytes:
    return pickle.dumps(filled(name, ROWS))


def loaded(name: str) -> Any:
    """Return a manager of its own, out of a pickle: to fill one takes ten times as long."""
    _, manager = pickle.loads(_pickled(name))
    return manager


class Call(NamedTuple):
    """A bulk call: the method, what its argument holds, and how it is made if not by that alone."""

    name: str
    values: Callable[[Any], Any]
    other: Callable[[Any, Any], Any] | None = None

    def make(self, m: Any, argument: Any) -> Any:
        return self.other(m, argument) if self.other else getattr(m, self.name)(argument)


def _rows(m: Any, count: int) -> Any:
    return np.random.default_rng(5).permutation(m.data._used_rows())[:count]


def _fresh(m: Any) -> list[int]:
    return [e for e in ENTITIES[100:110] if not m.has(e)] + [HEIR]


CALLS = (
    Call("destroy_many", lambda m: _rows(m, 7)),
    Call("destroy_many", lambda m: _rows(m, 1)),
    Call("activate_many", lambda m: _rows(m, 7)),
    Call("activate_many", lambda m: [0, 1]),
    Call("deactivate_many", lambda m: _rows(m, 7)),
    Call("id_of_many", lambda m: _rows(m, 7)),
    Call("set_parent_many", lambda m: _rows(m, 3), lambda m, a: _reparented(m, a)),
    Call("set_parent_many", lambda m: [0, 0, 1], lambda m, a: m.set_parent_many([30, 31, 32], a)),
    Call("reorder", lambda m: _order(m)),
    Call("sort", lambda m: _rows(m, len(m))),
    Call("lookup", _fresh, lambda m, a: m.create_many(a)),
    Call("remove_many", lambda m: ENTITIES[10:16]),
    Call("lookup_many", lambda m: ENTITIES[:6]),
    Call("has_many", lambda m: ENTITIES[:6]),
    Call("require_many", lambda m: ENTITIES[10:14]),
    Call("count_many", lambda m: ENTITIES[:6]),
    Call("destroy_id_many", lambda m: _ids(m)),
    Call("resolve_many", lambda m: _ids(m)),
)
OF_ENTITIES = ("lookup", "remove_many", "lookup_many", "has_many", "require_many", "count_many")


def _order(m: Any) -> Any:
    bound = getattr(m, "n_active", 0)
    parts = np.arange(bound)[::-1], np.arange(bound, len(m))[::-1]
    return np.concatenate(parts)


def _reparented(m: Any, rows: Any) -> None:
    free = [row for row in range(len(m)) if m.first_child(row) == package.NIL]
    other = next(row for row in free if row not in [*rows])
    m.set_parent_many(rows, package.NIL)
    m.set_parent_many(rows, other)


def _ids(m: Any) -> Any:
    return m.id_of_many(m.data._used_rows()[4:12])


FORMS: dict[str, Callable[[int], slice]] = {
    "slice": lambda k: slice(0, k),
    "reversed": lambda k: slice(k - 1, None, -1),
    "strided": lambda k: slice(0, 2 * k - 1, 2),
}


def _holders(m: Any, values: Any, form: str) -> Iterator[str]:
    """The columns that can hold the values, as the form takes them."""
    last = FORMS[form](len(values)).stop
    if last is not None and last > m.data.n:
        return
    for name in m.row(0)._fields:
        column = getattr(m.data, name, None)
        if column is None or column.ndim != 1:
            continue
        numbers = np.asarray(values).astype(np.uint64)
        if column.dtype.kind == "O" or (
            column.dtype.kind in "iu" and int(numbers.max()) <= np.iinfo(column.dtype).max
        ):
            yield name


def _taken(m: Any, name: str, values: Any, form: str) -> Any:
    column = getattr(m.data, f"_{name}_column")
    index = FORMS[form](len(values))
    numbers = [int(v) for v in values]
    column[index] = (
        numbers if column.dtype.kind == "O" else np.array(numbers, np.uint64).astype(column.dtype)
    )
    return column[: m.data._n][index]


def _outcome(call: Call, m: Any, argument: Any) -> Any:
    """The result or exception of a call, and the state that it leaves."""
    try:
        result = call.make(m, argument)
    except Exception as error:
        return type(error), str(error), snapshot(m)
    if isinstance(result, np.ndarray):
        assert not np.shares_memory(result, argument)
        assert not np.may_share_memory(result, m.data.buffer)
        result = (result.dtype, result.tolist())
    return result, snapshot(m)


def _calls(name: str) -> list[Call]:
    return [call for call in CALLS if hasattr(getattr(package, name), call.name)]


@pytest.mark.parametrize("name", MANAGERS)
def test_views_are_as_good_as_copies(name: str) -> None:
    for call, form in product(_calls(name), FORMS):
        m = loaded(name)
        values = [int(v) for v in call.values(m)]
        for column in _holders(m, values, form):
            copied, viewed = loaded(name), loaded(name)
            copy = _taken(copied, column, values, form).copy()
            view = _taken(viewed, column, values, form)
            done = _outcome(call, viewed, view), _outcome(call, copied, copy)
            assert done[0] == done[1], (call.name, column, form)


OWNERS = [name for name in MANAGERS if hasattr(getattr(package, name), "lookup")]


@pytest.mark.parametrize("name", OWNERS)
@pytest.mark.parametrize("part", [slice(5, 15), slice(15, 5, -1), slice(0, None, 3)], ids=str)
def test_owners_are_as_good_as_copies(name: str, part: slice) -> None:
    for call in (call for call in _calls(name) if call.name in OF_ENTITIES):
        copied, viewed = loaded(name), loaded(name)
        copy = copied.data.entity[part].copy()
        assert _outcome(call, viewed, viewed.data.entity[part]) == _outcome(call, copied, copy)


@pytest.mark.parametrize("name", MANAGERS)
def test_columns_are_as_good_as_copies(name: str) -> None:
    """Each field's own column as the values of new rows, and assigned to itself turned round."""
    for field in loaded(name).row(0)._fields:
        copied, viewed = loaded(name), loaded(name)
        if not hasattr(copied.data, field):
            continue
        for turn in (slice(None, None, -1), slice(None)):
            setattr(copied.data, field, getattr(copied.data, field)[turn].copy())
            setattr(viewed.data, field, getattr(viewed.data, field)[turn])
            assert snapshot(viewed) == snapshot(copied), field
        for part in (slice(6, 14), slice(14, 6, -1)):
            fresh = [*ENTITIES[110:117], HEIR] if hasattr(copied, "lookup") else 8
            copied.create_many(fresh, **{field: getattr(copied.data, field)[part].copy()})
            viewed.create_many(fresh, **{field: getattr(viewed.data, field)[part]})
            assert snapshot(viewed) == snapshot(copied), field
            for m in (copied, viewed):
                (
                    m.remove_many(fresh)
                    if hasattr(m, "lookup")
                    else m.destroy_many(m.data.n - 8 + np.arange(8))
                )


@pytest.mark.parametrize("name", [n for n in MANAGERS if "b" in filled(n, 8)[1].row(0)._fields])
def test_masks_are_as_good_as_copies(name: str) -> None:
    methods = ("destroy_many", "activate_many", "deactivate_many", "id_of_many")
    for method in filter(partial(hasattr, getattr(package, name)), methods):
        call = Call(method, list)
        copied, viewed = loaded(name), loaded(name)
        for m in (copied, viewed):
            m.data.b = np.isin(np.arange(m.data.n), _rows(m, 9))
        assert _outcome(call, viewed, viewed.data.b) == _outcome(call, copied, copied.data.b.copy())


def _worlds() -> list[Any]:
    """Two worlds of the same three members of a group, some of whose rows are dead entities'."""
    worlds = []
    for _ in range(2):
        w = package.Many()
        owners = w.entities.create_many(200)
        for m in (w.left, w.right, w.third):
            populate(m, owners, ROWS, np.random.default_rng(3))
        w.entities.destroy(int(owners[3]))
        w.entities.create()
        worlds.append(w)
    return worlds


def _members(w: Any) -> list[Any]:
    return [snapshot(m) for m in (w.left, w.right, w.third)]


def test_a_group_keeps_in_step_when_ordered_by_a_column() -> None:
    for member in ("left", "right", "third"):
        copied, viewed = _worlds()
        for w in (copied, viewed):
            column = getattr(w.trio, member).k
            column[:] = np.random.default_rng(1).permutation(w.trio.n)
        copied.trio.reorder(getattr(copied.trio, member).k.copy())
        viewed.trio.reorder(getattr(viewed.trio, member).k)
        assert _members(copied) == _members(viewed)
        copied.trio.sort("left", getattr(copied.trio, member).k.copy())
        viewed.trio.sort("left", getattr(viewed.trio, member).k)
        assert _members(copied) == _members(viewed)


def test_members_take_each_others_columns() -> None:
    copied, viewed = _worlds()
    for w, as_argument in ((copied, np.copy), (viewed, lambda a: a)):
        w.left.remove_many(ENTITIES[8:20])
        lacking = ~w.left.has_many(w.right.data.entity)
        assert lacking[-8:].all()
        w.left.create_many(as_argument(w.right.data.entity[-8:]), k=as_argument(w.third.data.k[:8]))
        w.left.create_many(ENTITIES[60:62], k=as_argument(w.right.data.k[:2]))
        w.right.remove_many(as_argument(w.third.data.entity[2:9]))
        w.third.destroy_many(as_argument(w.left.data.k[1:2]) % 3)
    assert _members(copied) == _members(viewed)
