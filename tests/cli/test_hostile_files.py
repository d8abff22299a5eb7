"""Files and folders as nobody wants them: each is an error in plain words, no fault and no wait."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ecsgen.diagnostics import Diagnostics
from ecsgen.files.output_paths import schema_digests
from ecsgen.source.schema_roots import SchemaRoot
from ecsgen.source.yaml_nodes import MAX_BYTES, read
from tests.support.command_project import run

SCHEMA = "component: Mass\nfields: {value: f32}\n"
LONG = "a" * 300


@pytest.fixture(autouse=True)
def _no_wait() -> Iterator[None]:
    """A test that waits for what never comes fails."""

    def late(*_: object) -> None:
        raise TimeoutError("a minute is over")

    if sys.platform == "win32":
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "mass.yaml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the address may not be long
    try:
        with socket.socket(socket.AF_UNIX) as unix_socket:
            unix_socket.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize(
    "make", [os.mkfifo, make_socket, lambda path: path.symlink_to("/dev/zero")]
)
@pytest.mark.parametrize("command", ["build", "check", "diff", "validate"])
def test_what_is_no_plain_file_is_refused(
    project: Path, make: Callable[[Path], None], command: str
) -> None:
    make(project / "schemas" / "x.yaml")
    done = run(command, cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith("schemas/x.yaml: error[E201]: not a regular file")


def test_a_huge_schema_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = project / "schemas" / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(4 << 30)  # sparse
    monkeypatch.setattr("os.open", lambda *_: pytest.fail("opened"))
    diagnostics = Diagnostics()
    assert read(huge, "huge.yaml", diagnostics) == []
    assert [error.code for error in diagnostics.errors] == ["E202"]
    (project / "schemas" / "mass.yaml").unlink()
    assert schema_digests([SchemaRoot(project / "schemas")]) == {"huge.yaml": ""}


def test_a_file_that_is_larger_than_it_says_is_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = tmp_path / "growing.yaml"
    growing.write_bytes(b"#" * (MAX_BYTES + 2))
    stat = os.stat

    def empty(path: str | Path, **options: Any) -> os.stat_result:
        return os.stat_result([*stat(path, **options)[:6], 0, 0, 0, 0])

    monkeypatch.setattr("ecsgen.source.regular_files.os.stat", empty)
    diagnostics = Diagnostics()
    assert read(growing, "growing.yaml", diagnostics) == []
    assert [error.code for error in diagnostics.errors] == ["E202"]
    assert schema_digests([SchemaRoot(tmp_path)]) == {"growing.yaml": ""}


@pytest.mark.parametrize("option", ["output", "tests"])
def test_a_path_that_is_too_long_is_an_error(project: Path, option: str) -> None:
    arguments = ["-o", LONG] if option == "output" else []
    if option == "tests":
        (project / "pyproject.toml").write_text(f'[tool.ecsgen]\ntests = "{LONG}"\n')
    for command in ("build", "check", "diff"):
        done = run(command, *arguments, cwd=project)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("Error: ")
        assert "File name too long" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_component_whose_name_is_too_long_is_an_error(project: Path) -> None:
    text = SCHEMA.replace("Mass", "M" + LONG)
    (project / "schemas" / "mass.yaml").write_text(text, encoding="utf-8")
    for command in ("build", "check", "validate"):
        done = run(command, cwd=project)
        assert done.returncode == 2
        assert "64 are allowed" in done.stderr
    done = run("layout", "M" + LONG, "--svg", LONG, cwd=project)
    assert done.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("build",), ("schema",), ("layout",), ("--version",)])
def test_a_full_standard_output_is_an_error(
    project: Path, arguments: tuple[str, ...], unbuffered: str
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ecsgen", *arguments],
            cwd=project,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "Error: can't write to standard output: No space left on device\n"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights are other ones there")
@pytest.mark.parametrize("unreadable", ["generated/mass.py", "generated", "generated/.ecsgen.json"])
def test_what_may_not_be_read_is_an_error(
    project: Path,
    unreadable: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rights themselves do not stop the superuser, who may be running this."""
    assert run("build", cwd=project).returncode == 0
    (project / "schemas" / "mass.yaml").write_text(SCHEMA + "doc: Other.\n", encoding="utf-8")
    refused, lstat = os.path.join(project, *unreadable.split("/")), os.lstat

    def guarded(call: Callable[..., object]) -> Callable[..., object]:
        def checked(path: object, *arguments: object, **options: object) -> object:
            asked = os.fspath(path) if isinstance(path, str | Path) else ""
            below = unreadable == "generated" and asked.startswith(refused + os.sep)
            if below or (asked == refused and call is not lstat):
                raise PermissionError(13, "Permission denied", asked)
            return call(path, *arguments, **options)

        return checked

    if unreadable == "generated":
        monkeypatch.setattr("os.lstat", guarded(lstat))
    monkeypatch.setattr("os.open", guarded(os.open))
    for command in ("build", "check", "diff"):
        status, _, errors = run(command, cwd=project)
        if unreadable.endswith(".json"):  # then everything there is somebody else's
            assert "can't be used" in errors
            continue
        assert status == 2, errors
        assert "Error: can't read generated" in errors
        assert "Permission denied" in errors
