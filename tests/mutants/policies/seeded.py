"""Ways to break kernels that draw random numbers."""

from tests.mutants._base import Mutant, managers, module

TESTS = ("test_spark.py", "test_seedling.py")

GROUPS = (
    managers(
        "seeded",
        Mutant("a kernel has another name", r"(\"\w+\": 0x)(\w)(\w+),$", r"\g<1>0\3,"),
        Mutant("draws begin with the second number", r"(draw_\w+)\(_stem, 0,", r"\1(_stem, 1,"),
    ),
    module(
        "_runtime/kernels/chance.py",
        TESTS,
        Mutant("calls are not counted", r"= call \+ 1", "= call"),
        Mutant("a seed does not count anew", r"self\.calls = dict\(calls or \{\}\)", "pass"),
        Mutant("seeds are not saved", r'\{"seed": self\.seed\} if self\.seed', "{} if self.seed"),
        Mutant("calls are not saved", r"if self\.calls else", "if False else"),
        Mutant("notes are not taken", r"= noted_chance\(notes, self\._DRAWING\)", "= Chance()"),
        Mutant("any number is a seed", r"checked_seed\(self, seed\)", "seed"),
    ),
    module(
        "_runtime/kernels/chance.py",
        TESTS,
        Mutant("the key knows no call", r"call \* _STEP", "0 * _STEP"),
        Mutant("the key knows no seed", r"_mixed\(seed \^ kernel\)", "_mixed(kernel)"),
        Mutant("who is mixed once", r"out=stem\)\n    _mix\(stem, bits\)", "out=stem)"),
        Mutant("elements share a number", r"number \+ place", "number"),
        Mutant("words are mixed with a round less", r"zip\(_SHIFTS, ", "zip(_SHIFTS[1:], "),
        Mutant("numbers reach 2", r"\*= 2\.0\*\*-53", "*= 2.0**-52"),
        Mutant("a range is too wide", r"np\.right_shift\(word, _HALF, out=word\)", "pass"),
    ),
    module(
        "_runtime/kernels/chance.py",
        ("test_debtor.py",),
        Mutant("numbers of one row reach 2", r"\* 2\.0\*\*-53\)", "* 2.0**-52)"),
    ),
    module(
        "_runtime/kernels/chance.py",
        TESTS,
        Mutant("tails are as the middle", r"found\[tails\] = .*", "pass"),
        Mutant("tails have no sign", r"np\.copysign\(found, distance, out=found\)", "found"),
        Mutant("a logarithm without an exponent", r"k \*= LN2", "k *= 0"),
    ),
)
