"""Schema text to nodes: YAML 1.2 reading, exact marks, limits before anything grows."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsgen.diagnostics import Diagnostics, split_lines
from ecsgen.source.yaml_nodes import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    Node,
    Plain,
    parse,
    read,
    resolve,
)
from tests.support.soak import examples

PARSERS = [False, True] if yaml.__with_libyaml__ else [True]


def parsed(text: str, pure: bool = False) -> tuple[list[Node], Diagnostics]:
    diagnostics = Diagnostics()
    return parse(text, "a.yaml", diagnostics, pure=pure), diagnostics


def documents(text: str) -> list[Plain]:
    nodes, diagnostics = parsed(text)
    assert not list(diagnostics)
    return [node.plain() for node in nodes]


def codes_of_file(path: Path) -> list[str]:
    diagnostics = Diagnostics()
    assert read(path, path.name, diagnostics) == [] or not list(diagnostics)
    return [diagnostic.code for diagnostic in diagnostics]


TEXT_IN_YAML_1_2 = """
yes on n 012 1_000 0b1 -0x1 12:30:45 2024-13-45 2001-12-14t21:59:43.10-05:00 inf nan 1e . =
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text) for text in TEXT_IN_YAML_1_2.split()),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        (".Inf", math.inf),
        (".NaN", math.nan),
        ("-", [None]),
        ("'1'", "1"),
        ('"true"', "true"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_scalars_as_in_yaml_1_2(text: str, value: object) -> None:
    (got,) = documents(text)
    assert type(got) is type(value)
    assert got == value or (got != got and value != value)  # NaN


def test_keys_are_text() -> None:
    text = "{on: 1, yes: 2, y: 3, null: 4, 1: 5, 1.5: 6, true: 7, ~: 8}"
    keys = ["on", "yes", "y", "null", "1", "1.5", "true", "~"]
    assert documents(text) == [dict(zip(keys, range(1, 9), strict=True))]


def test_several_documents_and_empty_ones() -> None:
    assert documents("a: 1\n---\n---\n# only this\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]
    assert documents("") == []
    assert documents("# nothing\n") == []
    assert documents("\ufeffa: 1\r\nb: 2\r\n") == [{"a": 1, "b": 2}]
    assert documents("%YAML 1.2\n---\na: 1\n") == [{"a": 1}]


@pytest.mark.parametrize("pure", PARSERS)
def test_marks_count_characters_from_one(pure: bool) -> None:
    text = "é: 😀\nlist: [a, 'bb']\nblock:\n  deep: |\n    text\nlast: {x: 1}\n"
    (node,), _ = parsed(text, pure)

    def mark_of(node_found: Node | None) -> tuple[int, int, int]:
        assert node_found is not None
        return node_found.mark.line, node_found.mark.column, node_found.mark.length

    assert mark_of(node.at("é")) == (1, 4, 1)
    assert mark_of(node.at("list")) == (2, 7, 9)
    assert mark_of(node.at("list", 1)) == (2, 11, 4)
    assert mark_of(node.at("block")) == (4, 3, 7)
    assert mark_of(node.at("block", "deep")) == (4, 9, 1)
    assert mark_of(node.at("last", "x")) == (6, 11, 1)
    assert node.keys["block"].line == 3
    assert node.at("list", 2) is None
    assert node.at("no", "such") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1\n", [("E208", 1, 4, 2)]),
        ("a: *x\n", [("E208", 1, 4, 2)]),
        ("a: {<<: {b: 1}}\n", [("E209", 1, 5, 2)]),
        ("a: !!int 1\n", [("E210", 1, 4, 5)]),
        ("a: ! 1\n", [("E210", 1, 4, 1)]),
        ("a: 1\nb: 2\na: 3\n", [("E211", 3, 1, 1)]),
        ("? {a: 1}\n: 2\n", [("E212", 1, 3, 6)]),
        ("?\n: 2\n", [("E212", 1, 2, 1)]),
        ("*x : 2\n", [("E208", 1, 1, 2)]),
        ("a: 1e999\n", [("E213", 1, 4, 5)]),
        ("a: " + "9" * 5000, [("E213", 1, 4, 5000)]),
        ("a: 0x" + "f" * 5000, [("E213", 1, 4, 5002)]),
        ("%YAML 1.1\n---\na: 1\n", [("E214", 1, 1, 9)]),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", [("E214", 1, 1, 18)]),
        ("a:\tb\n", [("E215", 1, 3, 1)]),
        ("a: b\tc\n", [("E215", 1, 5, 1)]),
        ("a: 1\n\tb: 2\n", [("E215", 2, 1, 1)]),
        ("a: 'x\ty' # z\tz\nb: |\n  x\ty\n", []),
        ("a\0: 1\n", [("E204", 1, 2, 1)]),
        ("a: 1\nb: \u2028\n", [("E204", 2, 4, 1)]),
        ("a: 1\nb: \ufeff\n", [("E204", 2, 4, 1)]),
        ("a: [1\n", [("E205", 2, 1, 1)]),
        ("a: b: c\n", [("E205", 1, 5, 1)]),
    ],
)
def test_what_is_refused_and_where(text: str, expected: list[tuple[str, int, int, int]]) -> None:
    _, diagnostics = parsed(text)
    marks = [(d.code, d.mark) for d in diagnostics]
    assert [(code, mark.line, mark.column, mark.length) for code, mark in marks] == expected


