"""Ways to break what `signature` does."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "signature",
        Mutant("two components share a bit", r"= 1 << 1$", "= 1 << 0"),
        Mutant("a bundle lacks a component", r"^(    [A-Z_0-9]+ = [A-Z_0-9]+) \| .*", r"\1"),
    ),
    module(
        "_runtime/world/signed.py",
        ("test_world.py",),
        Mutant("a bit is one too high", r"bits \|= 1 << place", "bits |= 2 << place"),
        Mutant("who has not counts as having", r"if holder\.has\(", "if not holder.has("),
        Mutant(
            "only the first entity is looked at",
            r"signature_words\(holders, as_entities\(entities\)\)",
            "signature_words(holders, as_entities(entities)[:1])",
        ),
    ),
)
