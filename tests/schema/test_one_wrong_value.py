"""Schemas of which one value is wrong are refused with a message, whatever refers to it."""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

import pytest
import yaml

from ecsgen.diagnostics import format_text
from tests.support.world_package import checked

SCHEMA: Final = """\
component: Patch
grid: {shape: [4, 4], wrap: true, hood: moore}
fields: {grass: f32}
kernels: {live: {near: 1, steps: [grass = sum(other.grass)]}}
---
component: Sheep
on: {field: cell, capacity: 1}
fields: {cell: id<Patch>, energy: f64, friend: entity}
kernels:
  look: {near: {radius: 1, among: Patch, center: true}, steps: [energy = max(other.grass)]}
  meet:
    near: 1
    turns: random
    steps: [energy = count(other), "cell = cell_at(Patch, coords(cell) + 1)"]
---
component: Bird
space: {field: place, wrap: [10, 10]}
fields: {place: "f32[2]", calm: bool, id_: u8}
kernels: {flock: {near: 2, steps: [place = mean(other.place)]}}
---
component: Nest
owner: none
fields: {bird: entity, patch: id<Patch>, twin: id<Nest>}
kernels: {link: {steps: ["bird = 0"]}}
---
component: Limb
hierarchy: {orphans: root}
fields: {turn: f64}
kernels: {follow: {steps: [turn += parent.turn]}}
---
world: Field
groups: {pair: [Bird, Limb]}
queries: {both: {all: [Sheep, Bird]}}
kernels:
  graze:
    over: Sheep
    near: {around: {radius: 1, among: Patch}, mates: {radius: 1, among: Sheep}}
    turns: random
    steps: [Sheep.energy += sum(around.grass), die(where=count(mates) > 3),
      "spawn(Sheep(cell=random_empty(Sheep)))", Sheep.friend = choice(Bird)]
  hunt: {over: both, near: {radius: 2, among: Bird},
    steps: [Sheep.energy += count(other), Bird.place = mean(other.Bird.place)]}
  rule: {over: pair, steps: [Limb.turn += Bird.place.x]}
  grow: {over: Patch, near: {radius: 1, among: Sheep}, steps: [Patch.grass = count(other)]}
  rest: {over: Nest, steps: [Nest.patch.grass += 1, destroy(Nest.bird)]}
records: {all: {sheep: {count: Sheep}, mean: {mean: Bird.place.x}}}
schedule: {step: [graze, hunt, rule, tick, rest]}
"""
VALUES: Final[tuple[Any, ...]] = (
    *(None, [], [0], {}, "x", -1, True, [True] * 4, "entity", "f32[3]"),
    *({"field": "nowhere"}, {"type": "id<Nobody>"}, {"x": 1}),
)
Path = tuple[Any, ...]


DOCUMENTS: Final = list(yaml.safe_load_all(SCHEMA.replace("\non:", "\n'on':")))
DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def dumped(document: Any) -> str:
    text: str = yaml.dump(document, Dumper=DUMPER, sort_keys=False)
    return text.replace("'on':", "on:")


TEXTS: Final = list(map(dumped, DOCUMENTS))


def paths(node: Any, before: Path = ()) -> list[Path]:
    """Return where the values of documents are, the values of values among them."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    inside = [path for key in keys for path in paths(node[key], (*before, key))]
    return [before, *inside] if len(before) > 1 else inside


def broken(path: Path, value: Any) -> str:
    """Return the schemas with another value in one place, or without it."""
    number, *keys = path
    tree = node = copy.deepcopy(DOCUMENTS[number])
    for key in keys[:-1]:
        node = node[key]
    if value is KeyError:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return "---\n".join([*TEXTS[:number], dumped(tree), *TEXTS[number + 1 :]])


def test_the_schema_itself_is_right() -> None:
    assert checked(SCHEMA)[0] is not None
    assert len(paths(DOCUMENTS)) > 100


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize("document", range(len(DOCUMENTS)))
def test_a_mistake_anywhere_is_no_crash(document: int, turn: int) -> None:
    """Each value is missing in one of three turns, and another one in two."""
    random = Random(10 * document + turn)
    for number, path in enumerate(paths(DOCUMENTS)):
        if path[0] == document:
            is_missing = number % 3 == turn
            checked(broken(path, KeyError if is_missing else random.choice(VALUES)))


@pytest.mark.parametrize(
    ("old", "new"), [("[4, 4]", "[0]"), ("wrap: true", "wrap: [true]"), ("[4, 4]", "[1, 1, 1, 1]")]
)
def test_who_asks_a_grid_that_is_wrong_is_not_told_so(old: str, new: str) -> None:
    text = SCHEMA.replace(old, new)
    _, diagnostics = checked(text.replace('"cell = cell_at(Patch, coords(cell) + 1)"', ""))
    assert {diagnostic.code for diagnostic in diagnostics} == {"E518"}, format_text(diagnostics)


def test_who_asks_for_the_other_flags_of_an_enum_that_is_wrong_is_not_told_so() -> None:
    text = """\
enum: Caps
flags: true
values: {walk: 1, swim: 3}
---
component: Animal
fields: {caps: Caps}
kernels: {rest: {steps: [caps &= ~Caps.swim, "caps = ~caps"]}}
"""
    _, diagnostics = checked(text)
    assert {diagnostic.code for diagnostic in diagnostics} == {"E111"}, format_text(diagnostics)
