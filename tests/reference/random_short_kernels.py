"""Short random kernels over few fields of few types, for which printers have shorter text: one loop
over the elements of all rows, steps in place, or such as read no row."""

from __future__ import annotations

from functools import partial
from random import Random
from textwrap import indent
from typing import NamedTuple

from tests.support.world_package import checked

INTEGERS = "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"
SCALARS = "f32", "f32", "f64", "f64", *INTEGERS, "bool", "bool"
SHAPES = ((), (2,), (3,), (2, 2))
POLICIES = (
    *("", "", "lookup: hash", "lookup: direct", "instances: many", "ids: true", "cold: indirect"),
    *("hierarchy: {orphans: root}", "partition: {start: active}", "partition: {start: inactive}"),
)
ORDERS = *[""] * 6, "turns: rows", "turns: random", "turns: {random: 5}", "turns: given"
LITERALS = "0", "1", "2", "3", "-1", "0.5", "1.5", "-2.0", "250"
DRAWS = "random()", "randrange(5)", "uniform(-1, 2)"
SIGNS = "+", "-", "*", "/", "//", "%"
FUNCTIONS = "abs", "sqrt", "floor", "sign", "round", "exp", *INTEGERS, "f32", "f64"
OF_SHAPES = "norm", "sum", "min", "max"
ASSIGNED = "=", "=", "=", "+=", "+=", "-=", "-=", "*=", "/=", "//=", "%=", "&=", "<<="


class Kind(NamedTuple):
    """The type of a field, setting, argument or local."""

    scalar: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        sizes = ",".join(map(str, self.shape))
        return f'"{self.scalar}[{sizes}]"' if sizes else self.scalar


class ShortSchema:
    """A schema of one or two components, settings, and kernels of one to four steps."""

    def __init__(self, random: Random) -> None:
        self.random, self.pick = random, random.choice
        self.components: dict[str, str] = {}
        """By name: the text of its fields and policies."""
        self.fields: dict[str, dict[str, Kind]] = {}
        self.is_grid = random.random() < 0.2
        """True if A stands on the cells of B."""
        on_grid = {"A": "on: cell", "B": "grid: {shape: [4, 5]}"} if self.is_grid else {}
        for name in "AB"[: self.pick([1, 2, 2]) + self.is_grid]:
            self._add_component(name, on_grid.get(name) or self.pick(POLICIES))
        self.settings = {name: self.kind() for name in "stq"[: random.randrange(4)]}
        self.queries: dict[str, str] = {}
        if len(self.fields) == 2 and not self.is_grid:
            self.queries["both"] = "{all: [A, B]}"
            self.queries["alone"] = f"{{all: [A], {self.pick(['none', 'optional'])}: [B]}}"
        is_plain = all(text[0] == "f" for text in self.components.values())
        self.chunked = ", ".join(self.components) if is_plain and random.random() < 0.4 else ""

    def kind(self) -> Kind:
        """A type, as often as not that of a field."""
        known = [kind for fields in self.fields.values() for kind in fields.values()]
        return self.pick([self.pick(known), Kind(self.pick(SCALARS), self.pick(SHAPES))])

    def _add_component(self, name: str, policy: str) -> None:
        scalars, shapes = self.random.sample(SCALARS, 2), self.random.sample(SHAPES, 2)
        known = {one: Kind(self.pick(scalars), shapes[0]) for one in "abcd"[: self.pick([1, 2, 4])]}
        if self.random.random() < 0.4:
            known |= dict.fromkeys(self.pick("abcd"), Kind(scalars[0], shapes[1]))
        further = self.pick(["", "", ", split: true", ", tags: [cold]"])
        kept = "" if "split" in further and not known["a"].shape else further
        kept = ", tags: [cold]" if "cold" in policy else kept
        fields = {one: f"{{type: {kind}{kept * (one == 'a')}}}" for one, kind in known.items()}
        lines = [f"  {one}: {text}" for one, text in (fields | {"mate": "entity"}).items()]
        lines += ["  cell: id<B>"] * policy.startswith("on")
        self.fields[name] = known
        self.components[name] = "\n".join([policy, "fields:", *lines, ""]).lstrip("\n")

    def text(self, kernels: dict[str, str]) -> str:
        """The schema with kernels: of components as `A.name`, of the world by their names."""
        parts = []
        for name, text in self.components.items():
            own = [steps for kernel, steps in kernels.items() if kernel.startswith(f"{name}.")]
            parts.append(f"component: {name}\n{text}" + "".join(["kernels:\n"] * bool(own) + own))
        world = [f"queries: {{{', '.join(f'{n}: {q}' for n, q in self.queries.items())}}}"]
        world += [f"archetypes: {{chunk: 512, components: [{self.chunked}]}}"] * bool(self.chunked)
        world += ["settings:", *(f"  {n}: {{type: {kind}}}" for n, kind in self.settings.items())]
        own = [steps for kernel, steps in kernels.items() if "." not in kernel]
        world = [*(world if self.settings else world[:-1]), *["kernels:"] * bool(own), *own]
        return "---\n".join([*parts, "\n".join(["world: W", *world])])


