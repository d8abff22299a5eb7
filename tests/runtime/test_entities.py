"""The entity manager, of one entity at a time and of arrays.

Mutants of it run these cases, too, beside the tests of the package that they break.
"""

from __future__ import annotations

import array
import copy
import gc
import subprocess
import sys
import weakref
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import black
import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, StaleEntityError, StructureLockedError
from ecsgen_runtime.base.handles import NULL_ENTITY
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from ecsgen_runtime.entities.entity_pool import IndexQueue
from ecsgen_runtime.values.array_coercion import (
    all_distinct_below,
    are_stored_handles,
    as_entities,
    find_first_duplicate,
)
from ecsgen_testing.entities import EntityRules
from ecsgen_testing.subject import handles_with, raise_error, refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from ecsgen.model import World
from ecsgen.render.package_files import entities_module
from ecsgen.render.text.library_imports import finish_module
from tests.support.entities_package import DespawnListener, entity_manager
from tests.support.soak import examples

LAYOUTS = [
    *((32, 32, 1024), (16, 4, 2), (3, 2, 0), (1, 1, 0), (2, 1, 0), (3, 2, 2), (3, 2, 100)),
    *((7, 57, 1), (32, 32, 3)),
]


def manager(index_bits: int = 32, generation_bits: int = 32, min_free: int = 1024) -> Any:
    return entity_manager(index_bits, generation_bits, min_free)()


@pytest.fixture(params=LAYOUTS[:3], ids=str)
def em(request: pytest.FixtureRequest) -> EntityManagerBase:
    return entity_manager(*request.param)()


def most(em: EntityManagerBase, count: int) -> int:
    """Return so many, or as many entities as there can be."""
    return min(count, int(em.HANDLE_LAYOUT.INDEX_COUNT))


def deaths(manager: EntityManagerBase) -> list[list[int]]:
    """Return a list that gets the entities of each despawn from now on."""
    died: list[list[int]] = []
    manager.on_destroy(lambda removed: died.append(removed.tolist()))
    return died


SETTINGS = settings(max_examples=examples(10), stateful_step_count=40, deadline=None)


@pytest.mark.hypothesis
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_manager_does_as_the_model(layout: tuple[int, int, int]) -> None:
    """The machine of generated tests, of any handles."""
    machine = type("Machine", (EntityRules,), {"manager": entity_manager(*layout)})
    run_state_machine_as_test(machine, settings=SETTINGS)


def test_handles(em: EntityManagerBase) -> None:
    entity = em.create()
    assert entity == em.HANDLE_LAYOUT.ONE_GENERATION
    assert (em.index(entity), em.generation(entity)) == (0, 1)
    assert em.create_many(1).dtype == np.uint64


def test_what_can_not_be_an_entity_is_not_alive(em: EntityManagerBase) -> None:
    assert not em.alive(NULL_ENTITY)
    assert not em.alive_many([NULL_ENTITY]).any()
    entity = em.create()
    beyond = em.HANDLE_LAYOUT.LAST_GENERATION + em.HANDLE_LAYOUT.ONE_GENERATION
    odd = [NULL_ENTITY, entity + 1, -1, -entity, beyond + entity, 2**64, 2**70]
    assert not any(em.alive(number) for number in odd)
    assert not em.alive_many(odd).any()
    for number in odd:
        refuses(StaleEntityError, em.destroy, number)
        refuses(StaleEntityError, em.destroy_many, [entity, number])
    assert em.alive(entity)


@pytest.mark.parametrize("count", [2, 100])
def test_repeated_entities_are_refused(em: EntityManagerBase, count: int) -> None:
    es = em.create_many(most(em, count)).tolist()
    refuses(StaleEntityError, "position 2 is repeated", em.destroy_many, [*es[1::-1], es[1], es[1]])
    assert list(em) == es
    refuses(ValueError, "-1", em.create_many, -1)


