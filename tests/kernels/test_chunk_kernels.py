"""Kernels over chunks: bit for bit what the judge says, on both backends, after any change."""

from __future__ import annotations

import pickle
import re
from copy import deepcopy
from functools import cache
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.world_copy import copied_world, stacked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.config import Backend
from ecsgen.model import Kernel
from tests.models.random_kernels import ENUM, FIELDS, kernel
from tests.support.kernel_package import arguments, differing, random_values, write
from tests.support.reference_schemas import read
from tests.support.soak import examples
from tests.support.world_package import checked, load, world_package

KERNELS = 12
OWNERS = ("Body", "Motion", "State")
"""The fields of random kernels are shared out among these."""

LINES = re.findall(r"^  (\w+): (.*)$", FIELDS.format(keys=""), re.MULTILINE)
OWNER_OF = {name: OWNERS[place % len(OWNERS)] for place, (name, _) in enumerate(LINES)}
COMPONENTS = "---\n".join(
    [
        f"component: {owner}\nfields:\n"
        + "".join(f"  {name}: {form}\n" for name, form in LINES if OWNER_OF[name] == owner)
        for owner in OWNERS
    ]
)
WORLD = """---
component: Mark
---
component: Label
fields: {{text: "str[7]", thing: object}}
---
world: Game
archetypes: {{chunk: {chunk}, components: [Body, Motion, State, Mark, Label]}}
queries:
  marked: {{all: [Mark], none: [Body]}}
  whole: {{all: [State, Body, Motion], any: [Mark, Label], none: []}}
settings:
  least: {{type: f32, min: -40, max: 60}}
  most: i32
  sum_: f64
  wind: "f64[2]"
  tally: "i32[3]"
  seen: bool
  last: entity
kernels:
{kernels}"""
MESSAGES = (
    *("settings.sum_ += height", "settings.sum_ -= f64(far) * settings.sum_", "if alive: return"),
    *("settings.least = min(settings.least, mass)", "settings.most = max(settings.most, steps)"),
    *("settings.wind += vec(height, mass)", "settings.wind.y -= settings.wind.x", "mass = dt"),
    *("settings.tally[hp] += settings.tally[delta] + steps", "settings.seen = alive"),
    *("if hp > 9: settings.last = self", "height = settings.sum_ - settings.wind[hp]"),
)
"""Steps that are added to random kernels: what their rows send to settings, and read of them."""


class Subject:
    """A package with a world of kernels over the query `whole`."""

    def __init__(self, text: str, package: ModuleType) -> None:
        self.text, self.project = text, load(text)
        self.package = package
        self.fields = {
            f"{component.name}.{field.name}": field
            for component in self.project.components
            if component.name in OWNERS
            for field in component.fields
        }


def spelled(text: str) -> str:
    """A kernel's text with the fields' names behind those of their components."""

    def name(match: re.Match[str]) -> str:
        owner = OWNER_OF.get(match[0])
        return f"{owner}.{match[0]}" if owner else match[0]

    quoted = re.sub(
        r'"[^"]*"', lambda match: re.sub(r"(?<![\w.])[a-z]\w*(?!\()", name, match[0]), text
    )
    return quoted.replace(": {args", ": {over: whole, args")


def sending(seed: int) -> str:
    """A random kernel of the world, with some messages anywhere among its steps."""
    random = Random(seed)
    head, listed = kernel(seed).split('steps: ["')
    steps = listed.removesuffix('"]}\n').split('", "')
    for message in random.sample(MESSAGES, random.randrange(6)):
        steps.insert(random.randrange(len(steps) + 1), message)
    quoted = ", ".join(f'"{step}"' for step in steps)
    return spelled(f"{head}steps: [{quoted}]}}\n")


