"""Makes the distributions and uses their wheels as somebody would who has nothing else.

    python -m tests.distributions FOLDER

makes sdist and wheel of ecsgen and of ecsgen-runtime in the folder, the wheels from the sdists;
checks that each sdist has all that git has and that a checkout makes the same wheel; installs both
into a new environment with what they need, and there begins a project, builds it and runs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".ci/",)


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command; nothing of the checkout can be imported elsewhere."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, check=True, text=True, stdout=-1
    ).stdout


def check_sdist(sdist: Path, source: Path) -> None:
    """Fail if a file of a folder of the repository is missing."""
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    files = run("git", "ls-files", cwd=source).splitlines()
    known = [name for name in files if not name.startswith(LEFT_OUT)]
    missing = [name for name in known if name not in packed]
    assert not missing, f"not in {sdist.name}: {missing}"


def names_in(wheel: Path) -> list[str]:
    """Return what a wheel has."""
    return sorted(zipfile.ZipFile(wheel).namelist())


def make(source: Path, folder: Path) -> Path:
    """Make sdist and wheel of a folder of the repository, check them, and return the wheel."""
    build = (sys.executable, "-m", "build", "--outdir")
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary, "made")
        run(*build, made, source)
        (sdist,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
        check_sdist(sdist, source)
        shutil.rmtree(source / "build", ignore_errors=True)  # what setuptools made once goes along
        run(*build, Path(temporary, "direct"), "--wheel", source)
        (direct,) = Path(temporary, "direct").glob("*.whl")
        assert names_in(direct) == names_in(wheel), f"{sdist.name} makes another wheel"
        folder.mkdir(parents=True, exist_ok=True)
        print(shutil.copy(sdist, folder))
        return Path(shutil.copy(wheel, folder))


def use(wheels: list[Path], folder: Path) -> None:
    """Install wheels with what they need; begin a project, build it, run it and check it."""
    venv.create(folder / "env", with_pip=True)
    commands = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", *wheels, cwd=folder)
    print(run(commands / "python", "-m", "ecsgen_runtime", cwd=folder), end="")
    project = folder / "project"
    project.mkdir()
    for command in ("--version", "init", "build", "check"):
        print(run(commands / "ecsgen", command, cwd=project), end="")
    print(run(commands / "python", "main.py", cwd=project), end="")


def main(folder: Path) -> None:
    """Make, check and use the distributions."""
    wheels = [make(source, folder) for source in (ROOT / "runtime", ROOT)]
    with tempfile.TemporaryDirectory() as temporary:
        use(wheels, Path(temporary))
    print(*wheels, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
