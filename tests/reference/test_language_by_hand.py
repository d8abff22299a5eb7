"""The language of kernels in examples worked out by hand from the contract: statements, loops over
neighbours, vectors, elements."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.grid_geometry import FIRST_CELL as CELL
from ecsgen_testing.reference.run import call

from tests.reference.hand_worlds import (
    Rows,
    at,
    farm,
    game,
    gone,
    index,
    kernel,
    ks,
    unit,
    within,
)

# Statements


def test_branches() -> None:
    steps = """
if Node.k > 2:   # a comment
    Node.n = 1
    if Node.k > 3:
        Node.n += 10

elif Node.k > 1:
    Node.n = (2 +
              3)
else:
    pass
Node.x = 7
"""
    world = gone(steps, ks(1, 2, 3, 4))
    assert world.column("Node", "n") == [0, 5, 1, 11]
    assert world.column("Node", "x") == [7, 7, 7, 7]


def test_choices_of_literals_are_not_constants() -> None:
    steps = ["Node.k = i64(1 if Node.on else 5)", "Node.n = Node.v[2 if Node.on else 0]"]
    world = gone(steps, [{"on": on, "v": (7, 8, 9)} for on in (True, False)])
    rows = world.rows["Node"]
    assert [(row.cells["k"].one, row.cells["n"].one) for row in rows] == [(1, 9), (5, 7)]


def test_a_list_is_its_texts_one_after_the_other() -> None:
    world = gone(["n = Node.k", "if n > 1:\n  n *= 3\n  Node.x = n", "Node.n = n"], ks(1, 2))
    assert (world.column("Node", "n"), world.column("Node", "x")) == ([1, 6], [0, 6])


def test_return_ends_a_row_whose_writes_and_messages_stand() -> None:
    steps = """
Node.n = 1
Node.mate.Node.x += Node.k
if Node.k > 1:
    return
Node.n = 2
Node.mate.Node.x += 100
"""
    world = gone(steps, [{"k": 1, "mate": 1}, {"k": 2, "mate": 1}, {"k": 3, "mate": 2}])
    assert world.column("Node", "n") == [2, 1, 1]
    assert world.column("Node", "x") == [1 + 100 + 2, 3, 0]


def test_return_within_loops_ends_all() -> None:
    steps = """
for i in range(3):
    for j in range(3):
        Node.n += 1
        if i == 1 and j == Node.k:
            return
Node.x = 1
"""
    world = gone(steps, ks(0, 2, 9))
    assert world.column("Node", "n") == [4, 6, 9]
    assert world.column("Node", "x") == [0, 0, 1]


def test_ranges() -> None:
    """Bounds are worked out once; of a bound not above the first there is no pass."""
    steps = """
for i in range(Node.k):
    Node.k -= 1
    Node.n = Node.n * 10 + i + 1
for i in range(-1, Node.n - 100):
    Node.x += i
"""
    world = gone(steps, ks(3, 1, 0, -4))
    assert world.column("Node", "k") == [0, 0, 0, -4]
    assert world.column("Node", "n") == [123, 1, 0, 0]
    assert world.column("Node", "x") == [sum(range(-1, 23)), 0, 0, 0]


def test_break_and_continue_are_of_the_innermost_loop() -> None:
    steps = """
for i in range(4):
    if i == 1:
        continue
    for j in range(9):
        if j == 2:
            break
        Node.n += 1
    if i == Node.k:
        break
    Node.x += 1
"""
    world = gone(steps, ks(9, 2))
    assert world.column("Node", "n") == [6, 4]
    assert world.column("Node", "x") == [3, 1]


def test_while_ends_by_its_condition_without_a_warning() -> None:
    steps = "while Node.n < Node.k:\n  Node.n += 1\n  Node.x += Node.n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = gone(steps, ks(0, 3, 5), at_most=5)
    assert world.column("Node", "n") == [0, 3, 5]
    assert world.column("Node", "x") == [0, 6, 15]


def test_a_while_that_is_cut_off_warns_once_when_all_is_done() -> None:
    steps = """
while Node.n < Node.k:
    Node.n += 1
while Node.n < 0:
    Node.n += 1
while Node.x < 9:
    Node.x += 1
"""
    with pytest.warns(RuntimeWarning) as caught:
        world = gone(steps, ks(4, 5, 6), at_most=4)
    assert world.column("Node", "n") == [4, 4, 4]
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2
    assert all(word in texts[0] for word in ("go", "Node.n < Node.k", "2"))
    assert all(word in texts[1] for word in ("go", "Node.x < 9", "3"))


def test_each_assignment_sign() -> None:
    steps = """
