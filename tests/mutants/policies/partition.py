"""Ways to break what `partition` does."""

from tests.mutants._base import Mutant, managers, module

PARTED = ("test_spark.py", "test_contact.py")

GROUPS = (
    managers(
        "partition",
        Mutant("the bound stays when an active row goes", r"data\._n_active = row =", "row ="),
        Mutant("a swap is half a swap", r"self\._move\(spare, second\)"),
        Mutant("a new row does not make room", r"self\._move\(row, Instance\(data\._n\)\)"),
        Mutant(
            "new rows do not make room",
            r"self\._move_many\(src, dst.*\)(?=\n +(?:parts = |data\._entity_column))",
        ),
        Mutant(
            "active columns are whole columns",
            r"(data\._\w+_column)\[: data\._n_active\]",
            r"\1[: data._n]",
        ),
    ),
    module(
        "_runtime/managers/policies/packed.py",
        PARTED,
        Mutant("destroying forgets the bound", r"data\._n_active, data\._n", "data._n, data._n"),
        Mutant("the bound stays when active rows go", r"partial\(setattr, .*\)", "tuple"),
        Mutant("activation forgets the bound", r"(Instance\(row\), bound, bound) \+ 1\)", r"\1)"),
        Mutant(
            "deactivation forgets the bound",
            r"\(Instance\(row\), last, last\)",
            "(Instance(row), last, last + 1)",
        ),
        Mutant("sorting crosses the bound", r"= self\.data\._n_active(?=\n +behind)", "= 0"),
        Mutant("rows stay on their side", r"self\._swap\(row, target.*\)"),
        Mutant(
            "many stay on their side",
            r"chosen = ascending\[\(ascending .*\]",
            "chosen = ascending[:0]",
        ),
        Mutant("the bound stays", r"self\.data\._n_active = bound$"),
        Mutant(
            "parts are sorted into each other",
            r"sort_order\(keys\[bound:\]\) \+ bound",
            "sort_order(keys[bound:])",
        ),
        Mutant("orders cross the bound", r"if len\(order\) and bound and .*:", "if False:"),
        Mutant(
            "where rows went is not told",
            r"new_rows = Remap\(.*\)\(checked\)",
            "new_rows = checked",
        ),
        Mutant("saving loses the bound", r'= \("_n_active",\)', "= ()"),
        Mutant("a change is not counted", r"self\.data\._version \+= 1$"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "repeated rows are accepted",
            r"self\._distinct\(checked\)",
            "checked[checked.argsort()]",
        ),
        Mutant("the first inactive row is active", r"< data\._n_active$", "<= data._n_active"),
        Mutant(
            "a swap of a full buffer is half a swap",
            r"np\.array\(\[row, other\]\), np\.array\(\[other, row\]\)",
            "np.array([row]), np.array([other])",
        ),
        Mutant("a swap over no spare row", r"if data\._n < data\.allocated or ", "if True or "),
        Mutant(
            "lists are not told of a swap of a full buffer",
            r"return src, dst, self\._plan_moves\(src, dst\)",
            "return src, dst, ()",
        ),
        Mutant(
            "a swap uses the last row",
            r"(self\._swap_via_spare\(row, other, Instance\(.*data\._n)\)\)",
            r"\1 - 1))",
        ),
    ),
    module(
        "_runtime/tables/placement.py",
        PARTED,
        Mutant(
            "rows that make room are lost",
            r"np\.arange\(max\(n, end\), n \+ count\)",
            "np.arange(n, n + min(count, n - bound))",
        ),
        Mutant("exchanged rows are lost", r"\(\(coming, leaving\)\)", "((coming, coming))"),
    ),
)
