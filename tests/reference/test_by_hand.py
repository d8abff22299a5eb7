"""Grids, choice, births, deaths and time in examples worked out by hand from the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.kernel_cases import compare_reduction
from ecsgen_testing.reference.grid_geometry import FIRST_CELL as CELL
from ecsgen_testing.reference.grid_geometry import Grid
from ecsgen_testing.reference.naive_world import Row, World
from ecsgen_testing.reference.reduced_values import column_values, reduced, row_values
from ecsgen_testing.reference.run import call, step
from ecsgen_testing.reference.schema import Schema
from ecsgen_testing.reference.values import value

from tests.reference.hand_worlds import (
    at,
    cells,
    farm,
    gone,
    index,
    kernel,
    owners,
    put,
    unit,
    word,
    world_of,
)
from tests.support.interpreted_schemas import TOPICS
from tests.support.reference_schemas import read

# Grids


def test_a_blinker_blinks() -> None:
    live = '{near: 1, steps: ["k = count(other.alive)", "alive = k == 3 or alive and k == 2"]}'
    text = "component: Cell\ngrid: {shape: [5, 5]}\nfields: {alive: bool}\nkernels: {live: "
    world = World(read(f"{text}{live}}}"))
    upright, lying = ([k in some for k in range(25)] for some in ((11, 12, 13), (7, 12, 17)))
    put(world, "Cell", "alive", *upright)
    for wanted in (lying, upright, lying):
        call(world, "Cell.live")
        assert world.column("Cell", "alive") == wanted


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ((1,), [(0,)]),
        ((2,), [(0,), (1,)]),
        ((3,), [(-1,), (0,), (1,)]),
        ((4,), [(-1,), (0,), (1,), (2,)]),
        ((1, 2), [(0, 0), (0, 1)]),
        ((2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ],
)
def test_on_wrapped_axes_each_cell_is_met_once(shape: Any, offsets: Any) -> None:
    around = [*Grid(shape, (True,) * len(shape)).around(CELL, 9, "moore")]
    assert [offset for offset, _ in around] == offsets
    assert len({cell for _, cell in around}) == len(offsets)


@pytest.mark.parametrize(
    ("hood", "middle", "corner"), [("moore", 25, 9), ("von_neumann", 13, 6), ("axes", 9, 5)]
)
def test_hoods_of_radius_2(hood: str, middle: int, corner: int) -> None:
    grid = Grid((5, 5), (False, False))
    assert [len([*grid.around(CELL + k, 2, hood)]) for k in (12, 0)] == [middle, corner]
    assert next(grid.around(CELL + 12, 1, "axes")) == ((-1, 0), CELL + 7)


def test_coordinates() -> None:
    steps = "Bird.x = f64(coords(Bird.cell).x)", "Bird.cell = cell_at(Patch, v)"
    world = farm(kernel("go", "Bird", *steps, args="{v: 'i64[1]'}"), Bird=at(4, -1))
    call(world, "go", v=[-7])
    assert (world.column("Bird", "x"), cells(world, "Bird")) == ([4, -1], [5, 5])
    grid = Grid((2, 3), (False, True))
    assert [grid.at((1, -1)), grid.at((2, 0)), grid.at((-1, 0))] == [CELL + 5, 0, 0]


@pytest.mark.parametrize(
    ("over", "among", "wanted"),
    [
        ("Bird", "radius: 1, among: Bird", [2, 2, 2, 0, 0, 0]),
        ("Bird", "radius: 1, among: Patch", [2, 2, 2, 2, 0, 0]),
        ("Bird", "radius: 1, among: Patch, center: true", [3, 3, 3, 3, 0, 0]),
        ("Bird", "radius: Bird.seen, among: Sheep", [1, 0, 2, 2, 0, 0]),
        ("Patch", "radius: 0, among: Bird", [2, 1, 0, 1, 0, 0]),
        ("Patch", "radius: 1, among: Sheep", [1, 2, 1, 1, 0, 1]),
        ("Patch", "radius: 2, among: Patch", [4, 4, 4, 4, 4, 4]),
        ("Patch", "radius: 3, among: Patch", [5, 5, 5, 5, 5, 5]),
        ("Patch", "among: Patch", [5, 5, 5, 5, 5, 5]),
    ],
)
def test_who_is_met(over: str, among: str, wanted: list[int]) -> None:
    """Birds on cells 0, 0, 1, 3, one nowhere, a dead one on 0; sheep on 0 and 2."""
    field = "seen" if over == "Bird" else "due"
    birds = at(0, 0, 1, 3, -1, 0, seen=(0, -1, 1, 3, 9, 9))
    ask = kernel("ask", over, f"{over}.{field} = count()", near=f"{{{among}}}")
    world = farm(ask, Bird=birds, Sheep=at(0, 2))
    world.entities.remove(106)
    call(world, "ask")
    assert world.column(over, field) == wanted


def test_several_neighbourhoods() -> None:
    steps = (
        "Sheep.seen = count(spots, where=exists(spots.Sheep)) * 10 + count(prey)",
        "Sheep.energy = f64(sum(spots.offset.x * 3, where=spots.distance > 0.5) + count(spots))",
        "Sheep.mate = nearest(prey)",
        "Sheep.want = nearest(spots, where=spots.offset.x > 0)",
    )
    near = "{spots: {radius: 1, among: Patch}, prey: {radius: 0, among: Bird}}"
    world = farm(kernel("ask", "Sheep", *steps, near=near), Bird=at(0, 0, 3), Sheep=at(0, 5, 3))
    call(world, "ask")
    assert world.column("Sheep", "seen") == [12, 10, 1]
    assert world.column("Sheep", "energy") == [2, 2, 2]
    assert world.column("Sheep", "mate") == [101, 0, 103]
    assert world.column("Sheep", "want") == [CELL + 1, CELL, CELL + 4]


def test_on_a_cell_rows_come_in_row_order_then_as_they_came() -> None:
    """101 and 102 come to 103 on cell 0, which goes to cell 5; then 104 comes to cell 1."""
    steps = (
        "Bird.cell = cell_at(Patch, coords(Bird.cell) - 1)",
        "Bird.mate = nearest(other.entity)",
        "Bird.energy = Bird.cell.Bird.x",
    )
    go = kernel("go", "Bird", *steps, turns="rows", near=0)
    world = farm(go, Bird=at(1, 1, 0, 2, x=(1, 2, 3, 4)))
    call(world, "go")
    assert cells(world, "Bird") == [0, 0, 5, 1]
    assert world.column("Bird", "mate") == [103, 103, 0, 0]
    assert world.column("Bird", "energy") == [3, 3, 3, 4]


def test_a_neighbourhood_is_on_the_grid_on_which_both_sides_stand() -> None:
    """Cats stand on the six cells, runners go ahead one by one on a ring of five."""
    runners = [{"lap": CELL + k} for k in (0, 1, 2, 3, 4, 0)]
    world = world_of(read(TOPICS["moving"]), Cat=at(*range(6)), Runner=runners)
    call(world, "races")
    assert world.column("Cat", "far") == [2, 3, 2, 2, 3, 2]
    assert world.column("Runner", "far") == [2] * 6


# Moves


def test_moves_that_do_not_happen() -> None:
    """1 wants the cell of 2, who wants its own, 3 no cell, 4 none, 5 (dead) an empty one."""
    wants = (CELL + 1, CELL + 1, 77, 0, CELL + 5)
    go = kernel("go", "Sheep", "Sheep.cell = Sheep.want", turns="rows")
    world = farm(go, Sheep=at(0, 1, 2, 3, 4, want=wants))
    world.entities.remove(5)
    call(world, "go")
    assert cells(world) == [0, 1, 2, 3, 4]


def test_in_turns_a_cell_is_free_when_its_sheep_has_gone() -> None:
    go = kernel("go", "Sheep", "Sheep.cell = cell_at(Patch, coords(Sheep.cell) + 1)", turns="rows")
    world = farm(go, Sheep=at(1, 2, 0))
    call(world, "go")
    assert cells(world) == [1, 3, 0]  # 1 finds cell 2 taken and so 3 cell 1
    call(world, "go")
    assert cells(world) == [2, 4, 1]


def test_at_once_nobody_sees_moves() -> None:
    steps = (
        "Bird.cell = cell_at(Patch, coords(Bird.cell) + 1)",
        "Bird.seen = count()",
        "Bird.cell.grass -= 1",
    )
    world = farm(kernel("go", "Bird", *steps, near=0), Bird=at(0, 0, 1))
    call(world, "go")
    assert (cells(world, "Bird"), world.column("Bird", "seen")) == ([1, 1, 2], [1, 1, 0])
    assert world.column("Patch", "grass") == [1, -1, 0, 1, 1, 1]  # a row sees its own steps


# Choice


def test_choice_and_best() -> None:
    """By offset from cell 0 come 104, 101, 102, 103; nobody is near cell 3."""
    steps = (
        "Sheep.mate = choice(other.entity)",
        "Sheep.energy = random()",
        "Sheep.seen = i64(max_by(other.Bird.energy, other.Bird.x, -distance))",
        "Sheep.x = min_by(other.Bird.energy, other.Bird.seen, offset.x, where=offset.x >= 0)",
        "Sheep.want = max_by(other.Bird.cell, offset.x != 0, other.Bird.x)",
    )
    pick = kernel("pick", "Sheep", *steps, near="{radius: 1, among: Bird}")
    nan = np.nan
    birds = at(0, 1, 1, 5, x=(7, 7, nan, 5), energy=(1, 2, 3, 4), seen=(1, 0, 1, 0))
    world = farm(pick, Bird=birds, Sheep=at(0, 3))
    call(world, "pick")
    assert world.column("Sheep", "mate") == [(104, 101, 102, 103)[index(1, 0, 4, "pick")], 0]
    drawn = [unit(who, 1, "pick") for who in (1, 2)]
    assert world.column("Sheep", "energy") == drawn
    assert world.column("Sheep", "seen") == [1, 0]
    assert world.column("Sheep", "x") == [2, 0]
    assert world.column("Sheep", "want") == [CELL + 1, 0]  # 7, NaN and 5: NaN loses


def test_choice_of_a_component_and_who_has_died_since() -> None:
    steps = "x = choice(Sheep)", "destroy(x)", "Bird.mate = choice(Sheep)"
    world = farm(kernel("find", "Bird", *steps, turns="rows"), Bird=at(0), Sheep=at(1, 2))
    first, second = (1 + index(101, j, 2, "find") for j in (0, 1))
    call(world, "find")
    assert world.column("Bird", "mate") == [0 if second == first else second]
    assert owners(world) == [3 - first]


def test_the_list_of_empty_cells() -> None:
    """Taken cells leave their place to the last one, those that become empty go to the end."""
    go = kernel("go", "Sheep", "Sheep.cell = random_empty(Sheep)", turns="rows")
    world = farm(go, Sheep=at(0, 2, 4))
    empty, wanted = [1, 3, 5], []
    for who, old in ((1, 0), (2, 2), (3, 4)):
        k = index(who, 0, 3, "go")
        wanted.append(empty[k])
        empty[k] = empty[2]
        empty[2] = old
    call(world, "go")
    assert cells(world) == wanted


# Births and deaths


def test_deaths_at_once() -> None:
    """Nobody notices; the destroyed take their steps; the last rows fill the holes."""
    steps = (
        "destroy(Sheep.mate)",
        "die(where=Sheep.seen == 1)",
        "Sheep.x = f64(count())",
        "Sheep.mate.Sheep.energy += 1",
    )
    die = kernel("die", "Sheep", *steps, near=1)
    world = farm(die, Sheep=at(0, 1, 2, 3, -1, mate=(3, 3, 4, 0, 0), seen=range(5)))
    assert [*call(world, "die").despawned] == [3, 2, 4]
    assert (owners(world), world.column("Sheep", "x")) == ([1, 5], [1, 0])


def test_deaths_in_turns() -> None:
    """The dead have no turn, are no neighbours, nobody finds them, and their cell is free."""
    steps = (
        "destroy(Sheep.mate)",
        "Sheep.seen = count()",
        "Sheep.cell = Sheep.want",
        "Sheep.energy = 1 if exists(Sheep.mate) else 2",
        "Sheep.mate.Sheep.energy = 7",
    )
    sheep = at(0, 1, 2, want=(CELL + 1,) * 3, mate=(2, 1, 0))
    world = farm(kernel("eat", "Sheep", *steps, turns="rows", near=2), Sheep=sheep)
    call(world, "eat")
    assert (owners(world), cells(world)) == ([1, 3], [1, 2])
    assert world.column("Sheep", "seen") == [1, 1]
    assert world.column("Sheep", "energy") == [2, 2]


def test_a_newborn_holds_its_cell() -> None:
    """1 finds the cell beside it taken and dies; 2 gets a child on cell 2, 3 on 1's cell 0."""
    steps = (
        "spawn(Sheep(cell=cell_at(Patch, coords(Sheep.cell) + 1)))",
        "die(where=Sheep.seen == 1)",
        "Sheep.want = random_empty(Sheep)",
    )
    world = farm(kernel("bear", "Sheep", *steps, turns="rows"), Sheep=at(0, 1, 5, seen=(1, 0, 0)))
    call(world, "bear")
    assert (owners(world), cells(world)) == ([3, 2, 1001, 1002], [5, 1, 2, 0])
    lists = {3: (4, 3), 2: (0, 3, 4)}  # of 2, 3, 4 and, when 1 has died, 0
    wanted = [cells[index(who, 0, len(cells), "bear")] for who, cells in lists.items()]
    assert [k - CELL for k in world.column("Sheep", "want")[:2]] == wanted


