"""Ways to break what `callback` does."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/policies/destroy.py",
        ("test_skinned_mesh.py",),
        Mutant("nobody tells who died", r"self\._entities\._attach\(.*\)", "pass"),
        Mutant(
            "only the first of the dead goes",
            r"self\.remove_many\(entities\)",
            "self.remove_many(entities[:1])",
        ),
        Mutant("entities die while it is locked", r"if self\._locks:", "if False:"),
    ),
)
