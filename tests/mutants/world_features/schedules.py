"""Ways to break the schedules of a world."""

from tests.mutants._base import Mutant, managers, module, world

GROUPS = (
    world(
        "schedules",
        Mutant(
            "a kernel is not called",
            r"^        self\.\w+\._?(simulate|flicker|orbit_1)\(.*",
            "        pass",
        ),
        Mutant(
            "arguments are not checked at first",
            r"^        _FRAME_HEAT_GIVEN\.one\(heat\)",
            "        pass",
        ),
        Mutant("a pass is left out", r"self\._frame_1\(strength, dt\)", "pass"),
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
        Mutant(
            "the last block is as long as the others",
            r"end = min\(start \+ 1024, n\)",
            "end = start",
        ),
        Mutant("each block is the first", r"\[3 \* start : 3 \* end\]", "[0 : 3 * (end - start)]"),
    ),
    module(
        "_runtime/compiled/compiled_references.py",
        ("test_world.py",),
        Mutant("rows of a block are the first", r"rows\[0\] \+ start", "rows[0]"),
        Mutant(
            "scattered rows of a block are the first", r"rows\[start:end\]", "rows[: end - start]"
        ),
    ),
)
