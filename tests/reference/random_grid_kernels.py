"""Random kernels on grids: well-typed steps with moves, questions to neighbourhoods, choice, births
and deaths, references and messages, at once and in turns."""

from __future__ import annotations

import re
from itertools import count as counted
from random import Random

from tests.reference.random_steps import StepText, args_line, block_lines
from tests.support.world_package import checked

FIELDS = (
    "x: {type: f32, default: 1.5}, e: f64, m: i32, u: {type: u8, default: 3}, b: bool, see: i8, "
    'mate: entity, goal: id<Patch>, tree: id<Tree>, way: "i64[AXES]"'
)
SCHEMA = """
component: Patch
grid: {shape: SHAPE, hood: HOOD}
fields: {FIELDS}
OF Patch
---
component: Sheep
on: {field: cell, capacity: 1}
fields: {cell: id<Patch>, FIELDS}
OF Sheep
---
component: Bird
destroy: callback
on: cell
lookup: sparse
fields: {cell: id<Patch>, FIELDS}
---
component: Tree
owner: none
on: {field: cell, capacity: 2}
fields: {cell: id<Patch>, FIELDS}
---
component: Purse
PARTED
fields: {FIELDS}
---
component: Note
instances: many
ids: true
fields: {FIELDS}
---
component: Coat
destroy: manual
fields: {FIELDS}
---
world: World
bundles: {lamb: {Sheep: {e: 4, u: 200, way: 2}, Coat: {x: 0.1}}, ram: {lamb: {}, Sheep: {e: -1}}}
RICH
kernels:
""".replace("FIELDS", FIELDS).replace("OF Patch", "OF_PATCH").replace("OF Sheep", "OF_SHEEP")
CROWD = """
  crowd: {over: Tree, turns: rows, near: {radius: 9, among: Tree}, steps: [
    Tree.cell = Tree.goal, "Tree.m = i32(count(other))", Tree.e = Tree.cell.Tree.e]}
"""
KNOWN = f"""{CROWD}
  flee: {{over: Tree, turns: random, steps: [
    Tree.goal = random_empty(Tree), Tree.cell = Tree.goal]}}
  members: {{over: Sheep, near: {{kin: {{radius: 1, among: rich}},
    prey: {{radius: 2, among: rich}}}}, steps: [
    Sheep.e = sum(kin.Bird.e) + sum(prey.Purse.e), "Sheep.m = i32(count(kin))"]}}
  numbers: {{over: Bird, near: {{radius: 1, among: rich}}, steps: ["Bird.m = i32(count(other))"]}}
  heirs: {{over: Purse, steps: [spawn(Coat(x=1)), "destroy(Purse.tree, where=Purse.b)"]}}
  last: {{over: Tree, turns: rows, steps: [Tree.mate = choice(Sheep), destroy(Tree.mate),
    Tree.tree = choice(Tree), "destroy(Tree.tree, where=Tree.b)"]}}
  before: {{over: Bird, near: {{kin: {{radius: Bird.see, among: Patch}},
    prey: {{radius: 1, among: Bird}}}}, steps: [Bird.see = 2, Bird.cell = Bird.goal,
    "Bird.m = i32(count(kin) + 10 * count(prey))", Bird.goal = Bird.cell.Bird.goal]}}
  born: {{over: Tree, steps: [Tree.x = Tree.goal.x,
    "spawn(Bird(cell=Tree.goal), where=Tree.b or Tree.e > 0)"]}}
  sent: {{over: Sheep, steps: [Sheep.cell.b = Sheep.cell.b and Sheep.b]}}
  small: {{over: Bird, turns: rows, near: {{radius: 1, among: Patch}}, steps: [
    "Bird.u = u8(coords(Bird.goal)[0])", "Bird.u = Bird.u + u8(nearest(offset[0]))"]}}
  dead: {{over: Note, turns: rows, steps: [Note.x = Note.goal.x, Note.tree.cell = Note.goal]}}
  best: {{over: Bird, turns: rows, near: {{radius: 1, among: Patch}}, steps: [
    "Bird.goal = max_by(other, exists(other.Tree), other.goal == Bird.goal, other.x)"]}}
  told: {{over: Sheep, near: {{radius: 9, among: Patch}}, steps: [
    Sheep.e = sum(other.x), Sheep.goal.x -= Sheep.x]}}
  picky: {{over: Bird, turns: rows, where: choice(Sheep) != Bird.mate, steps: [Bird.x += 1]}}
  spread: {{over: Patch, near: {{radius: 1, among: Patch}}, steps: [
    "Patch.m = i32(count(other.x > 1))", Patch.goal.x -= Patch.e]}}
"""
"""Kernels that have been wrong once: what cells at a seam say, lists of cells that rows left, those
whom a query has, who is known by a birth or death only, the dead among those who are chosen, what
was before the kernel, and keys that are Python's own."""
OWN = """
  reach: {near: {radius: see, among: Patch}, steps: ["m = i32(sum(other.m))"]}
  flow: {near: 1, steps: ["m = i32(count(other.x > 1))", goal.x += e]}
"""
STANDING = ("Sheep", "Bird", "Tree")
OWNED = ("Sheep", "Bird", "Purse", "Note", "Coat")
MEMBERS = {"rich": ("Bird", "Purse")}
NAMES = ("spots", "kin", "prey")
HOODS = {n: ("moore", "von_neumann", "axes", "hex")[: 4 if n == 2 else 3] for n in (1, 2, 3)}
"""The hoods of grids by their number of axes."""
NUMBERS = ("x", "e", "m", "u", "see")
CASTS = {"x": "f32", "m": "i32", "u": "u8", "see": "i8"}
OF_KINDS = {"entity": "mate", "cell": "goal", "tree": "tree"}
FEWEST = 3
ORDERS = (
    *("", "", "", "rows", "rows", "random", "random", "given", "{random: 6}", "{random: reach}"),
    *("{by: -<own e>}", "{by: <own m> + <own u>}"),
)
CHANGES = (
    *("die(<once>)", "destroy(<head entity>, <once>)", "destroy(<head tree>, <once>)"),
    *("spawn(<born>, <once>)", "spawn(<born>, <once>)", "add(<kept>, <once>)"),
    *("add(<head entity>, <kept>, <once>)", "add(<head entity>, <kept>, replace=true, <once>)"),
    *("remove(Purse, <once>)", "remove(<head entity>, Coat, <once>)", "remove(Bird, <once>)"),
)
"""Steps by which entities come and go, or get and lose components."""


