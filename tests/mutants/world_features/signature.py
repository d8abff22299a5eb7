"""Ways to break what `signature` and `bundles` do, and the seed of a world."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "signature",
        Mutant("two components share a bit", r"= 1 << 1$", "= 1 << 0"),
        Mutant("a bundle lacks a component", r"^(    [A-Z_0-9]+ = [A-Z_0-9]+) \| .*", r"\1"),
    ),
    module(
        "_runtime/world/signatures.py",
        ("test_world.py",),
        Mutant("a bit is one too high", r"bits \|= 1 << number", "bits |= 2 << number"),
        Mutant("who has not counts as having", r"if holder\.has\(", "if not holder.has("),
        Mutant(
            "only the first entity is looked at",
            r"signature_words\(holders, as_entities\(entities\)\)",
            "signature_words(holders, as_entities(entities)[:1])",
        ),
    ),
    world(
        "bundles",
        Mutant("overrides are ignored", r"=\{\} if \w+ is None else \w+,", "={},"),
        Mutant("a component is left out", r"^ +\w+=\{\} if \w+ is None else \w+,\n", ""),
        Mutant("a bundle's value is left out", r'"mass": 80\.0', ""),
        Mutant(
            "a bundle's values are ignored", r"fill_fields\((\w+), _values\[.*\]\)", r"\1 or {}"
        ),
    ),
    module(
        "_runtime/values/field_tables.py",
        ("test_world.py",),
        Mutant(
            "a bundle's value wins over the call's",
            r"\{\*\*values, \*\*written\}",
            "{**written, **values}",
        ),
        Mutant(
            "what a call says is all",
            r"\{\*\*values, \*\*written\} if",
            "written if written else values if",
        ),
    ),
    module(
        "_runtime/kernels/seeding.py",
        ("test_world.py",),
        Mutant("managers have seeds of their own", r"manager\.seed = number"),
        Mutant("the world's seed stays", r"self\._stream_state\.reset\(number\)"),
        Mutant(
            "the world's seed is not saved",
            r", \*\*self\._stream_state\.json_state\(\)\}(?=\n\n.*\n.*\n        state = parse)",
            "}",
        ),
        Mutant("the world's calls are lost", r"state\.seed, state\.calls", "state.seed"),
    ),
)
