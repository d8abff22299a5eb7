"""Random schemas whose components have random policies, and random kernels of theirs: who refers to
whom, is met by whom, is born and dies, in a continuous space or on a grid; and what kernels say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from tests.reference.random_steps import StepText, args_line, block_lines
from tests.support.world_package import checked

KINDS = {"x": "f32", "e": "f64", "m": "i32"}
"""Fields that are numbers, and what makes a number of such a field's type."""
NUMBERS = (
    *("<own x>", "<own e>", "<own m>", "2", "0.5", "3", "<own_row>x", "<own_row>e", "<own_row>m"),
    *("<own dx>", "<own_row>dn", "<own v>[<index>]", "<own c>[<index>, <index>]", "<own v>.z"),
    *("<own_row>v[<index>]", "t", "u[<index>]", "(1 if <own db> else <own m>)"),
    *("argmax(<own v>)", "argmin(<own c>)", "norm(<own v>)", "sum(vec(<own x>, t, <own m>))"),
    *("min(rotate(vec(<own e>, t), 0.5))", "(~<own m>)", "(<own m> & <own m>)"),
    *("i64(<own due>)", "(<own took> / <own_row>took)", "i64(<own due> - <own_row>due)"),
    *("(<own m> | 3)", "(<own m> ^ -1)", "(<own m> << i32(<own m>))", "(<own m> >> 40)"),
)
"""What is written for a number, where questions are asked too; `<name argument>` stands for what a
method gives."""
DRAWN = (
    *("random()", "randrange(9)", "exponential(<own x>)", "poisson(<own e> * <own e>)"),
    *("(1 if bernoulli(<own x>) else 0)", "poisson(600)", "uniform(<own x>, t)", "normal(3).y"),
)
OF_SETTINGS = (
    *("settings.gain", "settings.score", "settings.tally[<index>]", "settings.wind.x"),
    *("settings.wind[<index>]", "norm(settings.wind)", "(1 if settings.seen else settings.gain)"),
)
SENT_SETTINGS = {
    "gain": ("f32(<number>)", ("+=", "-=", "min", "max", "=")),
    "score": ("i32(<number>)", ("+=", "-=", "min", "max", "=")),
    "wind": ("vec(f64(<number>), 1)", ("+=", "-=", "=")),
    "wind.y": ("f64(<number>)", ("+=", "-=", "min", "max")),
    "tally[<index>]": ("i32(<number>)", ("+=", "-=", "min", "max", "=")),
    "tally": ("i32(<own m>)", ("+=", "max")),
    "seen": ("<condition>", ("or", "and")),
    "chief": ("<handle entity>", ("=",)),
}
"""Settings that kernels of the world change: the values, and the ways in which these are sent."""
SETTINGS_IN_TURNS = (
    *("settings.gain *= f32(<leaf>)", "settings.score = settings.score // 2 + i32(<leaf>)"),
    *("settings.wind[<index>] /= f64(<number>)", "settings.tally[<index>] ^= settings.score"),
    *("settings.seen = <condition>", "settings.wind = <own v>[0] * settings.wind"),
    "settings.gain -= 1",
)
OF_TICK = "tick", "(tick + tick)", "(tick * tick)", "(tick // tick)", "(tick % tick)"
ASKED = {
    "number": (
        *("sum(<met_number><where>)", "mean(<met_number><where>)", "count(<condition>)"),
        *("(min(<met_number><where>) + 0)", "(max(<met_number><where>) + 0)"),
        *("count(other<where>)", "mode(<met m><where>)", "mean(<met x>, none=f32(<own e>)<where>)"),
        *("sum(<met e>, none=<own e><where>)", "(min(<met m>, none=i32(7)<where>) + 0)"),
    ),
    "": (
        *("choice(<one><where>)", "max_by(<one>, <met m><where>)", "nearest(<one><where>)"),
        *("min_by(<one>, <met_number><where>)", "choice(<one>, weight=<met_number><where>)"),
        *("choice(<one><where>, weight=<met x> - t)", "max_by(<one>, <condition>, <met x>)"),
    ),
}
"""Questions for numbers, and for whatever one of the neighbours has."""
CONDITIONS = (
    *("<leaf> < <leaf>", "<leaf> <= <leaf>", "<leaf> != <leaf>", "<leaf> > <leaf>", "<own b>"),
    *("<exists>", "not (<exists>)", "(<own db> and <leaf> > 1)", "(<own b> or <exists>)"),
    "(<leaf> > 0 if <own b> else <own mate> != <own mate>)",
    *("<own due> < <own_row>due", "<own took> != <own_row>took"),
    "<own due> > settings.start - <own took>",
)
ASSIGNED = (
    *("<own v>[<index>] += f64(<number>)", "<own c>[<index>, <index>] = i32(<number>)"),
    *("<own v>.y = f64(<number>)", "<own v> = vec(f64(<number>), 1, <own v>.x)"),
    *("u[<index>] += f64(<number>)", "u = u * 2 + <own v>", "t = f64(<number>)"),
    *("t -= f64(<number>)", "h = <handle entity>", "<own m> ^= i32(<leaf>)"),
    *("<own b> = <condition>", "<own mate> = <handle entity>", "<own e> /= f64(<number>)"),
    *("<own due> += <own took>", "<own took> = <own due> - <own_row>due", "<own took> *= <own m>"),
    *("<own took> = abs(-<own took>) * 3", "<own due> = max(<own_row>due, settings.start)"),
    "<own took> = min(<own took>, <own_row>took) if <condition> else <own took>",
)
"""Steps that assign to the row's own, to elements and to locals."""
IN_TURNS = (
    *("<row>x = f32(<number>)", "<row>v[<index>] = f64(<number>)", "<row>mate = <own mate>"),
    *("<row>m ^= i32(<own m>)", "<row>v.x *= f64(<number>)", "<row>c[<index>, <index>] -= i32(1)"),
    *("<row>took *= 2", "<row>due = <own due> - <own took>", "settings.start = <own due>"),
)
"""Assignments to others in turns."""
OF_NEIGHBOURS = (
    *("<met x> = f32(<leaf>)", "<met mate> = <own mate>", "destroy(other)", "<met v>.x += t"),
    *("<met v>[<index>] *= 2", "<met m> ^= 5", "<met b> = <condition>", "<met e> = -<met e>"),
)
"""What a loop over neighbours does to them in turns."""
CHANGES = (
    *("spawn(<newborn Fox><once>)", "spawn(<newborn Rock><once>)", "spawn(<newborn Elk><once>)"),
    *("spawn(<newborn Fox>, <newborn Elk><once>)", "spawn(<newborn Fox>, <newborn Hare><once>)"),
    *("die(<once>)", "destroy(<handle><once>)", "destroy(<handle><once>)"),
    *("add(<newborn><once>)", "add(<handle entity>, <newborn><once>)"),
    *("add(<handle entity>, <newborn>, replace=true<once>)", "remove(<owned><once>)"),
    "remove(<handle entity>, <owned><once>)",
)
"""Steps by which entities come and go, or get and lose components."""
ORDERS = (
    *("", "", "", "", "rows", "random", "given", "given", "{random: 9}", "{random: many}"),
    *("{by: <own m>}", "{by: -<own dx>}", "{by: <own e> / <own v>.x}"),
)
LOCALS = "t = f64(<number>)", "u = f64(<own v>)", "h = <handle entity>"
READ_LOCALS = "<own e> += t", "<own v> = u", "<own mate> = h"
OWNED = ("Fox", "Elk", "Hare")
"""Components that entities have; Elk alone is nowhere, Fox and Elk together are the pack."""
PLACED = "Fox", "Hare", "Rock"
PACK = "Fox", "Elk"
MEMBERS = {"pack": PACK}
DERIVED = """\
derived: {dx: x * 2 + settings.gain, dn: norm(v) - dx, db: b or e > m + settings.score}
"""
SPACE = """\
component: {name}
{policies}space: {{field: at, wrap: {wrap}}}
fields: {{at: {at}, {fields}}}
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
settings:
  gain: {{type: f32, default: 1.5, min: -40, max: 60}}
  score: {{type: i32, min: -20, max: 900}}
  wind: "f64[2]"
  tally: "i32[3]"
  seen: bool
  chief: entity
  start: {{type: "datetime[s]", default: 1970-01-01T00:00:01}}
kernels:
  times: {{over: Elk, steps: [Elk.e = tick // tick, Elk.b = tick + tick > tick * tick]}}
"""


