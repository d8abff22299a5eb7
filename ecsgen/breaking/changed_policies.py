"""Policies of a component that is still there: what they forget, and which methods they take."""

from __future__ import annotations

from typing import Final

from ecsgen.breaking.changed_code import ComponentCode
from ecsgen.breaking.comparison import Comparison
from ecsgen.diagnostics import quote
from ecsgen.model import Mark
from ecsgen.model.saved import Document
from ecsgen.policies import every, keys

OFF: Final = {key.name: key.off_text for key in keys("component")}


def compare_policies(it: Comparison, name: str, old: Document, new: Document) -> None:
    """Report what a component's policies do to saved rows, and to code."""
    losses = [loss for policy in every() for loss in policy.losses if loss.happens(old, new)]
    for loss in [loss for loss in losses if loss.is_all] or losses:
        _report(it, loss.code, name, loss.key, loss.why, old, new)
    if old["in"] != new["in"]:
        _report(it, "E953", name, "in", "code finds it elsewhere", old, new)
        return
    for key, names in names_gone(old, new).items():
        _report(it, "E953", name, key, f"no {', '.join(names)} any more", old, new)


def names_gone(old: Document, new: Document) -> dict[str, list[str]]:
    """Return the names that a component had and has no more, by the key that took them."""
    gone: dict[str, list[str]] = {}
    is_owner_the_cause = old["owner"] != new["owner"]
    for key, has, names in (methods for policy in every() for methods in policy.methods):
        if has(old) and not has(new):
            gone.setdefault("owner" if is_owner_the_cause else key, []).extend(names.split())
    if (old["cold"], new["cold"]) == ("inline", "indirect"):
        was_cold = [name for name, field in old["fields"].items() if field["cold"]]
        is_cold = [name for name, field in new["fields"].items() if field["cold"]]
        gone["cold"] = [f"data.{name}" for name in is_cold if name in was_cold]
    return gone


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
    if not value and key in OFF:
        return OFF[key]
    if key == "partition":
        return f"'partition: {{start: {value}}}'" if value else "'partition: off'"
    if key == "hierarchy":
        return f"'hierarchy: {{orphans: {value}}}'" if value else "'hierarchy: off'"
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'"
