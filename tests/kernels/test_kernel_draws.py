"""Random numbers of kernels: word by word what is promised, the same bits on both backends."""

from __future__ import annotations

import pickle
from copy import deepcopy
from statistics import NormalDist
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.random_streams import (
    RandomWords,
    call_key,
    derive_stream_keys,
    draw_random,
    normal_into,
    words_of_turns,
)
from ecsgen_testing.reference import random_words

from ecsgen.config import BACKENDS
from ecsgen.kernels.random_numbers import numbering
from ecsgen.model import Project
from ecsgen.model.typed_tree import Draw, walk
from ecsgen.render.kernel_printers import name_hash
from tests.support.interpreted_schemas import TOPICS
from tests.support.schema_evolution import loaded, world
from tests.support.world_package import load, world_package

SCHEMA = TOPICS["draws"]


@pytest.fixture(scope="module")
def packages() -> list[tuple[Project, ModuleType]]:
    """The package with each backend."""
    return [(load(SCHEMA), world_package(SCHEMA, f"drawing_{b}", b)) for b in BACKENDS]


def filled(package: ModuleType, rows: int) -> Any:
    """A world whose bodies and nodes are in different orders."""
    w = package.World()
    es = w.spawn(rows, body={"own": np.arange(rows) // 2, "k": 9, "t": 0.5})
    w.node.create_many(es[::-1], y=np.arange(rows))
    for row in range(1, rows):
        w.node.set_parent(row, row // 2)
    w.item.create_many(np.repeat(es, 2))
    w.item.deactivate_many(np.arange(0, rows, 3))
    w.spark.create_many(rows)
    w.spark.destroy_many(np.arange(0, rows // 2))
    w.spark.create_many(rows // 3)
    w.archetypes.create([package.Charm], rows, charm={"own": np.arange(rows)})
    w.archetypes.create([package.Charm, package.Spell], rows)
    return w


def first_words(name: str, who: Any) -> list[int]:
    """Words of rows in the first call with seed 3."""
    key = random_words.call_key(3, name, 0)
    return [random_words.word(random_words.row_stem(int(row_key), key), 0) for row_key in who]


def normal(word: int) -> float:
    return NormalDist().inv_cdf(((word >> 12) + 0.5) * 2.0**-52)


@pytest.mark.parametrize("backend", [0, 1])
def test_who_is_the_entity_the_id_or_the_key(packages: Any, backend: int) -> None:
    _, package = packages[backend]
    w = filled(package, 12)
    w.seed = 3

    def randoms(name: str, who: Any) -> list[float]:
        return [random_words.unit_number(word) for word in first_words(name, who)]

    w.item.roll()
    ids = w.item.id_of_many(np.arange(24))
    assert w.item.data.x.tolist() == randoms("Item.roll", ids)
    w.spark.glow()
    normals = list(map(normal, first_words("Spark.glow", w.spark.id_of_many(range(len(w.spark))))))
    assert np.allclose(w.spark.data.x, normals, rtol=0, atol=1e-12)
    w.wane()
    for chunk in w.archetypes.chunks():
        assert chunk.charm.luck.tolist() == randoms("wane", chunk.entity)
    w.keep()
    for chunk in w.archetypes.chunks():
        assert chunk.charm.luck.tolist() == randoms("keep", chunk.charm.own)


@pytest.mark.parametrize("backend", [0, 1])
def test_calls_that_raise_are_not_counted(packages: Any, backend: int) -> None:
    _, package = packages[backend]
    w = filled(package, 5)
    for bad in ({"many": 2**40, "key": 1.0}, {"many": 1, "key": "x"}):
        with pytest.raises((OverflowError, ValueError, TypeError)):
            w.body.shake(**bad)
    assert w.body._stream_state.calls == {}
    w.body.shake(1, 1.0)
    w.body.still()
    assert w.body._stream_state.calls == {"shake": 1}


def test_the_order_of_rows_does_not_matter(packages: Any) -> None:
    for _, package in packages:
        w = filled(package, 20)
        other = deepcopy(w)
        other.body.reorder(np.arange(20)[::-1])
        for each_world in (w, other):
            each_world.body.parts()
            each_world.stir()
        es = w.body.data.entity
        rows = other.body.require_many(es)
        assert np.array_equal(w.body.data.t, other.body.data.t[rows])
        assert np.array_equal(w.body.data.parted_x, other.body.data.parted_x[rows])


def test_managers_without_draws_have_nothing_of_it(packages: Any) -> None:
    for _, package in packages:
        w = package.World()
        drawing = {name for name in w.MANAGERS if hasattr(getattr(w, name), "seed")}
        assert drawing == {"body", "node", "spark", "item"}


def test_saved_and_loaded(packages: Any) -> None:
    for _, package in packages:
        w = filled(package, 6)
        w.seed = 2**64 - 1
        w.body.seed = 4
        w.body.parts()
        w.stir()
        for other in (package.World.load(w.to_bytes()), pickle.loads(pickle.dumps(w)), deepcopy(w)):
            assert (other.seed, other.body.seed, other.node.seed) == (2**64 - 1, 4, 2**64 - 1)
            assert other._stream_state.calls == {"stir": 1}
            assert other.body._stream_state.calls == {"parts": 1}
            for each_world in (w, other):
                each_world.body._stream_state.calls = {"parts": 1}
                each_world.body.parts()
            assert np.array_equal(w.body.data.parted_x, other.body.data.parted_x)


def test_loaded_by_other_schemas() -> None:
    """Seeds and calls go with component and kernel; what draws no more is dropped."""
    head = "component: Body\nfields: {x: f64}\nkernels:\n"
    roll, toss = ("  roll: {steps: ['x = random()']}\n", "  toss: {steps: ['x = normal()']}\n")
    old = world(head + roll + toss)
    old.body.create_many(old.spawn(3))
    old.seed = 8
    for kernel in (old.body.roll, old.body.toss, old.body.toss):
        kernel()
    calm = "  toss: {steps: ['x = 1']}\n"
    new = loaded(old, head + roll + calm + "---\nworld: Other\n")
    assert (new.seed, new.body.seed, new.body._stream_state.calls) == (8, 8, {"roll": 1})
    old.body.roll()
    new.body.roll()
    assert np.array_equal(old.body.data.x, new.body.data.x)
    assert not hasattr(loaded(old, head + calm), "seed")
    more = loaded(
        old,
        head.replace("x: f64", "x: f64, y: u8")
        .replace("Body", "Ball")
        .replace("fields", "renamed_from: [Body]\nfields")
        + roll,
    )
    assert (more.ball.seed, more.ball._stream_state.calls) == (8, {"roll": 2})


def test_numbers_go_by_where_they_are_written() -> None:
    text = (
        "component: A\nfields: {x: f64, v: 'f64[3]'}\nkernels:\n"
        "  k: {where: random() < 0.5, steps: ["
        "'x = uniform(random(), 2) if random() < 1 else normal()',"
        " 'v = random(3) * normal(3)', 'x = clip(random(), 0, random())']}\n"
    )
    program = load(text).components[0].kernels[0].program
    assert program.where is not None
    drawn = [
        sorted({(n.number, n.distribution) for n in walk(expression) if isinstance(n, Draw)})
        for expression in (program.where, *(step.value for step in program.actions))
    ]
    assert drawn == [
        [(0, "random")],
        [(1, "random"), (2, "random"), (3, "random"), (4, "normal")],
        [(5, "random"), (8, "normal")],
        [(11, "random"), (12, "random")],
    ]
    assert numbering([], 7)[1] == 7


def test_words_are_as_promised() -> None:
    assert name_hash("") == 0xCBF29CE484222325
    assert name_hash("a") == 0xAF63DC4C8601EC8C  # as published
    assert name_hash("foobar") == 0x85944171F73967E8
    # SplitMix64 from 1234567, as published with the generator.
    step = 0x9E3779B97F4A7C15
    words = [random_words.mix((1234567 + (k + 1) * step) % 2**64) for k in range(3)]
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    key = random_words.mix((random_words.mix(5 ^ name_hash("Body.shake")) + 2 * step) % 2**64)
    assert int(call_key(5, name_hash("Body.shake"), 2)) == key


def test_quantiles() -> None:
    """To 1e-12, at both ends, at the borders of what is computed in different ways, everywhere."""
    rng = np.random.default_rng(1)
    exponents = rng.integers(0, 52, 20_000)
    tails = rng.integers(1, 2**52, 20_000) >> exponents
    edges = [0, 1, 2, 2**51 - 1, 2**51, int(0.075 * 2**52), int(0.075 * 2**52) + 1]
    words = np.concatenate([tails, np.array(edges)]).astype(np.uint64)
    words = np.concatenate([words, 2**52 - 1 - words])
    normals = np.empty(len(words))
    normal_into(words.copy(), normals, np.empty(len(words)))
    places = (words.astype(np.float64) + 0.5) * 2.0**-52
    wanted = np.array([NormalDist().inv_cdf(probability) for probability in places.tolist()])
    assert np.abs(normals - wanted).max() < 5e-13
    assert np.array_equal(normals[: len(words) // 2], -normals[len(words) // 2 :])


def test_compiled_quantiles_have_the_same_bits() -> None:
    from ecsgen_runtime.kernels.compiled_random_streams import normal_at
    from numba import njit

    @njit(error_model="numpy")
    def loop(stems: Any, out: Any) -> None:
        for k in range(len(stems)):
            out[k] = normal_at(stems[k], 3)

    n = 300_000
    stems = np.random.default_rng(2).integers(0, 2**64, n, np.uint64)
    normals, wanted = np.empty(n), np.empty(n)
    loop(stems, normals)
    from ecsgen_runtime.kernels.random_streams import draw_normal

    draw_normal(stems, 3, wanted, np.empty(n, np.uint64), np.empty(n, np.uint64))
    assert normals.tobytes() == wanted.tobytes()
    assert abs(wanted.mean()) < 0.01
    assert abs(wanted.std() - 1) < 0.01


def test_draws_for_python_code(packages: Any) -> None:
    """As `who` of kernels with these keys; the first numbers are the same for every count."""
    draws = packages[0][1].Draws
    keys = np.array([0, 5, 2**64 - 1], np.uint64)

    def stems(seed: int, stream: int, tick: int) -> list[int]:
        step = 0x9E3779B97F4A7C15
        key = random_words.mix((random_words.mix(seed ^ stream) + tick * step) % 2**64)
        return [random_words.mix(entity_key ^ key) for entity_key in keys.tolist()]

    for how, numbers in (
        ("random", draws.uniform(keys, 7, 3, 4, seed=9)),
        ("normal", draws.normal(keys, 7, 3, 4, seed=9)),
    ):
        assert numbers.shape == (3, 4)
        assert numbers.dtype == np.float64
        words = [[random_words.word(stem, j) for j in range(4)] for stem in stems(9, 3, 7)]
        make = normal if how == "normal" else random_words.unit_number
        wanted = [list(map(make, of_row)) for of_row in words]
        assert np.allclose(numbers, wanted, rtol=0, atol=1e-12)
    first = draws.bits(keys, 7, 3, seed=9)
    assert first.dtype == np.uint64
    assert (first >> np.uint64(11)).tolist() == [
        int(x * 2**53) for x in draws.uniform(keys, 7, 3, seed=9)
    ]
    assert np.array_equal(first, draws.bits(keys.tolist(), 7, 3, 2, seed=9)[:, 0])
    assert draws.bits(keys, 7, count=0).shape == (3, 0)
    assert draws.bits([], 7).shape == (0,)
    children = draws.child_keys(keys, 7, 2)
    word = random_words.mix((stems(2, 2**32 - 1, 7)[0] + 0x9E3779B97F4A7C15) % 2**64)
    assert int(children[0]) == word
    assert packages[1][1].Draws.child_keys(keys, 7, 2).tolist() == children.tolist()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([-1], 0), "keys"),
        (([0.5], 0), "keys"),
        (([[1]], 0), "keys"),
        ((3, 0), "keys"),
        (([True], 0), "keys"),
        (([1], -1), "tick"),
        (([1], 2**64), "tick"),
        (([1], 0, 2**32 - 1), "child_keys"),
        (([1], 0, 0.5), "stream"),
        (([1], 0, 0, -1), "count"),
    ],
)
def test_draws_of_bad_arguments(packages: Any, arguments: Any, named: str) -> None:
    for draw in (packages[0][1].Draws.bits, packages[0][1].Draws.normal):
        with pytest.raises((TypeError, ValueError, OverflowError), match=named):
            draw(*arguments)


@pytest.mark.parametrize("count", range(12))
def test_few_rows_draw_what_they_draw_among_many(count: int) -> None:
    row_keys = np.random.default_rng(1).integers(0, 2**64, 40, np.uint64)
    row_keys[:2] = 0, 2**64 - 1
    drawn = []
    for keys in (row_keys, row_keys[:count]):
        streams, word, bits = (np.empty_like(keys) for _ in range(3))
        derive_stream_keys(keys, np.uint64(7), streams, bits)
        numbers = np.empty((3, len(keys)))
        draw_random(streams, 1, numbers, word, bits)
        words = RandomWords(keys, np.uint64(7), 2)
        drawn.append((numbers[:, :count].tolist(), [words[row] for row in range(count)]))
        order = np.arange(count)[::-1]  # which packages of interface 5 give
        in_turns = words_of_turns(keys, np.uint64(7), range(1, 2), order)
        assert [*in_turns] == [(0, words[row][1]) for row in order.tolist()]
        assert RandomWords(keys, np.uint64(7), 2, order) == {}
    assert drawn[0] == drawn[1]
