"""Kernels, schedules, reductions, queries, bundles and groups: what code calls by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ecsgen.breaking.comparison import Arguments, Comparison, ComponentCode
from ecsgen.diagnostics import quote
from ecsgen.model import Mark


def compare_calls(it: Comparison) -> None:
    """Report what happens to what the world has for code."""
    groups = it.old.saved["groups"], it.new.saved["groups"]
    _compare_lists(it, "groups", "the group", *groups, "E953")
    old, new = it.old.code, it.new.code
    if old is None or new is None:
        return
    if old.world not in (new.world, "World"):
        it.report.renamed(f"the world {quote(old.world)}", new.world, it.places.world())
    _compare_methods(
        it,
        lambda name: f"the kernel {quote(name)} of the world",
        old.kernels,
        new.kernels,
        it.places.world("kernels"),
        lambda name: it.places.world(f"kernels.{name}"),
    )
    _compare_methods(
        it,
        lambda name: f"the schedule {quote(name)}",
        old.schedules,
        new.schedules,
        it.places.world("schedule"),
        lambda name: it.places.world(f"schedule.{name}"),
    )
    _compare_lists(it, "queries", "the query", old.queries, new.queries, "E951")
    _compare_lists(it, "bundles", "the bundle", old.bundles, new.bundles, "E952")


def compare_component_calls(
    it: Comparison, name: str, old: ComponentCode, new: ComponentCode
) -> None:
    """Report what happens to a component's kernels and reductions."""
    of = quote(name)
    _compare_methods(
        it,
        lambda kernel: f"the kernel {quote(kernel)} of {of}",
        old.kernels,
        new.kernels,
        it.places.component(name, "kernels"),
        lambda kernel: it.places.method(name, kernel),
    )
    for reduction, returned in old.reductions.items():
        what = f"the reduction {quote(reduction)} of {of}"
        if reduction not in new.reductions:
            it.report.gone(what, it.places.component(name, "reductions"))
        elif (now := new.reductions[reduction]) != returned:
            text = f"{what} returns {now}, and returned {returned}"
            it.report.changed(text, it.places.method(name, reduction))


def _compare_methods(
    it: Comparison,
    called: Callable[[str], str],
    old: Mapping[str, Arguments],
    new: Mapping[str, Arguments],
    gone_from: Mark,
    place: Callable[[str], Mark],
) -> None:
    for name, arguments in old.items():
        what = called(name)
        if name not in new:
            it.report.gone(what, gone_from)
        elif new[name] != tuple((one, _renamed(it, text)) for one, text in arguments):
            text = f"{what} takes ({_shown(new[name])}), and took ({_shown(arguments)})"
            it.report.changed(text, place(name))


def _renamed(it: Comparison, type_: str) -> str:
    name, bracket, shape = type_.partition("[")
    return it.enums.get(name, name) + bracket + shape


def _shown(arguments: Arguments) -> str:
    return ", ".join(f"{name}: {text}" for name, text in arguments)


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
