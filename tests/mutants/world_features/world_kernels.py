"""Ways to break kernels of the world, and what calls them."""

from tests.mutants._base import Mutant, managers, module, world

GROUPS = (
    world(
        "kernel_methods_numpy",
        Mutant("blocks are kept whatever changes", r" or _blocks\.stamp != \w+:$", ":"),
        Mutant(
            "what is written is not put back",
            r"(match\.members\[\d\],\s+True,\s+)True",
            r"\1False",
        ),
        Mutant("what was there is not read", r"(match\.members\[\d\],\s+)True", r"\1False"),
        Mutant("rows of another component", r"_match\.members\[1\]", "_match.members[0]"),
        Mutant(
            "who asks is asked",
            r"(join_(?:live_)?search_arguments\(\s+\"[^()]*_rows), \w+_members(?=\s+\))",
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
            "who moves is not noticed",
            r"^    ( +)move_to_cell\((?:[^()]|\([^()]*\))*\)$",
            r"    \1pass",
        ),
        Mutant("turns are in the order of rows", r"turn_order\(.*\)$", "np.arange(_match.count)"),
        Mutant("the farthest is the nearest", r"(f == 0 or _?square) < ", r"\1 > "),
        Mutant("of several the last is the nearest", r"(f == 0 or _?square) < ", r"\1 <= "),
        Mutant("members are rows", r"heading\[2 \* \w+_members\[o\]", "heading[2 * o"),
    ),
    world(
        "kernel_methods_numba",
        Mutant("all rows of a member", r"_n = self\.(\w+)\.n$", r"_n = self.\1._first.data.n"),
        Mutant("the first row is left out", r"for i in range\(n\):", "for i in range(1, n):"),
        Mutant("all rows match", r"^( +)if \w+\[\w+\] .*:$", r"\1if True:"),
        Mutant("rows of another component", r"_match\.numbers\(1\)", "_match.numbers(0)"),
        Mutant("scattered rows are the first", r"row_at\((\w+), i\)", r"row_at(\1, 0)"),
        Mutant("the first chunk is left out", r"range\(len\(rows\)\)", "range(1, len(rows))"),
        Mutant("columns of the first chunk", r"addresses\[k, (\d)\]", r"addresses[0, \1]"),
        Mutant("rows in step are the first", r"(\w+_rows)\[0\] :\]", r"0 * \1[0] :]"),
    ),
    world(
        "chunk_queries",
        Mutant("the field beside", r"(fields = \(ChunkField\(\d+, )0\)", r"\g<1>1)"),
    ),
    module(
        "_runtime/kernels/chunk_blocks.py",
        ("test_world.py",),
        Mutant(
            "kernels over chunks: blocks are kept whatever changes", r"!= store\.version:", "< 0:"
        ),
        Mutant(
            "kernels over chunks: rows that came or went do not matter",
            r"if n != chunk\.n:",
            "if n < 0:",
        ),
        Mutant(
            "kernels over chunks: only the first chunk",
            r"(for chunk in archetype\.used\(\))(:)",
            r"\1[:1]\2",
        ),
    ),
    module(
        "_runtime/world/archetypes/archetype_store.py",
        ("test_world.py",),
        Mutant("kernels over chunks: memory is not given back", r"cache\.drop\(\)$"),
        Mutant(
            "kernels over chunks: memory is not counted", r"of_kernels: int = .*", "of_kernels = 0"
        ),
    ),
    world(
        "schedules",
        Mutant("a kernel is not called", r"self\.\w+\._?(simulate|flicker|orbit_1)\(.*"),
        Mutant("arguments are not checked at first", r"_FRAME_HEAT_GIVEN\.to_cell\(heat\)"),
        Mutant("a pass is left out", r"self\._frame_1\(strength, dt\)"),
    ),
    managers(
        "kernels_numpy",
        Mutant(
            "the second kernel of a pass runs before the first",
            r"( +# velocity \+= .*\n.*\n.*\n)( +# position \+= .*\n.*\n.*\n)",
            r"\2\1",
        ),
    ),
    managers(
        "kernels_numba",
        Mutant("the last block is as long as the others", r"= min\(start \+ 1024, n\)", "= start"),
        Mutant("each block is the first", r"\[3 \* start : 3 \* end\]", "[0 : 3 * (end - start)]"),
    ),
    module(
        "_runtime/kernels/compiled_references.py",
        ("test_world.py",),
        Mutant("rows of a block are the first", r"rows\[0\] \+ start", "rows[0]"),
        Mutant(
            "scattered rows of a block are the first", r"rows\[start:end\]", "rows[: end - start]"
        ),
    ),
)
