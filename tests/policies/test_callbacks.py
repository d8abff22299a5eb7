"""Callbacks, the dispatch that gathers what they raise, and what they change meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import ref

import numpy as np
import pytest
from ecsgen_runtime.base.callbacks import Callbacks, Dispatch, Subscription, flatten_exceptions
from ecsgen_runtime.base.handles import Entity
from ecsgen_runtime.entities.entity_pool import DespawnListeners, single_entity_array
from hypothesis import given
from hypothesis import strategies as st

from tests.support.callback_package import package
from tests.support.entities_package import DespawnListener
from tests.support.manager_state import snapshot


def raiser(error: BaseException) -> Callable[..., None]:
    def callback(*_: Any) -> None:
        raise error

    return callback


def test_all_run_in_order_whatever_they_raise() -> None:
    callbacks, calls = Callbacks[int](), []
    errors: list[BaseException] = []
    first, second = KeyboardInterrupt(), ValueError()
    callbacks.add(lambda n: calls.append(("a", n)))
    callbacks.add(raiser(first))
    callbacks.add(lambda n: calls.append(("b", n)))
    callbacks.add(raiser(ExceptionGroup("", [second, ExceptionGroup("", [second])])))
    callbacks.add(lambda n: calls.append(("c", n)))
    callbacks.run(7, errors)
    assert calls == [("a", 7), ("b", 7), ("c", 7)]
    assert errors == [first, second, second]


def test_cancelling_takes_out_one_registration() -> None:
    callbacks, calls = Callbacks[int](), list[int]()
    first = callbacks.add(calls.append)
    second = callbacks.add(calls.append)
    callbacks.run(1, [])
    first.cancel()
    first.cancel()
    assert (first.active, second.active) == (False, True)
    callbacks.run(2, [])
    second.cancel()
    callbacks.run(3, [])
    assert calls == [1, 1, 2]
    assert callbacks.entries == ()


def test_changes_during_a_run() -> None:
    callbacks, calls = Callbacks[int](), list[str]()
    later: list[Subscription] = []

    def change(_: int) -> None:
        calls.append("change")
        later[0].cancel()
        this.cancel()
        callbacks.add(lambda _: calls.append("added"))

    this = callbacks.add(change)
    later.append(callbacks.add(lambda _: calls.append("cancelled")))
    callbacks.add(lambda _: calls.append("last"))
    callbacks.run(0, [])
    assert calls == ["change", "last"]
    callbacks.run(0, [])
    assert calls == ["change", "last", "last", "added"]


def test_a_run_inside_of_a_run() -> None:
    callbacks, calls = Callbacks[int](), list[int]()

    def again(n: int) -> None:
        calls.append(n)
        if n:
            callbacks.run(n - 1, [])

    callbacks.add(again)
    callbacks.add(calls.append)
    callbacks.run(2, [])
    assert calls == [2, 1, 0, 0, 1, 2]


def test_only_callables() -> None:
    with pytest.raises(TypeError, match="callable"):
        Callbacks[int]().add(3)  # type: ignore[arg-type]  # what is tested


def test_followers_are_not_kept_alive() -> None:
    deaths, listener, gone = DespawnListeners(), DespawnListener(), DespawnListener()
    deaths.add_listener(gone, DespawnListener.remove)
    deaths.add_listener(listener, DespawnListener.remove)
    deaths.check()
    deaths.run(single_entity_array(Entity(1)), [])
    deaths.run_one(Entity(2), [])
    assert gone.dead == listener.dead == [1, 2]
    del gone
    deaths.check()
    deaths.run(single_entity_array(Entity(3)), [])
    deaths.run_one(Entity(4), [])
    assert listener.dead == [1, 2, 3, 4]


def test_gone_followers_are_dropped() -> None:
    deaths = DespawnListeners()
    for _ in range(5):
        deaths.add_listener(DespawnListener(), DespawnListener.remove)
    assert not deaths.entries


def test_one_death_is_told_as_many_are() -> None:
    deaths, follower = DespawnListeners(), DespawnListener()
    notified: list[np.ndarray[Any, Any]] = []
    errors: list[BaseException] = []
    first, second = KeyboardInterrupt(), ValueError()
    deaths.add(raiser(first))
    deaths.add(notified.append)
    deaths.add_listener(follower, DespawnListener.remove)
    deaths.add(raiser(ExceptionGroup("", [second])))
    cancelled = deaths.add(notified.append)
    deaths.add(notified.append)
    cancelled.cancel()
    deaths.run_one(Entity(7), errors)
    assert follower.dead == [7]
    assert [es.tolist() for es in notified] == [[7], [7]]
    assert not any(es.flags.writeable for es in notified)
    assert errors == [first, second]


def test_a_follower_that_fails_removes_it_all_the_same() -> None:
    deaths, follower = DespawnListeners(), DespawnListener()
    errors: list[BaseException] = []
    deaths.add_listener(follower, raiser(ValueError()))
    deaths.run_one(Entity(7), errors)
    assert (follower.dead, errors) == ([7], [])


groups = st.recursive(
    st.builds(ValueError) | st.builds(KeyboardInterrupt),
    lambda inner: st.builds(
        lambda errors: BaseExceptionGroup("", errors), st.lists(inner, min_size=1, max_size=3)
    ),
)


@given(groups)
def test_leaves_are_in_order(error: BaseException) -> None:
    def expected(error: BaseException) -> list[BaseException]:
        if isinstance(error, BaseExceptionGroup):
            return [leaf for inner in error.exceptions for leaf in expected(inner)]
        return [error]

    leaves = flatten_exceptions(error)
    assert list(map(id, leaves)) == list(map(id, expected(error)))


def test_leaves_of_a_very_deep_group() -> None:
    error = ValueError()
    group: Exception = error
    for _ in range(5000):
        group = ExceptionGroup("", [group])
    assert flatten_exceptions(group) == [error]


class Owner:
    """Drains a dispatch's queue into a list; a number's batch may queue more or raise."""

    def __init__(self, follows: dict[int, list[int]], fails: dict[int, BaseException]) -> None:
        self.dispatch = Dispatch(self.drain)
        self.done: list[int] = []
        self.follows, self.fails = follows, fails

    def drain(self, batch: Any) -> None:
        self.dispatch.run(self.drain_each, batch)

    def drain_each(self, batch: Any) -> None:
        for n in batch.tolist():
            self.done.append(n)
            self.queue(*self.follows.get(n, []))
            if n in self.fails:
                raise self.fails[n]

    def queue(self, *numbers: int) -> None:
        for n in numbers:
            self.dispatch.queue.append(np.array([n], np.uint64))


def test_the_queue_is_drained_in_order_at_the_outermost_level() -> None:
    owner = Owner({1: [3, 4], 3: [5]}, {})

    def act() -> str:
        assert owner.dispatch.run(lambda: owner.queue(1, 2)) is None
        assert owner.done == []
        assert owner.dispatch.depth == 1
        assert owner.dispatch.is_open()
        return "done"

    assert owner.dispatch.run(act) == "done"
    assert owner.done == [1, 2, 3, 4, 5]
    assert owner.dispatch.depth == 0
    assert not owner.dispatch.is_open()


def test_errors_become_one_flat_group_after_everything() -> None:
    a, b, c = ValueError("a"), ValueError("b"), KeyError("c")
    owner = Owner({1: [3]}, {1: ExceptionGroup("", [b]), 3: c})

    def act() -> None:
        owner.dispatch.errors.append(a)
        owner.queue(1, 2)

    with pytest.raises(ExceptionGroup) as caught:
        owner.dispatch.run(act)
    assert caught.value.exceptions == (a, b, c)
    assert owner.done == [1, 2, 3]
    owner.dispatch.run(lambda: None)  # nothing is left from before


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_leaves_as_itself_when_all_is_done(kind: type[BaseException]) -> None:
    lost, wrong = KeyError("of a callback"), ValueError("of the body")
    owner = Owner({}, {1: lost})

    def act(fails: bool) -> None:
        owner.queue(1, 2)
        owner.dispatch.notify(raiser_in_run(BaseExceptionGroup("", [interrupt])), 0)
        if fails:
            raise wrong

    for fails, gathered in ((False, (lost,)), (True, (wrong, lost))):
        interrupt = kind()
        with pytest.raises(kind) as caught:
            owner.dispatch.run(act, fails)
        assert caught.value is interrupt
        group = displayed(interrupt)[-1]
        assert isinstance(group, ExceptionGroup)
        assert group.exceptions == gathered
    assert owner.done == [1, 2] * 2


def raiser_in_run(error: BaseException) -> Callable[[Any, list[BaseException], Any], None]:
    def run(_: Any, errors: list[BaseException], __: Any) -> None:
        errors.extend(flatten_exceptions(error))

    return run


def test_a_batch_that_an_interrupt_came_upon_has_its_turn_again() -> None:
    interrupt = KeyboardInterrupt()
    owner = Owner({}, {})
    came = iter([True, False, False])

    def drain(batch: Any) -> None:
        if next(came):
            raise interrupt
        owner.drain(batch)

    owner.dispatch._drain = lambda: drain  # type: ignore[assignment]  # a weak method calls alike
    with pytest.raises(KeyboardInterrupt) as caught:
        owner.dispatch.run(lambda: owner.queue(1, 2))
    assert caught.value is interrupt
    assert owner.done == [1, 2]


def test_a_depth_without_a_call_means_nothing() -> None:
    owner = Owner({}, {})
    owner.dispatch.depth = 1  # as if nothing had ended the call
    owner.queue(1)
    assert not owner.dispatch.is_open()
    owner.dispatch.run(lambda: owner.queue(2))
    assert (owner.done, owner.dispatch.depth) == ([1, 2], 0)


def displayed(error: BaseException) -> list[BaseException]:
    """The chain that a traceback shows, outermost first."""
    chain = [error]
    while len(chain) < 10:
        last = chain[-1]
        following = last.__cause__ if last.__suppress_context__ else last.__context__
        if following is None:
            break
        chain.append(following)
    return chain


@pytest.mark.parametrize("how", ["plain", "from", "from none", "during"])
def test_an_error_of_the_body_passes_and_loses_nothing(how: str) -> None:
    lost = KeyError("of a callback")
    owner = Owner({}, {1: lost})

    def body() -> None:
        owner.queue(1, 2)
        if how == "plain":
            raise ValueError
        if how == "from":
            raise ValueError from OSError()
        try:
            raise OSError
        except OSError:
            if how == "during":
                raise ValueError  # noqa: B904 - the context is what is tested
            raise ValueError from None

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - any
        owner.dispatch.run(body)
    assert owner.done == [1, 2]
    last = displayed(caught.value)[-1]
    assert isinstance(last, ExceptionGroup)
    assert last.exceptions == (lost,)
    assert len(displayed(caught.value)) == (3 if how in ("from", "during") else 2)


def test_an_error_of_an_inner_body_that_is_caught() -> None:
    owner = Owner({}, {})

    def act() -> None:
        owner.queue(1)
        with pytest.raises(ValueError, match="inner"):
            owner.dispatch.run(int, "inner")
        assert owner.done == []

    owner.dispatch.run(act)
    assert owner.done == [1]


class Told:
    """An argument of callbacks."""


def test_what_failed_keeps_nothing_that_was_told() -> None:
    """No garbage collector is needed: what is held meanwhile are frames of managers, with views."""

    def fail(argument: Told) -> None:
        raise ValueError

    dispatch, callbacks = Dispatch(), Callbacks[Told]()
    callbacks.add(fail)
    argument = Told()
    is_there = ref(argument)
    gc.disable()
    try:
        with suppress(ExceptionGroup):
            dispatch.run(dispatch.notify, callbacks.run, argument)
        del argument
        assert is_there() is None
    finally:
        gc.enable()


every = pytest.mark.parametrize("kind", ["held", "slab", "lots"])
either = pytest.mark.parametrize("many", [False, True])


def displaced(kind: str) -> tuple[Any, Any, list[int]]:
    """Return a world, a manager, and new entities with the indices of dead ones that have rows."""
    w = package.Half()
    m = getattr(w, kind)
    old = w.entities.create_many(3)
    m.create_many(old, x=range(3))
    w.entities.destroy_many(old)
    new: list[int] = w.entities.create_many(3).tolist()
    assert len(w.entities) >= 3
    return w, m, new


def create(m: Any, entities: list[int], many: bool) -> None:
    m.create_many(entities, x=7) if many else m.create(entities[0], x=7)


def agree(m: Any) -> None:
    """Rows, owners and map agree, and nobody has two where one is allowed."""
    owners = [e for e in m.data.entity.tolist() if e]
    if not hasattr(m, "first"):
        assert len(set(owners)) == len(owners)
    for row, owner in enumerate(m.data.entity.tolist()):
        if owner:
            assert row in [*m.instances(owner)] if hasattr(m, "first") else m.lookup(owner) == row
    assert not m._is_locked()
    assert m._dispatch.depth == 0


@every
@either
def test_other_managers_change_and_hold_the_new_entity_before_this_one(
    kind: str, many: bool
) -> None:
    w, m, new = displaced(kind)
    w.flat.create_many(w.entities.create_many(100))

    def callback(rows: Any) -> None:
        w.flat.clear()
        w.flat.shrink_to_fit()
        w.flat.reserve(1000)
        w.entities.create_many(500)
        w.flat.create(new[0])
        w.archetypes.add(new[0], package.Chunked)

    m.on_release(callback)
    create(m, new, many)
    assert w.flat.has(new[0])
    assert w.archetypes.has(new[0], package.Chunked)
    assert m.has(new[0])
    agree(m)
    agree(w.flat)


@every
@either
def test_the_same_component_cannot_be_created_meanwhile(kind: str, many: bool) -> None:
    _w, m, new = displaced(kind)
    m.on_release(lambda rows: m.create(new[0]))
    with pytest.raises(ExceptionGroup) as caught:
        create(m, new[:1], many)
    assert [type(e).__name__ for e in caught.value.exceptions] == ["StructureLockedError"]
    assert m.has(new[0])
    agree(m)


@every
@either
def test_the_new_entity_is_destroyed_when_it_is_done(kind: str, many: bool) -> None:
    w, m, new = displaced(kind)
    m.on_release(lambda rows: w.entities.destroy(new[0]))
    create(m, new[:1], many)
    assert not w.entities.alive(new[0])
    agree(m)


@every
@either
def test_what_all_of_them_raise_comes_in_one_flat_group_behind_everything(
    kind: str, many: bool
) -> None:
    w, m, new = displaced(kind)
    doomed = w.entities.create()
    w.flat.create(doomed)

    def fail(rows: Any) -> None:
        w.entities.destroy(doomed)
        raise ExceptionGroup("outer", [KeyError(1), ExceptionGroup("inner", [OSError(2)])])

    m.on_release(fail)
    w.flat.on_release(fail)
    w.entities.on_destroy(lambda es: 1 / 0)
    m.on_release(lambda rows: w.flat.remove(doomed))
    with pytest.raises(ExceptionGroup) as caught:
        create(m, new[:1], many)
    kinds = [type(e) for e in caught.value.exceptions]
    assert kinds == [KeyError, OSError, KeyError, OSError, ZeroDivisionError]
    assert m.lookup(new[0]) == m.require(new[0])
    assert not w.entities.alive(doomed)
    agree(m)
    agree(w.flat)


@every
def test_owners_that_are_another_managers_column_are_copied(kind: str) -> None:
    w, m, new = displaced(kind)
    w.flat.create_many(new)
    m.on_release(lambda rows: w.flat.destroy_many([0]) if len(w.flat) == 3 else None)
    m.create_many(w.flat.data.entity, x=w.flat.data.x)
    assert sorted(m.data.entity[m.data.entity > 0].tolist()) == sorted(new)
    agree(m)


@every
def test_arguments_that_a_callback_writes_are_copied(kind: str) -> None:
    _w, m, new = displaced(kind)
    owners, values = np.array(new, np.uint64), np.arange(10, 13)

    def callback(rows: Any) -> None:
        owners[:] = owners[::-1].copy()
        values[:] = 0

    m.on_release(callback)
    m.create_many(owners, x=values)
    assert [m.x(m.require(e)) for e in new] == [10, 11, 12]
    agree(m)


@every
def test_rows_that_callbacks_are_given_are_read_only(kind: str) -> None:
    w = package.Half()
    m = getattr(w, kind)
    m.create_many(w.entities.create_many(9))
    released = []

    def callback(rows: Any) -> None:
        released.append(rows)
        rows += 1

    m.on_release(callback)
    rows_given = np.array([1, 4])
    with pytest.raises(ExceptionGroup):
        m.destroy_many(rows_given)
    with pytest.raises(ExceptionGroup):
        m.destroy(m.data._used_rows()[0])
    assert rows_given.tolist() == [1, 4]
    assert not np.shares_memory(released[0], rows_given)
    assert len(m) == 6
    assert snapshot(m)
    agree(m)


@every
def test_callbacks_do_not_change_what_goes(kind: str) -> None:
    w = package.Half()
    m = getattr(w, kind)
    es = w.entities.create_many(6)
    m.create_many(es)

    def callback(rows: Any) -> None:
        rows.flags.writeable = True
        rows[:] = m.lookup(es[5])

    m.on_release(callback)
    m.destroy_many([m.lookup(es[0]), m.lookup(es[2])])
    assert sorted(m) == sorted(es[[1, 3, 4, 5]].tolist())
    agree(m)
