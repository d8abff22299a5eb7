"""The examples run on the shipped managers, and what they print is right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecsgen.cli import ecsgen as command
from tests.support.generated_package import build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["installed", "vendored"])
def checkout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples and a package of the shipped schemas.

    With the installed library that is the one of the repository: test_cli.py builds the same.
    """
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    if request.param == "installed":
        shutil.copytree(ROOT / "generated", folder / "generated")
    else:
        arguments = ["build", str(ROOT / "schemas"), "-o", str(folder / "generated"), "--vendor"]
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0, result.output
    return folder


def run(
    folder: Path, script: str, *arguments: str, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run an example, which must end so.

    It is isolated from this checkout: the example itself must find `generated`.
    """
    command = [sys.executable, "-W", "error", f"examples/{script}", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={"PYTHONUTF8": "1"}, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def test_solar_system(checkout: Path) -> None:
    picture = checkout / "orbits.svg"
    done = run(checkout, "solar_system.py", "--years", "2", "--svg", str(picture))

    errors = dict(re.findall(r"^(\w+) .* ([+-][\d.]+) %$", done.stdout, re.MULTILINE))
    assert len(errors) == 9
    for name in ("Mercury", "Venus", "Earth", "Mars"):
        assert abs(float(errors.pop(name))) < 0.005
    # The Sun's pull on the Moon, and the planets' on each other, average out over longer times.
    assert all(abs(float(error)) < 0.2 for error in errors.values())

    drifts = [float(drift) for drift in re.findall(r"\d\.\de-\d\d", done.stdout)]
    assert drifts[0] < 1e-8
    assert drifts[1] < 1e-5

    svg = ET.parse(picture).getroot()
    texts = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Mercury", "Neptune", "Earth"} <= texts


def test_particles(checkout: Path) -> None:
    done = run(checkout, "particles.py", "--count", "5000", "--frames", "5")
    match = re.match(r"([\d,]+) particles alive, (\d+) spawned per frame", done.stdout)
    assert match
    alive, spawned = int(match[1].replace(",", "")), int(match[2])
    assert spawned == 83
    assert 4500 < alive < 5500
    rows = re.findall(r"^(\w[\w ]*?)\s+([\d.]+)\s+([\d.]+)$", done.stdout, re.MULTILINE)
    assert [name for name, *_ in rows] == ["spawn", "simulate", "kill", "collect", "whole frame"]
    assert all(0 < float(best) <= float(median) for _, best, median in rows)


def test_an_ecosystem_goes_on_from_a_file(checkout: Path) -> None:
    """And the same seed gives the same land, in one go or in two."""
    for options in (
        "--ticks 20 --save whole.snap",
        "--ticks 8 --save half.snap",
        "--ticks 12 --resume half.snap --save both.snap",
    ):
        run(checkout, "ecosystem.py", *options.split(), "--svg", "land.svg")
    assert (checkout / "both.snap").read_bytes() == (checkout / "whole.snap").read_bytes()


def test_ecosystem(checkout: Path) -> None:
    picture = checkout / "first.svg"
    done = run(checkout, "ecosystem.py", "--ticks", "150", "--svg", str(picture))

    pattern = r"^(\w+) +([\d,]+) alive, ([\d,]+) to ([\d,]+) in 150 ticks$"
    rows = re.findall(pattern, done.stdout, re.MULTILINE)
    counts = {name: [int(n.replace(",", "")) for n in numbers] for name, *numbers in rows}
    assert counts.keys() == {"grazers", "hunters"}
    assert all(0 < low <= now <= high for now, low, high in counts.values())
    families = re.search(r"families of up to (\d+) generations", done.stdout)
    assert families
    assert int(families[1]) >= 3

    svg = ET.parse(picture).getroot()
    assert len(svg.findall("{http://www.w3.org/2000/svg}polyline")) == 2


def test_flock(checkout: Path) -> None:
    done = run(checkout, "flock.py", "--count", "500", "--steps", "60")
    rows = re.findall(r"^ *(\d+) +(-?[\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
    assert [int(step) for step, *_ in rows] == [0, 12, 24, 36, 48, 60]
    agreement = [float(number) for _, number, _ in rows]
    company = [float(number) for *_, number in rows]
    assert agreement[0] < 0.1 < 0.2 < agreement[-1]  # they turn along with each other
    assert company[0] < 4 < 6 < company[-1]  # and flock together


def test_epidemic(checkout: Path) -> None:
    """The illness goes round, and the same seed gives the same days."""
    arguments = ("epidemic.py", "--count", "2000", "--days", "160", "--ill", "10")
    first, second = (run(checkout, *arguments) for _ in range(2))
    assert first.stdout == second.stdout
    rows = [line.split()[:3] for line in first.stdout.splitlines()[1:]]
    ill = [int(row[1]) for row in rows]
    assert ill[0] == 10
    assert max(ill) > 100
    assert int(rows[-1][2]) > 1000
    other = run(checkout, *arguments, "--days", "20", "--seed", "2").stdout.splitlines()
    assert not {*other[2:]} & {*first.stdout.splitlines()}


SCRIPTS = ("solar_system.py", "particles.py", "ecosystem.py", "flock.py", "epidemic.py")


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_package(script: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = run(tmp_path, script, status=1)
    assert "ecsgen build schemas/" in done.stderr


def test_sweep(checkout: Path) -> None:
    """Neighbours are the more alike the more everybody wants it."""
    build(ROOT / "examples" / "models" / "schelling", checkout / "build" / "schelling_model")
    size = ("--side", "10", "--steps", "6", "--replicates", "1")
    files = ("--path", "runs.jsonl", "--picture", "sweep.svg")
    done = run(checkout, "sweep.py", *size, *files)
    assert "27 of 27 runs" in done.stderr
    assert (checkout / "runs.jsonl").exists()
    assert done.stdout.startswith("27 runs, 0 errors\n")
    rows = re.findall(r"^ +(\d) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
    alike = [float(number) for _, number, _ in rows]
    assert len(alike) == 9
    assert alike[0] < alike[2] < alike[4]
    assert float(rows[3][2]) > 0.8
    assert len(ET.parse(checkout / "sweep.svg").getroot()) > 1
