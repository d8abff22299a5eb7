"""The wheels have all that a build needs: installed elsewhere, they make the same package."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest

from tests.house.floors import TESTING
from tests.support.accelerated_packages import need_layer

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    # Nothing of this checkout may be importable, and no setting of the caller's may leak in.
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Return ecsgen's, that of the library, and that of test support."""
    folder = tmp_path_factory.mktemp("wheel")
    (ecsgen,) = wheels_of(ROOT, folder)
    (testing,) = wheels_of(ROOT / "testing", folder)
    return ecsgen, runtime_wheel(folder), testing


def wheels_of(source: Path, folder: Path, **environment: str) -> list[Path]:
    """Make the wheel of a project in a folder that has none."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = folder / source.name
    run(*pip, "wheel", "--no-deps", "--wheel-dir", wheels, source, cwd=folder, **environment)
    return list(wheels.glob("*.whl"))


def runtime_wheel(folder: Path, **environment: str) -> Path:
    """Make the library's wheel, of a copy: setuptools puts into it what it once made beside it."""
    left_out = shutil.ignore_patterns("build", "*.so", "*.pyd", "*.egg-info", "__pycache__")
    copied = shutil.copytree(ROOT / "runtime", folder / "source" / "runtime", ignore=left_out)
    (wheel,) = wheels_of(copied, folder, **environment)
    return wheel


def test_the_wheels_have_all_that_is_made_into_packages_and_the_licence(
    wheels: tuple[Path, Path, Path],
) -> None:
    names, library, testing = (set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels)
    templates = {p.relative_to(ROOT).as_posix() for p in (ROOT / "templates").rglob("*.j2")}
    assert templates
    assert {f"ecsgen/{name}" for name in templates} | {"ecsgen/py.typed"} <= names
    top = ROOT / "runtime"
    of_library = {p.relative_to(top).as_posix() for p in top.glob("ecsgen_runtime/**/*.py")}
    assert of_library
    assert {*of_library, "ecsgen_runtime/py.typed"} <= library
    assert "ecsgen_runtime/accelerator/_fast.pyi" in library
    assert not any(name.endswith((".c", ".h", "README.md")) for name in library)
    assert any(name.endswith("/LICENSE") for name in names)
    assert any(name.endswith("/LICENSE") for name in library)
    of_testing = {p.relative_to(TESTING.parent).as_posix() for p in TESTING.rglob("*.py")}
    assert {*of_testing, "ecsgen_testing/py.typed"} == {
        name for name in testing if ".dist-info/" not in name
    }
    assert any(name.endswith("/LICENSE") for name in testing)
    assert not any(
        name.startswith(("tests/", "templates/", "generated/", "testing/")) for name in names
    )


def test_methods_in_c_are_optional(wheels: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Without a compiler there is a wheel as well, which does without."""
    need_layer()
    _, with_c, _ = wheels
    without = runtime_wheel(tmp_path, CC="no-such-compiler")
    for wheel, answer in ((with_c, "yes"), (without, "no (not compiled)")):
        site = tmp_path / answer
        zipfile.ZipFile(wheel).extractall(site)
        command = (sys.executable, "-m", "ecsgen_runtime")
        assert run(*command, cwd=tmp_path, PYTHONPATH=str(site), ECSGEN_PURE="0").endswith(
            f"methods in C: {answer}\n"
        )


def test_an_installed_wheel_builds_what_is_committed(
    wheels: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    python, _ = environment(tmp_path, tmp_path, "install", "--no-index", *wheels)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(python, "-m", "ecsgen", "build", ROOT / "schemas", "-o", "made", cwd=elsewhere)
    assert files(elsewhere / "made") == files(ROOT / "generated")


@pytest.mark.parametrize(
    ("page", "inside"), [("README.md", True), ("docs/getting-started.md", False)]
)
def test_the_line_that_pages_show_installs_a_clone(page: str, inside: bool, tmp_path: Path) -> None:
    """All distributions come from the clone; what they need besides is lent."""
    shown = re.search(
        r"^\$ pip (install \S+ \S+ \S+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE
    )
    assert shown, f"{page} shows no line that installs three folders"
    clone = tmp_path / "ecsgen"
    left_out = shutil.ignore_patterns("build", "*.so", "*.egg-info", "__pycache__", "*_cache")
    for part in ("runtime", "testing", "ecsgen", "templates"):
        shutil.copytree(ROOT / part, clone / part, ignore=left_out)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, clone)
    words = shlex.split(shown[1])
    python, site = environment(tmp_path, clone if inside else tmp_path, *words)
    for name in OURS:
        (installed,) = distributions(name=name, path=[str(site)])
        assert clone.as_uri() in (installed.read_text("direct_url.json") or ""), name
    project = tmp_path / "project"
    project.mkdir()
    for command in ("init", "build", "check"):
        run(python, "-m", "ecsgen", command, cwd=project)


OURS = ("ecsgen", "ecsgen-runtime", "ecsgen-testing")
SITE = "import sysconfig; print(sysconfig.get_path('purelib'), sysconfig.get_path('platlib'))"


def environment(folder: Path, cwd: Path, *words: str | Path) -> tuple[Path, Path]:
    """Make an environment, and have pip install something there; return its Python, and where its
    modules are. What those need besides is lent."""
    venv.create(folder / "env")
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", f"--python={python}"]
    run(sys.executable, *pip, *words, "--no-deps", cwd=cwd, CC="no-such-compiler")
    (site,) = {Path(p) for p in run(python, "-c", SITE, cwd=folder).split()}
    lend_dependencies(site)
    return python, site


def lend_dependencies(site: Path) -> None:
    """Link what a wheel says it needs, and what that needs, from this environment, and no more.

    To install it takes longer, and another black may format differently.
    """
    (installed,) = distributions(name="ecsgen", path=[str(site)])
    names, wanted = {*OURS}, needs(installed)
    while wanted:
        name = wanted.pop()
        if name in names:
            continue
        names.add(name)
        lent = distribution(name)
        wanted += needs(lent)
        for top in {path.parts[0] for path in lent.files or ()} - {"..", "__pycache__"}:
            (site / top).symlink_to(str(lent.locate_file(top)))


def needs(of: Distribution) -> list[str]:
    """Return the names of what a distribution needs here, extras apart."""
    plain = (line.partition(";") for line in of.requires or () if "extra ==" not in line)
    names = (re.split(r"[^\w.-]", need.strip())[0] for need, _, marker in plain if not marker)
    return list(names)


def files(folder: Path) -> dict[str, str]:
    """Every generated file, and the manifest; caches are left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
