"""Random schemas whose components have random policies, and random kernels of theirs: who refers to
whom, is met by whom, is born and dies, in a continuous space or on a grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.support.world_package import checked

KINDS = {"x": "f32", "e": "", "m": "i32"}
"""Fields that are numbers, and what makes a number of such a field's type."""
OWNED = "Fox", "Elk", "Hare"
"""Components that entities have; Elk alone is nowhere, Fox and Elk together are the pack."""
PLACED = "Fox", "Hare", "Rock"
PACK = "Fox", "Elk"
MEMBERS = {"pack": PACK}
SPACE = """\
component: {name}
{policies}space: {{field: at, wrap: [5, 0]}}
fields: {{at: "f32[2]", {fields}}}
"""
GRID = "component: {name}\n{policies}on: cell\nfields: {{cell: id<Patch>, {fields}}}\n"
NO_LOCATION = "component: {name}\n{policies}fields: {{{fields}}}\n"
WORLD = """\
component: Patch
grid: {{shape: [3, 3]}}
fields: {{{fields}}}
---
world: World
{pack}
kernels:
  times: {{over: Elk, steps: [Elk.e = tick // tick, Elk.b = tick + tick > tick * tick]}}
"""


@dataclass
class Land:
    """What a schema's components are: where they stand, and their policies by key."""

    is_grid: bool
    is_group: bool
    policies: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def with_ids(self) -> list[str]:
        return [name for name, keys in self.policies.items() if "ids" in keys or name == "Rock"]

    def text(self, kernels: dict[str, str]) -> str:
        """The schema with kernels of components, and of the world by the name ""."""
        fields = "x: {type: f32, default: 1.5}, e: f64, m: i32, b: bool, mate: entity"
        fields += "".join(f", {name.lower()}: id<{name}>" for name in self.with_ids)
        parts = []
        for name, keys in self.policies.items():
            policies = "".join(f"{key}: {value}\n" for key, value in keys.items())
            text = NO_LOCATION if name == "Elk" else GRID if self.is_grid else SPACE
            own = f"kernels:\n{kernels[name]}" if name in kernels else ""
            parts.append(text.format(name=name, policies=policies, fields=fields) + own)
        pack = "groups: {pack: [Fox, Elk]}"
        pack = pack if self.is_group else "queries: {pack: {all: [Fox, Elk]}}"
        parts.append(WORLD.format(fields=fields, pack=pack) + kernels[""])
        return "---\n".join(parts)


def land(random: Random) -> Land:
    """Components with random policies that do not contradict each other."""
    found = Land(random.random() < 0.4, random.random() < 0.3)
    for name in OWNED:
        found.policies[name] = keys = {"lookup": random.choice(["sparse", "hash", "hash"])}
        is_grouped = found.is_group and name in PACK
        is_free = not is_grouped and not (found.is_grid and name in PLACED)
        if is_free:
            keys["lookup"] = random.choice(["sparse", "hash", "hash", "direct"])
        if is_free and keys["lookup"] != "direct":
            keys |= random.choice([{}, {}, {"instances": "many"}])
            keys |= random.choice([{}, {}, _partition(random)])
        is_told_apart = "instances" in keys  # those of one entity, by their ids
        keys |= {"ids": "true"} if is_told_apart or random.random() < 0.5 else {}
        keys |= random.choice([{}, {}, {"destroy": "callback"}, {"destroy": "manual"}])
    parted = {} if found.is_grid else _partition(random)
    found.policies["Rock"] = {"owner": "none", **random.choice([{}, parted])}
    return found


def _partition(random: Random) -> dict[str, str]:
    return {"partition": f"{{start: {random.choice(['active', 'inactive'])}}}"}


