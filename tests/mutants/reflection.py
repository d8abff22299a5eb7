"""Ways to break what components, and messages, say of them."""

from tests.mutants._base import Mutant, module

FIELDS = ("test_every_type.py",)
WORLD = ("test_world.py",)

GROUPS = (
    module(
        "_runtime/values/field_tables.py",
        FIELDS,
        Mutant("no field has an enum", r"field\.enum", "None"),
        Mutant("all fields are scalars", r"field\.shape", "()"),
        Mutant("fields are named with the component", r"\[2\]", "[0]"),
        Mutant("tags are lost", r"doc, tags, \*bounds\)$", "doc, (), *bounds)"),
    ),
    module(
        "_runtime/values/field_tables.py",
        WORLD,
        Mutant("rows are refused", r"if not isinstance\(columns, component\):", "if True:"),
        Mutant("any row will do", r"if not isinstance\(columns, component\):", "if False:"),
    ),
    module(
        "_runtime/values/field_types.py",
        WORLD,
        Mutant("values of rows are not checked", r"self\.to_cell\(value\)\n +return", "return"),
    ),
    module(
        "_runtime/base/handles.py",
        FIELDS,
        Mutant(
            "the generation comes first",
            r"& self\.INDEX_MASK\}v\{handle >> self\.GENERATION_SHIFT",
            "}v{0",
        ),
        Mutant("the number is left out", r" \(\{handle\}\)", ""),
    ),
    module(
        "_runtime/managers/policies/owners.py",
        FIELDS,
        Mutant("entities as rows are not told", r"if row == NIL or .*", "if True:"),
        Mutant("dead entities have rows, too", r"not self\._entities\.alive\(row\)", "False"),
    ),
    module(
        "_runtime/base/text.py",
        ("test_every_type.py", "test_world.py"),
        Mutant("one too many is shown", r"first\[:_SHOWN\]", "first"),
        Mutant("what is left out is not told", r'\*\["…"\]', "*[]"),
    ),
    module(
        "_runtime/tables/html_reprs.py",
        FIELDS,
        Mutant("rows are not counted", r"\{format_count\(n, 'row'\)\}", ""),
        Mutant("all rows are shown", r"if n <= 2 \* _ENDS", "if True"),
        Mutant("the gap is not shown", r"if n > 2 \* _ENDS:", "if False:"),
    ),
    module(
        "_runtime/world/queries/query.py",
        WORLD,
        Mutant("what was known stays known", r" if self\.changes\(\) == self\.state else None", ""),
    ),
)