@dataclass
class Land:
    """What a schema's components are: where they stand, and their policies by key."""

    is_grid: bool
    is_group: bool
    axes: int = 2
    """Those of a continuous space; one axis is a field without shape."""
    policies: dict[str, dict[str, str]] = field(default_factory=dict)
    fates: dict[str, str] = field(default_factory=dict)
    """What becomes of rows when the mate dies, by component."""

    @property
    def with_ids(self) -> list[str]:
        return [name for name, keys in self.policies.items() if "ids" in keys or name == "Rock"]

    def text(self, kernels: dict[str, str]) -> str:
        """The schema with kernels of components, and of the world by the name ""."""
        fields = "x: {type: f32, default: 1.5}, e: f64, m: i32, b: bool"
        fields += ', v: "f64[3]", c: "i32[2,2]", due: "datetime[s]", took: "timedelta[s]"'
        fields += "".join(f", {name.lower()}: id<{name}>" for name in self.with_ids)
        parts = []
        for name, keys in self.policies.items():
            policies = "".join(f"{key}: {value}\n" for key, value in keys.items()) + DERIVED
            text = NO_LOCATION if name == "Elk" else GRID if self.is_grid else SPACE
            own = f"kernels:\n{kernels[name]}" if name in kernels else ""
            mate = f"mate: {{type: entity, on_delete: {self.fates[name]}}}"
            at, wrap = ("f32", [5]) if self.axes == 1 else ('"f32[2]"', [5, 0])
            known = {"name": name, "fields": f"{mate}, {fields}", "at": at, "wrap": wrap}
            parts.append(text.format(policies=policies, **known) + own)
        pack = "groups: {pack: [Fox, Elk]}"
        pack = pack if self.is_group else "queries: {pack: {all: [Fox, Elk]}}"
        parts.append(WORLD.format(fields=f"mate: entity, {fields}", pack=pack) + kernels[""])
        return "---\n".join(parts)


