"""Ways to break what every world has."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "world.py",
        ("test_world.py",),
        Mutant(
            "a manager has entities of its own",
            r"Manager\)\(self\.entities\)",
            "Manager)(EntityManager())",
        ),
        Mutant("a manager is not among all", r"^ +\w+: self\.\w+,\n", ""),
        Mutant("a manager does not collect", r"^ {12}self\.\w+,\n", ""),
        Mutant("a component is not spawned", r"^ {16}\w+: \w+,\n", ""),
    ),
    module(
        "_runtime/world/world_base.py",
        ("test_world.py",),
        Mutant("fields that there are not", r"parse_columns\(.*\)$", "fields"),
        Mutant("arguments count as held views", r"tuple\(borrowed\)", "()"),
        Mutant("a failing spawn leaves all", r"(?<!def )\brollback_creation\(.*\)"),
        Mutant(
            "failures of a spawn are hidden",
            r"(rollback_spawn\((?:entities|np\.array\(entities.*)\)\n +)raise$",
            r"\1pass",
        ),
        Mutant(
            "failures stop the others", r"self\.entities\.dispatch\.run\(lambda: (.*)\)$", r"\1"
        ),
        Mutant(
            "callbacks write to what is spawned",
            r"manager\.HAS_RELEASE_CALLBACKS and manager\._has_release_listeners:$",
            "False:",
        ),
        Mutant(
            "a manager is left out of the sum",
            r"(sum\(.*)in self\.collecting_managers\)",
            r"\1in self.collecting_managers[1:])",
        ),
        Mutant(
            "nobody dies of a collection",
            r"if not any\(manager\.DESPAWNS_OWNERS .*\):",
            "if True:",
        ),
        Mutant("empty entities are all", r"entities = entities\[.*\]"),
        Mutant("components that it does not have", r" if holder\.has\(entity\)\)", ")"),
        Mutant("a collection does not flush", r"died = self\._flush\(\)"),
        Mutant("rows of a few stay", r"return sum\(manager\.remove_many.*", "return 0"),
        Mutant("nobody is destroyed", r"self\.entities\.destroy(_many)?\(.*\)$"),
        Mutant("what is noted is forgotten", r"noted\.extend\(.*\)"),
        Mutant(
            "the first note is forgotten", r"noted = self\._deferred_despawns = \[\]", "noted = []"
        ),
        Mutant("the dead are meant", r"handles\[self\.entities\.alive_many\(.*\)\]", "handles"),
        Mutant("the dead are meant among a few", r"if alive\(note\) and ", "if "),
        Mutant("each of a few notes is a death", r" and note not in doomed", ""),
        Mutant("nobody of a few dies", r"self\.entities\.destroy_small_batch\(few\)"),
        Mutant("each note is a death", r"drop_duplicates\((.*)\)$", r"\1"),
        Mutant("nobody dies", r"self\.entities\.destroy_many\(doomed\)"),
        Mutant("nobody is counted", r"len\(self\._flush\(\)\)", "0 * len(self._flush())"),
        Mutant("values change while they wait", r"is_watched or c\.base is not None", "is_watched"),
        Mutant("there is no room", r"store\._ensure_capacity\(owners, columns, borrowed\)"),
        Mutant("room is not made again", r"store\._ensure_capacity\(owners, columns, \(\)\)"),
        Mutant("who has it meanwhile gets another", r"store\._check_can_create\(owners\)"),
        Mutant("a component is not spawned", r"store\._append_many\(.*\)", "owners[:0]"),
    ),
    module(
        "_runtime/base/locks.py",
        ("test_world.py",),
        Mutant(
            "parts of the world are replaced",
            r"name in self\.READ_ONLY and hasattr\(.*\):",
            "False:",
        ),
        Mutant("parts of the world are deleted", r"if name in self\.READ_ONLY:", "if False:"),
    ),
)
