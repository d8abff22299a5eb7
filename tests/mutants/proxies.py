"""Ways to break rows and entities as objects."""

from tests.mutants._base import Mutant, module

ROWS = ("test_particle.py", "test_spark.py", "test_sound_source.py", "test_every_type.py")
COLD = ("test_villager.py",)
CHUNKS = ("test_archetypes.py",)
WORLD = ("test_world_cases.py", "test_world.py", "test_archetypes.py")

GROUPS = (
    module(
        "_runtime/managers/row_proxies.py",
        ROWS,
        Mutant("a proxy stays where it was", r"self\._row = self\._found\(.*\)"),
        Mutant("rows of lists are followed", r"if self\._owner is None:", "if False:"),
        Mutant("a row of an id that is gone", r"if row == NIL:", "if False:"),
        Mutant(
            "fields are read where the row was",
            r"if manager\.data\._version != self\._version:",
            "if False:",
        ),
        Mutant(
            "a row that moves meanwhile is not found",
            r"write\(manager, LateRow\(self\), value\).*",
            "write(manager, self.row, value)",
        ),
        Mutant("views are not written", r"cell\[\.\.\.\] = value"),
        Mutant("views of where the row was", r"_version != self\._version", "_version < 0"),
        Mutant("a step too far", r"\[step \* n for n", "[2 * step * n for n"),
        Mutant("rows that go are not skipped", r"if now != version:", "if False:"),
        Mutant("lists go on behind a change", r"if data\._version != version:", "if False:"),
    ),
    module(
        "_runtime/managers/row_proxies.py",
        COLD,
        Mutant("defaults can be written to", r"cell\.flags\.writeable = False"),
        Mutant("what is written to a default is lost", r"self\._field\.__set__\(.*\)"),
        Mutant("operations in place are lost", r"out\[\.\.\.\] = values"),
        Mutant("a cold row is not looked for", r"if cold_row != NIL:", "if False:"),
    ),
    module(
        "_runtime/world/archetypes/chunk_proxies.py",
        CHUNKS,
        Mutant("a row in a chunk is not followed", r"_version != self\._version:", "_version < 0:"),
        Mutant("a field in a chunk is not written", r"self\._manager\._set\(.*\)"),
    ),
    module(
        "_runtime/world/entity_views.py",
        WORLD,
        Mutant("two rows of one", r"if len\(class_rows\) > 1 and", "if False and"),
        Mutant("values are not checked first", r"holders\[kind\]\.check_row_values\(row\)"),
        Mutant(
            "a second instance is added",
            r"not holder\.ALLOWS_MANY and holder\.has\(entity\)",
            "False",
        ),
        Mutant("dead entities are in the world", r"and self\.entities\.alive\(.*\)", ""),
        Mutant("any class is a component", r"if holder is None:", "if False:"),
        Mutant(
            "the dead have components", r"world\.entities\.require\(view\._entity\)", "view._entity"
        ),
        Mutant("the dead are shown", r"if not world\.entities\.alive\(.*\):", "if False:"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_world_cases.py",),
        Mutant("methods are overridden", r"raise _overrides\(", "_overrides("),
    ),
    module(
        "_runtime/world/world_base.py",
        ("test_world_cases.py", "test_world.py"),
        Mutant("any class is a manager", r"or not issubclass\(kind, base\)", ""),
        Mutant("nobody's managers are one's own", r"subclasses\[base\] = kind"),
        Mutant("one row of several", r"np\.repeat\(entities, count\)", "entities"),
    ),
)