class ShortText:
    """Text of one kernel; `home` is the component whose own it is, "" the world."""

    def __init__(self, schema: ShortSchema, name: str) -> None:
        self.schema, self.random, self.pick = schema, schema.random, schema.pick
        self.home = name.partition(".")[0] if "." in name else ""
        over = self.home or self.pick([*schema.fields, *schema.queries])
        self.members = {"both": ["A", "B"], "alone": ["A"]}.get(over, [over])
        some = self.pick(["", "", "x", "xy"])
        self.args = {one: (schema.kind(), self.pick([", each: true", "", ""])) for one in some}
        self.locals: dict[str, Kind] = {}
        steps = [line for _ in range(self.pick([1, 1, 1, 2, 3])) for line in self.step(1)]
        head = [f"over: {over}"] * (not self.home) + [self.pick(ORDERS)]
        head += [f"where: {self.condition((), 1)}"] * (self.random.random() < 0.15)
        args = ", ".join(f"{n}: {{type: {kind}{each}}}" for n, (kind, each) in self.args.items())
        head = [*filter(None, head), f"args: {{{args}}}", "steps: |", *(f"  {s}" for s in steps)]
        self.text = f"  {name.rpartition('.')[2]}:\n{indent(chr(10).join(head), '    ')}\n"

    def _own(self) -> tuple[str, Kind]:
        member = self.pick(self.members)
        name, kind = self.pick([*self.schema.fields[member].items()])
        return (name if self.home else f"{member}.{name}"), kind

    def _other(self) -> tuple[str, Kind]:
        """A field of the row that the own mate has, of the parent, or of the cell below."""
        if self.schema.is_grid and self.members == ["A"] and self.random.random() < 0.7:
            field, kind = self.pick([*self.schema.fields["B"].items()])
            return f"{'' if self.home else 'A.'}cell.{field}", kind
        name = self.home or self.pick([*self.schema.fields])
        field, kind = self.pick([*self.schema.fields[name].items()])
        if self.home and "hierarchy" in self.schema.components[name] and self.random.random() < 0.5:
            return f"parent.{field}", kind
        return f"{'' if self.home else self.pick(self.members) + '.'}mate.{name}.{field}", kind

    def _leaf(self, shape: tuple[int, ...]) -> str:
        """A value of a shape, or of none."""
        settings = {} if self.home else self.schema.settings
        named = {f"settings.{name}": kind for name, kind in settings.items()} | self.locals
        known = [*named.items(), *((name, kind) for name, (kind, _) in self.args.items())] * 2
        text, kind = self.pick([*known, *(self._own() for _ in range(5)), self._other()])
        if kind.shape not in ((), shape):
            index = ", ".join(str(self.random.randrange(size)) for size in kind.shape)
            text = self.pick([f"{text}[{index}]", f"{self.pick(OF_SHAPES)}({text})"])
        others = [self.pick(LITERALS), self.pick(DRAWS), *["tick"] * (not self.home)]
        return self.pick([text, text, text, self.pick(others)])

    def value(self, shape: tuple[int, ...], depth: int) -> str:
        inner = partial(self.value, shape, depth - 1)
        match self.random.randrange(9) * bool(depth):
            case 0 | 1:
                return self._leaf(shape)
            case 2:
                return f"({inner()} if {self.condition((), depth - 1)} else {inner()})"
            case 3:
                return f"{self.pick(['min', 'max'])}({inner()}, {inner()})"
            case 4:
                return f"{self.pick(FUNCTIONS)}({inner()})"
            case 5:
                return self.pick([f"-{self._leaf(shape)}", f"{self._leaf(shape)} ** 2"])
        return f"({inner()} {self.pick(SIGNS)} {inner()})"

    def condition(self, shape: tuple[int, ...], depth: int) -> str:
        one, other = self.value(shape, depth), self.value(shape, depth)
        test = f"{one} {self.pick(['<', '>=', '==', '!='])} {other}"
        return self.pick([test, test, f"not ({test})", f"({test} or {self._leaf(())} > 0)"])

    def _target(self) -> tuple[str, Kind]:
        ways = [self._own()] * 6 + [
            self._other(),
            self.pick([("u", self.schema.kind()), self._own()]),
        ]
        if not self.home:
            ways += [(f"settings.{name}", kind) for name, kind in self.schema.settings.items()]
        name, kind = self.pick(ways)
        if kind.shape and self.random.random() < 0.2:
            return f"{name}[{', '.join(str(self.random.randrange(n)) for n in kind.shape)}]", kind
        return name, self.locals.get(name, kind)

    def step(self, depth: int) -> list[str]:
        match self.random.randrange(8) * depth:
            case 1:
                return [f"if {self.condition((), 1)}:", *(f"    {s}" for s in self.step(0))]
            case 2:
                self.locals["i"] = Kind("i64", ())
                inner = [f"    {step}" for step in self.step(0)]
                del self.locals["i"]
                return [f"for i in range({self.pick(['2', 'randrange(4)'])}):", *inner]
        target, kind = self._target()
        shape = () if "[" in target else kind.shape
        if kind.scalar == "bool":
            value, way = self.condition(shape, 1), "="
        else:
            value, way = self.value(shape, self.pick([0, 1, 1, 2])), self.pick(ASSIGNED)
            value = self.pick([value, f"{kind.scalar}({value})", f"{kind.scalar}({value})"])
        if target == "u":
            way = way if depth and "u" in self.locals else "="
            self.locals |= {"u": kind} if depth else {}
        return [f"{target} {way} {value}"]


def schema(number: int, count: int) -> str:
    """Return a schema with kernels, at most so many: those that make sense."""
    random = Random(number)
    short, kernels = ShortSchema(random), dict[str, str]()
    for k in range(count):
        home = f"{random.choice([*short.fields])}." * (random.random() < 0.35)
        text = ShortText(short, name := f"{home}k{k}").text
        if checked(short.text({name: text}))[0] is not None:
            kernels[name] = text
    return short.text(kernels)
