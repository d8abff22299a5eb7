"""Ways to break what `world_kernels_numpy` does."""

from tests.mutants._base import Mutant, world

GROUPS = (
    world(
        "kernel_methods_numpy",
        Mutant("blocks are kept whatever changes", r" or _blocks\.stamp != \w+:$", ":"),
        Mutant(
            "what is written is not put back",
            r"(found\.members\[\d\],\s+True,\s+)True",
            r"\1False",
        ),
        Mutant("what was there is not read", r"(found\.members\[\d\],\s+)True", r"\1False"),
        Mutant("rows of another component", r"found\.members\[1\]", "found.members[0]"),
        Mutant(
            "who asks is asked",
            r"(joined_(?:turn_)?given\(\s+\"[^()]*_rows), \w+_members(?=\s+\))",
            r"\1",
        ),
        Mutant(
            "what is asked is of other rows",
            r"(BlockColumn\([^()]*), \w+_members\)",
            r"\1, _boid_rows)",
        ),
        Mutant(
            "rows that ask are others",
            r"(BlockColumn\(\s*self[^()]*), _hawk_rows(?=, True)",
            r"\1, _boid_rows",
        ),
        Mutant(
            "what neighbours ask for is not put back",
            r"(BlockColumn\((?:[^()]|\([^()]*\))*_rows,\s+True,\s+)True",
            r"\1False",
        ),
        Mutant("the radius is a tenth", r"_radius = (.*\d.*|float\(.*\))$", r"_radius = \1 * 0.1"),
        Mutant(
            "who moves is not noticed", r"^    ( +)move_to\((?:[^()]|\([^()]*\))*\)$", r"    \1pass"
        ),
        Mutant("turns are in the order of rows", r"turn_order\(.*\)$", "np.arange(_found.count)"),
        Mutant("the farthest is the nearest", r"(f == 0 or _?square) < ", r"\1 > "),
        Mutant("of several the last is the nearest", r"(f == 0 or _?square) < ", r"\1 <= "),
        Mutant("members are rows", r"heading\[2 \* \w+_members\[o\]", "heading[2 * o"),
    ),
)
