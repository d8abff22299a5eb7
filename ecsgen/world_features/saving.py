"""Saving worlds into files that outlive the code, and loading them."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(name="saving", applies=lambda project: True, order=90)
