"""Ways to break what `unique` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "unique",
        Mutant("a new row is not in the index", r"data\._index_row\(row\)"),
        Mutant("new rows are not in the index", r"data\._index_rows\(rows\)"),
        Mutant("a row that goes is still found", r"data\._unindex_row\(row\)"),
        Mutant("a moved row is found in its old place", r"data\._index_row\(dst\)"),
        Mutant("a new row may have any value", r"self\._check_value\(.*\)"),
        Mutant("columns can be written", r"return read_only\((.*)\)", r"return \1"),
    ),
    module(
        "_runtime/managers/policies/unique.py",
        ("test_berth.py", "test_texture.py"),
        Mutant("rows that go are still found", r"index\.forget_many\(removed\)"),
        Mutant("moved rows are found where they were", r"self\.data\._index_rows\(dst\)"),
        Mutant("new rows repeat a value", r"if len\(set\(keys\)\) < len\(keys\):", "if False:"),
        Mutant("one value for all is no repeat", r"min\(count, 2\)", "min(count, 1)"),
        Mutant("new rows are not checked", r"index\.check_new\(.*\)"),
        Mutant(
            "written rows repeat a value", r"if len\(rows_by_key\) < len\(pairs\):", "if False:"
        ),
        Mutant("a value of another row is taken", r"if stays\.any\(\):", "if False:"),
        Mutant("NaN is found", r"if key == key and .*:", "if True:"),
        Mutant("many NaN are values", r"cells == cells if .* else ", "slice(None) or "),
        Mutant("values are found that went", r"self\.rows\.pop\(.*\)"),
        Mutant("loading finds nothing", r"self\._index_rows\(self\._used_rows\(\)\)"),
        Mutant("what is written has the old values", r"index\.rows\.update\(fresh\)"),
        Mutant("the index is no memory", r" \+ sum\(i\.nbytes .*\)", ""),
        Mutant("a row's old value is still found", r"index\.forget\(row\)"),
        Mutant("old values are still found", r"index\.forget_many\(rows\)"),
        Mutant("a failed write goes on", r"(?:mark_broken\(self\)|self\._mark_broken\(\))"),
        Mutant(
            "its own value is in a row's way", r"get\(key, row\) != row", "get(key, row) == row"
        ),
        Mutant("another's value is in no row's way", r"if index\.rows\.get\(.*:", "if False:"),
    ),
)
