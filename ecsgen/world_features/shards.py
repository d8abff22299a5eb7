"""Worlds of which there are several, in as many processes: entities go from one to another."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="shards",
    applies=lambda project: project.world.shards is not None,
    order=3,
    base=lambda project: "ShardedWorld",
    exports=lambda project: ("Blocks", "Parcel", "Shards"),
    parameters=lambda project: ("shard: int = 0",),
)
