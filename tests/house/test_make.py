"""Finished files are black's, whether black has seen them or not."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

import pytest
from black import format_str
from black.mode import Mode, TargetVersion

from ecsgen.files.fingerprint import digest
from ecsgen.make import make_all
from ecsgen.render.output import Output
from ecsgen.style import PINNED_BLACK, Style

ROOT = Path(__file__).parents[2]
PINNED = Style(PINNED_BLACK, 88)


def blackened(source: bytes, line_length: int = 88) -> bytes:
    mode = Mode(line_length=line_length, target_versions={TargetVersion.PY311})
    return format_str(source.decode(), mode=mode).encode()


@pytest.mark.parametrize(
    "line",
    [
        'raise ValueError(\n    f"{0}"\n)',
        "# {0}",
        "x = f(a, b)  # type: ignore[misc]  # {0}",
        "x = f(\n    a, b  # type: ignore[misc]  # {0}\n)",
        '"""{0}."""',
        'def f() -> None:\n    """Words.\n\n    {0}\n    """',
    ],
)
def test_words_do_not_overflow(line: str) -> None:
    text = (line.format("w" * 100) + "\n").encode()
    assert PINNED.has(text)
    assert blackened(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "x = f({0})",
        "x = 1  # {0}",
        'x = "{0}"',
        'x = "{0}" + "b"',
        '"""Words.\n\n{0}"""',
        "ü = f({1})",
    ],
)
def test_code_overflows(line: str) -> None:
    text = (line.format("w" * 100, "ü" * 42) + "\n").encode()
    assert not PINNED.has(text)


def test_other_styles_are_left_to_black() -> None:
    assert PINNED.has(b"x = 1\n")
    assert not Style(PINNED_BLACK, 100).has(b"x = 1\n")
    assert not Style("1.2", 88).has(b"x = 1\n")


def test_the_pinned_black_is_the_one_of_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"black=={PINNED_BLACK}" in project["optional-dependencies"]["dev"]


LONG = f"x = f({', '.join(['1000'] * 20)})\n"


def text(source: str) -> str:
    return source


def test_only_python_is_formatted() -> None:
    outputs = [Output(path, digest(b""), partial(text, LONG)) for path in ("a.py", "a.txt")]
    seen = []
    made = make_all(outputs, PINNED, 1, lambda *progress: seen.append(progress))
    assert made == {"a.py": blackened(LONG.encode()), "a.txt": LONG.encode()}
    assert seen == [(1, 2), (2, 2)]


def test_nothing_to_make_calls_nobody() -> None:
    assert make_all([], PINNED, 4, lambda *_: pytest.fail("progress of nothing")) == {}


def test_the_line_length_is_kept_to() -> None:
    source = f"x = [{', '.join(['1000'] * 12)}]\n"
    outputs = [Output("a.py", digest(b""), partial(text, source))]
    made = make_all(outputs, Style(PINNED_BLACK, 60), 1, lambda *_: None)
    assert made == {"a.py": blackened(source.encode(), 60)}


def test_what_is_no_python_is_a_fault_that_names_the_file() -> None:
    outputs = [Output("a.py", digest(b""), partial(text, LONG + "x = (\n"))]
    with pytest.raises(RuntimeError, match=r"a\.py"):
        make_all(outputs, PINNED, 1, lambda *_: None)