Node.k += 3
Node.k *= 5
Node.k //= 4
Node.k **= 2
Node.k %= 100
Node.k <<= 2
Node.k |= 3
Node.k ^= 5
Node.k &= 126
Node.k >>= 1
Node.k -= 1
x = 3
x *= Node.k
Node.x = x
Node.x /= 4
"""
    k = ((((20 + 3) * 5 // 4) ** 2 % 100 << 2 | 3) ^ 5) & 126
    world = gone(steps, ks(20))
    assert world.column("Node", "k") == [(k >> 1) - 1]
    assert world.column("Node", "x") == [3 * ((k >> 1) - 1) / 4]


def test_a_local_keeps_the_type_of_its_first_assignment_in_the_text() -> None:
    """It is an i64: 2.75 is cut, whichever branch is taken."""
    steps = """
if Node.on:
    n = Node.k
else:
    n = i64(2.75)
n += 1
Node.x = n / 2
"""
    world = gone(steps, [{"k": 4, "on": True}, {"k": 4}])
    assert world.column("Node", "x") == [2.5, 1.5]


def test_draws_keep_their_numbers_whichever_branch_is_taken() -> None:
    steps = """
if random() < 2:
    if Node.on:
        Node.w = random(2)
    else:
        Node.x = random()
Node.k = randrange(1000)
"""
    world = gone(steps, [{"on": True}, {}])
    assert world.column("Node", "w")[0] == [np.float32(unit(1, 1)), np.float32(unit(1, 2))]
    assert world.column("Node", "x") == [0, unit(2, 3)]
    assert world.column("Node", "k") == [index(who, 4, 1000) for who in (1, 2)]


def test_only_the_branch_taken_is_asked() -> None:
    """Node 2 does not ask, and sends nothing."""
    world = gone(
        "if not Node.on:\n  Node.n = count()\n  foe = nearest(other.entity)\n  foe.Node.k += 1",
        [{}, {"on": True}, {}],
        near={"other": {"radius": 1}},
    )
    assert world.column("Node", "n") == [1, 0, 1]
    assert world.column("Node", "k") == [0, 2, 0]


def test_a_row_that_dies_in_a_branch_takes_no_later_steps() -> None:
    steps = """
for i in range(5):
    if i == Node.k:
        die()
    Node.mate.Node.n += 1
Node.mate.Node.n += 100
"""
    world = gone(steps, [{"k": 2, "mate": 2}, {"k": 9}])
    assert [row.owner for row in world.rows["Node"]] == [2]
    assert world.column("Node", "n") == [2]


# Draws in loops


def test_draws_in_a_range_are_of_the_pass() -> None:
    steps = """
Node.x = random()
for i in range(5, 8):
    for j in range(2):
        Node.m[0, 0] = random()
    Node.m[0, 1] = random()
Node.m[1, 0] = random()
"""
    (m,) = gone(steps, ks(0)).column("Node", "m")
    assert m == [[unit(within(1, 3, 2), 1), unit(within(1, 3), 2)], [unit(1, 3), 0]]


def test_the_condition_of_a_while_draws_with_its_pass() -> None:
    """The second loop begins with pass 1 again."""
    steps = """
for i in range(2):
    while random() < 0.8:
        Node.n += 1
        Node.x += random()
"""
    n, x = 0, 0.0
    for i in (1, 2):
        k = 1
        while unit(within(1, i, k), 0) < 0.8:
            n, x = n + 1, x + unit(within(1, i, k), 1)
            k += 1
    world = gone(steps, ks(0), at_most=100)
    assert n > 0
    assert (world.column("Node", "n"), world.column("Node", "x")) == ([n], [x])


def test_a_pair_draws_the_same_in_whatever_order() -> None:
    """Of who and whom, from the row's or the loop's `who` as told without `key`."""
    steps = "for other in other:\n  other.Node.x += random()\nNode.m[0, 0] = random()"
    world = gone(steps, ks(0, 0, 0), near={"other": {"radius": 1}})
    sent = {(a, b): unit(within(a, b), 0) for a, b in ((1, 2), (2, 1), (2, 3), (3, 2))}
    assert world.column("Node", "x") == [sent[2, 1], sent[1, 2] + sent[3, 2], sent[2, 3]]
    assert [m[0][0] for m in world.column("Node", "m")] == [unit(k, 1) for k in (1, 2, 3)]


def test_with_a_key_whom_is_the_entity_all_the_same() -> None:
    steps = "for it in other:\n  it.Node.x += random()"
    world = gone(steps, ks(70, 80), near={"other": {"radius": 1}}, key="Node.k")
    assert world.column("Node", "x") == [unit(within(80, 1), 0), unit(within(70, 2), 0)]


# For each neighbour


def test_at_once_a_row_sends_to_each_neighbour() -> None:
    """Messages arrive after the last row; what is read is from before."""
    steps = """