def test_repeated_entities_may_die_once(em: EntityManagerBase) -> None:
    es = em.create_many(most(em, 6)).tolist()
    died = deaths(em)
    with pytest.raises(StaleEntityError, match="not alive"):
        em.destroy_many([es[1], es[1], 0], repeats=True)
    em.destroy_many([es[1], es[0], es[1]], repeats=True)
    assert died == [[es[1], es[0]]]
    em.destroy_many(es[2:], repeats=True)
    assert len(em) == 0


@pytest.mark.parametrize("as_many", [False, True])
def test_many_indices_wait_in_order(as_many: bool) -> None:
    em = manager(16, 4, 0)
    alive = em.create_many(400).tolist()
    waiting: list[int] = []
    for dying, coming in ((65, 65), (100, 60), (120, 150), (10, 20)):
        gone, alive = alive[:dying], alive[dying:]
        if as_many:
            em.destroy_many(gone)
        else:
            for entity in gone:
                em.destroy(entity)
        waiting += map(em.index, gone)
        count = min(coming, len(waiting))
        created = em.create_many(count).tolist() if as_many else [em.create() for _ in range(count)]
        assert list(map(em.index, created)) == waiting[:count]
        waiting = waiting[count:]
        alive += created


def test_many_reuse_early_ones_first_and_all_once_no_index_is_left(em: EntityManagerBase) -> None:
    with handles_with(em, MIN_FREE=1, INDEX_COUNT=4):
        em.destroy_many(em.create_many(3))
        again = em.create_many(4)
    assert [em.index(e) for e in again.tolist()] == [0, 1, 3, 2]
    assert [em.generation(e) for e in again.tolist()] == [2, 2, 1, 2]


def test_the_next_index_to_be_used_finds_room() -> None:
    queue = IndexQueue()
    queue.push_many(np.arange(64))
    queue.push_front(99)
    assert [queue.pop() for _ in range(65)] == [99, *range(64)]


def test_taking_back_after_others_came(em: EntityManagerBase) -> None:
    es = em.create_many(2)
    other = em.create()
    em.undo_create(es)
    assert list(em) == [other]
    assert not em.alive_many(es).any()
    with handles_with(em, MIN_FREE=0):
        assert em.create_many(2).tolist() == es.tolist()


@pytest.mark.parametrize("count", [1, 63, 64, 65, 129])
def test_room_for_all(em: EntityManagerBase, count: int) -> None:
    count = min(count, em.HANDLE_LAYOUT.INDEX_COUNT - 1)
    es = em.create_many(count).tolist()
    es.append(em.create())
    assert list(em) == es


@pytest.mark.parametrize("count", [0, 1, 20])
def test_an_index_without_generations_is_retired(em: EntityManagerBase, count: int) -> None:
    last = em.HANDLE_LAYOUT.ONE_GENERATION
    with handles_with(em, MIN_FREE=0, LAST_GENERATION=last):
        # their indices begin at 0, so these are the first of the last
        es = em.create_many(max(1, min(count, em.HANDLE_LAYOUT.INDEX_COUNT - 1)))
        if count:
            em.destroy_many(es)
        else:
            em.destroy(es[0])
        assert not em.alive_many(es).any()
        assert em.index(em.create()) == len(es)
    assert len(em) == 1


def test_queued_indices_count_as_memory(em: EntityManagerBase) -> None:
    es = em.create_many(most(em, 500))
    before = em.nbytes
    em.destroy_many(es)
    assert em.nbytes >= max(before, 8 * len(es) + 4 * len(es))


def test_the_state_of_other_handles_is_refused(em: EntityManagerBase) -> None:
    with pytest.raises(ValueError, match="bits"):
        em.__setstate__(em.__getstate__() | {"bits": (1, 1)})


def test_who_is_cancelled_meanwhile_hears_nothing(em: EntityManagerBase) -> None:
    em.on_destroy(lambda _: later.cancel())
    later = em.on_destroy(raise_error)
    em.destroy(em.create())
    em.destroy_many(em.create_many(2))


