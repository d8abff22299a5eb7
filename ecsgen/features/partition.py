"""partition: active rows in front, kept there by swaps; never a flag to test (data locality).

A placement of its own: the packed one with a bound. Everything else is packed's.
"""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="partition",
    applies=lambda c: bool(c.partition) and c.lookup != "direct",
    order=0,
    roles=("placement",),
    base="packed",
    mutants=(
        Mutant(
            "the bound stays when an active row goes",
            r"data\._n_active = row = last",
            "row = last",
        ),
        Mutant(
            "activation forgets the bound",
            r"data\._n_active = bound \+ 1",
            "data._n_active = bound",
        ),
        Mutant(
            "sorting crosses the bound",
            r"parts_sorted\(key, data\._n_active\)",
            "sort_order(key)",
        ),
        Mutant(
            "destroying forgets the bound",
            r"fill_parts\(gone, bound, n\)",
            "fill_parts(gone, n, n)",
        ),
    ),
)
