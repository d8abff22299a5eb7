"""Ways to break what `gc` does."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/policies/destroy.py",
        ("test_point_mass.py", "test_transform.py", "test_every_type.py"),
        Mutant("three alive in a row are enough", r"(\w*in_(?:a_)?row) < 4", r"\1 < 3"),
        Mutant("five alive in a row are needed", r"(\w*in_(?:a_)?row) < 4", r"\1 <= 4"),
        Mutant("the alive need not be in a row", r"^( +)\w*in_(?:a_)?row = 0$", r"\1pass"),
        Mutant("rows are counted twice", r"collected \+= self", "collected += 1 + self"),
        Mutant(
            "the last row is never picked", r"pick\(\) \* data\._n\)", "pick() * (data._n - 1))"
        ),
        Mutant("saving loses the generator", r"self\._rng\.setstate\(.*\)", "pass"),
        Mutant(
            "the generator given is not used", r"self\._rng if rng is None else rng", "self._rng"
        ),
        Mutant("holes are picked", r"owner == NULL_ENTITY or ", ""),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant("a failing callback ends the picks", r"if self\._RELEASES and not .*:", "if False:"),
    ),
)
