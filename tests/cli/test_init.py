"""ecsgen init: what it writes works, nothing is touched; and who is told to list the library."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest

from ecsgen import __version__
from ecsgen.cli.starter import begin
from ecsgen.fingerprint import black_version
from tests.support import fake_generator
from tests.support.command_project import Project

ROOT = Path(__file__).parents[2]
BARE = ["pyproject.toml", "schemas/bodies.yaml", "schemas/world.yaml"]


@pytest.fixture(params=["numpy", "numba"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Begin projects as if numba is installed, or is not."""
    name: str = request.param
    if name == "numpy":
        monkeypatch.setattr("ecsgen.cli.starter.find_spec", lambda name: None)
    return name


def test_what_it_writes_works(project: Project, backend: str) -> None:
    """As the last line says, and as the files for CI do."""
    done = project("init", "my game")
    assert done.status == 0
    assert done.out.splitlines()[-1] == "next: cd 'my game' && ecsgen build && python main.py"
    home = project.folder / "my game"
    os.chdir(home)
    assert tomllib.loads((home / "pyproject.toml").read_text())["project"]["name"] == "my-game"
    before = project.files("my game")
    assert "nothing to do: all of it is there" in project("init").out
    assert project.files("my game") == before
    assert f'backend = "{backend}", for ' in done.out
    built = project("build")
    assert (built.status, built.err) == (0, "")
    assert project("check").out.endswith(f"files in step, made for {backend}\n")
    around = {**os.environ, "PYTHONPATH": "", "MYPYPATH": ""}
    commands = (["main.py"], "after 3 s: "), (["-m", "mypy", "--strict", "main.py"], "Success")
    for command, shown in commands:
        ran = subprocess.run(
            [sys.executable, *command], cwd=home, env=around, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert shown in ran.stdout


@pytest.mark.parametrize(
    ("options", "bare", "message"),
    [
        ('schemas = "q"', True, "schemas = 'q'"),
        ('schemas = ["./schemas/", "package:physics"]', False, ""),
        ('output = "gen"', False, "output = 'gen'"),
        ('output = "gen"', True, ""),
    ],
)
def test_options_that_name_other_folders(
    project: Project, options: str, bare: bool, message: str
) -> None:
    project.put("pyproject.toml", f"[tool.ecsgen]\n{options}\n")
    before = project.files("")
    done = project("init", *["--bare"] * bare)
    assert done.status == (2 if message else 0)
    assert f"{message}: that project has begun already" in done.err if message else done.err == ""
    assert (project.files("") == before) == bool(message)


def test_it_lists_what_the_package_needs(project: Project, backend: str) -> None:
    project("init")
    extra = "[numba]" if backend == "numba" else ""
    begun = tomllib.loads(project.text("pyproject.toml"))
    wanted = [f"ecsgen-runtime{extra}=={__version__}", "numpy>=1.26"]
    assert begun["project"]["dependencies"] == wanted
    black = f"black=={black_version()}"
    tools = [f"ecsgen=={__version__}", black, f"ecsgen-testing=={__version__}"]
    assert begun["dependency-groups"]["dev"][:3] == tools
    installed = f"'ecsgen{extra}=={__version__}' {black}\n"
    assert f"pip install {installed}" in project.text(".github/workflows/ecsgen.yml")
    hook = f"additional_dependencies: [ecsgen=={__version__}, {black}]\n"
    assert hook in project.text(".pre-commit-config.yaml")
    assert project("build").err == ""  # no line to add


def test_options_that_are_there_choose_the_backend(project: Project, backend: str) -> None:
    """Whatever is installed: what is for CI installs what they need."""
    other = {"numpy": "numba", "numba": "numpy"}[backend]
    project.configure(f'backend = "{other}"')
    assert "backend" not in project("init").out
    assert ("[numba]" in project.text(".github/workflows/ecsgen.yml")) == (other == "numba")


def test_the_first_commit_has_what_somebody_wrote(project: Project) -> None:
    """And what a build makes, but nothing that comes from running it."""
    project("init")
    project("build")
    wanted = {*project.files(".")}
    for path in (
        *("sky.snap", "saves/sky.snap", "__pycache__/main.cpython-311.pyc", ".venv/bin/python"),
        *("generated/__pycache__/world.cpython-311.pyc", "generated/__pycache__/body.fly-1.nbi"),
        *(".hypothesis/examples/0", ".mypy_cache/CACHEDIR.TAG", ".pytest_cache/README.md"),
        *(".ruff_cache/0", "generated/.ecsgen.new/world.py"),
    ):
        project.put(path, "made")
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run(["git", "add", "."], check=True)
    listed = subprocess.check_output(["git", "ls-files"], text=True)
    assert {*listed.splitlines()} == wanted


def test_what_to_ignore_beside_what_is_ignored(project: Project) -> None:
    project.put(".gitignore", "# mine\n/__pycache__\n*.snap\n.venv\n.hypothesis/")
    out = project("init").out
    assert "kept      .gitignore\n" in out
    advice = "to add to .gitignore: .mypy_cache/ .pytest_cache/ .ruff_cache/ .ecsgen.new/\n"
    assert advice in out
    assert advice in project("init").out
    text = project.text(".gitignore")
    project.put(".gitignore", text + "\n.ecsgen.new\n.mypy_cache\n.pytest_cache/\n.ruff_cache/\n")
    assert "to add" not in project("init").out
    (project.folder / ".gitignore").unlink()
    (project.folder / ".gitignore").symlink_to("schemas/bodies.yaml")  # git reads no link either
    assert "to add to .gitignore: *.snap " in project("init").out


def test_bare(project: Project) -> None:
    done = project("init", "--bare")
    new = [f"new       {path}" for path in BARE]
    note = 'backend = "numba", for it is installed here: kernels are compiled'
    assert (done.status, done.out) == (0, "\n".join([*new, note, "next: ecsgen build\n"]))
    assert list(project.files(".")) == BARE
    assert project("validate").status == 0


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n# no end of line"])
def test_options_join_a_project(project: Project, ending: str) -> None:
    text = f'[project]\nname = "mine"{ending}'
    (project.folder / "pyproject.toml").write_bytes(text.encode())
    assert project("init", "--bare").out.startswith("added to  pyproject.toml\nnew ")
    after = (project.folder / "pyproject.toml").read_bytes().decode()
    assert after.startswith(text)
    options = {"schemas": "schemas", "output": "generated", "backend": "numba"}
    assert tomllib.loads(after)["tool"]["ecsgen"] == options
    assert project("validate").status == 0
    assert "kept      pyproject.toml" in project("init").out
    assert (project.folder / "pyproject.toml").read_bytes().decode() == after


def test_what_is_there_stays(project: Project) -> None:
    project.put("main.py", "mine")
    project.put("schemas/bodies.yaml", "component: Mine\n")
    (project.folder / ".gitattributes").symlink_to("nowhere")
    project.configure('schemas = "schemas"')
    done = project("init")
    assert "kept      main.py" in done.out
    assert "kept      .gitattributes" in done.out
    assert project.text("main.py") == "mine"
    assert project.text("schemas/bodies.yaml") == "component: Mine\n"
    assert not (project.folder / "nowhere").exists()


@pytest.mark.parametrize(
    ("obstacle", "message"),
    [
        ("link to a folder", "schemas is a link"),
        ("a file", "schemas is not a folder"),
        ("[project", "pyproject.toml: "),
        ("tool = {a = {}}\n", "takes no table at its end"),
        ("ÿ", "pyproject.toml: "),
        ("linked options", "pyproject.toml is not a plain file"),
        ("a folder of options", "pyproject.toml is not a plain file"),
    ],
)
def test_what_is_in_the_way(project: Project, obstacle: str, message: str) -> None:
    home = project.folder
    options = home / "pyproject.toml"
    match obstacle:
        case "link to a folder":
            (home / "elsewhere").mkdir()
            (home / "schemas").symlink_to("elsewhere")
        case "a file":
            project.put("schemas", "")
        case "linked options":
            project.put("real.toml", "")
            options.symlink_to("real.toml")
        case "a folder of options":
            options.mkdir()
        case text:
            options.write_text(text, encoding="latin-1")
    before = sorted(home.rglob("*")), project.files(".")
    done = project("init")
    assert done.status == 2
    assert message in done.err
    assert (sorted(home.rglob("*")), project.files(".")) == before


@pytest.mark.parametrize("fails", range(1, 13))
def test_all_or_nothing(project: Project, fails: int) -> None:
    """Whichever write fails, nothing is left, and what was added is taken off again."""
    project.put("pyproject.toml", "[project]\nname = 'a'\n")
    before = project.files(".")
    opened, real = 0, Path.open

    def failing(path: Path, mode: str = "r", **more: object) -> object:
        nonlocal opened
        if mode in ("xb", "ab"):
            opened += 1
            if opened == fails:
                raise OSError(28, "No space left on device", str(path))
        return real(path, mode, **more)  # type: ignore[call-overload]

    with patch.object(Path, "open", failing):
        if fails <= 11:
            with pytest.raises(OSError, match="No space"):
                begin(project.folder, bare=False)
        else:
            begin(project.folder, bare=False)
    assert (project.files(".") == before) == (fails <= 11)
    assert len(list(project.folder.iterdir())) == (1 if fails <= 11 else 8)


def test_without_schemas_init_is_named(project: Project) -> None:
    done = project("build")
    assert done.status == 2
    assert "there is no such folder; `ecsgen init` makes one" in done.err
    project.put("model.yaml", "component: Body")
    done = project("build", "model.yaml")
    assert done.status == 2
    assert "model.yaml: error[E201]: is not a folder; write the folder that it is in" in done.err


SAID = "generated imports ecsgen-runtime, which pyproject.toml does not list; to add: "
LINE = f'{SAID}"ecsgen-runtime=={__version__}" in dependencies of [project]\n'


@pytest.fixture
def simple(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr("ecsgen.build._outputs", fake_generator.outputs)
    project.put("schemas/mass.yaml", "x = 1\n")
    return project


def test_it_is_said_once(simple: Project) -> None:
    simple.put("pyproject.toml", "[project]\nname = 'mine'\ndependencies = ['numpy']\n")
    assert simple("check").err == simple("diff").err == ""
    assert simple("build").err == LINE
    assert simple("build").err == simple("check").err == ""
    simple.put("schemas/mass.yaml", "x = 2\n")
    assert simple("build").err == ""
    simple.put("schemas/mass.yaml", "!error")
    assert "to add" not in simple("build", "--no-vendor", "-o", "other").err


def test_a_package_with_copies_needs_nothing(simple: Project) -> None:
    simple.configure('runtime = "vendored"')
    assert simple("build").err == ""
    assert simple("build", "--no-vendor").err.endswith(LINE)
    assert "to add" not in simple("build").err


def test_another_version_or_backend_needs_another_library(
    simple: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    simple.configure("")
    simple("build")
    monkeypatch.setattr("ecsgen.__version__", "9.0")
    assert '"ecsgen-runtime==9.0"' in simple("build").err
    simple.configure('backend = "numba"')
    assert '"ecsgen-runtime[numba]==9.0" in dep' in simple("build", "-o", "other").err


@pytest.mark.parametrize(
    ("backend", "requirement"),
    [
        ("numpy", f'"{__version__}"'),
        ("numba", f'{{version = "{__version__}", extras = ["numba"]}}'),
    ],
)
def test_poetry_writes_it_otherwise(simple: Project, backend: str, requirement: str) -> None:
    simple.put("pyproject.toml", "[tool.poetry.dependencies]\nnumpy = '*'\n")
    err = simple("build", "--backend", backend).err
    assert err == f"{SAID}ecsgen-runtime = {requirement} in [tool.poetry.dependencies]\n"


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = ['numpy', ' ecsgen-runtime']",
        "[project]\ndependencies = ['Ecsgen_Runtime[numba] >= 0.1; python_version > \"3\"']",
        "[project]\ndependencies = ['ecsgen.runtime@file:///wheels/x.whl']",
        "[project.optional-dependencies]\nsim = ['ecsgen-runtime==0.1']",
        "[dependency-groups]\na = []\nb = [{include-group = 'a'}, 'ecsgen-runtime==0.1']",
        "[tool.poetry.dependencies]\necsgen-runtime = '^0.1'",
        "[tool.poetry.dev-dependencies]\necsgen_runtime = '*'",
        "[tool.poetry.group.sim.dependencies]\necsgen-runtime = {version = '0.1'}",
        "[project]\ndynamic = ['dependencies']  # from a file of requirements, say",
    ],
)
def test_what_counts_as_listed(simple: Project, text: str) -> None:
    simple.put("pyproject.toml", text)
    assert simple("build").err == ""


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = ['ecsgen-runtime-extras', 'my-ecsgen-runtime', 'ecsgen==0.1']",
        "project = 1\ndependency-groups = ['ecsgen-runtime']\n[tool]\npoetry = []",
        "[project]\ndependencies = 'ecsgen-runtime'\noptional-dependencies = {a = 1, b = [7]}",
        "[build-system]\nrequires = ['ecsgen-runtime']",
    ],
)
def test_what_does_not(simple: Project, text: str) -> None:
    simple.put("pyproject.toml", text)
    assert simple("build").err == LINE


def test_the_project_is_the_package_s(simple: Project) -> None:
    """Not that of the folder in which somebody builds; and there may be none."""
    assert simple("build").err == ""
    simple.put("game/pyproject.toml", "[project]\nname = 'game'\n")
    err = simple("build", "-o", "game/src/world").err
    assert err.startswith("game/src/world imports ecsgen-runtime, which game/pyproject.toml does")
    simple.put("game/pyproject.toml", "not toml")
    assert simple("build", "-o", "game/src/two").err == ""
