"""What breaks from one version of the schemas to another: handles, enums, components and what is in
them, what code calls by name, and former names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from ecsgen_runtime.snapshots.rule_types import cell_type
from ecsgen_runtime.snapshots.type_conversion import MAY_NOT_FIT, NO_RULE, change_of, verdict

from ecsgen.breaking.comparison import (
    Comparison,
    NewerMarks,
    Report,
    SchemaVersion,
    candidate,
    find_present_name,
    report_missing,
)
from ecsgen.diagnostics import quote
from ecsgen.model import FLOAT_REDUCTIONS, Kernel, Mark, Names, Project, Reduction
from ecsgen.model.schedules import arguments_of, asks_for_time, resolve_calls
from ecsgen.model.snapshot_schema import Document
from ecsgen.policies import list_keys, list_policies

_TYPE: Final = re.compile(r"\b\w+\b(?!:)")
"""A word that is no name of an argument."""
_TAKES: Final = "takes ({}), and took ({})"
_RETURNS: Final = "returns {}, and returned {}"
_KINDS: Final = {
    "split": ("one column", "a column for each element"),
    "cold": ("hot", "cold"),
}
"""What a field is without and with a key."""


def compare(old: SchemaVersion, new: SchemaVersion, places: NewerMarks, report: Report) -> None:
    """Report E901 to E953: every change that loses or refuses saved data, or breaks code."""
    it = Comparison(old, new, places, report)
    _compare_handles(it)
    _compare_enums(it)
    _compare_components(it)
    _compare_world_calls(it)
    _compare_past(it)


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


def _compare_enums(it: Comparison) -> None:
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
            mark = it.places.enum(here, "flags")
            kinds = "flags, and was an enum" if new["flags"] else "an enum, and was flags"
            message = f"{quote(here)} is {kinds}"
            hint = "change it back, or give it another name"
            it.report.add("E903", f"{message}: no rule converts saved values", mark, hint)
            it.report.changed(message, mark)
            continue
        if old["type"] != new["type"]:
            message = f"{quote(here)} is stored as {new['type']}, and was as {old['type']}"
            it.report.changed(message, it.places.enum(here))
        _compare_members(it, name, here)


def _compare_members(it: Comparison, old_name: str, name: str) -> None:
    whole = it.old.saved["enums"][old_name]
    old, new = whole["members"], it.new.saved["enums"][name]["members"]
    former = it.new.history.members_of(name)
    gone_from = it.places.enum(name, "values")
    for member, number in old.items():
        what = f"the member {quote(member)} of {quote(old_name)}"
        here = find_present_name(member, new, former)
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


def _compare_fields(it: Comparison, old_name: str, name: str) -> None:
    old = it.old.saved["components"][old_name]["fields"]
    new = it.new.saved["components"][name]["fields"]
    former = it.new.history.fields_of(name)
    for field, was in old.items():
        what = f"the field {quote(field)} of {quote(old_name)}"
        here = find_present_name(field, new, former)
        if here is None:
            became = candidate(field, old, new, former, lambda a, b: a["type"] == b["type"])
            gone_from = it.places.component(name, "fields")
            report_missing(it.report, what, field, gone_from, became, quote(name))
        elif not here:
            it.report.gone(what, it.places.component(name, "fields"))
        else:
            mark = it.places.field(name, here)
            if here != field:
                it.report.renamed(what, here, mark)
            _compare_field(it, f"{name}.{here}", was, new[here], mark)
    for field in new.keys() - {find_present_name(field, new, former) for field in old}:
        mark = it.places.field(name, field)
        _compare_field_policies(it, f"{name}.{field}", None, new[field], mark)


def _compare_field(it: Comparison, field: str, old: Document, new: Document, mark: Mark) -> None:
    _compare_types(it, field, old, new, mark)
    _compare_field_policies(it, field, old, new, mark)
    for key, (off, on) in _KINDS.items():
        if old[key] != new[key]:
            is_, was = (on, off) if new[key] else (off, on)
            it.report.changed(f"{quote(field)} is {is_}, and was {was}", mark)
    if old["unit"] not in ("", new["unit"]):
        message = (
            f"the unit of {quote(field)} is {quote(new['unit'])}, and was {quote(old['unit'])}"
        )
        hint = "convert the numbers in `migrate`, or give the field another name"
        it.report.add("E906", message, mark, hint)


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
    if (was.base, was.shape, was.target) != (is_.base, is_.shape, is_.target):
        it.report.changed(change, mark)  # the size of text is no matter of code's


def _compare_field_policies(
    it: Comparison, field: str, old: Document | None, new: Document, mark: Mark
) -> None:
    """Report what the policies of a field do; `old` is None if it is new."""
    name = field.partition(".")[2]
    for code, happens, message, hint in (loss for p in list_policies() for loss in p.field_losses):
        if happens(old, new):
            it.report.add(code, message.format(field=quote(field), name=name), mark, hint)


def _compare_components(it: Comparison) -> None:
    old, new = it.old.saved["components"], it.new.saved["components"]
    former = it.new.history.components
    for name, was in old.items():
        what = f"the component {quote(name)}"
        gone_from = it.places.written("removed") or it.places.nowhere
        here = find_present_name(name, new, former)
        if here is None:
            became = candidate(
                name, old, new, former, lambda a, b: [*a["fields"]] == [*b["fields"]]
            )
            report_missing(it.report, what, name, gone_from, became, "the world")
        elif not here:
            it.report.gone(what, gone_from)
        else:
            if here != name:
                it.report.renamed(what, here, it.places.component(here))
            _compare_policies(it, here, was, new[here])
            _compare_fields(it, name, here)
            _compare_calls(it, name, here)


OFF: Final = {key.name: key.off_text for key in list_keys("component")}


def _compare_policies(it: Comparison, name: str, old: Document, new: Document) -> None:
    losses = [
        loss for policy in list_policies() for loss in policy.losses if loss.happens(old, new)
    ]
    for loss in [loss for loss in losses if loss.is_all] or losses:
        _report(it, loss.code, name, loss.key, loss.why, old, new)
    if old["in"] != new["in"]:
        _report(it, "E953", name, "in", "code finds it elsewhere", old, new)
        return
    for key, names in _names_gone(old, new).items():
        _report(it, "E953", name, key, f"no {', '.join(names)} any more", old, new)


def _names_gone(old: Document, new: Document) -> dict[str, list[str]]:
    gone: dict[str, list[str]] = {}
    cause = "owner" if old["owner"] != new["owner"] else ""
    if old.get("grid", 0) != new.get("grid", 0):
        cause = "grid"
    for key, has, names in (methods for policy in list_policies() for methods in policy.methods):
        if has(old) and not has(new):
            gone.setdefault(cause or key, []).extend(names.split())
    if (old["cold"], new["cold"]) == ("inline", "indirect"):
        was_cold = [name for name, field in old["fields"].items() if field["cold"]]
        is_cold = [name for name, field in new["fields"].items() if field["cold"]]
        gone["cold"] = [f"data.{name}" for name in is_cold if name in was_cold]
    return gone


def _report(
    it: Comparison, code: str, name: str, key: str, why: str, old: Document, new: Document
) -> None:
    is_moved = old["in"] != new["in"]
    cause = "in" if is_moved else key
    message = f"{quote(name)} has {_spelt(cause, new)}, and had {_spelt(cause, old)}: {why}"
    written = it.places.written("archetypes") if cause == "in" else None
    mark = written or it.places.component(name, cause)
    it.report.add(code, message, mark, f"go back to {_spelt(key, old)}")


def _spelt(key: str, component: Document) -> str:
    value = component.get(key)
    if key == "in":
        return "a place in the archetypes" if value == "archetypes" else "a manager"
    if key == "grid":
        return f"a grid of {value} axes" if value else "no grid"
    if key == "on":
        most = f" and 'capacity: {value}'" if value else ""
        return "no 'on'" if value is None else f"'on'{most}"
    if not value and key in OFF:
        return OFF[key]
    if key == "partition":
        return f"'partition: {{start: {value}}}'" if value else "'partition: off'"
    if key == "hierarchy":
        return f"'hierarchy: {{orphans: {value}}}'" if value else "'hierarchy: off'"
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'"


def _compare_world_calls(it: Comparison) -> None:
    groups = it.old.saved["groups"], it.new.saved["groups"]
    _compare_lists(it, "groups", "the group", *groups, "E953")
    old, new = it.old.project, it.new.project
    if old is None or new is None:
        return
    if old.world.name not in (new.world.name, "World"):
        it.report.renamed(f"the world {quote(old.world.name)}", new.world.name, it.places.world())
    kernels = _kernels_of(old.world.kernels), _kernels_of(new.world.kernels)
    schedules = _schedules_of(old), _schedules_of(new)
    for what, key, texts in (
        ("the kernel {} of the world", "kernels", kernels),
        ("the schedule {}", "schedule", schedules),
    ):
        marks = {name: it.places.world(f"{key}.{name}", key) for name in texts[0]}
        _compare_texts(it, what, _TAKES, *texts, marks)
    _compare_tables(it, _tables_of(old), _tables_of(new))
    has_time = asks_for_time(new.world) or new.world.records
    if asks_for_time(old.world) and not has_time:
        message = "a saved time would be refused: nothing in the schemas asks for `tick` any more"
        hint = 'ask for it, or load with `drop=["world.tick"]`'
        it.report.add("E901", message, it.places.world("schedule", "kernels"), hint)
        it.report.gone("the world's time `tick`", it.places.world("schedule", "kernels"))
    _compare_lists(it, "queries", "the query", _queries_of(old), _queries_of(new), "E951")
    _compare_lists(it, "bundles", "the bundle", _bundles_of(old), _bundles_of(new), "E952")


def _compare_tables(
    it: Comparison, old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> None:
    for name, columns in old.items():
        mark = it.places.world(f"records.{name}", "records")
        if name not in new:
            it.report.gone(f"the table {quote(name)}", mark)
            continue
        what, marks = f"the column {{}} of {quote(name)}", dict.fromkeys(columns, mark)
        _compare_texts(it, what, "is '{}', and was '{}'", columns, new[name], marks)


def _compare_calls(it: Comparison, old_name: str, name: str) -> None:
    """Report what happens to what a component has for code: a hook, kernels, reductions."""
    if it.old.project is None or it.new.project is None:
        return
    old, new = it.old.project.by_name[old_name], it.new.project.by_name[name]
    has_manager = it.new.saved["components"][name]["in"] == "managers"
    if old.release and not new.release and has_manager:
        title, mark = quote(name), it.places.component(name, "release", "destroy")
        message = f"{title} has 'release: false', and had 'release: true': no on_release any more"
        it.report.add("E953", message, mark, "go back to 'release: true'")
    for what, said, key, was, is_ in (
        ("kernel", _TAKES, "kernels", _kernels_of(old.kernels), _kernels_of(new.kernels)),
        ("reduction", _RETURNS, "reductions", _returned(old.reductions), _returned(new.reductions)),
    ):
        marks = {one: it.places.method(name, one, key) for one in was}
        _compare_texts(it, f"the {what} {{}} of {quote(name)}", said, was, is_, marks)


def _compare_texts(
    it: Comparison,
    what: str,
    said: str,
    old: Mapping[str, str],
    new: Mapping[str, str],
    marks: Mapping[str, Mark],
) -> None:
    """Report of named things what is gone, or has other types; `said`: how a message tells them,
    `marks`: where they stand, or where they could."""
    for name, was in old.items():
        called, is_ = what.format(quote(name)), new.get(name)
        if is_ is None:
            it.report.gone(called, marks[name])
        elif is_ != _TYPE.sub(lambda found: it.enums.get(found[0], found[0]), was):
            it.report.changed(f"{called} {said.format(is_, was)}", marks[name])


def _compare_lists(
    it: Comparison,
    key: str,
    what: str,
    old: Mapping[str, Sequence[str]],
    new: Mapping[str, Sequence[str]],
    code: str,
) -> None:
    """Report lists of components that are gone, and with `code` what is gone from one."""
    for name, members in old.items():
        if name not in new:
            it.report.gone(f"{what} {quote(name)}", it.places.world(key))
            continue
        present = (it.components.get(member) for member in members)
        for member in present:
            if member is not None and member not in new[name]:
                message = f"{what} {quote(name)} has no {quote(member)} any more"
                mark = it.places.world(f"{key}.{name}")
                it.report.add(code, message, mark, "put it back, or change the code that uses it")


def _compare_past(it: Comparison) -> None:
    """Report E905."""
    old, new, saved = it.old.history, it.new.history, it.new.saved
    _check_names(it, "component", old.components, new.components, saved["components"])
    _check_names(it, "enum", old.enums, new.enums, saved["enums"])
    for was, name in it.components.items():
        fields = saved["components"][name]["fields"]
        _check_names(it, "field", old.fields_of(was), new.fields_of(name), fields, name)
    for was, name in it.enums.items():
        members = saved["enums"][name]["members"]
        _check_names(it, "member", old.members_of(was), new.members_of(name), members, name)


def _check_names(
    it: Comparison, kind: str, old: Names, new: Names, present: Container[str], owner: str = ""
) -> None:
    """`old`, `new`: the former names of a kind that either version tells of; `owner`: what they
    are in, if not in the project."""
    for former, became in old.items():
        what, place = f"{kind} {quote(former)}", new.get(former, "")
        if former in present:
            was, place = f"called {quote(became)} later" if became else "removed", former
            message = f"the {what} has the name of one that was {was}"
            hint = "give it a name that nothing had; old values would become part of it"
        elif former not in new:
            place = (find_present_name(became, present, new) if became else "") or ""
            if not place and kind == "enum":  # nothing is saved of an enum that is gone
                continue
            entry = f"'removed: [{former}]' in {quote(owner) if owner else 'the world'}"
            entry = f"'renamed_from: [{former}]' at {quote(place)}" if place else entry
            message = f"the former {what} is not listed any more"
            hint = f"write {entry} again, or values saved under it would be refused"
        elif not became and place:
            message = f"the {what} was removed, and {quote(place)} is renamed from it"
            again = f"write 'removed: [{former}]' again"
            hint = f"{again}; old values would become part of {quote(place)}"
        else:
            continue
        it.report.add("E905", message, _former_place(it.places, kind, owner, place), hint)


def _former_place(places: NewerMarks, kind: str, owner: str, name: str) -> Mark:
    """Where a name stands; without one, where it would be listed as removed."""
    if kind == "component":
        return places.component(name) if name else places.written("removed") or places.nowhere
    if kind == "enum":
        return places.enum(name)
    if kind == "field":
        return places.field(owner, name) if name else places.component(owner, "removed")
    return places.enum(owner, f"values.{name}") if name else places.enum(owner, "removed")


# --- What a project has for code besides what files say -------------------------------------------


def _kernels_of(kernels: Iterable[Kernel]) -> dict[str, str]:
    return {kernel.name: ", ".join(_arguments(kernel).values()) for kernel in kernels}


def _schedules_of(project: Project) -> dict[str, str]:
    found = {}
    for name, entries in project.world.schedules:
        pairs = arguments_of(resolve_calls(entries, project.by_name, project.world))
        found[name] = ", ".join(_arguments(call.kernel)[one.name] for call, one in pairs)
    return found


def _arguments(kernel: Kernel) -> dict[str, str]:
    return {
        name: f"{name}: {text}" + " of each row" * (name in kernel.each)
        for name, text, _ in kernel.args
    }


def _tables_of(project: Project) -> dict[str, dict[str, str]]:
    return {
        table.name: {column.name: column.scalar for column in table.columns}
        | {field.name: field.type.text for field in table.fields}
        for table in project.world.records
    }


def _queries_of(project: Project) -> dict[str, tuple[str, ...]]:
    return {query.name: (*query.all, *query.optional) for query in project.world.queries}


def _bundles_of(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the components of each bundle, those of bundles within it too."""
    bundles = project.bundle_members.items()
    return {name: tuple(member.name for member in members) for name, members in bundles}


def _returned(reductions: Iterable[Reduction]) -> dict[str, str]:
    found = {}
    for one in reductions:
        is_float = one.function in FLOAT_REDUCTIONS or (
            one.function != "count" and one.program.value.type.is_float
        )
        found[one.name] = "float" if is_float else "int"
    return found