Node.k = 0
for other in other:
    other.Node.n += other.Node.k + i64(other.offset.x) * 100 + i64(other.distance) * 1000
    if other.Node.k == 20:
        break
    Node.mate = other
"""
    world = gone(steps, ks(10, 20, 30), near={"other": {"radius": 2}})
    wanted = [0, 0, 0]
    for who, there in ((0, 1), (1, 0), (1, 2), (2, 0), (2, 1)):  # 1 breaks at 2; cells 0, 1, 2
        wanted[there] += (10, 20, 30)[there] + (there - who) * 100 + abs(there - who) * 1000
    assert world.column("Node", "n") == wanted
    assert world.column("Node", "mate") == [0, 3, 1]


def test_in_turns_each_neighbour_is_written_and_the_dead_are_passed_over() -> None:
    """1 doubles 2 and 3; 2 kills 1 and stops 3 from dying twice; 3 meets 2 alone."""
    steps = """
for foe in foes:
    foe.Node.k *= 2
    foe.Node.v[1] = foe.Node.k
    Node.n += foe.Node.k
    if Node.on:
        destroy(first)
        destroy(foe)
        Node.x += foe.Node.k
"""
    first = "first = nearest(foes, where=foes.Node.k < 100)\n"
    near = {"foes": {"radius": 5}}
    world = gone(first + steps, [{"k": 1}, {"k": 2, "on": True}, {"k": 3}], near=near, turns="rows")
    # turn 1: 2 has 4, 3 has 6; turn 2 (on): 1 has 2, n = 2; dies: x = 2; then 3 has 12, n = 14
    assert [row.owner for row in world.rows["Node"]] == [2]
    assert world.column("Node", "n") == [14]
    assert world.column("Node", "x") == [14]


def test_who_has_died_since_the_loop_began_is_passed_over() -> None:
    steps = "for it in other:\n  destroy(Node.mate)\n  Node.n = Node.n * 10 + it.Node.k"
    world = gone(steps, [{"mate": 3}, *ks(2, 3, 4)], near={"other": {}}, turns="rows")
    assert [row.owner for row in world.rows["Node"]] == [1, 2, 4]
    assert world.column("Node", "n") == [24, 4, 2]


def test_in_turns_offsets_are_of_now() -> None:
    steps = """
for other in other:
    Node.x = other.distance
    Node.at -= other.offset
    other.Node.at.y = 3
    Node.m[0, 0] = other.offset.y
    Node.m[0, 1] = other.offset.x
"""
    world = gone(steps, ks(0, 0), near={"other": {"radius": 1}}, turns="rows", where="Node.k == 0")
    m = world.column("Node", "m")[0]
    assert (world.column("Node", "x"), m[0]) == ([1, 0], [3, 2])
    assert world.column("Node", "at") == [[0, 0], [2, 3]]


def test_a_neighbour_is_this_very_row_of_many() -> None:
    """Entity 1 has two leaves: a reference leads to the first, a loop to each."""
    steps = """
for leaf in leaves:
    leaf.Leaf.n += 1
    n = leaf
    n.Leaf.n += 10
    Leaf.x = random()
"""
    kernel = {"over": "Leaf", "near": {"leaves": {"radius": 9}}, "steps": [steps]}
    world = game(kernel, [], {"Leaf": [{"owner": owner} for owner in (1, 1, 2)]})
    call(world, "go")
    assert world.column("Leaf", "n") == [2 + 10 * 4, 2, 2 + 10 * 2]
    pairs = (71, 73), (72, 73), (73, 72)  # the last whom of each, told by their ids
    assert world.column("Leaf", "x") == [unit(within(*pair), 0) for pair in pairs]


def test_loops_and_questions_about_others_go_together() -> None:
    """For each friend: how many foes are nearer to me than it is to me."""
    steps = """
for friend in friends:
    Node.v[Node.n] = count(foes, where=foes.distance < friend.distance)
    Node.n += 1
    for foe in foes:
        foe.Node.x += friend.Node.k
"""
    near = {"friends": {"radius": 3}, "foes": {"radius": 2}}
    world = gone(steps, ks(1, 10, 100, 1000), near=near, where="Node.k == 1")
    assert world.column("Node", "v")[0] == [0, 1, 2]
    assert world.column("Node", "x") == [0, 1110, 1110, 0]


def test_loops_over_cells_and_who_stands_on_them() -> None:
    step = """
