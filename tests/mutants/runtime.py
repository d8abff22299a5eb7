"""Ways to break what all managers call."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime.py",
        (),
        Mutant("parents that were tried stay", r"column\[rows\] = before", "pass"),
        Mutant(
            "buffers start anywhere",
            r"return raw\[start : start \+ size\]",
            "return raw[1 : 1 + size]",
        ),
        Mutant("buffers are no whole pages", r"^    size = -\(-(.*) // PAGE.*", r"    size = \1"),
        Mutant(
            "capacity is not rounded up", r"-\(-rows // CACHE_LINE\) \* CACHE_LINE", "max(rows, 1)"
        ),
        Mutant(
            "a column is copied from a wrong place",
            r"column\.offset\(held\)",
            "column.offset(capacity)",
        ),
        Mutant("rows given twice are accepted", r"if len\(ascending\) < len\(rows\):", "if False:"),
        Mutant(
            "the row behind the last is accepted",
            r"if 0 <= number < data\._n:",
            "if 0 <= number <= data._n:",
        ),
        Mutant("holes among many are taken for rows", r"if holes\.any\(\):", "if False:"),
        Mutant("masks of any length", r"if len\(given\) != n:", "if False:"),
        Mutant(
            "survivors in the wrong order",
            r"np\.flatnonzero\(tail\) \+ kept",
            "np.flatnonzero(tail)[::-1] + kept",
        ),
        Mutant(
            "orders that are no permutation", r"len\(given\) != n or not seen\.all\(\)", "False"
        ),
        # The second half of a depth, sorted by [order], is for chains of more than 65,536.
        Mutant("sorting is not stable", r'(?<!\[order\], )kind="stable"', 'kind="heapsort"'),
        Mutant("other owners are found", r"np\.putmask\(found, .*\)", "pass"),
        Mutant("a list's neighbour is not told", r"^    nexts\[before\[.*\]\] = .*", "    pass"),
        Mutant("a list's neighbour is not told", r"^    previous\[after\[.*\]\] = .*", "    pass"),
        Mutant("a list's last row is forgotten", r"^    previous\[heads.*\] = .*", "    pass"),
        Mutant("runs of neighbours are bridged by one", r"while len\(active\):", "if len(active):"),
        Mutant(
            "failing callbacks stop the others",
            r"(self\.)?errors\.extend\(_leaves\(error\)\)",
            "raise",
        ),
        Mutant("failures are forgotten", r"raise group$", "pass"),
        Mutant("the queued are forgotten", r"self\._empty_queue\(\)$", "pass"),
        Mutant("a cancelled callback runs", r"if not entry\.subscription\.active:", "if False:"),
        Mutant("integers that do not fit", r"if self\._low <= number <= self\._high:", "if True:"),
        Mutant(
            "numbers become infinite",
            r"if isinf\(number\) and not _is_finite\(value\):",
            "if True:",
        ),
        Mutant("NUL in text", r" and 0 not in text", ""),
        Mutant("text is cut", r"if len\(text\) <= self\._size and", "if"),
        Mutant("numbers of no member", r"if number in self\._members or", "if True or"),
        Mutant("values broadcast anyhow", r"given in \(size, 1\)", "True"),
    ),
)
