"""Components: their names, and everything in those that are still there."""

from __future__ import annotations

from ecsgen.breaking.calls import compare_component_calls
from ecsgen.breaking.comparison import Comparison, candidate, now, report_missing
from ecsgen.breaking.fields import compare_fields
from ecsgen.breaking.policies import compare_policies, compare_release
from ecsgen.diagnostics import quote
from ecsgen.model.saved import Document


def compare_components(it: Comparison) -> None:
    """Report what happens to components, and to what is in them."""
    old, new = it.old.saved["components"], it.new.saved["components"]
    former = it.new.history.components
    for name, was in old.items():
        what = f"the component {quote(name)}"
        gone_from = it.places.written("removed") or it.places.nowhere
        here = now(name, new, former)
        if here is None:
            became = candidate(name, old, new, former, _are_alike)
            report_missing(it.report, what, name, gone_from, became, "the world")
        elif not here:
            it.report.gone(what, gone_from)
        else:
            if here != name:
                it.report.renamed(what, here, it.places.component(here))
            compare_policies(it, here, was, new[here])
            compare_fields(it, name, here)
            _compare_calls(it, name, here)


def _are_alike(old: Document, new: Document) -> bool:
    return list(old["fields"]) == list(new["fields"])


def _compare_calls(it: Comparison, old_name: str, name: str) -> None:
    if it.old.code is None or it.new.code is None:
        return
    old, new = it.old.code.components[old_name], it.new.code.components[name]
    compare_release(it, name, old, new)
    compare_component_calls(it, name, old, new)
