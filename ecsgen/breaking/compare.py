"""Two versions of schemas to what breaks from the one to the other."""

from __future__ import annotations

from ecsgen.breaking.changed_calls import compare_calls
from ecsgen.breaking.changed_components import compare_components, compare_enums
from ecsgen.breaking.comparison import Comparison, Places, Report, Side
from ecsgen.breaking.past import compare_past


def compare(old: Side, new: Side, places: Places, report: Report) -> None:
    """Report E901 to E953: every change that loses or refuses saved data, or breaks code."""
    it = Comparison(old, new, places, report)
    _compare_handles(it)
    compare_enums(it)
    compare_components(it)
    compare_calls(it)
    compare_past(it)


def _compare_handles(it: Comparison) -> None:
    old, new = it.old.saved["entity"], it.new.saved["entity"]
    for key in ("index_bits", "generation_bits"):
        was, is_ = old[key], new[key]
        if was == is_:
            continue
        mark = it.places.world(f"entity.{key}", "entity")
        message = f"handles have {is_} {key}, and had {was}"
        if is_ < was:
            hint = f"go back to '{key}: {was}'"
            it.report.add("E902", f"{message}: saved ones may not fit", mark, hint)
        it.report.changed(message, mark)
