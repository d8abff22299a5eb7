"""Commands on real schemas, and what each of them imports."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import black
import pytest

from ecsgen import __version__
from tests.support.command_project import run

ROOT = Path(__file__).parents[2]
SCHEMA = """\
component: PointMass
doc: A mass.
fields:
  mass: {type: f32, default: 1.0, unit: kg}
  position: "f32[3]"
"""


def child(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in a folder, with this checkout unless the environment says otherwise."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "point_mass.yaml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


REPORTING = """
import sys
from ecsgen.cli import main

def run(command):
    try:
        main([command])
    except SystemExit as end:
        assert end.code == 0, end.code
    print("\\nIMPORTED", *sys.modules)
"""
HEAVY = {"black", "ecsgen.model", "hypothesis", "jinja2", "numpy", "pydantic", "pytest", "yaml"}


def imported(code: str, cwd: Path) -> list[set[str]]:
    """Return which heavy modules are there after each command that some code runs."""
    ended = child(cwd, "-c", REPORTING + code)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    return [HEAVY & {*line.split()} for line in lines if line.startswith("IMPORTED")]


def test_validate(folder: Path) -> None:
    done = run("validate", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 component, 0 enums: valid\n", "")
    (folder / "schemas" / "point_mass.yaml").write_text(SCHEMA.replace("f32,", "f33,"))
    done = run("validate", "schemas", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    head, line, caret = done.stderr.splitlines()
    assert head == (
        "schemas/point_mass.yaml:4:16: error[E104]:"
        " unknown type 'f33' for field 'mass'; did you mean 'f32'?"
    )
    assert line == "  mass: {type: f33, default: 1.0, unit: kg}"
    assert caret == "               ^~~"
    done = run("validate", "--format", "json", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "")
    (error,) = json.loads(done.stdout)
    assert (error["path"], error["line"], error["column"]) == ("schemas/point_mass.yaml", 4, 16)
    done = run("validate", "--format", "github", cwd=folder)
    assert done.stdout.startswith("::error file=schemas/point_mass.yaml,line=4,col=16,")


@pytest.mark.parametrize("command", ["validate", "build", "check", "diff", "layout"])
def test_no_schemas(tmp_path: Path, command: str) -> None:
    done = run(command, cwd=tmp_path)
    assert done.returncode == 2
    assert "schemas" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_layout(folder: Path) -> None:
    done = run("layout", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("PointMass\n")
    assert "position" in done.stdout
    assert run("layout", "point_mass", cwd=folder).stdout == done.stdout
    assert run("layout", "PointMass", "--schemas", "schemas", cwd=folder).stdout == done.stdout
    done = run("layout", "PointMas", cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "Error: no component 'PointMas'; did you mean 'PointMass'?\n"


def test_version_and_usage(tmp_path: Path) -> None:
    first, python, *used = run("--version", cwd=tmp_path).stdout.splitlines()
    assert first == f"ecsgen, version {__version__}"
    assert python.startswith("Python 3.")
    assert {"numpy", "black", "pyyaml"} <= {line.split()[0] for line in used}
    assert run("--help", cwd=tmp_path).returncode == 0
    for wrong in ("bild", "build --backend gpu", "build --jobs 0", "build -x"):
        done = run(*wrong.split(), cwd=tmp_path)
        assert done.returncode == 2
        assert "Usage:" in done.stderr


def test_what_commands_import(folder: Path) -> None:
    other = SCHEMA.replace("A mass.", "Another mass.")
    long = other.replace("PointMass", "PointMass" * 7)  # makes a line too long
    code = f"""
run("validate")
run("build")
for text in {[other, long]!r}:
    with open("schemas/point_mass.yaml", "w") as file:
        file.write(text)
    run("build")
"""
    validated, built, *again = imported(code, cwd=folder)
    assert validated == {"ecsgen.model", "pydantic", "yaml"}
    assert built == again[0] == {"ecsgen.model", "jinja2", "pydantic", "yaml"}
    assert "black" in again[1]
    [module] = (folder / "generated").glob("point_mass*.py")
    assert "Another mass." in module.read_text(encoding="utf-8")
    # In step: nothing but digests.
    code = 'for command in ("build", "check", "diff"): run(command)'
    assert imported(code, cwd=folder) == [set(), set(), set()]


def without(package: str, folder: Path, kept_file: str = "") -> str:
    """Return a path of modules that lacks a package, or only its metadata."""
    for path in Path(black.__file__).parent.parent.iterdir():
        if path.name == kept_file or not path.name.startswith(package):
            (folder / path.name).symlink_to(path)
    ours = {"ecsgen_runtime": ROOT / "runtime", "ecsgen_testing": ROOT / "testing"}
    kept_of_ours = (path for name, path in ours.items() if name != package)
    return os.pathsep.join(map(str, (folder, ROOT, *kept_of_ours)))


@pytest.mark.parametrize("package", ["black", "click", "ecsgen_runtime", "ecsgen_testing", "yaml"])
def test_a_package_that_ecsgen_needs_is_missing(
    package: str, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = without(package, tmp_path_factory.mktemp("site"))
    done = child(folder, "-S", "-m", "ecsgen", "build", PYTHONPATH=path)
    assert done.stderr == f"Error: ecsgen needs {package}: pip install ecsgen\n"
    assert (done.returncode, done.stdout) == (2, "")


def entry_point() -> str:
    """Return the program that an installed `ecsgen` is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["ecsgen"].partition(":")
    return f"from {module} import {name}\n{name}()"