@cache
def schema(chunk: int) -> str:
    """A schema with kernels of random texts, those that have no error."""
    kernels_found: list[str] = []
    for seed in range(10 * KERNELS):
        kernels = "".join([*kernels_found, sending(seed)])
        text = COMPONENTS + WORLD.format(chunk=chunk, kernels=kernels) + ENUM
        if checked(text)[0] is not None:
            kernels_found.append(sending(seed))
            if len(kernels_found) == KERNELS:
                return text
    raise AssertionError("too many of the texts have errors")


def built(name: str, backend: Backend, chunk: int = 2048) -> Subject:
    return Subject(schema(chunk), world_package(schema(chunk), name, backend))


@pytest.fixture(scope="module")
def small() -> Subject:
    """With numpy, in chunks of a few rows."""
    return built("chunks_small", "numpy")


@pytest.fixture(scope="module")
def compiled() -> Subject:
    return built("chunks_compiled", "numba")


def rows(subject: Subject, names: tuple[str, ...]) -> list[Any]:
    return [getattr(subject.package, name) for name in names]


def filled(subject: Subject, sizes: tuple[int, ...], random: np.random.Generator) -> Any:
    """A world with entities of several signatures, of which the query finds some."""
    w = subject.package.Game()
    sets = [
        (*OWNERS, "Mark"),
        (*OWNERS, "Label"),
        OWNERS,
        ("Body", "Mark"),
        (*OWNERS, "Mark", "Label"),
    ]
    for names, size in zip(sets, sizes, strict=True):
        w.archetypes.create(rows(subject, names), size)
    scramble(subject, w, random)
    return w


def scramble(subject: Subject, w: Any, random: np.random.Generator) -> None:
    """Fill all columns with random bits, among them every kind of special number."""
    for text, field in subject.fields.items():
        owner = text.partition(".")[0]
        for chunk in w.archetypes.chunks(all=rows(subject, (owner,))):
            data = getattr(chunk, owner.lower())
            shape = (chunk.n, *field.type.shape)
            write(data, field, random_values(field, shape, random))
    w.settings.least, w.settings.sum_ = random.uniform(-40, 60), random.normal()
    w.settings.wind, w.settings.tally = random.normal(size=2), random.integers(-9, 9, 3)


def check(subject: Subject, w: Any, kernel: Kernel) -> None:
    """Run a kernel and compare with the judge, which finds entities itself."""
    schema = read(subject.text)
    judge = copied_world(w, schema)
    call(judge, kernel.name, **arguments(kernel))
    with np.errstate(all="ignore"):
        getattr(w, kernel.name)(**arguments(kernel))
    actual = copied_world(w, schema)
    for text in subject.fields:
        owner, field = text.split(".")
        differs = differing(stacked(actual, owner, field), stacked(judge, owner, field))
        assert not differs.any(), (text, kernel.steps, np.argwhere(differs)[:3])
    for name, setting in actual.settings.items():
        assert not differing(setting.data, judge.settings[name].data).any(), (name, kernel.steps)


SIZES = st.tuples(*[st.sampled_from([0, 1, 3, 30])] * 5)
QUIET = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@QUIET
@given(st.integers(0, KERNELS - 1), SIZES, st.integers(0, 2**32))
def test_random_kernels_are_exact(
    small: Subject, number: int, sizes: tuple[int, ...], seed: int
) -> None:
    random = np.random.default_rng(seed)
    check(small, filled(small, sizes, random), small.project.world.kernels[number])


COMPILED = KERNELS // 4
"""So many are compiled, which takes a second each."""


@QUIET
@given(st.integers(0, COMPILED - 1), SIZES, st.integers(0, 2**32))
def test_compiled_ones_as_well(
    compiled: Subject, number: int, sizes: tuple[int, ...], seed: int
) -> None:
    random = np.random.default_rng(seed)
    check(compiled, filled(compiled, sizes, random), compiled.project.world.kernels[number])


