"""Runs tests with the lowest versions that ecsgen says it works with.

    python -m tests.lowest_versions FOLDER

makes an environment in the folder, with the lowest version of each dependency and extra in
`pyproject.toml`, and runs there what depends on these: reading, building, kernels, saving, and the
generated tests of a few components. What other libraries make of Arrow's tables is their affair: of
these, tests want recent ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("numba", "watch", "arrow", "inspect", "test")
TESTS = {
    "cli": ("config", "cli_build"),
    "house": ("names",),
    "inspector": ("inspector", "inspector_edit"),
    "kernels": ("kernels_edges", "kernels_manager", "kernels_types"),
    "runtime": ("lazy", "reflection"),
    "schema": ("diagnostics", "schema_load", "source"),
    "snapshots": ("saving",),
    "sweeps": ("sweep_processes", "sweep_records", "sweep_runs"),
    "world": ("world", "records", "record_files"),
}
GENERATED = ("every_type", "point_mass", "sound_source", "scene_node", "world")


def lowest() -> list[str]:
    """Return what to install: each dependency in its lowest version."""
    project, testing = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "testing")
    )
    extras = project["optional-dependencies"]
    every = [*project["dependencies"], *(text for extra in EXTRAS for text in extras[extra])]
    every += testing["dependencies"]
    matches = [re.fullmatch(r"([\w-]+)>=([\d.]+)", text) for text in every]
    return sorted({f"{match[1]}=={match[2]}" for match in matches if match is not None})


def files() -> list[str]:
    """Return the files with the tests that are run."""
    tests = [f"tests/{folder}/test_{name}.py" for folder, names in TESTS.items() for name in names]
    return tests + [f"generated/tests/test_{name}.py" for name in GENERATED]


def main(folder: Path) -> int:
    """Make the environment and return pytest's exit code there."""
    venv.create(folder, clear=True, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    print(*lowest())
    subprocess.run([*pip, *lowest()], check=True)
    for part in (ROOT / "runtime", ROOT / "testing", ROOT):
        subprocess.run([*pip, "--no-deps", "--editable", part], check=True)
    tests = files()
    options = ["-q", "-p", "no:cacheprovider", "-n", "auto", "--dist", "loadfile"]
    return subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
