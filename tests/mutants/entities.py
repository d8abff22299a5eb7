"""Ways to break the entity manager."""

from tests.mutants._base import Mutant, module

ENTITIES = ("test_world.py::TestEntities",)

GROUPS = (
    module(
        "_runtime/entities/entity_manager.py",
        ENTITIES,
        Mutant(
            "a used-up index is used again",
            r">= self\.HANDLE_LAYOUT\.LAST_GENERATION",
            "> self.HANDLE_LAYOUT.LAST_GENERATION",
        ),
        Mutant(
            "used-up indices stay alive",
            r"cells\[exhausted\] = .*",
            "cells[exhausted] = es[exhausted]",
        ),
        Mutant("the retired are not counted", r"self\.n_retired \+= .*"),
        Mutant("an index is reused too early", r"free\.count > MIN_FREE", "free.count >= MIN_FREE"),
        Mutant(
            "many reuse indices too late",
            r"self\.HANDLE_LAYOUT\.MIN_FREE",
            "self.HANDLE_LAYOUT.MIN_FREE - 1",
        ),
        Mutant(
            "many reuse all indices first",
            r"parts = \(reused\[:early\], created, reused\[early:\]\)",
            "parts = (reused, created, reused[:0])",
        ),
        Mutant("reused indices stay free", r"self\.free_indices\.drop\(n_reused\)"),
        Mutant("used indices are given out again", r"self\.n_used \+= fresh"),
        Mutant("no index is ever missing", r"n_reused > self\.free_indices\.count", "False"),
        Mutant("a missing index is not noticed", r"if not free\.count:", "if False:"),
        Mutant("repeats are a few's own affair", r" or \(len\(distinct\) < .*\):", ":"),
        Mutant(
            "a few are not told", r"np\.array\(distinct, np\.uint64\)", "np.empty(0, np.uint64)"
        ),
        Mutant("the dead stay alive", r"cells \^= 1$"),
        Mutant("repeated entities are accepted", r"if not ascending and", "if False and"),
        Mutant("nobody is told", r"(self\.free_handles\(es\)\n +)notify\(.*\)", r"\1pass"),
        Mutant("nobody is asked first", r"self\.callbacks\.check\(\)"),
        Mutant("one callback's changes are seen by others", r"es\.flags\.writeable = False"),
        Mutant("the caller's array becomes read-only", r"\(es\.copy\(\)\)", "(es)"),
        Mutant("nothing waits for its turn", r"if self\.dispatch\.is_open\(\):", "if False:"),
        Mutant("the queued die again", r"es = es\[self\.alive_many\(es\)\]"),
        Mutant("what was taken back is not free", r"free\.push_front\(index\)"),
        Mutant("what was taken back counts as used", r"self\.n_used = index$"),
        Mutant("what was taken back stays alive", r"= e \^ 1", "= e"),
        Mutant("others' indices are taken back", r" and index == self\.n_used - 1:", ":"),
        Mutant("saving loses the retired", r"self\.n_retired = n_retired"),
        Mutant("saving loses free indices", r"self\.free_indices\.push_many\(free\)"),
        Mutant("handles of other bits are loaded", r'state\["bits"\] != self\._bits:', "False:"),
    ),
    module(
        "_runtime/entities/entity_pool.py",
        ENTITIES,
        Mutant("a used-up index is used again", r">= LAST_GENERATION", "> LAST_GENERATION"),
        Mutant("a used-up index stays alive", r"self\._cells\[index\] = index \^ 1"),
        Mutant("a freed index is lost", r"self\.free_indices\.push\(index\)"),
        Mutant("a generation is skipped", r"\(e \+ ONE_GENERATION\)", "(e + 2 * ONE_GENERATION)"),
        Mutant("a few may be dead", r"if index >= count or .*", "if False:"),
        Mutant("null is alive at first", r"handles\[0\] = self\.HANDLE_LAYOUT.*"),
        Mutant("the living are every other one", r"alive\[::2\] \^= True"),
        Mutant("handles are lost when they grow", r"handles\[: self\.n_cells\] = .*"),
        Mutant("it grows an entity too late", r"n > self\.n_cells", "n > self.n_cells + 1"),
        Mutant("queued indices take no memory", r" \+ self\.free_indices\.nbytes", ""),
        Mutant("the dead among many are accepted", r"if not alive\.all\(\):", "if False:"),
        Mutant("the retired count as living", r" - self\.n_retired", ""),
        Mutant("the queue is short for one", r"count > self\._mask:", "count > self._mask + 1:"),
        Mutant("the queue is short for many", r"> self\._mask \+ 1:", "> self._mask + 2:"),
        Mutant("the queue forgets its beginning", r"\(self\.head \+ count\) &", "count &"),
        Mutant("many do not go around the end", r"\] = indices\[room:\]", "] = indices[:0]"),
        Mutant("the first are not all", r"indices\[len\(front\) :\] = .*"),
        Mutant("growing loses what waits", r"_fill\(cells, self\.head.*\)"),
    ),
    module(
        "_runtime/values/array_coercion.py",
        ENTITIES,
        Mutant(
            "stale handles are held",
            r"np\.equal\(stored\[:n\], block, out=held.*\)",
            "held[start : start + n] = True",
        ),
        Mutant("a run is told by its ends", r" and np\.array_equal\(.*\)", ""),
        Mutant("few repeats are not seen", r"\(ascending\[.*\]\)\.all\(\)", "True"),
        Mutant("repeats are not seen", r"int\(np\.count_nonzero\(seen\)\) == k", "True"),
    ),
)
