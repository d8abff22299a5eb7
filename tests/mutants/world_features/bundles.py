"""Ways to break what `bundles` does."""

from tests.mutants._base import Mutant, world

GROUPS = (
    world(
        "bundles",
        Mutant("overrides are ignored", r"=\{\} if \w+ is None else \w+,", "={},"),
        Mutant("a component is left out", r"^ +\w+=\{\} if \w+ is None else \w+,\n", ""),
    ),
)