def test_what_a_spawn_gives() -> None:
    """Bundles' values, outer ones over inner ones, the call's over both; what is required."""
    steps = [
        "spawn(knight, Body(x=2.7), Soul(age=Seed.kind), where=Seed.kind == 0)",
        "spawn(Soul(), where=Seed.kind == 1)",
        "spawn(Seed(kind=Seed.kind + 10))",
        "destroy(Seed.next_one)",
        "die(where=Seed.kind == 1)",
        "spawn(Seed(kind=Seed.kind + 20))",
    ]
    components = {
        "Body": {"fields": {"hp": {"type": "u8", "default": 9}, "x": "f32", "y": "f32"}},
        "Soul": {"requires": ["Body"], "fields": {"age": "i32"}},
        "Seed": {"owner": "none", "fields": {"kind": "i32", "next_one": "id<Seed>"}},
    }
    bundles = {
        "unit": {"Body": {"hp": 5, "x": 1}},
        "knight": {"unit": {}, "Body": {"hp": 7}},
    }
    kernels = {"sow": {"over": "Seed", "turns": "rows", "steps": steps}}
    schema = Schema({"components": components, "world": {"bundles": bundles, "kernels": kernels}})
    seeds = [{"kind": k, "next_one": after} for k, after in enumerate((73, 0, 74, 0))]
    world = world_of(schema, Seed=seeds)
    run = call(world, "sow")
    assert [one.id for one in run.despawned if isinstance(one, Row)] == [73, 72]
    assert world.column("Seed", "kind") == [0, 3, 10, 20, 11, 13, 23]
    assert [row.id for row in world.rows["Seed"]] == [71, 74, *range(1003, 1008)]
    assert world.entities == {1001, 1002} == {*owners(world, "Body")} == {*owners(world, "Soul")}
    body = [world.column("Body", field) for field in ("hp", "x", "y")]
    assert body == [[7, 9], [np.float32(2.7), 0], [0, 0]]


