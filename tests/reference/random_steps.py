"""Random steps of kernels, in branches and loops that nest; templates stand for what is in them."""

from __future__ import annotations

import re
from random import Random
from textwrap import indent

LOCAL = re.compile(r"\b[tuh]\b")


class StepText:
    """Text of one random kernel."""

    def __init__(self, random: Random) -> None:
        self.random, self.pick = random, random.choice
        self.has_locals = False
        """True if the kernel has the locals t, u and h."""
        self.counters: list[str] = []
        """Numbers of the loops around."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def say(self, *templates: str) -> str:
        """One of some templates, of those with locals where there are any."""
        known = [one for one in templates if self.has_locals or not LOCAL.search(one)]
        return self.filled(self.pick(known))

    def filled(self, template: str) -> str:
        """A template, in which `<name argument>` stands for what a method gives."""

        def given(found: re.Match[str]) -> str:
            method = getattr(self, found[1])
            return str(method(found[2]) if found[2] else method())

        return re.sub(r"<(\w+) ?(\w*)>", given, template)

    def own(self, name: str) -> str:
        raise NotImplementedError

    def condition(self) -> str:
        raise NotImplementedError

    def assigned(self) -> str:
        raise NotImplementedError

    def loop_over_neighbours(self, end: str) -> list[str]:
        """A loop over neighbours, if there are any, with a step that may end it."""
        raise NotImplementedError

    def nested(self, step: str, depth: int) -> list[str]:
        """A step, often within branches and loops."""
        kinds = ["", "if", "if", "else", "range", "while", "near", "return", *["in"] * depth]
        kind, counter = self.pick(kinds) if depth else "", f"turn{depth}"
        if kind == "range":
            bound = self.pick(["2", "randrange(4)", f"i32({self.own('m')}) % 3", "-1, 2"])
            self.counters.append(counter)
        inner = self.nested(step, depth - 1) if depth else [step]
        within = indent("\n".join(inner), "    ").split("\n")
        test = f"if {self.condition()}:"
        end = self.pick(["break", "continue", "return", "pass"])
        match kind:
            case "if":
                other = self.pick([[], [f"elif {self.condition()}:", f"    {self.assigned()}"]])
                return [test, *within, *other]
            case "else":
                return [test, f"    {self.assigned()}", "else:", *within]
            case "in":
                return [test, *within, f"    {self.assigned()}"]
            case "range":
                ended = [f"    if {counter} > 0 and {self.condition()}:", f"        {end}"]
                self.counters.remove(counter)
                return [f"for {counter} in range({bound}):", *ended, *within]
            case "while":
                return [f"while {self.condition()}:", *within, f"    {test}", f"        {end}"]
            case "near":
                return self.loop_over_neighbours(end) or inner
            case "return":
                return [*inner, test, "    return"]
        return inner


def block_lines(steps: list[str]) -> list[str]:
    """The lines of a kernel's steps as one block."""
    is_endless = any("while " in step for step in steps)
    lines = ["    at_most: 3"] * is_endless
    return [*lines, "    steps: |", indent("\n".join(steps), " " * 6), ""]


def args_line(text: str, types: dict[str, str]) -> list[str]:
    """The line of the arguments that a text names."""
    args = [f"{one}: {kind}" for one, kind in types.items() if re.search(rf"\b{one}\b(?!:)", text)]
    return [f"    args: {{{', '.join(args)}}}"] * bool(args)
