"""Game: all components together."""

from __future__ import annotations

from typing import ClassVar

from ecsgen_testing import (
    groups,
    kernel_oracle,
    queries,
    spawning,
    unique,
    world_features,
    world_kernels,
)

from .. import ActorsGroup, BodiesGroup, EntityView, Signature
from .. import Game as _Game
from . import (
    test_ai_state,
    test_archetypes,
    test_boid,
    test_celestial_body,
    test_energy,
    test_every_type,
    test_footprint,
    test_hawk,
    test_kin,
    test_meeting,
    test_particle,
    test_person,
    test_point_mass,
    test_position,
    test_predator,
    test_scene_node,
    test_skinned_mesh,
    test_sound_source,
    test_spark,
    test_static,
    test_status_effect,
    test_texture,
    test_tile,
    test_transform,
    test_velocity,
    test_villager,
)

SUBJECTS = {
    "ai_state": test_ai_state.under_test,
    "boid": test_boid.under_test,
    "celestial_body": test_celestial_body.under_test,
    "energy": test_energy.under_test,
    "every_type": test_every_type.under_test,
    "footprint": test_footprint.under_test,
    "hawk": test_hawk.under_test,
    "kin": test_kin.under_test,
    "particle": test_particle.under_test,
    "person": test_person.under_test,
    "point_mass": test_point_mass.under_test,
    "position": test_position.under_test,
    "predator": test_predator.under_test,
    "scene_node": test_scene_node.under_test,
    "skinned_mesh": test_skinned_mesh.under_test,
    "sound_source": test_sound_source.under_test,
    "static": test_static.under_test,
    "status_effect": test_status_effect.under_test,
    "tile": test_tile.under_test,
    "transform": test_transform.under_test,
    "velocity": test_velocity.under_test,
    "villager": test_villager.under_test,
}

UNOWNED = {
    "meeting": test_meeting.under_test,
    "spark": test_spark.under_test,
    "texture": test_texture.under_test,
}

Game = unique.filled_world(_Game, UNOWNED)


class TestGame(spawning.SpawningCases):
    world = Game
    subjects: ClassVar = SUBJECTS
    unowned: ClassVar = UNOWNED


def outbreak__persons_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__persons` takes of one row."""
    return kernel_oracle.number("?", True)


def outbreak__infectious_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__infectious` takes of one row."""
    _1 = kernel_oracle.number("u1", 1)
    return kernel_oracle.apply("==", row["Person.condition"], _1)


def outbreak__exposed_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__exposed` takes of one row."""
    _1 = kernel_oracle.number("u2", 9)
    _2 = kernel_oracle.apply("<", row["Person.days"], _1)
    if not _2[0]:
        return []
    return row["Person.exposed"]


def outbreak__days_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__days` takes of one row."""
    if not row["Person.exposed"][0]:
        return []
    return row["Person.days"]


def outbreak__longest_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__longest` takes of one row."""
    return row["Person.days"]


def outbreak__fed_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__fed` takes of one row."""
    _1 = kernel_oracle.element(row["Velocity.value"], (3,), 0)
    _2 = kernel_oracle.number("f4", 0.0)
    _3 = kernel_oracle.apply(">", _1, _2)
    if not _3[0]:
        return []
    return row["Energy.stored"]


def outbreak__strength_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__strength` takes of one row."""
    return row["Energy.stored"]


def outbreak__uneven_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__uneven` takes of one row."""
    return row["Energy.stored"]


def outbreak__spread_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `outbreak__spread` takes of one row."""
    return kernel_oracle.element(row["Position.value"], (3,), 0)


