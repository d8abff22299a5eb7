"""Hierarchies against a naive model, among all other policies, and what no model shows."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.hierarchy_model import NIL, Subject
from tests.support.hierarchy_package import COMPONENTS, manager_of, package
from tests.support.runtime_names import patch_runtime
from tests.support.soak import examples

__all__ = ["package"]


@pytest.mark.parametrize("module", COMPONENTS)
@settings(max_examples=examples(12), deadline=None)
@given(
    seeds=st.lists(st.integers(0, 2**32), min_size=30, max_size=60),
    few=st.booleans(),
    rounds=st.sampled_from((1, 3, 64)),
)
def test_a_manager_does_as_the_model(
    package: ModuleType, module: str, seeds: list[int], few: bool, rounds: int
) -> None:
    subject = Subject(package, module)
    with limits(package, module, few, rounds):
        for seed in seeds:
            subject.step(Random(seed))


@contextmanager
def limits(package: ModuleType, module: str, few: bool, rounds: int) -> Iterator[None]:
    """Take the ways for few rows among many, and give up on long lists after some rounds."""
    with pytest.MonkeyPatch.context() as patch:
        small_values = {"_DENSE": 0, "_MANY": 0} if few else {}
        patch_runtime(patch, package.__name__, ROUNDS=rounds, **small_values)
        yield


@pytest.mark.parametrize("k", [1, 30])
def test_new_parents_of_few_rows_copy_no_column(package: ModuleType, k: int) -> None:
    nodes = manager_of(package, "noderoot7")()
    nodes.create_many(100_000)
    nodes.set_parent_many(np.arange(1, 100_000), (np.arange(1, 100_000) - 1) // 2)
    nodes.set_parent_many([99_999], [1])  # what is imported or made once is there now
    tracemalloc.start()
    try:
        nodes.set_parent_many(np.arange(99_000, 99_000 + k), 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.fixture(params=["root", "destroy"])
def nodes(request: pytest.FixtureRequest, package: ModuleType) -> Any:
    """A manager of ten roots without owners, whose rows are 0 to 9."""
    manager = manager_of(package, f"node{request.param}7")()
    manager.create_many(10, serial=np.arange(10))
    return manager


def links(manager: Any) -> list[list[int]]:
    return [manager.children(row).tolist() for row in range(len(manager))]


def test_children_stand_in_order_of_attachment(nodes: Any) -> None:
    nodes.set_parent_many([3, 1, 2], 0)
    nodes.set_parent(5, 0)
    nodes.set_parent(3, 1)
    nodes.set_parent(3, 0)
    assert nodes.children(0).tolist() == [1, 2, 5, 3]
    assert nodes.previous_sibling(1) == nodes.next_sibling(3) == NIL


def test_the_present_parent_again_changes_nothing(nodes: Any) -> None:
    nodes.set_parent_many([1, 2, 3], 0)
    version = nodes.version
    nodes.set_parent(1, 0)
    nodes.set_parent(0, NIL)
    nodes.set_parent_many([2, 1, 3, 9], [0, 0, 0, NIL])
    nodes.set_parent_many([], [])
    assert nodes.version == version
    assert nodes.children(0).tolist() == [1, 2, 3]


def test_only_the_final_state_can_be_a_cycle(nodes: Any) -> None:
    nodes.set_parent_many([1, 2], [0, 1])
    nodes.set_parent_many([0, 2, 1], [1, NIL, 2])  # upside down
    assert [nodes.parent(row) for row in (0, 1, 2)] == [1, 2, NIL]


def test_cycles_are_refused_and_change_nothing(nodes: Any, package: ModuleType) -> None:
    error = Subject(package, "noderoot7").errors.HierarchyError
    nodes.set_parent_many([1, 2, 3], [0, 1, 2])
    before, version = links(nodes), nodes.version
    for row, parent in ((0, 0), (0, 3), (1, 2), (9, 9)):
        with pytest.raises(error, match=f"row {row} would become its own ancestor"):
            nodes.set_parent(row, parent)
    for rows, parents in (([0], [0]), ([0, 5], [3, 0]), ([5, 6], [6, 5]), ([0, 1, 2], [8, 2, 1])):
        with pytest.raises(error, match="its own ancestor"):
            nodes.set_parent_many(rows, parents)
    assert (links(nodes), nodes.version) == (before, version)


def test_bad_rows_and_parents_change_nothing(nodes: Any, package: ModuleType) -> None:
    stale = Subject(package, "noderoot7").errors.StaleInstanceError
    for row, parent in ((10, 0), (NIL, 0), (-1, 0), (0, 10), (0, -1)):
        with pytest.raises(stale):
            nodes.set_parent(row, parent)
        with pytest.raises(stale):
            nodes.set_parent_many([row], [parent])
        with pytest.raises(stale):
            nodes.set_parent_many([row], parent)
    with pytest.raises(stale, match="given twice"):
        nodes.set_parent_many([1, 2, 1], 0)
    with pytest.raises(ValueError, match="2 parents for 3 rows"):
        nodes.set_parent_many([1, 2, 3], [0, 0])
    with pytest.raises(ValueError, match="mask"):
        nodes.set_parent_many([True] * 9, 0)
    for parents in ([True] * 2, [0.0, 1.0], "ab", None):
        with pytest.raises((TypeError, ValueError)):
            nodes.set_parent_many([1, 2], parents)
    with pytest.raises(TypeError):
        nodes.set_parent(1, None)
    for accessor in (nodes.parent, nodes.children, nodes.first_child, nodes.next_sibling):
        with pytest.raises(stale):
            accessor(NIL)
    assert links(nodes) == [[]] * 10


def test_masks_numpy_numbers_and_own_columns_are_taken(nodes: Any) -> None:
    nodes.set_parent_many(nodes.data.serial > 6, np.uint32(0))
    nodes.set_parent(np.int64(1), np.uint8(7))
    assert nodes.parent(1) == 7
    parents = np.array([NIL, 0], object)
    nodes.set_parent_many(np.array([7, 2], np.uint64), parents)
    assert nodes.children(0).tolist() == [8, 9, 2]
    parents = nodes.data.parent
    nodes.set_parent_many(nodes.data.serial, parents)
    assert nodes.children(0).tolist() == [8, 9, 2]
    with pytest.raises(ValueError, match="read-only"):
        nodes.data.parent[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        nodes.levels()[0][0] = 1


def test_a_locked_manager_refuses(nodes: Any, package: ModuleType) -> None:
    error = Subject(package, "noderoot7").errors.StructureLockedError
    with nodes.locked():
        with pytest.raises(error):
            nodes.set_parent(1, 0)
        with pytest.raises(error):
            nodes.set_parent_many([1], 0)
    nodes.set_parent(1, 0)


def test_an_empty_manager_has_no_levels(package: ModuleType) -> None:
    nodes = manager_of(package, "noderoot8")()
    assert nodes.levels() == ()
    assert nodes.roots().tolist() == []
    nodes.set_parent_many([], NIL)


@pytest.mark.parametrize("module", ["noderoot0", "nodedestroy0", "noderoot5", "nodedestroy5"])
def test_long_chains_and_wide_families(package: ModuleType, module: str) -> None:
    entities = Subject(package, module).entities
    manager = manager_of(package, module)(entities)
    es = entities.create_many(100_000)
    rows = manager.create_many(es, serial=np.arange(100_000))
    began = time.process_time()
    manager.set_parent_many(rows[1:], rows[:-1])  # a chain
    assert len(manager.levels()) == 100_000
    with pytest.raises(ValueError, match="ancestor"):
        manager.set_parent(0, 99_999)
    manager.destroy(5)
    destroys = manager.data.n == 5
    assert destroys == ("destroy" in module)
    assert manager.levels()[3].tolist() == ([3] if destroys else [3, 9])
    manager.clear()
    rows = manager.create_many(es, serial=np.arange(100_000))
    manager.set_parent_many(rows[1:-1], 0)  # one large family
    manager.sort(-np.arange(100_000))
    assert manager.children(99_999).tolist() == list(range(99_998, 0, -1))
    manager.destroy(0)  # the parent moves into its place
    assert (manager.data.parent[1:] == 0).all()
    assert manager.remove(int(es[0])) == (99_999 if destroys else 1)
    assert time.process_time() - began < 10  # no loop per row or per level
