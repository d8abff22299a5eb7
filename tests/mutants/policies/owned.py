"""Ways to break what `owned` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "owned",
        Mutant("the dead get an instance", r"if not _is_alive:", "if False:"),
        Mutant(
            "bad values count for more than death", r"self\._entities\.require\(\w+\)  # a dead.*"
        ),
    ),
    module(
        "_runtime/managers/policies/owners.py",
        ("test_point_mass.py", "test_sound_source.py"),
        Mutant("whoever has one gets another", r"self\.create\(entity, \*\*fields\)", "row"),
        Mutant("what is no field is passed over", r"if not defaults\.keys\(.*\):", "if False:"),
        Mutant(
            "bad values count for more than death",
            r"self\._entities\.require_many\(\w+\)  # a dead.*",
        ),
        Mutant(
            "the dead among many get an instance",
            r"self\._entities\.require_handles\(.*\)",
            "handles",
        ),
        Mutant("the opposite of having", r"lookup\(entity\) != NIL$", "lookup(entity) == NIL"),
        Mutant("what is missing is not reported", r"raise missing_instance_error\(.*\)"),
        Mutant("the missing among many are not reported", r"if absent\.any\(\):", "if False:"),
        Mutant("saving loses the entities", r'= state\["entities"\]', "= self.ROWS.ENTITIES()"),
        Mutant("the alive are collected", r"\(~alive\)\.nonzero", "alive.nonzero"),
        Mutant("many are not checked", r"self\._check_can_create\(handles\)"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_point_mass.py", "test_sound_source.py"),
        Mutant("many have no room", r"self\._ensure_capacity\(entities, columns, borrowed\)"),
    ),
    module(
        "_runtime/managers/policies/owners.py",
        ("test_point_mass.py", "test_world.py"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_ticket.py",),
        Mutant("who drives others out gets nothing", r"self\._append_many\(.*\)", "removed"),
        Mutant("what callbacks of the dead took is taken twice", r"self\._ensure_capacity\(.*\)\)"),
        Mutant("what callbacks did breaks it", r"except EcsError:", "except KeyError:"),
    ),
    module(
        "_runtime/managers/policies/owners.py",
        ("test_ticket.py",),
        Mutant(
            "entities are a column that moves",
            r"if (?:self\.HAS_RELEASE_CALLBACKS or )?np\.may_share_memory\(entities, .*\):",
            "if False:",
        ),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_particle.py", "test_status_effect.py"),
        Mutant(
            "dead entities of the same indices stay", r"self\.destroy_rows\(removed\):", "False:"
        ),
    ),
)
