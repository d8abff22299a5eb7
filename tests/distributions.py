"""Makes the distributions and uses them as somebody would who has nothing else.

    python -m tests.distributions FOLDER

makes sdist and wheel of ecsgen, of ecsgen-runtime and of ecsgen-testing in the folder, the wheels
from the sdists, and checks that each sdist has all that git has and that a checkout makes the same
wheel. Then come three new environments. One gets all wheels and what they need: a project is begun,
built, tested and run there. One gets the library alone, and one nothing but numpy: there the
package runs, as it was built first and with copies of the library, and takes over the world that
was pickled and saved where it was built. At last the library is installed where there is no
compiler.
"""

from __future__ import annotations

import json
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
NO_COMPILER = {"CC": "no-such-compiler", "CXX": "no-such-compiler"}
BY_THEMSELVES = {"pip", "setuptools"}  # what a new environment has

# Of the world that `ecsgen init` begins with. The first to play leaves a world to the others.
PLAY = """
import pickle
from importlib.util import find_spec
from pathlib import Path
from generated import World

world = World()
sparks = world.spawn_spark(10, body={"velocity": (1, 20)})
world.body.fly(0.5)
world.cool(0.5)
world.destroy(int(sparks[3]))
world.collect()
if not Path("sky.snap").exists():
    world.save("sky.snap")
    Path("sky.pickle").write_bytes(pickle.dumps(world))
for other in (World.load("sky.snap"), pickle.loads(Path("sky.pickle").read_bytes())):
    assert other.body.data.position.tobytes() == world.body.data.position.tobytes()
    assert other.glow.data.heat.tobytes() == world.glow.data.heat.tobytes()
    other.spawn_spark(1)
    assert (len(other), len(world)) == (10, 9)
here = [name for name in ("ecsgen", "ecsgen_runtime", "numpy") if find_spec(name)]
print(f"{len(world)} sparks, with", *here)
"""


def run(*command: str | Path, cwd: Path = ROOT, **more: str) -> str:
    """Run a command; nothing of the checkout can be imported elsewhere."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | more, check=True, text=True, stdout=-1
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


def make(source: Path, folder: Path) -> tuple[Path, Path]:
    """Make sdist and wheel of a folder of the repository, check them, and return both."""
    build = (sys.executable, "-m", "build", "--outdir")
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary, "made")
        run(*build, target, source)
        (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
        check_sdist(sdist, source)
        shutil.rmtree(source / "build", ignore_errors=True)  # what setuptools made once goes along
        run(*build, Path(temporary, "direct"), "--wheel", source)
        (direct,) = Path(temporary, "direct").glob("*.whl")
        assert names_in(direct) == names_in(wheel), f"{sdist.name} makes another wheel"
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(sdist, folder)), Path(shutil.copy(wheel, folder))


def environment(folder: Path, *wheels: str | Path) -> Path:
    """Install wheels with what they need, and nothing else; return where the commands are."""
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", *wheels, cwd=folder)
    return commands


def installed(commands: Path) -> set[str]:
    """Return the names of what an environment has beyond what every one has."""
    listed = json.loads(run(commands / "pip", "list", "--format", "json"))
    return {package["name"].lower() for package in listed} - BY_THEMSELVES


def begin(commands: Path, folder: Path) -> None:
    """Begin a project, build it in both ways, test it and run it."""
    (folder / "alone").mkdir(parents=True)
    for command in ("--version", "init", "build", "check"):
        print(run(commands / "ecsgen", command, cwd=folder), end="")
    print(
        run(commands / "ecsgen", "build", "--vendor", "-o", "alone/generated", cwd=folder), end=""
    )
    run(commands / "python", "-m", "pytest", "-q", cwd=folder)
    print(run(commands / "python", "main.py", cwd=folder), end="")
    print(run(commands / "python", "-c", PLAY, cwd=folder), end="")
    for path in ("main.py", "sky.snap", "sky.pickle"):
        shutil.copy(folder / path, folder / "alone" / path)


def play(commands: Path, folder: Path, *needs: str) -> None:
    """Run a project's program, and go on with its saved world, where nothing but `needs` is."""
    assert installed(commands) == {*needs}, installed(commands)
    run(commands / "python", "main.py", cwd=folder)
    print(run(commands / "python", "-c", PLAY, cwd=folder), end="")


def install_without_compiler(commands: Path, sdist: Path, folder: Path) -> None:
    """Install the library where nothing compiles; nobody hears of it, and packages run."""
    pip = ("-m", "pip", "install", "--no-deps", "--no-cache-dir", "--force-reinstall", sdist)
    output = run(commands / "python", *pip, cwd=folder, **NO_COMPILER)
    assert not any(word in output.lower() for word in ("error", "warning", "failed")), output
    says = run(commands / "python", "-m", "ecsgen_runtime", cwd=folder, ECSGEN_PURE="0")
    assert "methods in C: no (not compiled)" in says, says
    play(commands, folder, "ecsgen-runtime", "numpy")


def use(library: tuple[Path, Path], testing: Path, generator: Path, folder: Path) -> None:
    """Build where all is installed; run where the library is, and where it is not."""
    sdist, wheel = library
    project = folder / "project"
    begin(environment(folder / "maker", wheel, testing, generator), project)
    player = environment(folder / "player", wheel)
    print(run(player / "python", "-m", "ecsgen_runtime", cwd=folder), end="")
    play(player, project, "ecsgen-runtime", "numpy")
    play(environment(folder / "bare", "numpy"), project / "alone", "numpy")
    install_without_compiler(player, sdist, project)


def main(folder: Path) -> None:
    """Make, check and use the distributions."""
    sources = (ROOT / "runtime", ROOT / "testing", ROOT)
    library, testing, generator = (make(source, folder) for source in sources)
    with tempfile.TemporaryDirectory() as temporary:
        use(library, testing[1], generator[1], Path(temporary))
    print(*library, *testing, *generator, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
