"""Game: all components together."""

from __future__ import annotations

from typing import ClassVar

from ecsgen_testing import (
    entities,
    groups,
    kernel_cases,
    queries,
    spawning,
    world_features,
)
from hypothesis import given

from .. import ActorsGroup, BodiesGroup, EntityManager, EntityView, Game, Signature
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


class TestGame(spawning.SpawningCases):
    world = Game
    subjects: ClassVar = SUBJECTS
    unowned: ClassVar = UNOWNED


class _Entities(entities.EntityRules):
    manager = EntityManager


TestEntities = _Entities.TestCase
TestEntities.settings = entities.SETTINGS


schema = kernel_cases.read_schema(r"""
{"enums": {"Condition": {"susceptible": 0,
"infectious": 1,
"recovered": 2},
"Element": {"blunt": 0,
"fire": 1,
"frost": 2}},
"components": {"Armor": {"module": "armor",
"fields": {"points": {"type": "u16", "default": 10}, "element": {"type": "Element",
"default": 0}},
"archetypes": true},
"Boid": {"module": "boid",
"fields": {"position": "f32[2]", "heading": {"type": "f32[2]", "default": [1.0, 0.0]}},
"space": {"field": "position", "wrap": [100.0, 60.0]}},
"Burning": {"module": "burning",
"archetypes": true},
"CelestialBody": {"module": "celestial_body",
"fields": {"gm": "f64", "position": "f64[3]", "velocity": "f64[3]", "acceleration":
"f64[3]", "radius": "f64"},
"kernels": {"kick": {"args": {"dt": "f64"}, "steps": ["velocity += acceleration * dt"]},
"drift": {"args": {"dt": "f64"}, "steps": ["position += velocity * dt"]}}},
"Energy": {"module": "energy",
"fields": {"stored": {"type": "f32", "default": 1.0}}},
"Hawk": {"module": "hawk",
"fields": {"hunger": {"type": "f32", "default": 1.0}, "prey": "entity", "rivals":
"i32"}},
"Health": {"module": "health",
"fields": {"points": {"type": "f32", "default": 100.0}, "limit": {"type": "f32",
"default": 100.0}, "recovery": "f32"},
"archetypes": true},
"Kin": {"module": "kin",
"hierarchy": "root",
"fields": {"born": "i32"}},
"Meeting": {"module": "meeting",
"owner": "none",
"ids": true,
"fields": {"one": "entity", "other": "entity"}},
"Particle": {"module": "particle",
"fields": {"position": "f32[2]", "velocity": "f32[2]", "life": {"type": "f32",
"default": 1.0}, "colour": {"type": "u8[4]", "default": [255, 255, 255, 255]}},
"kernels": {"simulate": {"args": {"dt": "f32", "gravity": "f32"}, "steps":
["velocity.y += gravity * dt", "position += velocity * dt", "life -= dt"]}}},
"Person": {"module": "person",
"fields": {"condition": {"type": "Condition", "default": 0}, "exposed": "bool", "days":
"u16"}},
"PointMass": {"module": "point_mass",
"lookup": "hash",
"fields": {"mass": {"type": "f32", "default": 1.0}, "position": "f32[3]", "velocity":
"f32[3]", "acceleration": "f32[3]"},
"kernels": {"simulate": {"args": {"dt": "f32"}, "steps":
["velocity += acceleration * dt", "position += velocity * dt"]}}},
"Position": {"module": "position",
"fields": {"value": "f32[3]"}},
"Predator": {"module": "predator"},
"Spark": {"module": "spark",
"owner": "none",
"ids": true,
"partition": "active",
"fields": {"position": "f32[2]", "velocity": "f32[2]", "heat": {"type": "f32",
"default": 1.0}},
"kernels": {"flicker": {"args": {"strength": "f32"}, "rows": "active", "steps":
["velocity += normal(2) * strength", "heat *= uniform(0.9, 1.0)"]}}},
"Static": {"module": "static"},
"Transform": {"module": "transform",
"lookup": "direct",
"fields": {"translation": "f32[3]", "rotation": {"type": "f32[4]", "default": [0.0, 0.0,
0.0, 1.0]}, "scale": {"type": "f32[3]", "default": [1.0, 1.0, 1.0]}}},
"Velocity": {"module": "velocity",
"fields": {"value": "f32[3]"}},
"Weapon": {"module": "weapon",
"fields": {"damage": {"type": "f32", "default": 1.0}, "reach": {"type": "f32[2]",
"default": [0.0, 1.5]}, "direction": "f32[3]", "grip": "f32[3,3]", "elements": {"type":
"Element[2]", "default": [0, 0]}, "sharp": "bool", "wielder": "entity"},
"archetypes": true}},
"world": {"name": "Game",
"kernels": {"carry": {"over": "movers", "args": {"dt": "f32"}, "steps":
["Transform.translation += PointMass.velocity * dt"]},
"drift": {"over": "bodies", "args": {"dt": "f32"}, "steps":
["Position.value += Velocity.value * dt"]},
"stray": {"over": "bodies", "args": {"strength": "f32"}, "steps":
["Velocity.value += normal(3) * strength"]},
"shove": {"over": "bodies", "args": {"push": {"type": "f32[3]", "each": true}}, "steps":
["Velocity.value += push"]},
"haul": {"over": "movers", "args": {"share": {"type": "f32", "each": true}, "dt":
"f32"}, "where": "share > 0", "steps":
["Transform.translation += PointMass.velocity * (dt * share)"]},
"scorch": {"over": "ablaze", "args": {"dt": "f32", "heat": "f32"}, "steps":
["Health.points = max(Health.points - heat * dt, 0)"]},
"strain": {"over": "fighters", "args": {"turn": {"type": "f32[3]", "each": true},
"share": {"type": "f32", "each": true}}, "steps": ["Weapon.direction += turn * share"]},
"parry": {"over": "fighters", "args": {"blow": "f32[3]", "far": "f32"}, "where":
"Weapon.reach.y >= far", "steps":
["Weapon.direction = normalize(Weapon.direction + blow)"]},
"infect": {"over": "Meeting", "args": {"chance": "f64"}, "where": "bernoulli(chance)",
"steps":
["if Meeting.other.Person.condition == Condition.infectious:
    Meeting.one.Person.exposed = true
if Meeting.one.Person.condition == Condition.infectious:
    Meeting.other.Person.exposed = true
"]},
"scatter": {"over": "Boid", "args": {"sight": "f32"}, "where": "count() > 0", "near":
{"other": {"radius": "sight", "among": "hawks"}}, "steps":
["fear = sum(normalize(offset) * other.Hawk.hunger)",
"Boid.heading = normalize(Boid.heading - fear)"]},
"huddle": {"over": "Boid", "args": {"reach": "f32"}, "where": "count() > 0", "near":
{"other": {"radius": "reach"}}, "steps": ["Boid.position += mean(offset) * 0.125"]},
"chase": {"over": "hawks", "args": {"sight": "f32"}, "near": {"other": {"radius":
"sight", "among": "Boid"}}, "steps":
["Boid.heading = normalize(Boid.heading + sum(offset + other.Boid.heading) * 0.25)"]},
"part": {"over": "hawks", "near": {"other": {"radius": 10.0}}, "steps":
["Hawk.rivals = i32(count())",
"Hawk.hunger = (Hawk.hunger + sum(other.Hawk.hunger)) / f32(Hawk.rivals + 1)",
"Boid.heading -= sum(offset) * 0.05"]},
"strike": {"over": "hawks", "args": {"reach": "f32"}, "turns": "random", "near":
{"other": {"radius": "reach", "among": "Boid"}}, "steps":
["Hawk.prey = nearest(other.entity)", "Hawk.hunger += -0.5 if count() > 0 else 0.1",
"Boid.position += nearest(offset) * 0.9", "Hawk.prey.Boid.position -= Boid.heading"]},
"spread": {"over": "hawks", "args": {"apart": "f64"}, "turns": "rows", "near": {"other":
{"radius": "apart"}}, "steps":
["Boid.position -= sum(offset) * 0.5 / f32(max(count(), 1))"]},
"dodge": {"over": "Boid", "where": "count() > 0", "turns": "rows", "near": {"other":
{"radius": 5.0, "among": "hawks"}}, "steps": ["Boid.position -= nearest(offset)",
"Boid.heading = sum(other.Boid.heading) * 0.5"]}},
"schedules": {"frame": [{"run": "stray"}, {"run": "drift"}, {"run": "carry"}, {"run":
"PointMass.simulate"}, {"run": "Particle.simulate"}, {"run": "Spark.flicker"}, {"run":
"scorch"}],
"orbit": [{"run": "CelestialBody.kick"}, {"run": "CelestialBody.drift"}, {"run":
"CelestialBody.kick"}],
"watch": [{"run": "outbreak"}, {"run": "ill", "every": 7}, {"run": "tick"}]},
"records": {"outbreak": {"columns": {"persons": {"function": "count", "of": "true",
"over": "Person"}, "infectious": {"function": "count", "of":
"Person.condition == Condition.infectious", "over": "Person"}, "exposed": {"function":
"count", "of": "Person.exposed", "where": "Person.days < 9", "over": "Person"}, "days":
{"function": "sum", "of": "Person.days", "where": "Person.exposed", "over": "Person"},
"longest": {"function": "max", "of": "Person.days", "over": "Person"}, "fed":
{"function": "sum", "of": "Energy.stored", "where": "Velocity.value.x > 0", "over":
"grazers"}, "strength": {"function": "mean", "of": "Energy.stored", "over": "grazers"},
"uneven": {"function": "gini", "of": "Energy.stored", "over": "grazers"}, "spread":
{"function": "std", "of": "Position.value.x", "over": "bodies"}, "health": {"function":
"mean", "of": "Health.points", "over": "ablaze"}}},
"ill": {"rows": "Person", "fields": ["Person.condition", "Person.exposed"], "where":
"Person.condition == Condition.infectious"}},
"queries": {"ablaze": {"all": ["Health", "Burning"], "none": ["Armor"], "archetypes":
true},
"fighters": {"all": ["Weapon"], "any": ["Health", "Armor"], "archetypes": true},
"grazers": {"all": ["Position", "Velocity", "Energy", "Kin"], "none": ["Predator"]},
"hawks": {"all": ["Boid", "Hawk"]},
"movers": {"all": ["Transform", "PointMass"], "none": ["Static"]}},
"groups": {"bodies": ["Position", "Velocity"]}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_carry(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "carry", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_drift(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "drift", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_stray(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "stray", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_shove(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "shove", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_haul(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "haul", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_scorch(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "scorch", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_strain(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "strain", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_parry(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "parry", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_infect(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "infect", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_scatter(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "scatter", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_huddle(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "huddle", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_chase(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "chase", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_part(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "part", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_strike(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "strike", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_spread(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "spread", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_dodge(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(Game, schema, "dodge", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_table_outbreak(rows: int, seed: int) -> None:
    """Compare the lines of the table with the reference interpreter."""
    kernel_cases.check_table(Game, schema, "outbreak", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_table_ill(rows: int, seed: int) -> None:
    """Compare the lines of the table with the reference interpreter."""
    kernel_cases.check_table(Game, schema, "ill", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_schedule_frame(rows: int, seed: int) -> None:
    """Compare the schedule with the calls of its kernels."""
    kernel_cases.check_schedule(Game, schema, "frame", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_schedule_orbit(rows: int, seed: int) -> None:
    """Compare the schedule with the calls of its kernels."""
    kernel_cases.check_schedule(Game, schema, "orbit", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_schedule_watch(rows: int, seed: int) -> None:
    """Compare the schedule with the calls of its kernels."""
    kernel_cases.check_schedule(Game, schema, "watch", rows, seed)


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
        "armed": ("health", "weapon"),
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
    values: ClassVar = {
        "armed": {
            "health": {"points": 80.0, "recovery": 0.5},
            "weapon": {"reach": (0.0, 2.0), "name": "sword"},
        },
        "hero": {
            "health": {"points": 100.0, "recovery": 0.5},
            "point_mass": {"mass": 80.0},
            "weapon": {"reach": (0.0, 2.0), "name": "sword"},
        },
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
