"""Options: [tool.ecsgen], the command line on top, and folders in each other's way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecsgen.config import Options, UsageError, load_options
from ecsgen.files.roots import SchemaRoot


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(home: Path, text: str) -> None:
    (home / "pyproject.toml").write_text(f"[tool.ecsgen]\n{text}\n", encoding="utf-8")


def test_defaults(home: Path) -> None:
    options = load_options()
    assert options.schemas == (SchemaRoot(home / "schemas"),)
    assert options.output == home / "generated"
    assert options.tests == home / "generated" / "tests"
    assert not options.tests_moved
    assert options.tests_location == "tests"
    assert (options.backend, options.line_length) == ("numpy", 88)
    assert options.jobs >= 1


def test_paths_are_relative_to_pyproject_and_arguments_to_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(home, 'schemas = "ecs"\noutput = "src/made"\ntests = "checks"')
    (home / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(home / "deep" / "er")
    options = load_options()
    assert options.schemas == (SchemaRoot(home / "ecs"),)
    assert options.output == home / "src" / "made"
    assert options.tests == home / "checks"
    assert options.tests_moved
    assert options.tests_location == "../../checks"
    assert load_options(output=Path("out")).output == home / "deep" / "er" / "out"
    assert load_options(output=Path("out")).tests == home / "checks"


def test_a_pyproject_without_our_table_moves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (home / "sub").mkdir()
    monkeypatch.chdir(home / "sub")
    assert load_options().output == home / "sub" / "generated"


def test_the_nearest_pyproject_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "jobs = 7")
    (home / "sub").mkdir()
    configure(home / "sub", "jobs = 3")
    monkeypatch.chdir(home / "sub")
    assert load_options().jobs == 3


def test_the_command_line_wins(home: Path) -> None:
    configure(home, 'backend = "numba"\njobs = 3\nline_length = 100')
    assert load_options().backend == "numba"
    options = load_options(backend="numpy", jobs=2)
    assert (options.backend, options.jobs, options.line_length) == ("numpy", 2, 100)


def test_tests_can_be_left_out(home: Path) -> None:
    configure(home, "tests = false")
    options = load_options()
    assert options.tests is None
    assert options.tests_location is None
    assert not options.tests_moved
    configure(home, "tests = true")
    assert load_options().tests == home / "generated" / "tests"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 'x'", "unknown key 'schema'; did you mean 'schemas'?"),
        ("line-length = 90", "unknown key 'line-length'; did you mean 'line_length'?"),
        ("zzz = 1", "unknown key 'zzz'"),
        ("schemas = 1", "schemas: must be the path of a folder, 'package:NAME', or a list"),
        ("output = ''", "output: must be the path of a folder, not ''"),
        ("output = 'a\\u0000b'", None),
        ('output = "a\\u0000b"', "output: must be the path of a folder"),
        ("tests = 3", "tests: must be the path of a folder, true or false, not 3"),
        ("backend = 'nunpy'", "backend: must be 'numpy' or 'numba'; did you mean 'numpy'?"),
        ("backend = []", "backend: must be 'numpy' or 'numba', not []"),
        ("compiled = 1", "compiled: must be true or false, not 1"),
        ("jobs = 0", "jobs: must be a whole number from 1, not 0"),
        ("jobs = true", "jobs: must be a whole number from 1, not True"),
        ("jobs = 1.0", "jobs: must be a whole number from 1, not 1.0"),
        ("line_length = 10", "line_length: must be a whole number from 40 to 400, not 10"),
        ("jobs = ", "pyproject.toml: Invalid value"),
    ],
)
def test_bad_tables(home: Path, text: str, message: str | None) -> None:
    configure(home, text)
    if message is None:
        assert load_options().output.name == "a\\u0000b"
        return
    with pytest.raises(UsageError) as caught:
        load_options()
    assert message in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_the_table_must_be_a_table(home: Path) -> None:
    (home / "pyproject.toml").write_text("[tool]\necsgen = 3\n")
    with pytest.raises(UsageError, match="must be a table"):
        load_options()


def test_not_utf8(home: Path) -> None:
    (home / "pyproject.toml").write_bytes(b"[tool.ecsgen]\nschemas = '\xff'\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        load_options()


@pytest.mark.parametrize("output", [".", "schemas", "schemas/..", ".."])
def test_the_output_must_not_contain_the_schemas(home: Path, output: str) -> None:
    with pytest.raises(UsageError, match="contains the schemas"):
        load_options(output=Path(output))


def test_the_output_must_be_a_real_folder(home: Path) -> None:
    (home / "file").write_text("")
    (home / "elsewhere").mkdir()
    (home / "link").symlink_to(home / "elsewhere")
    (home / "dangling").symlink_to(home / "nowhere")
    for name, message in [("file", "is not a folder"), ("link", "is a link"), ("dangling", "link")]:
        with pytest.raises(UsageError, match=message):
            load_options(output=Path(name))


def test_tests_must_be_outside_the_output_or_in_their_usual_place(home: Path) -> None:
    for tests in ("generated", "generated/checks"):
        configure(home, f"tests = '{tests}'")
        with pytest.raises(UsageError, match="inside the output folder"):
            load_options()
    configure(home, "tests = 'generated/tests'")
    assert not load_options().tests_moved
    configure(home, "tests = 'pyproject.toml'")
    with pytest.raises(UsageError, match="is not a folder"):
        load_options()


def test_options_are_immutable(home: Path) -> None:
    options: Options = load_options()
    with pytest.raises(AttributeError):
        options.jobs = 2  # type: ignore[misc]
