"""Draws schemas at random: legal ones of any mix of policies and fields, and contradictory ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

ENUMS = """\
enum: Mode
values: {off: 0, standby: 5, running: 300}
---
enum: Access
values: [read, write, execute]
flags: true
"""
NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
DEFAULTS = {
    "bool": ("true", "false"),
    "i8": ("-128", "5"),
    "i16": ("-3",),
    "i32": ("7",),
    "i64": ("-9223372036854775808",),
    "u8": ("255",),
    "u16": ("0x1FF",),
    "u32": ("1",),
    "u64": ("18446744073709551615",),
    "f32": ("1.5", "0.1", "-0.0", ".nan"),
    "f64": ("-.inf", "2.25", ".nan"),
    "str[5]": ("abc", "é"),
    "bytes[3]": ("[1, 2]", "ab"),
    "Mode": ("standby",),
    "Access": ("read|write",),
}
WORDS = (
    "order key rng callback value values src dst gone found start stop size needed moved bound "
    "links blocks mask element cells place old new row_of begin end dead alive world manager"
)
"""Names of fields: words that the generated code has for things of its own."""
SHAPES = ("[1]", "[2]", "[3]", "[5]", "[2,2]", "[1,3]")
HARD_TO_SPLIT = ("str[5]", "bytes[3]", "object")

NEVER_UNIQUE = re.compile("bool|object|Mode|Access|cold")

CONTRADICTIONS: tuple[dict[str, str], ...] = (
    {"lookup": "direct", "instances": "many"},
    {"lookup": "direct", "partition": "{start: active}"},
    {"lookup": "direct", "hierarchy": "{orphans: root}"},
    {"lookup": "direct", "cold": "indirect"},
    {"lookup": "direct", "ring": "8"},
    {"owner": "none", "instances": "many"},
    {"owner": "none", "lookup": "hash"},
    {"owner": "none", "lookup": "direct"},
    {"owner": "none", "destroy": "callback"},
    {"owner": "none", "destroy": "manual"},
    {"owner": "none", "ids": "false"},
    {"owner": "none", "hierarchy": "{orphans: die}"},
    {"destroy": "callback", "release": "false"},
    {"growth": "{reserve: 64}", "capacity": "65"},
    {"growth": "{reserve: 64}", "ring": "65"},
    {"ring": "64", "capacity": "65"},
)
"""Pairs of keys that no component may have together, whatever else it has."""


GROUPLESS = (
    ("owner", "none"),
    ("instances", "many"),
    ("lookup", "direct"),
    ("partition", "{start: active}"),
    ("partition", "{start: inactive}"),
)
"""Keys that no member of a group may have."""


@dataclass
class Draft:
    """A component about to be written: its keys in the order of the file."""

    name: str
    keys: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The component as YAML."""
        lines = [f"component: {self.name}"]
        if self.fields:
            lines.append("fields:")
            lines += [f"  {name}: {kind}" for name, kind in self.fields.items()]
        return "\n".join([*lines, *(f"{key}: {value}" for key, value in self.keys.items())]) + "\n"


def together(drafts: list[Draft]) -> str:
    """Return the key of the world that makes a group of those that may be in one, if there are."""
    members = [d.name for d in drafts if not any(d.keys.get(k) == v for k, v in GROUPLESS)]
    return f"groups: {{together: [{', '.join(members)}]}}\n" if len(members) > 1 else ""


def joined(drafts: list[Draft], random: Random) -> str:
    """Return a query of the world's over components that entities have, if there are two."""
    owned = [d.name for d in drafts if d.keys.get("owner") != "none"]
    names = random.sample(owned, min(len(owned), 4))
    if len(names) < 2:
        return ""
    first, second, *others = names
    clauses = [f"all: [{first}, {second}]"]
    keys = random.sample(["any", "none", "optional"], len(others))
    clauses += [f"{key}: [{component}]" for key, component in zip(keys, others, strict=True)]
    return f"joined: {{{', '.join(clauses)}}}"