@pytest.mark.parametrize("count", [3, 30])
def test_callbacks_can_change_no_handles(em: EntityManagerBase, count: int) -> None:
    es = em.create_many(most(em, count))
    heard: list[Any] = []

    def listen(gone: Any) -> None:
        heard.append(gone)
        if len(heard) == 1:
            em.destroy(es[-1])

    em.on_destroy(listen)
    others = es[:-1].copy()
    em.destroy_many(others)
    assert [gone.tolist() for gone in heard] == [others.tolist(), [es[-1]]]
    assert not any(gone.flags.writeable for gone in heard)
    assert others.flags.writeable


def test_who_is_to_die_twice_after_a_callback_dies_once(em: EntityManagerBase) -> None:
    first, second = em.create_many(2).tolist()
    died = deaths(em)

    def listen(gone: Any) -> None:
        if first in gone:
            em.destroy(second)
            em.destroy_many([second])

    em.on_destroy(listen)
    em.destroy(first)
    assert died == [[first], [second]]
    assert len(em) == 0


def test_nobody_dies_while_a_manager_refuses(em: EntityManagerBase) -> None:
    listener = DespawnListener(em)
    listener._locks = 1
    es = em.create_many(2)
    for call, argument in ((em.destroy, es[0]), (em.destroy_many, es)):
        refuses(StructureLockedError, call, argument)
    assert em.alive_many(es).all()
    assert listener.dead == []


def test_indices_that_no_memory_lets_go_are_retired(monkeypatch: pytest.MonkeyPatch) -> None:
    entities = manager(index_bits=2, min_free=0)

    def fail(*_: object) -> None:
        raise MemoryError

    reserved = entities.reserve_handles(3)
    with monkeypatch.context() as patch:
        patch.setattr(type(entities), "free_handles", fail)
        entities.drop_reserved(reserved)
    entities.create()
    with pytest.raises(CapacityError, match="no index left, 3 are retired"):
        entities.create()


@pytest.mark.parametrize("taken", [0, 1])
def test_taking_back_after_other_changes(taken: int) -> None:
    """The next creations still give no handle twice, and no generation is lost."""
    entities = manager(3, 2, 0)
    entities.destroy_many(entities.create_many(2))
    es = entities.create_many(4)
    others = [entities.create() for _ in range(taken)]
    entities.destroy(others[0] if taken else es[0])
    entities.undo_create(es[1 - taken :])
    assert len(entities) == 0
    again = entities.create_many(8)
    assert sorted(again & 7) == list(range(8))
    assert set(es[1 - taken :].tolist()) < set(again.tolist())


def test_bulk_calls_over_many_blocks() -> None:
    entities = manager(32, 32, 0)
    es = entities.create_many(50_001)
    shuffled = np.random.default_rng(1).permutation(es)
    entities.destroy_many(shuffled[::3])
    expected = np.arange(50_001) % 3 != 0
    assert (entities.alive_many(shuffled) == expected).all()
    assert (entities.alive_many(shuffled[::-1]) == expected[::-1]).all()
    assert (entities.live() == np.sort(shuffled[expected])).all()
    assert (es[entities.alive_many(es)] == entities.live()).all()
    reused = entities.create_many(16_667)
    assert (reused & 0xFFFF_FFFF == shuffled[::3] & 0xFFFF_FFFF).all()


@pytest.mark.parametrize("e", [1.0, "1", None, 1 + 0j, b"1"])
@pytest.mark.parametrize("call", ["alive", "destroy", "require", "__contains__", "index"])
def test_one_entity_is_an_integer(call: str, e: Any) -> None:
    entities = manager()
    entities.create()
    with pytest.raises(TypeError):
        getattr(entities, call)(e)


def test_too_many_are_refused_before_anything_happens() -> None:
    entities = manager(32, 32, 0)
    entities.destroy_many(entities.create_many(3))
    for n in (2**32 + 1, 2**64, 2**100):
        with pytest.raises(CapacityError):
            entities.create_many(n)
    assert entities.create_many(3).tolist() == [(2 << 32) + i for i in range(3)]


