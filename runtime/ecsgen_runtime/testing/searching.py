"""How long tests search: a tenth of the examples of Hypothesis' profile each, at least five."""

from __future__ import annotations

from typing import Final

from hypothesis import HealthCheck, settings

EXAMPLES: Final = max(5, settings().max_examples // 10)
SEARCH: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    # Each package that is tested has a class with the same method.
    suppress_health_check=[HealthCheck.differing_executors],
)