for spot in around:
    spot.due += 3 + spot.offset.x
    if exists(spot.Sheep):
        Sheep.x += random()
"""
    near = "{around: {radius: 1, among: Patch}}"
    world = farm(kernel("go", "Sheep", step, near=near), Sheep=at(0, 1))
    call(world, "go")
    assert world.column("Patch", "due") == [2, 4, 4, 0, 0, 2]
    wanted = [unit(within(who, CELL + cell), 0) for who, cell in ((1, 1), (2, 0))]
    assert world.column("Sheep", "x") == wanted


# Elements


def test_elements_with_indices_that_are_worked_out() -> None:
    """Outside of the shape, negative too, 0 is read and nothing is written."""
    steps = """
counts = Node.v
counts[Node.k] += 10
Node.n = counts[Node.k] + counts[2]
Node.v[Node.k + 1] = 7
Node.m[Node.k, 1] += counts[1]
Node.w.y = 3
Node.w[Node.k] -= 0.5
"""
    world = gone(steps, [{"k": k, "v": (1, 2, 3)} for k in (0, 1, -1, 2, 5)])
    assert world.column("Node", "n") == [11 + 3, 12 + 3, 0 + 3, 13 + 13, 0 + 3]
    v = world.column("Node", "v")
    assert v == [[1, 7, 3], [1, 2, 7], [7, 2, 3], [1, 2, 3], [1, 2, 3]]
    assert [m[0][1] for m in world.column("Node", "m")] == [2, 0, 0, 0, 0]
    assert [m[1][1] for m in world.column("Node", "m")] == [0, 12, 0, 0, 0]
    assert world.column("Node", "w") == [[-0.5, 3], [0, 2.5], [0, 3], [0, 3], [0, 3]]


def test_elements_of_locals_are_copies() -> None:
    steps = "p = Node.at\np.x = 9\nq = p\nq[1] += 1\nNode.x = p.x + Node.at.x\nNode.at = q"
    world = gone(steps, [{"at": (1, 2)}])
    assert (world.column("Node", "x"), world.column("Node", "at")) == ([10], [[9, 3]])


def test_elements_are_sent() -> None:
    nodes = [{"k": k, "mate": 1} for k in (0, 1, 1, -1, 3)]
    world = gone("Node.mate.Node.v[Node.k] += 1", nodes)
    texts = "Node.mate.Node.m[0, Node.k] = max(Node.mate.Node.m[0, Node.k], 4)"
    assert world.column("Node", "v")[1] == [0, 0, 0]
    assert gone(texts, nodes).column("Node", "m")[0] == [[4, 4], [0, 0]]


# Vectors and bits


def result_of(expression: str, field: str = "x", **fields: Any) -> Any:
    """What an expression gives for a row with these fields."""
    return gone(f"Node.{field} = {expression}", [fields]).column("Node", field)[0]


@pytest.mark.parametrize(
    ("expression", "field", "wanted"),
    [
        ("vec(1, 2, Node.k)", "v", [1, 2, 7]),
        ("vec(1, 2.5)", "at", [1, 2.5]),
        ("vec(7, 2) / 2", "at", [3.5, 1]),
        ("vec(Node.b, 200) * 2", "at", [500 % 256, 400 % 256]),
        ("vec(Node.b, Node.k) * 2", "at", [500, 14]),
        ("vec(0.5, Node.k) * 2", "at", [1, 14]),
        ("unit(0)", "at", [1, 0]),
        ("vec(Node.w.x, 0.1)", "w", [np.float32(0.5), np.float32(0.1)]),
        ("rotate(vec(3, 4), 0)", "at", [3, 4]),
    ],
)
def test_vectors(expression: str, field: str, wanted: Any) -> None:
    fields = {"k": 7, "b": 250, "w": (0.5, 0)}
    assert result_of(expression, field, **fields) == wanted


def test_units_angles_and_turns() -> None:
    assert result_of("unit(Node.x)", "at", x=0.3) == [np.cos(0.3), np.sin(0.3)]
    assert result_of("angle(Node.at)", at=(-2, 0.5)) == np.arctan2(0.5, -2)
    cos, sin = np.cos(np.float32(2)), np.sin(np.float32(2))
    w = np.array((0.5, -3), np.float32)
    wanted = [w[0] * cos - w[1] * sin, w[0] * sin + w[1] * cos]
    assert result_of("rotate(Node.w, f32(2))", "w", w=(0.5, -3)) == [float(x) for x in wanted]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("min(Node.v)", -5),
        ("max(Node.v)", 7),
        ("sum(Node.v)", 9),
        ("argmin(Node.v)", 2),
        ("argmax(Node.v)", 0),
        ("argmax(Node.m)", 2),
        ("min(Node.m)", 1),
        ("sum(Node.m)", 14),
        ("1 if any(Node.v > 6) else 0", 1),
        ("1 if any(Node.v > 7) else 0", 0),
        ("1 if all(Node.m > 0) else 0", 1),
        ("1 if all(Node.m > 1) else 0", 0),
    ],
)
def test_of_the_elements_of_one_value(expression: str, wanted: float) -> None:
    assert result_of(expression, v=(7, 7, -5), m=((1, 3), (7, 3))) == wanted


def test_sums_of_elements_are_wide_and_nan_passes_on() -> None:
    """2^24 + 1 + 1 is no f32 step after step, but as an f64 that is rounded at last."""
    assert result_of("f64(sum(vec(f32(Node.x), f32(1), f32(1))))", x=2**24) == 2**24 + 2
    assert result_of("sum(vec(Node.b, Node.b))", "k", b=200) == 400
    assert np.isnan(result_of("min(vec(Node.x, 1))", x=np.nan))
    assert result_of("argmin(vec(1.0, Node.x, 0))", "k", x=np.nan) == 1


def test_beside_neighbours_a_shape_without_one_is_of_its_elements() -> None:
    steps = """