class Near:
    """A neighbourhood: its name, and what its neighbours' fields begin with."""

    def __init__(self, name: str, among: str, home: str) -> None:
        self.name, self.among = name, among
        self.is_cells = among == "Patch"
        self.bases = [f"{name}.{one}." for one in MEMBERS.get(among, (among,))]
        if home or self.is_cells:
            self.bases = [f"{name}."]
        self.kind = {"Patch": "cell", "Tree": "tree"}.get(among, "entity")
        self.is_everybody = False
        """True without a radius, and so without distances."""

    @property
    def always(self) -> str:
        """A condition with its name that is true of nearly all."""
        return f"{self.bases[0]}m < 99" if self.is_everybody else f"{self.name}.distance >= 0"


class GridText(StepText):
    """One random kernel; the same seed draws the same one."""

    def __init__(self, seed: int, axes: int, home: str = "") -> None:
        super().__init__(Random(seed))
        self.axes, self.home = axes, home
        self.over = home or self.pick(["Patch", *STANDING, *STANDING, "Purse", "Note", "rich"])
        self.members = MEMBERS.get(self.over, (self.over,))
        self.turns = self.filled(self.pick(ORDERS))
        self.is_mortal = not home and self.chance(0.6)
        self.heads = {kind: [self.own(field)] for kind, field in OF_KINDS.items()}
        self.heads["entity"] += ["entity"] * (self.over not in ("Patch", "Tree"))
        self.stands = next((one for one in self.members if one in STANDING), "")
        self.heads["cell"] += [f"{self.base(self.stands)}cell"] * bool(self.stands)
        self.sent: dict[str, str] = {}
        self.asked: Near | None = None
        self.is_in_loop = False
        self.nears: list[Near] = []
        self.keys = self._keys()

    def base(self, component: str) -> str:
        return "" if self.home else f"{component}."

    def own(self, field: str) -> str:
        return self.base(self.pick(self.members)) + field

    # Neighbourhoods

    def _keys(self) -> list[str]:
        lines = [f"    turns: {self.turns}"] if self.turns else []
        lines += [] if self.home else [f"    over: {self.over}"]
        if (self.over != "Patch" and not self.stands) or self.chance(0.15):
            return lines
        count = self.pick([0, 0, 1, 2, 3])
        names = self.random.sample(NAMES, count) or ["other"]
        texts = [self._near(name) for name in names]
        inner = ", ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))
        return [*lines, f"    near: {texts[0] if not count else f'{{{inner}}}'}"]

    def _near(self, name: str) -> str:
        known = {"": [*STANDING, "Patch", "Patch", "rich"], "Sheep": ["Sheep", "Patch"]}
        among = self.pick(known.get(self.home, ["Patch"]))
        self.nears.append(Near(name, among, self.home))
        if self.chance(0.15):
            self.nears[-1].is_everybody = True
            return f"{{among: {among}}}"
        radius = self.pick(["0", "1", "1", "2", "9", "reach", self.own("see")])
        text = f"radius: {radius}, among: {among}"
        if self.chance(0.3):
            text += f", hood: {self.pick(HOODS[self.axes])}"
        if among == "Patch" != self.over and self.chance(0.5):
            text += ", center: true"
        return f"{{{text}}}"

    def kin(self, what: str) -> str:
        """`offset` or `distance` of the neighbour who is asked."""
        assert self.asked
        is_alone = len(self.nears) == 1 and not self.is_in_loop and self.chance(0.5)
        return what if is_alone else f"{self.asked.name}.{what}"

    def met(self) -> str:
        """A number of the neighbour who is asked."""
        assert self.asked
        ways = [self.pick(self.asked.bases) + self.pick(NUMBERS) for _ in range(3)]
        way, axis = self.kin("offset"), self.random.randrange(self.axes)
        if self.asked.is_everybody:
            return self.pick(ways)
        ways += [self.kin("distance"), f"{way}[{axis}]" if axis == 1 else f"{way}.{'xyz'[axis]}"]
        return self.pick(ways)

    def question(self, kind: str = "") -> str:
        """A question for a number or a handle."""
        self.asked = near = self.pick(self.nears)
        last = f", where={self.condition()}" if self.chance(0.4) else ""
        if last and near.name not in last:
            last = f", where={near.always} and ({last[8:]})"
        if kind:
            found = self._best(self.handle_met(kind), last)
        elif self.chance(0.3):
            one = self.condition()
            is_named = near.name in one or len(self.nears) == 1
            whom = one if is_named else f"not ({near.always}) or {one}"
            is_plain = near.name != whom and self.chance(0.5)
            found = f"count({whom})" if is_plain else f"count({near.name}{last})"
        elif self.chance(0.3):
            found = self._best(self.met(), last)
        elif self.chance(0.3):
            base = self.pick(near.bases)
            ways = [f"mode({base}{self.pick(['m', 'u'])}{last})", f"sum({base}e, none=2.5{last})"]
            ways += [f"(max({base}m, none=i32(7){last}) + 0)", f"mean({base}e{last}, none=0)"]
            found = self.pick(ways)
        else:
            found = f"{self.pick(['sum', 'mean', 'min', 'max'])}({self.met()}{last})"
            found = f"({found} + 0)" if found[0] == "m" else found
        self.asked = None
        return found

    def _best(self, e: str, last: str) -> str:
        keys = [self.pick([self.met(), f"{self.met()} // 2", self.condition()])]
        is_far = self.chance(0.3) and self.asked and not self.asked.is_everybody
        keys += [f"-{self.kin('distance')}"] * bool(is_far)
        keys += [self.met()] if self.chance(0.3) else []
        how = self.pick(["nearest" if is_far else "choice", "choice", "max_by", "min_by"])
        if how == "choice" and self.chance(0.5):
            last += f", weight={self.met()}"
        by = f", {', '.join(keys)}" if how.endswith("_by") else ""
        return f"{how}({e}{by}{last})"

    def handle_met(self, kind: str) -> str:
        assert self.asked
        ways = [self.pick(self.asked.bases) + OF_KINDS[kind]]
        ways += [f"{self.pick(self.asked.bases)}cell"] * (kind == "cell" and self._meets_on_grid())
        if kind == self.asked.kind:
            ways += [self.asked.name] * 2
        if kind == "entity" and self.asked.kind == "entity":
            ways += [f"{self.asked.name}.entity"]
        return self.pick(ways)

    def _meets_on_grid(self) -> bool:
        assert self.asked
        return self.asked.among in STANDING

    # References

    def head(self, kind: str, depth: int = 1) -> str:
        """What leads to another row: a field, a local, or a reference again."""
        if depth == 0 or self.chance(0.6) or (self.home and kind != "cell"):
            return self.pick(self.heads[kind])
        return f"{self.row(depth - 1)}{OF_KINDS[kind]}"

    def row(self, depth: int = 1, is_sent: bool = False) -> str:
        """A reference to a row, but for the field."""
        kinds = {"": ["entity", "cell", "cell", "tree"], "Sheep": ["cell", "entity"]}
        kind = self.pick(kinds.get(self.home, ["cell"]))
        head = self.head(kind, depth)
        if kind == "entity":
            return f"{head}.{self.home or self.pick(OWNED)}."
        if kind == "cell" and not self.home and self.chance(0.4):
            return f"{head}.{self.pick(STANDING)}."
        return f"{head}."

    def exists(self) -> str:
        if self.asked and self.asked.is_cells and not self.home and self.chance(0.7):
            is_full = self.chance(0.3)
            kind = self.pick(["Sheep", "Tree"] if is_full else STANDING)
            name = self.asked.name
            return f"full({name}, {kind})" if is_full else f"exists({name}.{kind})"
        if self.home == "Patch":
            return "exists(goal)"
        kind = self.pick(["entity", "cell", "cell", *([] if self.home else ["tree"])])
        head = self.head(kind)
        if kind == "cell" and not self.asked and self.chance(0.3):
            return f"full({head}, {self.home or self.pick(['Sheep', 'Tree'])})"
        more = {"entity": OWNED, "cell": STANDING}.get(kind, ())
        inner = f".{self.pick(more)}" if more and not self.home and self.chance(0.7) else ""
        return f"exists({head}{inner})"

    # Expressions

    def leaf(self) -> str:
        if self.asked and self.chance(0.7):
            return self.met()
        if not self.asked and self.nears and self.chance(0.4):
            return self.question()
        ways = [self.own(self.pick(NUMBERS)) for _ in range(3)]
        ways += [self.pick(["2", "0.5", "1", "3"]), f"{self.row()}{self.pick(NUMBERS)}"]
        ways += [f"coords({self.head('cell')})[{self.random.randrange(self.axes)}]"]
        if not self.asked:
            ways += ["random()", f"randrange({self.own('u')})", f"uniform({self.own('x')}, 2)"]
        if not self.home:
            ways += ["tick"]
        return self.pick(ways)

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.chance(0.3):
            return self.leaf()
        one, other = self.number(depth - 1), self.number(depth - 1)
        ways = [f"({one} {sign} {other})" for sign in ("+", "-", "*", "/", "//", "%")]
        ways += [f"(min({one}, {other}) + 0)", f"({one} if {self.condition()} else {other})"]
        ways += [f"{name}({one})" for name in ("f32", "i32", "u8", "abs", "floor")]
        return self.pick(ways)

    def condition(self) -> str:
        one, other = self.leaf(), self.leaf()
        compared = f"{one} {self.pick(['<', '<=', '==', '!=', '>'])} {other}"
        ways = [compared, compared, self.own("b"), self.exists(), f"not ({compared})"]
        ways += [f"({compared} or {self.own('b')})", f"{self.own('mate')} != {self.own('mate')}"]
        if self.asked:
            kind = self.asked.kind
            ways += [f"{self.asked.name} != {self.pick(self.heads[kind])}"]
            ways += [f"{self.pick(self.asked.bases)}b"]
        return self.pick(ways)

    def handle(self, kind: str) -> str:
        """What is assigned to a field of handles."""
        ways = [self.head(kind)] * (self.home == "" or kind == "cell") + [self.own(OF_KINDS[kind])]
        if self.nears and any(kind in (near.kind, "cell") for near in self.nears):
            ways += [self.question(kind) for _ in range(2)]
        if self.home != "Patch" and kind == "cell":
            step = f"{self.own('way')} * {self.random.randrange(-2, 3)} + 1"
            ways += [f"cell_at(Patch, coords({self.head('cell')}) + {step})"]
            ways += [f"random_empty({self.home or self.pick(STANDING)})"] * 2
        one = {"entity": ["Sheep", "Bird", "Purse"], "cell": ["Patch"], "tree": ["Tree"]}[kind]
        if self.home in ("", *one):
            among = self.home or self.pick(one)
            test = self.pick([f"{among}.x > 0", f"{among}.b or {among}.m == 2"])
            ways += [f"choice({among})", f"choice({among}, where={test})"]
        ways += ["self"] * (kind == {"Patch": "cell", "Tree": "tree"}.get(self.over, "entity"))
        return self.pick(ways)

    # Steps

    def assigned(self) -> str:
        field = self.pick([*NUMBERS, "x", "e", "m", "b", "way", "mate", "goal", "tree", "goal"])
        if field == "way":
            far = [near for near in self.nears if not near.is_everybody]
            if far and self.chance(0.5):
                self.asked = self.pick(far)
                value = f"sum({self.kin('offset')})"
                self.asked = None
            else:
                value = f"coords({self.head('cell')})"
            return f"{self.own(field)} {self.pick(['=', '+='])} {value}"
        for kind, own in OF_KINDS.items():
            if own == field:
                return f"{self.own(field)} = {self.handle(kind)}"
        if field == "b":
            return f"{self.own(field)} = {self.condition()}"
        if field == "see":
            return f"{self.own(field)} = i8(randrange(4)) - i8(1)"
        cast = CASTS.get(field, "")
        sign = self.pick(["=", "="] if field == "u" else ["=", "+=", "-="])
        return f"{self.own(field)} {sign} {cast}({self.number()})"

    def moved(self) -> str:
        """A move, where there may be one."""
        if self.turns and not self.home and self.chance(0.3):
            kind = self.pick(["entity", "tree"])
            row = f"{self.head(kind)}." + self.pick(STANDING[:2]) * (kind == "entity")
            return f"{row.removesuffix('.')}.cell = {self.handle('cell')}"
        if self.stands and (self.turns or self.stands == "Bird"):
            return f"{self.base(self.stands)}cell = {self.handle('cell')}"
        return self.assigned()

    def local(self) -> str:
        kind = self.pick(["entity", "cell"] if self.home else [*OF_KINDS])
        name = f"k{len(self.heads[kind])}{kind[0]}"
        text = f"{name} = {self.handle(kind)}"
        self.heads[kind] += [name] * 2
        return text

    def message(self, row: str = "") -> str:
        row = row or self.row()
        if self.turns and self.chance(0.4):
            field = self.pick([*NUMBERS, "b", *OF_KINDS.values()])
            if field == "b":
                return f"{row}b = {self.condition()}"
            kind = next((k for k, own in OF_KINDS.items() if own == field), "")
            value = self.handle(kind) if kind else f"{CASTS.get(field, '')}({self.number()})"
            return f"{row}{field} = {value}"
        field = self.pick([*NUMBERS, "b"])
        where = self._target(row) + field
        way = self.sent.setdefault(where, self.pick("+<>" if field != "b" else "&|"))
        value = f"{CASTS.get(field, '')}({self.number()})"
        if way == "+":
            return f"{row}{field} {self.pick(['+=', '-='])} {value}"
        if way in "<>":
            return f"{row}{field} = {'min' if way == '<' else 'max'}({row}{field}, {value})"
        return f"{row}b = {row}b {'and' if way == '&' else 'or'} {self.condition()}"

    def _target(self, row: str) -> str:
        """The component that a reference leads to."""
        *_, head, last = ["", *row.rstrip(".").split(".")]
        if self.is_in_loop and not head and self.asked and not self.asked.is_cells:
            return self.home
        if last in (*STANDING, *OWNED) and head:
            return last
        return "Tree" if last == "tree" or last.endswith("t") else "Patch"

    def fate(self) -> str:
        ways = [way for way in CHANGES if self.over not in ("Patch", "Tree") or "<head" in way]
        return self.say(*ways, "spawn(<born>, <once>)")

    def once(self) -> str:
        return f"where={self.condition()}"

    def kept(self) -> str:
        """A component that an entity gets."""
        name = self.pick(["Purse", "Note", "Coat", "Bird"])
        return f"{name}(e={self.number()}, m=i32({self.leaf()}))"

    def loop_over_neighbours(self, end: str) -> list[str]:
        """A loop over one of the neighbourhoods."""
        if not self.nears:
            return []
        self.asked = near = self.pick(self.nears)
        self.is_in_loop = True
        name, row = near.name, self.pick(near.bases)
        steps = [f"{self.own('e')} += {self.number()}", self.message(row)]
        steps += [f"{row}x = f32({self.leaf()})"] * (bool(self.turns) and self.chance(0.3))
        if self.is_mortal and self.turns and not near.is_cells and self.chance(0.3):
            steps += [f"destroy({name})", f"{self.own('e')} -= {row}e"]
        steps += [f"if {self.condition()}:", f"    {end}"]
        self.asked, self.is_in_loop = None, False
        return [f"for {name} in {name}:", *(f"    {step}" for step in steps)]

    def born(self) -> str:
        ways = ["Sheep", "Bird", "Bird Purse", "Tree", "Note Bird", "Sheep Coat"]
        names = self.pick(ways).split()
        found = [f"{name}({', '.join(self.given(name))})" for name in names]
        return ", ".join(
            [self.pick(["lamb", "ram"])] * (names == ["Sheep"] and self.chance(0.5)) + found
        )

    def given(self, name: str) -> list[str]:
        values = [f"e={self.number()}"] * self.chance(0.7)
        values += [f"m=i32({self.number()})"] * self.chance(0.4)
        values += [f"mate={self.head('entity')}"] * self.chance(0.3)
        if name in STANDING and (self.turns or name == "Bird") and self.chance(0.8):
            values += [f"cell={self.handle('cell')}"]
        return values

    def kernel(self, name: str) -> str:
        lines = [f"  {name}:", *self.keys]
        lines += args_line("\n".join(self.keys), {"reach": "i64"})
        lines += [f'    where: "{self.condition()}"'] if self.chance(0.3) else []
        makers = [self.assigned, self.assigned, self.moved, self.message, self.local]
        makers += [self.fate, self.fate] if self.is_mortal else []
        steps = [self.pick(makers)() for _ in range(self.random.randrange(FEWEST, 7))]
        while idle := [step for k, step in enumerate(steps) if _is_idle(step, steps[k + 1 :])]:
            steps = [step for step in steps if step not in idle] or [self.assigned()]
        if self.chance(0.6):
            block = [self.nested(step, 0 if LOCAL.match(step) else 2) for step in steps]
            return "\n".join([*lines, *block_lines([line for part in block for line in part])])
        return "\n".join([*lines, "    steps:", *(f'    - "{one}"' for one in steps), ""])