@pytest.mark.parametrize("program", [("-m", "ecsgen"), ("-c", entry_point())])
def test_ctrl_c_while_ecsgen_is_imported_is_130(program: tuple[str, str], folder: Path) -> None:
    (folder / "click.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    path = os.pathsep.join(map(str, (folder, ROOT)))
    done = child(folder, *program, "build", "--jobs", "2", PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_black_needs_no_metadata(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = without("black", tmp_path_factory.mktemp("site"), kept_file="black")
    code = REPORTING + 'run("build"); run("check")'
    done = child(folder, "-S", "-c", code, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "written" in done.stdout
    assert "in step" in done.stdout
    assert run("check", cwd=folder).returncode == 0


def test_hashes_of_strings_do_not_matter(folder: Path) -> None:
    """They differ from process to process; test_wheel.py builds the same elsewhere."""
    output = folder / "deeply" / "nested" / "generated"
    command = ["-m", "ecsgen", "build", str(ROOT / "schemas"), "-o", str(output)]
    assert child(folder, *command, PYTHONHASHSEED="1").returncode == 0
    assert modules(output) == modules(ROOT / "generated")


def modules(package: Path) -> dict[str, bytes]:
    return {
        path.relative_to(package).as_posix(): path.read_bytes() for path in package.rglob("*.py")
    }


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_process_leaves_what_the_next_build_finishes(folder: Path) -> None:
    code = (
        "import os, signal\n"
        "from ecsgen.cli import main\n"
        "replace, left = os.replace, iter(range(2))\n"
        "def die(*places):\n"
        "    if next(left, None) is None: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    replace(*places)\n"
        "os.replace = die\n"
        "main(['build'])\n"
    )
    assert child(folder, "-c", code).returncode == -signal.SIGKILL
    assert not (folder / "generated" / ".ecsgen.json").exists()
    # What lies there is not foreign, even though the schema changed in the meantime.
    (folder / "schemas" / "point_mass.yaml").write_text(SCHEMA.replace("kg", "g"))
    done = run("build", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert run("check", cwd=folder).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="folders can't be locked")
def test_builds_of_one_folder_wait_for_each_other(folder: Path) -> None:
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ecsgen", "build"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as second:
        assert second.stderr is not None
        assert second.stderr.readline().startswith("waiting for another build")
        assert not (folder / "generated").exists()
        os.close(held)
        assert second.wait(60) == 0
    assert (folder / "generated" / ".ecsgen.json").exists()


def test_there_is_no_output(folder: Path) -> None:
    both = ">&- 2>&-"
    for arguments, status, ways in (
        (["build"], 0, (both,)),
        (["check"], 0, (">&-", both)),
        (["check", "--wrong"], 2, ("2>&-",)),
        (["check", "--format", "json"], 0, (">&-",)),
    ):
        command = shlex.join([sys.executable, "-m", "ecsgen", *arguments])
        for closed in ways:
            done = subprocess.run(
                ["sh", "-c", f"exec {command} {closed}"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                check=False,
            )
            assert done.returncode == status, (arguments, closed)
            assert b"Error" not in done.stderr


def test_nobody_reads_the_output(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "ecsgen", "schema"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


@pytest.mark.parametrize("arguments", [["schema"], ["explain"], ["explain", "E104"], ["check"]])
def test_any_encoding_of_the_output_will_do(arguments: list[str], tmp_path: Path) -> None:
    """The one tried has few characters."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/a.yaml").write_text("component: Жук → 虫\n", encoding="utf-8")
    done = child(tmp_path, "-m", "ecsgen", *arguments, PYTHONIOENCODING="latin-1")
    assert done.returncode == (2 if arguments == ["check"] else 0), done.stderr
    if arguments == ["schema"]:
        assert json.loads(done.stdout)["$defs"]
    if arguments == ["check"]:
        assert "\\u0416\\u0443\\u043a" in done.stderr
