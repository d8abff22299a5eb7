"""Ways to break what `owned_children` does."""

from tests.mutants._base import Mutant, managers, module

KIN = ("test_kin.py", "test_scene_node.py", "test_limb.py")

GROUPS = (
    managers(
        "owned_children",
        Mutant("a new row has no parent", r"if parent is not NIL:", "if False:"),
        Mutant("new rows have no parents", r"if parents is not NIL:", "if False:"),
    ),
    module(
        "_runtime/policies/children.py",
        KIN,
        Mutant("any number is a parent", r"if 0 <= number < self\.data\._n:", "if True:"),
        Mutant(
            "parents are not followed",
            r"return planned \+ self\._followed\.planned\(.*\)",
            "return planned",
        ),
        Mutant("who made room is its own child", r"if above == row:", "if False:"),
        Mutant("no change is counted", r"data\._version \+= 1", "pass"),
        Mutant("parents that go are taken", r"if len\(lost\):", "if False:"),
        Mutant(
            "a dead entity does not count for more",
            r"self\._entities\.require\(entity\)",
            "pass",
        ),
    ),
)
