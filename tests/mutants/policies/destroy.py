"""Ways to break what tells of rows that go, and what takes those of the dead."""

from tests.mutants._base import Mutant, managers, module

ANNOUNCED = ("test_texture.py", "test_every_type.py")

GROUPS = (
    module(
        "_runtime/managers/policies/destroy.py",
        ("test_skinned_mesh.py",),
        Mutant("nobody tells who died", r"self\._entities\.add_listener\(.*\)"),
        Mutant(
            "only the first of the dead goes",
            r"self\.remove_many, entities\)",
            "self.remove_many, entities[:1])",
        ),
        Mutant("entities die while it is locked", r"if self\._locks:", "if False:"),
    ),
    managers(
        "release",
        Mutant("rows go before they are announced", r"if not notified and .*:", "if False:"),
    ),
    module(
        "_runtime/managers/policies/destroy.py",
        ANNOUNCED,
        Mutant(
            "failures stop a removal",
            r"self\._dispatch\.run\(self\._notify_and_destroy, row\)",
            "self._notify_and_destroy(row)",
        ),
        Mutant("callbacks are not kept", r"self\._released\.add", "Callbacks[RowArray]().add"),
        Mutant("the rows that go become read-only", r"rows\.copy\(\)", "rows"),
        Mutant("a row is shown to nobody", r"self\._notify_release\(np\.array\(\[row\]\)\)"),
        Mutant(
            "callbacks change what is going to be created",
            r"return \{\s*name: c if [^}]*\}",
            "return columns",
        ),
    ),
    module(
        "_runtime/managers/manager.py",
        ANNOUNCED,
        Mutant("it is not locked meanwhile", r"self\._lock\(ref\(hold\)\)"),
        Mutant("rows shown can be overwritten", r"rows\.flags\.writeable = False"),
        Mutant("rows are shown to nobody", r"dispatch\.notify\(callbacks\.run, rows\)"),
    ),
    managers("add", Mutant("nobody hears of a new row", r"self\._notify_created\(row\)")),
    module(
        "_runtime/managers/policies/additions.py",
        ("test_crew.py",),
        Mutant(
            "a few rows come one by one", r"return None if self\._added\.entries else", "return"
        ),
        Mutant("nobody hears of many new rows", r"self\._complete_and_notify\(.*rows\)"),
        Mutant("children come before their parents are known", r"self\._complete_rows\(rows\)"),
        Mutant("rows that moved are not found", r"moved = .*", "moved = False"),
        Mutant("rows that have gone are shown", r"rows\.compress\(rows != NIL\)", "rows"),
        Mutant("components come in any order", r"sorted\((additions), key=.*\):", r"\1:"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_every_type.py", "test_skinned_mesh.py"),
        Mutant(
            "failures stop a creation of many",
            r"self\._dispatch\.run\(self\.evict_and_append, entities",
            "self._replace(entities",
        ),
    ),
    module(
        "_runtime/managers/policies/destroy.py",
        ("test_point_mass.py", "test_transform.py", "test_every_type.py"),
        Mutant("three alive in a row are enough", r"(\w*in_(?:a_)?row) < 4", r"\1 < 3"),
        Mutant("five alive in a row are needed", r"(\w*in_(?:a_)?row) < 4", r"\1 <= 4"),
        Mutant("the alive need not be in a row", r"^( +)\w*in_(?:a_)?row = 0$", r"\1pass"),
        Mutant("rows are counted twice", r"collected \+= self", "collected += 1 + self"),
        Mutant(
            "the last row is never picked", r"pick\(\) \* data\._n\)", "pick() * (data._n - 1))"
        ),
        Mutant("saving loses the generator", r"self\._rng\.setstate\(.*\)"),
        Mutant(
            "the generator given is not used", r"self\._rng if rng is None else rng", "self._rng"
        ),
        Mutant("holes are picked", r"owner == NULL_ENTITY or ", ""),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "a failing callback ends the picks",
            r"if self\.HAS_RELEASE_CALLBACKS and not .*:",
            "if False:",
        ),
    ),
)
