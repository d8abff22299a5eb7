"""The numbers of handles: each package's own, over one library that all share."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ecsgen_runtime
import pytest
from ecsgen_runtime.base.handles import NIL, NUMBERS

from ecsgen.config import Backend
from tests.support.world_package import load, sources

LIBRARY = Path(ecsgen_runtime.__file__).parent
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def texts() -> dict[str, str]:
    """Return the modules of the library by their paths."""
    paths = {path.relative_to(LIBRARY).as_posix(): path for path in LIBRARY.rglob("*.py")}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


@cache
def modules() -> dict[str, ast.Module]:
    """Return those with a number in them, for others read none."""
    having = {name: text for name, text in texts().items() if any(map(text.__contains__, NUMBERS))}
    return {name: ast.parse(text) for name, text in having.items()}


def reads(tree: ast.AST) -> set[str]:
    """Return the numbers that code reads as names."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names & NUMBERS


@cache
def readers() -> list[tuple[str, ast.FunctionDef]]:
    """Return the functions of the library that read numbers, with what reads them around it."""
    return [
        (f"{module}: {node.name}", node)
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and reads(node)
    ]


def test_only_methods_that_classes_have_copies_of_read_numbers_as_names() -> None:
    for name, function in readers():
        marks = {
            node.id
            for mark in function.decorator_list
            if isinstance(node := mark.func if isinstance(mark, ast.Call) else mark, ast.Name)
        }
        assert marks & {"specialised", "accelerated"}, name
        inner = [node for node in ast.walk(function) if isinstance(node, INNER)]
        assert not any(map(reads, inner)), f"{name}: the copy would not know"
    for name, tree in modules().items():
        outside = [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert name == "base/handles.py" or not any(map(reads, outside)), name


def test_nobody_calls_the_original_of_such_a_method() -> None:
    """`super()` and a base's name lead to what has no numbers."""
    names = {function.name for _, function in readers()}
    assert {"create", "lookup", "alive"} <= names
    owner = r"(?<![\w.])(super\(.*\)|[A-Z][\w.]*)"
    call = re.compile(rf"{owner}\.({'|'.join(names)})\(")
    assert call.search("super().create(entity)")
    assert call.search("Packed.lookup(self, entity)")
    for module, text in texts().items():
        assert not call.search(text), module


COMPONENTS = """
queries: {both: {all: [Place, Room]}}
archetypes: {components: [Heat]}
---
component: Heat
fields: {degrees: f32}
---
component: Place
fields: {at: "f32[2]", whose: entity}
---
component: Name
fields: {text: "str[8]"}
lookup: hash
---
component: Room
fields: {size: i32}
lookup: direct
ids: true
destroy: callback
release: true
"""
WORLDS = {
    "narrow": "world: Narrow\nentity: {index_bits: 24, generation_bits: 8, min_free: 2}\n",
    "usual": "world: Usual\n",
    "several": "world: Several\nentity: {index_bits: 16, shard_bits: 4, min_free: 5}\nshards: {}\n",
}
COMPILED = ("narrow", "several") if find_spec("numba") else ()
SHIFTS = {"narrow": 24, "usual": 32, "several": 20}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Packages over one library that differ in the bits of handles, and in what kernels are for."""
    folder = tmp_path_factory.mktemp("layouts")
    for name, world in WORLDS.items():
        (folder / name).mkdir()
        backend: Backend = "numba" if name in COMPILED else "numpy"
        for path, text in sources(load(world + COMPONENTS), backend).items():
            (folder / name / path).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield {name: importlib.import_module(name) for name in WORLDS}


def life(package: Any, shift: int) -> Iterator[None]:
    """Go through what a world does with handles, step by step."""
    w = package.World()
    em, one_generation, min_free = w.entities, 1 << shift, package.entities.MIN_FREE
    e, other = em.create(), em.create()
    assert (e, other) == (one_generation, one_generation | 1)
    assert type(pickle.loads(pickle.dumps(em))).__module__ == f"{package.__name__}.entities"
    yield
    for manager in (w.place, w.name, w.room):
        row = manager.create(e)
        assert (manager.lookup(e), manager.lookup(other)) == (row, NIL)
        assert manager.lookup_many([other, e, 2 * one_generation]).tolist() == [NIL, row, NIL]
        with pytest.raises(LookupError, match=rf"entity 1v1 \({other}\) has no instance"):
            manager.require(other)
        with pytest.raises(ValueError, match=rf"entity 0v1 \({e}\) has an instance"):
            manager.create(e)
        yield
    w.archetypes.add(e, package.Heat, degrees=3.5)
    assert w.archetypes.get(e, package.Heat) == (3.5,)
    with pytest.raises(LookupError, match=rf"entity 1v1 \({other}\) has no instance"):
        w.archetypes.get(other, package.Heat)
    yield
    assert [row.entity for row in w.both] == [e]
    assert "<td>0v1</td>" in w.both._repr_html_()
    assert "<td>0v1</td>" in w.place._repr_html_() + w.place.data._repr_html_()
    em.destroy(e)
    assert (len(w.both), len(w.room), len(w.archetypes), w.collect()) == (0, 0, 0, 2)
    yield
    em.destroy_many(em.create_many(min_free))
    assert [em.create() for _ in range(2)] == [2 * one_generation, one_generation | min_free + 2]
    assert em.alive_many([e, 2 * one_generation, other]).tolist() == [False, True, True]
    assert (em.index(3 * one_generation | 2), em.generation(3 * one_generation | 2)) == (2, 3)
    yield
    em.destroy_many(em.live())
    last = package.entities.LAST_GENERATION | one_generation - 1
    for _ in range(1000):
        again = em.create()
        assert again <= last
        em.destroy(again)
    yield


def test_packages_live_side_by_side(packages: dict[str, Any]) -> None:
    lives = [life(package, SHIFTS[name]) for name, package in packages.items()]
    assert len(list(zip(*lives, strict=True))) == 8
    bulks = {name: package.World().place.data.BULK.__name__ for name, package in packages.items()}
    assert {name for name, bulk in bulks.items() if bulk.startswith("Compiled")} == {*COMPILED}


def test_packages_do_not_take_others_entities(packages: dict[str, Any]) -> None:
    usual, narrow = packages["usual"], packages["narrow"]
    others = narrow.EntityManager()
    for kind in (usual.PlaceManager, usual.Archetypes):
        wanted = "takes the EntityManager that its owners come from"
        with pytest.raises(TypeError) as raised:
            kind(others)
        assert str(raised.value) == f"{kind.__name__} {wanted}, not narrow.entities.EntityManager"
        with pytest.raises(TypeError, match=f"{wanted}, not Usual"):
            kind(usual.World())
        assert len(kind(usual.EntityManager())) == 0
    saved = pickle.dumps(narrow.EntityManager()).replace(b"narrow.entities", b"usual.entities")
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        pickle.loads(saved)


def test_methods_of_one_class_share_their_numbers(packages: dict[str, Any]) -> None:
    manager_class = packages["usual"].PlaceManager
    assert manager_class.lookup.__globals__ is manager_class.remove.__globals__