def test_turns_at_random() -> None:
    """In the order of their first words."""
    steps = ["Node.mate.Node.n += 1", "Node.k = Node.mate.Node.n"]
    world = gone(steps, [{"mate": 1} for _ in range(5)], turns="random")
    order = sorted(range(1, 6), key=lambda who: word(who, 0))
    assert world.column("Node", "k") == [1 + order.index(who) for who in range(1, 6)]


def test_neighbours_in_a_space_come_cell_by_cell() -> None:
    """Cells are a little wider than the radius."""
    steps = "for it in other:\n  Node.n = Node.n * 10 + it.Node.k"
    nodes = [{"k": k, "at": (x, 0)} for k, x in ((1, 3), (2, 5), (3, 4), (4, 1))]
    world = gone(steps, nodes, near={"other": {"radius": 2}})
    assert world.column("Node", "n") == [432, 13, 12, 1]


def test_time() -> None:
    due = kernel("due", "Patch", "Patch.due = tick + 2", where="Patch.due <= tick")
    world = farm(due, "schedule: {step: [due, {run: due, every: 3, from: 1}, tick]}")
    found = []
    for _ in range(5):
        step(world, "step")
        found.append((world.tick, world.column("Patch", "due")[0], world.calls["due"]))
    assert found == [(1, 2, 1), (2, 2, 3), (3, 4, 4), (4, 4, 5), (5, 6, 7)]


