"""Formatting by pieces gives what black gives for the whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from black import format_str
from black.mode import Mode, TargetVersion
from black.parsing import InvalidInput
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsgen.fingerprint import digest
from ecsgen.format import format_text, make_all
from ecsgen.pieces import PieceFormatter, cut
from ecsgen.render.output import Output
from ecsgen.shapes import digest as digest_of_shape

ROOT = Path(__file__).parent.parent


def whole(source: str, line_length: int = 88) -> str:
    mode = Mode(line_length=line_length, target_versions={TargetVersion.PY311})
    return format_str(source, mode=mode)


STATEMENTS = st.sampled_from(
    [
        "import a",
        "from a import (b,\n    c)",
        "x = 1",
        "y : int=3",
        "z = [1,2,]",
        "# a comment",
        '"""Words.\n\n\ndef no_code(): pass\n\n    def neither(): pass\n"""',
        "def stub(): ...",
        "@decorate\n# why\ndef decorated( a,b ): pass",
        "def wrapped(self): return a_long_name(with_arguments, and_more_of_them, and_another)",
        "async def waits(): await  x",
        "class Empty: pass",
        "for x in y: pass\nelse: pass",
        "@overload\ndef many(a: int): ...\n@overload\ndef many(a: str): ...",
    ]
)
HEADS = st.sampled_from(
    ["class A:", "class A(B):", "def f(x):", "if x:", "async def g():", "@decorate\ndef h():"]
)
BREAKS = st.sampled_from(["\n", "\n\n", "\n\n\n", "\n\n\n\n", "\n  \n\n"])


def joined(parts: list[tuple[str, str]]) -> str:
    return "".join(text.rstrip("\n") + end for text, end in parts)


def block(head: str, gap: str, body: str) -> str:
    # Strings get indented with the rest, which is what a cut must not stumble over.
    return head + gap + "".join(f"    {line}" if line.strip() else line for line in lines(body))


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


MODULES = st.recursive(
    STATEMENTS,
    lambda inner: st.builds(
        block, HEADS, BREAKS, st.lists(st.tuples(inner, BREAKS), min_size=1, max_size=4).map(joined)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.tuples(MODULES, BREAKS), max_size=5))
def test_pieces_are_as_the_whole(parts: list[tuple[str, str]]) -> None:
    source = joined(parts)
    format = PieceFormatter(whole, 88)
    try:
        wanted = whole(source)
    except InvalidInput:
        with pytest.raises(InvalidInput):
            format(source)
    else:
        assert format(source) == wanted
        assert format(wanted) == wanted


@pytest.mark.parametrize(
    "source",
    [
        "",
        "\n",
        "    def m(self): ...\n",
        "import a\n\n    def m(self): ...\n",
        "x = 1\n\n\ndef f(:\n",
        "# fmt: off\nx  =  1\n\n\ndef f(): pass\n",
        "class A:\n\n    def m(self): pass\n\n    def n(self): pass\n",
        "if x:\n    def m(): pass\n\n    def n(): pass\nelse:\n    def n(): return  1\n",
    ],
)
def test_pieces_at_the_edges(source: str) -> None:
    try:
        wanted = whole(source)
    except InvalidInput:
        with pytest.raises(InvalidInput):
            PieceFormatter(whole, 88)(source)
    else:
        assert PieceFormatter(whole, 88)(source) == wanted


@pytest.mark.parametrize("line_length", [60, 88])
def test_on_real_modules(line_length: int) -> None:
    format = PieceFormatter(partial(whole, line_length=line_length), line_length)
    for path in sorted((ROOT / "ecsgen" / "cli").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert format(source) == whole(source, line_length)


def test_a_piece_is_formatted_once() -> None:
    calls = []

    def counting(source: str) -> str:
        calls.append(source)
        return whole(source)

    format = PieceFormatter(counting, 88)
    method = "    def m(self):\n        return  1"
    first = format(f'class A:\n    """A."""\n\n{method}\n\n{method}\n')
    second = format(f'class B:\n    """B."""\n\n{method}\n')
    assert len(calls) == 2  # the heads of the classes have one shape
    assert first.count("return 1") == 2
    assert second == 'class B:\n    """B."""\n\n    def m(self):\n        return 1\n'


def test_a_known_shape_needs_no_black() -> None:
    first = 'class A:\n    """A."""\n\n    def m(self):\n        return 1\n'
    second = 'class Bc:\n    """Words."""\n\n    def mass(self):\n        return 23\n'
    calls = []

    def counting(source: str) -> str:
        calls.append(source)
        return whole(source)

    format = PieceFormatter(counting, 88)
    assert (format(first), format(second)) == (first, second)
    assert len(calls) == 2
    known = [digest_of_shape(piece.alone, 88) for piece in cut(first)]
    assert PieceFormatter(counting, 88, known)(second) == second
    assert len(calls) == 2


def test_shapes_of_the_earlier_file_need_no_black() -> None:
    earlier = 'class A:\n    """A."""\n\n    def m(self):\n        return 1\n'
    same_shapes = 'class Bc:\n    """Words."""\n\n    def mass(self):\n        return 23\n'
    calls: list[str] = []

    def counting(source: str) -> str:
        calls.append(source)
        return whole(source)

    format = PieceFormatter(counting, 88)
    assert format(same_shapes, lambda: earlier) == same_shapes
    assert not calls
    assert format(same_shapes, lambda: pytest.fail("read although all is known")) == same_shapes
    assert format("x  =  1\n", lambda: earlier) == "x = 1\n"
    assert len(calls) == 1


def test_known_pieces_that_make_no_module_are_refused() -> None:
    """Pieces that are each in style, put together as no template should."""
    method = "    def m(self):\n        return 1\n"
    for head in ("x = 1\n", "class A:\n    a = 1\n\n\nx = 1\n", 'class A: """A."""\n'):
        source = f"{head}\n{method}"
        known = [digest_of_shape(piece.alone, 88) for piece in cut(source)]
        with pytest.raises(InvalidInput):
            PieceFormatter(whole, 88, known)(source)


def text(source: str) -> str:
    return source


def test_only_python_is_formatted() -> None:
    source = "x  =  1\n"
    outputs = [Output(path, digest(b""), partial(text, source)) for path in ("a.py", "a.txt")]
    seen = []
    made = make_all(outputs, 88, 1, lambda *progress: seen.append(progress))
    assert made == {"a.py": b"x = 1\n", "a.txt": b"x  =  1\n"}
    assert seen == [(1, 2), (2, 2)]


def test_nothing_to_make_calls_nobody() -> None:
    assert make_all([], 88, 4, lambda *_: pytest.fail("progress of nothing")) == {}


def test_format_text_keeps_to_the_line_length() -> None:
    source = f"x = [{', '.join(['1000'] * 12)}]\n"
    assert format_text(source, 88) == source
    assert format_text(source, 60) == whole(source, 60)
