"""Makes the distributions and uses the wheel as somebody would who has nothing else.

    python -m tests.distributions FOLDER

makes sdist and wheel in the folder, the wheel from the sdist; checks that the sdist has all that
git has and that a checkout makes the same wheel; installs it into a new environment with what it
needs, and there begins a project, builds it and runs it.
"""

from __future__ import annotations

import os
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


def check_sdist(sdist: Path) -> None:
    """Fail if a file of the repository is missing."""
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    known = [n for n in run("git", "ls-files").splitlines() if not n.startswith(LEFT_OUT)]
    missing = [name for name in known if name not in packed]
    assert not missing, f"not in {sdist.name}: {missing}"


def names_in(wheel: Path) -> list[str]:
    """Return what a wheel has."""
    return sorted(zipfile.ZipFile(wheel).namelist())


def use(wheel: Path, folder: Path) -> None:
    """Install a wheel with what it needs; begin a project, build it, run it and check it."""
    venv.create(folder / "env", with_pip=True)
    commands = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    project = folder / "project"
    project.mkdir()
    for command in ("--version", "init", "build", "check"):
        print(run(commands / "ecsgen", command, cwd=project), end="")
    print(run(commands / "python", "main.py", cwd=project), end="")


def main(folder: Path) -> None:
    """Make, check and use the distributions."""
    build = (sys.executable, "-m", "build", "--outdir")
    run(*build, folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    check_sdist(sdist)
    with tempfile.TemporaryDirectory() as temporary:
        run(*build, temporary, "--wheel", ROOT)
        (direct,) = Path(temporary).glob("*.whl")
        assert names_in(direct) == names_in(wheel), "the sdist makes another wheel"
        use(wheel, Path(temporary))
    print(f"{sdist}\n{wheel}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
