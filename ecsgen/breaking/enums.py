"""Enums and flags: their names, members and numbers."""

from __future__ import annotations

from ecsgen.breaking.comparison import Comparison, candidate, now, report_missing
from ecsgen.diagnostics import quote
from ecsgen.model.saved import Document


def compare_enums(it: Comparison) -> None:
    """Report what happens to enums. Values of one that is gone are a matter of their fields."""
    for name, old in it.old.saved["enums"].items():
        what = f"the enum {quote(name)}"
        here = it.enums.get(name)
        if here is None:
            it.report.gone(what, it.places.nowhere)
            continue
        if here != name:
            it.report.renamed(what, here, it.places.enum(here))
        new = it.new.saved["enums"][here]
        if old["flags"] != new["flags"]:
            _report_kind(it, here, new)
            continue
        if old["type"] != new["type"]:
            message = f"{quote(here)} is stored as {new['type']}, and was as {old['type']}"
            it.report.changed(message, it.places.enum(here))
        _compare_members(it, name, here)


def _report_kind(it: Comparison, name: str, new: Document) -> None:
    mark = it.places.enum(name, "flags")
    kinds = "flags, and was an enum" if new["flags"] else "an enum, and was flags"
    message = f"{quote(name)} is {kinds}"
    hint = "change it back, or give it another name"
    it.report.add("E903", f"{message}: no rule converts saved values", mark, hint)
    it.report.changed(message, mark)


def _compare_members(it: Comparison, old_name: str, name: str) -> None:
    whole = it.old.saved["enums"][old_name]
    old, new = whole["members"], it.new.saved["enums"][name]["members"]
    former = it.new.history.members_of(name)
    gone_from = it.places.enum(name, "values")
    for member, number in old.items():
        what = f"the member {quote(member)} of {quote(old_name)}"
        here = now(member, new, former)
        if here is None and (not whole["flags"] or number.bit_count() == 1):
            became = candidate(member, old, new, former, int.__eq__)
            report_missing(it.report, what, member, gone_from, became, quote(name))
        elif not here:
            it.report.gone(what, gone_from)
        else:
            mark = it.places.enum(name, f"values.{here}")
            if here != member:
                it.report.renamed(what, here, mark)
            if new[here] != number:
                text = f"the number of {quote(f'{name}.{here}')} is {new[here]}, and was {number}"
                it.report.changed(text, mark)
