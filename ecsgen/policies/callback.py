"""destroy: callback: the entity manager says at once which entities died."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="callback",
    applies=lambda c: c.owner == "entity" and c.destroy == "callback",
    base="Callback",
)