def over_chunks(drafts: list[Draft], other: str = "") -> str:
    """Return the keys of the world with a query of chunks and another one, and a kernel over the
    first: it doubles numbers, and counts rows in a setting."""
    first, *others = drafts
    clauses = [f"all: [{first.name}]"]
    clauses += [
        f"{key}: [{component.name}]"
        for key, component in zip(("any", "none"), others, strict=False)
    ]
    queries = [f"few: {{{', '.join(clauses)}}}", *filter(None, [other])]
    text = f"queries: {{{', '.join(queries)}}}\n"
    numbers = [name for name, form in first.fields.items() if re.search(r'"[iuf]\d', form)]
    steps = [f'"{first.name}.{name} += {first.name}.{name}"' for name in numbers]
    listed = ", ".join([*steps, "settings.counted += 1"])
    return (
        f"{text}settings: {{counted: i64}}\nkernels: {{twice: {{over: few, steps: [{listed}]}}}}\n"
    )


class Schemas:
    """A source of random schemas; the same number draws the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def world(self) -> str:
        """Return a world with a layout of handles that leaves room for the tests' entities."""
        index_bits = self.random.choice([16, 20, 24, 32])
        bits = self.random.choice([8, 16, min(32, 64 - index_bits)])
        free = self.random.choice([0, 1, 64, 1024])
        entity = f"{{index_bits: {index_bits}, generation_bits: {bits}, min_free: {free}}}"
        return f"world: Mixture\nentity: {entity}\n"

    def component(self, name: str) -> Draft:
        """Return a legal component of any policies and fields."""
        draft = Draft(name, self._policies())
        unowned = draft.keys.get("owner") == "none"
        fields = self._fields(least=1 if unowned else 0)
        draft.fields = {name: self._findable(kind) for name, kind in fields.items()}
        if draft.keys.get("cold") == "indirect" and "cold" not in str(draft.fields):
            draft.fields["far"] = f"{{type: {self.random.choice(NUMBERS)}, tags: [cold]}}"
        return draft

    def chunked(self, names: str) -> tuple[list[Draft], str]:
        """Return components in archetype chunks, and the key of the world that puts them there."""
        drafts = [Draft(f"Chunky{letter}", {}, self._fields(least=0)) for letter in names]
        members = ", ".join(draft.name for draft in drafts)
        chunk = self.random.choice([8192, 10_000, 65_536])
        return drafts, f"archetypes: {{chunk: {chunk}, components: [{members}]}}\n"

    def stretched(self, draft: Draft, most: int) -> Draft:
        """Return a component with names up to so many characters longer, words and a kernel."""
        random = self.random

        def longer(name: str) -> str:
            return name + "x" * random.randrange(most + 1)

        fields = {longer(name): kind for name, kind in draft.fields.items()}
        keys = {**draft.keys, "doc": self._words(most)}
        kinds = {name: re.match(r'{type: "([iuf]\d+)"', kind) for name, kind in fields.items()}
        written = re.compile("^((?!cold|unique).)*$")
        numbers = {n: m[1] for n, m in kinds.items() if m and written.match(fields[n])}
        if numbers:
            alike = {
                kind: [n for n, k in numbers.items() if k == kind] for kind in numbers.values()
            }
            steps = ", ".join(f'"{n} += {random.choice(alike[k])} * 2"' for n, k in numbers.items())
            keys["kernels"] = f"{{{longer('advance')}: {{steps: [{steps}]}}}}"
            keys["reductions"] = (
                f"{{{longer('total')}: {{sum: {' + '.join(random.choice([*alike.values()]))}}}}}"
            )
        documented = {
            name: f"{kind[:-1]}, doc: {self._words(most)}}}" for name, kind in fields.items()
        }
        return Draft(longer(draft.name), keys, documented)

    def _words(self, most: int) -> str:
        """Return a sentence, quoted; some words are as long as names may be."""
        signs = ("a", "é", "漢", "\\\\", '\\"', "'", "(", "#", "%", "{")
        lengths = [self.random.randrange(1, most + 6) for _ in range(self.random.randrange(1, 20))]
        words = ["w" * length + self.random.choice(signs) for length in lengths]
        return f'"{" ".join(words)}."'

    def contradiction(self, name: str) -> tuple[Draft, tuple[str, str]]:
        """Return a component with two keys that contradict each other, and these keys."""
        draft = self.component(name)
        wrong = self.random.choice(CONTRADICTIONS)
        remaining = {key: value for key, value in draft.keys.items() if key not in wrong}
        items = [*remaining.items(), *wrong.items()]
        self.random.shuffle(items)
        draft.keys = dict(items)
        first, second = (key for key, _ in items if key in wrong)
        return draft, (first, second)

    def _policies(self) -> dict[str, str]:
        """Return the keys of a component that go together, in any order."""
        random, keys = self.random, {}
        choices = random.choices
        unowned = random.random() < 0.25
        direct = not unowned and random.random() < 0.2
        if unowned:
            keys["owner"] = "none"
        else:
            keys["lookup"] = "direct" if direct else random.choice(["sparse", "hash"])
            keys["destroy"] = random.choice(["gc", "callback", "manual"])
        if not unowned and not direct:
            keys["instances"] = random.choice(["one", "many"])
        if not direct:
            starts = ["{start: active}", "{start: inactive}", "off"]
            keys["partition"] = choices(starts, [2, 2, 3])[0]
            orphans = ["{orphans: root}", "{orphans: destroy}", "off", "{orphans: die}"]
            keys["hierarchy"] = choices(orphans, [2, 2, 3, 0 if unowned else 2])[0]
            keys["cold"] = choices(["indirect", "inline"], [1, 2])[0]
        keys["ids"] = "true" if unowned else random.choice(["true", "false"])
        fixed = keys.get("destroy") == "callback"
        keys["release"] = "true" if fixed else random.choice(["true", "false"])
        reserve = random.choice([64, 100, 512, 5000, 100_000])
        keys["growth"] = choices([f"{{reserve: {reserve}}}", "double"], [1, 3])[0]
        room = reserve if keys["growth"] != "double" else 200
        if not direct and random.random() < 0.2:
            room = random.choice([1, 7, 64])
            keys["ring"] = str(room)
        keys["capacity"] = str(random.choice([0, 0, 1, 64, min(room, 100)]))
        chosen = [(key, value) for key, value in keys.items() if random.random() < 0.9]
        random.shuffle(chosen)
        return dict(chosen)

    def _fields(self, least: int) -> dict[str, str]:
        count = self.random.choice([0, 1, 2, 3, 5]) or least
        names = self.random.sample(WORDS.split(), count)
        return {name: self._field() for name in names}

    def _findable(self, kind: str) -> str:
        """Return the type of a field, which is unique or indexed if that is drawn."""
        suits = re.search(r'type: "[^"]*[^"\]]"', kind) and not NEVER_UNIQUE.search(kind)
        draw = self.random.random() if suits else 1.0
        key = "unique" if draw < 0.1 else "index" if draw < 0.5 else ""
        return f"{kind[:-1]}, {key}: true}}" if key else kind

    def _field(self) -> str:
        """Return the type of a field with its default, tags and storage."""
        random = self.random
        base = random.choice([*NUMBERS, *DEFAULTS, "entity", "id<Known>", "object"])
        shaped = base not in HARD_TO_SPLIT and random.random() < 0.4
        kind = base + (random.choice(SHAPES) if shaped else "")
        parts = [f'type: "{kind}"']
        if base in DEFAULTS and random.random() < 0.5:
            parts.append(f"default: {random.choice(DEFAULTS[base])}")
        if random.random() < 0.5:
            tags = random.choice(["cold", "hot", "render", "cold, render", "physics"])
            parts.append(f"tags: [{tags}]")
        if shaped and random.random() < 0.4:
            parts.append("split: true")
        return f"{{{', '.join(parts)}}}"
