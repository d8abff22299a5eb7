"""Messages that assign, settings, reductions as values, the order of turns, schedules that repeat,
distributions, in examples worked out by hand from the contract."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.reduced_values import column_values
from ecsgen_testing.reference.run import call, step

from tests.reference.hand_worlds import (
    NODE,
    Rows,
    game,
    gone,
    index,
    ks,
    unit,
    within,
    word,
)

REDUCTIONS = {
    "ill": {"function": "count", "of": "k > 1"},
    "total": {"function": "sum", "of": "b"},
    "reach": {"function": "max", "of": "x"},
    "far": {"function": "mean", "of": "x", "where": "k > 100"},
    "moving": {"function": "count", "of": "k > 0"},
}
SETTINGS = {
    "total": {"type": "i64", "min": -5, "max": 10},
    "clock": "i64",
    "dt": {"type": "f32", "default": 2, "max": 1.5, "min": 0.25},
    "vision": {"type": "f64", "default": 1},
    "counts": "i64[3]",
    "last": "entity",
}


def town(kernels: dict[str, dict[str, Any]], nodes: Rows, **world: Any) -> World:
    """Nodes with reductions in a world with settings."""
    kernels = {name: {"over": "Node"} | kernel for name, kernel in kernels.items()}
    keys = {"settings": SETTINGS, "kernels": kernels, **world}
    return game({}, nodes, world=keys, Node=NODE | {"reductions": REDUCTIONS})


def went(steps: list[str], nodes: Rows, **keys: Any) -> World:
    world = town({"go": {"steps": steps, **keys}}, nodes)
    call(world, "go")
    return world


# Messages that assign


def test_of_several_messages_that_assign_the_last_one_stands() -> None:
    steps = [
        "Node.mate.Node.n = Node.k",
        "Node.mate.Node.at.y = f64(Node.k) / 2",
        "Node.mate.Node.mate = self",
        "Node.mate.Node.v[Node.k - 5] = 7",
        "Node.n = 100",
    ]
    nodes = [{"k": 5, "mate": 3}, {"k": 6, "mate": 3}, {"k": 7, "mate": 2}, {"k": 8, "mate": 3}]
    world = game({"steps": steps}, nodes)
    world.entities.remove(4)  # nobody hears from the dead
    call(world, "go")
    assert world.column("Node", "n") == [100, 7, 6, 100]
    assert world.column("Node", "at") == [[1, 0], [2, 3.5], [3, 3], [4, 0]]
    assert world.column("Node", "mate") == [3, 3, 2, 3]
    assert world.column("Node", "v")[1:3] == [[0, 0, 7], [7, 7, 0]]


def test_an_index_that_is_drawn_twice_is_two_indices() -> None:
    step = "settings.counts[randrange(3)] = max(settings.counts[randrange(3)], Node.k)"
    world = went([step], ks(*range(8, 0, -1)), turns="rows")
    counts = [0, 0, 0]
    for who in range(1, 9):
        to, read = (index(who, j, 3) for j in range(2))
        counts[to] = max(counts[read], 9 - who)
    assert world.settings["counts"].data.tolist() == counts


# Settings


def test_at_once_settings_are_sent_to_and_clipped_at_last() -> None:
    """7 + 7 - 5 is within the bounds, 14 is not; who reads sees what was before."""
    steps = [
        "settings.total += Node.k",
        "Node.n = settings.total",
        "settings.counts[Node.n + Node.k] += 1",
        "settings.last = self",
        "settings.vision = max(settings.vision, f64(Node.k))",
    ]
    world = went(steps, ks(7, 7, -5, 0))
    assert world.settings["total"].one == 9
    assert world.column("Node", "n") == [0, 0, 0, 0]
    assert world.settings["counts"].data.tolist() == [1, 0, 0]
    assert world.settings["last"].one == 4
    assert world.settings["vision"].one == 7
    call(world, "go")
    assert (world.settings["total"].one, world.column("Node", "n")) == (10, [9, 9, 9, 9])


def test_in_turns_settings_are_seen_at_once_and_clipped_each_time() -> None:
    steps = [
        "settings.total += Node.k",
        "Node.n = settings.total",
        "settings.clock *= 2",
        "settings.clock += 1",
    ]
    world = went(steps, ks(7, 7, -5, -20), turns="rows")
    assert world.column("Node", "n") == [7, 10, 5, -5]
    assert world.settings["clock"].one == 15


def test_a_radius_is_that_of_the_call() -> None:
    steps = ["settings.vision = 0.25", "Node.n = count()"]
    near = {"other": {"radius": "settings.vision"}}
    assert went(steps, ks(0, 0, 0), near=near, turns="rows").column("Node", "n") == [1, 2, 1]


def test_schedules_set_settings() -> None:
    entries = [
        {"set": "settings.dt", "to": "1 / max(Node.reach(), 1)"},
        {"run": "move"},
        {"set": "settings.clock", "to": "tick * 10 + Node.ill()", "every": 2},
        {"set": "settings.counts[1]", "to": "settings.clock + 1", "from": 1},
        {"run": "tick"},
    ]
    kernels = {"move": {"steps": ["Node.m[0, 0] = settings.dt", "Node.x *= 4"]}}
    world = town(kernels, [{"x": 0.125, "k": 2}, {"x": 0.5, "k": 2}], schedules={"step": entries})
    seen = []
    for _ in range(3):
        step(world, "step")
        numbers = (world.settings["clock"].one, world.settings["counts"].data.tolist()[1])
        seen.append((world.column("Node", "m")[0][0][0], *numbers))
    assert seen == [(1, 2, 0), (0.5, 2, 3), (0.25, 22, 23)]  # 1 / 8 is below the bound


# Reductions as values


def test_reductions_have_their_value_of_when_the_kernel_is_called() -> None:
    """The dead are counted as ever; sums of u8 are wide."""
    steps = ["Node.k = 9", "Node.n = Node.ill()", "t = Node.total()", "Node.x = (t >> 1) / 2"]
    keys = {"where": "Node.k >= Node.ill()", "turns": "rows"}
    world = town({"go": {"steps": steps, **keys}}, [{"k": k, "b": 200} for k in (1, 2, 3, 4)])
    world.entities.remove(4)
    call(world, "go")
    assert world.column("Node", "n") == [0, 0, 3, 3]
    assert world.column("Node", "x") == [0, 0, 200, 200]


def test_reductions_are_radii() -> None:
    near = {"other": {"radius": "Node.reach()"}}
    world = went(
        ["Node.n = count()", "Node.x = Node.far()"], [{"x": x} for x in (1, 2, 0)], near=near
    )
    assert world.column("Node", "n") == [2, 2, 2]
    assert all(map(math.isnan, world.column("Node", "x")))


def test_tables_read_reductions() -> None:
    column = {"function": "mean", "of": "Node.k * Node.ill()", "over": "Node"}
    world = town({}, ks(1, 2, 3), records={"herd": {"columns": {"share": column}}})
    values = column_values(world, world.schema.tables["herd"].columns["share"])
    assert [value.one for value in values] == [2, 4, 6]


# The order of turns

TURN = ["settings.clock += 1", "Node.n = Node.n * 10 + settings.clock"]


@pytest.mark.parametrize(
    ("by", "wanted"),
    [
        ("Node.x", [3, 5, 2, 4, 1]),
        ("-Node.x", [1, 5, 3, 2, 4]),
        ("Node.b", [3, 1, 4, 5, 2]),
        ("-Node.b", [3, 5, 1, 2, 4]),
    ],
)
def test_turns_by_a_number(by: str, wanted: list[int]) -> None:
    """Ties in row order, NaN last; of who is later the number of now does not matter."""
    numbers = zip((3, np.nan, 1, 3, -np.inf), (2, 0, 200, 200, 1), strict=True)
    nodes = [{"x": x, "b": b, "mate": 3} for x, b in numbers]
    steps = [*TURN, "Node.mate.Node.x = 100", "Node.mate.Node.b = 0"]
    assert went(steps, nodes, turns={"by": by}).column("Node", "n") == wanted


def test_given_turns_repeat_and_each_has_a_value_and_draws() -> None:
    kernel = {
        "args": {"by": {"type": "i64", "each": True}},
        "turns": "given",
        "steps": ["Node.k = Node.k * 100 + by", "Node.x = random()"],
    }
    world = town({"go": kernel}, ks(0, 0, 0))
    call(world, "go", rows=[2, 0, 2, 2], by=[10, 20, 30, 40])
    assert world.column("Node", "k") == [20, 0, 103040]
    assert world.column("Node", "x") == [unit(within(1, 2), 0), 0, unit(within(3, 4), 0)]


def test_without_rows_given_turns_are_in_row_order() -> None:
    world = went([*TURN, "Node.x = random()"], ks(0, 0), turns="given")
    assert world.column("Node", "n") == [1, 2]
    assert world.column("Node", "x") == [unit(within(k, k), 0) for k in (1, 2)]


@pytest.mark.parametrize("count", [6, "times"])
def test_turns_of_rows_by_chance(count: int | str) -> None:
    """Who has died has no turn, but the number of the turn is taken all the same."""
    steps = [*TURN, "Node.x = random()", "die(where=Node.k == 1)"]
    kernel = {"turns": {"random": count}, "steps": steps, "args": {"times": "i64"}}
    world = town({"go": kernel}, ks(1, 0, 1, 0))
    world.entities.remove(4)
    call(world, "go", times=6)
    clock, seen, dead = 0, {1: (0, 0.0), 2: (0, 0.0), 3: (0, 0.0)}, set[int]()
    for turn in range(1, 7):
        who = 1 + index(turn, 0, 3)
        if who not in dead:
            clock += 1
            seen[who] = (seen[who][0] * 10 + clock, unit(within(who, turn), 0))
            dead |= {who} - {2}
    rows = [row for row in world.rows["Node"] if row.owner in world.entities]
    left = {row.owner: (row.cells["n"].one, row.cells["x"].one) for row in rows}
    assert left == {who: numbers for who, numbers in seen.items() if who not in dead}
    assert 0 < clock < 6


def test_kernels_of_the_world_take_rows() -> None:
    """Inactive ones among them do not run, but have their value."""
    fields = {"fields": {"n": "i64"}, "partition": "active"}
    args = {"by": {"type": "i64", "each": True}}
    kernel = {"over": "Part", "args": args, "steps": ["Part.n = by"]}
    world = game(kernel, [], {"Part": [{}] * 4}, Part=fields)
    world.rows["Part"][3].is_active = False
    call(world, "go", rows=[2, 3, 0], by=[7, 8, 9])
    assert world.column("Part", "n") == [9, 0, 7, 0]
    call(world, "go", by=[1, 2, 3])
    assert world.column("Part", "n") == [1, 2, 3, 0]


# Again


def test_entries_run_again() -> None:
    kernels = {"fall": {"steps": ["Node.k -= 1"]}, "count": {"steps": ["Node.n += Node.k + 10"]}}
    schedules = {
        "thrice": [{"run": "fall", "times": 3}],
        "down": [{"run": ["fall", "count", "tick"], "while": "Node.moving", "at_most": 9}],
        "stop": [{"run": ["fall", "tick"], "while": "Node.moving", "at_most": 2}],
        "due": [{"run": "fall"}, {"run": "fall", "every": 1}],
    }
    world = town(kernels, ks(6, 4), schedules=schedules)
    step(world, "thrice")
    assert world.column("Node", "k") == [3, 1]
    step(world, "down")
    assert (world.column("Node", "k"), world.tick) == ([0, -2], 3)
    assert world.column("Node", "n") == [12 + 11 + 10, 10 + 9 + 8]
    step(world, "down")  # at least once
    assert (world.column("Node", "k"), world.tick) == ([-1, -3], 4)
    world = town(kernels, ks(4, 4), schedules=schedules)
    with pytest.warns(RuntimeWarning, match="Node.moving"):
        step(world, "stop")
    assert (world.column("Node", "k"), world.tick) == ([2, 2], 2)
    world.tick = -3
    step(world, "due")  # a plain entry always, others from tick 0 on
    assert world.column("Node", "k") == [1, 1]


# Distributions


def test_exponential_numbers() -> None:
    world = gone("Node.x = exponential(Node.k)", ks(2, 0, -1))
    expected = -math.log(1 - unit(1, 0)) * 2
    assert world.column("Node", "x")[0] == pytest.approx(expected, rel=1e-12)
    assert world.column("Node", "x")[1:] == [0, 0]
    bad = gone("Node.x = exponential(Node.x)", [{"x": x} for x in (np.nan, np.inf, -0.5)])
    assert bad.column("Node", "x") == [0, 0, 0]


@pytest.mark.parametrize("mean", [0.3, 4, 37.5, 480])
def test_poisson_numbers(mean: float) -> None:
    """The first k up to which the probabilities add up to more than the drawn number."""
    world = gone("Node.k = poisson(Node.x)", [{"x": mean}] * 8)
    for who, k in enumerate(world.column("Node", "k"), 1):
        logs = [i * math.log(mean) - mean - math.lgamma(i + 1) for i in range(k + 1)]
        below, up_to = (math.fsum(map(math.exp, some)) for some in (logs[:-1], logs))
        assert below - 1e-9 <= unit(who, 0) <= up_to + 1e-9


def test_poisson_numbers_of_large_and_bad_means() -> None:
    world = gone(
        "Node.k = poisson(Node.x)", [{"x": x} for x in (500.5, 1e6, 0, -1, np.nan, np.inf)]
    )
    wanted = []
    for who, mean in ((1, 500.5), (2, 1e6)):
        normal = NormalDist().inv_cdf(((word(who, 0) >> 12) + 0.5) * 2.0**-52)
        wanted.append(round(mean + math.sqrt(mean) * normal))
    assert world.column("Node", "k") == [*wanted, 0, 0, 0, 0]


def test_bernoulli_numbers() -> None:
    limits = [unit(1, 0), np.nextafter(unit(2, 0), 1), 1, 0, np.nan, np.inf, -1]
    world = gone("Node.on = bernoulli(Node.x)", [{"x": x} for x in limits])
    assert world.column("Node", "on") == [False, True, True, False, False, False, False]


def test_one_number_is_drawn_by_each() -> None:
    steps = """