def test_the_rest_of_a_document_with_errors_is_read() -> None:
    (node,), _ = parsed("a: &x 1\nb: {c: *x, d: 2}\na: 3\ne: [*x, 4]\n")
    assert node.plain() == {"a": 1, "b": {"d": 2}, "e": [4]}
    assert not node.complete
    inner = node.at("b")
    assert inner is not None
    assert not inner.complete
    assert list(inner.keys) == ["d"]


ALIASES = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
ALIASES += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
MERGES = ["a0: &a0 {k: v}"]
MERGES += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 30)]
"""Texts of gigabytes, if they were expanded."""


@pytest.mark.parametrize("pure", PARSERS)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 50_000, "E206"),
        ("{" * 50_000, "E206"),
        ("- " * 50_000, "E206"),
        ("? " * 50_000, "E206"),
        ("{a: " * 50_000, "E206"),
        ("[\n" * 50_000, "E206"),
        ("- [" * 50_000, "E205"),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, ""),
        ("[" + "a," * MAX_NODES + "]", "E207"),
        ("a: " + "9" * 1_000_000, "E213"),
        ("a: " + "1" * 1_000_000 + "e5", "E213"),
        ("'" * 200_001, "E205"),
        ("&a " * 10_000, "E205"),
        ("&" * 100_000, "E205"),
        ("#" * 1_000_000, ""),
        ("a: |\n" + "\t\n" * 100_000, "E215"),
        ('"\\ud800"', ""),
        ('"\\UFFFFFFFF"', "E205"),
        ("%" * 1_000, "E205"),
        ("\x85", "E204"),
        ("\n".join(ALIASES), "E208"),
        ("\n".join(MERGES), "E209"),
    ],
)
def test_hostile_text_is_refused_quickly(text: str, code: str, pure: bool) -> None:
    start = time.process_time()
    _, diagnostics = parsed(text, pure)
    assert time.process_time() - start < 20
    assert not code or code in {diagnostic.code for diagnostic in diagnostics}


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (b"# " + b"x" * MAX_BYTES, ["E202"]),
        (b"#" * MAX_BYTES, []),
        (b"a: caf\xe9\n", ["E203"]),
        ("a: 1\n".encode("utf-16"), ["E203"]),
    ],
    ids=["too large", "just not too large", "latin 1", "utf-16"],
)
def test_files(tmp_path: Path, data: bytes, codes: list[str]) -> None:
    (tmp_path / "a.yaml").write_bytes(data)
    assert codes_of_file(tmp_path / "a.yaml") == codes


def test_what_is_no_file(tmp_path: Path) -> None:
    assert codes_of_file(tmp_path / "missing.yaml") == codes_of_file(tmp_path) == ["E201"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert codes_of_file(tmp_path / "pipe.yaml") == ["E201"]


def test_position_of_an_invalid_byte_counts_characters(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("x: 1\r\né: ü".encode() + b"\xff\n")
    diagnostics = Diagnostics()
    read(tmp_path / "a.yaml", "a.yaml", diagnostics)
    (diagnostic,) = diagnostics
    assert (diagnostic.mark.line, diagnostic.mark.column) == (2, 5)


def assert_marks_lie_inside(text: str, diagnostics: Diagnostics) -> None:
    lines = split_lines(text.removeprefix("\ufeff"))
    for diagnostic in diagnostics:
        mark = diagnostic.mark
        assert 1 <= mark.line <= len(lines)
        assert 1 <= mark.column <= len(lines[mark.line - 1]) + 1
        assert mark.length >= 1


YAMLISH = st.text(alphabet="ab:-?,[]{}#&*!|>'\"%@`\\<~ \n\t\r0x19.eé\u2028\0😀", max_size=60)


@pytest.mark.parametrize("pure", PARSERS)
@given(text=st.one_of(YAMLISH, st.text(max_size=60)))
@settings(max_examples=examples(150), deadline=None)
def test_any_text_gives_nodes_or_diagnostics(pure: bool, text: str) -> None:
    nodes, diagnostics = parsed(text, pure)
    assert_marks_lie_inside(text, diagnostics)
    for node in nodes:
        node.plain()


TREES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(alphabet="abcdef<_ é", min_size=1, max_size=4), inner, max_size=4),
    ),
    max_leaves=12,
)


@given(tree=TREES, flow=st.sampled_from([None, True, False]))
@settings(max_examples=examples(100), deadline=None)
def test_both_parsers_read_the_same_and_what_was_written(tree: object, flow: bool | None) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True, default_flow_style=flow, sort_keys=False)
    (nodes, diagnostics), (slow_nodes, others) = parsed(text), parsed(text, pure=True)
    assert nodes == slow_nodes
    assert list(diagnostics) == list(others)
    if not list(diagnostics) and nodes:
        assert repr(nodes[0].plain()) == repr(tree) or _differs_by_version(tree)


def _differs_by_version(tree: object) -> bool:
    """PyYAML writes YAML 1.1, where `0o17` and `1e3` are text and floats have other forms."""
    if isinstance(tree, dict):
        return any(_differs_by_version(item) for pair in tree.items() for item in pair)
    if isinstance(tree, list):
        return any(_differs_by_version(item) for item in tree)
    if isinstance(tree, str):
        return not isinstance(resolve(tree), str)
    return isinstance(tree, float)
