"""Breaking changes between two versions of the schemas: of handles, enums, components and their
fields, of names that code calls, and of former names."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

from ecsgen_runtime.snapshots.cell_types import cell_type
from ecsgen_runtime.snapshots.type_conversion import MAY_NOT_FIT, NO_RULE, change_of, verdict

from ecsgen.breaking.comparison import Comparison, NamedParts, NewerMarks, find_present_name
from ecsgen.diagnostics import quote
from ecsgen.model import (
    FLOAT_REDUCTIONS,
    SETTINGS,
    Component,
    Kernel,
    Mark,
    Names,
    Project,
    Reduction,
)
from ecsgen.model.schedules import arguments_of, asks_for_time, has_time, resolve_calls
from ecsgen.model.snapshot_schema import Document
from ecsgen.policies import list_keys, list_policies
from ecsgen.policies.index import KEY as INDEX
from ecsgen.policies.unique import KEY as UNIQUE

_TYPE: Final = re.compile(r"\b\w+\b(?!:)")
"""A word that is not the name of an argument."""
_TYPE_OF: Final = itemgetter("type")
_TAKES: Final = "takes ({}), and took ({})"
_RETURNS: Final = "returns {}, and returned {}"
_SPLIT: Final = {"split": ("one column", "a column for each element")}
_COLD: Final = {"cold": ("hot", "cold")}
"""How messages describe a field without and with a key."""


def compare(diff: Comparison) -> None:
    """Report E901 to E953: changes that lose saved data, make loading fail or break code."""
    _compare_handles(diff)
    _compare_enums(diff)
    _compare_components(diff)
    _compare_settings(diff)
    _compare_world_calls(diff)
    _compare_histories(diff)


def _compare_handles(diff: Comparison) -> None:
    old, new = diff.old.saved["entity"], diff.new.saved["entity"]
    for key in ("index_bits", "generation_bits"):
        was, is_ = old[key], new[key]
        if was == is_:
            continue
        mark = diff.marks.world(f"entity.{key}", "entity")
        message = f"handles have {is_} {key}, and had {was}"
        if is_ < was:
            hint = f"go back to '{key}: {was}'"
            diff.add("E902", f"{message}: saved ones may not fit", mark, hint)
        diff.changed(message, mark)


def _compare_enums(diff: Comparison) -> None:
    """Report changes of enums. Values of a removed enum are checked with their fields."""
    for name, old in diff.old.saved["enums"].items():
        what = f"the enum {quote(name)}"
        new_name = diff.enums.get(name)
        if new_name is None:
            diff.gone(what, diff.marks.nowhere)
            continue
        if new_name != name:
            diff.renamed(what, new_name, diff.marks.enum(new_name))
        new = diff.new.saved["enums"][new_name]
        if old["flags"] != new["flags"]:
            mark = diff.marks.enum(new_name, "flags")
            kinds = "flags, and was an enum" if new["flags"] else "an enum, and was flags"
            message = f"{quote(new_name)} is {kinds}"
            hint = "change it back, or give it another name"
            diff.add("E903", f"{message}: no rule converts saved values", mark, hint)
            diff.changed(message, mark)
            continue
        if old["type"] != new["type"]:
            message = f"{quote(new_name)} is stored as {new['type']}, and was as {old['type']}"
            diff.changed(message, diff.marks.enum(new_name))
        _compare_members(diff, name, new_name)


def _compare_members(diff: Comparison, old_name: str, name: str) -> None:
    old_enum = diff.old.saved["enums"][old_name]
    old, new = old_enum["members"], diff.new.saved["enums"][name]["members"]
    former, gone_from = diff.new.history.members_of(name), diff.marks.enum(name, "values")
    parts = NamedParts(old, new, former, quote(name), gone_from, int)

    def mark_of(member: str) -> Mark:
        return diff.marks.enum(name, f"values.{member}")

    for member, number in old.items():
        what = f"the member {quote(member)} of {quote(old_name)}"
        is_of_flags = old_enum["flags"] and number.bit_count() != 1  # nothing is saved by its name
        if is_of_flags and find_present_name(member, new, former) is None:
            diff.gone(what, gone_from)
            continue
        new_name = parts.follow(diff, what, member, mark_of)
        if new_name and new[new_name] != number:
            title = quote(f"{name}.{new_name}")
            text = f"the number of {title} is {new[new_name]}, and was {number}"
            diff.changed(text, mark_of(new_name))


def _compare_fields(diff: Comparison, old_name: str, name: str) -> None:
    old = diff.old.saved["components"][old_name]
    new = diff.new.saved["components"][name]
    former, gone_from = diff.new.history.fields_of(name), diff.marks.component(name, "fields")
    parts = NamedParts(old["fields"], new["fields"], former, quote(name), gone_from, _TYPE_OF)
    what = f"the field {{}} of {quote(old_name)}"
    kinds = _SPLIT | _COLD if "indirect" in (old["cold"], new["cold"]) else _SPLIT
    _compare_parts(diff, parts, what, name, partial(diff.marks.field, name), kinds)


def _compare_settings(diff: Comparison) -> None:
    old, new = (version.saved.get(SETTINGS, {}) for version in (diff.old, diff.new))
    former, gone_from = diff.new.history.fields_of(SETTINGS), diff.marks.world(SETTINGS)
    removed = f"{SETTINGS}."
    parts = NamedParts(old, new, former, "the world", gone_from, _TYPE_OF, removed)

    def mark_of(setting: str) -> Mark:
        return diff.marks.world(f"{SETTINGS}.{setting}")

    _compare_parts(diff, parts, "the setting {}", SETTINGS, mark_of)


def _compare_parts(
    diff: Comparison,
    parts: NamedParts,
    what: str,
    owner: str,
    mark_of: Callable[[str], Mark],
    kinds: Mapping[str, tuple[str, str]] = _SPLIT,
) -> None:
    """Report changes of fields or settings; `what` is a format of their names."""
    for field, was in parts.old.items():
        if name := parts.follow(diff, what.format(quote(field)), field, mark_of):
            _compare_field(diff, f"{owner}.{name}", was, parts.new[name], mark_of(name), kinds)
    old = {find_present_name(field, parts.new, parts.former) for field in parts.old}
    for field in parts.new.keys() - old:
        _compare_field_policies(diff, f"{owner}.{field}", None, parts.new[field], mark_of(field))


def _compare_field(
    diff: Comparison,
    field: str,
    old: Document,
    new: Document,
    mark: Mark,
    kinds: Mapping[str, tuple[str, str]],
) -> None:
    _compare_types(diff, field, old, new, mark)
    _compare_field_policies(diff, field, old, new, mark)
    for key, (off, on) in kinds.items():
        if old[key] != new[key]:
            is_, was = (on, off) if new[key] else (off, on)
            diff.changed(f"{quote(field)} is {is_}, and was {was}", mark)
    if old["unit"] not in ("", new["unit"]):
        message = (
            f"the unit of {quote(field)} is {quote(new['unit'])}, and was {quote(old['unit'])}"
        )
        hint = "convert the numbers in `migrate`, or give the field another name"
        diff.add("E906", message, mark, hint)


def _compare_types(diff: Comparison, field: str, old: Document, new: Document, mark: Mark) -> None:
    was = cell_type(old["type"], diff.old.saved["enums"])
    of = diff.enums if was.base in ("enum", "flags") else diff.components
    was = was.renamed(of)
    is_ = cell_type(new["type"], diff.new.saved["enums"])
    if {was.base, is_.base} == {"enum", "flags"} and was.target == is_.target:
        return  # a change of the enum, not of the field
    members = diff.new.history.members_of(is_.target)
    outcome = verdict(change_of(was, is_, {name: now or None for name, now in members.items()}))
    change = f"{quote(field)} is {quote(is_.text)}, and was {quote(was.text)}"
    if outcome == MAY_NOT_FIT:
        hint = f"go back to {quote(was.text)}, or change what does not fit in `migrate`"
        diff.add("E902", f"{change}: saved values may not fit", mark, hint)
    elif outcome == NO_RULE:
        name = field if field.startswith(f"{SETTINGS}.") else field.partition(".")[2]
        hint = f"give it another name and write 'removed: [{name}]', or convert it in `migrate`"
        diff.add("E903", f"{change}: no rule converts saved values", mark, hint)
    if (was.base, was.shape, was.target) != (is_.base, is_.shape, is_.target):
        diff.changed(change, mark)  # the size of text is no matter of code's


def _compare_field_policies(
    diff: Comparison, field: str, old: Document | None, new: Document, mark: Mark
) -> None:
    """Report data that policies of a field lose; `old` is None if the field is new."""
    name = field.partition(".")[2]
    for code, happens, message, hint in (loss for p in list_policies() for loss in p.field_losses):
        if happens(old, new):
            diff.add(code, message.format(field=quote(field), name=name), mark, hint)


def _compare_components(diff: Comparison) -> None:
    old, new = diff.old.saved["components"], diff.new.saved["components"]
    former = diff.new.history.components
    gone_from = diff.marks.written("removed") or diff.marks.nowhere
    parts = NamedParts(old, new, former, "the world", gone_from, lambda part: [*part["fields"]])
    for name, was in old.items():
        what = f"the component {quote(name)}"
        if new_name := parts.follow(diff, what, name, diff.marks.component):
            _compare_policies(diff, new_name, was, new[new_name])
            _compare_fields(diff, name, new_name)
            _compare_calls(diff, name, new_name)


def _compare_policies(diff: Comparison, name: str, old: Document, new: Document) -> None:
    losses = [
        loss for policy in list_policies() for loss in policy.losses if loss.happens(old, new)
    ]
    for loss in [loss for loss in losses if loss.is_all] or losses:
        _report_key(diff, loss.code, name, loss.key, loss.why, old, new)
    if old["in"] != new["in"]:
        _report_key(diff, "E953", name, "in", "code finds it elsewhere", old, new)
        return
    for key, names in _missing_names(old, new).items():
        _report_key(diff, "E953", name, key, f"no {', '.join(names)} any more", old, new)


def _missing_names(old: Document, new: Document) -> dict[str, list[str]]:
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
        if still_cold := [f"data.{name}" for name in is_cold if name in was_cold]:
            gone["cold"] = still_cold
    return gone


def _report_key(
    diff: Comparison, code: str, name: str, key: str, why: str, old: Document, new: Document
) -> None:
    is_moved = old["in"] != new["in"]
    cause = "in" if is_moved else key
    message = f"{quote(name)} has {_key_text(cause, new)}, and had {_key_text(cause, old)}: {why}"
    written = diff.marks.written("archetypes") if cause == "in" else None
    mark = written or diff.marks.component(name, cause)
    diff.add(code, message, mark, f"go back to {_key_text(cause, old)}")


def _key_text(key: str, component: Document) -> str:
    value = component.get(key)
    if key == "in":
        return "a place in the archetypes" if value == "archetypes" else "a manager"
    if key == "grid":
        return f"a grid of {value} axes" if value else "no grid"
    if key == "on":
        most = f" and 'capacity: {value}'" if value else ""
        return "no 'on'" if value is None else f"'on'{most}"
    if not value and any(key == added.name for added in list_keys("component")):
        return f"no {key}"
    if key == "partition":
        return f"'partition: {{start: {value}}}'" if value else "'partition: off'"
    if key == "hierarchy":
        return f"'hierarchy: {{orphans: {value}}}'" if value else "'hierarchy: off'"
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'"


def _compare_world_calls(diff: Comparison) -> None:
    groups = diff.old.saved["groups"], diff.new.saved["groups"]
    _compare_lists(diff, "groups", "the group", *groups, "E953")
    old, new = diff.old.project, diff.new.project
    if old is None or new is None:
        return
    if old.world.name not in (new.world.name, "World"):
        title = f"the world {quote(old.world.name)}"
        diff.renamed(title, new.world.name, diff.marks.world())
    kernels = _kernels_of(old.world.kernels), _kernels_of(new.world.kernels)
    schedules = _schedules_of(old), _schedules_of(new)
    for what, key, texts in (
        ("the kernel {} of the world", "kernels", kernels),
        ("the schedule {}", "schedule", schedules),
    ):
        marks = {name: diff.marks.world(f"{key}.{name}", key) for name in texts[0]}
        _compare_texts(diff, what, _TAKES, *texts, marks)
    for kernel in _lost_rows(old.world.kernels, new.world.kernels, old.by_name, new.by_name):
        mark = diff.marks.world(f"kernels.{kernel}", "kernels")
        diff.changed(f"the kernel {quote(kernel)} of the world takes no 'rows' any more", mark)
    _compare_tables(diff, _tables_of(old), _tables_of(new))
    if asks_for_time(old.world) and not has_time(new.world):
        message = "a saved time would be refused: nothing in the schemas asks for `tick` any more"
        hint = 'ask for it, or load with `drop=["world.tick"]`'
        diff.add("E901", message, diff.marks.world("schedule", "kernels"), hint)
        diff.gone("the world's time `tick`", diff.marks.world("schedule", "kernels"))
    _compare_lists(diff, "queries", "the query", _queries_of(old), _queries_of(new), "E951")
    _compare_lists(diff, "bundles", "the bundle", _bundles_of(old), _bundles_of(new), "E952")


def _compare_tables(
    diff: Comparison, old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> None:
    for name, columns in old.items():
        mark = diff.marks.world(f"records.{name}", "records")
        if name not in new:
            diff.gone(f"the table {quote(name)}", mark)
            continue
        what, marks = f"the column {{}} of {quote(name)}", dict.fromkeys(columns, mark)
        _compare_texts(diff, what, "is '{}', and was '{}'", columns, new[name], marks)


_PUT_BACK: Final = "put it back, or change the code"
_PARTS: Final = (
    *(
        (
            hook,
            f"has '{hook}: false', and had '{hook}: true': no on_{hook} any more",
            (hook, "destroy"),
            f"go back to '{hook}: true'",
        )
        for hook in ("release", "add")
    ),
    ("network", "has no network: links_of is gone", ("network",), _PUT_BACK),
    ("space", "has no space: near and wrap are gone", ("fields", "kernels"), _PUT_BACK),
    ("settings", "reads no settings: its own are gone", ("kernels", "fields"), _PUT_BACK),
)
"""Parts of managers that schemas ask for, what is said where they are gone, at which keys, and what
to do."""
_PARTS_OF_GRIDS: Final = ("space", "settings")
"""Parts that cells have in other ways."""


def _compare_calls(diff: Comparison, old_name: str, name: str) -> None:
    """Report changes of what code calls on a component: hook, kernels, reductions."""
    if diff.old.project is None or diff.new.project is None:
        return
    old, new = diff.old.project.by_name[old_name], diff.new.project.by_name[name]
    _compare_indexes(diff, old, new)
    if diff.new.saved["components"][name]["in"] == "managers":
        _compare_networks(diff, old, new)
        _compare_collections(diff, old, new)
        for part, why, keys, hint in _PARTS:
            is_gone = getattr(old, part) and not getattr(new, part)
            if is_gone and not (new.grid and part in _PARTS_OF_GRIDS):
                diff.add("E953", f"{quote(name)} {why}", diff.marks.component(name, *keys), hint)
    kernels = _kernels_of(old.kernels), _kernels_of(new.kernels)
    reductions = _result_types(old.reductions), _result_types(new.reductions)
    for what, change_text, texts in (
        ("kernel", _TAKES, kernels),
        ("reduction", _RETURNS, reductions),
    ):
        marks = {method: diff.marks.method(name, method, f"{what}s") for method in texts[0]}
        _compare_texts(diff, f"the {what} {{}} of {quote(name)}", change_text, *texts, marks)
    for kernel in _lost_rows(old.kernels, new.kernels):
        mark = diff.marks.method(name, kernel, "kernels")
        diff.changed(f"the kernel {quote(kernel)} of {quote(name)} takes no 'rows' any more", mark)


def _compare_indexes(diff: Comparison, old: Component, new: Component) -> None:
    """Report fields that are indexed no more, or now, so that their columns are read-only."""
    fields = {field.name: field for field in new.fields}
    former = diff.new.history.fields_of(new.name)
    for was in old.fields:
        field = fields.get(find_present_name(was.name, fields, former) or "")
        if field is None or INDEX.value(was) == INDEX.value(field):
            continue
        mark, title = diff.marks.field(new.name, field.name), quote(f"{new.name}.{field.name}")
        if INDEX.value(was):
            gone = f"rows_of_{was.name} and rows_of_{was.name}_many are gone"
            hint = "write 'index: true', or change the code"
            diff.add("E953", f"{title} is not indexed: {gone}", mark, hint)
        elif not UNIQUE.value(was):
            message = f"{title} is indexed: data.{field.name} is read-only"
            hint = "leave 'index: true' out, or write it by setters and assignment"
            diff.add("E953", message, mark, hint)


def _compare_collections(diff: Comparison, old: Component, new: Component) -> None:
    """Report rows without owners that are collected no more."""
    if new.owner != "none" or not _collects(old) or _collects(new):
        return
    former, present = diff.new.history.fields_of(new.name), {f.name for f in new.fields}
    names = (find_present_name(name, present, former) for name in old.on_delete)
    what, hint = "no 'on_delete'", "write it again, or change the code"
    mark = diff.marks.component(new.name, "fields")
    if new.on_delete:
        what, hint = f"'destroy: {new.destroy}'", "go back to 'destroy: gc'"
        mark = diff.marks.component(new.name, "destroy")
    elif name := next(filter(None, names), ""):
        mark = diff.marks.field(new.name, name)
    diff.add("E953", f"{quote(new.name)} has {what}: collect is gone", mark, hint)


def _collects(component: Component) -> bool:
    return (component.owner, component.destroy) == ("none", "gc") and bool(component.on_delete)


def _compare_networks(diff: Comparison, old: Component, new: Component) -> None:
    """Report a network that has other ends or another direction."""
    if old.network is None or new.network is None:
        return
    former = diff.new.history.fields_of(new.name)
    names = {field.name for field in new.fields} | {"entity"}
    was = [find_present_name(end, names, former) for end in old.network.ends]
    ends, is_mutual = new.network.ends, new.network.is_mutual
    is_same = {*was} == {*ends} if is_mutual else was == [*ends]
    if not is_same or old.network.is_mutual != is_mutual:
        message = f"the network of {quote(new.name)} has other ends, or leads another way"
        diff.changed(message, diff.marks.component(new.name, "network"))


def _compare_texts(
    diff: Comparison,
    what: str,
    change_text: str,
    old: Mapping[str, str],
    new: Mapping[str, str],
    marks: Mapping[str, Mark],
) -> None:
    """Report names that are gone or whose types changed.

    `change_text`: format of the new and the old types; `marks`: where each name is, or was.
    """
    for name, was in old.items():
        called, is_ = what.format(quote(name)), new.get(name)
        if is_ is None:
            diff.gone(called, marks[name])
        elif is_ != _TYPE.sub(lambda match: diff.enums.get(match[0], match[0]), was):
            diff.changed(f"{called} {change_text.format(is_, was)}", marks[name])


def _compare_lists(
    diff: Comparison,
    key: str,
    what: str,
    old: Mapping[str, Sequence[str]],
    new: Mapping[str, Sequence[str]],
    code: str,
) -> None:
    """Report lists of components that are gone; with `code`, components that are gone from one."""
    for name, members in old.items():
        title, mark = f"{what} {quote(name)}", diff.marks.world(f"{key}.{name}")
        if name not in new:
            diff.gone(title, diff.marks.world(key))
            continue
        for member in filter(None, map(diff.components.get, members)):
            if member not in new[name]:
                message = f"{title} has no {quote(member)} any more"
                diff.add(code, message, mark, "put it back, or change the code that uses it")


def _compare_histories(diff: Comparison) -> None:
    old, new, saved = diff.old.history, diff.new.history, diff.new.saved
    _check_names(diff, "component", old.components, new.components, saved["components"])
    _check_names(diff, "enum", old.enums, new.enums, saved["enums"])
    for was, name in diff.components.items():
        fields = saved["components"][name]["fields"]
        _check_names(diff, "field", old.fields_of(was), new.fields_of(name), fields, name)
    settings = old.fields_of(SETTINGS), new.fields_of(SETTINGS), saved.get(SETTINGS, {})
    _check_names(diff, "setting", *settings)
    for was, name in diff.enums.items():
        members = saved["enums"][name]["members"]
        _check_names(diff, "member", old.members_of(was), new.members_of(name), members, name)


def _check_names(
    diff: Comparison, kind: str, old: Names, new: Names, present: Container[str], owner: str = ""
) -> None:
    """Check the former names that the versions list; `owner`: the component or enum they are in."""
    for former, became in old.items():
        what, new_name = f"{kind} {quote(former)}", new.get(former, "")
        listed = f"{SETTINGS}.{former}" if kind == "setting" else former
        if former in present:
            was, new_name = f"called {quote(became)} later" if became else "removed", former
            message = f"the {what} has the name of one that was {was}"
            hint = "give it a name that nothing had; old values would become part of it"
        elif former not in new:
            new_name = (find_present_name(became, present, new) if became else "") or ""
            if not new_name and kind == "enum":  # nothing is saved of an enum that is gone
                continue
            entry = f"'removed: [{listed}]' in {quote(owner) if owner else 'the world'}"
            entry = f"'renamed_from: [{former}]' at {quote(new_name)}" if new_name else entry
            message = f"the former {what} is not listed any more"
            hint = f"write {entry} again, or values saved under it would be refused"
        elif not became and new_name:
            message = f"the {what} was removed, and {quote(new_name)} is renamed from it"
            again = f"write 'removed: [{listed}]' again"
            hint = f"{again}; old values would become part of {quote(new_name)}"
        else:
            continue
        diff.add("E905", message, _mark_of_name(diff.marks, kind, owner, new_name), hint)


def _mark_of_name(marks: NewerMarks, kind: str, owner: str, name: str) -> Mark:
    """Return the mark of a name, or of the list of removed names if it is empty."""
    if kind == "component":
        return marks.component(name) if name else marks.written("removed") or marks.nowhere
    if kind == "enum":
        return marks.enum(name)
    if kind == "setting":
        return marks.world(f"{SETTINGS}.{name}") if name else marks.world("removed", SETTINGS)
    if kind == "field":
        return marks.field(owner, name) if name else marks.component(owner, "removed")
    return marks.enum(owner, f"values.{name}") if name else marks.enum(owner, "removed")


def _kernels_of(kernels: Iterable[Kernel]) -> dict[str, str]:
    return {kernel.name: ", ".join(_arguments(kernel).values()) for kernel in kernels}


def _lost_rows(
    old: Iterable[Kernel],
    new: Iterable[Kernel],
    old_components: Container[str] = (),
    new_components: Container[str] = (),
) -> list[str]:
    """Return the kernels of both versions that took `rows=` in the old one alone."""
    taking = {kernel.name for kernel in old if kernel.takes_rows(old_components)}
    losing = [kernel.name for kernel in new if not kernel.takes_rows(new_components)]
    return [name for name in losing if name in taking]


def _schedules_of(project: Project) -> dict[str, str]:
    arguments = {}
    for name, entries in project.world.schedules:
        pairs = arguments_of(resolve_calls(entries, project.by_name, project.world))
        arguments[name] = ", ".join(_arguments(call.kernel)[each.name] for call, each in pairs)
    return arguments


def _arguments(kernel: Kernel) -> dict[str, str]:
    return {
        name: f"{name}: {text}" + " of each row" * (name in kernel.each)
        for name, text, _ in kernel.args
    }


def _tables_of(project: Project) -> dict[str, dict[str, str]]:
    return {
        table.name: {column.name: column.scalar for column in table.columns}
        | {field.name: str(field.type) for field in table.fields}
        for table in project.world.records
    }


def _queries_of(project: Project) -> dict[str, tuple[str, ...]]:
    return {query.name: (*query.all, *query.optional) for query in project.world.queries}


def _bundles_of(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the components of each bundle, nested bundles included."""
    return {bundle.name: tuple(sorted(bundle.values)) for bundle in project.world.bundles}


def _result_types(reductions: Iterable[Reduction]) -> dict[str, str]:
    types = {}
    for reduction in reductions:
        is_float, sizes = reduction.function in FLOAT_REDUCTIONS, ""
        if reduction.function != "count":
            of = reduction.program.value.type
            is_float |= of.is_float
            sizes = f"[{', '.join(map(str, of.shape))}]" if of.shape else ""
        types[reduction.name] = ("float" if is_float else "int") + sizes
    return types
