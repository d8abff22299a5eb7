"""Schedules of the world: each entry is a kernel, and arguments of one name are of one type."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Component, Kernel, World


def check_schedules(
    world: World,
    components: Mapping[str, Component],
    whole: Set[str],
    diagnostics: Diagnostics,
) -> None:
    """Report E514 at entries that are no kernels, or whose arguments do not go together.

    `whole`: components all of whose kernels could be read, and "" for those of the world.
    """
    for name, entries in world.schedules:
        types: dict[str, tuple[str, str]] = {}
        for place, entry in enumerate(entries):
            mark = world.marks[f"schedule.{name}.{place}"]
            kernel = _kernel(entry, world, components)
            holder = entry.rpartition(".")[0]
            if kernel is None and holder in components.keys() - whole | {""} - whole:
                continue  # what is missed may be in error
            if kernel is None:
                message, hint = _no_kernel(entry, world, components)
                diagnostics.add("E514", message, mark, hint=hint)
                continue
            for argument, text, _ in kernel.args:
                shown = f"{text} of each row" if argument in kernel.each else text
                first, where = types.setdefault(argument, (shown, entry))
                if first != shown:
                    message = f"{quote(argument)} is {first} in {quote(where)}"
                    message += f" and {shown} in {quote(entry)}"
                    diagnostics.add("E514", message, mark, hint="give one of them another name")


def _kernel(entry: str, world: World, components: Mapping[str, Component]) -> Kernel | None:
    holder, dot, name = entry.rpartition(".")
    component = components.get(holder)
    kernels = world.kernels if not dot else component.kernels if component else ()
    return next((kernel for kernel in kernels if kernel.name == name), None)


def _no_kernel(entry: str, world: World, components: Mapping[str, Component]) -> tuple[str, str]:
    """What is wrong with an entry, and what may be meant."""
    holder, dot, name = entry.rpartition(".")
    own = [kernel.name for kernel in world.kernels]
    theirs = {f"{c.name}.{k.name}": k.name for c in components.values() for k in c.kernels}
    if dot and holder in components:
        component = components[holder]
        what = "a reduction" if name in {one.name for one in component.reductions} else "no kernel"
        hint = did_you_mean(name, [kernel.name for kernel in component.kernels])
        return f"{quote(name)} is {what} of {quote(holder)}", hint
    if dot:
        message = f"{quote(entry)} is no kernel: there is no component {quote(holder)}"
        return message, did_you_mean(entry, theirs)
    meant = [text for text, kernel in theirs.items() if kernel == name]
    hint = f"write {' or '.join(meant)}" if meant else did_you_mean(name, [*own, *theirs])
    return f"{quote(entry)} is no kernel of the world", hint
