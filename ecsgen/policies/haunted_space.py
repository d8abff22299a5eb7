"""Spaces in which kernels find ghosts as well as own rows."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="haunted_space",
    applies=lambda c: c.sees_ghosts,
    order=-21,  # before the two that it is made of
    base="HauntedSpace",
)
