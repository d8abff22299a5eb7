"""Ways to break kernels of one component."""

from tests.mutants._base import Mutant, managers, module

DRAWING = ("test_spark.py", "test_seedling.py")

GROUPS = (
    managers(
        "kernels_numpy",
        Mutant("a sum is a difference", r"(_tmp\d*|\w+) \+= (_tmp\d*)$", r"\1 -= \2"),
        Mutant("a product is a sum", r"np\.multiply\(", "np.add("),
        Mutant("all rows match", r"put_where\((\w+), _where, ", r"put_where(\1, True, "),
        Mutant("a part is forgotten", r"_parts\.append\((.*)\)$", r"_parts[:] = [\1]"),
        Mutant("a mean is of all rows", r"_matching \+= .*", "_matching = len(self)"),
        Mutant("what does not match counts", r"\[\.\.\., _where\]", "[...]"),
        Mutant("inactive rows count", r"n = self\._n_active", "n = self._n"),
        Mutant("sums are in single precision", r"dtype=np\.float64\)", "dtype=np.float32)"),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_contact.py",),
        Mutant("rows that rest take part", r"selected\[running\]", "selected"),
        Mutant(
            "values of rows that rest are others'",
            r"values\[self\._running\]",
            "values[: self._running.sum()]",
        ),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_point_mass.py", "test_contact.py", "test_world.py"),
        Mutant("all blocks are the first", r"slice\(start, end\)", "slice(0, end - start)"),
        Mutant("chosen rows are not put back", r"put \+= moves"),
        Mutant("chosen rows are not gathered", r"gathered \+= moves"),
        Mutant("values of all blocks are those of the first", r"start = end"),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_scene_node.py",),
        Mutant("what is computed stays in working memory", r"cells\.put\(.*\)"),
    ),
    module(
        "_runtime/tables/placement.py",
        ("test_scene_node.py",),
        Mutant("rows always follow each other", r"end - first == len\(rows\) and .*", "True:"),
    ),
    module(
        "_runtime/kernels/levels.py",
        ("test_scene_node.py",),
        Mutant("roots have no parent", r"((?:views|memory)\[number\](?:\[.*\])?) = .*"),
        Mutant("parents are not gathered", r"(moves \+= |batch\.gathered\.extend\()row_copies.*"),
    ),
    managers(
        "kernels_numba",
        Mutant("a sum is a difference", r"^( +\w+\[[^\]]+\]) \+= ", r"\1 -= "),
        Mutant("a product is a sum", r"^( +\w+_0 = .*) \* ", r"\1 + "),
        Mutant("the first row is left out", r"for i in range\(n\):", "for i in range(1, n):"),
        Mutant("the first row of levels is left out", r"for i in order:", "for i in order[1:]:"),
        Mutant("all rows match", r"^        if \w+\[i\] .*:$", "        if True:"),
        Mutant(
            "inactive rows take part", r"data\._n_active, self\._levels", "data._n, self._levels"
        ),
        Mutant("elements overlap", r"j = \d+ \* i$", "j = i"),
        Mutant(
            "the last element is left out", r"for e in range\((\d+)\):", r"for e in range(\1 - 1):"
        ),
        Mutant(
            "two elements of an argument are one", r"^    (\w+)_1 = \1\[1\]", r"    \1_1 = \1[0]"
        ),
        Mutant("the own row is the parent", r"p = np\.intp\(parent\[i\]\)", "p = i"),
        Mutant("above the roots is something else", r"(parent_\w+) = 1\.0$", r"\1 = 2.0"),
        Mutant("all rows have the same value", r"by\[i\]", "by[0]"),
        Mutant("chosen rows are not put back", r"_cells\.put\(\)"),
        Mutant("what is written is not put back", r"_cells\.written\(", "_cells.read("),
        Mutant("old levels are good enough", r"self\.levels\(\)$"),
        Mutant("every block is the first", r"start = BLOCK \* block", "start = 0"),
        Mutant("blocks are not cut off", r"min\(BLOCK, n - start\)", "min(BLOCK, n)"),
        Mutant(
            "a last block is left out",
            r"(folded(?:\[line\])?), blocks_of\(n\)\)",
            r"\1, max(1, blocks_of(n) - 1))",
        ),
        Mutant("sums are in single precision", r"np\.float64\)$", "np.float32)"),
        Mutant("one element stands for all", r"sum_of\(values\[line\]", "sum_of(values[0]"),
        Mutant("holes are rows", r" if entity\[i\] != 0 else .*", ""),
        Mutant("without rows there is a value", r' if len\(self\) else float\("nan"\)', ""),
        Mutant("a mean is a sum", r"_found / len\(self\)", "_found"),
        Mutant("the largest is the smallest", r"greatest_of\(values", "-greatest_of(-values"),
        Mutant("parts lie on each other", r"^( +)parts \+= 1", r"\1parts = 1"),
        Mutant("what does not match counts", r"^( +)if (speed\[j|mass\[i)\].*:$", r"\1if True:"),
        Mutant("inactive rows count", r"(_load_of_fold\()data\._n_active", r"\1data._n"),
        Mutant("what counts is forgotten", r"(\w+\[i\]) > 3$", r"\1 > 4"),
    ),
    managers(
        "kernel_blocks",
        Mutant("views are kept when rows come", r" or _blocks\.stamp != [\w.]+:", ":"),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_point_mass.py",),
        Mutant(
            "views are kept when the buffer moves",
            r"self\._kernels = \{\}$",
            'self._kernels = getattr(self, "_kernels", {})',
        ),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_world.py",),
        Mutant("world kernels keep views when the buffer moves", r"blocks\.drop\(\)$"),
    ),
    managers(
        "flattened_columns",
        Mutant(
            "elements are copies", r"_flat\b.* = self\._\w+_column\.reshape\(-1\)", r"\g<0>.copy()"
        ),
    ),
    managers(
        "seeded",
        Mutant("a kernel has another name", r"(\"\w+\": 0x)(\w)(\w+),$", r"\g<1>0\3,"),
        Mutant(
            "draws begin with the second number", r"(draw_\w+)\(_row_keys, 0,", r"\1(_row_keys, 1,"
        ),
    ),
    module(
        "_runtime/kernels/seeding.py",
        DRAWING,
        Mutant("calls are not counted", r"= call \+ 1", "= call"),
        Mutant("a seed does not count anew", r"self\.calls = dict\(calls or \{\}\)"),
        Mutant("seeds are not saved", r'\{"seed": self\.seed\} if self\.seed', "{} if self.seed"),
        Mutant("calls are not saved", r"if self\.calls else", "if False else"),
        Mutant(
            "notes are not taken",
            r"= parse_stream_state\(notes, self\._RANDOM_KERNELS\)",
            "= StreamState()",
        ),
        Mutant("any number is a seed", r"checked_seed\(self, seed\)", "seed"),
    ),
    module(
        "_runtime/kernels/random_streams.py",
        DRAWING,
        Mutant("the key knows no call", r"call \* _STEP", "0 * _STEP"),
        Mutant("the key knows no seed", r"_mixed\(seed \^ kernel\)", "_mixed(kernel)"),
        Mutant("who is mixed once", r"out=streams\)\n    _mix\(streams, bits\)", "out=streams)"),
        Mutant("elements share a number", r"number \+ element", "number"),
        Mutant("words are mixed with a round less", r"zip\(_SHIFTS, ", "zip(_SHIFTS[1:], "),
        Mutant("numbers reach 2", r"\*= 2\.0\*\*-53", "*= 2.0**-52"),
        Mutant("a range is too wide", r"np\.right_shift\(word, _HALF, out=word\)"),
        Mutant("tails are as the middle", r"quantiles\[tails\] = .*"),
        Mutant(
            "tails have no sign", r"np\.copysign\(quantiles, distance, out=quantiles\)", "quantiles"
        ),
        Mutant("a logarithm without an exponent", r"k \*= LN2", "k *= 0"),
    ),
    module(
        "_runtime/kernels/random_streams.py",
        ("test_debtor.py",),
        Mutant("numbers of one row reach 2", r"\* 2\.0\*\*-53\)", "* 2.0**-52)"),
    ),
)