def test_parents_come_first() -> None:
    """Whatever the order of rows: children see what their parents have become."""
    steps = '["world = parent.world @ local", "place.x += world[0, 1]", "hp -= 3"]'
    fields = '{world: "f32[2,2]", local: "f32[2,2]", place: "f32[3]", hp: u8}'
    text = f"component: Body\nfields: {fields}\nhierarchy: {{orphans: root}}\n"
    world = World(read(f"{text}kernels: {{k: {{steps: {steps}}}}}"))
    child, above, root = (
        world.add("Body", k, local=[[1, 2], [0, 1]], hp=hp) for k, hp in ((1, 9), (2, 2), (3, 0))
    )
    child.parent, above.parent = above, root
    call(world, "Body.k")
    assert [place[0] for place in world.column("Body", "place")] == [6, 4, 2]
    assert world.column("Body", "hp") == [6, 255, 253]


def test_draws_are_numbered_as_they_are_written() -> None:
    """Also those of the side of `if` that is not taken, and of what `and` leaves out."""
    steps = (
        "Bird.x = random() if Bird.seen > 0 else random()",
        "Bird.energy = 1 if Bird.seen > 0 and random() >= 0 else 0",
        "Bird.mate = choice(Bird)",
    )
    world = farm(kernel("draw", "Bird", *steps), Bird=at(0, 1, seen=(1, 0)))
    call(world, "draw")
    wanted = [unit(who, j, "draw") for who, j in ((101, 0), (102, 1))]
    assert world.column("Bird", "x") == wanted
    assert world.column("Bird", "energy") == [1, 0]
    mates = [(101, 102)[index(who, 3, 2, "draw")] for who in (101, 102)]
    assert world.column("Bird", "mate") == mates