def land(random: Random) -> Land:
    """Components with random policies that do not contradict each other."""
    found = Land(random.random() < 0.4, random.random() < 0.3, random.choice([1, 2, 2]))
    for name, others in (("Fox", ["Elk", "Hare"]), ("Elk", ["Hare"]), ("Hare", [])):
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
        required = [other for other in others if random.random() < 0.2]
        keys |= {"requires": f"[{', '.join(required)}]"} if required else {}
        is_manual = keys.get("destroy") == "manual"
        found.fates[name] = "keep" if is_manual else random.choice(["keep", "clear", "cascade"])
    parted = {} if found.is_grid else _partition(random)
    found.policies["Rock"] = {"owner": "none", **random.choice([{}, parted])}
    found.fates["Rock"] = random.choice(["keep", "clear", "cascade"])
    if found.fates["Rock"] != "keep":
        found.policies["Rock"] |= random.choice([{}, {"destroy": "callback"}])
    return found


def _partition(random: Random) -> dict[str, str]:
    return {"partition": f"{{start: {random.choice(['active', 'inactive'])}}}"}


class LifeText(StepText):
    """One random kernel in a land; `home` is the component whose own it is, "" the world."""

    def __init__(self, random: Random, land: Land, home: str = "") -> None:
        super().__init__(random)
        self.land, self.home = land, home
        self.over = home or self.pick([*OWNED, "Fox", "Rock", "pack", "pack"])
        self.members = MEMBERS.get(self.over, (self.over,))
        self.kinds = ["entity", *([home] if home in land.with_ids else [])]
        if not home:
            self.kinds += land.with_ids
        self.sent: dict[str, str] = {}
        self.is_asked = False
        self.turns = self.filled(self.pick(ORDERS))
        self.is_everybody = self.chance(0.2)
        self.near = self._near()

    def own(self, name: str) -> str:
        return name if self.home else f"{self.pick(self.members)}.{name}"

    def index(self) -> str:
        """A number of an element, which there may not be."""
        drawn = [] if self.is_asked else ["randrange(4)"]
        own = [self.own("m"), f"({self.own('m')} & 1)", *self.counters]
        return self.pick(["0", "1", *own, f"i32({self.own('x')})", *drawn])

    def owned(self) -> str:
        return self.pick(OWNED)

    # Neighbours

    def _near(self) -> str:
        """Who is asked: a component or the pack, or nobody."""
        if self.is_everybody and not self.home:
            return self.pick([*OWNED, "Rock", "pack"])
        if self.over == "Elk" or self.chance(0.2):
            return ""
        if self.home:
            return self.home
        if self.land.is_grid:
            return self.pick([*PLACED, "pack"])
        return self.pick(["Fox", "pack"]) if "Fox" in self.members else self.over

    def _near_text(self) -> str:
        """Who is asked, as written: who is how far, or everybody."""
        if self.is_everybody:
            return f"{{among: {self.near}}}"
        radii = ["0.75", "1.5", "4", self.own("x"), self.own("m")]
        radius = self.pick(["1", "2", self.own("m")] if self.land.is_grid else radii)
        hoods = ("", ", hood: von_neumann", ", hood: axes", ", hood: hex")
        hood = self.pick(hoods) * self.land.is_grid
        among = "" if self.home and not self.land.is_grid else f", among: {self.near}"
        return f"{{radius: {radius}{among}{hood}}}"

    def met(self, name: str) -> str:
        """A field of the neighbour who is asked."""
        return f"other.{name}" if self.home else f"other.{self._met_member()}.{name}"

    def _met_member(self) -> str:
        return self.pick(MEMBERS.get(self.near, (self.near,)))

    def met_number(self) -> str:
        far = "<met e>" if self.is_everybody else "other.distance"
        ways = "<met x>", "<met m>", "<met dx>", "<met v>[<index>]", "<met c>[<index>, 1]", far
        return self.say(*ways)

    def where(self) -> str:
        return f", where={self.condition()}" if self.chance(0.3) else ""

    def asked(self, kind: str) -> str:
        """A question: for a number, a condition or what leads to a row."""
        self.is_asked = True
        of_it = {"number": self.met(self.pick([*KINDS])), "bool": self.met("b")}
        one_asked = of_it[kind] if kind in of_it else self._asked_handle(kind)
        ways = ASKED["number"] if kind == "number" and self.chance(0.6) else ASKED[""]
        if self.is_everybody:
            ways = tuple(one for one in ways if "nearest" not in one)
        text = self.say(*(one.replace("<one>", one_asked) for one in ways))
        self.is_asked = False
        return text

    def _asked_handle(self, kind: str) -> str:
        """The neighbour itself where it is of this kind, else a field of it."""
        of_itself = "Rock" if self.near == "Rock" else "entity"
        if kind == of_itself and self.chance(0.8):
            return "other"
        return self.met("mate" if kind == "entity" else kind.lower())

    # Expressions

    def handle(self, kind: str = "", depth: int = 1) -> str:
        """What leads to a row: an entity, or an id of a component's."""
        kind = kind or self.pick(self.kinds)
        ways = [self.own("mate" if kind == "entity" else kind.lower())]
        if depth:
            ways += [f"{self.row(depth - 1)}{'mate' if kind == 'entity' else kind.lower()}"]
        if self.near and not self.is_asked and depth:
            ways += [self.asked(kind)] * 3
        if kind == "entity":
            ways += ["entity", "self"] * (self.over != "Rock") + self._handles()
            if not self.is_asked and self.home != "Rock":
                ways += [self._chosen(self.home or self.pick(OWNED))]
        elif kind == "Rock" and not self.is_asked and self.home in ("", "Rock"):
            ways += [self._chosen("Rock"), *["self"] * (self.over == "Rock")]
        return self.pick(ways)

    def _chosen(self, component: str) -> str:
        """A choice of those who live, or of some of them."""
        tests = ["m > 0", "b", "dx < {}.x", "v[1] >= 0 and {}.db"]
        test = f"{component}.{self.pick(tests)}".replace("{}", component)
        return f"choice({component}{f', where={test}' if self.chance(0.5) else ''})"

    def _handles(self) -> list[str]:
        """The local that leads to an entity, if there is one."""
        return ["h"] * (self.has_locals and self.home != "Rock")

    def row(self, depth: int = 1) -> str:
        """What is written before a field of another row."""
        kind = self.pick([one for one in self.kinds if one != "entity" or self.home != "Rock"])
        ways = [self.own("mate" if kind == "entity" else kind.lower())]
        ways += ["entity"] * (kind == "entity" and self.over != "Rock")
        ways += self._handles() * (kind == "entity")
        if depth:
            ways += [f"{self.row(depth - 1)}{'mate' if kind == 'entity' else kind.lower()}"]
        if self.near and not self.is_asked and not self.is_everybody:
            ways += [f"nearest({self._asked_handle(kind)})"] * 2
        head = self.pick(ways)
        return f"{head}.{self.home or self.pick(OWNED)}." if kind == "entity" else f"{head}."

    def plain_row(self) -> str:
        """Such a one without a question, which a message is sent to as often as not."""
        return self.row(int(self.chance(0.5)))

    def leaf(self) -> str:
        if self.is_asked and self.chance(0.6):
            return self.met_number()
        if self.near and not self.is_asked and self.chance(0.4):
            return self.asked("number")
        ways = [*NUMBERS, *(() if self.home else OF_TICK[: 2 + self.random.randrange(4)])]
        ways += OF_SETTINGS if self.chance(0.3) else ()
        return self.say(*ways, *(() if self.is_asked else DRAWN), *self.counters)

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
        ways = [*CONDITIONS, *(["<met b>", "<met db>"] if self.is_asked else [])]
        return self.say(*ways)

    def exists(self) -> str:
        mates = [] if self.home == "Rock" else [self.own("mate")]
        return f"exists({self.pick([self.own_row().rstrip('.'), *mates])})"

    # Steps

    def assigned(self) -> str:
        if self.chance(0.5):
            return self.say(*ASSIGNED)
        name = self.pick([*KINDS, "handle"])
        if name == "handle":
            kind = self.pick(self.kinds)
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
        drawn = "f32(random())" if self.land.axes == 1 else "f32(random(2))"
        return f"{base}at += {self.pick(['0.5', f'{base}x', drawn])}"

    def message(self) -> str:
        if self.turns and self.chance(0.4):
            return self.say(*IN_TURNS)
        row, name = self.plain_row(), self.pick([*KINDS, "b", "mate", "due", "took"])
        if name in ("due", "took"):
            value = self.own("took" if name == "took" or self.turns else name)
            way = self._way(row, name, ("+=", "-=") if value.endswith("took") else ("min", "max"))
            if way in ("+=", "-="):
                return f"{row}{name} {way} {value}"
            return f"{row}{name} = {way}({row}{name}, {value})"
        if name == "mate":
            return f"{row}mate = {self.handle('entity', 0)}"
        if name == "b":
            return f"{row}b = {row}b {self._way(row, name, ('or', 'and'))} {self.condition()}"
        value = f"{KINDS[name]}({self.number()})"
        way = self._way(row, name, ("+=", "-=", "min", "max", "="))
        if way in ("min", "max"):
            return f"{row}{name} = {way}({row}{name}, {value})"
        return f"{row}{name} {way} {value}"

    def setting(self) -> str:
        """A step that changes a setting."""
        if self.turns and self.chance(0.4):
            return self.say(*SETTINGS_IN_TURNS)
        name, (value, ways) = self.pick([*SENT_SETTINGS.items()])
        way = self._way("settings.", re.sub(r"\W.*", "", name), ways)
        if way not in ways:
            return self.message()
        target, value = f"settings.{self.filled(name)}", self.filled(value)
        if way in ("min", "max"):
            if not self.turns:  # at once both must be the same element
                target = target.replace("randrange(4)", "1")
            return f"{target} = {way}({target}, {value})"
        return f"{target} = {target} {way} {value}" if way[0] in "oa" else f"{target} {way} {value}"

    def _way(self, row: str, name: str, ways: tuple[str, ...]) -> str:
        """The one way in which a kernel sends to a field."""
        *_, target = row.rstrip(".").split(".")
        return self.sent.setdefault(f"{target.title()}.{name}", self.pick(ways))

    def fate(self) -> str:
        return self.filled(self.pick(CHANGES)).replace("(, ", "(")

    def once(self) -> str:
        return f", where={self.condition()}" if self.chance(0.8) else ""

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

    def newborn(self, name: str = "") -> str:
        name = name or self.owned()
        given = [f"e={self.number()}", f"mate={self.own('mate')}", f"v={self.own('v')}"]
        given = given[: self.random.randrange(4)]
        if name in self.members and name in PLACED and not self.land.is_grid:
            given += [f"at={'' if self.home else f'{name}.'}at"]
        return f"{name}({', '.join(given)})"

    def kernel(self, name: str) -> str:
        lines = [f"  {name}:", *([] if self.home else [f"    over: {self.over}"])]
        lines += [f"    turns: {self.turns}"] if self.turns else []
        lines += [f"    near: {self._near_text()}"] if self.near else []
        lines += [f'    where: "{self.condition()}"'] if self.chance(0.3) else []
        opening = list(map(self.filled, LOCALS)) if self.chance(0.6) else []
        self.has_locals = bool(opening)
        closing = list(map(self.filled, READ_LOCALS)) if opening else []
        makers = [self.assigned, self.assigned, self.message, self.message, self.moved]
        makers += [] if self.home else [self.fate, self.fate, self.setting]
        steps = [self.pick(makers)() for _ in range(self.random.randrange(2, 5))]
        if self.turns and not self.home and self.chance(0.3):
            steps = [*self.hunted(), *steps[:2]]
        if not self.home and self.chance(0.3):
            steps = [*steps[:1], *self.kept(), *steps[1:2]]
        is_block = self.chance(0.7)
        block = [line for step in steps for line in (self.nested(step, 2) if is_block else [step])]
        block = [*opening, *block, *closing]
        if is_block and self.turns and self.chance(0.2):
            block += [f"{self.own('e')} += by"]
        text = self.turns + "\n".join(block)
        lines += args_line(text, {"many": "i32", "by": "{type: f64, each: true}"})
        if is_block:
            return "\n".join([*lines, *block_lines(block)])
        return "\n".join([*lines, "    steps:", *(f'    - "{step}"' for step in block), ""])

    def loop_over_neighbours(self, end: str) -> list[str]:
        """A loop over neighbours, which asks none of them."""
        if not self.near:
            return []
        self.is_asked = True  # so that nobody else is asked within
        steps = [self.filled(f"<own e> += {self.say(*DRAWN)}")] * self.chance(0.5)
        if self.turns:
            steps += [self.say(*OF_NEIGHBOURS) for _ in range(self.random.randrange(3))]
            member = self._met_member() if not self.home else self.home
            if member in PLACED and not self.land.is_grid:
                steps += [f"{'other' if self.home else f'other.{member}'}.at += 0.5"]
        steps += [self._to_neighbour(), f"if {self.condition()}:", f"    {end}"]
        steps += [self.filled("<own e> -= <met dx>")] * self.chance(0.5)
        self.is_asked = False
        return ["for other in other:", *(f"    {step}" for step in steps)]

    def _to_neighbour(self) -> str:
        """A message to the neighbour of a loop."""
        name = self.pick([*KINDS])
        row = "other." if self.home else f"other.{self._met_member()}."
        way = self._way(row, name, ("+=", "-="))
        value = f"{KINDS[name]}({self.leaf()} + 1)"
        if way in ("min", "max"):
            return f"{row}{name} = {way}({row}{name}, {value})"
        return f"{row}{name} {way} {value}"


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
