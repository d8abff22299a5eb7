"""Ways to break what saves worlds and loads them."""

from tests.mutants._base import Mutant, module

WORLD = ("test_world.py",)
ALL = ("test_world.py", "test_status_effect.py", "test_villager.py", "test_tile.py")

GROUPS = (
    module(
        "_runtime/snapshots/serialisation.py",
        ALL,
        Mutant("notes are not saved", r"if len\(noted\):", "if False:"),
        Mutant("generators and maps are not saved", r"manager\.extra_arrays\(\)\.items\(\)", "()"),
        Mutant("columns lie in no buffer", r"rows\.ROW_BYTES \* capacity", "0"),
    ),
    module(
        "_runtime/snapshots/saving.py",
        ALL,
        Mutant("retired indices are forgotten", r"n_retired\)$", "0)"),
        Mutant("groups have to be made anew", r"_n_grouped = .*", "_n_grouped = 0"),
        Mutant("notes are not loaded", r'if "entities\.noted" in saved\.arrays:', "if False:"),
        Mutant("objects are not loaded", r"rows\.take_objects\(.*\)"),
        Mutant("what follows is not worked out", r"rows\._restore\(\)"),
        Mutant("maps are not made", r"^( +)manager\._restore\(", r"\1dict("),
        Mutant("generators begin anew", r'\("_rng",\)', "()"),
    ),
    module(
        "_runtime/snapshots/policy_rules.py",
        ("test_world.py",),
        Mutant(
            "files may not say who is where",
            r"^    columns={\"(?!parent|newer).*}",
            "    columns={}",
        ),
        Mutant(
            "files may not say how many there are", r"^    numbers={\"n_.*},", "    numbers={},"
        ),
        Mutant("no bound is the right one", r"NumberRule\(0, \"n\"\)", "Number(1, 0)"),
    ),
    module(
        "_runtime/snapshots/saving.py",
        WORLD,
        Mutant("nothing is verified", r"if verified:", "if False:"),
        Mutant("callbacks may save", r"if any\(dispatch\.is_open.*\):", "if False:"),
        Mutant("attributes are not loaded", r"(?<=    )load_attributes\(world, .*\)"),
    ),
    module(
        "_runtime/snapshots/chunk_serialisation.py",
        ("test_archetypes.py", "test_world.py"),
        Mutant(
            "all parts are the first one", r"(np\.cumsum\(counts), dtype=np\.intp\)", r"0 * \1)"
        ),
        Mutant("chunks: the version begins anew", r'(?<="version": )state\["version"\]', "0"),
    ),
)
