"""Ways to break what every generated package has; those of a policy stand in its feature's file."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.features import Mutant
from tests import mutants_archetypes


@dataclass(frozen=True)
class Shared:
    """What all components share, a module or a folder of such, and how it is broken."""

    file: str
    mutants: tuple[Mutant, ...]
    tests: tuple[str, ...]  # files of the tests' folder; none means all


# Not where the fields' accessors, called at once, check it again.
ROW_CHECK = r"not 0 <= row < data\._n:(?!\n.*\n +return \w+\(\s*self\.)"

MANAGER = (
    Mutant("a change is not counted", r"self\._version \+= 1$", "pass"),
    Mutant(
        "a lock is not respected",
        r"if self\._locks:$",
        "if False:",
    ),
    Mutant(
        "a lock ends with an inner one",
        r"(?<=yield\n        finally:\n            )self\._locks -= 1",
        "self._locks = 0",
    ),
    # Slots fill up with the rows, so where there are ids, these grow as well.
    Mutant(
        "the full buffer does not count as full",
        r"data\._n == data\._allocated:(?![\s\S]*_slots)",
        "data._n == -1:",
    ),
    Mutant("it grows a row too early", r"== data\._allocated:$", "== data._allocated - 1:"),
    Mutant("it grows too early for many", r"needed = data\._n \+ ", "needed = data._n + 1 + "),
    Mutant(
        "it grows by little",
        r"grown_capacity\(data\._allocated, (data\._n|needed)",
        r"grown_capacity(0, \1",
    ),
    Mutant("a default has another word", r"= word\((\w+), (\w+)\)$", r"= word(\1, \2) ^ 1"),
    Mutant("two columns lie at the same place", r"(cut\(buffer, COLUMNS)\[2\]", r"\1[1]"),
    Mutant("cells are read at a wrong stride", r"\b\d+ \* row", "4 * row"),
    Mutant("rows are lost when the buffer moves", r"copy_rows\(.*\)", "pass"),
    Mutant("held views are not reported", r"warn_if_viewed\(.*\)", "pass"),
    Mutant(
        "arguments count as held views", r"MANAGER, borrowed\)(?=[\s\S]*def set_)", "MANAGER, ())"
    ),
    Mutant("saving loses the version", r'= state\["version"\]', "= 0"),
    Mutant("saving loses rows", r"data\._load\(.*\)", "pass"),
    Mutant("the opposite of having", r"lookup\(entity\) != NIL$", "lookup(entity) == NIL"),
    Mutant("what is missing is not reported", r"raise missing\(MANAGER, entity\)", "pass"),
    Mutant("the missing among many are not reported", r"first_missing\(.*\)", "pass"),
    Mutant("a fitting reserve moves rows", r"rows > data\._allocated", "rows >= data._allocated"),
    Mutant("shrinking changes nothing", r"capacity < data\._allocated", "capacity < 0"),
    Mutant("repeated rows are accepted", r"distinct\(given, .*, MANAGER\)", "np.unique(given)"),
    Mutant("rows outside are accepted", r"rows_in_use\(rows, .*\)", "np.asarray(rows, np.intp)"),
    Mutant(
        "the row behind the last is accepted",
        ROW_CHECK,
        "not 0 <= row <= data._n:",
    ),
    Mutant(
        "the first row is not checked for being negative",
        ROW_CHECK,
        "row >= data._n:",
    ),
)

ENTITIES = (
    Mutant("a used-up index is used again", r">= LAST_GENERATION", "> LAST_GENERATION"),
    Mutant("a used-up index stays alive", r"self\._cells\[index\] = index \^ 1", "pass"),
    Mutant(
        "used-up indices stay alive", r"cells\[exhausted\] = .*", "cells[exhausted] = es[exhausted]"
    ),
    Mutant("the retired are not counted", r"self\._n_retired \+= .*", "pass"),
    Mutant(
        "an index is reused too early",
        r"free\.count > MIN_FREE",
        "free.count >= MIN_FREE",
    ),
    Mutant(
        "many reuse indices too late",
        r"self\._free\.count - MIN_FREE",
        "self._free.count - MIN_FREE - 1",
    ),
    Mutant(
        "many reuse all indices first",
        r"parts = \(reused\[:early\], created, reused\[early:\]\)",
        "parts = (reused, created, reused[:0])",
    ),
    Mutant("reused indices stay free", r"self\._free\.drop\(n_reused\)", "pass"),
    Mutant("a freed index is lost", r"self\._free\.push\(index\)", "pass"),
    Mutant("used indices are given out again", r"self\._n_used \+= fresh", "pass"),
    Mutant("no index is ever missing", r"n_reused > self\._free\.count", "False"),
    Mutant("a missing index is not noticed", r"if not free\.count:", "if False:"),
    Mutant(
        "a generation is skipped", r"\(e \+ ONE_GENERATION\) \^ 1", "(e + 2 * ONE_GENERATION) ^ 1"
    ),
    Mutant("the dead stay alive", r"cells \^= 1$", "pass"),
    Mutant("null is alive at first", r"handles\[0\] = ONE_GENERATION \| 1", "pass"),
    Mutant("the living are every other one", r"alive\[::2\] \^= True", "pass"),
    Mutant("handles are lost when they grow", r"handles\[: self\._n_cells\] = .*", "pass"),
    Mutant("it grows an entity too late", r"n > self\._n_cells", "n > self._n_cells + 1"),
    Mutant("queued indices take no memory", r" \+ self\._free\.nbytes", ""),
    Mutant("repeated entities are accepted", r"if not ascending and", "if False and"),
    Mutant("the dead among many are accepted", r"if not alive\.all\(\):", "if False:"),
    Mutant("nobody is told", r"self\._callbacks\.run\(es, .*\)", "pass"),
    Mutant("nobody is asked first", r"self\._callbacks\.check\(\)", "pass"),
    Mutant("one callback's changes are seen by others", r"es\.flags\.writeable = False", "pass"),
    Mutant("the caller's array becomes read-only", r"\(es\.copy\(\)\)", "(es)"),
    Mutant("nothing waits for its turn", r"if self\.dispatch\.depth:", "if False:"),
    Mutant("the queued die again", r"es = es\[are_held\(.*\)\]", "pass"),
    Mutant("what was taken back is not free", r"self\._free\.put_back\(.*\)", "pass"),
    Mutant("what was taken back counts as used", r"self\._n_used = n_before", "pass"),
    Mutant("what was taken back stays alive", r"= es \^ 1", "= es"),
    Mutant("others' indices are taken back", r"\) >= n_before:", ") >= 0:"),
    Mutant("saving loses the retired", r"self\._n_retired = state.*", "pass"),
    Mutant("saving loses free indices", r"self\._free\.push_many\(state.*\)", "pass"),
    Mutant("handles of other bits are loaded", r'if state\["bits"\] != bits:', "if False:"),
)

WORLD = (
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
)

RUNTIME = (
    Mutant("parents that were tried stay", r"column\[rows\] = before", "pass"),
    Mutant(
        "buffers start anywhere", r"return raw\[start : start \+ size\]", "return raw[1 : 1 + size]"
    ),
    Mutant("buffers are no whole pages", r"^    size = -\(-(.*) // PAGE.*", r"    size = \1"),
    Mutant("capacity is not rounded up", r"-\(-rows // CACHE_LINE\) \* CACHE_LINE", "max(rows, 1)"),
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
    Mutant("orders that are no permutation", r"len\(given\) != n or not seen\.all\(\)", "False"),
    # The second half of a depth, sorted by [order], is for chains of more than 65,536.
    Mutant("sorting is not stable", r'(?<!\[order\], )kind="stable"', 'kind="heapsort"'),
    Mutant("other owners are found", r"np\.putmask\(found, .*\)", "pass"),
    Mutant("a list's neighbour is not told", r"^    nexts\[before\[.*\]\] = .*", "    pass"),
    Mutant("a list's neighbour is not told", r"^    previous\[after\[.*\]\] = .*", "    pass"),
    Mutant("a list's last row is forgotten", r"^    previous\[heads.*\] = .*", "    pass"),
    Mutant("runs of neighbours are bridged by one", r"while len\(active\):", "if len(active):"),
    Mutant(
        "failing callbacks stop the others", r"(self\.)?errors\.extend\(_leaves\(error\)\)", "raise"
    ),
    Mutant("failures are forgotten", r"raise group$", "pass"),
    Mutant("the queued are forgotten", r"self\._empty_queue\(\)$", "pass"),
    Mutant("a cancelled callback runs", r"if not entry\.subscription\.active:", "if False:"),
    Mutant("integers that do not fit", r"if self\._low <= number <= self\._high:", "if True:"),
    Mutant(
        "numbers become infinite", r"if isinf\(number\) and not _is_finite\(value\):", "if True:"
    ),
    Mutant("NUL in text", r" and 0 not in text", ""),
    Mutant("text is cut", r"if len\(text\) <= self\._size and", "if"),
    Mutant("numbers of no member", r"if number in self\._members or", "if True or"),
    Mutant("values broadcast anyhow", r"given in \(size, 1\)", "True"),
)

WORLD_RUNTIME = (
    Mutant(
        "joining rows keep another order",
        r"rows\[moving\], displaced",
        "np.sort(rows[moving]), displaced",
    ),
    Mutant(
        "rows in the way are lost",
        r"wanted\[moving\], rows\[outside\]",
        "wanted[moving], displaced",
    ),
    Mutant("who lacks one mate's rows joins", r"found = \[earlier\[present\] .*\]", "pass"),
    Mutant(
        "parts of the world are replaced",
        r"if name in self\._PARTS and hasattr\(self, name\):",
        "if False:",
    ),
    Mutant("parts of the world are deleted", r"if name in self\._PARTS:", "if False:"),
    Mutant("columns of a group are replaced", r"if hasattr\(self, name\):", "if False:"),
    Mutant("a group is sorted while locked", r"if self\._first\._locks:", "if False:"),
    Mutant("others join as well", r"chosen = chosen\[present\]", "pass"),
    Mutant("the last owner is missed", r"int\(used\[-1\]\) \+ 1", "int(used[-1])"),
    Mutant("queries do not see deaths", r"state\.append\(self\._entities\._deaths\)", "pass"),
    Mutant("queries do not forget who is alive", r"if deaths != self\._deaths:", "if not deaths:"),
    Mutant(
        "queries take everybody for alive",
        r"frozenset\(\s+member for member in self\._members if .*\s+\)",
        "frozenset(self._members)",
    ),
    Mutant("queries see the dead", r"match\.keep\(self\._entities\.alive_many\(.*\)\)", "pass"),
    Mutant("absent rows make a slice", r" or rows\[0\] == NIL:", ":"),
    Mutant("owners are not compared", r"and _equal\(owners\[rows\], entities\)", ""),
    Mutant("a query begins with all instances", r"return first_rows\(.*\)", "return slice(0, n)"),
    Mutant(
        "rows in step pass for first instances",
        r"(first row of each entity, NIL .*\n +)return self\.manager\.lookup_many\(entities\)",
        r"\1return super().find(entities, all_live)",
    ),
    Mutant("cells are put in other places", r"(np\.put\(out, )(self\.places)", r"\1\2[::-1]"),
    Mutant("pieces with gaps are a slice", r"== len\(pieces\) and follows:", "== len(pieces):"),
    Mutant("unions have entities twice", r"match\.drop\(earlier\)", "pass"),
)

SHARED = (
    Shared("_runtime/entities", ENTITIES, ("test_entities.py",)),
    Shared("world.py", WORLD, ("test_world.py",)),
    Shared("_runtime", RUNTIME, ()),
    Shared("_runtime", WORLD_RUNTIME, ("test_world.py",)),
    Shared("archetypes.py", mutants_archetypes.STORE, ("test_archetypes.py",)),
    Shared("_runtime", mutants_archetypes.RUNTIME, ("test_archetypes.py",)),
    Shared("_runtime", mutants_archetypes.QUERIES, ("test_world.py",)),
    Shared("_runtime", mutants_archetypes.KERNELS, ("test_world.py",)),
)

COMPILED = Shared(
    "_compiled",
    (
        Mutant("NaN is no minimum", r"a < b or a != a", "a < b"),
        Mutant("NaN is no maximum", r"a > b or a != a", "a > b"),
        Mutant("a remainder has the dividend's sign", r"rest \+ b if .*", "rest"),
        Mutant(
            "a remainder of nothing is positive",
            r"if b == 0:\n        return rest",
            "if b == 0:\n        return b",
        ),
        Mutant("sums have one pair less", r"range\(n // 2\):(?=\n.*\+=)", "range(n // 2 - 1):"),
        Mutant("a sum of none is anything", r"values\[0\] = 0", "values[0] = 1"),
        Mutant("sums lose the odd one", r"half = \(n \+ 1\) // 2", "half = n // 2"),
        Mutant("blocks are counted down", r"\(n \+ BLOCK - 1\) // BLOCK", "n // BLOCK"),
        Mutant("all chunks are the first", r"starts\[:, None\]", "starts[0] + 0 * starts[:, None]"),
        Mutant("sparse: other owners are found", r"row < n and owners\[row\] == entity", "row < n"),
        Mutant(
            "direct: other owners are found",
            r"index < n and owners\[index\] == entity",
            "index < n",
        ),
        Mutant("direct: null is found", r"entity != 0 and ", ""),
        Mutant("rows given twice are accepted", r"if len\(ascending\) < len\(rows\):", "if False:"),
        Mutant("the last row is not found", r"for row in range\(n\):", "for row in range(n - 1):"),
    ),
    ("test_bead.py", "test_bone.py", "test_cell.py", "test_world.py"),
)
