"""Ways to break what `release` does."""

from tests.mutants._base import Mutant, managers, module

ANNOUNCED = ("test_texture.py", "test_every_type.py")

GROUPS = (
    managers(
        "release",
        Mutant("rows go before they are announced", r"if not told and .*:", "if False:"),
    ),
    module(
        "_runtime/policies/destroy.py",
        ANNOUNCED,
        Mutant(
            "failures stop a removal",
            r"self\._dispatch\.run\(self\._tell_and_destroy, row\)",
            "self._tell_and_destroy(row)",
        ),
        Mutant("it is not locked meanwhile", r"self\._lock\(ref\(hold\)\)", "pass"),
        Mutant(
            "callbacks are not kept",
            r"return self\._released\.add\(callback\)",
            "return Callbacks[RowArray]().add(callback)",
        ),
        Mutant(
            "callbacks change what goes",
            r"shown = rows\.copy\(\).*\n.*writeable = False",
            "shown = rows",
        ),
        Mutant("rows shown can be overwritten", r"shown\.flags\.writeable = False", "pass"),
        Mutant("the rows that go become read-only", r"rows\.copy\(\)", "rows[:]; rows = shown"),
        Mutant("rows are shown to nobody", r"self\._dispatch\.tell\(.*\)", "pass"),
        Mutant("a row is shown to nobody", r"self\._release\(np\.array\(\[row\]\)\)", "pass"),
        Mutant(
            "callbacks change what is going to be created",
            r"return \{\s*name: c if [^}]*\}",
            "return columns",
        ),
    ),
    module(
        "_runtime/policies/owned.py",
        ("test_every_type.py", "test_skinned_mesh.py"),
        Mutant(
            "failures stop a creation of many",
            r"self\._dispatch\.run\(self\._replace, ",
            "self._replace(",
        ),
    ),
)