class LifeText:
    """One random kernel in a land; `home` is the component whose own it is, "" the world."""

    def __init__(self, random: Random, land: Land, home: str = "") -> None:
        self.random, self.pick, self.land, self.home = random, random.choice, land, home
        self.over = home or self.pick([*OWNED, "Fox", "Rock", "pack", "pack"])
        self.members = MEMBERS.get(self.over, (self.over,))
        self.turns = self.pick(["", "", "rows", "random"])
        self.kinds = ["entity", *([home] if home in land.with_ids else [])]
        if not home:
            self.kinds += land.with_ids
        self.sent: dict[str, str] = {}
        self.near = self._near()
        self.is_asked = False

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def own(self, name: str) -> str:
        return name if self.home else f"{self.pick(self.members)}.{name}"

    # Neighbours

    def _near(self) -> str:
        """Who is asked: a component or the pack, or nobody."""
        if self.over == "Elk" or self.chance(0.2):
            return ""
        if self.home:
            return self.home
        if self.land.is_grid:
            return self.pick([*PLACED, "pack"])
        return self.pick(["Fox", "pack"]) if "Fox" in self.members else self.over

    def met(self, name: str) -> str:
        """A field of the neighbour who is asked."""
        return f"other.{name}" if self.home else f"other.{self._met_member()}.{name}"

    def _met_member(self) -> str:
        return self.pick(MEMBERS.get(self.near, (self.near,)))

    def asked(self, kind: str) -> str:
        """A question: for a number, a condition or what leads to a row."""
        self.is_asked = True
        where = f", where={self.condition()}" if self.chance(0.3) else ""
        of_it = {"number": self.met(self.pick([*KINDS])), "bool": self.met("b")}
        one = of_it[kind] if kind in of_it else self._asked_handle(kind)
        ways = [f"nearest({one}{where})", f"choice({one}{where})"]
        ways += [f"max_by({one}, {self.met('m')}{where})", f"min_by({one}, distance{where})"]
        if kind == "number":
            ways += [f"{how}({one}{where})" for how in ("sum", "mean")]
            ways += [f"({how}({one}{where}) + 0)" for how in ("min", "max")]
            ways += [f"count({self.condition()})", f"count(other{where})"]
        self.is_asked = False
        return self.pick(ways)

    def _asked_handle(self, kind: str) -> str:
        """The neighbour itself where it is of this kind, else a field of it."""
        of_itself = "Rock" if self.near == "Rock" else "Patch" if self.near == "Patch" else "entity"
        if kind == of_itself and self.chance(0.8):
            return "other"
        return self.met("mate" if kind == "entity" else kind.lower())

    # Expressions

    def handle(self, kind: str, depth: int = 1) -> str:
        """What leads to a row: an entity, or an id of a component's."""
        ways = [self.own("mate" if kind == "entity" else kind.lower())]
        if depth:
            ways += [f"{self.row(depth - 1)}{'mate' if kind == 'entity' else kind.lower()}"]
        if self.near and not self.is_asked and depth:
            ways += [self.asked(kind)] * 3
        if kind == "entity":
            ways += ["entity"] * (self.over != "Rock")
            if not self.is_asked and self.home != "Rock":
                ways += [f"choice({self.home or self.pick(OWNED)})"]
        elif kind == "Rock" and not self.is_asked and self.home in ("", "Rock"):
            ways += ["choice(Rock)"]
        return self.pick(ways)

    def row(self, depth: int = 1) -> str:
        """What is written before a field of another row."""
        kind = self.pick([one for one in self.kinds if one != "entity" or self.home != "Rock"])
        ways = [self.own("mate" if kind == "entity" else kind.lower())]
        ways += ["entity"] * (kind == "entity" and self.over != "Rock")
        if depth:
            ways += [f"{self.row(depth - 1)}{'mate' if kind == 'entity' else kind.lower()}"]
        if self.near and not self.is_asked:
            ways += [f"nearest({self._asked_handle(kind)})"] * 2
        head = self.pick(ways)
        return f"{head}.{self.home or self.pick(OWNED)}." if kind == "entity" else f"{head}."

    def plain_row(self) -> str:
        """Such a one without a question, which a message is sent to as often as not."""
        return self.row(int(self.chance(0.5)))

    def leaf(self) -> str:
        if self.is_asked and self.chance(0.6):
            return self.pick([self.met(self.pick([*KINDS])), "distance"])
        if self.near and not self.is_asked and self.chance(0.5):
            return self.asked("number")
        ways = [self.own(self.pick([*KINDS])), self.pick(["2", "0.5", "3"])]
        ways += [f"{self.own_row()}{self.pick([*KINDS])}"] * 2
        ways += (
            [] if self.is_asked else ["random()", "randrange(9)", self.drawn(), self.of_elements()]
        )
        if not self.home:
            ways += [f"(tick {self.pick(['+', '*', '//', '%', '-'])} tick)", "tick"]
        return self.pick(ways)

    def drawn(self) -> str:
        """A number by chance, of a distribution with a parameter."""
        parameter = self.own(self.pick(["x", "e"]))
        ways = [f"exponential({parameter})", f"poisson({parameter} * {parameter})"]
        return self.pick([*ways, f"(1 if bernoulli({parameter}) else 0)", "poisson(600)"])

    def of_elements(self) -> str:
        """A number of the elements of a vector, or of an integer's bits."""
        numbers = [self.own(self.pick([*KINDS])) for _ in range(3)]
        function = self.pick(["argmin", "argmax", "norm", "sum", "min"])
        whole, bits = self.own("m"), self.pick(["3", "-1", self.own("m")])
        shifted = self.pick(["1", "40", "-2", self.own("m")])
        ways = [f"{function}(vec({', '.join(numbers)}))"] * 2
        ways += [f"({whole} {self.pick(['&', '|', '^'])} {bits})", f"(~{whole})"]
        return self.pick([*ways, f"({whole} {self.pick(['<<', '>>'])} i32({shifted}))"])

    def own_row(self) -> str:
        """A row that a field of the own row leads to."""
        kind = self.pick([one for one in self.kinds if one != "entity" or self.home != "Rock"])
        head = self.own("mate" if kind == "entity" else kind.lower())
        return f"{head}.{self.home or self.pick(OWNED)}." if kind == "entity" else f"{head}."

    def number(self) -> str:
        if self.chance(0.4):
            return self.leaf()
        one, other = self.leaf(), self.leaf()
        signs = ("+", "-", "*", "//", "%")
        ways = [f"({one} {self.pick(signs)} {other})"] * 4
        return self.pick([*ways, f"({one} / {other})", f"abs({one})"])

    def condition(self) -> str:
        ways = [f"{self.leaf()} {self.pick(['<', '<=', '!=', '>'])} {self.leaf()}"] * 2
        ways += [self.own("b"), self.exists(), f"not ({self.exists()})"]
        return self.pick([*ways, *([self.met("b")] if self.is_asked else [])])

    def exists(self) -> str:
        return f"exists({self.pick([self.own_row().rstrip('.'), self.own('mate')])})"

    # Steps

    def assigned(self) -> str:
        name = self.pick([*KINDS, "b", "mate", "handle"])
        if name == "b":
            return f"{self.own('b')} = {self.condition()}"
        if name in ("mate", "handle"):
            kind = "entity" if name == "mate" else self.pick(self.kinds)
            return f"{self.own('mate' if kind == 'entity' else kind.lower())} = {self.handle(kind)}"
        return f"{self.own(name)} {self.pick(['=', '+=', '-='])} {KINDS[name]}({self.number()})"

    def moved(self) -> str:
        """A step to another place, if the row has one."""
        mover = next((one for one in self.members if one in PLACED), "")
        if not mover or (self.near and self.chance(0.3)):
            return self.assigned()
        base = "" if self.home else f"{mover}."
        if self.land.is_grid:
            step = self.pick(["1", "-1", "2"])
            to = [f"cell_at(Patch, coords({base}cell) + {step})"]
            to += [f"random_empty({mover})"]
            return f"{base}cell = {self.pick(to)}"
        return f"{base}at += {self.pick(['0.5', f'{base}x', 'f32(random(2))'])}"

    def message(self) -> str:
        row, name = self.plain_row(), self.pick([*KINDS, "b"])
        if name == "b":
            return f"{row}b = {row}b {self._way(row, name, ('or', 'and'))} {self.condition()}"
        value = f"{KINDS[name]}({self.number()})"
        way = self._way(row, name, ("+=", "-=", "min", "max"))
        if way in ("min", "max"):
            return f"{row}{name} = {way}({row}{name}, {value})"
        return f"{row}{name} {way} {value}"

    def _way(self, row: str, name: str, ways: tuple[str, ...]) -> str:
        """The one way in which a kernel sends to a field."""
        *_, target = row.rstrip(".").split(".")
        return self.sent.setdefault(f"{target.title()}.{name}", self.pick(ways))

    def fate(self) -> str:
        where = f", where={self.condition()}" if self.chance(0.8) else ""
        kind = self.pick(["die", "destroy", "destroy", "spawn", "spawn"])
        if kind == "die":
            return f"die({where.removeprefix(', ')})"
        if kind == "destroy":
            return f"destroy({self.handle(self.pick(self.kinds))}{where})"
        names = self.pick([["Fox"], ["Hare"], ["Rock"], ["Fox", "Elk"], ["Elk"], ["Fox", "Hare"]])
        return f"spawn({', '.join(map(self.newborn, names))}{where})"

    def kept(self) -> list[str]:
        """Steps that use the handle of who is born."""
        names = self.pick([["Fox"], ["Rock"], ["Fox", "Elk"], ["Elk"], ["Rock"]])
        where = f", where={self.condition()}" if self.chance(0.5) else ""
        kind = "Rock" if names == ["Rock"] else "entity"
        name = "mate" if kind == "entity" else "rock"
        given = f"mate={self.own('mate')}, {name}=kid"
        uses = [f"{self.own(name)} = kid", f"{self.own('e')} += 1 if kid == 0 else 0.5"]
        uses += [f"{self.own('b')} = exists(kid)", f"{self.plain_row()}{name} = kid"]
        uses += [f"spawn({other}({given}))" for other in ("Fox", "Rock", "Elk")]
        uses += [f"kid = spawn({name}({given}))" for name in names[:1]] * 2
        if kind == "entity":
            others = [other for other in OWNED if other not in names]
            uses += [f"add(kid, {self.pick(others)}(e={self.number()}))", "die(where=kid != 0)"] * 2
        born = f"kid = spawn({', '.join(map(self.newborn, names))}{where})"
        return [born, *self.random.sample(uses, 3)]

    def hunted(self) -> list[str]:
        """Steps that read others, of whom one dies then: later turns do not find it."""
        kind = self.pick(self.kinds)
        prey = self.own("mate" if kind == "entity" else kind.lower())
        rows = [f"{prey}.{name}." for name in OWNED] if kind == "entity" else [f"{prey}."]
        rows += [f"{self.own('mate')}.{kind}."] if kind in OWNED else []
        reads = [f"{self.own('e')} += {row}e" for row in rows]
        return [*reads, f"{self.own('b')} = exists({rows[-1][:-1]})", f"destroy({prey})"]

    def newborn(self, name: str) -> str:
        given = [f"e={self.number()}", f"mate={self.own('mate')}"][: self.random.randrange(3)]
        if name in self.members and name in PLACED and not self.land.is_grid:
            given += [f"at={'' if self.home else f'{name}.'}at"]
        return f"{name}({', '.join(given)})"

    def kernel(self, name: str) -> str:
        lines = [f"  {name}:", *([] if self.home else [f"    over: {self.over}"])]
        lines += [f"    turns: {self.turns}"] if self.turns else []
        radius = self.pick(["1", "2"] if self.land.is_grid else ["0.75", "1.5", "4"])
        if self.near:
            among = "" if self.home and not self.land.is_grid else f", among: {self.near}"
            lines += [f"    near: {{radius: {radius}{among}}}"]
        lines += [f'    where: "{self.condition()}"'] if self.chance(0.3) else []
        makers = [self.assigned, self.assigned, self.message, self.message, self.moved]
        makers += [] if self.home else [self.fate, self.fate]
        steps = [self.pick(makers)() for _ in range(self.random.randrange(2, 5))]
        if self.turns and not self.home and self.chance(0.6):
            steps = [*self.hunted(), *steps[:2]]
        if not self.home and self.chance(0.3):
            steps = [*steps[:1], *self.kept(), *steps[1:2]]
        if self.chance(0.5):
            return "\n".join([*lines, "    steps:", *(f'    - "{step}"' for step in steps), ""])
        block = [line for step in steps for line in self.nested(step)]
        lines += ["    at_most: 3"] * any("while " in line for line in block)
        return "\n".join([*lines, "    steps: |", *(f"      {line}" for line in block), ""])

    def nested(self, step: str) -> list[str]:
        """A step, often within a branch or a loop."""
        kind = self.pick(["", "", "if", "if", "else", "range", "while", "near", "return"])
        test = f"if {self.condition()}:"
        match kind:
            case "if":
                other = self.pick([[], [f"elif {self.condition()}:", f"    {self.assigned()}"]])
                return [test, f"    {step}", *other]
            case "else":
                return [test, f"    {step}", "else:", f"    {self.assigned()}"]
            case "range":
                bound = self.pick(["2", "randrange(4)", f"i32({self.own('m')}) % 3"])
                counted = f"    {self.own('e')} += f64(turn) * {self.leaf()}"
                end = self.pick(["break", "continue", "return", "pass"])
                within = [f"    if turn > 0 and {self.condition()}:", f"        {end}"]
                return [f"for turn in range({bound}):", counted, *within, f"    {step}"]
            case "while":
                return [f"while {self.condition()}:", f"    {step}"]
            case "near" if self.near:
                return self._near_loop()
            case "return":
                return [step, test, "    return"]
        return [step]

    def _near_loop(self) -> list[str]:
        """A loop over neighbours, which asks none of them."""
        self.is_asked = True  # so that nobody else is asked within
        name = self.pick([*KINDS])
        row = "other." if self.home else f"other.{self._met_member()}."
        sign = self._way(row, name, ("+=", "-="))
        value = f"{KINDS[name]}({self.leaf()} + {self.pick(['other.distance', '1'])})"
        sign = sign if sign in ("+=", "-=") else ""
        text = f"{row}{name} {sign} {value}"
        if not sign:
            way = self.sent[f"{row.rstrip('.').split('.')[-1].title()}.{name}"]
            text = f"{row}{name} = {way}({row}{name}, {value})"
        test = f"if {self.condition()}:"
        self.is_asked = False
        end = self.pick(["break", "continue", "return", "pass"])
        return ["for other in other:", f"    {text}", f"    {test}", f"        {end}"]


def schema(seed: int, count: int) -> str:
    """A schema with so many kernels of the world, and two of each component but Elk.

    Kernels that the schema's rules refuse are drawn anew.
    """
    random = Random(seed)
    where = land(random)
    kernels = dict.fromkeys(("", *PLACED), "")
    for home in kernels:
        for k in range(2 if home else count):
            kernels[home] += _legal(random, where, home, f"k{k}")
    return where.text(kernels)


def _legal(random: Random, where: Land, home: str, name: str) -> str:
    """A kernel of which the schema's rules have nothing to say."""
    while True:
        text = LifeText(random, where, home).kernel(name)
        if checked(where.text({"": "", home: text}))[0] is not None:
            return text