class CellsText(GridText):
    """A random kernel of cells that ask the cells around, at once, about what the cell, the offset
    and the row have together."""

    def __init__(self, seed: int, axes: int) -> None:
        self.locals: list[str] = []
        super().__init__(seed, axes, "Patch")
        self.turns = ""

    def _keys(self) -> list[str]:
        names = self.pick([("other",), ("kin", "prey")])
        self.nears = [Near(name, "Patch", "Patch") for name in names]
        texts = [
            f"{{radius: {self.pick('112')}, among: Patch, hood: {self.pick(HOODS[self.axes])}}}"
            for _ in names
        ]
        inner = ", ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))
        return [f"    near: {texts[0] if len(names) == 1 else f'{{{inner}}}'}"]

    def question(self, kind: str = "") -> str:
        self.asked = near = self.pick(self.nears)
        condition = f"{near.name}.distance > 0 and ({self.condition()})"
        where = f", where={condition}" if self.chance(0.6) else ""
        where += ", none=7" if self.chance(0.3) else ""
        value = f"{self.met()} + {self.number()}" if self.chance(0.7) else self.met()
        text = f"({self.pick(['sum', 'mean', 'min', 'max'])}({value}{where}) + 0)"
        self.asked = None
        return f"count({condition})" if self.chance(0.3) else text

    def leaf(self) -> str:
        if not self.asked and self.chance(0.5):
            return self.question()
        own = [*self.locals, *self.locals, self.own(self.pick(NUMBERS)), self.pick(["2", "0.5"])]
        met = [self.met(), self.met()] if self.asked else ["random()"]
        return self.pick([*met, *own, f"goal.{self.pick(NUMBERS)}"])

    def exists(self) -> str:
        return "exists(goal)" if not self.asked else self.own("b")

    def local(self) -> str:
        text = f"l{len(self.locals)} = {self.number()}"
        self.locals.append(text.split()[0])
        return text

    def moved(self) -> str:
        return f"e {self.pick(['=', '+='])} {self.number()}"

    def assigned(self) -> str:
        field = self.pick([*CASTS, "goal"])
        return (
            f"{field} = {CASTS[field]}({self.number()})" if field in CASTS else "goal = goal.goal"
        )

    def kernel(self, name: str) -> str:
        text = super().kernel(name)
        uses = [local for local in self.locals if text.count(f"{local} =") == 1]
        step = "      e += {}\n" if "steps: |" in text else '    - "e += {}"\n'
        self.locals = []
        return text + "".join(map(step.format, uses))

    def nested(self, step: str, depth: int) -> list[str]:
        return [step]  # a loop would leave the columns


