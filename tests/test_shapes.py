"""Pieces of one shape are both in black's style or both not."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from black import format_str
from black.mode import Mode, TargetVersion
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsgen.pieces import cut
from ecsgen.shapes import shape
from ecsgen.stable_pieces import SCHEMAS, outputs

MODE = Mode(line_length=88, target_versions={TargetVersion.PY311})


def is_stable(source: str) -> bool:
    return format_str(source, mode=MODE) == source


@cache
def pieces() -> list[str]:
    modules = [output.make() for output in outputs(SCHEMAS) if output.path.endswith(".py")]
    return sorted({piece.alone for module in modules for piece in cut(module)})


KEPT = re.compile(r"[a-z]{2,10}\b")  # keywords among them; enough other names remain
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|(?<![\w.])[1-9]\d*(?![\w.])")


def renamed(piece: str, seed: int) -> str:
    """The piece with other names, words and numbers: some longer, some shorter."""
    chance = random.Random(seed)
    given: dict[str, str] = {}

    def another(match: re.Match[str]) -> str:
        old = match.group()
        if old in given:
            return given[old]
        if old.isdigit():
            new = str(chance.randrange(1, 10**6))
        elif KEPT.fullmatch(old) or chance.random() < 0.5:
            new = old
        else:
            new = "N" + "a" * max(0, len(old) - 1 + chance.choice((-9, -1, 0, 0, 1, 9)))
        return given.setdefault(old, new)

    return WORD.sub(another, piece)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(0, 10**6))
def test_names_do_not_matter_within_a_shape(data: st.DataObject, seed: int) -> None:
    piece = data.draw(st.sampled_from(pieces()))
    other = renamed(piece, seed)
    if other != piece and shape(other, 88) == shape(piece, 88):
        assert is_stable(other) == is_stable(piece)


STATEMENTS = (
    "{} = {}",
    "{}({}, {})",
    '{}["{}"] = {}',
    "return {}",
    "return ({})",
    "{}: {} = {}",
    "{} = {} if {} else {}",
    '"""{} {}."""',
    '"""{}.\n\n{} {}\n"""',
    '"""{}.\n\n{} {}"""',
    '"""{} """',
    "{} = ({}, {})",
    "{} = [\n    {},\n    {},\n]",
    "{} = {}(\n    {}, {}\n)",
    "# {} {}",
    "{}()  # {}",
    'raise {}(f"{} {}")',
    "assert {}, '{}'",
    "def {}({}: {}, {}: {}) -> {}: ...",
    "def {}(\n    {}: {}, {}: {}\n) -> {}: ...",
    "{} = {}**{} + {}.{}**-{}",
    "for {} in ({}, {}): pass",
    "with {}({}) as {}, {}: pass",
    "del ({}), {}",
    '{} = "{}" "{}"',
    "{} = not({})",
    "{} = {}[{}:{}, {} + 1 :]",
)
NAMES = st.integers(1, 30).map(lambda length: "n" * length)


@st.composite
def two_of_one_making(draw: st.DrawFn) -> tuple[str, str]:
    """A module twice, with different names."""
    statements = draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4))
    indent = draw(st.sampled_from(["", "    ", "        "]))
    heads = {"": "", "    ": "def f():\n", "        ": "class A:\n    def f():\n"}

    def module() -> str:
        lines = []
        for statement in statements:
            filled = re.sub(r"\{\}", lambda _: draw(NAMES), statement)
            lines += [indent + line if line else line for line in filled.split("\n")]
        return heads[indent] + "\n".join([*lines, f"{indent}pass"]) + "\n"

    return module(), module()


@settings(max_examples=500, deadline=None)
@given(two_of_one_making(), st.booleans())
def test_lengths_do_not_matter_within_a_shape(pair: tuple[str, str], in_style: bool) -> None:
    first, second = pair
    if in_style:  # as templates write it: then the shape is one that gets remembered
        first = format_str(first, mode=MODE)
    if shape(first, 88) == shape(second, 88):
        assert is_stable(first) == is_stable(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mass = 1\n", "m = 20.5\n"),
        ('f("mass")\n', 'g("a longer text, with (brackets")\n'),
        ('def f():\n    """Mass."""\n', 'def g():\n    """Many words (here"""\n'),
        ('"""A.\n\nB\n"""\n', '"""C.\n\n  D\nE\n\nF\n"""\n'),
        ("a = 1  # one\n", "b = 1  # two words\n"),
    ],
)
def test_of_one_shape(one: str, other: str) -> None:
    assert shape(one, 88) == shape(other, 88)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = (\n    a\n)\n", "x = (\n    ab\n)\n"),
        ("a = b\n", f"{'a' * 90} = b\n"),
        ("a = b\n", "a = not\n"),
        ("a = 1\n", "a = 0XF\n"),
        ('a = "s"\n', "a = 's'\n"),
        ('a = "s"\n', 'a = F"s"\n'),
        ('"""A."""\n', '"""A. """\n'),
        ('"""A."""\n', f'"""{"A" * 90}"""\n'),
        ('"""A.\n\nB\n"""\n', '"""A.\n\n  B\n"""\n'),
        ('"""A.\n\nB\n"""\n', '"""A.\n\nB"""\n'),
        ("a = 1  # one\n", "a = 1  #one\n"),
        ("a = b\n", f"a = {'ü' * 60}\n"),
    ],
)
def test_not_of_one_shape(one: str, other: str) -> None:
    assert shape(one, 88) != shape(other, 88)


@pytest.mark.parametrize(
    "piece",
    ["x = '''a'''\n", "a = \\\n    b\n", "f(\n", ")\n", '"""A\n', 'x = """A"""\n', 'x = "\n'],
)
def test_what_is_unclear_stays_as_it_is(piece: str) -> None:
    assert shape(piece, 88) == piece


def test_every_shipped_piece_is_understood() -> None:
    assert [piece for piece in pieces() if len(piece) > 60 and shape(piece, 88) == piece] == []


def test_schemas_are_there() -> None:
    assert Path(SCHEMAS).is_dir()
    assert len(pieces()) > 500