def test_iterating_is_not_disturbed_by_destroying() -> None:
    entities = manager()
    es = entities.create_many(100).tolist()
    for e in entities:
        entities.destroy(e)
        es.remove(e)
    assert es == []


def test_reserve_prevents_reallocation() -> None:
    entities = manager()
    entities.reserve(5000)
    before = entities.nbytes
    entities.create_many(4000)
    for _ in range(1000):
        entities.create()
    assert entities.nbytes == before >= 5000 * 8
    with pytest.raises(CapacityError):
        manager(3, 2, 0).reserve(9)


plans = st.lists(
    st.tuples(st.lists(st.lists(st.integers(0, 5), unique=True), max_size=3), st.booleans()),
    min_size=6,
    max_size=6,
)


@given(plans, st.lists(st.integers(0, 5), unique=True, min_size=1))
def test_destroying_inside_of_callbacks(
    plan: list[tuple[list[list[int]], bool]], start: list[int]
) -> None:
    """Each entity's death destroys others, in batches, and perhaps fails."""
    entities, notified, expected = manager(), [], []
    es = entities.create_many(6).tolist()

    def react(dead: Any) -> None:
        notified.append(dead.tolist())
        for e in dead.tolist():
            batches, _ = plan[es.index(e)]
            for batch in batches:
                targets = [es[k] for k in batch if entities.alive(es[k])]
                entities.destroy_many(targets)
                assert entities.alive_many(targets).all(), "their turn comes later"
                for target in targets:
                    entities.destroy(target)  # ignored: they are queued already
        if any(plan[es.index(e)][1] for e in dead.tolist()):
            raise RuntimeError(dead.tolist())

    live, queue, failed = set(es), deque([[es[k] for k in start]]), []
    while queue:
        batch = [e for e in queue.popleft() if e in live]
        if not batch:
            continue
        live -= set(batch)
        expected.append(batch)
        for e in batch:
            for more in plan[es.index(e)][0]:
                queue.append([es[k] for k in more if es[k] in live])
        if any(plan[es.index(e)][1] for e in batch):
            failed.append(batch)

    entities.on_destroy(react)
    raised: AbstractContextManager[Any] = pytest.raises(ExceptionGroup) if failed else nullcontext()
    with raised as caught:
        entities.destroy_many([es[k] for k in start])
    if caught is not None:
        assert [error.args[0] for error in caught.value.exceptions] == failed
    assert notified == expected
    assert set(entities) == live
    assert (entities.dispatch.depth, len(entities.dispatch.queue)) == (0, 0)


def test_destroying_inside_of_a_managers_callbacks() -> None:
    """They run in the same dispatch, without `on_destroy` callbacks, too."""
    entities = manager()
    a, b, c = entities.create_many(3).tolist()

    def act() -> None:
        entities.destroy(a)
        entities.destroy_many([a, b])
        assert list(entities) == [a, b, c]

    entities.dispatch.run(act)
    assert list(entities) == [c]


def test_errors_inside_of_callbacks_about_stale_entities() -> None:
    entities = manager()
    a, b = entities.create_many(2).tolist()
    entities.on_destroy(lambda es: entities.destroy_many([b, b]) if b not in es else None)
    entities.on_destroy(lambda es: entities.destroy(a))
    with pytest.raises(ExceptionGroup) as caught:
        entities.destroy(a)
    assert [type(error) for error in caught.value.exceptions] == [StaleEntityError] * 2
    assert entities.alive(b)


def test_managers_and_callbacks_are_told_in_order_of_registration() -> None:
    entities, notified = manager(), list[tuple[str, int]]()
    follower: DespawnListener
    entities.on_destroy(lambda es: notified.append(("first", len(follower.dead))))
    follower = DespawnListener(entities)
    entities.on_destroy(lambda es: notified.append(("last", len(follower.dead))))
    entities.destroy_many(entities.create_many(3))
    assert notified == [("first", 0), ("last", 3)]


