"""Ways to break what every world has."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "world.py",
        ("test_world.py",),
        Mutant(
            "a manager has entities of its own",
            r"Manager\(self\.entities\)",
            "Manager(EntityManager())",
        ),
        Mutant("a manager is not among all", r"^ +\(\w+, self\.\w+\),\n", ""),
        Mutant("a component is not spawned", r"_parts\.append\(.*\)", "pass"),
        Mutant("arguments count as held views", r"_given\.extend\(.*\)", "pass"),
        Mutant("values change while they wait", r"= \[\(\w+, _owned\(columns\)\) .*\]", "= parts"),
        Mutant(
            "there is room for the first only",
            r"^( +)store\._make_room\(.*\)(?=\n +for)",
            r"\1pass",
        ),
        Mutant(
            "room is not made again",
            r"store\._make_room\(.*\)(?=\n +store\._append)",
            "pass",
        ),
        Mutant("a failing spawn leaves rows", r"store\.remove_many\(entities\)", "pass"),
        Mutant("a failing spawn uses handles", r"self\.entities\._uncreate\(entities\)", "pass"),
        Mutant("failures of a spawn are hidden", r"^ +raise$", ""),
        Mutant("failures stop the others", r"with self\.entities\.dispatch:", "if True:"),
        Mutant("a manager is left out of the sum", r"gone \+= .*", "pass"),
        Mutant("empty entities are all", r"entities = entities\[.*\]", "pass"),
        Mutant("components that it does not have", r" if holder\.has\(entity\)\)", ")"),
        Mutant("nobody is destroyed", r"self\.entities\.destroy(_many)?\(.*\)$", "pass"),
    ),
    module(
        "_runtime.py",
        ("test_world.py",),
        Mutant(
            "parts of the world are replaced",
            r"if name in self\._PARTS and hasattr\(self, name\):",
            "if False:",
        ),
        Mutant("parts of the world are deleted", r"if name in self\._PARTS:", "if False:"),
    ),
)
