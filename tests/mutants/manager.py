"""Ways to break what every manager has."""

from tests.mutants._base import CHECKED_AGAIN, Mutant, every_manager, module

ROW_CHECK = rf"not 0 <= row < data\._n:{CHECKED_AGAIN}"

GROUPS = (
    every_manager(
        Mutant("a change is not counted", r"data\._version \+= 1$"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        # Slots fill up with the rows, so where there are ids, these grow as well.
        Mutant(
            "the full buffer does not count as full",
            r"data\._n == data\._allocated:(?![\s\S]*[^_]_slots)",
            "data._n == -1:",
        ),
        Mutant("it grows a row too early", r"== data\._allocated:$", "== data._allocated - 1:"),
        Mutant(
            "a default has another word",
            r"= pack_cell\((\w+), (\w+)\)$",
            r"= pack_cell(\1, \2) ^ 1",
        ),
        Mutant(
            "two columns lie at the same place", r"self\._column_view\(2\)", "self._column_view(1)"
        ),
        Mutant("cells are read at a wrong stride", r"\b\d+ \* row", "4 * row"),
        Mutant("the row behind the last is accepted", ROW_CHECK, "not 0 <= row <= data._n:"),
        Mutant("the first row is not checked for being negative", ROW_CHECK, "row >= data._n:"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_point_mass.py", "test_particle.py", "test_world.py"),
        Mutant("rows are not forgotten", r"hook\(self, removed\)"),
        Mutant("the removal of many is not counted", r"(self\.)?data\._version \+= 1$"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "it grows too early for many",
            r"needed = data\.capacity_for\(len\(entities\)\)",
            r"\g<0> + 1",
        ),
        Mutant("many have no room", r"if needed > data\.allocated:", "if False:"),
        Mutant("saving loses rows", r'= state\["data"\]', "= self.ROWS(self._CAPACITY)"),
        Mutant("repeated rows are accepted", r"self\._distinct\(checked\)", "checked"),
        Mutant("reserve is not counted", r"rows, is_counted=True", "rows"),
        Mutant("shrinking is not counted", r"_shrink\(is_counted=True\)", "_shrink()"),
        Mutant("it reserves less than nothing", r"if rows < 0:", "if False:"),
        Mutant(
            "arguments may be views of what they change",
            r"buffer = self\.data\.buffer",
            "buffer = None",
        ),
        Mutant("arguments count as held views", "needed, borrowed", "needed"),
    ),
    module(
        "_runtime/base/locks.py",
        ("test_point_mass.py", "test_world.py", "test_archetypes.py"),
        Mutant("a lock is not noticed", r"raise self\._lock_error\(\)"),
        Mutant("a lock ends with an inner one", r"holds\.pop\(\)", "holds.clear()"),
        Mutant("a lock never ends", r"hold is not None and not hold\.closed", "True"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_texture.py",),
        Mutant("rows go unannounced", r"self\._notify_release\(removed\)"),
        Mutant("failures stop a removal of many", r"not self\._dispatch\.is_open\(\)", "False"),
        Mutant(
            "a loaded one attaches to nothing",
            r"(load_json_state\(.*\n +)self\._init_transient\(\)",
            r"\1pass",
        ),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_every_type.py",),
        Mutant("what broke goes on", r"(?<=\n        )mark_broken\(self\)$"),
        Mutant("the columns of what broke go on", r"mark_broken\(self\.data\)"),
    ),
)
