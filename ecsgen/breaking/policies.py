"""Policies of a component that is still there: what they forget, and which methods they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from ecsgen.breaking.code import ComponentCode
from ecsgen.breaking.comparison import Comparison
from ecsgen.breaking.methods import names_gone
from ecsgen.diagnostics import quote
from ecsgen.model import Mark
from ecsgen.model.saved import Document

Happens: TypeAlias = Callable[[Document, Document], bool]


class Loss(NamedTuple):
    """What a change of a policy does to saved rows."""

    key: str
    """Of the policy."""
    code: str
    why: str
    happens: Happens
    """Tells by the old component and the new one."""


def _is_owned(component: Document) -> bool:
    return bool(component["owner"] == "entity")


def _keeps_the_dead(component: Document) -> bool:
    in_manager = component["in"] == "managers" and _is_owned(component)
    return in_manager and component["destroy"] != "callback"


def _is_off(key: str) -> Happens:
    return lambda old, new: bool(old.get(key)) and not new.get(key)


def _buries_the_dead(old: Document, new: Document) -> bool:
    return _keeps_the_dead(old) and _is_owned(new) and not _keeps_the_dead(new)


def _gives_new_ids(old: Document, new: Document) -> bool:
    is_changed = (old["lookup"] == "direct") != (new["lookup"] == "direct")
    return bool(old["ids"] and new["ids"] and is_changed)


def _is_tighter(old: Document, new: Document) -> bool:
    ring = new.get("ring", 0)
    return bool(ring) and not 0 < old.get("ring", 0) <= ring


NO_OWNERS: Final = Loss(
    "owner",
    "E903",
    "saved rows have no owners",
    lambda old, new: _is_owned(new) and not _is_owned(old),
)
LOSSES: Final = (
    Loss(
        "owner",
        "E904",
        "saved owners are refused, or forgotten with `drop`",
        lambda old, new: _is_owned(old) and not _is_owned(new),
    ),
    Loss(
        "instances",
        "E902",
        "entities may have several saved ones",
        lambda old, new: (old["instances"], new["instances"]) == ("many", "one"),
    ),
    Loss("destroy", "E904", "saved rows of dead entities go", _buries_the_dead),
    Loss("ids", "E904", "saved ids are forgotten", _is_off("ids")),
    Loss("lookup", "E904", "saved rows get new ids, and stale ones become 0", _gives_new_ids),
    Loss("partition", "E904", "it is forgotten which rows are active", _is_off("partition")),
    Loss("hierarchy", "E904", "saved parents are forgotten", _is_off("hierarchy")),
    Loss("ring", "E902", "there may be more saved ones", _is_tighter),
    Loss("ring", "E904", "it is forgotten which rows are the oldest", _is_off("ring")),
)


def compare_policies(it: Comparison, name: str, old: Document, new: Document) -> None:
    """Report what a component's policies do to saved rows, and to code."""
    is_refused = NO_OWNERS.happens(old, new)
    for loss in (NO_OWNERS,) if is_refused else LOSSES:
        if loss.happens(old, new):
            _report(it, loss.code, name, loss.key, loss.why, old, new)
    if old["in"] != new["in"]:
        _report(it, "E953", name, "in", "code finds it elsewhere", old, new)
        return
    for key, names in names_gone(old, new).items():
        _report(it, "E953", name, key, f"no {', '.join(names)} any more", old, new)


def compare_release(it: Comparison, name: str, old: ComponentCode, new: ComponentCode) -> None:
    """Report a hook that is gone, unless the whole manager is."""
    if old.release and not new.release and it.new.saved["components"][name]["in"] == "managers":
        message = (
            f"{quote(name)} has 'release: false', and had 'release: true': no on_release any more"
        )
        mark = it.places.component(name, "release", "destroy")
        it.report.add("E953", message, mark, "go back to 'release: true'")


def _report(
    it: Comparison, code: str, name: str, key: str, why: str, old: Document, new: Document
) -> None:
    is_moved = old["in"] != new["in"]
    cause = "in" if is_moved else key
    message = f"{quote(name)} has {_spelt(cause, new)}, and had {_spelt(cause, old)}: {why}"
    it.report.add(code, message, _place(it, name, cause), f"go back to {_spelt(key, old)}")


def _place(it: Comparison, name: str, key: str) -> Mark:
    if key == "in":
        return it.places.written("archetypes") or it.places.component(name)
    return it.places.component(name, key)


def _spelt(key: str, component: Document) -> str:
    """A policy as the schema has it."""
    value = component.get(key)
    if key == "in":
        return "a place in the archetypes" if value == "archetypes" else "a manager"
    if key == "ring" and not value:
        return "no ring"
    if key == "partition":
        return f"'partition: {{start: {value}}}'" if value else "'partition: off'"
    if key == "hierarchy":
        return f"'hierarchy: {{orphans: {value}}}'" if value else "'hierarchy: off'"
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'"
