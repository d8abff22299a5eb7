"""A package's names: loaded when they are used, and there for whoever asks."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import generated
from tests.support.generated_package import build

NAMES: list[str] = vars(generated)["__all__"]
ROOT = Path(__file__).resolve().parents[2]


STEPS = {
    "import generated": set(),
    "dir(generated), hasattr(generated, 'Nope')": set(),
    "from generated import Particle": {"particle"},
    "assert generated.spark.Spark is generated.Spark": {"spark"},
    "from generated import world, EntityManager; world.Game()": {"world", "point_mass"},
}
"""Steps of a new process, and what they load among other things."""


def test_only_what_is_used_is_loaded() -> None:
    tell = "print(*[m for m in sys.modules if m.split('.')[0] == 'generated'])"
    code = "\n".join(["import sys", *(f"{step}\n{tell}" for step in STEPS)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    watched = {f"generated.{name}" for names in STEPS.values() for name in names}
    seen: set[str] = set()
    for line, names in zip(done.stdout.splitlines(), STEPS.values(), strict=True):
        seen |= {f"generated.{name}" for name in names}
        assert {*line.split()} & watched == seen
        assert seen or line == "generated"


def test_every_name_is_there() -> None:
    names: dict[str, Any] = {}
    exec("from generated import *", names)
    assert names.keys() - {"__builtins__"} == set(NAMES)
    for name in NAMES:
        assert names[name] is getattr(generated, name)
        assert vars(generated)[name] is names[name]
    members = dict(inspect.getmembers(generated))
    assert members.keys() >= {*NAMES, "particle", "world", "enums", "__doc__"}
    assert dir(generated) == sorted(members)


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
for code in ("import flags", "from flags import World", "import flags.flag"):
    try:
        exec(code)
    except ImportError as error:
        print(error)
"""


def test_without_numba_a_compiled_package_says_what_to_install(tmp_path: Path) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "flag.yaml").write_text("component: Flag\n", encoding="utf-8")
    build(schemas, tmp_path / "flags", backend="numba")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == 3 * [
        "flags is made for numba, which is not installed: "
        'pip install "ecsgen-runtime[numba]" (or build it with `--backend numpy`)'
    ]
    subprocess.run([sys.executable, "-c", "import flags"], cwd=tmp_path, check=True)


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="module 'generated' has no attribute 'Nope'") as info:
        generated.Nope  # type: ignore[attr-defined]  # noqa: B018
    assert (info.value.name, info.value.obj) == ("Nope", generated)
    with pytest.raises(ImportError, match="cannot import name 'Nope' from 'generated'"):
        exec("from generated import Nope")
