"""World: all components together."""

from __future__ import annotations

from typing import ClassVar

from .. import World
from . import (
    test_ai_state,
    test_celestial_body,
    test_every_type,
    test_particle,
    test_point_mass,
    test_scene_node,
    test_skinned_mesh,
    test_sound_source,
    test_spark,
    test_static,
    test_status_effect,
    test_texture,
    test_tile,
    test_transform,
    test_villager,
)
from ._support import spawning


class TestWorld(spawning.Cases):
    world = World
    subjects: ClassVar = {
        "ai_state": test_ai_state.under_test,
        "celestial_body": test_celestial_body.under_test,
        "every_type": test_every_type.under_test,
        "particle": test_particle.under_test,
        "point_mass": test_point_mass.under_test,
        "scene_node": test_scene_node.under_test,
        "skinned_mesh": test_skinned_mesh.under_test,
        "sound_source": test_sound_source.under_test,
        "static": test_static.under_test,
        "status_effect": test_status_effect.under_test,
        "tile": test_tile.under_test,
        "transform": test_transform.under_test,
        "villager": test_villager.under_test,
    }
    unowned: ClassVar = {
        "spark": test_spark.under_test,
        "texture": test_texture.under_test,
    }