def test_where_there_is_no_row() -> None:
    """The default is read, of a square matrix without one the identity; new rows have zeros."""
    text = """
component: Spot
owner: none
fields:
  turn: "f32[2,2]"
  bent: {type: "f32[2,2]", default: 3}
  far: {type: f64, default: -.inf}
---
component: Probe
fields: {turn: "f32[2,2]", bent: "f32[2,2]", far: f64, to: id<Spot>}
---
world: Game
kernels:
  look:
    over: Probe
    steps: [Probe.turn = Probe.to.turn, Probe.bent = Probe.to.bent, Probe.far = Probe.to.far]
  sow: {over: Probe, steps: ["spawn(Spot(far=1))"]}
"""
    world = world_of(read(text), Probe=[{}])
    call(world, "look")
    assert world.column("Probe", "turn") == [[[1, 0], [0, 1]]]
    assert world.column("Probe", "bent") == [[[3, 3], [3, 3]]]
    assert world.column("Probe", "far") == [-np.inf]
    call(world, "sow")
    assert world.column("Spot", "turn") == [[[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("sum", 10),
        ("mean", 2.5),
        ("min", 1),
        ("max", 4),
        ("count", 4),
        ("std", 1.25**0.5),
        ("median", 2.5),
        ("gini", 0.25),  # 2 * (1 + 4 + 9 + 16) / (4 * 10) - 5 / 4
    ],
)
def test_reductions(function: str, wanted: float) -> None:
    values = [value("f64", x) for x in (3, 1, 4, 2)]
    found, slack = reduced(function, values)
    assert abs(found - wanted) <= max(slack, 1e-15)
    nothing = 0 if function in ("sum", "count") else np.nan
    np.testing.assert_equal(reduced(function, [])[0], nothing)


def test_infinities_are_the_same() -> None:
    values = [value("f64", x) for x in (np.inf, 1)]
    for function in ("max", "sum"):
        compare_reduction(np.inf, function, values)
    with pytest.raises(AssertionError):
        compare_reduction(-np.inf, "max", values)


def test_sums_of_integers_wrap() -> None:
    assert reduced("sum", [value("i64", 2**63 - 1), value("i64", 1)]) == (-(2**63), 0)
    assert reduced("sum", [value("u8", 255)] * 2) == (510, 0)


def test_tables_read_living_active_rows() -> None:
    text = """
component: Sheep
partition: {start: active}
fields: {energy: i32}
reductions: {fat: {sum: energy, where: energy > 1}, all_fat: {sum: energy, rows: all}}
---
world: Farm
records:
  herd: {rows: Sheep, fields: [energy], where: Sheep.energy > 1}
  total: {energy: {sum: Sheep.energy}}
"""
    world = world_of(read(text), Sheep=[{"energy": k} for k in range(1, 6)])
    world.entities.remove(5)
    world.rows["Sheep"][2].is_active = False
    herd, total = (world.schema.tables[name] for name in ("herd", "total"))
    values = column_values(world, herd.fields["energy"])
    assert [value.one for value in values] == [2, 4]
    assert reduced("sum", column_values(world, total.columns["energy"]))[0] == 7
    fat, all_fat = world.schema.components["Sheep"].reductions.values()
    assert reduced("sum", row_values(world, fat))[0] == 11  # the dead are rows as ever
    assert reduced("sum", row_values(world, all_fat))[0] == 15