Node.m[0, 0] = exponential(1)
Node.k = poisson(600)
Node.on = bernoulli(1)
Node.x = random()
"""
    assert gone(steps, ks(0)).column("Node", "x") == [unit(1, 3)]


# Derived values

SHEEP = {
    "ids": True,
    "fields": {
        "energy": {"type": "f32", "default": 4},
        "need": "f32",
        "velocity": "f32[2]",
        "at": "f64[2]",
        "n": "i64",
        "on": "bool",
        "mate": "entity",
        "next_one": "id<Sheep>",
    },
    "derived": {
        "hungry": "left < settings.dt",
        "left": "energy - need * 3",
        "half": "velocity * 0.5 if hungry else velocity",
        "legs": "4",
    },
    "space": {"field": "at"},
    "reductions": {"starving": {"function": "count", "of": "hungry"}},
    "kernels": {
        "eat": {
            "where": "hungry",
            "steps": [
                "n = i64(left * 10)",
                "energy += 10",
                "n = n * 100 + i64(left)",
                "velocity.x = half.y + legs",
            ],
        }
    },
}


def flock(steps: list[str], sheep: Rows, **keys: Any) -> World:
    """A world with sheep after a call."""
    kernel = {"over": "Sheep", "steps": steps, **keys}
    settings = {"settings": {"dt": "f32"}}
    world = game(kernel, [], {"Sheep": sheep}, world=settings, Sheep=SHEEP)
    call(world, "go")
    return world


def test_derived_values_are_of_what_the_fields_are_now() -> None:
    sheep: Rows = [
        {"energy": 1, "need": 0.5, "velocity": (3, 8)},
        {"energy": 5, "need": 0.5},
    ]
    world = flock([], sheep)
    assert world.schema.components["Sheep"].reductions["starving"].home == "Sheep"
    call(world, "Sheep.eat")
    assert world.column("Sheep", "n") == [-5 * 100 + 9, 0]
    assert world.column("Sheep", "velocity") == [[8 + 4, 8], [0, 0]]  # it is not hungry any more
    assert world.column("Sheep", "energy") == [11, 5]


@pytest.mark.parametrize(("turns", "wanted"), [("", [11, 10, 21]), ("rows", [11, 0, 0])])
def test_derived_values_of_others_are_as_their_fields_are_seen(
    turns: str, wanted: list[int]
) -> None:
    """1 and 2 are hungry, and eat; where a reference leads nowhere the defaults count."""
    steps = [
        "Sheep.n = count(other.Sheep.hungry) * 10",
        "Sheep.n += 1 if Sheep.mate.Sheep.hungry else 0",
        "Sheep.on = Sheep.next_one.hungry",
        "Sheep.velocity.x = Sheep.next_one.left",
        "Sheep.energy = 10",
    ]
    sheep: Rows = [
        {"energy": -1, "mate": 2, "next_one": 72},
        {"energy": -2, "mate": 3},
        {"energy": 3, "mate": 1},
    ]
    near = {"other": {"radius": 5}}
    world = flock(steps, sheep, turns=turns, near=near)
    assert world.column("Sheep", "n") == wanted
    assert world.column("Sheep", "on") == [True, False, False]
    assert [v[0] for v in world.column("Sheep", "velocity")] == [-2, 4, 4]


def test_loops_turns_and_choices_read_derived_values() -> None:
    steps = [
        "for it in other:\n  Sheep.n = Sheep.n * 10 + i64(it.Sheep.left)",
        "Sheep.mate = choice(Sheep, where=Sheep.hungry)",
    ]
    world = flock(
        steps, [{"energy": k} for k in (3, -1, 2)], near={"other": {}}, turns={"by": "Sheep.left"}
    )
    assert world.column("Sheep", "n") == [-10 + 2, 32, 30 - 1]
    assert world.column("Sheep", "mate") == [2, 2, 2]


def test_reductions_read_derived_values() -> None:
    world = flock(["Sheep.n = Sheep.starving()"], [{"energy": k} for k in (3, -1, -2)])
    assert world.column("Sheep", "n") == [2, 2, 2]
