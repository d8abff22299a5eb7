"""growth: double: a full buffer is replaced by one of at least twice the size."""

from ecsgen.policies.policy import Policy

POLICY = Policy(name="doubling", role="growth", is_default=True, applies=lambda c: True)
