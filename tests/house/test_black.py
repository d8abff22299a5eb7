"""Modules are in black's style, whether black has seen them or not.

They stand together because many modules are the same in every package, and black is slow.
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from shutil import copy

import pytest
from black import format_str
from black.mode import Mode, TargetVersion

from ecsgen import fingerprint, render, schema
from ecsgen.config import Backend, Options, load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.fingerprint import digest
from ecsgen.render import Output
from ecsgen.render.render_files import render_files
from ecsgen.render.text.black_style import PINNED_BLACK, Style
from ecsgen.source.schema_roots import SchemaRoot
from tests.models.random_schemas import ENUMS, Schemas, over_chunks, together
from tests.support.generated_package import SCHEMAS, shipped

PINNED = Style(PINNED_BLACK, 88)
LONGER = (0, 4, 8, 16, 40)
"""By how many characters names are longer than usual, at most."""

BROKEN = {"world.py"}
"""In the loop of rows that take turns, conditions with which others are found have many parts."""


@cache
def is_blacks(text: bytes) -> bool:
    """Return True if black leaves a module as it is."""
    return PINNED.apply(text) == text


@cache
def shipped_modules() -> dict[str, Output]:
    outputs = render.outputs(shipped(), load_options(schemas=SCHEMAS))
    return {output.path: output for output in outputs if output.path.endswith(".py")}


@pytest.mark.parametrize("path", sorted(shipped_modules().keys() - BROKEN))
def test_black_leaves_the_text_alone(path: str) -> None:
    """black takes three times as long for lines that it has to change."""
    assert is_blacks(shipped_modules()[path].render().encode())


def in_style(modules: dict[str, bytes]) -> dict[str, bytes]:
    """Return the modules that are kept from black as they have its style; they do have it."""
    known = {path: text for path, text in modules.items() if PINNED.is_formatted(text)}
    assert [path for path, text in known.items() if not is_blacks(text)] == []
    return known


def rendered(schemas: Path, backend: Backend = "numpy") -> dict[str, bytes]:
    """The modules of a package with its tests, before black."""
    diagnostics = Diagnostics()
    project = schema.load(schemas, diagnostics)
    assert project is not None, diagnostics.errors
    options = Options(
        (SchemaRoot(schemas),), schemas / "out", backend, schemas / "out/tests", 1, line_length=88
    )
    outputs = render.outputs(project, options)
    return {each.path: each.render().encode() for each in outputs if each.path.endswith(".py")}


@pytest.mark.parametrize("length", range(1, 9))
def test_names_that_others_give_way_to_are_as_long_as_they_look(
    length: int, tmp_path: Path
) -> None:
    name = "A" + "a" * (length - 1)
    text = f"component: {name}\nfields: {{position: f32}}\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert is_blacks(rendered(tmp_path)[f"{name.lower()}.py"])


needs_pinned = pytest.mark.skipif(
    fingerprint.black_version() != PINNED_BLACK,
    reason="templates are written for another version of black",
)


@needs_pinned
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_shipped_modules_in_style_are_blacks(backend: Backend) -> None:
    modules = rendered(SCHEMAS, backend)
    assert len(in_style(modules)) > 0.85 * len(modules)


@needs_pinned
def test_modules_with_shards_in_style_are_blacks(tmp_path: Path) -> None:
    copy(Path(__file__).parents[1] / "sharded.yaml", tmp_path)
    assert "world.py" in in_style(rendered(tmp_path))


@needs_pinned
def test_a_manager_whose_kernels_read_settings_is_blacks(tmp_path: Path) -> None:
    body = "component: Body\nfields: {x: f64}\nkernels: {move: {steps: [x += settings.dt]}}\n"
    world = "---\nworld: Game\nsettings: {dt: f64}\n"
    (tmp_path / "a.yaml").write_text(body + world, encoding="utf-8")
    assert is_blacks(rendered(tmp_path)["body.py"])


@needs_pinned
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("number", range(5))
def test_random_modules_in_style_are_blacks(number: int, backend: Backend, tmp_path: Path) -> None:
    """With names of any length: what the rule keeps from black, black would leave alone."""
    text = long_winded(number, LONGER[number % len(LONGER)])
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    modules = rendered(tmp_path, backend)
    assert len(in_style(modules)) > len(modules) / 4


def long_winded(number: int, most: int) -> str:
    """Schemas of all kinds whose names are up to so many characters longer than usual."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.stretched(schemas.component(f"Mix{letter}"), most) for letter in "ABC"]
    first = [schemas.stretched(draft, most) for draft in schemas.chunked("XY")[0]]
    for draft in first:
        draft.keys = {"doc": draft.keys["doc"]}  # kernels of chunks are the world's
    members = ", ".join(draft.name for draft in first)
    world += f"archetypes: {{components: [{members}]}}\n" + over_chunks(first) + together(drafts)
    known = "component: Known\nids: true\n"
    return "---\n".join([world, ENUMS, known, *(draft.text for draft in (*drafts, *first))])


ROOT = Path(__file__).parents[2]


def blackened(source: bytes) -> bytes:
    mode = Mode(line_length=88, target_versions={TargetVersion.PY311})
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
    assert PINNED.is_formatted(text)
    assert blackened(text) == text


@pytest.mark.parametrize(
    "line",
    ["x = f({0})", "x = 1  # {0}", 'x = "{0}"', 'x = "{0}" + "b"', '"""A.\n\n{0}"""', "ü = f({1})"],
)
def test_code_overflows(line: str) -> None:
    text = (line.format("w" * 100, "ü" * 42) + "\n").encode()
    assert not PINNED.is_formatted(text)


def test_other_styles_are_left_to_black() -> None:
    assert PINNED.is_formatted(b"x = 1\n")
    assert not Style(PINNED_BLACK, 100).is_formatted(b"x = 1\n")
    assert not Style("1.2", 88).is_formatted(b"x = 1\n")


def test_the_pinned_black_is_the_one_of_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"black=={PINNED_BLACK}" in project["optional-dependencies"]["dev"]


def test_only_python_is_formatted() -> None:
    text = f"x = f({', '.join(['1000'] * 20)})\n"
    outputs = [Output(path, digest(b""), partial(str, text)) for path in ("a.py", "a.txt")]
    seen = []
    texts = render_files(outputs, PINNED, 1, lambda *progress: seen.append(progress))
    assert texts == {"a.py": blackened(text.encode()), "a.txt": text.encode()}
    assert seen == [(1, 2), (2, 2)]


def test_nothing_to_make_calls_nobody() -> None:
    assert render_files([], PINNED, 4, lambda *_: pytest.fail("progress of nothing")) == {}