def _is_idle(step: str, later: list[str]) -> bool:
    """Does nobody read the local name that it assigns?"""
    name = step.split(" ")[0]
    return LOCAL.match(step) is not None and not any(
        re.search(rf"\b{name}\b", one) for one in later
    )


RICH = {
    "queries": ("queries: {rich: {all: [Bird, Purse]}}", "partition: {start: active}"),
    "groups": ("groups: {rich: [Bird, Purse]}", ""),
}


LOCAL = re.compile(r"k\d+[a-z] = ")
"""A step that assigns to a local."""


def schema(first: int, count: int, axes: int, rich: str = "queries") -> str:
    """A schema with so many kernels of the world, and some of cells and of who stands on them."""
    of_patch, of_sheep = (
        "".join(_legal(first + k, axes, home, f"k{k}") for k in (0, 1))
        for home in ("Patch", "Sheep")
    )
    kernels = "".join(_legal(first + k, axes, "", f"k{k}") for k in range(count))
    return with_kernels(
        kernels, of_patch, of_sheep, axes, HOODS[axes][first // 100 % len(HOODS[axes])], rich
    )


def cells_schema(first: int, count: int, axes: int) -> str:
    """A schema with so many kernels of cells that ask the cells around."""
    kernels = "".join(CellsText(first + k, axes).kernel(f"k{k}") for k in range(count))
    text = with_kernels("  none: {over: Bird, steps: [Bird.x += 1]}\n", kernels, "", axes)
    return text.replace("grid: {", f"grid: {{wrap: {str(first % 200 == 0).lower()}, ", 1)


def _legal(seed: int, axes: int, home: str, name: str) -> str:
    """A kernel of which the schema's rules have nothing to say: the first of several."""
    texts = {"Patch": "", "Sheep": "", "": CROWD}
    for attempt in counted():
        text = GridText(seed + 10**6 * attempt, axes, home).kernel(name)
        given = {**texts, home: text}
        if checked(with_kernels(given[""], given["Patch"], given["Sheep"], axes))[0] is not None:
            return text
    raise AssertionError


def with_kernels(
    kernels: str,
    of_patch: str,
    of_sheep: str,
    axes: int,
    hood: str = "moore",
    rich: str = "queries",
) -> str:
    """The schema with kernels of the world, of cells and of sheep."""
    given = {"AXES": str(axes), "HOOD": hood, "SHAPE": str([3] * axes)}
    given |= dict(zip(("RICH", "PARTED"), RICH[rich], strict=True))
    for home, own in (("OF_PATCH", of_patch), ("OF_SHEEP", of_sheep)):
        given[home] = f"kernels:\n{own}" if own else ""
    text = SCHEMA
    for name, one in given.items():
        text = text.replace(name, one)
    return text + kernels
