"""Draws kernels at random: texts of well-typed steps over fields of all number types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

FIELDS = """\
component: Body
{keys}fields:
  mass: {{type: f32, default: 2.0}}
  height: {{type: f64, default: -1.5}}
  small: {{type: f32, default: 0.5}}
  place: "f32[3]"
  speed: "f32[3]"
  wide: "f64[3]"
  parted: {{type: "f32[3]", split: true}}
  table: "f32[2,3]"
  local: "f32[2,2]"
  world: "f32[2,2]"
  counts: "i32[3]"
  hp: u8
  delta: i16
  steps: i32
  far: i64
  big: u64
  alive: bool
  marks: "bool[3]"
  mode: Mode
  target: entity
"""
ENUM = "---\nenum: Mode\nvalues: [idle, walk, run]\n"

NUMBERS = {
    (): ["mass", "height", "small", "hp", "delta", "steps", "far", "big"],
    (3,): ["place", "speed", "wide", "parted", "counts"],
    (2, 2): ["local", "world"],
    (2, 3): ["table"],
}
ELEMENTS = [
    *("place.x", "speed[2]", "wide.y", "parted.z", "parted[0]", "table[1, 2]", "local[0, 1]"),
    *("counts[1]", "world[1, 1]"),
]
BOOLS = {(): ["alive", "marks[1]"], (3,): ["marks"]}
ARGUMENTS = {(): ["dt", "shift"], (3,): ["gain"]}
INTEGERS = {"hp": "u8", "delta": "i16", "steps": "i32", "far": "i64", "big": "u64", "counts": "i32"}
Shape = tuple[int, ...]


@dataclass
class Drawing:
    """One kernel in the making."""

    random: Random
    exact: bool = True
    parent: bool = False
    locals_: dict[Shape, list[str]] = field(default_factory=dict)

    def number(self, shape: Shape, depth: int) -> str:
        """An expression of numbers of a shape."""
        pick = self.random.random
        if depth == 0 or pick() < 0.15:
            return self._leaf(shape)
        term = self.number(shape if pick() < 0.7 else (), depth - 1)
        other = self.number(shape if pick() < 0.4 else (), depth - 1)
        if shape and "literal" not in term:
            term = self.number(shape, depth - 1)
        ways = [
            *(f"({term} {sign} {other})" for sign in ("+", "-", "*", "/", "+", "*", "//", "%")),
            *(f"({term} + {other})", f"-({term})", f"abs({term})"),
            f"sqrt({term})",
            f"({term}) ** 2",
            *(f"{name}({term})" for name in ("floor", "ceil", "round")),
            f"({self.random.choice(('min', 'max'))}({term}, {other}) + 0)",
            f"(clip({term}, -2, {other}) + 0)",
            f"({term} if {self.condition((), depth - 1)} else {other})",
            f"({other} if {self.condition(shape, depth - 1)} else {term})",
            f"{self.random.choice(('f32', 'f64', 'i32', 'u8', 'i64', 'u64'))}({term})",
            *self._of_vectors(shape, depth),
        ]
        if not self.exact:
            ways += [f"{name}({term})" for name in ("sin", "cos", "exp", "log", "tan")]
        return str(self.random.choice(ways))

    def _of_vectors(self, shape: Shape, depth: int) -> list[str]:
        left, other = (self.number((3,), depth - 1) for _ in range(2))
        if shape == ():
            vector = self.random.choice(("place", "speed", left))
            return [
                f"dot({left}, {other})",
                f"norm({left})",
                f"({left} @ {other})",
                f"({vector}).y",
            ]
        if shape == (3,):
            return [f"cross({left}, {other})", f"normalize({left})", "table[1]"]
        if shape == (2, 2):
            square = self.number((2, 2), depth - 1)
            return [f"(local @ {square})", f"({square} @ world)"]
        return ["(local @ table)", "(world @ table)"]

    def condition(self, shape: Shape, depth: int) -> str:
        """A condition of a shape."""
        if depth <= 0 and shape in BOOLS:
            return self.random.choice(BOOLS[shape])
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        compared = f"({self.number(shape, max(depth - 1, 0))} {sign} {self.number((), 0)})"
        if depth <= 0:
            return compared
        left, other = (self.condition(shape, depth - 1) for _ in range(2))
        ways = [compared, f"({left} and {other})", f"({left} or {other})", f"(not {left})"]
        if shape == ():
            ways += ["(mode == Mode.walk)", "(target != 0)", "(far < mass)", "(0 < mass < 2)"]
        return str(self.random.choice(ways))

    def _leaf(self, shape: Shape) -> str:
        leaves = [*NUMBERS[shape], *ARGUMENTS.get(shape, ()), *self.locals_.get(shape, ())]
        if shape == ():
            leaves += [*ELEMENTS, "2", "0.5", "3"]
        if self.parent:
            leaves += [f"parent.{name}" for name in NUMBERS[shape]] * 2
        return str(self.random.choice(leaves))

    def step(self, number: int) -> str:
        """One assignment."""
        pick: Callable[[Sequence[str]], str] = self.random.choice
        kind = self.random.random()
        if kind < 0.2:
            shape = self.random.choice(list(NUMBERS))
            name = f"part{number}"
            text = f"{name} = {self.number(shape, 2)}"
            self.locals_.setdefault(shape, []).append(name)
            return text
        if kind < 0.3:
            return f"alive = {self.condition((), 2)}"
        if kind < 0.35:
            return f"mode = Mode.run if {self.condition((), 1)} else mode"
        if kind < 0.5:
            name = pick(["place.x", "place[1]", "parted.y", "table[0, 2]", "world[1, 0]"])
            return f"{name} {pick(['=', '+=', '-=', '*='])} {self.number((), 2)}"
        shape = self.random.choice(list(NUMBERS))
        name = pick(NUMBERS[shape])
        value = self.number(shape if self.random.random() < 0.8 else (), 2)
        if name in INTEGERS:
            return f"{name} = {INTEGERS[name]}({value})"
        return f"{name} {pick(['=', '=', '+=', '-=', '*=', '/='])} {value}"


def kernel(seed: int, exact: bool = True, parent: bool = False) -> str:
    """One kernel as a line of a schema; a few of them have errors."""
    random = Random(seed)
    drawing = Drawing(random, exact, parent)
    steps = [drawing.step(number) for number in range(random.randint(1, 4))]
    unread = [name for names in drawing.locals_.values() for name in names]
    steps += [f"height = f64({name}{_first(drawing, name)})" for name in unread]
    where = f'where: "{drawing.condition((), 2)}", ' if random.random() < 0.4 else ""
    arguments = "args: {dt: f32, shift: i16, gain: 'f32[3]'}"
    listed = ", ".join(f'"{step}"' for step in steps)
    return f"  k{seed}: {{{arguments}, {where}steps: [{listed}]}}\n"


def _first(drawing: Drawing, name: str) -> str:
    shape = next(shape for shape, names in drawing.locals_.items() if name in names)
    return f"[{', '.join('0' * len(shape))}]" if shape else ""