def test_a_manager_locked_when_a_queued_entitys_turn_comes() -> None:
    entities = manager()
    follower = DespawnListener(entities)
    a, b, c = entities.create_many(3).tolist()

    def lock_and_destroy(es: Any) -> None:
        if a in es:
            follower._locks = 1
            entities.destroy(b)
            raise KeyError(b)

    entities.on_destroy(lock_and_destroy)
    with pytest.raises(ExceptionGroup) as caught:
        entities.destroy(a)
    kinds = [type(error) for error in caught.value.exceptions]
    assert kinds == [KeyError, StructureLockedError]
    assert list(entities) == [b, c]
    assert follower.dead == [a]


def test_an_entity_manager_needs_no_garbage_collector() -> None:
    gc.disable()
    try:
        entities = manager()
        entities.on_destroy(lambda es: None)
        entities.destroy(entities.create())
        gone = weakref.ref(entities)
        del entities
        assert gone() is None
    finally:
        gc.enable()


def test_callbacks_are_not_saved() -> None:
    entities, notified = manager(), list[Any]()
    entities.on_destroy(notified.append)
    e = entities.create()
    copied = copy.deepcopy(entities)
    copied.destroy(e)
    assert notified == []
    assert entities.alive(e)


def test_a_copy_made_by_a_callback_is_at_rest() -> None:
    entities, copies = manager(), []
    a, b = entities.create_many(2).tolist()

    def save(es: Any) -> None:
        if a in es:
            entities.destroy(b)
            copies.append(copy.deepcopy(entities))

    entities.on_destroy(save)
    entities.destroy(a)
    assert list(entities) == []
    assert list(copies[0]) == [b]
    copies[0].destroy(b)
    assert list(copies[0]) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_text_is_already_in_blacks_style(layout: tuple[int, int, int]) -> None:
    index_bits, generation_bits, min_free = layout
    world = World(index_bits=index_bits, generation_bits=generation_bits, min_free=min_free)
    source = finish_module(lambda: entities_module(world))
    numbers: dict[str, Any] = {"__name__": "entities"}
    exec(source, numbers)
    assert (numbers["INDEX_BITS"], numbers["GENERATION_BITS"], numbers["MIN_FREE"]) == layout
    assert numbers["INDEX_MASK"] == 2**index_bits - 1
    assert numbers["EntityManager"]().create() == 1 << index_bits
    assert black.format_str(source, mode=black.Mode()) == source
    assert max(map(len, source.splitlines())) <= 88


integers = st.integers() | st.sampled_from([-1, 2**63 - 1, 2**63, 2**64 - 1, 2**64])


class Handle:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def possible(number: int) -> int:
    return number if 0 <= number < 2**64 else 0


@given(st.lists(integers), st.sampled_from([list, tuple, deque]))
def test_any_integers_stay_exact_or_become_null(numbers: list[int], kind: Any) -> None:
    handles = as_entities(kind(numbers))
    assert handles.dtype == np.uint64
    assert handles.tolist() == [possible(number) for number in numbers]


@given(st.lists(integers))
def test_integers_of_many_kinds_in_one_list(numbers: list[int]) -> None:
    mixed: list[Any] = [Handle(n) if i % 2 else n for i, n in enumerate(numbers)]
    assert as_entities(mixed).tolist() == [possible(number) for number in numbers]
    objects = np.empty(len(mixed), object)
    objects[:] = mixed
    assert as_entities(objects).tolist() == [possible(number) for number in numbers]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", ">i4", "u1", "u2", "u4", "u8", ">u8"])
def test_integer_arrays_of_every_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    given_numbers = np.array([limits.min, 0, 1, limits.max], dtype)
    expected = [possible(int(number)) for number in given_numbers]
    assert as_entities(given_numbers).tolist() == expected
    assert as_entities(given_numbers[::-2]).tolist() == expected[::-2]
    assert as_entities(given_numbers).dtype == np.dtype("=u8")


