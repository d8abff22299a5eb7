"""Ways to break what `indirect` does."""

from tests.mutants._base import Mutant, managers, module

COLD = ("test_villager.py", "test_ai_state.py")

GROUPS = (
    managers(
        "indirect",
        Mutant(
            "a row moved alone is not known to its cold row",
            r"(_row_cells\[data\._cold_row_cells\[dst\]\] = )dst",
            r"\1src",
        ),
        Mutant("a new row has its predecessor's cold row", r"\[row\] = NIL", "[row] &= NIL"),
        Mutant("a cold row stays behind", r"(?:_left_cold = )?data\._drop_cold_row\(.*\)"),
        Mutant("new rows are never cold", r"data\._append_cold_rows\(.*\)"),
        Mutant("defaults take a cold row", r"_packed != _COLD_DEFAULT", "True"),
        Mutant("a default takes a cold row", r"if \w+_STRUCT\.pack\(.*\) == \w+:", "if False:"),
    ),
    module(
        "_runtime/managers/policies/cold.py",
        ("test_villager.py",),
        Mutant("cold rows stay behind", r"partial\(data\._drop_cold_rows, .*\)", "tuple"),
        Mutant(
            "moved rows are not known to their cold rows", r"self\.data\._cold\._row_column\[.*"
        ),
        Mutant(
            "a moved row's cold row belongs to the old one",
            r"\[cold_rows\[held\]\] = dst\[held\]",
            "[cold_rows[held]] = dst[held] - 1",
        ),
        Mutant(
            "the owner of a moved cold row looks at its old place",
            r"(_cold_row_cells\[cold\._row_cells\[cold_row\]\] = )cold_row",
            r"\1last",
        ),
        Mutant(
            "the owners of moved cold rows look at their old places",
            r"(\[cold\._row_column\[dst\]\] = )dst",
            r"\1src",
        ),
        Mutant("moved cold rows lose their values", r"cold\._move_rows\(.*\)"),
        Mutant(
            "rows without cold rows lose one",
            r"places = np\.sort\(held\[held != NIL\]\)",
            "places = np.sort(held)",
        ),
        Mutant("cold rows go in the order of rows", r"np\.sort\((held\[held != NIL\])\)", r"\1"),
        Mutant(
            "cold rows of many belong to others",
            r"owners = rows\[positions\]",
            "owners = rows[: len(positions)]",
        ),
        Mutant("many are not told of their cold rows", r"self\._cold_row_column\[owners\] = .*"),
        Mutant("cold rows of many belong to nobody", r"cold\._row_column\[cold_rows\] = owners"),
        Mutant("cold rows never come back", r"cold\._n = last$", "cold._n = last + 1"),
        Mutant("cold rows of many never come back", r"cold\._n = n - .*"),
        Mutant(
            "new rows have their predecessors' cold rows",
            r"_cold_row_column\[rows\] = NIL",
            "_cold_row_column[rows] &= NIL",
        ),
        Mutant("a cold row has its predecessor's values", r"cold\._reset\(cold_row\)"),
        Mutant("there is no room for a cold row", r"cold\._ensure_capacity\(1, borrowed\)"),
        Mutant("there is no room for cold rows", r"cold\._ensure_capacity\(wanted, .*"),
        Mutant("it grows a cold row too late", r"> self\._allocated", "- 1 > self._allocated"),
        Mutant("saving loses cold rows", r'"cold": self\._cold', ""),
        Mutant("cold rows take no memory", r" \+ self\._cold\._nbytes\(\)", ""),
        Mutant("shrinking spares cold rows", r"self\._cold\._shrink\(\)"),
        Mutant("views of cold rows are written over", r"copied_if_view\(cells, buffer\)", "cells"),
        Mutant("owners of cold rows can be overwritten", r"read_only(\(.*\))", r"\1"),
        Mutant("rows are told of cold rows they lack", "= cold_rows != NIL", "= cold_rows >= 0"),
        Mutant(
            "only the first field decides",
            r"mask \|= differs",
            "mask = mask if mask.any() else differs",
        ),
        Mutant(
            "defaults are missing in a sort", r"np\.full\(data\._n, default,", "np.zeros(data._n,"
        ),
    ),
)
