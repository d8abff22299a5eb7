"""Which projects a build tells to list the library, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecsgen import __version__
from tests.support import fake_generator
from tests.support.command_project import Project

SAID = "generated imports ecsgen-runtime, which pyproject.toml does not list; to add: "
LINE = f'{SAID}"ecsgen-runtime=={__version__}" in dependencies of [project]\n'


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    monkeypatch.setattr("ecsgen.build._outputs", fake_generator.outputs)
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path, capsys)
    project.put("schemas/mass.yaml", "x = 1\n")
    return project


def test_it_is_said_once(project: Project) -> None:
    project.put("pyproject.toml", "[project]\nname = 'mine'\ndependencies = ['numpy']\n")
    assert project("check").err == project("diff").err == ""
    assert project("build").err == LINE
    assert project("build").err == project("check").err == ""
    project.put("schemas/mass.yaml", "x = 2\n")
    assert project("build").err == ""
    project.put("schemas/mass.yaml", "!error")
    assert "to add" not in project("build", "--no-vendor", "-o", "other").err


def test_a_package_with_copies_needs_nothing(project: Project) -> None:
    project.configure('runtime = "vendored"')
    assert project("build").err == ""
    assert project("build", "--no-vendor").err.endswith(LINE)
    assert "to add" not in project("build").err


def test_another_version_needs_another_library(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure("")
    project("build")
    monkeypatch.setattr("ecsgen.__version__", "9.0")
    assert '"ecsgen-runtime==9.0"' in project("build").err


def test_a_backend_of_its_own(project: Project) -> None:
    project.configure('backend = "numba"')
    assert f'"ecsgen-runtime[numba]=={__version__}" in dependencies' in project("build").err


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_poetry_writes_it_otherwise(project: Project, backend: str) -> None:
    project.put("pyproject.toml", "[tool.poetry.dependencies]\nnumpy = '*'\n")
    version = f'"{__version__}"'
    told = {"numpy": version, "numba": f'{{version = {version}, extras = ["numba"]}}'}[backend]
    err = project("build", "--backend", backend).err
    assert err == f"{SAID}ecsgen-runtime = {told} in [tool.poetry.dependencies]\n"


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
def test_what_counts_as_listed(project: Project, text: str) -> None:
    project.put("pyproject.toml", text)
    assert project("build").err == ""


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = ['ecsgen-runtime-extras', 'my-ecsgen-runtime', 'ecsgen==0.1']",
        "project = 1\ndependency-groups = ['ecsgen-runtime']\n[tool]\npoetry = []",
        "[project]\ndependencies = 'ecsgen-runtime'\noptional-dependencies = {a = 1, b = [7]}",
        "[build-system]\nrequires = ['ecsgen-runtime']",
    ],
)
def test_what_does_not(project: Project, text: str) -> None:
    project.put("pyproject.toml", text)
    assert project("build").err == LINE


def test_the_project_is_the_package_s(project: Project) -> None:
    """Not that of the folder in which somebody builds; and there may be none."""
    assert project("build").err == ""
    project.put("game/pyproject.toml", "[project]\nname = 'game'\n")
    err = project("build", "-o", "game/src/world").err
    assert err.startswith("game/src/world imports ecsgen-runtime, which game/pyproject.toml does")
    project.put("game/pyproject.toml", "not toml")
    assert project("build", "-o", "game/src/two").err == ""
