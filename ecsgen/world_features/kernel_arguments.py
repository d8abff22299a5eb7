"""Arguments of the world's kernels: what checks them, whatever the kernels are compiled to."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="kernel_arguments",
    applies=lambda project: bool(project.world.kernels),
    order=5,
)
