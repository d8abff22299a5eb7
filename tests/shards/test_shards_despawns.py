"""Deaths in turns where entities of other shards live, whose indices are those of natives."""

from __future__ import annotations

from typing import Any

import pytest

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

SCHEMA = """\
world: Moor
shards: {}
queries: {ringed: {all: [Hen, Ring]}}
kernels:
  pass_on: {over: Hare, turns: rows, steps: ["Hare.turns += 1", destroy(Hare.victim)]}
  choose: {over: Fox, turns: rows, steps: ["Fox.chosen = choice(Hare)", destroy(Fox.prey)]}
  look: {over: Hen, turns: rows,
    near: {hens: {radius: 1, among: Hen}, worn: {radius: 1, among: ringed}},
    steps: ["Hen.met = count(hens)", "Hen.met_worn = count(worn)", destroy(Hen.victim),
      destroy(Hen.ring)]}
---
component: Hare
ids: true
fields: {turns: i64, victim: entity}
---
component: Fox
fields: {chosen: entity, prey: id<Hare>}
---
component: Hen
space: {field: at}
fields: {at: "f64[2]", met: i64, met_worn: i64, victim: entity, ring: id<Ring>}
---
component: Ring
instances: many
ids: true
fields: {number: i64}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    """The package of a backend."""
    return world_package(SCHEMA, f"sharded_despawns_{request.param}", request.param)


def met(package: Any, **rows: Any) -> tuple[Any, Any, Any]:
    """Return a world with three natives, and visitors with the same indices behind them; `rows`:
    what they have if not a hare."""
    here, there = package.Moor(0), package.Moor(1)
    rows = rows or {"hare": {}}
    away = there.spawn(3, **rows)
    natives = here.spawn(3, **rows)
    here.absorb(there.extract(away))
    return here, natives, away


def test_visitors_have_turns_when_a_native_of_their_index_dies(package: Any) -> None:
    here, natives, away = met(package)
    hares = here.hare
    hares.data.victim[hares.lookup(natives[0])] = natives[1]
    hares.data.victim[hares.lookup(away[0])] = away[2]
    here.pass_on()
    alive = here.entities.alive_many([*natives, *away])
    assert alive.tolist() == [True, False, True, True, True, False]
    turns = [hares.data.turns[hares.lookup(e)] for e in (natives[0], natives[2], away[0], away[1])]
    assert turns == [1] * 4


def test_visitors_have_turns_once_somebody_has_died(package: Any) -> None:
    here, natives, away = met(package)
    here.entities.destroy(natives[1])  # its row is collected later
    here.pass_on()
    rows = here.hare.lookup_many(away)
    assert here.hare.data.turns[rows].tolist() == [1] * 3


def test_nobody_chooses_who_has_lost_the_row(package: Any) -> None:
    here, natives, away = met(package)
    here.spawn(3, fox={"prey": here.hare.id_of(0)})
    here.hare.destroy_many(here.hare.lookup_many(away))
    here.hare.destroy_many(here.hare.lookup_many(natives[1:]))
    here.choose()
    assert here.fox.data.chosen.tolist() == [natives[0], 0, 0]


def test_nobody_meets_visitors_who_have_died_or_lost_a_row(package: Any) -> None:
    here, natives, away = met(package, hen={}, ring={})
    hens = here.hen
    hens.data.victim[hens.lookup(natives[0])] = away[1]
    hens.data.ring[hens.lookup(natives[1])] = here.ring.id_of(here.ring.lookup(away[2]))
    here.look()
    rows = hens.lookup_many([*natives, away[0], away[2]])
    assert hens.data.met[rows].tolist() == [5, 4, 4, 4, 4]
    assert hens.data.met_worn[rows].tolist() == [5, 4, 3, 3, 4]