def change(subject: Subject, w: Any, random: np.random.Generator) -> Any:
    """Change something in some way, and return the world, or a copy of it."""
    store, package, entities = w.archetypes, subject.package, np.array(list(w.entities), np.uint64)
    row = random.choice(rows(subject, (*OWNERS, "Mark", "Label")))
    having = store.has_many(entities, row)
    chosen = random.random(len(entities)) < random.choice([0.05, 0.5])
    match random.integers(8):
        case 0:
            store.add_many(entities[~having & chosen], row)
        case 1:
            store.remove_many(entities[having & chosen], row)
        case 2:
            w.destroy_many(entities[chosen])
        case 3:
            store.create(rows(subject, (*OWNERS, "Mark")), int(random.integers(30)))
        case 4:
            store.shrink_to_fit()
        case 5:
            return pickle.loads(pickle.dumps(w))
        case 6:
            return deepcopy(w)
        case _:
            store.create([package.Mark], 40)
            if random.random() < 0.3:
                store.clear()
    return w


@QUIET
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_after_any_change(
    small: Subject, compiled: Subject, data: st.DataObject, seed: int
) -> None:
    subject, most = data.draw(st.sampled_from([(small, KERNELS), (compiled, COMPILED)]))
    random = np.random.default_rng(seed)
    w = filled(subject, data.draw(SIZES), random)
    kernels = subject.project.world.kernels[:most]
    for _ in range(data.draw(st.integers(1, 5))):
        check(subject, w, kernels[random.integers(2)])
        w = change(subject, w, random)
        scramble(subject, w, random)
        check(subject, w, kernels[random.integers(2)])
        check(subject, w, kernels[random.integers(len(kernels))])


@pytest.mark.parametrize("number", range(KERNELS))
def test_chunks_are_cut_into_blocks(
    small: Subject, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small.package.archetypes, "CHUNK_BYTES", 1 << 20)
    monkeypatch.setattr(Tuning, "block_rows", (32, 32))
    random = np.random.default_rng(number)
    w = filled(small, (40, 33, 5, 0, 64), random)
    kernel = small.project.world.kernels[number]
    check(small, w, kernel)
    blocks = w.archetypes.kernel_blocks[kernel.name].current()
    assert [block[0].shape[-1] for block in blocks] == [32, 8, 32, 1, 32, 32]


@pytest.mark.parametrize("chunk", [512, 100_000])
def test_split_matrices(chunk: int) -> None:
    text = f"""
world: Game
archetypes: {{chunk: {chunk}, components: [Node]}}
queries: {{nodes: {{all: [Node]}}}}
kernels:
  turn: {{over: nodes, steps: ["Node.turn = Node.turn @ Node.turn", "Node.alone += Node.turn[0]"]}}
---
component: Node
fields:
  alone_alone: u8
  turn: {{type: "f64[2,2]", split: true}}
  alone: {{type: "f64[2]", split: true}}
"""
    package = world_package(text, f"split_matrices_{chunk}")
    w, turns = package.Game(), np.random.default_rng(1).random((50, 2, 2))
    es = w.archetypes.create([package.Node], 50, node={"turn": turns})
    w.turn()
    for e, turn in zip(es.tolist(), turns, strict=True):
        row = w.archetypes.get(e, package.Node)
        np.testing.assert_allclose(row.turn, turn @ turn)
        assert row.alone == row.turn[0]


def test_draws_beside_a_tag_that_comes_last() -> None:
    text = """
world: Game
archetypes: {components: [Node, Tag]}
queries: {nodes: {all: [Node]}}
kernels: {draw: {over: nodes, steps: [Node.x = random()]}}
---
component: Node
fields: {x: f64}
---
component: Tag
"""
    package = world_package(text, "draws_beside_a_tag")
    w = package.Game()
    w.archetypes.create([package.Node], 3)
    w.archetypes.create([package.Node, package.Tag], 2)
    w.draw()
    xs = [x for chunk in w.archetypes.chunks() for x in chunk.node.x.tolist()]
    assert len({*xs}) == 5
    assert all(0 < x < 1 for x in xs)
