"""Ways to break kernels that refer and send to other rows, and whose rows take turns."""

from tests.mutants._base import Mutant, managers, module, world

TESTS = ("test_debtor.py", "test_world.py")

GROUPS = (
    managers(
        "kernels_numpy",
        Mutant(
            "others are read as they are", r"(_all_\w+ = data\._\w+_column)\[.*\]\.copy\(\)", r"\1"
        ),
        Mutant("the dead are heard", r"_heard = _where & .*$", "_heard = _where"),
        Mutant(
            "steps send in another order",
            r"\.put\(0, ((?:.|\n)*?)\.put\(1, ",
            r".put(1, \1.put(0, ",
        ),
        Mutant("nobody hears of held messages", r"_to_\w+\.arrive\(\)$"),
        Mutant("all are there", r"(_exists\d* = _theirs\d* != )NIL", r"\1-1"),
        Mutant("turns are in row order", r"turn_order\(.*\)$", "np.arange(data._n)"),
        Mutant("the dead are heard in their turn", r"is_heard = handles\[.*", "is_heard = True"),
        Mutant("of those in turn nobody is heard", r"is_heard = handles\[.*", "is_heard = False"),
    ),
    world(
        "kernel_methods_numpy",
        Mutant("rows that do not match send", r"np\.where\(_then, (_led\d*), NIL\)", r"\1"),
        Mutant(
            "one leads where another does",
            r"with_row_values\(_views, (_all_\w+), (_all_\w+)",
            r"with_row_values(_views, \1, \1",
        ),
        Mutant("the second message is the first", r"\.put\(1, ", ".put(0, "),
    ),
    module(
        "_runtime/kernels/references.py",
        TESTS,
        Mutant("all are heard", r"rows = np\.where\(heard, rows, NIL\)"),
        Mutant("all that was put is heard", r"rows\[~heard\] = NIL"),
        Mutant("no message waits", r"self\._held\.append\(.*\)\)\)", "self._deliver(rows, values)"),
        Mutant("what waits is overwritten", r"values\.copy\(\)\)\)", "values))"),
        Mutant("none is lost", r"if not sent\.all\(\):", "if False:"),
        Mutant(
            "or is and", r"cells\[rows\[sent_values\]\] = True", "cells[rows[~sent_values]] = False"
        ),
        Mutant(
            "one of several stands",
            r"self\._ufunc\.at\(cells, rows, sent_values\)",
            "cells[rows] = self._ufunc(cells[rows], sent_values)",
        ),
        Mutant("the dead are found", r"rows if is_clean else _of_living\(.*\)", "rows"),
        Mutant(
            "ids of the dead are found",
            r"return _of_living\(rows, manager\._entities, owners.*",
            "return rows",
        ),
        Mutant("nothing has its default", r"if missing\.any\(\):", "if False:"),
        Mutant(
            "what is asked once has no default",
            r"take_others\(column, rows, default, out\)",
            'out[...] = column.take(rows, axis=-1, mode="clip")',
        ),
    ),
    module(
        "_runtime/kernels/random_streams.py",
        TESTS,
        Mutant(
            "turns go by the second word", r"draw_words\(streams, 0, ", "draw_words(streams, 1, "
        ),
    ),
    module(
        "_runtime/kernels/references.py",
        ("test_tale.py",),
        Mutant(
            "the dead are found in turns",
            r"owners\[alive\]\.tolist\(\), rows\[alive\]",
            "owners.tolist(), rows",
        ),
        Mutant(
            "the last row of several is found",
            r"manager\.first_rows\(\)$",
            "np.arange(manager.data._n)",
        ),
        Mutant("rows are counted", r"rows\[alive\]\.tolist\(\),", "range(alive.sum()),"),
    ),
)
