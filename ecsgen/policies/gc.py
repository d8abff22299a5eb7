"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="gc",
    applies=lambda c: c.owner == "entity" and c.destroy == "gc",
    base="Gc",
    state=("_rng",),
)
