"""Fields: their names, types, units and places."""

from __future__ import annotations

from ecsgen_runtime.snapshots.cell_types import CellType, cell_type
from ecsgen_runtime.snapshots.convert import MAY_NOT_FIT, NO_RULE, change_of, verdict

from ecsgen.breaking.comparison import Comparison, candidate, now, report_missing
from ecsgen.diagnostics import quote
from ecsgen.model import Mark
from ecsgen.model.saved import Document
from ecsgen.policies import every


def compare_fields(it: Comparison, old_name: str, name: str) -> None:
    """Report what happens to the fields of a component that is still there."""
    old = it.old.saved["components"][old_name]["fields"]
    new = it.new.saved["components"][name]["fields"]
    former = it.new.history.fields_of(name)
    for field, was in old.items():
        what = f"the field {quote(field)} of {quote(old_name)}"
        here = now(field, new, former)
        if here is None:
            became = candidate(field, old, new, former, _are_alike)
            gone_from = it.places.component(name, "fields")
            report_missing(it.report, what, field, gone_from, became, quote(name))
        elif not here:
            it.report.gone(what, it.places.component(name, "fields"))
        else:
            mark = it.places.field(name, here)
            if here != field:
                it.report.renamed(what, here, mark)
            _compare(it, f"{name}.{here}", was, new[here], mark)
    for field in new.keys() - {now(field, new, former) for field in old}:
        _compare_policies(it, f"{name}.{field}", None, new[field], it.places.field(name, field))


def _are_alike(old: Document, new: Document) -> bool:
    return bool(old["type"] == new["type"])


def _compare(it: Comparison, field: str, old: Document, new: Document, mark: Mark) -> None:
    _compare_types(it, field, old, new, mark)
    _compare_policies(it, field, old, new, mark)
    if old["split"] != new["split"]:
        it.report.changed(f"{quote(field)} is {_split(new)}, and was {_split(old)}", mark)
    if old["cold"] != new["cold"]:
        it.report.changed(f"{quote(field)} is {_place(new)}, and was {_place(old)}", mark)
    if old["unit"] not in ("", new["unit"]):
        message = (
            f"the unit of {quote(field)} is {quote(new['unit'])}, and was {quote(old['unit'])}"
        )
        hint = "convert the numbers in `migrate`, or give the field another name"
        it.report.add("E906", message, mark, hint)


def _split(field: Document) -> str:
    return "a column for each element" if field["split"] else "one column"


def _place(field: Document) -> str:
    return "cold" if field["cold"] else "hot"


def _compare_types(it: Comparison, field: str, old: Document, new: Document, mark: Mark) -> None:
    was = cell_type(old["type"], it.old.saved["enums"])
    of = it.enums if was.base in ("enum", "flags") else it.components
    was = was.renamed(of)
    is_ = cell_type(new["type"], it.new.saved["enums"])
    if {was.base, is_.base} == {"enum", "flags"} and was.target == is_.target:
        return  # a change of the enum, not of the field
    members = it.new.history.members_of(is_.target)
    found = verdict(change_of(was, is_, {name: here or None for name, here in members.items()}))
    change = f"{quote(field)} is {quote(is_.text)}, and was {quote(was.text)}"
    if found == MAY_NOT_FIT:
        hint = f"go back to {quote(was.text)}, or change what does not fit in `migrate`"
        it.report.add("E902", f"{change}: saved values may not fit", mark, hint)
    elif found == NO_RULE:
        name = field.partition(".")[2]
        hint = f"give it another name and write 'removed: [{name}]', or convert it in `migrate`"
        it.report.add("E903", f"{change}: no rule converts saved values", mark, hint)
    if not _is_same_for_code(was, is_):
        it.report.changed(change, mark)


def _is_same_for_code(old: CellType, new: CellType) -> bool:
    """The size of text is no matter of code's."""
    return (old.base, old.shape, old.target) == (new.base, new.shape, new.target)


def _compare_policies(
    it: Comparison, field: str, old: Document | None, new: Document, mark: Mark
) -> None:
    """Report what the policies of a field do; `old` is None if it is new."""
    name = field.partition(".")[2]
    for code, happens, message, hint in (loss for p in every() for loss in p.field_losses):
        if happens(old, new):
            it.report.add(code, message.format(field=quote(field), name=name), mark, hint)