def ill___of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `ill__` takes of one row."""
    _1 = kernel_oracle.number("u1", 1)
    return kernel_oracle.apply("==", row["Person.condition"], _1)


class TestRecords(world_kernels.RecordCases):
    world = Game
    subjects: ClassVar = SUBJECTS | UNOWNED
    tables: ClassVar = {
        ("outbreak", "persons"): world_kernels.Told(
            "person", {"Person": "person"}, outbreak__persons_of_one, how="count"
        ),
        ("outbreak", "infectious"): world_kernels.Told(
            "person", {"Person": "person"}, outbreak__infectious_of_one, how="count"
        ),
        ("outbreak", "exposed"): world_kernels.Told(
            "person", {"Person": "person"}, outbreak__exposed_of_one, how="count"
        ),
        ("outbreak", "days"): world_kernels.Told(
            "person", {"Person": "person"}, outbreak__days_of_one, how="sum"
        ),
        ("outbreak", "longest"): world_kernels.Told(
            "person", {"Person": "person"}, outbreak__longest_of_one, how="max"
        ),
        ("outbreak", "fed"): world_kernels.Told(
            "grazers",
            {
                "Position": "position",
                "Velocity": "velocity",
                "Energy": "energy",
                "Kin": "kin",
            },
            outbreak__fed_of_one,
            how="sum",
        ),
        ("outbreak", "strength"): world_kernels.Told(
            "grazers",
            {
                "Position": "position",
                "Velocity": "velocity",
                "Energy": "energy",
                "Kin": "kin",
            },
            outbreak__strength_of_one,
            how="mean",
        ),
        ("outbreak", "uneven"): world_kernels.Told(
            "grazers",
            {
                "Position": "position",
                "Velocity": "velocity",
                "Energy": "energy",
                "Kin": "kin",
            },
            outbreak__uneven_of_one,
            how="gini",
        ),
        ("outbreak", "spread"): world_kernels.Told(
            "bodies",
            {"Position": "position", "Velocity": "velocity"},
            outbreak__spread_of_one,
            how="std",
        ),
        ("ill", ""): world_kernels.Told(
            "person",
            {"Person": "person"},
            ill___of_one,
            fields=["Person.condition", "Person.exposed"],
        ),
    }


class TestSchedules(world_kernels.ScheduleCases):
    world = Game
    subjects: ClassVar = SUBJECTS
    schedules: ClassVar = {
        "frame": world_kernels.Schedule(
            {
                "strength": 0.5,
                "dt": 0.5,
                "gravity": 0.5,
                "heat": 0.5,
            },
            [
                world_kernels.Call(
                    "", "stray", ("strength",), ("position", "velocity")
                ),
                world_kernels.Call("", "drift", ("dt",), ("position", "velocity")),
                world_kernels.Call("", "carry", ("dt",), ("transform", "point_mass")),
                world_kernels.Call("point_mass", "simulate", ("dt",), ("point_mass",)),
                world_kernels.Call(
                    "particle", "simulate", ("dt", "gravity"), ("particle",)
                ),
                world_kernels.Call("spark", "flicker", ("strength",), ()),
                world_kernels.Call("", "scorch", ("dt", "heat"), ("health", "burning")),
            ],
        ),
        "orbit": world_kernels.Schedule(
            {
                "dt": 0.25,
            },
            [
                world_kernels.Call(
                    "celestial_body", "kick", ("dt",), ("celestial_body",)
                ),
                world_kernels.Call(
                    "celestial_body", "drift", ("dt",), ("celestial_body",)
                ),
                world_kernels.Call(
                    "celestial_body", "kick", ("dt",), ("celestial_body",)
                ),
            ],
        ),
        "watch": world_kernels.Schedule(
            {},
            [
                world_kernels.Call("", "outbreak", (), (), is_table=True),
                world_kernels.Call("", "ill", (), (), 7, 0, is_table=True),
                world_kernels.Call("", "tick", (), ()),
            ],
        ),
    }


def carry_of_one(row: kernel_oracle.Row, _dt: kernel_oracle.Value) -> None:
    """Run the steps of `carry` for one row."""
    # Transform.translation += PointMass.velocity * dt
    _1 = row["Transform.translation"]
    _2 = kernel_oracle.apply("*", row["PointMass.velocity"], _dt)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("Transform.translation", _3)


def drift_of_one(row: kernel_oracle.Row, _dt: kernel_oracle.Value) -> None:
    """Run the steps of `drift` for one row."""
    # Position.value += Velocity.value * dt
    _1 = row["Position.value"]
    _2 = kernel_oracle.apply("*", row["Velocity.value"], _dt)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("Position.value", _3)


def stray_of_one(row: kernel_oracle.Row, _strength: kernel_oracle.Value) -> None:
    """Run the steps of `stray` for one row."""
    # Velocity.value += normal(3) * strength
    _1 = row["Velocity.value"]
    _2 = kernel_oracle.cast(_1, "f8")
    _3 = row.draw("normal", 0, 3)
    _4 = kernel_oracle.cast(_strength, "f8")
    _5 = kernel_oracle.apply("*", _3, _4)
    _6 = kernel_oracle.apply("+", _2, _5)
    _7 = kernel_oracle.cast(_6, "f4")
    row.put("Velocity.value", _7)


def shove_of_one(row: kernel_oracle.Row, _push: kernel_oracle.Value) -> None:
    """Run the steps of `shove` for one row."""
    # Velocity.value += push
    _1 = row["Velocity.value"]
    _2 = kernel_oracle.apply("+", _1, _push)
    row.put("Velocity.value", _2)


def haul_of_one(
    row: kernel_oracle.Row, _share: kernel_oracle.Value, _dt: kernel_oracle.Value
) -> bool:
    """Run the steps of `haul` for one row; return whether it matches."""
    _1 = kernel_oracle.number("f4", 0.0)
    _2 = kernel_oracle.apply(">", _share, _1)
    if not _2[0]:
        return False
    # Transform.translation += PointMass.velocity * (dt * share)
    _3 = row["Transform.translation"]
    _4 = kernel_oracle.apply("*", _dt, _share)
    _5 = kernel_oracle.apply("*", row["PointMass.velocity"], _4)
    _6 = kernel_oracle.apply("+", _3, _5)
    row.put("Transform.translation", _6)
    return True


def infect_of_one(row: kernel_oracle.Row, _chance: kernel_oracle.Value) -> bool:
    """Run the steps of `infect` for one row; return whether it matches."""
    _1 = row.draw("random", 0, 1)
    _2 = kernel_oracle.apply("<", _1, _chance)
    if not _2[0]:
        return False
    # there = Meeting.other.Person.condition == Condition.infectious
    _3 = row.others.refer("Person.condition", "lookup", row["Meeting.other"], (0,))
    _4 = kernel_oracle.number("u1", 1)
    _5 = kernel_oracle.apply("==", _3, _4)
    # here = Meeting.one.Person.condition == Condition.infectious
    _6 = row.others.refer("Person.condition", "lookup", row["Meeting.one"], (0,))
    _7 = kernel_oracle.number("u1", 1)
    _8 = kernel_oracle.apply("==", _6, _7)
    # Meeting.one.Person.exposed = Meeting.one.Person.exposed or there
    row.send("Person.exposed", "lookup", row["Meeting.one"], "or", _5)
    # Meeting.other.Person.exposed = Meeting.other.Person.exposed or here
    row.send("Person.exposed", "lookup", row["Meeting.other"], "or", _8)
    return True


def scatter_of_one(row: kernel_oracle.Row, _sight: kernel_oracle.Value) -> bool:
    """Run the steps of `scatter` for one row; return whether it matches."""
    _1: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _1.append([True])
    _2 = row.answer("count", "i8", (), _1)
    _3 = kernel_oracle.number("i8", 0)
    _4 = kernel_oracle.apply(">", _2, _3)
    if not _4[0]:
        return False
    # fear = sum(normalize(offset) * other.Hawk.hunger)
    _5: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _6 = kernel_oracle.normalize(other.offset)
        _7 = kernel_oracle.apply("*", _6, other["Hawk.hunger"])
        _5.append(_7)
    _8 = row.answer("sum", "f4", (2,), _5)
    # Boid.heading = normalize(Boid.heading - fear)
    _9 = row["Boid.heading"]
    _10 = kernel_oracle.apply("-", _9, _8)
    _11 = kernel_oracle.normalize(_10)
    row.put("Boid.heading", _11)
    return True


def huddle_of_one(row: kernel_oracle.Row, _reach: kernel_oracle.Value) -> None:
    """Run the steps of `huddle` for one row."""
    # Boid.position += mean(offset) * 0.125
    _1 = row["Boid.position"]
    _2: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _2.append(other.offset)
    _3 = row.answer("mean", "f4", (2,), _2)
    _4 = kernel_oracle.number("f4", 0.125)
    _5 = kernel_oracle.apply("*", _3, _4)
    _6 = kernel_oracle.apply("+", _1, _5)
    row.put("Boid.position", _6)


def chase_of_one(row: kernel_oracle.Row, _sight: kernel_oracle.Value) -> None:
    """Run the steps of `chase` for one row."""
    # Boid.heading = normalize(Boid.heading + sum(offset + other.Boid.heading) * 0.25)
    _1 = row["Boid.heading"]
    _2: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _3 = kernel_oracle.apply("+", other.offset, other["Boid.heading"])
        _2.append(_3)
    _4 = row.answer("sum", "f4", (2,), _2)
    _5 = kernel_oracle.number("f4", 0.25)
    _6 = kernel_oracle.apply("*", _4, _5)
    _7 = kernel_oracle.apply("+", _1, _6)
    _8 = kernel_oracle.normalize(_7)
    row.put("Boid.heading", _8)


def part_of_one(row: kernel_oracle.Row) -> None:
    """Run the steps of `part` for one row."""
    # Hawk.rivals = i32(count())
    _1: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _1.append([True])
    _2 = row.answer("count", "i8", (), _1)
    _3 = kernel_oracle.cast(_2, "i4")
    row.put("Hawk.rivals", _3)
    # Hawk.hunger = (Hawk.hunger + sum(other.Hawk.hunger)) / f32(Hawk.rivals + 1)
    _4 = row["Hawk.hunger"]
    _5: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _5.append(other["Hawk.hunger"])
    _6 = row.answer("sum", "f4", (), _5)
    _7 = kernel_oracle.apply("+", _4, _6)
    _8 = row["Hawk.rivals"]
    _9 = kernel_oracle.number("i4", 1)
    _10 = kernel_oracle.apply("+", _8, _9)
    _11 = kernel_oracle.cast(_10, "f4")
    _12 = kernel_oracle.apply("/", _7, _11)
    row.put("Hawk.hunger", _12)
    # Boid.heading -= sum(offset) * 0.05
    _13 = row["Boid.heading"]
    _14: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _14.append(other.offset)
    _15 = row.answer("sum", "f4", (2,), _14)
    _16 = kernel_oracle.number("f4", 0.05)
    _17 = kernel_oracle.apply("*", _15, _16)
    _18 = kernel_oracle.apply("-", _13, _17)
    row.put("Boid.heading", _18)


def strike_of_one(row: kernel_oracle.Row, _reach: kernel_oracle.Value) -> None:
    """Run the steps of `strike` for one row."""
    # Hawk.prey = nearest(other.entity)
    _1: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _1.append(other["Boid.entity"])
    _2 = row.answer("nearest", "u8", (), _1)
    row.put("Hawk.prey", _2)
    # Hawk.hunger += -0.5 if count() > 0 else 0.1
    _3 = row["Hawk.hunger"]
    _4: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _4.append([True])
    _5 = row.answer("count", "i8", (), _4)
    _6 = kernel_oracle.number("i8", 0)
    _7 = kernel_oracle.apply(">", _5, _6)
    _8 = kernel_oracle.number("f4", -0.5)
    _9 = kernel_oracle.number("f4", 0.1)
    _10 = kernel_oracle.apply("if", _7, _8, _9)
    _11 = kernel_oracle.apply("+", _3, _10)
    row.put("Hawk.hunger", _11)
    # Boid.position += nearest(offset) * 0.9
    _12 = row["Boid.position"]
    _13: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _13.append(other.offset)
    _14 = row.answer("nearest", "f4", (2,), _13)
    _15 = kernel_oracle.number("f4", 0.9)
    _16 = kernel_oracle.apply("*", _14, _15)
    _17 = kernel_oracle.apply("+", _12, _16)
    row.put("Boid.position", _17)
    # Hawk.prey.Boid.position -= Boid.heading
    _18 = row["Hawk.prey"]
    row.send("Boid.position", "lookup", _18, "-", row["Boid.heading"])


def spread_of_one(row: kernel_oracle.Row, _apart: kernel_oracle.Value) -> None:
    """Run the steps of `spread` for one row."""
    # Boid.position -= sum(offset) * 0.5 / f32(max(count(), 1))
    _1 = row["Boid.position"]
    _2: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _2.append(other.offset)
    _3 = row.answer("sum", "f4", (2,), _2)
    _4 = kernel_oracle.number("f4", 0.5)
    _5 = kernel_oracle.apply("*", _3, _4)
    _6: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _6.append([True])
    _7 = row.answer("count", "i8", (), _6)
    _8 = kernel_oracle.number("i8", 1)
    _9 = kernel_oracle.apply("max", _7, _8)
    _10 = kernel_oracle.cast(_9, "f4")
    _11 = kernel_oracle.apply("/", _5, _10)
    _12 = kernel_oracle.apply("-", _1, _11)
    row.put("Boid.position", _12)


def dodge_of_one(row: kernel_oracle.Row) -> bool:
    """Run the steps of `dodge` for one row; return whether it matches."""
    _1: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _1.append([True])
    _2 = row.answer("count", "i8", (), _1)
    _3 = kernel_oracle.number("i8", 0)
    _4 = kernel_oracle.apply(">", _2, _3)
    if not _4[0]:
        return False
    # Boid.position -= nearest(offset)
    _5 = row["Boid.position"]
    _6: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _6.append(other.offset)
    _7 = row.answer("nearest", "f4", (2,), _6)
    _8 = kernel_oracle.apply("-", _5, _7)
    row.put("Boid.position", _8)
    # Boid.heading = sum(other.Boid.heading) * 0.5
    _9: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _9.append(other["Boid.heading"])
    _10 = row.answer("sum", "f4", (2,), _9)
    _11 = kernel_oracle.number("f4", 0.5)
    _12 = kernel_oracle.apply("*", _10, _11)
    row.put("Boid.heading", _12)
    return True


class TestStepsOfWorldKernels(world_kernels.WorldKernelStepsCases):
    world = Game
    subjects: ClassVar = SUBJECTS | UNOWNED
    kernels: ClassVar = {
        "carry": world_kernels.Case(
            over="movers",
            steps=carry_of_one,
            modules={
                "Transform": "transform",
                "PointMass": "point_mass",
            },
            arguments={
                "dt": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("point_mass", "transform"),
            ],
            has_border=False,
        ),
        "drift": world_kernels.Case(
            over="bodies",
            steps=drift_of_one,
            modules={
                "Position": "position",
                "Velocity": "velocity",
            },
            arguments={
                "dt": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("position", "velocity"),
            ],
            has_border=False,
        ),
        "stray": world_kernels.Case(
            over="bodies",
            steps=stray_of_one,
            modules={
                "Position": "position",
                "Velocity": "velocity",
            },
            arguments={
                "strength": ("f4", ()),
            },
            is_exact=False,
            kinds=[
                ("position", "velocity"),
            ],
            has_border=False,
            drawing=kernel_oracle.Drawing("stray"),
        ),
        "shove": world_kernels.Case(
            over="bodies",
            steps=shove_of_one,
            modules={
                "Position": "position",
                "Velocity": "velocity",
            },
            arguments={
                "push": kernel_oracle.Each("f4", (3,)),
            },
            is_exact=True,
            kinds=[
                ("position", "velocity"),
            ],
            has_border=False,
        ),
        "haul": world_kernels.Case(
            over="movers",
            steps=haul_of_one,
            modules={
                "Transform": "transform",
                "PointMass": "point_mass",
            },
            arguments={
                "share": kernel_oracle.Each("f4", ()),
                "dt": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("point_mass", "transform"),
            ],
            has_border=True,
        ),
        "infect": world_kernels.Case(
            over="meeting",
            steps=infect_of_one,
            modules={
                "Meeting": "meeting",
            },
            arguments={
                "chance": ("f8", ()),
            },
            is_exact=True,
            kinds=[
                ("meeting",),
                ("person",),
                ("meeting", "person"),
            ],
            has_border=False,
            leads={
                "Person": "person",
            },
            drawing=kernel_oracle.Drawing("infect"),
        ),
        "scatter": world_kernels.Case(
            over="boid",
            steps=scatter_of_one,
            modules={
                "Boid": "boid",
            },
            arguments={
                "sight": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("boid",),
                ("boid", "hawk"),
            ],
            has_border=False,
            near="sight",
            place="Boid.position",
            among="hawks",
            asked={
                "Boid": "boid",
                "Hawk": "hawk",
            },
        ),
        "huddle": world_kernels.Case(
            over="boid",
            steps=huddle_of_one,
            modules={
                "Boid": "boid",
            },
            arguments={
                "reach": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("boid",),
            ],
            has_border=False,
            near="reach",
            place="Boid.position",
        ),
        "chase": world_kernels.Case(
            over="hawks",
            steps=chase_of_one,
            modules={
                "Boid": "boid",
                "Hawk": "hawk",
            },
            arguments={
                "sight": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("boid", "hawk"),
                ("boid",),
            ],
            has_border=False,
            near="sight",
            place="Boid.position",
            among="boid",
            asked={
                "Boid": "boid",
            },
        ),
        "part": world_kernels.Case(
            over="hawks",
            steps=part_of_one,
            modules={
                "Boid": "boid",
                "Hawk": "hawk",
            },
            arguments={},
            is_exact=True,
            kinds=[
                ("boid", "hawk"),
            ],
            has_border=False,
            near=10.0,
            place="Boid.position",
        ),
        "strike": world_kernels.Case(
            over="hawks",
            steps=strike_of_one,
            modules={
                "Boid": "boid",
                "Hawk": "hawk",
            },
            arguments={
                "reach": ("f4", ()),
            },
            is_exact=True,
            kinds=[
                ("boid", "hawk"),
                ("boid",),
            ],
            has_border=False,
            leads={
                "Boid": "boid",
            },
            drawing=kernel_oracle.Drawing("strike"),
            turns="random",
            near="reach",
            place="Boid.position",
            among="boid",
            asked={
                "Boid": "boid",
            },
        ),
        "spread": world_kernels.Case(
            over="hawks",
            steps=spread_of_one,
            modules={
                "Boid": "boid",
                "Hawk": "hawk",
            },
            arguments={
                "apart": ("f8", ()),
            },
            is_exact=True,
            kinds=[
                ("boid", "hawk"),
            ],
            has_border=False,
            turns="rows",
            near="apart",
            place="Boid.position",
        ),
        "dodge": world_kernels.Case(
            over="boid",
            steps=dodge_of_one,
            modules={
                "Boid": "boid",
            },
            arguments={},
            is_exact=True,
            kinds=[
                ("boid",),
                ("boid", "hawk"),
            ],
            has_border=False,
            turns="rows",
            near=5.0,
            place="Boid.position",
            among="hawks",
            asked={
                "Boid": "boid",
                "Hawk": "hawk",
            },
        ),
    }


class TestSignature(world_features.SignatureCases):
    world = Game
    signature = Signature
    subjects: ClassVar = SUBJECTS


class TestEntityView(world_features.EntityViewCases):
    world = Game
    view = EntityView
    subjects: ClassVar = SUBJECTS
    unowned: ClassVar = UNOWNED


class TestBundles(world_features.BundleCases):
    world = Game
    signature = Signature
    subjects: ClassVar = SUBJECTS
    bundles: ClassVar = {
        "prop": ("skinned_mesh", "transform"),
        "creature": ("ai_state", "skinned_mesh", "transform"),
        "hero": (
            "ai_state",
            "health",
            "point_mass",
            "skinned_mesh",
            "sound_source",
            "transform",
            "weapon",
        ),
    }


class TestQueries(queries.QueryCases):
    world = Game
    subjects: ClassVar = SUBJECTS
    queries: ClassVar = {
        "movers": {
            "all": ("transform", "point_mass"),
            "any": (),
            "none": ("static",),
            "optional": (),
        },
        "drawn": {
            "all": ("transform",),
            "any": ("skinned_mesh", "tile", "particle"),
            "none": (),
            "optional": ("ai_state",),
        },
        "visible": {
            "all": (),
            "any": ("skinned_mesh", "tile", "particle"),
            "none": (),
            "optional": (),
        },
        "afflicted": {
            "all": ("status_effect", "ai_state"),
            "any": (),
            "none": (),
            "optional": ("point_mass",),
        },
        "grazers": {
            "all": ("position", "velocity", "energy", "kin"),
            "any": (),
            "none": ("predator",),
            "optional": (),
        },
        "hunters": {
            "all": ("position", "velocity", "energy", "kin", "predator"),
            "any": (),
            "none": (),
            "optional": (),
        },
        "hawks": {
            "all": ("boid", "hawk"),
            "any": (),
            "none": (),
            "optional": (),
        },
    }


class TestChunkKernels(world_kernels.ChunkKernelCases):
    world = Game
    members: ClassVar = test_archetypes.MEMBERS
    kernels: ClassVar = {
        "scorch": (
            "ablaze",
            ("health", "burning"),
            (0.5, 0.5),
        ),
        "strain": (
            "fighters",
            ("weapon", "health", "armor"),
            ((0.5, 0.5, 0.5), 0.5),
        ),
        "parry": (
            "fighters",
            ("weapon", "health", "armor"),
            ((0.5, 0.5, 0.5), 0.5),
        ),
    }
    written: ClassVar = {
        "scorch": (("Health", "points"),),
        "strain": (("Weapon", "direction"),),
        "parry": (("Weapon", "direction"),),
    }


class TestChunkQueries(queries.ChunkQueryCases):
    world = Game
    members: ClassVar = test_archetypes.MEMBERS
    queries: ClassVar = {
        "ablaze": {
            "all": ("health", "burning"),
            "any": (),
            "none": ("armor",),
        },
        "fighters": {
            "all": ("weapon",),
            "any": ("health", "armor"),
            "none": (),
        },
    }


BODIES_MEMBERS = {
    "position": SUBJECTS["position"],
    "velocity": SUBJECTS["velocity"],
}


class TestBodiesGroup(groups.GroupCases):
    world = Game
    kind = BodiesGroup
    group = "bodies"
    members: ClassVar = BODIES_MEMBERS


class _BodiesGroupMachine(groups.GroupRules):
    world = Game
    kind = BodiesGroup
    group = "bodies"
    members: ClassVar = BODIES_MEMBERS


TestBodiesGroupMachine = _BodiesGroupMachine.TestCase
TestBodiesGroupMachine.settings = groups.SETTINGS


ACTORS_MEMBERS = {
    "ai_state": SUBJECTS["ai_state"],
    "skinned_mesh": SUBJECTS["skinned_mesh"],
    "villager": SUBJECTS["villager"],
}


class TestActorsGroup(groups.GroupCases):
    world = Game
    kind = ActorsGroup
    group = "actors"
    members: ClassVar = ACTORS_MEMBERS


class _ActorsGroupMachine(groups.GroupRules):
    world = Game
    kind = ActorsGroup
    group = "actors"
    members: ClassVar = ACTORS_MEMBERS


TestActorsGroupMachine = _ActorsGroupMachine.TestCase
TestActorsGroupMachine.settings = groups.SETTINGS


class TestSaving(world_features.SavingCases):
    world = Game
    subjects: ClassVar = SUBJECTS
    unowned: ClassVar = UNOWNED