Node.n = sum(Node.v)
Node.x = f64(sum(1)) + 100 * max(other.Node.k) + 1000 * min(vec(3, 9))
Node.k = max(sum(other.Node.v)) * 100 + sum(min(other.Node.v))
for it in other:
    Node.m[0, 0] += max(it.Node.v)
"""
    nodes: Rows = [
        {"v": (1, 2, 3)},
        {"v": (10, 20, 30), "k": 2},
        {"v": (5, 5, 6), "k": 4},
    ]
    world = gone(steps, nodes, near={"other": {"radius": 1}})
    assert world.column("Node", "n") == [6, 60, 16]
    assert world.column("Node", "x") == [1 + 200 + 3000, 2 + 400 + 3000, 1 + 200 + 3000]
    assert world.column("Node", "k") == [6000 + 10, 1600 + 1 + 5, 6000 + 10]
    assert [m[0][0] for m in world.column("Node", "m")] == [30, 3 + 6, 30]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("Node.k & 12", 12 & -6),
        ("Node.k | 5", -6 | 5),
        ("Node.k ^ 3", -6 ^ 3),
        ("~Node.k", 5),
        ("~Node.b", 255 - 200),
        ("Node.k << 2", -24),
        ("Node.k << 63", 0),
        ("Node.k << 64", 0),
        ("Node.k << -1", 0),
        ("Node.k >> 1", -3),
        ("Node.k >> 64", -1),
        ("Node.k >> -1", -1),
        ("Node.b << 1", 400 - 256),
        ("Node.b << 8", 0),
        ("Node.b >> 3", 25),
        ("Node.b >> 8", 0),
        ("1 << Node.b - 190", 0),  # a u8
        ("Node.b << Node.k + 7", 400),  # an i64
        ("Node.b >> Node.k", 0),
        ("i64((~u64(Node.b) >> Node.b - 200) >> 1)", 2**63 - 101),
        ("3 & 6 | 8", 10),
    ],
)
def test_bits(expression: str, wanted: int) -> None:
    assert result_of(expression, "k", k=-6, b=200) == wanted


def test_flags() -> None:
    body = {"fields": {"caps": "Caps", "n": "i64", "rest": "Caps"}}
    conditions = (
        "Caps.swim in Body.caps",
        "(Caps.swim | Caps.fly) in Body.caps",
        "Caps.dig not in Body.caps",
        "(Body.caps & Caps.fly) == Caps.fly",
    )
    steps = [f"Body.n += {1 << k} if {c} else 0" for k, c in enumerate(conditions)]
    kernel = {"over": "Body", "steps": [*steps, "Body.rest = ~Body.caps", "Body.caps |= Caps.dig"]}
    bodies = [{"caps": caps} for caps in (0, 1, 2, 3, 7)]
    world = game(kernel, [], {"Body": bodies}, Body=body)
    call(world, "go")
    assert world.column("Body", "n") == [4, 1 + 4, 4 + 8, 1 + 2 + 4 + 8, 1 + 2 + 8]
    assert world.column("Body", "rest") == [7, 6, 5, 4, 0]
    assert world.column("Body", "caps") == [4, 5, 6, 7, 7]
