"""Ways to break the seed of a world."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/kernels/chance.py",
        ("test_world.py",),
        Mutant("managers have seeds of their own", r"manager\.seed = number", "pass"),
        Mutant("the world's seed stays", r"self\._chance\.reset\(number\)", "pass"),
        Mutant("the world's seed is not saved", r"return self\._chance\.notes\(\)", "return {}"),
        Mutant("the world's calls are lost", r"found\.seed, found\.calls", "found.seed"),
    ),
)