def test_an_array_of_handles_is_taken_as_it_is() -> None:
    es = np.arange(5, dtype=np.uint64)
    assert as_entities(es) is es


@pytest.mark.parametrize(
    "es", [range(3), array.array("Q", [0, 1, 2]), memoryview(array.array("i", [0, 1, 2]))]
)
def test_other_sequences(es: Any) -> None:
    assert as_entities(es).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "es",
    [
        *(5, None, "12", b"12", {1, 2}, {1: 2}, iter([1, 2]), np.uint64(5)),
        *([1.0], [2**63, 1.5], ["1"], [None], [Fraction(1)], [True, False]),
        *(np.array([True]), np.array([1.0]), np.array([], float), np.array([1], complex)),
        *(np.array([1], "m8[s]"), np.array([(1,)], [("e", "u8")])),
        np.ma.array([1, 2], mask=[True, False], dtype=np.uint64),
    ],
)
def test_anything_but_integers_is_refused(es: Any) -> None:
    with pytest.raises(TypeError):
        as_entities(es)


@pytest.mark.parametrize("es", [[[1, 2]], [[]], np.zeros((2, 2), np.uint64), [[1], [2, 3]]])
def test_only_flat_arrays(es: Any) -> None:
    with pytest.raises(ValueError, match=r"flat|shape"):
        as_entities(es)


def test_an_exact_array_does_not_load_masked_arrays() -> None:
    code = (
        "import sys, numpy; from ecsgen_runtime.values.array_coercion import as_entities;"
        "as_entities(numpy.zeros(3, numpy.uint64)); assert 'numpy.ma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(301, 3000))
def test_repetitions_are_found(indices: list[int], bound: int) -> None:
    array = np.array(indices, np.int64)
    assert all_distinct_below(array, bound) == (len(set(indices)) == len(indices))
    expected = next((i for i, n in enumerate(indices) if n in indices[:i]), len(indices))
    assert find_first_duplicate(array) == expected


@given(
    st.lists(st.integers(0, 2**20), min_size=1, max_size=40), st.integers(0, 40_000), st.integers(1)
)
def test_held_handles_are_found_in_blocks(cells: list[int], k: int, seed: int) -> None:
    held = np.array(cells, np.uint64)
    es = np.random.default_rng(seed).choice(np.array([*cells, 7, 2**40], np.uint64), k)
    expected = held[np.minimum(es & 0xFF, len(cells) - 1).astype(int)] == es
    assert (are_stored_handles(held, es, 0xFF) == expected).all()


actions = st.lists(
    st.tuples(
        st.sampled_from(["push", "pop", "push_many", "drop", "push_front_many"]), st.integers(0, 90)
    )
)


@given(actions)
def test_the_queue_is_a_queue(steps: list[tuple[str, int]]) -> None:
    queue, model = IndexQueue(), deque[int]()
    for number, (step, n) in enumerate(steps):
        many = range(number * 100, number * 100 + n)
        if step == "push":
            queue.push(number)
            model.append(number)
        elif step == "push_many":
            queue.push_many(np.array(many, np.int64))
            model.extend(many)
        elif step == "push_front_many":
            queue.push_front_many(np.array(many, np.int64))
            model.extendleft(reversed(many))
        elif step == "pop" and model:
            assert queue.pop() == model.popleft()
        elif step == "drop":
            n = min(n, len(model))
            assert queue.first(n).tolist() == [model.popleft() for _ in range(n)]
            queue.drop(n)
        assert queue.count == len(model)
        assert queue.first(queue.count).tolist() == list(model)


def test_the_queue_holds_the_largest_index() -> None:
    queue = IndexQueue()
    queue.push(2**32 - 1)
    queue.push_many(np.array([2**32 - 1]))
    assert [queue.pop(), queue.pop()] == [2**32 - 1] * 2
    assert queue.nbytes == 256
